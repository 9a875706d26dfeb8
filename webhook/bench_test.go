package webhook_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
)

// bare is the least that an HTTP handler of these messages can do: decode one, encode the other.
func bare(w http.ResponseWriter, r *http.Request) {
	var c v1alpha1.ResourceInterpreterContext
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	healthy := true
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(&v1alpha1.ResourceInterpreterContext{TypeMeta: c.TypeMeta, Response: &v1alpha1.ResourceInterpreterResponse{
		UID: c.Request.UID, Successful: true, Healthy: &healthy}})
}

// BenchmarkHandler compares the handler with a bare one, over the loopback with connections kept, with and
// without TLS.
func BenchmarkHandler(b *testing.B) {
	a := newAuthority(b, "test")
	ours := handler(b, interpreter.NewChain(below{}))
	for _, h := range []struct {
		name    string
		handler http.Handler
	}{{"bare", http.HandlerFunc(bare)}, {"interpreter", ours}} {
		for _, transport := range []string{"http", "https"} {
			b.Run(h.name+"/"+transport, func(b *testing.B) {
				s := httptest.NewUnstartedServer(h.handler)
				client := trusting(a)
				client.Transport.(*http.Transport).DisableKeepAlives = false
				client.Transport.(*http.Transport).MaxIdleConnsPerHost = 64
				if transport == "https" {
					s.TLS = &tls.Config{Certificates: []tls.Certificate{a.pair("127.0.0.1")}}
					s.StartTLS()
				} else {
					s.Start()
				}
				defer s.Close()
				body := []byte(with("InterpretHealth", "", 0, ""))
				b.ReportAllocs()
				l := &latencies{}
				defer l.report(b)
				b.RunParallel(func(pb *testing.PB) {
					var own []time.Duration
					defer func() { l.add(own) }()
					for pb.Next() {
						start := time.Now()
						response, err := client.Post(s.URL, "application/json", bytes.NewReader(body))
						if err != nil {
							b.Error(err)
							return
						}
						_, _ = io.Copy(io.Discard, response.Body)
						response.Body.Close()
						own = append(own, time.Since(start))
					}
				})
			})
		}
	}
}

// latencies are how long single questions took.
type latencies struct {
	mu  sync.Mutex
	all []time.Duration
}

func (l *latencies) add(some []time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, some...)
}

func (l *latencies) report(b *testing.B) {
	if len(l.all) == 0 {
		return
	}
	slices.Sort(l.all)
	b.ReportMetric(float64(l.all[len(l.all)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(l.all[len(l.all)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkRoundTrip is a question through a chain, the client, TLS, and the handler, and its answer back.
func BenchmarkRoundTrip(b *testing.B) {
	a := newAuthority(b, "test")
	s := serve(b, a.pair("127.0.0.1"), handler(b, interpreter.NewChain(below{})))
	layer, err := webhook.New([]*v1alpha1.ResourceInterpreterWebhookConfiguration{configured(s.URL, a.bundle)})
	require.NoError(b, err)
	defer layer.Close()
	chain := interpreter.NewChain(layer)
	req := healthRequest()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := chain.Interpret(b.Context(), req); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkWire is the coding alone, there and back.
func BenchmarkWire(b *testing.B) {
	for _, x := range exchanges {
		b.Run(string(x.req.Operation), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				uid, req, err := webhook.DecodeRequest([]byte(x.request))
				require.NoError(b, err)
				response, err := webhook.ResponseOf(req, x.res)
				require.NoError(b, err)
				response.UID = uid
				_, err = webhook.EncodeResponse(response)
				require.NoError(b, err)
			}
		})
	}
}
