package conformance_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook/conformance"
)

// beast is a hook that is good but for one thing.
type beast struct {
	// check is the one that must find it, and name tells it from others of its kind.
	check, name string
	// behave makes a bad hook of a good one; nil leaves it good.
	behave func(good http.Handler) http.Handler
	// serve changes how it is served, hook how it is reached.
	serve func(t testing.TB, s *httptest.Server, a *authority)
	hook  func(t testing.TB, h *conformance.Hook)
	// rules are what it is registered for, nil for all operations on Workloads.
	rules []v1alpha1.RuleWithOperations
	// plain changes the server of one without TLS.
	plain func(s *httptest.Server)
}

// question is what a hook was asked, as far as it can be read.
type question struct {
	*http.Request
	body    []byte
	request *v1alpha1.ResourceInterpreterRequest
	broken  bool
	uid     string
}

// about is a question about an existing operation on an object of the known kind.
func (q *question) about(op interpreter.Operation) bool {
	return q.request != nil && q.request.Operation == op && q.request.Kind.Kind == "Workload"
}

// readQuestion leaves the body to be read once more.
func readQuestion(r *http.Request) *question {
	q := &question{Request: r}
	q.body, _ = io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(q.body))
	var c v1alpha1.ResourceInterpreterContext
	if len(q.body) < 10<<20 {
		q.broken = json.Unmarshal(q.body, &c) != nil
		q.request = c.Request
	}
	if c.Request != nil {
		q.uid = string(c.Request.UID)
	} else if _, after, ok := strings.Cut(string(q.body), `"uid":"`); ok {
		q.uid, _, _ = strings.Cut(after, `"`)
	}
	return q
}

// when answers some questions in its own way, and leaves the others to a good hook.
func when(some func(*question) bool, answer func(w http.ResponseWriter, q *question)) func(http.Handler) http.Handler {
	return func(good http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if q := readQuestion(r); some(q) {
				answer(w, q)
				return
			}
			good.ServeHTTP(w, r)
		})
	}
}

func asked(op interpreter.Operation) func(*question) bool {
	return func(q *question) bool { return q.about(op) }
}

// says answers with a body.
func says(body string) func(http.ResponseWriter, *question) {
	return func(w http.ResponseWriter, _ *question) { _, _ = io.WriteString(w, body) }
}

// refuses answers as a hook should that does not know.
func refuses(code int32, message string) func(http.ResponseWriter, *question) {
	return func(w http.ResponseWriter, q *question) { respond(w, q.uid, false, code, message) }
}

func respond(w http.ResponseWriter, uid string, successful bool, code int32, message string) {
	_ = json.NewEncoder(w).Encode(map[string]any{"response": map[string]any{
		"uid": uid, "successful": successful, "status": map[string]any{"code": code, "message": message},
	}})
}

// status answers with an HTTP status.
func status(code int) func(http.ResponseWriter, *question) {
	return func(w http.ResponseWriter, _ *question) { http.Error(w, "oh", code) }
}

// hangUp closes the connection, as the server of a handler that panics does.
func hangUp(http.ResponseWriter, *question) { panic(http.ErrAbortHandler) }

// tamper changes the envelopes with which a good hook answers.
func tamper(edit func(q *question, envelope, response map[string]any)) func(http.Handler) http.Handler {
	return func(good http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			q := readQuestion(r)
			recorder := httptest.NewRecorder()
			good.ServeHTTP(recorder, r)
			var envelope map[string]any
			if json.Unmarshal(recorder.Body.Bytes(), &envelope) == nil && recorder.Code == http.StatusOK {
				response, _ := envelope["response"].(map[string]any)
				edit(q, envelope, response)
				recorder.Body.Reset()
				_ = json.NewEncoder(recorder.Body).Encode(envelope)
				recorder.Header().Del("Content-Length")
			}
			for name, values := range recorder.Header() {
				w.Header()[name] = values
			}
			w.WriteHeader(recorder.Code)
			_, _ = w.Write(recorder.Body.Bytes())
		})
	}
}

// tampered changes the answers to one operation.
func tampered(op interpreter.Operation, edit func(response map[string]any)) func(http.Handler) http.Handler {
	return tamper(func(q *question, _, response map[string]any) {
		if q.about(op) && response["successful"] == true {
			edit(response)
		}
	})
}

