package webhook_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
)

func TestATLSConfigurationThatIsChanged(t *testing.T) {
	a := newAuthority(t, "test")
	s := serve(t, a.pair("hook.demo.svc"), healthy(t))
	ask := func(options ...webhook.Option) error {
		_, err := interpreter.NewChain(newLayer(t, configured(s.URL, a.bundle), options...)).Interpret(t.Context(), healthRequest())
		return err
	}
	require.ErrorContains(t, ask(), "127.0.0.1")
	require.NoError(t, ask(webhook.WithTLSConfig(func(c *tls.Config) { c.ServerName = "hook.demo.svc" })))
	require.NoError(t, ask(webhook.WithTLSConfig(func(c *tls.Config) { c.InsecureSkipVerify = true })))
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestATransportWithSomethingAroundIt(t *testing.T) {
	var asked atomic.Int32
	handler := healthy(t)
	chain, _ := hookOf(t, func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			w.Header().Set("Retry-After", "0")
			http.Error(w, "busy", http.StatusTooManyRequests)
			return
		}
		handler(w, r)
	}, webhook.WithTransportWrapper(func(inner http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			assert.NoError(t, err)
			assert.Contains(t, string(body), `"operation":"InterpretHealth"`)
			r = r.Clone(r.Context())
			r.Body = io.NopCloser(bytes.NewReader(body))
			return inner.RoundTrip(r)
		})
	}))
	res, err := chain.Interpret(t.Context(), healthRequest())
	require.NoError(t, err)
	assert.True(t, res.Health.IsHealthy())
	assert.EqualValues(t, 2, asked.Load())
}

func TestAPatchThatMakesAnotherObjectIsToldApart(t *testing.T) {
	chain, _ := hookOf(t, func(w http.ResponseWriter, r *http.Request) {
		form := v1alpha1.PatchTypeJSONPatch
		assert.NoError(t, json.NewEncoder(w).Encode(&v1alpha1.ResourceInterpreterContext{Response: &v1alpha1.ResourceInterpreterResponse{
			UID: read(t, r).UID, Successful: true, PatchType: &form,
			Patch: []byte(`[{"op":"replace","path":"/metadata/name","value":"other"}]`),
		}}))
	})
	_, err := chain.Interpret(t.Context(), &interpreter.Request{Operation: interpreter.Prune, Object: workload()})
	require.ErrorIs(t, err, webhook.ErrOtherObject)
}

func TestRulesMatch(t *testing.T) {
	kind := workloadKind
	rules := []v1alpha1.RuleWithOperations{{
		Operations: []interpreter.Operation{interpreter.Retain},
		Rule:       v1alpha1.Rule{APIGroups: []string{kind.Group}, APIVersions: []string{"*"}, Kinds: []string{kind.Kind}},
	}}
	assert.True(t, webhook.Matches(rules, kind, interpreter.Retain))
	assert.False(t, webhook.Matches(rules, kind, interpreter.Prune))
	assert.False(t, webhook.Matches(nil, kind, interpreter.Retain))
	kind.Kind = "Other"
	assert.False(t, webhook.Matches(rules, kind, interpreter.Retain))
}
