package webhook_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
)

// running is a Server of the package that runs until it is stopped.
type running struct {
	url  string
	stop context.CancelFunc
	// ended gives what Serve returned, once.
	ended chan error
}

func run(t testing.TB, h http.Handler, options ...webhook.ServerOption) *running {
	s, err := webhook.NewServer(h, options...)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{url: "https://" + l.Addr().String(), stop: cancel, ended: make(chan error, 1)}
	go func() { r.ended <- s.Serve(ctx, l) }()
	t.Cleanup(cancel)
	return r
}

func handler(t testing.TB, in interpreter.Interpreter, options ...webhook.HandlerOption) *webhook.Handler {
	h, err := webhook.NewHandler(in, options...)
	require.NoError(t, err)
	return h
}

// trusting is a client that trusts an authority.
func trusting(a *authority) *http.Client { return trustingName(a, "") }

func trustingName(a *authority, name string) *http.Client {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: name}, DisableKeepAlives: true}}
}

// changing resolves every service to servers that can be changed.
type changing struct{ addresses atomic.Pointer[[]string] }

func (c *changing) set(servers ...*running) {
	var list []string
	for _, s := range servers {
		list = append(list, strings.TrimPrefix(s.url, "https://"))
	}
	c.addresses.Store(&list)
}

func (c *changing) Resolve(context.Context, string, string, int32) ([]string, error) {
	return *c.addresses.Load(), nil
}

func fetch(t testing.TB, c *http.Client, url string) (int, string) {
	response, err := c.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

func TestPagesOfTheServer(t *testing.T) {
	a := newAuthority(t, "test")
	var problem atomic.Value
	problem.Store(errors.New("no configuration yet"))
	registry := prometheus.NewRegistry()
	r := run(t, handler(t, answers(nil), webhook.WithHandlerRegisterer(registry)),
		webhook.WithTLS(&tls.Config{Certificates: []tls.Certificate{a.pair("127.0.0.1")}}),
		webhook.WithGatherer(registry),
		webhook.WithPage("/validate", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "valid") })),
		webhook.WithReady(func() error {
			if err := problem.Load().(error); err.Error() != "" {
				return err
			}
			return nil
		}),
		webhook.WithShutdown(0, far))
	c := trusting(a)
	for _, p := range []struct {
		path   string
		status int
		body   string
	}{
		{"/healthz", 200, "ok\n"},
		{"/readyz", 503, "no configuration yet\n"},
		{"/validate", 200, "valid"},
	} {
		status, body := fetch(t, c, r.url+p.path)
		assert.Equal(t, p.status, status)
		assert.Equal(t, p.body, body)
	}
	problem.Store(errors.New(""))
	status, _ := fetch(t, c, r.url+"/readyz")
	assert.Equal(t, 200, status)
	_, page := fetch(t, c, r.url+"/metrics")
	assert.Contains(t, page, "interpret_webhook_requests_in_flight 0\n")
	_, body := fetch(t, c, r.url+"/debug/pprof/")
	assert.Contains(t, body, `"successful":false`, "profiles are not among the pages")

	chain := interpreter.NewChain(newLayer(t, configured(r.url+"/interpret", a.bundle)))
	healthy, err := interpreter.IsHealthy(t.Context(), chain, workload())
	require.NoError(t, err)
	assert.True(t, healthy)
	r.stop()
	require.NoError(t, <-r.ended)
}

func TestServerOptionsAreChecked(t *testing.T) {
	h := handler(t, answers(nil))
	withTLS := webhook.WithTLS(&tls.Config{})
	for says, options := range map[string][]webhook.ServerOption{
		"the server has no certificate":             nil,
		"no such file":                              {webhook.WithCertificateFiles("missing.crt", "missing.key")},
		"profiles: 0.0.0.0:6060 is not a loopback":  {withTLS, webhook.WithPprof("0.0.0.0:6060")},
		"profiles: :6060 is not a loopback address": {withTLS, webhook.WithPprof(":6060")},
		"profiles: address 6060: missing port":      {withTLS, webhook.WithPprof("6060")},
		"the grace must be positive, got 0s":        {withTLS, webhook.WithShutdown(0, 0)},
		"the time to drain must not be negative":    {withTLS, webhook.WithShutdown(-1, far)},
	} {
		_, err := webhook.NewServer(h, options...)
		assert.ErrorContains(t, err, says)
	}
}

