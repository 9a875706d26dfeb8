package webhook

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
	sigsjson "sigs.k8s.io/json"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/manifest"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

// ErrOtherKind means that an object is no webhook configuration.
var ErrOtherKind = errors.New("not a " + v1alpha1.KindResourceInterpreterWebhookConfiguration)

// Configuration is a webhook configuration and, if it was read from a file, the places of its fields.
type Configuration struct {
	*v1alpha1.ResourceInterpreterWebhookConfiguration
	doc  *manifest.Document
	root *yamlv3.Node
	// unknown are the fields that were left out when it was read, because the API has none of that name.
	unknown []mismatch
}

// FromDocument reads the webhook configuration, or the List of them, that a document holds. An empty document
// holds none. Fields that the API does not have are left out, as an API server does; Check tells of them.
func FromDocument(d *manifest.Document) ([]*Configuration, error) {
	object, err := d.Object()
	if object == nil || err != nil {
		return nil, err
	}
	root, _ := d.Root()
	items, ok := object["items"].([]any)
	if !ok || (object["apiVersion"] != "v1" || object["kind"] != "List") && object["kind"] != v1alpha1.KindResourceInterpreterWebhookConfiguration+"List" {
		c, err := decodeConfiguration(d, root, object)
		if err != nil {
			return nil, err
		}
		return []*Configuration{c}, nil
	}
	var list []*Configuration
	var errs []error
	for i, item := range items {
		c, err := decodeConfiguration(d, manifest.Near(root, "items", strconv.Itoa(i)), item)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		list = append(list, c)
	}
	return list, errors.Join(errs...)
}

func decodeConfiguration(d *manifest.Document, n *yamlv3.Node, value any) (*Configuration, error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, d.ErrorAt(n, fmt.Errorf("%w: not an object", ErrOtherKind))
	}
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	switch {
	case kind != v1alpha1.KindResourceInterpreterWebhookConfiguration:
		got := strings.TrimSpace(apiVersion + " " + kind)
		if got == "" {
			got = "an object without apiVersion and kind"
		}
		return nil, d.ErrorAt(n, fmt.Errorf("%w, got %s", ErrOtherKind, got))
	case apiVersion != v1alpha1.GroupVersion.String():
		return nil, d.ErrorAt(n, fmt.Errorf("a %s must be %s, got %q", v1alpha1.KindResourceInterpreterWebhookConfiguration, v1alpha1.GroupVersion, apiVersion))
	}
	c := &Configuration{ResourceInterpreterWebhookConfiguration: &v1alpha1.ResourceInterpreterWebhookConfiguration{}, doc: d, root: n}
	var errs []error
	for _, m := range mismatches(object, reflect.TypeOf(*c.ResourceInterpreterWebhookConfiguration), nil) {
		if m.unknown {
			c.unknown = append(c.unknown, m)
			continue
		}
		errs = append(errs, d.ErrorAt(manifest.Near(n, m.steps()...), fmt.Errorf("%s: %s", m.path, m.message)))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	text, err := json.Marshal(object)
	if err == nil {
		// As an API server reads it: a field in another letter case is unknown.
		err = sigsjson.UnmarshalCaseSensitivePreserveInts(text, c.ResourceInterpreterWebhookConfiguration)
	}
	if err != nil {
		return nil, d.ErrorAt(n, err)
	}
	return c, nil
}

// Place is where the field of a path, such as webhooks[0].name, stands in a file, or the nearest parent that there
// is. Line and column count from 1; without a file all are empty.
func (c *Configuration) Place(path string) (file string, line, column int) {
	if c.doc == nil {
		return "", 0, 0
	}
	at, _ := c.doc.ErrorAt(manifest.Near(c.root, manifest.Steps(path)...), nil).(*manifest.Error)
	return at.File, at.Line, at.Column
}

// mismatch is where a value differs from what a Go type is in JSON.
type mismatch struct {
	path *field.Path
	// unknown says that the type has no such field; otherwise it is a value of another type.
	unknown bool
	message string
}

func (m *mismatch) steps() []string { return manifest.Steps(m.path.String()) }

// mismatches compares a value with a type, below a path that is nil for the root. Null is what every type has.
func mismatches(value any, t reflect.Type, path *field.Path) []mismatch {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if value == nil || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	wrong := func(format string, args ...any) []mismatch {
		return []mismatch{{path: path, message: fmt.Sprintf(format, args...)}}
	}
	switch v := value.(type) {
	case map[string]any:
		switch t.Kind() {
		case reflect.Struct:
			return mismatchesInObject(v, t, path)
		case reflect.Map:
			var list []mismatch
			for _, key := range slices.Sorted(maps.Keys(v)) {
				list = append(list, mismatches(v[key], t.Elem(), path.Key(key))...)
			}
			return list
		}
	case []any:
		if t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 {
			var list []mismatch
			for i, item := range v {
				list = append(list, mismatches(item, t.Elem(), path.Index(i))...)
			}
			return list
		}
	case string:
		switch {
		case t.Kind() == reflect.String:
			return nil
		case t.Kind() != reflect.Slice || t.Elem().Kind() != reflect.Uint8:
		case strings.HasPrefix(v, "-----BEGIN "):
			return wrong("must be PEM in base64, got PEM as it is")
		default:
			if _, err := base64.StdEncoding.DecodeString(v); err != nil {
				return wrong("must be PEM in base64: %v", err)
			}
			return nil
		}
	case bool:
		if t.Kind() == reflect.Bool {
			return nil
		}
	case int64:
		switch {
		case t.Kind() == reflect.Int32 && (v < math.MinInt32 || v > math.MaxInt32):
			return wrong("is out of range, got %d", v)
		case t.Kind() == reflect.Int32 || t.Kind() == reflect.Int64:
			return nil
		}
	case float64:
		if t.Kind() == reflect.Int32 || t.Kind() == reflect.Int64 {
			return wrong("must be a whole number, got %v", v)
		}
	}
	want := manifest.TypeName(t)
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
		want = "a string"
	}
	return wrong("must be %s, got %s", want, manifest.TypeName(reflect.TypeOf(value)))
}

func mismatchesInObject(object map[string]any, t reflect.Type, path *field.Path) []mismatch {
	fields := map[string]reflect.Type{}
	jsonFields(t, fields)
	var list []mismatch
	for _, key := range slices.Sorted(maps.Keys(object)) {
		at := path.Child(key)
		if of, ok := fields[key]; ok {
			list = append(list, mismatches(object[key], of, at)...)
			continue
		}
		known := slices.Sorted(maps.Keys(fields))
		message := fmt.Sprintf("unknown field (have %s)", strings.Join(known, ", "))
		if near := interpreter.Nearest(key, known); near != "" {
			message = fmt.Sprintf("unknown field, did you mean %s?", near)
		}
		list = append(list, mismatch{path: at, unknown: true, message: message})
	}
	return list
}

// jsonFields collects the fields that a struct has in JSON.
func jsonFields(t reflect.Type, fields map[string]reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case f.Anonymous && name == "":
			jsonFields(f.Type, fields)
		case name != "":
			fields[name] = f.Type
		}
	}
}

// Objects are the configurations without their places, as New takes them.
func Objects(list []*Configuration) []*v1alpha1.ResourceInterpreterWebhookConfiguration {
	objects := make([]*v1alpha1.ResourceInterpreterWebhookConfiguration, len(list))
	for i, c := range list {
		objects[i] = c.ResourceInterpreterWebhookConfiguration
	}
	return objects
}