// set sets a field, or removes it if the value is nil.
func set(name string, value any) func(map[string]any) {
	return func(response map[string]any) {
		if response[name] = value; value == nil {
			delete(response, name)
		}
	}
}

// patched answers with a patch.
func patched(op interpreter.Operation, patch string) func(http.Handler) http.Handler {
	return tampered(op, func(response map[string]any) {
		response["patch"], response["patchType"] = base64.StdEncoding.EncodeToString([]byte(patch)), "JSONPatch"
	})
}

func certificate(change func(*x509.Certificate)) func(testing.TB, *httptest.Server, *authority) {
	return func(t testing.TB, s *httptest.Server, a *authority) {
		s.TLS.Certificates = []tls.Certificate{a.issue(t, change)}
	}
}

func tlsWith(change func(*tls.Config)) func(testing.TB, *httptest.Server, *authority) {
	return func(_ testing.TB, s *httptest.Server, _ *authority) { change(s.TLS) }
}

func contains(text string) func(*question) bool {
	return func(q *question) bool { return bytes.Contains(q.body, []byte(text)) }
}

// rulesFor register for some operations on Workloads.
func rulesFor(operations ...interpreter.Operation) []v1alpha1.RuleWithOperations {
	rules := workloadRules()
	rules[0].Operations = operations
	return rules
}

