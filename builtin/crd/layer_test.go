package crd

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
)

// widget is a CRD with a scale subresource whose replicas have a default.
const widget = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.demo.io}
spec:
  group: demo.io
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer, default: %d}}}
          status: {type: object, properties: {size: {type: integer}}}
`

func parsed(t testing.TB, text string) *definition.Definition {
	t.Helper()
	list, err := definition.Parse("crd.yaml", []byte(text))
	require.NoError(t, err)
	require.Len(t, list, 1)
	return list[0]
}

// changing is a set of CRDs that changes, or cannot be told yet.
type changing struct {
	mu  sync.Mutex
	set *definition.Set
	err error
}

func (c *changing) put(t testing.TB, list ...*definition.Definition) {
	set, err := definition.NewSet(list...)
	require.NoError(t, err)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set, c.err = set, nil
}

func (c *changing) get() (*definition.Set, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.set, c.err
}

func (c *changing) Definition(kind schema.GroupKind) (*definition.Definition, error) {
	set, err := c.get()
	if err != nil {
		return nil, err
	}
	return set.Definition(kind)
}

func (c *changing) All() ([]*definition.Definition, error) {
	set, err := c.get()
	if err != nil {
		return nil, err
	}
	return set.All()
}

func object(apiVersion, kind string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "x"}}}
}

var widgetKind = schema.GroupVersionKind{Group: "demo.io", Version: "v1", Kind: "Widget"}

func TestAChangedCRDCountsAtOnce(t *testing.T) {
	t.Parallel()
	definitions := &changing{}
	layer := New(definitions)
	chain := interpreter.NewChain(layer)
	for i := range 3 {
		definitions.put(t, parsed(t, fmt.Sprintf(widget, i)))
		n, _, err := interpreter.Replicas(t.Context(), chain, object("demo.io/v1", "Widget"))
		require.NoError(t, err)
		assert.EqualValues(t, i, n)
	}
	held := 0
	layer.plans.Range(func(any, any) bool { held++; return true })
	assert.Equal(t, 1, held, "what was known of former definitions is forgotten")

	definitions.put(t)
	_, _, err := interpreter.Replicas(t.Context(), chain, object("demo.io/v1", "Widget"))
	require.ErrorIs(t, err, interpreter.ErrNoRule)
}

func TestNotReadyIsNoAnswer(t *testing.T) {
	t.Parallel()
	definitions := &changing{err: fmt.Errorf("%w: no list of CRDs yet", interpreter.ErrNotReady)}
	layer := New(definitions)
	chain := interpreter.NewChain(layer, KStatus(definitions))
	obj := object("demo.io/v1", "Widget")
	_, err := interpreter.Dependencies(t.Context(), chain, obj)
	require.ErrorIs(t, err, interpreter.ErrNotReady)
	require.NotErrorIs(t, err, interpreter.ErrNoRule)
	_, err = interpreter.HealthOf(t.Context(), chain, obj)
	require.ErrorIs(t, err, interpreter.ErrNotReady, "whether there will be a status is not known")
	assert.Empty(t, layer.Entries())

	// What no CRD can be about need not wait.
	_, err = interpreter.Components(t.Context(), chain, object("v1", "Secret"))
	require.ErrorIs(t, err, interpreter.ErrNoRule)
	_, err = interpreter.Pruned(t.Context(), chain, obj)
	require.ErrorIs(t, err, interpreter.ErrNoRule)
	obj.Object["status"] = map[string]any{"ready": true}
	health, err := interpreter.HealthOf(t.Context(), chain, obj)
	require.NoError(t, err)
	assert.Equal(t, interpreter.Healthy, health.Status)
}

// A schema that cannot be read is an error that names the CRD, and no "there are none".
func TestASchemaWithoutStructure(t *testing.T) {
	t.Parallel()
	broken := parsed(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.demo.io}
spec:
  group: demo.io
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    schema: {openAPIV3Schema: {properties: {spec: {x-kubernetes-preserve-unknown-fields: true, properties: {size: {}}}}}}
`)
	definitions := &changing{}
	definitions.put(t, broken)
	chain := interpreter.NewChain(New(definitions))
	obj := object("demo.io/v1", "Widget")
	_, _, errReplicas := interpreter.Replicas(t.Context(), chain, obj)
	_, errComponents := interpreter.Components(t.Context(), chain, obj)
	_, errDependencies := interpreter.Dependencies(t.Context(), chain, obj)
	_, errAggregated := interpreter.Aggregated(t.Context(), chain, obj, nil)
	for _, err := range []error{errReplicas, errComponents, errDependencies, errAggregated} {
		require.ErrorContains(t, err, "demo.io/v1 Widget x by crd widgets.demo.io v1: ")
		require.ErrorContains(t, err, "CRD widgets.demo.io, version v1")
		require.NotErrorIs(t, err, interpreter.ErrNoRule)
	}
	// What needs no schema works.
	revised, err := interpreter.Revised(t.Context(), chain, obj, 3)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"size": int64(3)}, revised.Object["spec"])
	status, err := interpreter.Reflected(t.Context(), chain, obj)
	require.NoError(t, err)
	assert.Nil(t, status)
}

