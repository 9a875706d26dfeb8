package builtin

import (
	"errors"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubeinterpret/interpret/interpreter"
)

// serviceImport makes a Service of other clusters known, see KEP-1645.
var serviceImport = kind{
	gvk: schema.GroupVersionKind{Group: "multicluster.x-k8s.io", Version: "v1alpha1", Kind: "ServiceImport"},
	rules: rules{
		interpreter.InterpretDependency: interpreter.DependencyFunc(importDependencies),
	},
}

// importDependencies are what makes an imported service usable in a cluster (KEP-1645): the Service derived
// from it, and that Service's slices, whose names are not known.
func importDependencies(obj *unstructured.Unstructured) ([]interpreter.DependentObjectReference, error) {
	name, err := nameOf(obj)
	if err != nil {
		return nil, err
	}
	if name == "" {
		return nil, errors.New("metadata.name is required")
	}
	namespace, err := namespaceOf(obj)
	if err != nil {
		return nil, err
	}
	derived := derivedName(name)
	slices := reference(discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), namespace, "")
	slices.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{discoveryv1.LabelServiceName: derived}}
	return []interpreter.DependentObjectReference{
		reference(service.gvk, namespace, derived),
		slices,
	}, nil
}

// derivedName is cut to what a DNS label, and so the name of a Service, can hold. A label ends in a letter
// or digit.
func derivedName(name string) string {
	derived := "derived-" + name
	if len(derived) > validation.DNS1123LabelMaxLength {
		derived = strings.TrimRight(derived[:validation.DNS1123LabelMaxLength], "-.")
	}
	return derived
}