func zoo() []beast {
	health := asked(interpreter.InterpretHealth)
	success := `{"response":{"uid":"","successful":true}}`
	return []beast{
		{check: "configuration", hook: func(_ testing.TB, h *conformance.Hook) {
			h.Configuration = h.Configuration.DeepCopy()
			h.Configuration.Webhooks[0].Name = "w"
		}},
		{check: "reachable", name: "nobody listens", hook: func(t testing.TB, h *conformance.Hook) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			require.NoError(t, l.Close())
			h.Address = l.Addr().String()
		}},
		{check: "reachable", name: "no TLS", hook: func(t testing.TB, h *conformance.Hook) {
			s := httptest.NewServer(http.NotFoundHandler())
			t.Cleanup(s.Close)
			h.Address = s.Listener.Addr().String()
		}},
		{check: "tls-version", serve: tlsWith(func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 })},
		{check: "tls-old-versions", serve: tlsWith(func(c *tls.Config) { c.MinVersion = tls.VersionTLS10 })},
		{check: "tls-client-certificate", name: "TLS 1.3", serve: tlsWith(func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert })},
		{check: "tls-client-certificate", name: "TLS 1.2", serve: tlsWith(func(c *tls.Config) { c.ClientAuth, c.MaxVersion = tls.RequireAnyClientCert, tls.VersionTLS12 })},
		{check: "tls-name", name: "another", serve: certificate(func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"other.example.com"} })},
		{check: "tls-name", name: "a common name only", serve: certificate(func(c *x509.Certificate) { c.IPAddresses = nil })},
		{check: "tls-validity", name: "expired", serve: certificate(func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = time.Now().Add(-48*time.Hour), time.Now().Add(-24*time.Hour)
		})},
		{check: "tls-validity", name: "not yet", serve: certificate(func(c *x509.Certificate) { c.NotBefore = time.Now().Add(24 * time.Hour) })},
		{check: "tls-expiry", serve: certificate(func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = time.Now().Add(-30*24*time.Hour), time.Now().Add(time.Hour)
		})},
		{check: "tls-chain", name: "another authority", hook: func(t testing.TB, h *conformance.Hook) { h.CABundle = newAuthority(t).bundle }},
		{check: "tls-chain", name: "the system's", hook: func(_ testing.TB, h *conformance.Hook) { h.CABundle = nil }},
		{check: "tls-chain", name: "no bundle", hook: func(_ testing.TB, h *conformance.Hook) { h.CABundle = []byte("a bundle") }},
		{check: "tls-chain", name: "a client's certificate", serve: certificate(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })},
		{check: "http1", name: "HTTP/2 only", serve: tlsWith(func(c *tls.Config) {
			c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
				if !slices.Contains(hello.SupportedProtos, "h2") {
					return nil, errors.New("h2 is wanted")
				}
				return nil, nil
			}
		})},
		{check: "http1", name: "another protocol", behave: when(func(*question) bool { return true }, func(w http.ResponseWriter, _ *question) {
			if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
				_, _ = io.WriteString(conn, "SSH-2.0-OpenSSH\r\n")
				_ = conn.Close()
			}
		})},

		{check: "deadline", hook: func(_ testing.TB, h *conformance.Hook) { h.Timeout = 10 * time.Second },
			behave: when(health, func(_ http.ResponseWriter, q *question) { <-q.Context().Done() })},
		{check: "latency", behave: func(good http.Handler) http.Handler {
			var calls atomic.Int32
			return when(func(q *question) bool { return health(q) && calls.Add(1) <= 3 }, func(w http.ResponseWriter, q *question) {
				time.Sleep(600 * time.Millisecond)
				good.ServeHTTP(w, q.Request)
			})(good)
		}},
		{check: "connection-kept", behave: when(health, hangUp)},
		{check: "connection-kept", name: "half an answer", behave: when(health, func(w http.ResponseWriter, q *question) {
			w.Header().Set("Content-Length", "1000")
			says(success)(w, q)
		})},
		{check: "http-status", name: "500", behave: when(health, status(500))},
		{check: "http-status", name: "302", behave: when(health, func(w http.ResponseWriter, q *question) {
			http.Redirect(w, q.Request, "/elsewhere", http.StatusFound)
		})},
		{check: "http-status", name: "207", behave: func(good http.Handler) http.Handler {
			return when(health, func(w http.ResponseWriter, q *question) {
				w.WriteHeader(http.StatusMultiStatus)
				good.ServeHTTP(w, q.Request)
			})(good)
		}},
		{check: "content-type", behave: when(health, func(w http.ResponseWriter, q *question) {
			w.Header().Set("Content-Type", ";;;")
			says(`{"response":{"uid":"`+q.uid+`","successful":true,"healthy":false}}`)(w, q)
		})},
		{check: "answer-size", behave: when(health, func(w http.ResponseWriter, q *question) {
			says(`{"response":{"uid":"`+q.uid+`","successful":true,"healthy":false}}`+strings.Repeat(" ", 9<<20))(w, q)
		})},
		{check: "body-present", behave: when(health, says(""))},
		{check: "body-json", name: "behind it", behave: when(health, func(w http.ResponseWriter, q *question) {
			says(`{"response":{"uid":"`+q.uid+`","successful":true,"healthy":false}}ok`)(w, q)
		})},
		{check: "body-json", name: "text", behave: when(health, says("all is well"))},
		{check: "body-json", name: "a list", behave: when(health, says("[]"))},
		{check: "body-json", name: "null", behave: when(health, says("null"))},
		{check: "envelope", behave: tamper(func(q *question, envelope, _ map[string]any) {
			if health(q) {
				envelope["kind"] = "AdmissionReview"
			}
		})},
		{check: "response", name: "none", behave: when(health, says(`{"kind":"ResourceInterpreterContext"}`))},
		{check: "response", name: "null", behave: when(health, says(`{"response":null}`))},
		{check: "response", name: "another case", behave: when(health, func(w http.ResponseWriter, q *question) {
			says(`{"Response":{"uid":"`+q.uid+`","successful":true,"healthy":false}}`)(w, q)
		})},
		{check: "field-types", name: "text for a boolean", behave: tampered(interpreter.InterpretHealth, set("healthy", "yes"))},
		{check: "field-types", name: "more than 32 bits", behave: tampered(interpreter.InterpretReplica, set("replicas", 3e9))},
		{check: "field-types", name: "no quantity", behave: tampered(interpreter.InterpretReplica, set("replicaRequirements", map[string]any{"resourceRequest": map[string]any{"cpu": "much"}}))},
		{check: "field-types", name: "of another operation", behave: tampered(interpreter.InterpretHealth, set("dependencies", "none"))},
		{check: "field-types", name: "uid", behave: tampered(interpreter.InterpretHealth, set("uid", 7))},
		{check: "field-types", name: "successful", behave: tampered(interpreter.InterpretHealth, set("successful", "true"))},
		{check: "field-types", name: "patchType", behave: tampered(interpreter.Retain, set("patchType", 1))},
		{check: "field-types", name: "response", behave: when(health, says(`{"response":[]}`))},
		{check: "field-types", name: "kind", behave: when(health, says(`{"kind":1}`))},
		{check: "answered", behave: when(health, refuses(422, "spec.mode is unknown"))},
		{check: "replicas", behave: tampered(interpreter.InterpretReplica, set("replicas", nil))},
		{check: "replicas-not-negative", behave: tampered(interpreter.InterpretReplica, set("replicas", -1))},
		{check: "replicas-not-negative", name: "of a component", behave: tampered(interpreter.InterpretComponent, set("components", []any{map[string]any{"name": "a", "replicas": -1}}))},
		{check: "component-names", name: "none", behave: tampered(interpreter.InterpretComponent, set("components", []any{map[string]any{"replicas": 1}}))},
		{check: "component-names", name: "twice", behave: tampered(interpreter.InterpretComponent, set("components", []any{
			map[string]any{"name": "a", "replicas": 1}, map[string]any{"name": "a", "replicas": 2}}))},
		{check: "dependencies", name: "no name", behave: tampered(interpreter.InterpretDependency, set("dependencies", []any{map[string]any{"apiVersion": "v1", "kind": "Secret"}}))},
		{check: "dependencies", name: "no kind", behave: tampered(interpreter.InterpretDependency, set("dependencies", []any{map[string]any{"apiVersion": "v1", "name": "a"}}))},
		{check: "dependency-selector", behave: tampered(interpreter.InterpretDependency, set("dependencies", []any{map[string]any{
			"apiVersion": "v1", "kind": "Secret", "labelSelector": map[string]any{"matchExpressions": []any{map[string]any{"key": "a", "operator": "Near"}}}}}))},
		{check: "dependencies-once", behave: tampered(interpreter.InterpretDependency, set("dependencies", []any{
			map[string]any{"apiVersion": "v1", "kind": "Secret", "name": "a"}, map[string]any{"apiVersion": "v1", "kind": "Secret", "name": "a"}}))},
		{check: "raw-status", name: "none", behave: tampered(interpreter.InterpretStatus, set("rawStatus", nil))},
		{check: "raw-status", name: "null", behave: tampered(interpreter.InterpretStatus, func(r map[string]any) { r["rawStatus"] = nil })},
		{check: "healthy", behave: tampered(interpreter.InterpretHealth, set("healthy", nil))},
		{check: "healthy", name: "another case", behave: tampered(interpreter.InterpretHealth, func(r map[string]any) { r["Healthy"] = r["healthy"]; delete(r, "healthy") })},
		{check: "patch-pair", name: "no type", behave: tampered(interpreter.Retain, set("patchType", nil))},
		{check: "patch-pair", name: "an empty type", behave: tampered(interpreter.Retain, set("patchType", ""))},
		{check: "patch-pair", name: "no patch", behave: tampered(interpreter.Retain, set("patch", nil))},
		{check: "patch-pair", name: "an empty patch", behave: tampered(interpreter.Retain, set("patch", ""))},
		{check: "patch-type", behave: tampered(interpreter.Retain, set("patchType", "MergePatch"))},
		{check: "patch-base64", name: "no base64", behave: tampered(interpreter.Retain, set("patch", `[{"op":"remove","path":"/spec"}]`))},
		{check: "patch-base64", name: "no text", behave: tampered(interpreter.Retain, set("patch", []any{map[string]any{"op": "remove", "path": "/spec"}}))},
		{check: "patch-form", name: "a merge patch", behave: patched(interpreter.Retain, `{"spec":{}}`)},
		{check: "patch-form", name: "null", behave: patched(interpreter.Retain, `null`)},
		{check: "patch-form", name: "an unknown op", behave: patched(interpreter.Retain, `[{"op":"increase","path":"/spec/replicas","value":1}]`)},
		{check: "patch-form", name: "no path", behave: patched(interpreter.Retain, `[{"op":"remove"}]`)},
		{check: "patch-form", name: "dots in the path", behave: patched(interpreter.Retain, `[{"op":"remove","path":"spec.replicas"}]`)},
		{check: "patch-form", name: "no value", behave: patched(interpreter.Retain, `[{"op":"add","path":"/spec/a"}]`)},
		{check: "patch-applies", name: "a test", behave: patched(interpreter.Retain, `[{"op":"test","path":"/spec/config","value":"other"}]`)},
		{check: "patch-applies", name: "nothing there", behave: patched(interpreter.Retain, `[{"op":"remove","path":"/spec/nothing/there"}]`)},
		{check: "patch-identity", name: "name", behave: patched(interpreter.Retain, `[{"op":"replace","path":"/metadata/name","value":"other"}]`)},
		{check: "patch-identity", name: "kind", behave: patched(interpreter.ReviseReplica, `[{"op":"replace","path":"/kind","value":"Other"}]`)},
		{check: "patch-only-status", behave: patched(interpreter.AggregateStatus, `[{"op":"add","path":"/spec/seen","value":true}]`)},

		{check: "timeout-query", behave: when(func(q *question) bool { return q.URL.RawQuery != "" }, status(404))},
		{check: "timeout-query", name: "one value", behave: when(func(q *question) bool { return q.URL.Query().Get("timeout") == "30s" }, status(400))},
		{check: "header-case", plain: func(s *httptest.Server) {
			s.Listener = sniffing{s.Listener}
			good := s.Config.Handler
			s.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) }
			s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				q := readQuestion(r)
				if c := r.Context().Value(connKey{}).(*sniffed); q.Header.Get("Content-Type") != "" && !c.saw("\r\nContent-Type:") {
					respond(w, q.uid, false, http.StatusUnsupportedMediaType, "no Content-Type")
					return
				}
				good.ServeHTTP(w, r)
			})
		}},
		{check: "content-type-charset", behave: when(func(q *question) bool { return strings.Contains(q.Header.Get("Content-Type"), "charset") }, refuses(415, "another Content-Type"))},
		{check: "envelope-optional", behave: when(func(q *question) bool {
			return q.request != nil && !bytes.Contains(q.body, []byte(`"kind":"ResourceInterpreterContext"`))
		}, refuses(400, "no kind"))},
		{check: "unknown-fields", behave: when(contains("fieldOfALaterVersion"), refuses(400, "unknown field"))},
		{check: "null-fields", behave: when(contains(`"observedObject":null`), refuses(400, "null"))},
		{check: "null-fields", name: "status items", behave: when(contains(`"aggregatedStatus":null`), refuses(400, "null"))},
		{check: "odd-text", name: "refused", behave: when(contains("漢字"), refuses(400, "strange"))},
		{check: "odd-text", name: "not escaped", behave: when(contains("漢字"), says("{\"response\":{\"note\":\"\x01\"}}"))},
		{check: "odd-names", behave: when(contains(`:контроллер`), status(500))},
		{check: "name-empty", behave: when(func(q *question) bool { return q.about(q.operation()) && q.request.Name == "" }, refuses(400, "no name"))},
		{check: "replicas-zero", behave: when(func(q *question) bool { return q.about(interpreter.ReviseReplica) && q.request.DesiredReplicas == 0 }, refuses(400, "no replicas"))},
		{check: "replicas-big", behave: when(func(q *question) bool {
			return q.about(interpreter.ReviseReplica) && q.request.DesiredReplicas == math.MaxInt32
		}, status(500))},
		{check: "observed-missing", behave: when(func(q *question) bool { return q.about(interpreter.Retain) && q.request.ObservedObject == nil }, hangUp)},
		{check: "items-absent", behave: when(func(q *question) bool {
			return q.about(interpreter.AggregateStatus) && len(q.request.AggregatedStatus) == 0
		}, refuses(400, "no items"))},
		{check: "items-partial", behave: when(func(q *question) bool {
			return q.request != nil && slices.ContainsFunc(q.request.AggregatedStatus, func(i interpreter.AggregatedStatusItem) bool { return i.Status == nil })
		}, refuses(400, "no status"))},
		{check: "items-many", behave: when(func(q *question) bool { return q.request != nil && len(q.request.AggregatedStatus) > 50 }, refuses(400, "too many"))},
		{check: "large-object", name: "refused", behave: when(func(q *question) bool { return len(q.body) > 1<<20 }, status(413))},
		{check: "too-large", name: "cut off", behave: when(func(q *question) bool { return len(q.body) > 10<<20 }, refuses(400, "unexpected end of JSON input"))},
		{check: "too-large", name: "hung up", behave: func(good http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.ContentLength > 10<<20 {
					panic(http.ErrAbortHandler)
				}
				good.ServeHTTP(w, r)
			})
		}},
		{check: "resent", behave: func(good http.Handler) http.Handler {
			var seen sync.Map
			return when(func(q *question) bool {
				_, again := seen.LoadOrStore(q.uid, true)
				return again && q.about(q.operation())
			}, refuses(409, "answered already"))(good)
		}},
		{check: "idempotent", behave: func(good http.Handler) http.Handler {
			var calls atomic.Int32
			return tampered(interpreter.InterpretHealth, func(r map[string]any) { r["healthy"] = calls.Add(1)%2 == 0 })(good)
		}},
		{check: "keep-alive", behave: func(good http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Connection", "close")
				good.ServeHTTP(w, r)
			})
		}},
		{check: "keep-alive", name: "HTTP/1.0", behave: func(good http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				recorder := httptest.NewRecorder()
				good.ServeHTTP(recorder, r)
				if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
					_, _ = fmt.Fprintf(conn, "HTTP/1.0 %d OK\r\n\r\n%s", recorder.Code, recorder.Body)
					_ = conn.Close()
				}
			})
		}},
		{check: "concurrency", name: "uids", behave: crowded(func(_ *question, response map[string]any) { response["uid"] = "that of another" })},
		{check: "concurrency", name: "answers", behave: crowded(func(q *question, response map[string]any) {
			if health(q) {
				response["healthy"] = response["healthy"] != true
			}
		})},
		{check: "concurrency", name: "failures", behave: func(good http.Handler) http.Handler {
			var busy gathering
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if busy.join() > 1 {
					http.Error(w, "one at a time", http.StatusServiceUnavailable)
					return
				}
				good.ServeHTTP(w, r)
			})
		}},

		{check: "unknown-operation", name: "success", behave: when(contains("InterpretWeather"), func(w http.ResponseWriter, q *question) { respond(w, q.uid, true, 200, "") })},
		{check: "unknown-operation", name: "hung up", behave: when(contains("InterpretWeather"), hangUp)},
		{check: "unregistered-operation", rules: rulesFor(interpreter.InterpretHealth, interpreter.Retain),
			behave: when(asked(interpreter.InterpretReplica), func(w http.ResponseWriter, q *question) { respond(w, q.uid, true, 200, "") })},
		{check: "unknown-kind", name: "success", behave: when(contains(`"kind":"NobodyKnowsThisKind"`), func(w http.ResponseWriter, q *question) { respond(w, q.uid, true, 200, "") })},
		{check: "unknown-kind", name: "no answer", behave: when(contains(`"kind":"NobodyKnowsThisKind"`), says(""))},
		{check: "object-missing", behave: when(contains(`"object":null`), func(w http.ResponseWriter, q *question) { respond(w, q.uid, true, 200, "") })},
		{check: "request-missing", behave: when(func(q *question) bool { return !q.broken && q.request == nil }, says(success))},
		{check: "garbage-body", name: "hung up", behave: when(contains("this is no JSON"), hangUp)},
		{check: "garbage-body", name: "success", behave: when(contains("this is no JSON"), says(success))},
		{check: "garbage-body", name: "no answer", behave: when(contains("this is no JSON"), says(""))},
		{check: "truncated-body", behave: when(func(q *question) bool { return q.broken && bytes.HasPrefix(q.body, []byte("{")) }, hangUp)},
		{check: "empty-body", behave: when(func(q *question) bool { return len(q.body) == 0 && q.Method == http.MethodPost }, hangUp)},
		{check: "wrong-content-type", behave: func(good http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r.Header.Set("Content-Type", "application/json")
				good.ServeHTTP(w, r)
			})
		}},
		{check: "get", behave: when(func(q *question) bool { return q.Method == http.MethodGet }, says(success))},
		{check: "survives", behave: func(good http.Handler) http.Handler {
			var dead atomic.Bool
			return when(func(q *question) bool {
				return dead.Load() || dead.CompareAndSwap(false, contains("this is no JSON")(q)) && dead.Load()
			}, status(500))(good)
		}},

		{check: "uid-success", name: "one of its own", behave: tampered(interpreter.InterpretHealth, set("uid", "mine"))},
		{check: "uid-success", name: "none", behave: tampered(interpreter.InterpretHealth, set("uid", nil))},
		{check: "uid-success", name: "that of the first", behave: func(good http.Handler) http.Handler {
			var first atomic.Pointer[any]
			return tampered(interpreter.InterpretHealth, func(r map[string]any) {
				own := r["uid"]
				first.CompareAndSwap(nil, &own)
				r["uid"] = *first.Load()
			})(good)
		}},
		{check: "uid-failure", behave: tamper(func(q *question, _, response map[string]any) {
			if response["successful"] == false && q.request != nil && isKnown(q.operation()) && q.Header.Get("Content-Type") == "application/json" && q.request.Object.Raw != nil {
				delete(response, "uid")
			}
		})},
		{check: "uid-early", behave: tamper(func(q *question, _, response map[string]any) {
			if response["successful"] == false && q.broken {
				delete(response, "uid")
			}
		})},
		{check: "failure-status", behave: tamper(func(q *question, _, response map[string]any) {
			if response["successful"] == false {
				delete(response, "status")
			}
		})},
		{check: "failure-code", behave: tamper(func(q *question, _, response map[string]any) {
			if response["successful"] == false {
				response["status"] = map[string]any{"code": 200, "message": "no"}
			}
		})},
		{check: "failure-message", behave: tamper(func(q *question, _, response map[string]any) {
			if response["successful"] == false {
				response["status"] = map[string]any{"code": 500}
			}
		})},
	}
}

