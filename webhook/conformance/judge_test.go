package conformance

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
)

// A field that is forgotten here would pass unread.
func TestAllFieldsOfAResponseAreRead(t *testing.T) {
	var names []string
	for _, f := range responseFields(&v1alpha1.ResourceInterpreterResponse{}) {
		names = append(names, f.name)
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[v1alpha1.ResourceInterpreterResponse]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		assert.Contains(t, names, name)
	}
}

func severities() map[string]Severity {
	all := map[string]Severity{}
	for _, c := range Checks() {
		all[c.ID] = c.Severity
	}
	return all
}

// Whatever comes back: it is judged, by a check that exists, and what is found good is what the client of production
// takes.
func FuzzAnswers(f *testing.F) {
	for _, body := range []string{
		"", "null", "[]", "{", `{"response":null}`, `{"response":{"uid":"u","successful":false}}`,
		`{"kind":"ResourceInterpreterContext","apiVersion":"config.karmada.io/v1alpha1","response":{"uid":"u","successful":true,"healthy":true,"replicas":1,"rawStatus":{}}}`,
		`{"response":{"uid":"u","successful":true,"patchType":"JSONPatch","patch":"W3sib3AiOiJyZXBsYWNlIiwicGF0aCI6Ii9raW5kIiwidmFsdWUiOjN9XQ=="}}`,
		`{"response":{"uid":"u","successful":true,"dependencies":[{"apiVersion":"v1","kind":"Secret","labelSelector":{"matchExpressions":[{"key":"a"}]}},null]}}`,
		`{"response":{"uid":"u","successful":true,"components":[{"name":"a","replicas":-1},{}]}} `,
	} {
		for op := range interpreter.Operations() {
			f.Add(op, 200, "application/json", body)
		}
		f.Add(0, 404, ";;", body)
	}
	known := severities()
	object := minimal(schema.GroupVersionKind{Group: "g.example", Version: "v1", Kind: "Foo"})
	f.Fuzz(func(t *testing.T, op, status int, contentType, body string) {
		operations := interpreter.Operations()
		n := int32(3)
		req := &interpreter.Request{Operation: operations[uint(op)%uint(len(operations))], Object: object, Observed: object, Replicas: &n}
		a := &answer{uid: "u", asked: req, question: &Question{Request: req}}
		a.Status, a.ResponseBody, a.ResponseHeader = status, body, http.Header{"Content-Type": {contentType}}
		a.judge(known)
		assert.NotEmpty(t, a.summary())
		for _, flaw := range a.flaws {
			assert.Contains(t, known, flaw.check)
			assert.NotEmpty(t, flaw.expected)
			assert.NotEmpty(t, flaw.got)
		}
		_, err := webhook.DecodeResponse([]byte(body), "u", req)
		if a.level == answered && a.uidIsRight() {
			assert.NoError(t, err, body)
		}
		if a.level == unusable && err == nil {
			// What the client of production takes is unusable only by rules that it forgives.
			assert.True(t, len(a.flaws) > 0, body)
			forgiven := []string{"http-status", "answer-size", "dependencies", "dependency-selector", "patch-form"}
			assert.True(t, slices.ContainsFunc(a.flaws, func(f flaw) bool { return slices.Contains(forgiven, f.check) }), "%s: %v", body, a.flaws)
		}
	})
}
