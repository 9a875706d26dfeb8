package conversion

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubeinterpret/interpret/interpreter"
)

// checkConverted does with a converted object what the API server does: it refuses one that is another object or of
// another version, and puts back what a conversion has no say in. Only the kind and the metadata of the original are
// looked at; nothing is shared with it.
func checkConverted(original, converted *unstructured.Unstructured, desired schema.GroupVersion) error {
	var wrong []string
	for _, f := range []struct{ path, got, want string }{
		{"apiVersion", converted.GetAPIVersion(), desired.String()},
		{"kind", converted.GetKind(), original.GetKind()},
		{"metadata.name", converted.GetName(), original.GetName()},
		{"metadata.namespace", converted.GetNamespace(), original.GetNamespace()},
		{"metadata.uid", string(converted.GetUID()), string(original.GetUID())},
	} {
		if f.got != f.want {
			wrong = append(wrong, fmt.Sprintf("%s is %q, must be %q", f.path, f.got, f.want))
		}
	}
	if len(wrong) > 0 {
		return errors.New("the converted object is wrong: " + strings.Join(wrong, ", "))
	}
	return restore(original, converted)
}

// restore puts the metadata of the original into the converted object, with the labels and annotations that the
// latter has. Without any there are none, and changed ones must be valid.
func restore(original, converted *unstructured.Unstructured) error {
	before, err := table(original.Object["metadata"], "metadata of the original")
	if err != nil {
		return err
	}
	after, err := table(converted.Object["metadata"], "metadata of the converted object")
	switch {
	case err != nil:
		return err
	case after == nil && before == nil:
		return nil
	case after == nil:
		return errors.New("the converted object has no metadata")
	}
	metadata := make(map[string]any, len(before))
	for key, v := range before {
		if key != "labels" && key != "annotations" {
			metadata[key] = interpreter.CloneValue(v)
		}
	}
	for _, f := range []struct {
		name  string
		check func(map[string]string, *field.Path) field.ErrorList
	}{
		{"labels", metav1validation.ValidateLabels},
		{"annotations", validation.ValidateAnnotations},
	} {
		path := field.NewPath("metadata", f.name)
		texts, err := textsOf(after[f.name], path)
		if err != nil {
			return err
		}
		if texts == nil {
			continue
		}
		if !same(before[f.name], texts) {
			if errs := f.check(texts, path); len(errs) > 0 {
				return errs.ToAggregate()
			}
		}
		metadata[f.name] = after[f.name]
	}
	converted.Object["metadata"] = metadata
	return nil
}

// table is a JSON object, nil if there is none.
func table(v any, what string) (map[string]any, error) {
	if v == nil {
		return nil, nil
	}
	t, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the %s must be an object, got %T", what, v)
	}
	return t, nil
}

// textsOf are labels or annotations, nil if there are none.
func textsOf(v any, path *field.Path) (map[string]string, error) {
	if v == nil {
		return nil, nil
	}
	t, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s must be an object, got %T", path, v)
	}
	texts := make(map[string]string, len(t))
	for key, v := range t {
		text, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("%s must be text, got %T", path.Key(key), v)
		}
		texts[key] = text
	}
	return texts, nil
}

// same says whether nothing has changed. What is stored may break rules that came later.
func same(before any, texts map[string]string) bool {
	t, _ := before.(map[string]any)
	if len(t) != len(texts) {
		return false
	}
	for key, text := range texts {
		if t[key] != any(text) {
			return false
		}
	}
	return true
}
