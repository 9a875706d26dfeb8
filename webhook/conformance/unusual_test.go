package conformance_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/webhook/conformance"
)

// Hooks may do as they please within the rules, and the kit must not have anything against them.
func TestUnusualHooksAreRight(t *testing.T) {
	t.Parallel()
	for name, behave := range map[string]func(http.Handler) http.Handler{
		"no envelope type": tamper(func(_ *question, envelope, _ map[string]any) {
			delete(envelope, "kind")
			delete(envelope, "apiVersion")
		}),
		"an empty envelope type":      tamper(func(_ *question, envelope, _ map[string]any) { envelope["kind"], envelope["apiVersion"] = "", nil }),
		"more than was asked for":     tamper(func(_ *question, envelope, r map[string]any) { r["later"], envelope["request"] = []any{1}, "ignored" }),
		"answers to other operations": tampered(interpreter.InterpretHealth, set("replicas", 3)),
		"nulls": tamper(func(q *question, _, r map[string]any) {
			for _, name := range []string{"status", "patch", "patchType", "replicas", "components", "dependencies", "rawStatus", "healthy"} {
				if _, ok := r[name]; !ok {
					r[name] = nil
				}
			}
		}),
		"no status with success":      tampered(interpreter.InterpretHealth, set("status", nil)),
		"a bad code with success":     tampered(interpreter.InterpretHealth, set("status", map[string]any{"code": 500})),
		"no replicas":                 tampered(interpreter.InterpretReplica, set("replicas", 0)),
		"no requirements":             tampered(interpreter.InterpretReplica, set("replicaRequirements", nil)),
		"no components":               tampered(interpreter.InterpretComponent, set("components", nil)),
		"an empty list of components": tampered(interpreter.InterpretComponent, set("components", []any{})),
		"no dependencies":             tampered(interpreter.InterpretDependency, set("dependencies", nil)),
		"dependencies by label": tampered(interpreter.InterpretDependency, set("dependencies", []any{map[string]any{
			"apiVersion": "v1", "kind": "Secret", "labelSelector": map[string]any{"matchLabels": map[string]any{"a": "b"}}}})),
		"dependencies in any order": shuffled(),
		"an empty status":           tampered(interpreter.InterpretStatus, set("rawStatus", map[string]any{})),
		"a status that is a number": tampered(interpreter.InterpretStatus, set("rawStatus", 3)),
		"no patch": tampered(interpreter.Retain, func(r map[string]any) {
			delete(r, "patch")
			delete(r, "patchType")
		}),
		"an empty patch": patched(interpreter.Retain, "[]"),
		"a patch of the whole": tamper(func(q *question, _, r map[string]any) {
			if q.about(interpreter.ReviseReplica) && r["successful"] == true {
				r["patch"] = base64.StdEncoding.EncodeToString(fmt.Appendf(nil, `[{"op":"replace","path":"","value":%s}]`, q.request.Object.Raw))
			}
		}),
		"a patch with a test":      patched(interpreter.Retain, `[{"op":"test","path":"/kind","value":"Workload"},{"op":"copy","from":"/spec","path":"/copied"},{"op":"move","from":"/copied","path":"/moved"}]`),
		"a status and a test":      patched(interpreter.AggregateStatus, `[{"op":"test","path":"/spec/config","value":"settings"},{"op":"add","path":"/status","value":{}}]`),
		"white space":              wrapped(func(body string) string { return "\n  " + body + "\r\n\t" }),
		"any content type":         headed(func(h http.Header) { h.Set("Content-Type", "text/plain; charset=utf-8") }),
		"no content type":          headed(func(h http.Header) { h["Content-Type"] = nil }),
		"HTTP status 206":          answering(http.StatusPartialContent),
		"HTTP status 201":          answering(http.StatusCreated),
		"strange words for base64": tampered(interpreter.Retain, func(r map[string]any) { text := r["patch"].(string); r["patch"] = text[:4] + "\n" + text[4:] }),
		"HTTP statuses for all that is wrong with a question": when(func(q *question) bool {
			return q.broken || q.request == nil || q.request.Object.Raw == nil || !isKnown(q.operation())
		}, status(http.StatusBadRequest)),
		"anything for strange kinds": when(func(q *question) bool { return strings.Contains(string(q.body), "NobodyKnowsThisKind") }, status(http.StatusNotFound)),
		"no limit": func(good http.Handler) http.Handler {
			return when(func(q *question) bool { return len(q.body) > 10<<20 }, func(w http.ResponseWriter, q *question) {
				respond(w, q.uid, true, 200, "")
			})(good)
		},
		"more headers": headed(func(h http.Header) { h.Set("Server", "x"); h.Add("Set-Cookie", "a=b") }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var options []conformance.Option
			if name != "no limit" {
				options = append(options, conformance.WithSkip(costly...))
			}
			report := (&beast{behave: behave}).verify(t, options...)
			assert.Empty(t, slices.Concat(verdicts(report, conformance.Fail), verdicts(report, conformance.Warn)), story(report))
		})
	}
}

// shuffled turns the dependencies round with every answer.
func shuffled() func(http.Handler) http.Handler {
	turned := make(chan bool, 1)
	turned <- false
	return tampered(interpreter.InterpretDependency, func(r map[string]any) {
		turn := <-turned
		turned <- !turn
		if list, _ := r["dependencies"].([]any); turn {
			slices.Reverse(list)
		}
	})
}

// wrapped changes the bodies of answers.
func wrapped(change func(string) string) func(http.Handler) http.Handler {
	return recorded(func(w http.ResponseWriter, code int, header http.Header, body string) {
		header.Del("Content-Length")
		write(w, code, header, change(body))
	})
}

// headed changes the headers of answers.
func headed(change func(http.Header)) func(http.Handler) http.Handler {
	return recorded(func(w http.ResponseWriter, code int, header http.Header, body string) {
		change(header)
		write(w, code, header, body)
	})
}

// answering answers with another status of success.
func answering(status int) func(http.Handler) http.Handler {
	return recorded(func(w http.ResponseWriter, code int, header http.Header, body string) {
		if code == http.StatusOK {
			code = status
		}
		write(w, code, header, body)
	})
}

// recorded has a good hook answer, and something else send it.
func recorded(send func(w http.ResponseWriter, code int, header http.Header, body string)) func(http.Handler) http.Handler {
	return func(good http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			recorder := httptest.NewRecorder()
			good.ServeHTTP(recorder, r)
			send(w, recorder.Code, recorder.Header(), recorder.Body.String())
		})
	}
}

func write(w http.ResponseWriter, code int, header http.Header, body string) {
	for name, values := range header {
		w.Header()[name] = values
	}
	w.WriteHeader(code)
	_, _ = io.WriteString(w, body)
}
