package builtin

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

// secret holds credentials. All types but one are the template's alone, see
// https://kubernetes.io/docs/concepts/configuration/secret/#serviceaccount-token-secrets.
var secret = kind{
	gvk: corev1.SchemeGroupVersion.WithKind("Secret"),
	rules: rules{
		interpreter.Retain: interpreter.RetainFunc(retainSecret),
		interpreter.Prune:  pruneFunc(pruneSecret),
	},
}

// retainSecret leaves the token of a service account to the member: its token controller fills the secret
// with credentials that are good in that cluster only, and ties it to the account by UID.
func retainSecret(desired, observed *unstructured.Unstructured) error {
	if token, err := isToken(desired.Object); !token || err != nil {
		return err
	}
	data, err := mapAt(observed.Object, "data")
	if err != nil {
		return err
	}
	for key := range data {
		if _, err := textAt(data, key); err != nil {
			return within("data", err)
		}
	}
	if data != nil {
		desired.Object["data"] = interpreter.CloneValue(data)
	}
	return keep(textAt, desired, observed, "metadata", "annotations", corev1.ServiceAccountUIDKey)
}

// pruneSecret takes away the credentials that the control plane's token controller has written.
func pruneSecret(obj map[string]any) error {
	token, err := isToken(obj)
	if token {
		remove(obj, "data")
		remove(obj, "metadata", "annotations", corev1.ServiceAccountUIDKey)
	}
	return err
}

// isToken goes by the type, which the API server lets nobody change.
func isToken(obj map[string]any) (bool, error) {
	typ, err := textAt(obj, "type")
	return corev1.SecretType(typ) == corev1.SecretTypeServiceAccountToken, err
}
