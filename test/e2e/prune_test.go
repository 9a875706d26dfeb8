package e2e

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What Prune leaves of an object that has lived in the control plane is an object that a member takes, and comes
// out of it the same.
func TestPrunedObjectsAreAcceptedAsNew(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		for chainName, chain := range chains {
			t.Run(name+"/"+chainName, func(t *testing.T) {
				control, member := newNamespace(t), newNamespace(t)
				obj := placed(t, object(t, samples[name]), control)
				obj.SetFinalizers([]string{"example.com/hold"})
				obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "1-2-3"}})
				live := create(t, obj)

				travels := pruned(t, chain, live)
				require.Equal(t, travels, pruned(t, chain, travels), "pruning twice is not pruning once")
				for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "ownerReferences", "finalizers"} {
					require.NotContains(t, travels.Object["metadata"], field)
				}
				require.NotContains(t, travels.Object, "status")

				if chain == plain && len(nodePorts(t, live)) > 0 {
					// Node ports that the control plane has allocated are still there. Here it is the same server,
					// elsewhere it is bad luck.
					mustBeRefused(t, server.Create(t.Context(), placed(t, travels, member)), "provided port is already allocated")
				} else {
					arrived := create(t, placed(t, travels, member))
					onward := pruned(t, chain, arrived)
					require.True(t, holds(onward.Object, placed(t, travels, member).Object), "sent %v\narrived %v", travels, onward)
				}

				// The same place, once it is free again.
				if live.GetKind() == "Namespace" || live.GetKind() == "CustomResourceDefinition" {
					return // controllers empty these first
				}
				unheld := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
				must(t, server.Patch(t.Context(), live, unheld))
				remove(t, live)
				create(t, travels)
			})
		}
	}
}

// nodePorts are those of a Service, in the order of its ports.
func nodePorts(t *testing.T, obj *unstructured.Unstructured) (list []any) {
	t.Helper()
	ports, _, err := unstructured.NestedSlice(obj.Object, "spec", "ports")
	must(t, err)
	for _, port := range ports {
		if fields, ok := port.(map[string]any); ok && fields["nodePort"] != nil {
			list = append(list, fields["nodePort"])
		}
	}
	return list
}

// Node ports that somebody has chosen travel, those that the control plane has come up with do not.
func TestChosenNodePortsTravel(t *testing.T) {
	obj := placed(t, object(t, samples["Service, node port"]), newNamespace(t))
	ports, _, err := unstructured.NestedSlice(obj.Object, "spec", "ports")
	must(t, err)
	ports[0].(map[string]any)["nodePort"] = int64(30080)
	must(t, unstructured.SetNestedSlice(obj.Object, ports, "spec", "ports"))
	live := create(t, obj)
	live.SetLabels(map[string]string{"changed": "since"})
	live = update(t, live)

	travels := pruned(t, full, live)
	for i, want := range []any{int64(30080), nil, nil} {
		require.Equal(t, want, nested(t, travels, "spec", "ports").([]any)[i].(map[string]any)["nodePort"])
		require.NotNil(t, nested(t, live, "spec", "ports").([]any)[i].(map[string]any)["nodePort"])
	}
	remove(t, live)
	create(t, travels)
}
