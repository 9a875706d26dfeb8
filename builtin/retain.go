package builtin

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

// reader is one of the getters: it says of which type a field must be.
type reader[T any] func(obj map[string]any, path ...string) (T, error)

// keep copies an observed field whatever the template says, unless the member has nothing in it.
func keep[T any](read reader[T], desired, observed *unstructured.Unstructured, path ...string) error {
	if _, err := read(observed.Object, path...); err != nil {
		return err
	}
	have, err := valueAt(observed.Object, path...)
	if err != nil || isEmpty(have) {
		return err
	}
	return set(desired.Object, interpreter.CloneValue(have), path...)
}

// keepIfEmpty copies an observed field that the template leaves open.
func keepIfEmpty[T any](read reader[T], desired, observed *unstructured.Unstructured, path ...string) error {
	if _, err := read(desired.Object, path...); err != nil {
		return err
	}
	wanted, err := valueAt(desired.Object, path...)
	if err != nil || !isEmpty(wanted) {
		return err
	}
	return keep(read, desired, observed, path...)
}

// portAt reads a port number.
func portAt(obj map[string]any, path ...string) (int32, error) {
	n, _, err := int32At(obj, path...)
	return n, err
}

// isEmpty says whether the API takes a value for not set. False is set: no rule here retains a boolean.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case int64:
		return v == 0
	case float64:
		return v == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}
