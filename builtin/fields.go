package builtin

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
)

// Reading objects.
//
// Every getter takes null for missing, and gives a *fieldError where a value on the way or at the end has
// the wrong type. What a getter gives belongs to the object: clone it before it goes anywhere else.

// fieldError says what is wrong with the value of a field.
type fieldError struct{ path, problem string }

func (e *fieldError) Error() string { return e.path + " " + e.problem }

// fault makes a *fieldError. The path is given as to the getters.
func fault(path []string, format string, args ...any) error {
	return &fieldError{strings.Join(path, "."), fmt.Sprintf(format, args...)}
}

// within puts the path of an enclosing value before the path in an error.
func within(path string, err error) error {
	if field := (*fieldError)(nil); errors.As(err, &field) {
		return &fieldError{path + "." + field.path, field.problem}
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

// listAt is the list at a path, nil if there is none.
func listAt(obj map[string]any, path ...string) ([]any, error) {
	v, err := valueAt(obj, path...)
	if v == nil || err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fault(path, "must be a list, got %s", describe(v))
	}
	return list, nil
}

// eachAt calls fn with every object of the list at a path, and puts the place in the list before fn's
// error. A null in the list is an object without fields, and stays null whatever fn does with it.
func eachAt(obj map[string]any, fn func(item map[string]any) error, path ...string) error {
	list, err := listAt(obj, path...)
	if err != nil {
		return err
	}
	for i, v := range list {
		item, ok := v.(map[string]any)
		if !ok && v != nil {
			return fault(path, "must hold objects, got %s at %d", describe(v), i)
		}
		if item == nil {
			item = map[string]any{}
		}
		if err := fn(item); err != nil {
			return within(fmt.Sprintf("%s[%d]", strings.Join(path, "."), i), err)
		}
	}
	return nil
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

// nameOf is the name of an object, empty if it has none yet. Unlike the object's own method it tells a name of a
// wrong type from none.
func nameOf(obj *unstructured.Unstructured) (string, error) {
	return textAt(obj.Object, "metadata", "name")
}

// namespaceOf is the namespace of an object, empty if it is in none.
func namespaceOf(obj *unstructured.Unstructured) (string, error) {
	return textAt(obj.Object, "metadata", "namespace")
}

// boolAt is the boolean at a path, false if there is none.
func boolAt(obj map[string]any, path ...string) (bool, error) {
	v, err := valueAt(obj, path...)
	if v == nil || err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, fault(path, "must be true or false, got %s", describe(v))
	}
	return b, nil
}

// int64At is the whole number at a path. It is zero, and found false, if there is none.
func int64At(obj map[string]any, path ...string) (n int64, found bool, err error) {
	v, err := valueAt(obj, path...)
	if v == nil || err != nil {
		return 0, false, err
	}
	if n, ok := integer(v); ok {
		return n, true, nil
	}
	return 0, false, fault(path, "must be a whole number, got %s", describe(v))
}

// integer is the whole number that a value is.
func integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case float64:
		return whole(v)
	}
	return 0, false
}

// int32At is int64At for the many fields that the API gives 32 bits.
func int32At(obj map[string]any, path ...string) (n int32, found bool, err error) {
	wide, found, err := int64At(obj, path...)
	if err != nil {
		return 0, false, err
	}
	if wide < math.MinInt32 || wide > math.MaxInt32 {
		return 0, false, fault(path, "must fit in 32 bits, got %d", wide)
	}
	return int32(wide), found, nil
}

// whole is the integer that a float stands for.
func whole(f float64) (int64, bool) {
	// 2^63 is a float64, the largest int64 is not.
	if f != math.Trunc(f) || f < -1<<63 || f >= 1<<63 {
		return 0, false
	}
	return int64(f), true
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
	default:
		return fmt.Sprintf("%T", v)
	}
}

// short keeps hostile values from flooding messages.
func short(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// set writes a value at a path, and makes the objects on the way. It keeps the value: clone what belongs
// to someone else.
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

// remove takes away the field at a path. What is not there, or not inside objects, needs no removing.
func remove(obj map[string]any, path ...string) {
	last := len(path) - 1
	for _, name := range path[:last] {
		next, ok := obj[name].(map[string]any)
		if !ok {
			return
		}
		obj = next
	}
	delete(obj, path[last])
}

// condition is one of an object's status conditions, in the shape that the API conventions give all of them.
type condition struct{ status, reason, message string }

// A condition's status is True, False or Unknown. One that is missing is neither of the first two.
func (c condition) isTrue() bool  { return c.status == "True" }
func (c condition) isFalse() bool { return c.status == "False" }

// conditionAt is the condition of a type in status.conditions. All its texts are empty if there is none.
func conditionAt(obj map[string]any, conditionType string) (c condition, err error) {
	err = eachAt(obj, func(item map[string]any) error {
		name, err := textAt(item, "type")
		if err != nil || name != conditionType {
			return err
		}
		if c.status, err = textAt(item, "status"); err != nil {
			return err
		}
		if c.reason, err = textAt(item, "reason"); err != nil {
			return err
		}
		c.message, err = textAt(item, "message")
		return err
	}, "status", "conditions")
	return c, err
}

// verdict makes a health whose message is formatted.
func verdict(status interpreter.HealthStatus, reason, format string, args ...any) interpreter.Health {
	return interpreter.Health{Status: status, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// reference makes a dependency by name. Namespace is empty for cluster-scoped kinds.
func reference(kind schema.GroupVersionKind, namespace, name string) interpreter.DependentObjectReference {
	return interpreter.DependentObjectReference{
		APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Namespace: namespace, Name: name,
	}
}
