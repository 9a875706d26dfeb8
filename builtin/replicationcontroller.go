package builtin

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubeinterpret/interpret/interpreter"
)

// replicationController is what a ReplicaSet was before it had a group, and has the fields of one as far as the
// rules read them, see
// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/replication-controller-v1. Karmada has no
// rules for it.
var replicationController = kind{
	gvk: corev1.SchemeGroupVersion.WithKind("ReplicationController"),
	extra: rules{
		interpreter.InterpretReplica:    interpreter.ReplicaFunc(scaled.replica),
		interpreter.InterpretComponent:  interpreter.ComponentFunc(scaled.components),
		interpreter.ReviseReplica:       revise("spec", "replicas"),
		interpreter.Retain:              interpreter.RetainFunc(retainReplicas),
		interpreter.AggregateStatus:     interpreter.AggregateFunc(replicaSetCounters.aggregate),
		interpreter.InterpretStatus:     interpreter.StatusFunc(replicaSetCounters.reflect),
		interpreter.InterpretHealth:     interpreter.HealthFunc(replicaSetHealth),
		interpreter.InterpretDependency: interpreter.DependencyFunc(scaled.dependencies),
	},
}