// operation is the one that was asked, empty if none was.
func (q *question) operation() interpreter.Operation {
	if q.request == nil {
		return ""
	}
	return q.request.Operation
}

func isKnown(op interpreter.Operation) bool {
	_, known := interpreter.ContractOf(op)
	return known
}

// gathering counts those who come at the same time.
type gathering struct{ present atomic.Int32 }

// join waits for others, and says how many there are.
func (g *gathering) join() int32 {
	n := g.present.Add(1)
	time.Sleep(2 * time.Millisecond)
	n = max(n, g.present.Load())
	g.present.Add(-1)
	return n
}

// crowded changes answers while more than one question is being worked on.
func crowded(edit func(q *question, response map[string]any)) func(http.Handler) http.Handler {
	var busy gathering
	return tamper(func(q *question, _, response map[string]any) {
		if busy.join() > 1 && response["successful"] == true {
			edit(q, response)
		}
	})
}

// sniffing is a listener whose connections remember what came last.
type sniffing struct{ net.Listener }

func (l sniffing) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &sniffed{Conn: c}, nil
}

// connKey is the key of a request's connection in its context.
type connKey struct{}

type sniffed struct {
	net.Conn
	mu   sync.Mutex
	last []byte
}

func (c *sniffed) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = append(c.last, p[:n]...)
	return n, err
}

