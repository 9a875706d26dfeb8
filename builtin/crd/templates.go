package crd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// maxDepth bounds how far below the object a schema is searched for pod templates. The deepest that anybody has
// published are below ten; a schema that goes on and on is not worth following.
const maxDepth = 24

// place is where a schema has a pod template, or may have one.
type place struct {
	// path leads to the template; each is a step into every element of a list or every value of a map.
	path []string
	// sure says that the schema has the fields of a pod template. Otherwise it only leaves room for one under a
	// name that says so, and the object decides.
	sure bool
	// replicas says that the schema has a number of replicas beside the template, and one is its default.
	replicas bool
	one      int32
}

// each is the step into all elements or values. A field of that name, which JSON allows, is not followed.
const each = "[]"

// claimTemplates is the field beside a template that makes claims for each of its pods, as in a StatefulSet.
const claimTemplates = "volumeClaimTemplates"

// replicasField is the name that the number of pods has beside their template.
const replicasField = "replicas"

// A CRD that mentions neither has no place for a pod template.
const (
	containers = "containers"
	preserved  = "x-kubernetes-preserve-unknown-fields"
)

// placesIn finds the pod templates below the top of an object's schema, in a fixed order. The object itself is
// none: what has containers in its own spec is about them, but seldom made of them.
func placesIn(root *structuralschema.Structural) []place {
	s := &search{}
	for _, name := range slices.Sorted(maps.Keys(root.Properties)) {
		switch name {
		case "apiVersion", "kind", "metadata", "status", each:
		default:
			property := root.Properties[name]
			s.in(root, &property, []string{name})
		}
	}
	return s.found
}

type search struct{ found []place }

// in looks at the schema that a path leads to, and then below it. Parent is what holds it.
func (s *search) in(parent, here *structuralschema.Structural, path []string) {
	if len(path) > maxDepth || here.XEmbeddedResource {
		return // An embedded object is one of its own, with its own rules.
	}
	name := path[len(path)-1]
	switch {
	case isTemplate(here):
		s.add(parent, path, true)
		return
	case name != each && namesTemplate(name) && leavesRoom(here):
		s.add(parent, path, false)
		return
	}
	if here.XPreserveUnknownFields && len(here.Properties) == 0 && name == "spec" {
		s.add(here, append(slices.Clone(path), "template"), false)
		return
	}
	for _, field := range slices.Sorted(maps.Keys(here.Properties)) {
		if property := here.Properties[field]; field != each {
			s.in(here, &property, append(path, field))
		}
	}
	if here.Items != nil {
		s.in(here, here.Items, append(path, each))
	}
	if more := here.AdditionalProperties; more != nil && more.Structural != nil {
		s.in(here, more.Structural, append(path, each))
	}
}

func (s *search) add(parent *structuralschema.Structural, path []string, sure bool) {
	p := place{path: slices.Clone(path), sure: sure, one: 1}
	if beside, ok := parent.Properties[replicasField]; ok && beside.Type == "integer" {
		p.replicas = true
		if n, ok := integer(beside.Default.Object); ok && n >= 0 && n <= 1<<31-1 {
			p.one = int32(n)
		}
	}
	s.found = append(s.found, p)
}

// isTemplate says whether a schema has what makes a pod template: metadata, and a spec with containers that have a
// name and an image.
func isTemplate(s *structuralschema.Structural) bool {
	metadata, ok := s.Properties["metadata"]
	if !ok || metadata.Type != "object" {
		return false
	}
	spec := s.Properties["spec"]
	list := spec.Properties[containers]
	if list.Type != "array" || list.Items == nil {
		return false
	}
	item := list.Items
	return item.Properties["name"].Type == "string" && item.Properties["image"].Type == "string"
}

// namesTemplate says whether a field is called a template.
func namesTemplate(name string) bool {
	low := strings.ToLower(name)
	return strings.HasSuffix(low, "template") || strings.HasSuffix(low, "templatespec")
}

// leavesRoom says whether the API server keeps a pod template there although the schema does not describe one.
func leavesRoom(s *structuralschema.Structural) bool {
	if s.XPreserveUnknownFields && len(s.Properties) == 0 {
		return true
	}
	spec, ok := s.Properties["spec"]
	return ok && spec.XPreserveUnknownFields && len(spec.Properties) == 0
}

// found is a pod template in an object.
type found struct {
	template map[string]any
	// holder is the object that holds it, which has its replicas.
	holder map[string]any
	place  *place
	// at is the path for messages.
	at string
	// labels tell it from the others, the nearest first.
	labels []string
}

// templatesIn finds the templates of an object at the places that its schema has. What holds a template but lacks it
// comes as well, with a nil template, where it has replicas: these are pods of which nothing is known.
func templatesIn(obj map[string]any, places []place) ([]found, error) {
	var list []found
	for i := range places {
		w := &walk{place: &places[i]}
		if err := w.in(obj, 0, "", nil); err != nil {
			return nil, err
		}
		list = append(list, w.found...)
	}
	return list, nil
}

// walk follows one place through an object.
type walk struct {
	place *place
	found []found
}

