package crd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/podtemplate"
)

// onlyComponent is the name of the component of a workload that has one, as it is for built-in kinds.
const onlyComponent = "main"

// pods are the pod templates of a version, and what tells how many pods each stands for.
type pods struct {
	places []place
	// counted says that the replicas of at least one place are known, and of none ambiguous.
	counted bool
	// scaled is the place whose pods the scale subresource counts, nil if that cannot be told.
	scaled *place
}

func newPods(places []place, sc *scale) *pods {
	p := &pods{places: places}
	besides := map[string]int{}
	for i := range places {
		pl := &places[i]
		holder := strings.Join(pl.path[:len(pl.path)-1], ".")
		if pl.replicas {
			besides[holder]++
			p.counted = true
		}
		if sc == nil || slices.Contains(pl.path, each) {
			continue
		}
		if len(places) == 1 || slices.Equal(append(slices.Clone(pl.path[:len(pl.path)-1]), replicasField), sc.spec) {
			p.scaled = pl
			p.counted = true
		}
	}
	for holder, n := range besides {
		if n < 2 {
			continue
		}
		// One number beside two templates: which of them it counts is not known.
		p.counted = false
		if p.scaled != nil && strings.Join(p.scaled.path[:len(p.scaled.path)-1], ".") == holder {
			p.scaled = nil
		}
	}
	return p
}

// requirements is what one of the replicas of the scale subresource needs, nil if that is not known. The namespace is
// always part of it: quotas count replicas by that.
func (p *pods) requirements(obj *unstructured.Unstructured) (*interpreter.ReplicaRequirements, error) {
	if p.scaled == nil {
		return nil, nil
	}
	list, err := templatesIn(obj.Object, []place{*p.scaled})
	if len(list) == 0 || err != nil {
		return nil, err
	}
	r, err := list[0].requirements()
	if r == nil || err != nil {
		return nil, err
	}
	r.Namespace, err = namespaceOf(obj)
	return r, err
}

// requirements are nil if there is no template, and not nil if it asks for nothing.
func (f *found) requirements() (*interpreter.ReplicaRequirements, error) {
	if f.template == nil {
		return nil, nil
	}
	r, err := podtemplate.Requirements(f.template)
	if err != nil {
		return nil, f.within(err)
	}
	if r == nil {
		r = &interpreter.ReplicaRequirements{}
	}
	return r, nil
}

// within puts the place of a template before the path in an error.
func (f *found) within(err error) error { return within(f.at, err) }

// beside puts the place of what holds a template before the path in an error.
func (f *found) beside(err error) error {
	if i := strings.LastIndexByte(f.at, '.'); i >= 0 {
		return within(f.at[:i], err)
	}
	return err
}

// components is InterpretComponent: the pods of each template. Sure is false if the schema is not sure of any
// template and the object has none.
func (p *pods) components(obj *unstructured.Unstructured, sc *scale) (list []interpreter.Component, sure bool, err error) {
	templates, err := templatesIn(obj.Object, p.places)
	if err != nil {
		return nil, false, err
	}
	names := namesFor(templates)
	for i := range templates {
		f := &templates[i]
		n, err := p.replicas(obj, f, sc)
		if err != nil {
			return nil, false, err
		}
		r, err := f.requirements()
		if err != nil {
			return nil, false, err
		}
		list = append(list, interpreter.Component{Name: names[i], Replicas: n, ReplicaRequirements: podtemplate.ForComponent(r)})
	}
	return list, len(templates) > 0 || p.sure(), nil
}

// replicas is how many pods a template stands for: what the field beside it says, what the scale subresource says
// where it counts these, and else one.
func (p *pods) replicas(obj *unstructured.Unstructured, f *found, sc *scale) (int32, error) {
	if p.scaled != nil && slices.Equal(p.scaled.path, f.place.path) {
		return sc.replicas(obj)
	}
	if !f.place.replicas && f.place.sure {
		return f.place.one, nil
	}
	n, err := replicasAt(f.holder, f.place.one, replicasField)
	if err != nil {
		return 0, f.beside(err)
	}
	return n, nil
}

// sure says whether the schema is sure of a template.
func (p *pods) sure() bool {
	return slices.ContainsFunc(p.places, func(p place) bool { return p.sure })
}

// dependencies is InterpretDependency: what the pods of all templates need. Sure is as for components.
func (p *pods) dependencies(obj *unstructured.Unstructured) (list []interpreter.DependentObjectReference, sure bool, err error) {
	namespace, err := namespaceOf(obj)
	if err != nil {
		return nil, false, err
	}
	templates, err := templatesIn(obj.Object, p.places)
	if err != nil {
		return nil, false, err
	}
	for i := range templates {
		f := &templates[i]
		template, err := f.claimed()
		if err != nil {
			return nil, false, err
		}
		needs, err := podtemplate.Dependencies(template, namespace)
		if err != nil {
			return nil, false, f.within(err)
		}
		list = append(list, needs...)
	}
	return list, len(templates) > 0 || p.sure(), nil
}

// claimed is the template without the volumes that claims made for each pod will replace, as a StatefulSet has it:
// what such a volume names is no dependency. It shares all else with the object.
func (f *found) claimed() (map[string]any, error) {
	claims, _ := f.holder[claimTemplates].([]any)
	spec, _ := f.template["spec"].(map[string]any)
	volumes, _ := spec["volumes"].([]any)
	if len(claims) == 0 || len(volumes) == 0 {
		return f.template, nil
	}
	var names []string
	for i, v := range claims {
		claim, _ := v.(map[string]any)
		name, err := textAt(claim, "metadata", "name")
		if err != nil {
			return nil, f.beside(within(fmt.Sprintf("%s[%d]", claimTemplates, i), err))
		}
		names = append(names, name)
	}
	volumes = slices.Clone(volumes)
	for i, v := range volumes {
		volume, _ := v.(map[string]any)
		if name, ok := volume["name"].(string); ok && slices.Contains(names, name) {
			volumes[i] = nil // The places of the others, which errors name, stay the same.
		}
	}
	template, spec := maps.Clone(f.template), maps.Clone(spec)
	spec["volumes"] = volumes
	template["spec"] = spec
	return template, nil
}
