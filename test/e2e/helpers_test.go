package e2e

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/builtin"
	"github.com/kubeinterpret/interpret/interpreter"
)

// The rules of native kinds: plain are those that Karmada has, full adds ours.
var (
	plain = interpreter.NewChain(builtin.Layer(), builtin.Fallback())
	full  = interpreter.NewChain(builtin.Extra(), builtin.Layer(), builtin.Fallback())
)

// chains are both, by name.
var chains = map[string]*interpreter.Chain{"plain": plain, "full": full}

func must(t *testing.T, err error) {
	t.Helper()
	require.NoError(t, err)
}

// mustBeRefused wants the server to have refused something, and the reason to be the right one.
func mustBeRefused(t *testing.T, err error, reason string) {
	t.Helper()
	require.ErrorContains(t, err, reason)
	server.expected.Add(1)
}

// object reads a manifest.
func object(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	text, err := yaml.YAMLToJSONStrict([]byte(manifest))
	must(t, err)
	must(t, obj.UnmarshalJSON(text))
	return obj
}

// value reads a YAML object.
func value(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	must(t, yaml.UnmarshalStrict([]byte(text), &v))
	// Numbers as they come from an API server.
	obj := &unstructured.Unstructured{}
	raw, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Any", "value": v})
	must(t, err)
	must(t, obj.UnmarshalJSON(raw))
	v, _, err = unstructured.NestedMap(obj.Object, "value")
	must(t, err)
	return v
}

// placed is a copy of an object in a namespace. One without a namespace gets a name, or what stands for one, that
// nobody else uses.
func placed(t *testing.T, obj *unstructured.Unstructured, namespace string) *unstructured.Unstructured {
	t.Helper()
	obj = obj.DeepCopy()
	namespaced, err := server.IsObjectNamespaced(obj)
	must(t, err)
	switch {
	case namespaced:
		obj.SetNamespace(namespace)
	case obj.GetKind() == "CustomResourceDefinition" || obj.GetKind() == "APIService":
		// The name of these is bound to the group.
		must(t, unstructured.SetNestedField(obj.Object, namespace+".example.com", "spec", "group"))
		first, _, _ := strings.Cut(obj.GetName(), ".")
		obj.SetName(first + "." + namespace + ".example.com")
	default:
		first, _, _ := strings.Cut(obj.GetName(), "-")
		obj.SetName(first + "-" + namespace)
		if labels := obj.GetLabels(); labels[corev1.LabelMetadataName] != "" {
			labels[corev1.LabelMetadataName] = obj.GetName()
			obj.SetLabels(labels)
		}
	}
	return obj
}

// create has an object stored, and gives it as stored.
func create(t *testing.T, obj *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	obj = obj.DeepCopy()
	must(t, server.Create(t.Context(), obj))
	return obj
}

// update has an object changed, and gives it as stored.
func update(t *testing.T, obj *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	obj = obj.DeepCopy()
	must(t, server.Update(t.Context(), obj))
	return obj
}

// updateStatus has the status of an object changed, and gives it as stored.
func updateStatus(t *testing.T, obj *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	obj = obj.DeepCopy()
	must(t, server.Status().Update(t.Context(), obj))
	return obj
}

// withStatus is updateStatus with a new status.
func withStatus(t *testing.T, obj *unstructured.Unstructured, status map[string]any) *unstructured.Unstructured {
	t.Helper()
	obj = obj.DeepCopy()
	obj.Object["status"] = status
	return updateStatus(t, obj)
}

// remove has an object deleted at once.
func remove(t *testing.T, obj *unstructured.Unstructured) {
	t.Helper()
	must(t, server.Delete(t.Context(), obj, client.GracePeriodSeconds(0), client.PropagationPolicy(metav1.DeletePropagationBackground)))
}

// pruned asks what of an object travels.
func pruned(t *testing.T, chain *interpreter.Chain, obj *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	p, err := interpreter.Pruned(t.Context(), chain, obj)
	must(t, err)
	return p
}

// reported is what a member cluster reports of an object there.
func reported(t *testing.T, cluster string, obj *unstructured.Unstructured) interpreter.AggregatedStatusItem {
	t.Helper()
	status, err := interpreter.Reflected(t.Context(), full, obj)
	must(t, err)
	item := interpreter.AggregatedStatusItem{ClusterName: cluster, Applied: true}
	if status != nil {
		raw, err := json.Marshal(status)
		must(t, err)
		item.Status = &runtime.RawExtension{Raw: raw}
	}
	return item
}

// aggregated asks for the status of a template, has it stored, and gives the template as stored. What was asked
// for must be there, and asking again must change nothing: a controller would write for ever. The one exception is
// a Pod with a container that has ended for good and runs again: there it is the second answer that stays.
func aggregated(t *testing.T, template *unstructured.Unstructured, items []interpreter.AggregatedStatusItem) *unstructured.Unstructured {
	t.Helper()
	told, err := json.Marshal(items)
	must(t, err)
	write := func(wanted *unstructured.Unstructured) *unstructured.Unstructured {
		t.Helper()
		stored := wanted.DeepCopy()
		require.NoError(t, server.Status().Update(t.Context(), stored), "template %s\nitems %s\nanswer %s", statusText(template), told, statusText(wanted))
		require.True(t, holds(stored.Object["status"], wanted.Object["status"]), "items %s\nanswer %s\nstored %s", told, statusText(wanted), statusText(stored))
		return stored
	}
	ask := func(template *unstructured.Unstructured) *unstructured.Unstructured {
		t.Helper()
		wanted, err := interpreter.Aggregated(t.Context(), full, template, items)
		must(t, err)
		return wanted
	}
	stored := write(ask(template))
	again := ask(stored)
	if template.GetKind() == "Pod" && !same(again.Object["status"], stored.Object["status"]) {
		stored = write(again)
		again = ask(stored)
	}
	require.True(t, same(again.Object["status"], stored.Object["status"]), "items %s\nstored %s\nanswer to the same again %s", told, statusText(stored), statusText(again))
	return stored
}

// same says whether two values have the same fields set.
func same(a, b any) bool { return holds(a, b) && holds(b, a) }

func statusText(obj *unstructured.Unstructured) string {
	text, err := json.Marshal(obj.Object["status"])
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// holds says whether a value has all of another. Fields that are null or empty are fields that are not set.
func holds(has, wanted any) bool {
	switch wanted := wanted.(type) {
	case nil:
		return true
	case map[string]any:
		fields, ok := has.(map[string]any)
		if !ok {
			return has == nil && len(wanted) == 0
		}
		for name, v := range wanted {
			if !holds(fields[name], v) {
				return false
			}
		}
		return true
	case []any:
		list, ok := has.([]any)
		if !ok || len(list) != len(wanted) {
			return has == nil && len(wanted) == 0
		}
		for i := range wanted {
			if !holds(list[i], wanted[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(has, wanted)
}

// orders are all orders of a list.
func orders[T any](list []T) [][]T {
	if len(list) < 2 {
		return [][]T{list}
	}
	var all [][]T
	for i := range list {
		var others []T
		others = append(append(others, list[:i]...), list[i+1:]...)
		for _, order := range orders(others) {
			all = append(all, append([]T{list[i]}, order...))
		}
	}
	return all
}

// nested is the value at a path, nil if there is none.
func nested(t *testing.T, obj *unstructured.Unstructured, path ...string) any {
	t.Helper()
	v, _, err := unstructured.NestedFieldNoCopy(obj.Object, path...)
	must(t, err)
	return v
}
