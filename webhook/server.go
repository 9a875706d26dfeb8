package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	runtimelog "sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// DefaultDrain is for how long a server that was told to stop goes on taking questions, so that those who
	// send them learn of it first. A Service's endpoints are up to date everywhere within seconds.
	DefaultDrain = 5 * time.Second
	// DefaultGrace is how long questions that are being worked on may take after that.
	DefaultGrace = 30 * time.Second
)

const (
	// Who opens a connection sends the header of a request with it.
	headerTimeout = 10 * time.Second
	// Longer than Go's clients keep a connection without use, so that the end that uses it closes it.
	serverIdleTimeout = 2 * idleTimeout
	// An answer must have been read by then: the longest work and a slow line. An Endpoint whose work may take longer
	// asks for more.
	writeTimeout = DefaultMaxTime + sendTime
)

// Server serves a Handler over TLS, until its context ends, and beside it /healthz, which answers as long
// as the process lives, /readyz, which fails while the server is about to stop, and /metrics. All other paths
// are the handler's.
type Server struct {
	mux    *http.ServeMux
	logger *slog.Logger
	tls    *tls.Config
	// certificate and key are files, and watcher reads them; empty and nil if tls came without.
	certificate, key string
	watcher          *certwatcher.CertWatcher
	gatherer         prometheus.Gatherer
	ready            func() error
	drain            time.Duration
	grace            time.Duration
	pprof            string
	stopping         atomic.Bool
}

// watcherLogger guards the one logger that controller-runtime has in a process; the first that is set stays.
var watcherLogger sync.Once

// ServerOption changes a Server that is being made.
type ServerOption func(*Server) error

// WithCertificateFiles sets the server's certificate and its key, in PEM. The files are read again when they
// change; a change that makes no pair leaves the last good one in use, and no connection is closed for it.
//
// The watching logs through controller-runtime, which complains on standard error about a program that has
// not set a logger for it; the server sets its own unless the program has.
func WithCertificateFiles(certificate, key string) ServerOption {
	return func(s *Server) error {
		s.certificate, s.key = certificate, key
		return nil
	}
}

// WithTLS sets the server's TLS configuration, which must have a certificate.
func WithTLS(c *tls.Config) ServerOption {
	return func(s *Server) error {
		s.tls = c.Clone()
		return nil
	}
}

// WithServerLogger has starting, stopping and what goes wrong with connections logged. Without it nothing is.
func WithServerLogger(l *slog.Logger) ServerOption {
	return func(s *Server) error {
		s.logger = l
		return nil
	}
}

// WithGatherer sets what /metrics shows. Without it there is no such page.
func WithGatherer(g prometheus.Gatherer) ServerOption {
	return func(s *Server) error {
		s.gatherer = g
		return nil
	}
}

// WithReady sets what /readyz asks; an error is shown, and means "not ready". Without it a server is ready
// until it is told to stop.
func WithReady(ready func() error) ServerOption {
	return func(s *Server) error {
		s.ready = ready
		return nil
	}
}

// WithShutdown sets for how long a server that was told to stop goes on taking questions, and how long the
// last ones may take then. Without it that is DefaultDrain and DefaultGrace.
func WithShutdown(drain, grace time.Duration) ServerOption {
	return func(s *Server) error {
		if drain < 0 {
			return fmt.Errorf("the time to drain must not be negative, got %v", drain)
		}
		s.drain, s.grace = drain, grace
		return positive("grace", grace)
	}
}

// WithPage serves something else than questions under a pattern of http.ServeMux.
func WithPage(pattern string, page http.Handler) ServerOption {
	return func(s *Server) error {
		s.mux.Handle(pattern, page)
		return nil
	}
}

// WithPprof serves Go's profiles, without TLS, on an address of their own, which must be a loopback
// address: profiles show what a program holds in its memory.
func WithPprof(address string) ServerOption {
	return func(s *Server) error {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return fmt.Errorf("profiles: %w", err)
		}
		if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
			return fmt.Errorf("profiles: %s is not a loopback address", address)
		}
		s.pprof = address
		return nil
	}
}

