package live_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
	"github.com/kubeinterpret/interpret/interpreter/definition/live"
	"github.com/kubeinterpret/interpret/interpreter/follow"
)

// within is how soon a change must be in force; what takes longer has failed.
const within = 10 * time.Second

var (
	crds   = apiextensionsv1.SchemeGroupVersion.WithResource(live.Resource)
	events = corev1.SchemeGroupVersion.WithResource("events")
	foo    = schema.GroupKind{Group: "demo.io", Kind: "Foo"}
	bar    = schema.GroupKind{Group: "demo.io", Kind: "Bar"}
)

func newClient(objects ...runtime.Object) *dynamicfake.FakeDynamicClient {
	return dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{crds: "CustomResourceDefinitionList", events: "EventList"}, objects...)
}

// crd defines a kind with versions.
func crd(plural, kind string, established bool, versions ...string) *unstructured.Unstructured {
	var list []any
	for i, v := range versions {
		list = append(list, map[string]any{"name": v, "served": true, "storage": i == 0, "schema": map[string]any{
			"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"spec": map[string]any{"type": "object"}}},
		}})
	}
	status := "False"
	if established {
		status = "True"
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + ".demo.io", "uid": "uid-of-" + plural, "managedFields": []any{map[string]any{"manager": "m"}}},
		"spec": map[string]any{
			"group": "demo.io", "scope": "Namespaced", "versions": list,
			"names": map[string]any{"plural": plural, "kind": kind},
		},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": status}}},
	}}
}

func start(t testing.TB, client *dynamicfake.FakeDynamicClient, options ...follow.Option) *live.Definitions {
	t.Helper()
	d, err := live.New(client, options...)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { assert.NoError(t, d.Run(ctx)) })
	t.Cleanup(func() {
		stop()
		done.Wait()
	})
	return d
}

// ready waits until the CRDs have been read.
func ready(t testing.TB, d *live.Definitions) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), within)
	defer stop()
	require.NoError(t, d.Wait(ctx))
}

// versions says what is known of a kind.
func versions(d definition.Definitions, kind schema.GroupKind) string {
	found, err := d.Definition(kind)
	switch {
	case err != nil:
		return err.Error()
	case found == nil:
		return "none"
	}
	text := found.Name()
	for _, v := range found.Versions() {
		text += " " + v.Name
	}
	return text
}

func becomes(t testing.TB, d definition.Definitions, kind schema.GroupKind, want string) {
	t.Helper()
	require.Eventually(t, func() bool { return versions(d, kind) == want }, within, 5*time.Millisecond, "want %s", want)
}

func TestDefinitionsFollowTheServer(t *testing.T) {
	t.Parallel()
	client := newClient(crd("foos", "Foo", true, "v1"))
	d := start(t, client)
	changes := d.Changes(t.Context())
	ready(t, d)
	require.NoError(t, d.Ready())
	assert.Equal(t, "foos.demo.io v1", versions(d, foo))
	assert.Equal(t, "none", versions(d, bar))
	first, err := d.Definition(foo)
	require.NoError(t, err)
	_, err = first.Version("v1").Schema()
	require.NoError(t, err)

	_, err = client.Resource(crds).Create(t.Context(), crd("bars", "Bar", true, "v1", "v2"), metav1.CreateOptions{})
	require.NoError(t, err)
	becomes(t, d, bar, "bars.demo.io v2 v1")
	select {
	case <-changes:
	case <-time.After(within):
		t.Fatal("nobody was told")
	}
	all, err := d.All()
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Equal(t, "bars.demo.io", all[0].Name())
	assert.Same(t, first, all[1], "what has not changed is not read again")

	_, err = client.Resource(crds).Update(t.Context(), crd("foos", "Foo", true, "v1", "v2"), metav1.UpdateOptions{})
	require.NoError(t, err)
	becomes(t, d, foo, "foos.demo.io v2 v1")
	require.NoError(t, client.Resource(crds).Delete(t.Context(), "foos.demo.io", metav1.DeleteOptions{}))
	becomes(t, d, foo, "none")
}

func TestWhatHasNotBeenReadIsNotAbsent(t *testing.T) {
	t.Parallel()
	client := newClient(crd("foos", "Foo", true, "v1"))
	var broken atomic.Bool
	broken.Store(true)
	refuse := func(clienttesting.Action) (bool, runtime.Object, error) {
		return broken.Load(), nil, errors.New("the server is on fire")
	}
	client.PrependReactor("list", live.Resource, refuse)
	client.PrependWatchReactor(live.Resource, func(a clienttesting.Action) (bool, watch.Interface, error) {
		handled, _, err := refuse(a)
		return handled, nil, err
	})
	d := start(t, client)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		_, err := d.Definition(foo)
		assert.ErrorIs(c, err, interpreter.ErrNotReady)
		assert.ErrorContains(c, err, "which CRDs there are is not known")
		assert.ErrorContains(c, err, "the server is on fire")
	}, within, 5*time.Millisecond)
	_, err := d.All()
	require.ErrorIs(t, err, interpreter.ErrNotReady)
	require.ErrorIs(t, d.Ready(), interpreter.ErrNotReady)

	broken.Store(false)
	ready(t, d)
	assert.Equal(t, "foos.demo.io v1", versions(d, foo))
	assert.Equal(t, "none", versions(d, bar))
}

