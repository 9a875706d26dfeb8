package interpreter

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// CloneValue copies a JSON value deeply. Unlike runtime.DeepCopyJSONValue it does not panic on what JSON does
// not have, such as the int of an object that was built by hand; such values are passed on as they are.
func CloneValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return v
		}
		m := make(map[string]any, len(v))
		for key, val := range v {
			m[key] = CloneValue(val)
		}
		return m
	case []any:
		if v == nil {
			return v
		}
		list := make([]any, len(v))
		for i, val := range v {
			list[i] = CloneValue(val)
		}
		return list
	default:
		return v
	}
}

// Clone copies an object deeply; nil stays nil. See CloneValue for what it does with values that JSON lacks.
func Clone(o *unstructured.Unstructured) *unstructured.Unstructured {
	if o == nil {
		return nil
	}
	object, _ := CloneValue(o.Object).(map[string]any)
	return &unstructured.Unstructured{Object: object}
}
