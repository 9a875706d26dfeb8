package builtin

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
)

// customResourceDefinition declares a kind. The conditions are those of apiextensions.k8s.io/v1: NamesAccepted
// says that no other definition has the names, Established that the kind can be used.
var customResourceDefinition = kind{
	gvk: schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
	extra: rules{
		interpreter.Retain:          interpreter.RetainFunc(retainDefinition),
		interpreter.InterpretHealth: interpreter.HealthFunc(definitionHealth),
	},
}

// retainDefinition keeps the CA that the member trusts for its conversion webhook, where the template leaves it
// empty or has a placeholder.
func retainDefinition(desired, observed *unstructured.Unstructured) error {
	webhook := []string{"spec", "conversion", "webhook", "clientConfig"}
	if config, err := mapAt(desired.Object, webhook...); config == nil || err != nil {
		return err
	}
	return keepBundle(desired.Object, observed.Object, append(webhook, "caBundle")...)
}

// definitionHealth is healthy once the API server serves the kind. A name that another definition has taken
// is not resolved by waiting.
func definitionHealth(obj *unstructured.Unstructured) (interpreter.Health, error) {
	terminating, err := conditionAt(obj.Object, "Terminating")
	if err != nil {
		return interpreter.Health{}, err
	}
	names, err := conditionAt(obj.Object, "NamesAccepted")
	if err != nil {
		return interpreter.Health{}, err
	}
	established, err := conditionAt(obj.Object, "Established")
	if err != nil {
		return interpreter.Health{}, err
	}
	switch {
	case terminating.isTrue():
		return verdict(interpreter.Progressing, "Terminating", "the definition is being deleted: %s", terminating.message), nil
	case names.isFalse():
		return interpreter.Health{Status: interpreter.Degraded, Reason: names.reason, Message: names.message}, nil
	case established.isTrue():
		return verdict(interpreter.Healthy, "Established", "the kind is served"), nil
	}
	return verdict(interpreter.Progressing, "NotEstablished", "waiting for the kind to be served"), nil
}
