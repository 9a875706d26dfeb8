package interpreter_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

func TestNamedResults(t *testing.T) {
	t.Parallel()
	object := map[string]any{"spec": map[string]any{"size": int64(1 << 60), "none": nil, "empty": map[string]any{}}}
	for _, tt := range []struct {
		op   interpreter.Operation
		res  interpreter.Result
		want map[string]any
	}{
		{interpreter.InterpretReplica, interpreter.Result{Replicas: 3}, map[string]any{"replica": int64(3), "requires": nil}},
		{
			interpreter.InterpretReplica,
			interpreter.Result{Requirements: &interpreter.ReplicaRequirements{
				Namespace: "shop", ResourceRequest: corev1.ResourceList{"cpu": resource.MustParse("1000m")},
			}},
			map[string]any{"replica": int64(0), "requires": map[string]any{
				"namespace": "shop", "resourceRequest": map[string]any{"cpu": "1"},
			}},
		},
		{interpreter.InterpretComponent, interpreter.Result{}, map[string]any{"components": []any{}}},
		{
			interpreter.InterpretComponent, interpreter.Result{Components: []interpreter.Component{{Name: "a", Replicas: 2}}},
			map[string]any{"components": []any{map[string]any{"name": "a", "replicas": int64(2)}}},
		},
		{interpreter.InterpretDependency, interpreter.Result{}, map[string]any{"dependencies": []any{}}},
		{interpreter.InterpretStatus, interpreter.Result{}, map[string]any{"status": nil}},
		{interpreter.InterpretStatus, interpreter.Result{Status: []any{1.5}}, map[string]any{"status": []any{1.5}}},
		{
			interpreter.InterpretHealth, interpreter.Result{Health: interpreter.Health{Status: interpreter.Suspended, Message: "on purpose"}},
			map[string]any{"healthy": true, "health": map[string]any{"status": "Suspended", "message": "on purpose"}},
		},
		// An object without a kind is still shown.
		{interpreter.Retain, interpreter.Result{Object: &unstructured.Unstructured{Object: object}}, map[string]any{"retained": object}},
		{interpreter.ReviseReplica, interpreter.Result{Object: &unstructured.Unstructured{Object: object}}, map[string]any{"revised": object}},
		{interpreter.Prune, interpreter.Result{Object: &unstructured.Unstructured{Object: object}}, map[string]any{"pruned": object}},
		{interpreter.AggregateStatus, interpreter.Result{Object: &unstructured.Unstructured{Object: object}}, map[string]any{"aggregatedStatus": object}},
		{interpreter.Retain, interpreter.Result{}, map[string]any{"retained": nil}},
	} {
		contract, ok := interpreter.ContractOf(tt.op)
		require.True(t, ok)
		named, err := interpreter.Named(contract, &tt.res)
		require.NoError(t, err)
		assert.Equal(t, tt.want, named, tt.op)
		for name := range named {
			assert.Contains(t, interpreter.Names(contract), name)
		}
		assert.Len(t, interpreter.Names(contract), len(named))
	}
}

func TestNamedResultsShareNothing(t *testing.T) {
	t.Parallel()
	contract, _ := interpreter.ContractOf(interpreter.InterpretStatus)
	status := map[string]any{"list": []any{"a"}}
	named, err := interpreter.Named(contract, &interpreter.Result{Status: status})
	require.NoError(t, err)
	named["status"].(map[string]any)["list"].([]any)[0] = "b"
	assert.Equal(t, map[string]any{"list": []any{"a"}}, status)
}

func TestNamedResultsMustBeJSON(t *testing.T) {
	t.Parallel()
	contract, _ := interpreter.ContractOf(interpreter.InterpretStatus)
	_, err := interpreter.Named(contract, &interpreter.Result{Status: math.NaN()})
	assert.ErrorContains(t, err, "status: json: unsupported value: NaN")
}