func TestOfTwoForAKindTheServedOneIsInForce(t *testing.T) {
	t.Parallel()
	client := newClient(crd("afoos", "Foo", false, "v1"), crd("foos", "Foo", true, "v2"), crd("zfoos", "Foo", false, "v3"))
	d := start(t, client)
	ready(t, d)
	assert.Equal(t, "foos.demo.io v2", versions(d, foo))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.ElementsMatch(c, []string{
			"Conflict afoos.demo.io: CRD afoos.demo.io defines Foo.demo.io, as does CRD foos.demo.io, which is in force",
			"Conflict zfoos.demo.io: CRD zfoos.demo.io defines Foo.demo.io, as does CRD foos.demo.io, which is in force",
		}, said(c, client))
	}, within, 5*time.Millisecond)
	require.NoError(t, client.Resource(crds).Delete(t.Context(), "foos.demo.io", metav1.DeleteOptions{}))
	becomes(t, d, foo, "afoos.demo.io v1")
}

// said lists the Events, as "reason name: message".
func said(t require.TestingT, client *dynamicfake.FakeDynamicClient) []string {
	list, err := client.Resource(events).List(context.Background(), metav1.ListOptions{})
	require.NoError(t, err)
	var texts []string
	for _, e := range list.Items {
		name, _, _ := unstructured.NestedString(e.Object, "involvedObject", "name")
		texts = append(texts, fmt.Sprintf("%s %s: %s", e.Object["reason"], name, e.Object["message"]))
	}
	return texts
}

func TestABrokenCRDLeavesItsLastGoodVersionInForce(t *testing.T) {
	t.Parallel()
	broken := crd("foos", "Foo", true, "v1")
	unstructured.RemoveNestedField(broken.Object, "spec", "names", "kind")
	client := newClient(crd("foos", "Foo", true, "v1"), crd("bars", "Bar", true, "v1"))
	d := start(t, client)
	ready(t, d)
	_, err := client.Resource(crds).Update(t.Context(), broken, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		texts := said(c, client)
		if assert.Len(c, texts, 1) {
			assert.Contains(c, texts[0], "Invalid foos.demo.io: CRD foos.demo.io: spec.names.kind is missing")
			assert.Contains(c, texts[0], "the last good version stays in force")
		}
	}, within, 5*time.Millisecond)
	assert.Equal(t, "foos.demo.io v1", versions(d, foo))
	assert.Equal(t, "bars.demo.io v1", versions(d, bar))
}

func TestASchemaWithoutStructureIsAnErrorOfWhoWantsIt(t *testing.T) {
	t.Parallel()
	unstructuredCRD := crd("foos", "Foo", true, "v1")
	versionsOf, _, err := unstructured.NestedSlice(unstructuredCRD.Object, "spec", "versions")
	require.NoError(t, err)
	delete(versionsOf[0].(map[string]any), "schema")
	require.NoError(t, unstructured.SetNestedSlice(unstructuredCRD.Object, versionsOf, "spec", "versions"))
	d := start(t, newClient(unstructuredCRD))
	ready(t, d)
	found, err := d.Definition(foo)
	require.NoError(t, err)
	_, err = found.Version("v1").Schema()
	assert.ErrorContains(t, err, "CRD foos.demo.io, version v1")
}

func TestDefinitionsNeedAClient(t *testing.T) {
	t.Parallel()
	_, err := live.New(nil)
	require.EqualError(t, err, "the client is nil")
	_, err = live.New(newClient(), follow.WithPatience(-1))
	require.ErrorContains(t, err, "patience must not be negative")
}

func BenchmarkLookup(b *testing.B) {
	d := start(b, newClient(crd("foos", "Foo", true, "v1")))
	ready(b, d)
	b.ReportAllocs()
	for b.Loop() {
		if found, err := d.Definition(foo); err != nil || found == nil {
			b.Fatal(found, err)
		}
	}
}

// BenchmarkRead reads 500 CRDs from a server; the memory that stays is to be under 200 MB. The objects of the server
// here are not counted.
func BenchmarkRead(b *testing.B) {
	client := newClient()
	for i := range 500 {
		o := crd(fmt.Sprintf("kinds%d", i), fmt.Sprintf("Kind%d", i), true, "v1")
		versions, _, err := unstructured.NestedSlice(o.Object, "spec", "versions")
		require.NoError(b, err)
		properties := map[string]any{}
		for f := range 150 + i {
			properties[fmt.Sprintf("field%d", f)] = map[string]any{"type": "string", "description": "What the field is for, and what happens without it, told at some length."}
		}
		require.NoError(b, unstructured.SetNestedMap(versions[0].(map[string]any), properties, "schema", "openAPIV3Schema", "properties", "spec", "properties"))
		require.NoError(b, unstructured.SetNestedSlice(o.Object, versions, "spec", "versions"))
		require.NoError(b, client.Tracker().Add(o))
	}
	for b.Loop() {
		before := heap()
		d, err := live.New(client)
		require.NoError(b, err)
		ctx, stop := context.WithCancel(b.Context())
		var done sync.WaitGroup
		done.Go(func() { assert.NoError(b, d.Run(ctx)) })
		ready(b, d)
		b.ReportMetric(float64(heap()-before)/1e6, "MB-kept")
		all, err := d.All()
		require.NoError(b, err)
		require.Len(b, all, 500)
		stop()
		done.Wait()
	}
}

func heap() int64 {
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
