package crd

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter/podtemplate"
)

// Reading objects. Null is the same as missing, and a value of a wrong type is a *podtemplate.FieldError, so that
// errors about templates and about all else read alike.

// fault says what is wrong with the field at a path.
func fault(path []string, format string, args ...any) error {
	return &podtemplate.FieldError{Path: strings.Join(path, "."), Problem: fmt.Sprintf(format, args...)}
}

// within puts the path of an enclosing value before the one in an error.
func within(path string, err error) error {
	if f := (*podtemplate.FieldError)(nil); errors.As(err, &f) {
		return &podtemplate.FieldError{Path: path + "." + f.Path, Problem: f.Problem}
	}
	return fmt.Errorf("%s: %w", path, err)
}

// valueAt is the value at a path, nil if there is none.
func valueAt(obj map[string]any, path ...string) (any, error) {
	var v any = obj
	for i, name := range path {
		if v == nil {
			return nil, nil
		}
		m, ok := v.(map[string]any)
		if !ok {
			return nil, fault(path[:i], "must be an object, got %s", describe(v))
		}
		v = m[name]
	}
	return v, nil
}

// mapAt is the object at a path, nil if there is none.
func mapAt(obj map[string]any, path ...string) (map[string]any, error) {
	v, err := valueAt(obj, path...)
	if v == nil || err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fault(path, "must be an object, got %s", describe(v))
	}
	return m, nil
}

// textAt is the text at a path, empty if there is none.
func textAt(obj map[string]any, path ...string) (string, error) {
	v, err := valueAt(obj, path...)
	if v == nil || err != nil {
		return "", err
	}
	s, ok := v.(string)
	if !ok {
		return "", fault(path, "must be text, got %s", describe(v))
	}
	return s, nil
}

// intAt is the whole number at a path, and false if there is none.
func intAt(obj map[string]any, path ...string) (n int64, found bool, err error) {
	v, err := valueAt(obj, path...)
	if v == nil || err != nil {
		return 0, false, err
	}
	n, ok := integer(v)
	if !ok {
		return 0, false, fault(path, "must be a whole number, got %s", describe(v))
	}
	return n, true, nil
}

// replicasAt is a number of replicas, which is never negative and has 32 bits in the scale subresource.
func replicasAt(obj map[string]any, missing int32, path ...string) (int32, error) {
	n, found, err := intAt(obj, path...)
	switch {
	case err != nil:
		return 0, err
	case !found:
		return missing, nil
	case n < 0 || n > math.MaxInt32:
		return 0, fault(path, "must be a number of replicas, got %d", n)
	}
	return int32(n), nil
}

// integer is the whole number that a value stands for: JSON does not tell 3 from 3.0.
func integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case float64:
		// 2^63 is a float64, the largest int64 is not.
		if v == math.Trunc(v) && v >= -1<<63 && v < 1<<63 {
			return int64(v), true
		}
	}
	return 0, false
}

// set writes a value at a path, and makes the objects on the way.
func set(obj map[string]any, value any, path ...string) error {
	last := len(path) - 1
	for i, name := range path[:last] {
		next, ok := obj[name].(map[string]any)
		if !ok && obj[name] != nil {
			return fault(path[:i+1], "must be an object, got %s", describe(obj[name]))
		}
		if next == nil {
			next = map[string]any{}
			obj[name] = next
		}
		obj = next
	}
	obj[path[last]] = value
	return nil
}

// namespaceOf is the namespace of an object, empty if it is in none.
func namespaceOf(obj *unstructured.Unstructured) (string, error) {
	return textAt(obj.Object, "metadata", "namespace")
}

// describe names a value in a message without printing the whole of it.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return fmt.Sprintf("the text %q", short(v))
	case bool, int64, float64:
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("%T", v)
}

// short keeps large values from flooding messages.
func short(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
