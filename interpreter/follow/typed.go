package follow

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// decoder gives decode for the mirror, which knows no types.
func decoder[T any](decode func(*unstructured.Unstructured) (*T, error)) func(object) (any, error) {
	if decode == nil {
		decode = decodeAll
	}
	return func(o object) (any, error) { return decode(o) }
}

func decodeAll[T any](o *unstructured.Unstructured) (*T, error) {
	value := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, value); err != nil {
		return nil, fmt.Errorf("the object has not the shape of a %s: %w", o.GetKind(), err)
	}
	return value, nil
}

// typed gives replace objects of its type. One that has another shape is reported, not a reason to read none
// of them; its last version of the right shape goes on being used.
func typed[T any](replace func([]*T) []Problem) func([]*item) []Problem {
	return func(items []*item) []Problem {
		var values []*T
		var problems []Problem
		for _, it := range items {
			if it.err != nil {
				problems = append(problems, Problem{Name: it.GetName(), Reason: ReasonInvalid, Message: it.err.Error(), Broken: true})
			}
			if value, ok := it.value.(*T); ok {
				values = append(values, value)
			}
		}
		return append(problems, replace(values)...)
	}
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