func TestTheLayerListsItsRules(t *testing.T) {
	t.Parallel()
	definitions := &changing{}
	definitions.put(t, parsed(t, fmt.Sprintf(widget, 1)))
	var got []string
	for _, e := range New(definitions).Entries() {
		assert.Equal(t, widgetKind, e.Kind)
		assert.Equal(t, "widgets.demo.io v1", e.Rule)
		got = append(got, string(e.Operation))
	}
	assert.Equal(t, []string{"InterpretReplica", "ReviseReplica", "Retain", "AggregateStatus", "InterpretStatus"}, got)
}

func TestTheListChangesWithTheCRDs(t *testing.T) {
	t.Parallel()
	definitions := &changing{}
	definitions.put(t, parsed(t, fmt.Sprintf(widget, 1)))
	layer := New(definitions)
	first := layer.Entries()
	first[0].Rule = "the caller's"
	assert.NotEqual(t, first, layer.Entries())
	assert.Len(t, layer.Entries(), len(first))
	definitions.put(t)
	assert.Empty(t, layer.Entries())
}

// A health by kstatus is told from a rule's by the layer that answers, and, once that is lost, by its reason.
func TestHealthByConventionIsTold(t *testing.T) {
	t.Parallel()
	chain := interpreter.NewChain(New(&changing{set: &definition.Set{}}), KStatus(nil))
	obj := object("demo.io/v1", "Widget")
	list, err := chain.Explain(&interpreter.Request{Object: obj})
	require.NoError(t, err)
	for _, e := range list {
		want := []interpreter.Source(nil)
		if e.Operation == interpreter.InterpretHealth {
			want = []interpreter.Source{{Layer: "kstatus", Rule: "any custom resource"}}
		}
		assert.Equal(t, want, e.Answers, e.Operation)
	}
	for _, status := range []any{nil, map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}} {
		obj.Object["status"] = status
		res, err := chain.Interpret(t.Context(), &interpreter.Request{Operation: interpreter.InterpretHealth, Object: obj})
		require.NoError(t, err)
		assert.Equal(t, KStatusName, res.Source.Layer)
		assert.Contains(t, res.Health.Reason, KStatusReason)
		assert.Equal(t, status != nil, res.Health.IsHealthy(), "no status is told from a good one")
	}
}

func TestHealthByConventionOfDefinedKindsOnly(t *testing.T) {
	t.Parallel()
	definitions := &changing{err: interpreter.ErrNotReady}
	layer := KStatus(definitions, OnlyDefined())
	chain := interpreter.NewChain(layer)
	_, err := interpreter.HealthOf(t.Context(), chain, object("demo.io/v1", "Widget"))
	require.ErrorIs(t, err, interpreter.ErrNotReady)

	definitions.put(t, parsed(t, fmt.Sprintf(widget, 1)))
	_, err = interpreter.HealthOf(t.Context(), chain, object("demo.io/v1", "Widget"))
	require.NoError(t, err)
	// Listed is a rule for all kinds, and whoever asks about that finds it.
	entries := layer.(interpreter.Lister).Entries()
	require.Len(t, entries, 1)
	assert.Equal(t, "any kind with a CRD", layer.Rules(entries[0].Kind, interpreter.InterpretHealth)[0].Name)
	for _, kind := range []string{"demo.io/v2 Widget", "demo.io/v1 Gadget"} {
		apiVersion, kind, _ := strings.Cut(kind, " ")
		_, err = interpreter.HealthOf(t.Context(), chain, object(apiVersion, kind))
		require.ErrorIs(t, err, interpreter.ErrNoRule)
	}
	_, err = interpreter.HealthOf(t.Context(), interpreter.NewChain(KStatus(nil, OnlyDefined())), object("demo.io/v1", "Widget"))
	require.ErrorIs(t, err, interpreter.ErrNoRule)
}

func TestALookUpAllocatesNothing(t *testing.T) {
	definitions := &changing{}
	definitions.put(t, parsed(t, fmt.Sprintf(widget, 1)))
	layer, health := New(definitions), KStatus(definitions)
	layer.Rules(widgetKind, interpreter.InterpretDependency)
	for _, kind := range []schema.GroupVersionKind{
		widgetKind,
		{Group: "demo.io", Version: "v2", Kind: "Widget"},
		{Group: "demo.io", Version: "v1", Kind: "Gadget"},
		{Version: "v1", Kind: "Pod"},
		{Group: "apps", Version: "v1", Kind: "Deployment"},
	} {
		for _, op := range interpreter.Operations() {
			assert.Zero(t, testing.AllocsPerRun(100, func() {
				layer.Rules(kind, op)
				health.Rules(kind, op)
			}), "%s %s", kind, op)
		}
	}
}

// Questions about CRDs that come and go, all at once. The race detector looks on.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	definitions := &changing{}
	definitions.put(t, parsed(t, fmt.Sprintf(widget, 1)))
	chain := interpreter.NewChain(New(definitions), KStatus(definitions))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				n, _, err := interpreter.Replicas(t.Context(), chain, object("demo.io/v1", "Widget"))
				if err != nil && !errors.Is(err, interpreter.ErrNoRule) {
					t.Error(err)
				}
				if err == nil && n != 1 {
					t.Errorf("%d replicas", n)
				}
			}
		})
	}
	for range 50 {
		definitions.put(t)
		definitions.put(t, parsed(t, fmt.Sprintf(widget, 1)))
	}
	wg.Wait()
}
