package kinds

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// KindFor finds the kind of a partial resource; see ResourceFor.
func (k *Kinds) KindFor(partial schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	r, err := k.oneFor(partial)
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	return r.Kind, nil
}

// KindsFor lists the kinds of a partial resource by priority; see ResourcesFor.
func (k *Kinds) KindsFor(partial schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	list, err := k.allFor(partial)
	if err != nil {
		return nil, err
	}
	var kinds []schema.GroupVersionKind
	for _, r := range list {
		if !slices.Contains(kinds, r.Kind) {
			kinds = append(kinds, r.Kind)
		}
	}
	return kinds, nil
}

// ResourceFor finds the resource that a partial one means: the first by priority, unless nothing decides between
// several, which is an *AmbiguousError.
func (k *Kinds) ResourceFor(partial schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	r, err := k.oneFor(partial)
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	return r.Name, nil
}

// ResourcesFor lists the resources that a partial one may mean, by priority. Its resource is a plural, a singular or
// a short name in any letter case; an empty version is any; an empty group is any; a group that none is called is
// the beginning of one. If there are none, the error is a *NoMatchError.
func (k *Kinds) ResourcesFor(partial schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	list, err := k.allFor(partial)
	if err != nil {
		return nil, err
	}
	names := make([]schema.GroupVersionResource, len(list))
	for i, r := range list {
		names[i] = r.Name
	}
	return names, nil
}

// ResourceSingularizer gives the singular of a resource name. Beside an error it gives the name back.
func (k *Kinds) ResourceSingularizer(resource string) (string, error) {
	partial := schema.GroupVersionResource{Resource: resource}
	list, err := k.allFor(partial)
	if err != nil {
		return resource, err
	}
	if _, rivals := first(list); slices.ContainsFunc(rivals, func(r *Resource) bool { return r.Singular != list[0].Singular }) {
		return resource, newAmbiguous(resource, partial, rivals, false)
	}
	return list[0].Singular, nil
}

func (k *Kinds) oneFor(partial schema.GroupVersionResource) (*Resource, error) {
	list, err := k.allFor(partial)
	if err != nil {
		return nil, err
	}
	r, rivals := first(list)
	if r == nil {
		return nil, newAmbiguous(joinName(partial.Resource, partial.Version, partial.Group), partial, rivals, false)
	}
	return r, nil
}

func (k *Kinds) allFor(partial schema.GroupVersionResource) ([]*Resource, error) {
	if partial.Resource == "" {
		return nil, fmt.Errorf("%w: a resource must be given, got %v", ErrInvalidName, partial)
	}
	list, t, err := k.search(context.Background(), func(t *table) []*Resource { return t.named(partial, false) })
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, t.noResource(joinName(partial.Resource, partial.Version, partial.Group), partial)
	}
	return list, nil
}

// RESTMapping finds the resource of a kind in the first of the versions that there is; if none is given, in the first
// by priority. If there is none, the error is a *NoMatchError.
func (k *Kinds) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	list, err := k.RESTMappings(kind, versions...)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// RESTMappings lists the resources of a kind by priority; if versions are given, only that of the first one there is.
func (k *Kinds) RESTMappings(kind schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	var mappings []*meta.RESTMapping
	_, t, err := k.search(context.Background(), func(t *table) []*Resource {
		// The only error that there can be is that there is no match.
		mappings, _ = t.mapper.RESTMappings(kind, versions...)
		if len(mappings) == 0 {
			return nil
		}
		return t.all
	})
	if err != nil {
		return nil, err
	}
	if len(mappings) == 0 {
		return nil, t.noKind(kind, versions...)
	}
	return mappings, nil
}