func TestProfilesOnLoopback(t *testing.T) {
	a := newAuthority(t, "test")
	var mu sync.Mutex
	var lines bytes.Buffer
	r := run(t, handler(t, answers(nil)), webhook.WithTLS(&tls.Config{Certificates: []tls.Certificate{a.pair("127.0.0.1")}}),
		webhook.WithPprof("127.0.0.1:0"), webhook.WithShutdown(0, far),
		webhook.WithServerLogger(slog.New(slog.NewTextHandler(lockedWriter{&mu, &lines}, nil))))
	status, _ := fetch(t, trusting(a), r.url+"/healthz")
	require.Equal(t, 200, status)
	mu.Lock()
	_, rest, _ := strings.Cut(lines.String(), "msg=profiles address=")
	address, _, _ := strings.Cut(rest, "\n")
	mu.Unlock()
	_, body := fetch(t, http.DefaultClient, "http://"+address+"/debug/pprof/")
	assert.Contains(t, body, "goroutine")
	r.stop()
	require.NoError(t, <-r.ended)
}

// load asks without a pause until it is stopped, and counts.
type load struct {
	stop          chan struct{}
	callers       sync.WaitGroup
	calls, failed atomic.Int64
}

func (l *load) start(t testing.TB, in interpreter.Interpreter, callers int) {
	l.stop = make(chan struct{})
	for range callers {
		l.callers.Go(func() {
			for {
				select {
				case <-l.stop:
					return
				default:
				}
				l.calls.Add(1)
				if _, err := in.Interpret(t.Context(), healthRequest()); err != nil {
					l.failed.Add(1)
					t.Log(err)
				}
			}
		})
	}
}

func (l *load) end() {
	close(l.stop)
	l.callers.Wait()
}

func TestStoppingUnderLoad(t *testing.T) {
	a := newAuthority(t, "test")
	pair := webhook.WithTLS(&tls.Config{Certificates: []tls.Certificate{a.pair("hook.ns.svc")}})
	first := run(t, handler(t, answers(nil)), pair, webhook.WithShutdown(300*time.Millisecond, far))
	second := run(t, handler(t, answers(nil)), pair, webhook.WithShutdown(0, far))
	endpoints := &changing{}
	endpoints.set(first, second)
	c := atService(a.bundle, admissionregistrationv1.ServiceReference{Namespace: "ns", Name: "hook"})
	chain := interpreter.NewChain(newLayer(t, c, webhook.WithResolver(endpoints)))
	var l load
	l.start(t, chain, 16)
	require.Eventually(t, func() bool { return l.calls.Load() > 200 }, far, time.Millisecond)
	first.stop()
	status := func() int {
		response, err := trustingName(a, "hook.ns.svc").Get(first.url + "/readyz")
		if err != nil {
			return 0
		}
		response.Body.Close()
		return response.StatusCode
	}
	// A slow machine may miss the time between "about to stop" and gone.
	require.Eventually(t, func() bool { s := status(); return s == http.StatusServiceUnavailable || s == 0 }, far, time.Millisecond)
	endpoints.set(second)
	require.NoError(t, <-first.ended)
	n := l.calls.Load()
	require.Eventually(t, func() bool { return l.calls.Load() > n+200 }, far, time.Millisecond)
	l.end()
	assert.Zero(t, l.failed.Load(), "of %d calls", l.calls.Load())
	t.Logf("%d calls, %d failed", l.calls.Load(), l.failed.Load())
}

