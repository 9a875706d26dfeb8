package live_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/follow"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
	"github.com/kubeinterpret/interpret/webhook/live"
)

// within is how soon a change must be in force; what takes longer has failed.
const within = 10 * time.Second

var (
	configurations = v1alpha1.GroupVersion.WithResource(live.Resource)
	events         = corev1.SchemeGroupVersion.WithResource("events")
)

func newClient(objects ...runtime.Object) *dynamicfake.FakeDynamicClient {
	return dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		configurations: v1alpha1.KindResourceInterpreterWebhookConfiguration + "List",
		events:         "EventList",
	}, objects...)
}

// hook is a hook that says whether everything is healthy.
func hook(t testing.TB, healthy bool) *httptest.Server {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var c v1alpha1.ResourceInterpreterContext
		if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, `{"response":{"uid":%q,"successful":true,"healthy":%t}}`, c.Request.UID, healthy)
	}))
	t.Cleanup(s.Close)
	return s
}

// configuration has one webhook, for health.
func configuration(t testing.TB, name string, s *httptest.Server, timeout int32) *unstructured.Unstructured {
	c := &v1alpha1.ResourceInterpreterWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindResourceInterpreterWebhookConfiguration},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []v1alpha1.ResourceInterpreterWebhook{{
			Name: "w.example.com",
			Rules: []v1alpha1.RuleWithOperations{{
				Operations: []v1alpha1.InterpreterOperation{interpreter.InterpretHealth},
				Rule:       v1alpha1.Rule{APIGroups: []string{"demo.io"}, APIVersions: []string{"v1"}, Kinds: []string{"Widget"}},
			}},
			TimeoutSeconds:             &timeout,
			InterpreterContextVersions: []string{"v1alpha1"},
		}},
	}
	c.Webhooks[0].ClientConfig.URL = &s.URL
	c.Webhooks[0].ClientConfig.CABundle = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c)
	require.NoError(t, err)
	return &unstructured.Unstructured{Object: content}
}

func start(t testing.TB, client *dynamicfake.FakeDynamicClient) *follow.Layer {
	t.Helper()
	hooks, err := webhook.New(nil)
	require.NoError(t, err)
	l, err := live.New(client, hooks)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { assert.NoError(t, l.Run(ctx)) })
	t.Cleanup(func() {
		stop()
		done.Wait()
		hooks.Close()
	})
	return l
}

// answer says what is answered: "true", "false", "nobody", or the error.
func answer(l *follow.Layer) string {
	healthy, err := interpreter.IsHealthy(context.Background(), interpreter.NewChain(l), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "demo.io/v1", "kind": "Widget", "metadata": map[string]any{"name": "w"},
	}})
	switch {
	case interpreter.IsNoRule(err):
		return "nobody"
	case err != nil:
		return err.Error()
	}
	return fmt.Sprint(healthy)
}

func becomes(t testing.TB, l *follow.Layer, want string) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Equal(c, want, answer(l)) }, within, 5*time.Millisecond)
}

func TestHooksFollowTheServer(t *testing.T) {
	yes, no := hook(t, true), hook(t, false)
	client := newClient()
	l := start(t, client)
	becomes(t, l, "nobody")
	resource := client.Resource(configurations)
	_, err := resource.Create(t.Context(), configuration(t, "a", yes, 10), metav1.CreateOptions{})
	require.NoError(t, err)
	becomes(t, l, "true")
	assert.Equal(t, []interpreter.Entry{{
		Kind: schema.GroupVersionKind{Group: "demo.io", Version: "v1", Kind: "Widget"}, Operation: interpreter.InterpretHealth, Rule: "a/w.example.com",
	}}, l.Entries())
	_, err = resource.Update(t.Context(), configuration(t, "a", no, 10), metav1.UpdateOptions{})
	require.NoError(t, err)
	becomes(t, l, "false")
	require.NoError(t, resource.Delete(t.Context(), "a", metav1.DeleteOptions{}))
	becomes(t, l, "nobody")
	require.NoError(t, l.Ready())
}

func TestBeforeTheFirstReadEveryQuestionFails(t *testing.T) {
	client := newClient(configuration(t, "a", hook(t, true), 10))
	var broken atomic.Bool
	broken.Store(true)
	client.PrependReactor("list", live.Resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		return broken.Load(), nil, errors.New("connection refused")
	})
	l := start(t, client)
	becomes(t, l, "InterpretHealth of demo.io/v1 Widget w by webhook: not ready: "+
		"resourceinterpreterwebhookconfigurations have not been read yet: connection refused")
	require.ErrorIs(t, l.Ready(), interpreter.ErrNotReady)
	broken.Store(false)
	becomes(t, l, "true")
}

func TestABrokenConfigurationIsReportedAndDisturbsNoOther(t *testing.T) {
	yes := hook(t, true)
	client := newClient(configuration(t, "a", yes, 31), configuration(t, "b", yes, 10))
	l := start(t, client)
	becomes(t, l, "true")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		list, err := client.Resource(events).List(t.Context(), metav1.ListOptions{})
		require.NoError(c, err)
		if assert.Len(c, list.Items, 1) {
			e := list.Items[0].Object
			assert.Equal(c, "Warning", e["type"])
			assert.Equal(c, "Invalid", e["reason"])
			assert.Equal(c, "a", e["involvedObject"].(map[string]any)["name"])
			assert.Equal(c, `webhook configuration "a": webhooks[0].timeoutSeconds: Invalid value: 31: must be from 1 to 30`, e["message"])
		}
	}, within, 5*time.Millisecond)
}

func TestTheLayerMustBeThere(t *testing.T) {
	_, err := live.New(newClient(), nil)
	require.ErrorContains(t, err, "the layer is nil")
}
