package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubeinterpret/interpret/interpreter"
)

// What a template asks for does not depend on whether the server has filled in its defaults.
func TestReplicasAreThoseOfTheDefaultedObject(t *testing.T) {
	for name, manifest := range map[string]string{
		"Deployment":             samples["Deployment"],
		"Deployment, no number":  strings.Replace(samples["Deployment"], "  replicas: 3\n", "", 1),
		"ReplicaSet":             samples["ReplicaSet"],
		"StatefulSet":            samples["StatefulSet"],
		"StatefulSet, no number": strings.Replace(samples["StatefulSet"], "  replicas: 3\n", "", 1),
		"Job":                    samples["Job"],
		"Job, no number":         samples["Job, bare"],
		"Job, indexed":           samples["Job, indexed"],
	} {
		t.Run(name, func(t *testing.T) {
			written := placed(t, object(t, manifest), newNamespace(t))
			stored := create(t, written)
			n, needs, err := interpreter.Replicas(t.Context(), full, written)
			must(t, err)
			storedN, storedNeeds, err := interpreter.Replicas(t.Context(), full, stored)
			must(t, err)
			require.Equal(t, storedN, n)
			require.True(t, equality.Semantic.DeepEqual(storedNeeds, needs), "written %v\nstored %v", needs, storedNeeds)
		})
	}
}

// pods ask for resources in every way there is. The quotas make each container ask for cpu and memory.
var pods = map[string]string{
	"requests":         "containers: [{name: a, image: i, resources: {requests: {cpu: 100m, memory: 64Mi}}}, {name: b, image: i, resources: {requests: {cpu: 50m, memory: 1500Ki, ephemeral-storage: 1Gi}}}]",
	"limits alone":     "containers: [{name: a, image: i, resources: {limits: {cpu: 100m, memory: 64Mi}}}]",
	"both":             "containers: [{name: a, image: i, resources: {requests: {cpu: 100m}, limits: {cpu: '1', memory: 64Mi}}}]",
	"a large start":    "{initContainers: [{name: i, image: i, resources: {requests: {cpu: '2', memory: 1Mi}}}], containers: [{name: a, image: i, resources: {requests: {cpu: 100m, memory: 64Mi}}}]}",
	"a sidecar":        "{initContainers: [{name: s, image: i, restartPolicy: Always, resources: {requests: {cpu: 300m, memory: 8Mi}}}, {name: i, image: i, resources: {requests: {cpu: '1', memory: 4Mi}}}], containers: [{name: a, image: i, resources: {requests: {cpu: 900m, memory: 1Mi}}}]}",
	"a late sidecar":   "{initContainers: [{name: i, image: i, resources: {requests: {cpu: '1', memory: 4Mi}}}, {name: s, image: i, restartPolicy: Always, resources: {requests: {cpu: 300m, memory: 8Mi}}}], containers: [{name: a, image: i, resources: {requests: {cpu: 500m, memory: 1Mi}}}]}",
	"a whole pod's":    "{resources: {requests: {cpu: '2', memory: 1Gi}}, containers: [{name: a, image: i, resources: {requests: {cpu: 100m, memory: 64Mi}}}]}",
	"a pod's limits":   "{resources: {limits: {cpu: '2', memory: 1Gi}}, containers: [{name: a, image: i, resources: {requests: {cpu: 100m}}}]}",
	"a device":         "containers: [{name: a, image: i, resources: {limits: {example.com/gpu: 2, cpu: 1, memory: 1Mi}}}]",
	"huge pages":       "containers: [{name: a, image: i, resources: {limits: {hugepages-2Mi: 4Mi, memory: 64Mi, cpu: 10m}}}]",
	"a runtime's more": "{runtimeClassName: RUNTIME, containers: [{name: a, image: i, resources: {requests: {cpu: 100m, memory: 64Mi}}}]}",
}

// What a pod needs is what the server charges a quota for it.
func TestRequirementsAreWhatQuotasCharge(t *testing.T) {
	charged := map[corev1.ResourceName]string{
		corev1.ResourceCPU: "requests.cpu", corev1.ResourceMemory: "requests.memory", corev1.ResourceEphemeralStorage: "requests.ephemeral-storage",
		"example.com/gpu": "requests.example.com/gpu", "hugepages-2Mi": "requests.hugepages-2Mi",
	}
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		t.Run(name, func(t *testing.T) {
			namespace := newNamespace(t)
			runtime := placed(t, object(t, "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: heavy}, handler: heavy, overhead: {podFixed: {cpu: 250m, memory: 120Mi}}}"), namespace)
			create(t, runtime)
			hard, used := map[string]any{}, map[string]any{}
			for resource, quota := range charged {
				hard[quota], used[quota] = "1000Gi", "0"
				if resource == "example.com/gpu" {
					hard[quota] = "1000"
				}
			}
			quota := object(t, "{apiVersion: v1, kind: ResourceQuota, metadata: {name: all}}")
			quota.SetNamespace(namespace)
			put(hard, "spec", "hard")(quota)
			quota = withStatus(t, create(t, quota), map[string]any{"hard": hard, "used": used})

			manifest := "{apiVersion: v1, kind: Pod, metadata: {name: one}, spec: " + specOf(pods[name], runtime.GetName()) + "}"
			pod := placed(t, object(t, manifest), namespace)
			free := pod.DeepCopy()
			// The server looks at quotas in a cache of its own, and refuses until that has the status.
			for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
				pod = free.DeepCopy()
				err := server.Create(t.Context(), pod)
				if err == nil {
					break
				}
				mustBeRefused(t, err, "status unknown for quota")
				require.True(t, time.Now().Before(deadline), err)
			}
			must(t, server.Get(t.Context(), client.ObjectKeyFromObject(quota), quota))

			n, needs, err := interpreter.Replicas(t.Context(), full, pod)
			must(t, err)
			require.EqualValues(t, 1, n)
			for resourceName, charge := range charged {
				text, ok := nested(t, quota, "status", "used").(map[string]any)[charge].(string)
				require.True(t, ok, charge)
				want, got := resource.MustParse(text), needs.ResourceRequest[resourceName]
				require.Zero(t, want.Cmp(got), fmt.Sprintf("%s: charged %s, needs %s", resourceName, want.String(), got.String()))
			}
			if !strings.Contains(pods[name], "RUNTIME") {
				// What the pod said before the server filled in its defaults comes to the same.
				_, before, err := interpreter.Replicas(t.Context(), full, free)
				must(t, err)
				require.True(t, equality.Semantic.DeepEqual(before.ResourceRequest, needs.ResourceRequest), "before %v\nafter %v", before.ResourceRequest, needs.ResourceRequest)
			}
		})
	}
}

// specOf makes an object of the fields of a spec.
func specOf(fields, runtimeClass string) string {
	fields = strings.ReplaceAll(fields, "RUNTIME", runtimeClass)
	if strings.HasPrefix(fields, "{") {
		return fields
	}
	return "{" + fields + "}"
}