func TestQuestionsInFlightAreAnsweredWhenStopping(t *testing.T) {
	a := newAuthority(t, "test")
	arrived, release := make(chan struct{}), make(chan struct{})
	in := interpreter.Func(func(context.Context, *interpreter.Request) (*interpreter.Result, error) {
		close(arrived)
		<-release
		return &interpreter.Result{Health: interpreter.Health{Status: interpreter.Healthy}}, nil
	})
	r := run(t, handler(t, in), webhook.WithTLS(&tls.Config{Certificates: []tls.Certificate{a.pair("127.0.0.1")}}), webhook.WithShutdown(0, far))
	chain := interpreter.NewChain(newLayer(t, configured(r.url, a.bundle)))
	answer := make(chan error, 1)
	go func() {
		_, err := chain.Interpret(t.Context(), healthRequest())
		answer <- err
	}()
	<-arrived
	r.stop()
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", r.url[len("https://"):])
		if err == nil {
			c.Close()
		}
		return err != nil
	}, far, time.Millisecond, "nobody is let in any more")
	close(release)
	require.NoError(t, <-answer)
	require.NoError(t, <-r.ended)
}

func TestStoppingCutsOffWhatTakesTooLong(t *testing.T) {
	a := newAuthority(t, "test")
	arrived, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	in := interpreter.Func(func(context.Context, *interpreter.Request) (*interpreter.Result, error) {
		close(arrived)
		<-release
		return &interpreter.Result{}, nil
	})
	r := run(t, handler(t, in), webhook.WithTLS(&tls.Config{Certificates: []tls.Certificate{a.pair("127.0.0.1")}}), webhook.WithShutdown(0, time.Millisecond))
	chain := interpreter.NewChain(newLayer(t, configured(r.url, a.bundle)))
	answer := make(chan error, 1)
	go func() {
		_, err := chain.Interpret(t.Context(), healthRequest())
		answer <- err
	}()
	<-arrived
	r.stop()
	require.ErrorContains(t, <-r.ended, "questions were cut off after 1ms")
	require.ErrorIs(t, <-answer, webhook.ErrUnreachable)
}

func TestRotatingTheCertificateUnderLoad(t *testing.T) {
	a := newAuthority(t, "test")
	dir := t.TempDir()
	certificate, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	rotate := func(serial int64) {
		c, k := a.issue(serial, time.Now().Add(time.Hour), "127.0.0.1")
		require.NoError(t, os.WriteFile(certificate, c, 0o600))
		require.NoError(t, os.WriteFile(key, k, 0o600))
	}
	rotate(100)
	r := run(t, handler(t, answers(nil)), webhook.WithCertificateFiles(certificate, key), webhook.WithShutdown(0, far))
	serial := func() int64 {
		pool := x509.NewCertPool()
		pool.AddCert(a.cert)
		c, err := tls.Dial("tcp", r.url[len("https://"):], &tls.Config{RootCAs: pool})
		require.NoError(t, err)
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	layer := newLayer(t, configured(r.url, a.bundle))
	var l load
	l.start(t, interpreter.NewChain(layer), 8)
	for i := int64(101); i < 105; i++ {
		rotate(i)
		require.Eventually(t, func() bool { return serial() == i }, far, 5*time.Millisecond)
		n := l.calls.Load()
		require.Eventually(t, func() bool { return l.calls.Load() > n+100 }, far, time.Millisecond)
		// New connections are part of it.
		c := configured(r.url, a.bundle)
		c.Webhooks[0].TimeoutSeconds = ptr(int32(i % 20))
		require.NoError(t, layer.Replace([]*v1alpha1.ResourceInterpreterWebhookConfiguration{c}))
	}
	l.end()
	assert.Zero(t, l.failed.Load(), "of %d calls", l.calls.Load())
	t.Logf("%d calls, %d failed", l.calls.Load(), l.failed.Load())
	r.stop()
	require.NoError(t, <-r.ended)
}
