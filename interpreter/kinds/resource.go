package kinds

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter/definition"
)

// Resource is one version of a resource, with the kind of its objects. It is shared and must not be changed.
type Resource struct {
	// Kind is the kind of the objects.
	Kind schema.GroupVersionKind
	// Name is the resource by its plural.
	Name schema.GroupVersionResource
	// Singular is the name of one object; it is never empty.
	Singular string
	// ShortNames and Categories are further names, the latter shared by several resources.
	ShortNames, Categories []string
	// Namespaced says whether the objects are in namespaces.
	Namespaced bool
	// Verbs are what can be done with the resource, in the source's order.
	Verbs []string
	// Subresources are names such as status and scale.
	Subresources []string
	// Preferred says whether this is the resource's first version by priority.
	Preferred bool
	// Standard says whether the group comes with Kubernetes.
	Standard bool
	// Guessed says that only the kind is known: the names follow it, and Namespaced may be wrong.
	Guessed bool
	// Definition is the CRD, if the source was one.
	Definition *definition.Definition

	// rank is the place in the order of priority.
	rank int
}

// String writes the resource so that it is found by it: deployments.v1.apps, or pods.v1 in the core group.
func (r *Resource) String() string { return joinName(r.Name.Resource, r.Name.Version, r.Name.Group) }

// Short is the name without the version: deployments.apps.
func (r *Resource) Short() string { return joinName(r.Name.Resource, r.Name.Group) }

func joinName(parts ...string) string {
	name := parts[0]
	for _, part := range parts[1:] {
		if part != "" {
			name += "." + part
		}
	}
	return name
}

// Scope is whether objects are in namespaces, in apimachinery's terms.
func (r *Resource) Scope() meta.RESTScope {
	if r.Namespaced {
		return meta.RESTScopeNamespace
	}
	return meta.RESTScopeRoot
}

// Mapping is the resource in apimachinery's terms. It is the caller's.
func (r *Resource) Mapping() *meta.RESTMapping {
	return &meta.RESTMapping{Resource: r.Name, GroupVersionKind: r.Kind, Scope: r.Scope()}
}

// HasVerb says whether something can be done with the resource, such as list.
func (r *Resource) HasVerb(verb string) bool {
	for _, v := range r.Verbs {
		if strings.EqualFold(v, verb) {
			return true
		}
	}
	return false
}
