package builtin

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

// The fields are those of the API reference, DeploymentStatus and DeploymentSpec.
var deployment = kind{
	gvk: appsv1.SchemeGroupVersion.WithKind("Deployment"),
	rules: rules{
		interpreter.InterpretReplica:    interpreter.ReplicaFunc(scaled.replica),
		interpreter.ReviseReplica:       revise("spec", "replicas"),
		interpreter.Retain:              interpreter.RetainFunc(retainReplicas),
		interpreter.AggregateStatus:     interpreter.AggregateFunc(deploymentCounters.aggregate),
		interpreter.InterpretStatus:     interpreter.StatusFunc(deploymentCounters.reflect),
		interpreter.InterpretHealth:     interpreter.HealthFunc(deploymentHealth),
		interpreter.InterpretDependency: interpreter.DependencyFunc(scaled.dependencies),
		interpreter.Prune:               pruneFunc(pruneDeployment),
	},
	extra: rules{
		interpreter.InterpretComponent: interpreter.ComponentFunc(scaled.components),
	},
}

// deploymentCounters are all that is reflected and aggregated. Conditions are not: those of two clusters
// contradict each other, and a Progressing condition on the template would be read as that of its own
// controller. Why a cluster is behind is told by its health.
var deploymentCounters = counters{
	optional: []string{"replicas", "readyReplicas", "updatedReplicas", "availableReplicas", "unavailableReplicas"},
}

// retainLabel on a template says that something in the member clusters, an autoscaler as a rule, sets the
// number of replicas there. Karmada reads it on a Deployment only; an autoscaler scales other kinds as well, so
// the extra rules read it on every kind with replicas.
const retainLabel = "resourcetemplate.karmada.io/retain-replicas"

// retainReplicas keeps the number of replicas of a labelled template. An observed object without the number
// is not one that an API server has stored, so there is no default to fall back on.
func retainReplicas(desired, observed *unstructured.Unstructured) error {
	label, err := textAt(desired.Object, "metadata", "labels", retainLabel)
	if err != nil || label != "true" {
		return err
	}
	n, found, err := int32At(observed.Object, "spec", "replicas")
	if err != nil {
		return err
	}
	if !found {
		return fault([]string{"spec", "replicas"}, "is missing in the observed object")
	}
	return set(desired.Object, int64(n), "spec", "replicas")
}

// deploymentHealth follows the counters. The conditions count only where those are not good: a rollout that
// has arrived is fine however long it took. One to which no replicas are wanted needs no status to be fine, which
// is what Karmada answers.
//
// A rollout that is held by spec.paused is not done: part of what runs is not what the object says. It is
// Progressing rather than Suspended, which counts as healthy. See
// https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#pausing-and-resuming-a-deployment.
func deploymentHealth(obj *unstructured.Unstructured) (interpreter.Health, error) {
	if seen, err := observed(obj.Object); err != nil || !seen {
		return notObserved, err
	}
	r, err := rolloutOf(obj.Object)
	if err != nil {
		return interpreter.Health{}, err
	}
	health, err := failedBy(r.health(), obj.Object, string(appsv1.DeploymentReplicaFailure), string(corev1.ConditionTrue))
	if err != nil || health.Status == interpreter.Degraded {
		return health, err
	}
	paused, err := boolAt(obj.Object, "spec", "paused")
	if err != nil {
		return interpreter.Health{}, err
	}
	if paused && !health.IsHealthy() {
		return verdict(health.Status, "Paused", "%s, and the rollout is halted while spec.paused is true", health.Message), nil
	}
	return failedBy(health, obj.Object, string(appsv1.DeploymentProgressing), string(corev1.ConditionFalse))
}

// pruneDeployment takes away what the deployment controller notes about its ReplicaSets. The control plane's
// counts its own rollouts; a member's counts others, and would go back to a revision that is not there.
func pruneDeployment(obj map[string]any) error {
	remove(obj, "metadata", "annotations", "deployment.kubernetes.io/revision")
	remove(obj, "metadata", "annotations", "deployment.kubernetes.io/revision-history")
	return nil
}