// in follows the path from a step on. Here is what the steps before have led to.
func (w *walk) in(here any, step int, at string, labels []string) error {
	path := w.place.path
	if path[step] == each {
		return w.all(here, step, at, labels)
	}
	holder, err := w.object(here, at)
	if holder == nil || err != nil {
		return err
	}
	field := path[step]
	next := field
	if at != "" {
		next = at + "." + field
	}
	if step+1 == len(path) {
		return w.end(holder, holder[field], next, prepend(labelOf(field), labels))
	}
	return w.in(holder[field], step+1, next, prepend(labelOf(field), labels))
}

// all follows the path into each element of a list or value of a map, the latter in the order of their keys.
func (w *walk) all(here any, step int, at string, labels []string) error {
	last := step+1 == len(w.place.path)
	switch here := here.(type) {
	case nil:
		return nil
	case []any:
		for i, item := range here {
			at := fmt.Sprintf("%s[%d]", at, i)
			labels := prepend(elementLabel(item, w.place.path[step-1], i), labels)
			if err := w.next(item, step, at, labels, last); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(here)) {
			if err := w.next(here[key], step, at+"."+key, prepend(strings.ToLower(key), labels), last); err != nil {
				return err
			}
		}
		return nil
	}
	if !w.place.sure {
		return nil
	}
	return fault([]string{at}, "must be a list or an object, got %s", describe(here))
}

func (w *walk) next(value any, step int, at string, labels []string, last bool) error {
	if last {
		return w.end(nil, value, at, labels)
	}
	return w.in(value, step+1, at, labels)
}

// end notes what the whole path has led to.
func (w *walk) end(holder map[string]any, value any, at string, labels []string) error {
	f := found{holder: holder, place: w.place, at: at, labels: labels}
	if !w.place.sure {
		if looksLikeTemplate(value) {
			f.template = value.(map[string]any)
			w.found = append(w.found, f)
		}
		return nil
	}
	template, err := w.object(value, at)
	if err != nil {
		return err
	}
	if f.template = template; template != nil || holder[replicasField] != nil {
		w.found = append(w.found, f)
	}
	return nil
}

// object is a value that must be an object; nil if it is not there. Where the schema says nothing, anything else is
// not there either.
func (w *walk) object(v any, at string) (map[string]any, error) {
	m, ok := v.(map[string]any)
	if ok || v == nil || !w.place.sure {
		return m, nil
	}
	return nil, fault([]string{at}, "must be an object, got %s", describe(v))
}

// looksLikeTemplate says whether a value has containers with names and images, as a whole pod template has.
func looksLikeTemplate(v any) bool {
	template, _ := v.(map[string]any)
	spec, _ := template["spec"].(map[string]any)
	list, _ := spec[containers].([]any)
	for _, v := range list {
		c, _ := v.(map[string]any)
		name, _ := c["name"].(string)
		image, _ := c["image"].(string)
		if name == "" || image == "" {
			return false
		}
	}
	return len(list) > 0
}

// prepend puts a label before others, in a list of its own; an empty one says nothing.
func prepend(label string, labels []string) []string {
	if label == "" {
		return labels
	}
	return append([]string{label}, labels...)
}

// labelOf is what the name of a field says about the pods in it: headPodTemplate is about a head, template and spec
// are about nothing.
func labelOf(field string) string {
	label := strings.ToLower(field)
	for cut := true; cut; {
		cut = false
		for _, word := range [...]string{"spec", "template", "pod"} {
			if rest, ok := strings.CutSuffix(label, word); ok {
				label, cut = rest, true
			}
		}
	}
	return label
}

// elementLabel is an element's own name, or that of the list with the element's number.
func elementLabel(item any, list string, i int) string {
	m, _ := item.(map[string]any)
	if name, ok := m["name"].(string); ok && name != "" {
		return strings.ToLower(name)
	}
	for _, field := range slices.Sorted(maps.Keys(m)) {
		if name, ok := m[field].(string); ok && name != "" && strings.HasSuffix(field, "Name") {
			return strings.ToLower(name)
		}
	}
	return fmt.Sprintf("%s-%d", strings.ToLower(strings.TrimSuffix(list, "s")), i)
}

// namesFor gives each template a name of its own: the nearest of its labels, with as many of the others before it as
// it takes to tell them apart, and a number where nothing does. One that has no label is the main one.
func namesFor(list []found) []string {
	names := make([]string, len(list))
	for i := range list {
		names[i] = onlyComponent
		if len(list[i].labels) > 0 {
			names[i] = list[i].labels[0]
		}
	}
	for depth := 1; depth < maxDepth; depth++ {
		count := counted(names)
		for i := range names {
			if count[names[i]] > 1 && depth < len(list[i].labels) {
				names[i] = list[i].labels[depth] + "-" + names[i]
			}
		}
	}
	taken := map[string]bool{}
	for i, name := range names {
		for n := 2; taken[names[i]]; n++ {
			names[i] = fmt.Sprintf("%s-%d", name, n)
		}
		taken[names[i]] = true
	}
	return names
}

func counted(names []string) map[string]int {
	count := make(map[string]int, len(names))
	for _, name := range names {
		count[name]++
	}
	return count
}
