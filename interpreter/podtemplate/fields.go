package podtemplate

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// FieldError says what is wrong with one field of a template.
type FieldError struct {
	// Path leads from the template to the field.
	Path string
	// Problem is what is wrong with it.
	Problem string
}

// Error names the field first.
func (e *FieldError) Error() string { return e.Path + ": " + e.Problem }

// fault makes an error about one field, without the path that leads to the object that holds it. The callers
// add that on the way up, so that reading a template builds no paths unless something is wrong.
func fault(path, format string, args ...any) error {
	return &FieldError{path, fmt.Sprintf(format, args...)}
}

// within puts the name of the field that encloses the one in an error before its path.
func within(name string, err error) error {
	if f := (*FieldError)(nil); errors.As(err, &f) {
		dot := "."
		if strings.HasPrefix(f.Path, "[") {
			dot = ""
		}
		return &FieldError{name + dot + f.Path, f.Problem}
	}
	return err
}

// withinIndex is within for an element of a list.
func withinIndex(name string, i int, err error) error {
	return within(name+"["+strconv.Itoa(i)+"]", err)
}

// object is the object in a field, nil if there is none or it is null. A nil object may be read like an empty
// one, so an absent parent needs no test of its own. It belongs to the template, as a list does: both are for
// reading.
func object(m map[string]any, name string) (map[string]any, error) {
	switch v := m[name].(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return v, nil
	default:
		return nil, fault(name, "must be an object, got %s", describe(v))
	}
}

// list is the list in a field, nil if there is none.
func list(m map[string]any, name string) ([]any, error) {
	switch v := m[name].(type) {
	case nil:
		return nil, nil
	case []any:
		return v, nil
	default:
		return nil, fault(name, "must be a list, got %s", describe(v))
	}
}

// element is an object in a list. A null is an object without fields, as for a typed client.
func element(name string, i int, v any) (map[string]any, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return v, nil
	default:
		return nil, fault(name+"["+strconv.Itoa(i)+"]", "must be an object, got %s", describe(v))
	}
}

// text is the text in a field, empty if there is none.
func text(m map[string]any, name string) (string, error) {
	switch v := m[name].(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	default:
		return "", fault(name, "must be text, got %s", describe(v))
	}
}

// integer is the whole number in a field, nil if there is none. JSON does not tell 3 from 3.0, so neither does
// this; 3.5 is an error rather than 3.
func integer(m map[string]any, name string) (*int64, error) {
	switch v := m[name].(type) {
	case nil:
		return nil, nil
	case int64:
		return &v, nil
	case float64:
		// 2^63 is a float64, the largest int64 is not.
		if v == math.Trunc(v) && v >= -1<<63 && v < 1<<63 {
			n := int64(v)
			return &n, nil
		}
	}
	return nil, fault(name, "must be a whole number, got %s", describe(m[name]))
}

// texts is a copy of the list of texts in a field, nil if there is none. A null in it is an empty text.
func texts(m map[string]any, name string) ([]string, error) {
	l, err := list(m, name)
	if l == nil || err != nil {
		return nil, err
	}
	out := make([]string, len(l))
	for i, v := range l {
		s, ok := v.(string)
		if !ok && v != nil {
			return nil, fault(name+"["+strconv.Itoa(i)+"]", "must be text, got %s", describe(v))
		}
		out[i] = s
	}
	return out, nil
}

// textMap is a copy of the map of texts in a field, nil if there is none. Empty is not nil: some maps mean
// something by being there.
func textMap(m map[string]any, name string) (map[string]string, error) {
	o, err := object(m, name)
	if o == nil || err != nil {
		return nil, err
	}
	out := make(map[string]string, len(o))
	for key := range o {
		if out[key], err = text(o, key); err != nil {
			return nil, within(name, err)
		}
	}
	return out, nil
}

// describe names a value in a message without printing the whole of it: values may be megabytes, and some are
// secret.
func describe(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		const most = 40
		if len(v) > most {
			return fmt.Sprintf("the text %q...", strings.ToValidUTF8(v[:most], ""))
		}
		return fmt.Sprintf("the text %q", v)
	case bool, int64, float64:
		return fmt.Sprint(v)
	default:
		return fmt.Sprintf("%T", v)
	}
}
