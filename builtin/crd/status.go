package crd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubeinterpret/interpret/interpreter"
)

// The three numbers that tell whether a member is in sync with the template. The first is the controller's, the
// other two are Karmada's, which InterpretStatus adds.
const (
	observedGeneration = "observedGeneration"
	generation         = "generation"
	templateGeneration = "resourceTemplateGeneration"
)

// templateAnnotation is where a member's object has the generation of the template that it was made from. It is
// Karmada's.
const templateAnnotation = "resourcetemplate.karmada.io/generation"

// statusSchema is the schema of the status. It is nil if the version says nothing about it; anything may be in it then.
func statusSchema(root *structuralschema.Structural) *structuralschema.Structural {
	if property, ok := root.Properties["status"]; ok {
		return &property
	}
	return nil
}

// reflect is InterpretStatus: the whole status. Where it has an observed generation, the two generations that
// AggregateStatus compares come along, if the object was made from a template.
func (p *plan) reflect(obj *unstructured.Unstructured) (any, error) {
	status, err := mapAt(obj.Object, "status")
	if status == nil || err != nil {
		return nil, err
	}
	reflected := interpreter.CloneValue(status).(map[string]any)
	template, found, err := templateOf(obj.Object)
	if !found || err != nil || status[observedGeneration] == nil {
		return reflected, err
	}
	own, _, err := intAt(obj.Object, "metadata", "generation")
	if err != nil {
		return nil, err
	}
	for name, n := range map[string]int64{generation: own, templateGeneration: template} {
		if _, taken := reflected[name]; !taken {
			reflected[name] = n
		}
	}
	return reflected, nil
}

func templateOf(obj map[string]any) (n int64, found bool, err error) {
	path := []string{"metadata", "annotations", templateAnnotation}
	text, err := textAt(obj, path...)
	if text == "" || err != nil {
		return 0, false, err
	}
	if n, err = strconv.ParseInt(text, 10, 64); err != nil {
		return 0, false, fault(path, "must be a whole number, got %s", describe(text))
	}
	return n, true, nil
}

// aggregate is AggregateStatus. See the package's documentation for how each kind of field is folded.
func (p *plan) aggregate(obj *unstructured.Unstructured, items []interpreter.AggregatedStatusItem) error {
	sh, err := p.shape()
	if err != nil {
		return err
	}
	old, err := mapAt(obj.Object, "status")
	if err != nil {
		return err
	}
	f := &fold{scale: p.scale}
	for i := range items {
		status, err := reported(&items[i])
		if err != nil {
			return fmt.Errorf("cluster %q: %w", items[i].ClusterName, err)
		}
		if status == nil {
			f.silent = append(f.silent, items[i].ClusterName)
			continue
		}
		f.members = append(f.members, member{items[i].ClusterName, status})
	}
	if f.observed, err = f.generation(obj.Object, len(items)); err != nil {
		return err
	}
	status, err := f.object([]string{"status"}, sh.status, f.members, old, true)
	if err != nil {
		return err
	}
	if len(status) == 0 && old == nil {
		return nil // There is nothing to say, and nothing was said.
	}
	obj.Object["status"] = status
	return nil
}

// generation is the observed generation of the template: its generation once all members are in sync with it, else
// what it was. A member is in sync when its controller has observed the object, and the object comes from the present
// template; one that has not reported is not.
func (f *fold) generation(obj map[string]any, members int) (int64, error) {
	wanted, _, err := intAt(obj, "metadata", "generation")
	if err != nil {
		return 0, err
	}
	was, _, err := intAt(obj, "status", observedGeneration)
	if err != nil {
		return 0, err
	}
	inSync := 0
	for _, m := range f.members {
		status := m.value.(map[string]any)
		var numbers [3]int64
		for i, name := range [...]string{observedGeneration, generation, templateGeneration} {
			n, _, err := intAt(status, name)
			if err != nil {
				return 0, m.blame(within("status", err))
			}
			numbers[i] = n
		}
		if numbers[0] >= numbers[1] && numbers[2] >= wanted {
			inSync++
		}
	}
	if inSync == members && wanted != 0 {
		return wanted, nil
	}
	return was, nil
}

// reported is the status of an item, nil if there is none.
func reported(item *interpreter.AggregatedStatusItem) (map[string]any, error) {
	if item.Status == nil {
		return nil, nil
	}
	data := item.Status.Raw
	if data == nil && item.Status.Object != nil {
		var err error
		if data, err = json.Marshal(item.Status.Object); err != nil {
			return nil, fmt.Errorf("status: %w", err)
		}
	}
	if data = bytes.TrimSpace(data); len(data) == 0 {
		return nil, nil
	}
	var v any
	if err := utiljson.Unmarshal(data, &v); err != nil {
		return nil, errors.New("status: not JSON")
	}
	status, ok := v.(map[string]any)
	if !ok && v != nil {
		return nil, fault([]string{"status"}, "must be an object, got %s", describe(v))
	}
	return status, nil
}