// saw says whether a text came since it was asked last.
func (c *sniffed) saw(text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.last = nil }()
	return bytes.Contains(c.last, []byte(text))
}

// costly are the checks that take most of the time, which only those hooks are put through that mind.
var costly = []string{"large-object", "too-large"}

// Every beast breaks one rule. The kit must name that rule, and no other; and there is no rule that no beast breaks.
func TestTheKitNamesWhatABadHookDoesWrongAndNothingElse(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, b := range zoo() {
		found[b.check] = true
		t.Run(strings.TrimSpace(b.check+" "+b.name), func(t *testing.T) {
			t.Parallel()
			var options []conformance.Option
			if !slices.Contains(costly, b.check) {
				options = append(options, conformance.WithSkip(costly...))
			}
			report := b.verify(t, options...)
			assert.Equal(t, []string{b.check}, slices.Concat(verdicts(report, conformance.Fail), verdicts(report, conformance.Warn)), story(report))
			assert.NotZero(t, report.Count(conformance.Pass))
		})
	}
	for _, c := range conformance.Checks() {
		assert.True(t, found[c.ID], "no hook is bad enough for %s", c.ID)
	}
}

func (b *beast) verify(t testing.TB, options ...conformance.Option) *conformance.Report {
	rules := b.rules
	if rules == nil {
		rules = workloadRules()
	}
	handler := handlerOf(t, workloadHook(t))
	if b.behave != nil {
		handler = b.behave(handler)
	}
	var hook conformance.Hook
	if b.serve == nil && b.hook == nil {
		// Without TLS, which takes most of the time and is not what this one gets wrong.
		s := httptest.NewUnstartedServer(handler)
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		if b.plain != nil {
			b.plain(s)
		}
		s.Start()
		t.Cleanup(s.Close)
		hook = conformance.Hook{URL: s.URL, Timeout: 30 * time.Second}
	} else {
		hook = served(t, handler, rules, func(s *httptest.Server, a *authority) {
			if b.serve != nil {
				b.serve(t, s, a)
			}
		})
	}
	if b.hook != nil {
		b.hook(t, &hook)
	}
	questions := workloadQuestions(t)
	questions = slices.DeleteFunc(questions, func(q conformance.Question) bool { return !slices.Contains(rules[0].Operations, q.Operation) })
	if b.check == "latency" {
		return runTimed(t, hook, questions, options...)
	}
	return run(t, hook, questions, options...)
}
