package builtin

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

// persistentVolume is storage that a claim can be bound to. Its phases and what may follow which are told in
// https://kubernetes.io/docs/concepts/storage/persistent-volumes/#lifecycle-of-a-volume-and-claim.
var persistentVolume = kind{
	gvk: corev1.SchemeGroupVersion.WithKind("PersistentVolume"),
	rules: rules{
		interpreter.Retain:          interpreter.RetainFunc(retainVolume),
		interpreter.AggregateStatus: interpreter.AggregateFunc(aggregateVolume),
	},
	extra: rules{
		interpreter.InterpretHealth: interpreter.HealthFunc(volumeHealth),
	},
}

// retainVolume keeps the claim that the member has bound the volume to, as a whole: it holds the claim's UID.
func retainVolume(desired, observed *unstructured.Unstructured) error {
	if err := keep(mapAt, desired, observed, "spec", "claimRef"); err != nil {
		return err
	}
	return retainAnnotations(desired, observed, boundByController)
}

// aggregateVolume tells the phase only: messages and times are each cluster's own. The time of the template's own
// phase is the API server's, which sets it with each new phase and puts it back where it is left out.
func aggregateVolume(obj *unstructured.Unstructured, items []interpreter.AggregatedStatusItem) error {
	if len(items) == 0 {
		return nil
	}
	order := []corev1.PersistentVolumePhase{
		corev1.VolumeFailed, corev1.VolumePending, corev1.VolumeAvailable, corev1.VolumeBound, corev1.VolumeReleased,
	}
	phase, err := aggregatePhase(items, texts(order))
	if err != nil {
		return err
	}
	old, err := mapAt(obj.Object, "status")
	if err != nil {
		return err
	}
	status := map[string]any{"phase": phase}
	if since := old["lastPhaseTransitionTime"]; since != nil && old["phase"] == phase {
		status["lastPhaseTransitionTime"] = since
	}
	return set(obj.Object, status, "status")
}

// volumeHealth takes a released volume for degraded: nothing but an administrator makes it usable again,
// unless it is about to be deleted.
func volumeHealth(obj *unstructured.Unstructured) (interpreter.Health, error) {
	phase, err := textAt(obj.Object, "status", "phase")
	if err != nil {
		return interpreter.Health{}, err
	}
	message, err := textAt(obj.Object, "status", "message")
	if err != nil {
		return interpreter.Health{}, err
	}
	switch corev1.PersistentVolumePhase(phase) {
	case corev1.VolumeBound:
		return verdict(interpreter.Healthy, phase, "the volume is bound to a claim"), nil
	case corev1.VolumeAvailable:
		return verdict(interpreter.Healthy, phase, "the volume is free to be claimed"), nil
	case corev1.VolumeReleased:
		return volumeReleased(obj)
	case corev1.VolumeFailed:
		return verdict(interpreter.Degraded, phase, "the volume could not be reclaimed: %s", message), nil
	}
	return verdict(interpreter.Progressing, "NotAvailable", "waiting for the volume"), nil
}

// volumeReleased tells by the reclaim policy what becomes of a volume without its claim.
func volumeReleased(obj *unstructured.Unstructured) (interpreter.Health, error) {
	policy, err := textAt(obj.Object, "spec", "persistentVolumeReclaimPolicy")
	if err != nil {
		return interpreter.Health{}, err
	}
	if corev1.PersistentVolumeReclaimPolicy(policy) == corev1.PersistentVolumeReclaimDelete {
		return verdict(interpreter.Progressing, "Released", "the claim is gone, the volume is to be deleted"), nil
	}
	return verdict(interpreter.Degraded, "Released", "the claim is gone, and the volume waits for an administrator"), nil
}

// texts makes plain texts of the API's typed ones.
func texts[T ~string](list []T) []string {
	s := make([]string, len(list))
	for i, v := range list {
		s[i] = string(v)
	}
	return s
}
