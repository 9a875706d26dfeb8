package builtin

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

// namespace is a place for objects. It has no status but its phase, and conditions while it is being deleted.
// Karmada makes namespaces in members by itself, and has no rules for them.
var namespace = kind{
	gvk: corev1.SchemeGroupVersion.WithKind("Namespace"),
	extra: rules{
		interpreter.Retain:          interpreter.RetainFunc(retainNamespace),
		interpreter.InterpretHealth: interpreter.HealthFunc(namespaceHealth),
	},
}

// managedLabels is the annotation in which Karmada records, comma-separated, the labels that came with the
// template. One that is listed and no longer in the template was taken away there.
const managedLabels = "resourcetemplate.karmada.io/managed-labels"

// retainNamespace keeps the labels that the member has added: meshes, pod security and schedulers are
// switched on by them.
//
// Labels of the template win, and those that it has given up go, so that taking a label away on the control
// plane takes it away everywhere.
func retainNamespace(desired, observed *unstructured.Unstructured) error {
	wanted, err := mapAt(desired.Object, "metadata", "labels")
	if err != nil {
		return err
	}
	have, err := mapAt(observed.Object, "metadata", "labels")
	if err != nil {
		return err
	}
	record, err := textAt(observed.Object, "metadata", "annotations", managedLabels)
	if err != nil {
		return err
	}
	managed := strings.Split(record, ",")
	for name := range have {
		value, err := textAt(have, name)
		if err != nil {
			return within("metadata.labels", err)
		}
		if wanted[name] != nil || slices.Contains(managed, name) {
			continue
		}
		if err := set(desired.Object, value, "metadata", "labels", name); err != nil {
			return err
		}
	}
	return nil
}

// namespaceHealth is about the life cycle, see
// https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces.
func namespaceHealth(obj *unstructured.Unstructured) (interpreter.Health, error) {
	phase, err := textAt(obj.Object, "status", "phase")
	if err != nil {
		return interpreter.Health{}, err
	}
	switch corev1.NamespacePhase(phase) {
	case corev1.NamespaceActive:
		return verdict(interpreter.Healthy, phase, "the namespace is in use"), nil
	case corev1.NamespaceTerminating:
		return namespaceTerminating(obj)
	}
	return verdict(interpreter.Progressing, "NotActive", "waiting for the namespace"), nil
}

// namespaceTerminating is degraded when the namespace controller says that it cannot go on.
func namespaceTerminating(obj *unstructured.Unstructured) (interpreter.Health, error) {
	for _, stuck := range []corev1.NamespaceConditionType{
		corev1.NamespaceDeletionDiscoveryFailure, corev1.NamespaceDeletionGVParsingFailure, corev1.NamespaceDeletionContentFailure,
	} {
		c, err := conditionAt(obj.Object, string(stuck))
		if err != nil {
			return interpreter.Health{}, err
		}
		if c.isTrue() {
			return interpreter.Health{Status: interpreter.Degraded, Reason: c.reason, Message: c.message}, nil
		}
	}
	return verdict(interpreter.Progressing, "Terminating", "the namespace is being deleted"), nil
}
