package builtin

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

var statefulSet = kind{
	gvk: appsv1.SchemeGroupVersion.WithKind("StatefulSet"),
	rules: rules{
		interpreter.InterpretReplica:    interpreter.ReplicaFunc(scaled.replica),
		interpreter.ReviseReplica:       revise("spec", "replicas"),
		interpreter.AggregateStatus:     interpreter.AggregateFunc(statefulSetCounters.aggregate),
		interpreter.InterpretStatus:     interpreter.StatusFunc(statefulSetCounters.reflect),
		interpreter.InterpretHealth:     interpreter.HealthFunc(statefulSetHealth),
		interpreter.InterpretDependency: interpreter.DependencyFunc(statefulSetPodDependencies),
	},
	extra: rules{
		interpreter.Retain:              interpreter.RetainFunc(retainReplicas),
		interpreter.InterpretComponent:  interpreter.ComponentFunc(scaled.components),
		interpreter.InterpretDependency: interpreter.DependencyFunc(statefulSetDependencies),
	},
}

// statefulSetCounters leave out the revisions, which are hashes that differ between clusters.
var statefulSetCounters = counters{
	always:   []string{"replicas", "availableReplicas"},
	optional: []string{"readyReplicas", "currentReplicas", "updatedReplicas"},
}

// statefulSetHealth wants every pod updated. A rollout that is held back by a partition, or waits for somebody
// to delete pods (OnDelete), is not done: part of what runs is not what the object says.
func statefulSetHealth(obj *unstructured.Unstructured) (interpreter.Health, error) {
	if seen, err := begun(obj.Object); err != nil || !seen {
		return notObserved, err
	}
	r, err := rolloutOf(obj.Object)
	return r.health(), err
}

// statefulSetDependencies adds the headless Service that gives the pods their names. It is extra because a
// Service that travels along unasked may take an address or a name that a member uses for something else.
func statefulSetDependencies(obj *unstructured.Unstructured) ([]interpreter.DependentObjectReference, error) {
	list, err := statefulSetPodDependencies(obj)
	if err != nil {
		return nil, err
	}
	name, err := textAt(obj.Object, "spec", "serviceName")
	if name == "" || err != nil {
		return list, err
	}
	namespace, err := namespaceOf(obj)
	if err != nil {
		return nil, err
	}
	return append(list, reference(corev1.SchemeGroupVersion.WithKind("Service"), namespace, name)), nil
}

// statefulSetPodDependencies are those of the pods as the controller makes them: a volume named like a claim
// template is replaced by the claim that is made for the pod, whatever it was before. The name of the claim
// in such a volume does not matter, and claims of other volumes are claims like any.
func statefulSetPodDependencies(obj *unstructured.Unstructured) ([]interpreter.DependentObjectReference, error) {
	var replaced []string
	err := eachAt(obj.Object, func(claim map[string]any) error {
		name, err := textAt(claim, "metadata", "name")
		replaced = append(replaced, name)
		return err
	}, "spec", "volumeClaimTemplates")
	if err != nil {
		return nil, err
	}
	if replaced != nil {
		if obj, err = withoutVolumes(obj, replaced); err != nil {
			return nil, err
		}
	}
	return scaled.dependencies(obj)
}

// withoutVolumes is an object with its pod template's volumes of the given names blanked out. All else is
// shared with the one given. Blanked out rather than removed, so that the places of the others, which errors
// name, stay the same.
func withoutVolumes(obj *unstructured.Unstructured, names []string) (*unstructured.Unstructured, error) {
	path := []string{"spec", "template", "spec", "volumes"}
	volumes, err := listAt(obj.Object, path...)
	if volumes == nil || err != nil {
		return obj, err
	}
	volumes = slices.Clone(volumes)
	for i, v := range volumes {
		volume, ok := v.(map[string]any)
		if !ok {
			continue // whoever reads the volume says so
		}
		if name, ok := volume["name"].(string); ok && slices.Contains(names, name) {
			volumes[i] = nil
		}
	}
	top := maps.Clone(obj.Object)
	inner := top
	for _, name := range path[:len(path)-1] {
		// Reading the volumes has shown that these are objects.
		inner[name] = maps.Clone(inner[name].(map[string]any))
		inner = inner[name].(map[string]any)
	}
	inner["volumes"] = volumes
	return &unstructured.Unstructured{Object: top}, nil
}
