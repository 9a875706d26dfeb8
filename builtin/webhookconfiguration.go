package builtin

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

// Both kinds of configuration list webhooks of one shape, see
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers.
var mutatingWebhookConfiguration = kind{
	gvk: admissionv1.SchemeGroupVersion.WithKind("MutatingWebhookConfiguration"),
	extra: rules{
		interpreter.Retain: interpreter.RetainFunc(retainWebhooks),
	},
}

var validatingWebhookConfiguration = kind{
	gvk: admissionv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration"),
	extra: rules{
		interpreter.Retain: interpreter.RetainFunc(retainWebhooks),
	},
}

// retainWebhooks keeps the CA of each webhook, told apart by name, where the template leaves it empty or has a
// placeholder: in each member a certificate manager injects its own. The order of webhooks is the template's, and so is all
// else: webhooks that only the member has are not added.
func retainWebhooks(desired, observed *unstructured.Unstructured) error {
	theirs := map[string]map[string]any{}
	err := eachAt(observed.Object, func(hook map[string]any) error {
		name, err := textAt(hook, "name")
		if err != nil {
			return err
		}
		theirs[name] = hook
		_, err = textAt(hook, "clientConfig", "caBundle")
		return err
	}, "webhooks")
	if err != nil {
		return err
	}
	return eachAt(desired.Object, func(hook map[string]any) error {
		name, err := textAt(hook, "name")
		if err != nil {
			return err
		}
		return keepBundle(hook, theirs[name], "clientConfig", "caBundle")
	}, "webhooks")
}