// NewServer makes a server of a handler. It must be given a certificate.
func NewServer(h http.Handler, options ...ServerOption) (*Server, error) {
	s := &Server{
		mux:    http.NewServeMux(),
		logger: slog.New(slog.DiscardHandler),
		drain:  DefaultDrain,
		grace:  DefaultGrace,
	}
	for _, o := range options {
		if err := o(s); err != nil {
			return nil, err
		}
	}
	if s.certificate != "" || s.key != "" {
		// Already this logs.
		watcherLogger.Do(func() { runtimelog.SetLogger(logr.FromSlogHandler(s.logger.Handler())) })
		var err error
		if s.watcher, err = certwatcher.New(s.certificate, s.key); err != nil {
			return nil, err
		}
		s.tls = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.watcher.GetCertificate}
	}
	if s.tls == nil {
		return nil, errors.New("the server has no certificate")
	}
	s.mux.Handle("/", h)
	s.mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	s.mux.HandleFunc("/readyz", s.readyz)
	if s.gatherer != nil {
		s.mux.Handle("/metrics", promhttp.HandlerFor(s.gatherer, promhttp.HandlerOpts{}))
	}
	return s, nil
}

// readyz answers a readiness probe; the body of a failure says why.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	switch err := s.isReady(); err {
	case nil:
		fmt.Fprintln(w, "ok")
	default:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

func (s *Server) isReady() error {
	if s.stopping.Load() {
		return errors.New("about to stop")
	}
	if s.ready != nil {
		return s.ready()
	}
	return nil
}

// ServeHTTP is the server without its TLS and its end.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.stopping.Load() {
		// Closing a connection after an answer is orderly; closing it later could cross a question.
		w.Header().Set("Connection", "close")
	}
	s.mux.ServeHTTP(w, r)
}

// ListenAndServe is Serve on a TCP address.
func (s *Server) ListenAndServe(ctx context.Context, address string) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return s.Serve(ctx, l)
}

// Serve answers on a listener, which it closes, until the context ends and the last question is answered. A
// server serves once. The error is nil if it stopped because it was told to, and nothing had to be cut off.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	defer l.Close()
	// What runs beside the server ends with it, not when it is told to stop.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	var beside sync.WaitGroup
	defer beside.Wait()
	defer stop()
	failed := make(chan error, 3)
	if s.watcher != nil {
		beside.Go(func() {
			if err := s.watcher.Start(running); err != nil && running.Err() == nil {
				failed <- fmt.Errorf("watching the certificate: %w", err)
			}
		})
	}
	if s.pprof != "" {
		profiles, err := new(net.ListenConfig).Listen(ctx, "tcp", s.pprof)
		if err != nil {
			return err
		}
		server := &http.Server{Handler: profilePages(), ReadHeaderTimeout: headerTimeout}
		beside.Go(func() {
			if err := server.Serve(profiles); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("profiles: %w", err)
			}
		})
		defer server.Close()
		s.logger.Info("profiles", "address", profiles.Addr().String())
	}
	server := &http.Server{
		Handler:           s,
		TLSConfig:         s.tls,
		ReadHeaderTimeout: headerTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       serverIdleTimeout,
		ErrorLog:          slog.NewLogLogger(s.logger.Handler(), slog.LevelWarn),
	}
	beside.Go(func() {
		if err := server.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	})
	defer server.Close()
	s.logger.Info("serving", "address", l.Addr().String())
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	return s.shutdown(running, server, failed)
}

// shutdown ends a server in order: no longer ready, still answering; then no longer answering; then gone.
func (s *Server) shutdown(ctx context.Context, server *http.Server, failed <-chan error) error {
	s.stopping.Store(true)
	s.logger.Info("stopping", "drain", s.drain, "grace", s.grace)
	select {
	case err := <-failed:
		return err
	case <-time.After(s.drain):
	}
	ctx, cancel := context.WithTimeout(ctx, s.grace)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return fmt.Errorf("questions were cut off after %s: %w", s.grace, err)
	}
	s.logger.Info("stopped")
	return nil
}

// profilePages are those that importing net/http/pprof adds to the default mux, which is not used here.
func profilePages() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
