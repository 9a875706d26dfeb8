package main

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/luakube"
	"github.com/kubeinterpret/interpret/webhook"
)

// testHook is a hook that speaks for web.hooks.svc and for the address that it listens on. It says that everything
// has 7 replicas and is healthy, and has no opinion on all else; at /hang it gives no answer, at /garbage none that
// can be understood.
type testHook struct {
	*httptest.Server
	// bundle is its authority, as a caBundle has it.
	bundle string
	calls  atomic.Int32
}

// newTestHook makes one; asked is sent to when somebody waits for an answer that does not come.
func newTestHook(t testing.TB, asked chan<- struct{}) *testHook {
	answers := interpreter.Func(func(_ context.Context, req *interpreter.Request) (*interpreter.Result, error) {
		switch req.Operation {
		case interpreter.InterpretReplica:
			return &interpreter.Result{Replicas: 7}, nil
		case interpreter.InterpretHealth:
			return &interpreter.Result{Health: interpreter.HealthOfBool(true)}, nil
		}
		return nil, errors.New("this hook has no opinion")
	})
	handler, err := webhook.NewHandler(answers)
	require.NoError(t, err)
	h := &testHook{}
	closing := make(chan struct{})
	mux := http.NewServeMux()
	mux.Handle("/", handler)
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // Only then is it noticed that the caller has gone.
		select {
		case asked <- struct{}{}:
		default:
		}
		select {
		case <-r.Context().Done():
		case <-closing:
		}
	})
	mux.HandleFunc("/garbage", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "<html>") })
	h.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.calls.Add(1)
		mux.ServeHTTP(w, r)
	}))
	pair, authority, err := selfSigned([]string{"web.hooks.svc", "127.0.0.1"})
	require.NoError(t, err)
	h.bundle = base64.StdEncoding.EncodeToString(authority)
	h.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	h.Config.ErrorLog = log.New(io.Discard, "", 0)
	h.StartTLS()
	t.Cleanup(h.Close)
	t.Cleanup(func() { close(closing) })
	return h
}

func scriptExpand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: expand FILE")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(os.Expand(ts.ReadFile(args[0]), ts.Getenv)), 0o600))
}

func scriptCalled(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := int(ts.Value("hook").(*testHook).calls.Swap(0)); neg || got != want {
		ts.Fatalf("hooks were called %d times, want %d", got, want)
	}
}

// newRules makes the rules of customizations and of what comes along.
func newRules(list []*declarative.Customization, options []luakube.Option) (*rules, error) {
	return (&declared{customizations: list}).rules(options, hookFlags{})
}
