package follow

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
)

// decoded is an object and the last version of it that has the right type.
type decoded[T any] struct {
	source object
	value  *T
	err    error
}

// typed gives replace objects of its type. One that has another shape is reported, not a reason to read none
// of them; its last version of the right shape goes on being used.
func typed[T any](replace func([]*T) []Problem) func([]object) []Problem {
	known := map[string]decoded[T]{}
	return func(objects []object) []Problem {
		fresh := make(map[string]decoded[T], len(objects))
		var values []*T
		var problems []Problem
		for _, o := range objects {
			d, ok := known[o.GetName()]
			if !ok || d.source != o {
				d = decode(o, d)
			}
			fresh[o.GetName()] = d
			if d.err != nil {
				problems = append(problems, Problem{Name: o.GetName(), Reason: ReasonInvalid, Message: d.err.Error(), Broken: true})
			}
			if d.value != nil {
				values = append(values, d.value)
			}
		}
		known = fresh
		return append(problems, replace(values)...)
	}
}

func decode[T any](o object, last decoded[T]) decoded[T] {
	d := decoded[T]{source: o, value: new(T)}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, d.value); err != nil {
		d.err = fmt.Errorf("the object has not the shape of a %s: %w", o.GetKind(), err)
		d.value = nil
		if last.source != nil && last.source.GetUID() == o.GetUID() {
			d.value = last.value
		}
	}
	return d
}

// Split gives the errors that were joined into one, also in several steps.
func Split(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		if err == nil {
			return nil
		}
		return []error{err}
	}
	var list []error
	for _, e := range joined.Unwrap() {
		list = append(list, Split(e)...)
	}
	return list
}
