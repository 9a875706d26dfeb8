package builtin

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

// horizontalPodAutoscaler scales another object. Only autoscaling/v2 is known: v1 keeps its conditions in an
// annotation.
var horizontalPodAutoscaler = kind{
	gvk: autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"),
	rules: rules{
		interpreter.AggregateStatus: interpreter.AggregateFunc(aggregateAutoscaler),
		interpreter.InterpretStatus: interpreter.StatusFunc(reflectAutoscaler),
	},
	extra: rules{
		interpreter.InterpretHealth:     interpreter.HealthFunc(autoscalerHealth),
		interpreter.InterpretDependency: interpreter.DependencyFunc(autoscalerDependencies),
	},
}

// The API marks desiredReplicas as required and currentReplicas as optional.
var autoscalerCounters = counters{always: []string{"desiredReplicas"}, optional: []string{"currentReplicas"}}

// aggregateAutoscaler keeps the sums only: metrics, conditions and times are each cluster's own, and an
// average of averages would be wrong.
func aggregateAutoscaler(obj *unstructured.Unstructured, items []interpreter.AggregatedStatusItem) error {
	status := map[string]any{}
	if err := autoscalerCounters.sum(status, items, nil); err != nil {
		return err
	}
	return set(obj.Object, status, "status")
}

// reflectAutoscaler reports what aggregateAutoscaler adds up.
func reflectAutoscaler(obj *unstructured.Unstructured) (any, error) {
	if status, err := mapAt(obj.Object, "status"); status == nil || err != nil {
		return nil, err
	}
	status := map[string]any{}
	return status, autoscalerCounters.copyTo(status, obj.Object)
}

// scalingDisabled is the reason of a ScalingActive condition while the target has no replicas: whoever
// scales to zero switches the autoscaler off.
const scalingDisabled = "ScalingDisabled"

// autoscalerHealth is about the autoscaler itself, not the target: whether it can read its metrics and set a
// size. Being limited by minReplicas or maxReplicas is as asked for. See
// https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale-walkthrough/#appendix-horizontal-pod-autoscaler-status-conditions.
func autoscalerHealth(obj *unstructured.Unstructured) (interpreter.Health, error) {
	_, counted, err := int64At(obj.Object, "status", "observedGeneration")
	if err != nil {
		return interpreter.Health{}, err
	}
	if seen, err := observed(obj.Object); err != nil || counted && !seen {
		return notObserved, err
	}
	able, err := conditionAt(obj.Object, string(autoscalingv2.AbleToScale))
	if err != nil {
		return interpreter.Health{}, err
	}
	active, err := conditionAt(obj.Object, string(autoscalingv2.ScalingActive))
	if err != nil {
		return interpreter.Health{}, err
	}
	switch {
	case able.isFalse():
		return interpreter.Health{Status: interpreter.Degraded, Reason: able.reason, Message: able.message}, nil
	case active.isFalse() && active.reason == scalingDisabled:
		return interpreter.Health{Status: interpreter.Suspended, Reason: active.reason, Message: active.message}, nil
	case active.isFalse():
		return interpreter.Health{Status: interpreter.Degraded, Reason: active.reason, Message: active.message}, nil
	case able.isTrue() && active.isTrue():
		return verdict(interpreter.Healthy, "ScalingActive", "the autoscaler reads its metrics and can scale"), nil
	}
	return verdict(interpreter.Progressing, "NotScaling", "waiting for the autoscaler's first decision"), nil
}

// autoscalerDependencies is the workload to be scaled. Without an apiVersion the core group is meant, as the
// autoscaler itself reads it.
func autoscalerDependencies(obj *unstructured.Unstructured) ([]interpreter.DependentObjectReference, error) {
	namespace, err := namespaceOf(obj)
	if err != nil {
		return nil, err
	}
	target, err := mapAt(obj.Object, "spec", "scaleTargetRef")
	if target == nil || err != nil {
		return nil, err
	}
	ref := interpreter.DependentObjectReference{Namespace: namespace}
	if ref.APIVersion, err = textAt(target, "apiVersion"); err != nil {
		return nil, within("spec.scaleTargetRef", err)
	}
	if ref.APIVersion == "" {
		ref.APIVersion = corev1.SchemeGroupVersion.String()
	}
	if ref.Kind, err = textAt(target, "kind"); err != nil {
		return nil, within("spec.scaleTargetRef", err)
	}
	if ref.Name, err = textAt(target, "name"); err != nil {
		return nil, within("spec.scaleTargetRef", err)
	}
	return []interpreter.DependentObjectReference{ref}, nil
}
