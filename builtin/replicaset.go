package builtin

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

var replicaSet = kind{
	gvk: appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
	rules: rules{
		interpreter.InterpretReplica:    interpreter.ReplicaFunc(scaled.replica),
		interpreter.ReviseReplica:       revise("spec", "replicas"),
		interpreter.AggregateStatus:     interpreter.AggregateFunc(replicaSetCounters.aggregate),
		interpreter.InterpretStatus:     interpreter.StatusFunc(replicaSetCounters.reflect),
		interpreter.InterpretHealth:     interpreter.HealthFunc(replicaSetHealth),
		interpreter.InterpretDependency: interpreter.DependencyFunc(scaled.dependencies),
	},
	extra: rules{
		interpreter.Retain:             interpreter.RetainFunc(retainReplicas),
		interpreter.InterpretComponent: interpreter.ComponentFunc(scaled.components),
	},
}

// replicaSetCounters leave out fullyLabeledReplicas: it tells whether the pods' labels follow the template's,
// which only the controller in the member acts on. What the template has there stays.
var replicaSetCounters = counters{
	always:   []string{"replicas"},
	optional: []string{"readyReplicas", "availableReplicas"},
}

// replicaSetHealth knows no updates: a ReplicaSet never replaces a pod because its template changed, so all
// that is wanted counts as updated.
func replicaSetHealth(obj *unstructured.Unstructured) (interpreter.Health, error) {
	if seen, err := begun(obj.Object); err != nil || !seen {
		return notObserved, err
	}
	wanted, err := replicasOf(obj.Object)
	if err != nil {
		return interpreter.Health{}, err
	}
	available, _, err := int32At(obj.Object, "status", "availableReplicas")
	if err != nil {
		return interpreter.Health{}, err
	}
	r := rollout{wanted: wanted, updated: wanted, available: available}
	return failedBy(r.health(), obj.Object, string(appsv1.ReplicaSetReplicaFailure), string(corev1.ConditionTrue))
}
