package builtin

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
)

// gatewayGroup is the group of the Gateway API. The versions of its kinds below are those that some release
// since 1.0 has served, see https://gateway-api.sigs.k8s.io.
const gatewayGroup = "gateway.networking.k8s.io"

// route makes a kind of route. What they match differs, their backends look the same. HTTP routes have filters that
// copy traffic (requestMirror) or ask somebody else for permission (externalAuth, GEP-1494), gRPC routes have the
// former, the others have no filters.
func route(name string, also ...string) kind {
	return kind{
		gvk:  schema.GroupVersionKind{Group: gatewayGroup, Version: "v1", Kind: name},
		also: also,
		extra: rules{
			interpreter.InterpretDependency: interpreter.DependencyFunc(routeDependencies),
		},
	}
}

var (
	httpRoute = route("HTTPRoute", "v1beta1")
	grpcRoute = route("GRPCRoute", "v1alpha2")
	tlsRoute  = route("TLSRoute", "v1alpha3", "v1alpha2")
	tcpRoute  = route("TCPRoute", "v1alpha2")
	udpRoute  = route("UDPRoute", "v1alpha2")
)

// backendFilters are the filters that refer to a backend. Which of them a kind of route can have is checked by its schema.
var backendFilters = []string{"requestMirror", "externalAuth"}

// routeDependencies are the backends that traffic goes to, copies of traffic and the servers that give permission
// included. The gateway is not
// one: a route is attached to it, and both can come first.
//
// A backend is a Service unless it says otherwise. One in another namespace needs a ReferenceGrant there, which
// belongs to that namespace's owner and does not travel with the route.
func routeDependencies(obj *unstructured.Unstructured) ([]interpreter.DependentObjectReference, error) {
	namespace, err := namespaceOf(obj)
	if err != nil {
		return nil, err
	}
	var list []interpreter.DependentObjectReference
	add := func(ref map[string]any) error {
		backend, err := objectReference(ref, service.gvk, namespace)
		list = append(list, backend...)
		return err
	}
	filters := func(in map[string]any) error {
		return eachAt(in, func(filter map[string]any) error {
			for _, name := range backendFilters {
				ref, err := mapAt(filter, name, "backendRef")
				if err != nil {
					return err
				}
				if err := add(ref); err != nil {
					return within(name+".backendRef", err)
				}
			}
			return nil
		}, "filters")
	}
	err = eachAt(obj.Object, func(rule map[string]any) error {
		if err := filters(rule); err != nil {
			return err
		}
		return eachAt(rule, func(ref map[string]any) error {
			if err := add(ref); err != nil {
				return err
			}
			return filters(ref)
		}, "backendRefs")
	}, "spec", "rules")
	return list, err
}

// known are the kinds that a reference of the Gateway API, which names no version, can be followed to.
var known = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("Service"),
	corev1.SchemeGroupVersion.WithKind("Secret"),
	corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	{Group: "multicluster.x-k8s.io", Version: "v1alpha1", Kind: "ServiceImport"},
}

// objectReference reads a reference of the Gateway API, in which kind and namespace have defaults. There is
// none to kinds whose version nobody knows.
func objectReference(ref map[string]any, usual schema.GroupVersionKind, namespace string) ([]interpreter.DependentObjectReference, error) {
	group, err := textAt(ref, "group")
	if err != nil {
		return nil, err
	}
	kind, err := textAt(ref, "kind")
	if err != nil {
		return nil, err
	}
	if kind == "" {
		kind = usual.Kind
	}
	name, err := textAt(ref, "name")
	if err != nil {
		return nil, err
	}
	in, err := textAt(ref, "namespace")
	if err != nil {
		return nil, err
	}
	if in == "" {
		in = namespace
	}
	for _, gvk := range known {
		if name != "" && gvk.Group == group && gvk.Kind == kind {
			return []interpreter.DependentObjectReference{reference(gvk, in, name)}, nil
		}
	}
	return nil, nil
}
