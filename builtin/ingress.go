package builtin

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

// ingress routes HTTP to services. Karmada follows it to its certificates only; traffic needs the backends
// too. See https://kubernetes.io/docs/concepts/services-networking/ingress.
var ingress = kind{
	gvk: networkingv1.SchemeGroupVersion.WithKind("Ingress"),
	rules: rules{
		interpreter.AggregateStatus:     interpreter.AggregateFunc(aggregateAddresses),
		interpreter.InterpretHealth:     interpreter.HealthFunc(ingressHealth),
		interpreter.InterpretDependency: interpreter.DependencyFunc(ingressCertificates),
	},
	extra: rules{
		interpreter.InterpretDependency: interpreter.DependencyFunc(ingressDependencies),
	},
}

// ingressHealth waits for the controller to publish an address, the only sign of life that an Ingress has.
func ingressHealth(obj *unstructured.Unstructured) (interpreter.Health, error) {
	return addressHealth(obj.Object)
}

// ingressCertificates are the secrets with certificates. An entry may do without: the controller then
// picks a certificate by host name.
func ingressCertificates(obj *unstructured.Unstructured) ([]interpreter.DependentObjectReference, error) {
	namespace, err := namespaceOf(obj)
	if err != nil {
		return nil, err
	}
	var list []interpreter.DependentObjectReference
	err = eachAt(obj.Object, func(entry map[string]any) error {
		name, err := textAt(entry, "secretName")
		if name != "" {
			list = append(list, reference(secret.gvk, namespace, name))
		}
		return err
	}, "spec", "tls")
	return list, err
}

// ingressDependencies are certificates and backend services. A backend that is another resource is named by
// group and kind without a version, which is not enough to find it.
func ingressDependencies(obj *unstructured.Unstructured) ([]interpreter.DependentObjectReference, error) {
	namespace, err := namespaceOf(obj)
	if err != nil {
		return nil, err
	}
	list, err := ingressCertificates(obj)
	if err != nil {
		return nil, err
	}
	backend := func(in map[string]any, path ...string) error {
		name, err := textAt(in, path...)
		if name != "" {
			list = append(list, reference(service.gvk, namespace, name))
		}
		return err
	}
	if err := backend(obj.Object, "spec", "defaultBackend", "service", "name"); err != nil {
		return nil, err
	}
	err = eachAt(obj.Object, func(rule map[string]any) error {
		return eachAt(rule, func(path map[string]any) error {
			return backend(path, "backend", "service", "name")
		}, "http", "paths")
	}, "spec", "rules")
	return list, err
}
