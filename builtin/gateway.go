package builtin

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
)

// gateway is where traffic enters. Its fields are those of gateway.networking.k8s.io/v1; the
// validation of clients (GEP-91) was a listener's before it moved to spec.tls, and both places are read.
var gateway = kind{
	gvk:  schema.GroupVersionKind{Group: gatewayGroup, Version: "v1", Kind: "Gateway"},
	also: []string{"v1beta1"},
	extra: rules{
		interpreter.InterpretDependency: interpreter.DependencyFunc(gatewayDependencies),
	},
}

// listenerSet adds listeners, of the same shape, to a Gateway.
var listenerSet = kind{
	gvk: schema.GroupVersionKind{Group: gatewayGroup, Version: "v1", Kind: "ListenerSet"},
	extra: rules{
		interpreter.InterpretDependency: interpreter.DependencyFunc(gatewayDependencies),
	},
}

// gatewayDependencies are the certificates: those the listeners show, the one shown to backends, and the
// authorities by which clients are checked.
func gatewayDependencies(obj *unstructured.Unstructured) ([]interpreter.DependentObjectReference, error) {
	namespace, err := namespaceOf(obj)
	if err != nil {
		return nil, err
	}
	var list []interpreter.DependentObjectReference
	add := func(ref map[string]any) error {
		certificate, err := objectReference(ref, secret.gvk, namespace)
		list = append(list, certificate...)
		return err
	}
	err = eachAt(obj.Object, func(listener map[string]any) error {
		if err := eachAt(listener, add, "tls", "certificateRefs"); err != nil {
			return err
		}
		return eachAt(listener, add, "tls", "frontendValidation", "caCertificateRefs")
	}, "spec", "listeners")
	if err != nil {
		return nil, err
	}
	toBackends := []string{"spec", "tls", "backend", "clientCertificateRef"}
	ref, err := mapAt(obj.Object, toBackends...)
	if err != nil {
		return nil, err
	}
	if err := add(ref); err != nil {
		return nil, within("spec.tls.backend.clientCertificateRef", err)
	}
	if err := eachAt(obj.Object, add, "spec", "tls", "frontend", "default", "validation", "caCertificateRefs"); err != nil {
		return nil, err
	}
	err = eachAt(obj.Object, func(port map[string]any) error {
		return eachAt(port, add, "tls", "validation", "caCertificateRefs")
	}, "spec", "tls", "frontend", "perPort")
	return list, err
}
