package webhook_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
)

// passingOn is a server whose chain has one layer, of the hooks that are put into it once addresses are known.
func passingOn(t *testing.T, a *authority, options ...webhook.Option) (*webhook.Layer, string) {
	layer, err := webhook.New(nil, options...)
	require.NoError(t, err)
	t.Cleanup(layer.Close)
	s := serve(t, a.pair("127.0.0.1"), handler(t, interpreter.NewChain(layer)))
	return layer, s.URL
}

// ask asks a server whether the workload is healthy.
func ask(t *testing.T, a *authority, url string) (bool, error) {
	return interpreter.IsHealthy(t.Context(), interpreter.NewChain(newLayer(t, configured(url, a.bundle))), workload())
}

func TestAServerThatAsksItselfSaysSo(t *testing.T) {
	a := newAuthority(t, "test")
	layer, url := passingOn(t, a)
	require.NoError(t, layer.Replace([]*v1alpha1.ResourceInterpreterWebhookConfiguration{configured(url, a.bundle)}))
	_, err := ask(t, a, url)
	var status *webhook.StatusError
	require.True(t, errors.As(err, &status), "%v", err)
	assert.EqualValues(t, http.StatusLoopDetected, status.Code)
	assert.Contains(t, err.Error(), "goes round in a circle (Via: 1.1 interpret-")
}

func TestACircleOfServersIsFound(t *testing.T) {
	a := newAuthority(t, "test")
	first, firstURL := passingOn(t, a)
	second, secondURL := passingOn(t, a)
	require.NoError(t, first.Replace([]*v1alpha1.ResourceInterpreterWebhookConfiguration{configured(secondURL, a.bundle)}))
	require.NoError(t, second.Replace([]*v1alpha1.ResourceInterpreterWebhookConfiguration{configured(firstURL, a.bundle)}))
	_, err := ask(t, a, firstURL)
	require.ErrorContains(t, err, "code 508")
}

// A line of servers is no circle, and what stands in the header already goes along.
func TestServersInALine(t *testing.T) {
	a := newAuthority(t, "test")
	var via []string
	last := serve(t, a.pair("127.0.0.1"), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		via = r.Header.Values("Via")
		healthy(t)(w, r)
	}))
	url := last.URL
	for range 3 {
		layer, next := passingOn(t, a)
		require.NoError(t, layer.Replace([]*v1alpha1.ResourceInterpreterWebhookConfiguration{configured(url, a.bundle)}))
		url = next
	}
	yes, err := ask(t, a, url)
	require.NoError(t, err)
	assert.True(t, yes)
	require.Len(t, via, 1)
	assert.Regexp(t, `^1\.1 interpret-[0-9a-f]{12}, 1\.1 interpret-[0-9a-f]{12}, 1\.1 interpret-[0-9a-f]{12}$`, via[0])

	// Nobody means a line that is much longer.
	for range 7 {
		layer, next := passingOn(t, a)
		require.NoError(t, layer.Replace([]*v1alpha1.ResourceInterpreterWebhookConfiguration{configured(url, a.bundle)}))
		url = next
	}
	_, err = ask(t, a, url)
	require.ErrorContains(t, err, "code 508")
}

func TestHooksThatAreSkipped(t *testing.T) {
	a := newAuthority(t, "test")
	s := serve(t, a.pair("127.0.0.1"), healthy(t))
	own := configured("https://own.example.com", a.bundle)
	own.Name = "a-comes-first"
	var seen []string
	layer := newLayer(t, own, webhook.WithSkip(func(configuration string, w *v1alpha1.ResourceInterpreterWebhook) bool {
		seen = append(seen, configuration+"/"+w.Name)
		return *w.ClientConfig.URL == "https://own.example.com"
	}))
	assert.Empty(t, layer.Entries())
	require.NoError(t, layer.Replace([]*v1alpha1.ResourceInterpreterWebhookConfiguration{own, configured(s.URL, a.bundle)}))
	yes, err := interpreter.IsHealthy(t.Context(), interpreter.NewChain(layer), workload())
	require.NoError(t, err)
	assert.True(t, yes)
	assert.Equal(t, []string{"a-comes-first/w.example.com", "a-comes-first/w.example.com", "hooks/w.example.com"}, seen)
}
