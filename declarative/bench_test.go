package declarative_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
)

// benchRules are rules as users write them for a Deployment.
const benchRules = `
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: bench}
spec:
  target: {apiVersion: apps/v1, kind: Deployment}
  customizations:
    replicaResource:
      luaScript: |
        local kube = require("kube")
        function GetReplicas(obj)
          replica = obj.spec.replicas
          requirement = kube.accuratePodRequirements(obj.spec.template)
          return replica, requirement
        end
    replicaRevision:
      luaScript: |
        function ReviseReplica(obj, desiredReplica)
          obj.spec.replicas = desiredReplica
          return obj
        end
    retention:
      luaScript: |
        function Retain(desiredObj, observedObj)
          desiredObj.spec.paused = observedObj.spec.paused
          return desiredObj
        end
    statusAggregation:
      luaScript: |
        function AggregateStatus(desiredObj, statusItems)
          if statusItems == nil then
            return desiredObj
          end
          if desiredObj.status == nil then
            desiredObj.status = {}
          end
          replicas = 0
          for i = 1, #statusItems do
            if statusItems[i].status ~= nil and statusItems[i].status.replicas ~= nil then
              replicas = replicas + statusItems[i].status.replicas
            end
          end
          desiredObj.status.replicas = replicas
          return desiredObj
        end
    statusReflection:
      luaScript: |
        function ReflectStatus(observedObj)
          return observedObj.status
        end
    healthInterpretation:
      luaScript: |
        function InterpretHealth(observedObj)
          return observedObj.status.readyReplicas == observedObj.spec.replicas
        end
    dependencyInterpretation:
      luaScript: |
        function GetDependencies(desiredObj)
          dependentSas = {}
          refs = {}
          if desiredObj.spec.template.spec.serviceAccountName ~= nil and desiredObj.spec.template.spec.serviceAccountName ~= 'default' then
            dependentSas[desiredObj.spec.template.spec.serviceAccountName] = true
          end
          local idx = 1
          for key, value in pairs(dependentSas) do
            dependObj = {}
            dependObj.apiVersion = 'v1'
            dependObj.kind = 'ServiceAccount'
            dependObj.name = key
            dependObj.namespace = desiredObj.metadata.namespace
            refs[idx] = dependObj
            idx = idx + 1
          end
          return refs
        end
    pruning:
      luaScript: |
        function Prune(obj)
          obj.metadata.annotations = nil
          return obj
        end
`

// deployment has two containers, the first with so many environment variables.
func deployment(env int) *unstructured.Unstructured {
	vars := make([]any, env)
	for i := range vars {
		vars[i] = map[string]any{"name": fmt.Sprintf("VAR_%d", i), "value": fmt.Sprintf("value-%d", i)}
	}
	container := func(name string, env []any) map[string]any {
		return map[string]any{
			"name": name, "image": "example.com/" + name + ":1", "env": env,
			"resources": map[string]any{
				"requests": map[string]any{"cpu": "250m", "memory": "64Mi"},
				"limits":   map[string]any{"cpu": "500m", "memory": "128Mi"},
			},
			"ports": []any{map[string]any{"containerPort": int64(8080)}},
		}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "namespace": "shop", "generation": int64(4), "labels": map[string]any{"app": "web"}},
		"spec": map[string]any{
			"replicas": int64(3),
			"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
				"spec":     map[string]any{"serviceAccountName": "robot", "containers": []any{container("main", vars), container("side", vars[:min(env, 2)])}},
			},
		},
		"status": map[string]any{
			"observedGeneration": int64(4), "replicas": int64(3), "updatedReplicas": int64(3), "readyReplicas": int64(3), "availableReplicas": int64(3),
			"conditions": []any{map[string]any{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"}},
		},
	}}
}

var benchSizes = []struct {
	name string
	env  int
}{{"small", 2}, {"large", 1000}}

func members(n int) []interpreter.AggregatedStatusItem {
	items := make([]interpreter.AggregatedStatusItem, n)
	for i := range items {
		raw, _ := json.Marshal(map[string]any{"replicas": i, "readyReplicas": i, "updatedReplicas": i, "availableReplicas": i, "observedGeneration": 4})
		items[i] = interpreter.AggregatedStatusItem{ClusterName: fmt.Sprintf("member-%d", i), Applied: true, Health: "Healthy", Status: &runtime.RawExtension{Raw: raw}}
	}
	return items
}

func BenchmarkDeclarative(b *testing.B) {
	list, err := declarative.Parse("bench.yaml", []byte(benchRules))
	require.NoError(b, err)
	layer, err := declarative.New(list)
	require.NoError(b, err)
	chain := interpreter.NewChain(layer)
	replicas := int32(5)
	for _, op := range interpreter.Operations() {
		if op == interpreter.InterpretComponent {
			continue
		}
		for _, size := range benchSizes {
			counts := map[string]int{size.name: 2}
			if op == interpreter.AggregateStatus {
				counts["100members"] = 100
				if size.name == "large" {
					counts = map[string]int{"large": 100}
				}
			}
			for _, name := range []string{"small", "large", "100members"} {
				n, ok := counts[name]
				if !ok {
					continue
				}
				object := deployment(size.env)
				req := &interpreter.Request{Operation: op, Object: object, Observed: object, Replicas: &replicas, Statuses: members(n)}
				b.Run(string(op)+"/"+name, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if _, err := chain.Interpret(b.Context(), req); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// BenchmarkDeepCopy is the yardstick: what an answer that is a whole object costs at least.
func BenchmarkDeepCopy(b *testing.B) {
	for _, size := range benchSizes {
		object := deployment(size.env)
		b.Run(size.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				object.DeepCopy()
			}
		})
	}
}
