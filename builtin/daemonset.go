package builtin

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

// There is no InterpretReplica and no ReviseReplica: the number of pods cannot be asked for or divided.
var daemonSet = kind{
	gvk: appsv1.SchemeGroupVersion.WithKind("DaemonSet"),
	rules: rules{
		interpreter.AggregateStatus:     interpreter.AggregateFunc(daemonSetCounters.aggregate),
		interpreter.InterpretStatus:     interpreter.StatusFunc(daemonSetCounters.reflect),
		interpreter.InterpretHealth:     interpreter.HealthFunc(daemonSetHealth),
		interpreter.InterpretDependency: interpreter.DependencyFunc(perNode.dependencies),
	},
	extra: rules{
		interpreter.InterpretComponent: interpreter.ComponentFunc(perNode.components),
	},
}

// perNode counts a DaemonSet as one pod, which every node that takes it must hold. How many such nodes there
// are is up to the cluster, not to the object.
var perNode = workload{template: []string{"spec", "template"}, replicas: one}

var daemonSetCounters = counters{
	always:   []string{"currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady"},
	optional: []string{"updatedNumberScheduled", "numberAvailable", "numberUnavailable"},
}

// daemonSetHealth takes what is wanted from the status: only the controller knows the nodes. No nodes at all,
// once the controller has said so, are healthy.
func daemonSetHealth(obj *unstructured.Unstructured) (interpreter.Health, error) {
	if seen, err := begun(obj.Object); err != nil || !seen {
		return notObserved, err
	}
	var r rollout
	var err error
	if r.wanted, _, err = int32At(obj.Object, "status", "desiredNumberScheduled"); err != nil {
		return interpreter.Health{}, err
	}
	if r.updated, _, err = int32At(obj.Object, "status", "updatedNumberScheduled"); err != nil {
		return interpreter.Health{}, err
	}
	r.available, _, err = int32At(obj.Object, "status", "numberAvailable")
	return r.health(), err
}
