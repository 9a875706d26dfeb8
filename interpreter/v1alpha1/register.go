package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of every object in this package.
const GroupName = "config.karmada.io"

// GroupVersion is the group and version of every object in this package.
var GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

// Kinds of the objects in this package, as they stand in a manifest's kind field.
const (
	KindResourceInterpreterCustomization        = "ResourceInterpreterCustomization"
	KindResourceInterpreterWebhookConfiguration = "ResourceInterpreterWebhookConfiguration"
	KindResourceInterpreterContext              = "ResourceInterpreterContext"
)

// SchemeBuilder collects the registration of this package's types.
var SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

// AddToScheme registers this package's types with a scheme.
var AddToScheme = SchemeBuilder.AddToScheme

func addKnownTypes(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&ResourceInterpreterCustomization{},
		&ResourceInterpreterCustomizationList{},
		&ResourceInterpreterWebhookConfiguration{},
		&ResourceInterpreterWebhookConfigurationList{},
		&ResourceInterpreterContext{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
