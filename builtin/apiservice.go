package builtin

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
)

// apiService registers an API server that extends the cluster's own. Its one condition says whether that
// server answers, see https://kubernetes.io/docs/tasks/extend-kubernetes/configure-aggregation-layer.
var apiService = kind{
	gvk: schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"},
	extra: rules{
		interpreter.Retain:          interpreter.RetainFunc(retainAPIService),
		interpreter.InterpretHealth: interpreter.HealthFunc(apiServiceHealth),
	},
}

// retainAPIService keeps the CA that the member trusts for the extension's server, where the template leaves it
// empty or has a placeholder.
func retainAPIService(desired, observed *unstructured.Unstructured) error {
	if insecure, err := boolAt(desired.Object, "spec", "insecureSkipTLSVerify"); insecure || err != nil {
		return err // the API server refuses to have both
	}
	if backend, err := mapAt(desired.Object, "spec", "service"); backend == nil || err != nil {
		return err
	}
	return keepBundle(desired.Object, observed.Object, "spec", "caBundle")
}

// apiServiceHealth follows the aggregator's verdict, which it renews by itself when the server comes back.
func apiServiceHealth(obj *unstructured.Unstructured) (interpreter.Health, error) {
	available, err := conditionAt(obj.Object, "Available")
	if err != nil {
		return interpreter.Health{}, err
	}
	switch {
	case available.isTrue():
		return interpreter.Health{Status: interpreter.Healthy, Reason: available.reason, Message: available.message}, nil
	case available.isFalse():
		return interpreter.Health{Status: interpreter.Degraded, Reason: available.reason, Message: available.message}, nil
	}
	return verdict(interpreter.Progressing, "NotChecked", "waiting for the aggregator's first check"), nil
}
