package definition

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jsonutil "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubeinterpret/interpret/interpreter/manifest"
)

// misfit is a field that a CRD has not, or a value of another type than its field has.
type misfit struct {
	path    string
	unknown bool
	message string
}

// misfits compares the JSON of a CRD with its Go type. A decoder would only tell of the first wrong type, and not which
// item of a list it is in.
func misfits(raw []byte) []misfit {
	var object map[string]any
	if err := jsonutil.Unmarshal(raw, &object); err != nil {
		return nil
	}
	return fits(object, reflect.TypeFor[apiextensionsv1.CustomResourceDefinition](), "")
}

func wrongType(path, want string, got any) []misfit {
	return []misfit{{path: path, message: fmt.Sprintf("must be %s, got: %s", want, kindOfJSON(got))}}
}

func unknownField(path string, name string, known []string) misfit {
	return misfit{path: path, unknown: true, message: "unknown field" + orNearest(name, known)}
}

// choices are the types that are decoded from values of several kinds: all of them, and a text for messages. An entry
// without types takes anything.
var choices = map[reflect.Type]struct {
	types []reflect.Type
	want  string
}{
	reflect.TypeFor[apiextensionsv1.JSON](): {},
	reflect.TypeFor[metav1.FieldsV1]():      {},
	reflect.TypeFor[metav1.Time]():          {[]reflect.Type{reflect.TypeFor[string]()}, "a time"},
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool](): {
		[]reflect.Type{reflect.TypeFor[bool](), reflect.TypeFor[apiextensionsv1.JSONSchemaProps]()}, "a schema, or true or false"},
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray](): {
		[]reflect.Type{reflect.TypeFor[apiextensionsv1.JSONSchemaProps](), reflect.TypeFor[[]apiextensionsv1.JSONSchemaProps]()}, "a schema"},
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray](): {
		[]reflect.Type{reflect.TypeFor[apiextensionsv1.JSONSchemaProps](), reflect.TypeFor[[]string]()}, "a schema, or a list of names"},
}

func fits(v any, t reflect.Type, path string) []misfit {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if v == nil {
		return nil
	}
	if choice, ok := choices[t]; ok {
		for _, option := range choice.types {
			if sameKind(v, option) {
				return fits(v, option, path)
			}
		}
		if choice.types == nil {
			return nil
		}
		return wrongType(path, choice.want, v)
	}
	if !sameKind(v, t) {
		want := manifest.TypeName(t)
		if t.Kind() == reflect.Int64 || t.Kind() == reflect.Int32 {
			want = "a whole number"
		}
		return wrongType(path, want, v)
	}
	var found []misfit
	switch t.Kind() {
	case reflect.Struct:
		object := v.(map[string]any)
		known := map[string]reflect.Type{}
		for _, f := range reflect.VisibleFields(t) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				known[name] = f.Type
			}
		}
		for _, name := range slices.Sorted(maps.Keys(object)) {
			at := strings.TrimPrefix(path+"."+name, ".")
			if known[name] == nil {
				found = append(found, unknownField(at, name, slices.Sorted(maps.Keys(known))))
				continue
			}
			found = append(found, fits(object[name], known[name], at)...)
		}
	case reflect.Map:
		object := v.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(object)) {
			found = append(found, fits(object[key], t.Elem(), fmt.Sprintf("%s[%s]", path, key))...)
		}
	case reflect.Slice:
		list, _ := v.([]any)
		for i, item := range list {
			found = append(found, fits(item, t.Elem(), fmt.Sprintf("%s[%d]", path, i))...)
		}
	}
	return found
}

// sameKind says whether a JSON value can be what a Go type wants, as far as its kind goes.
func sameKind(v any, t reflect.Type) bool {
	switch v := v.(type) {
	case map[string]any:
		return t.Kind() == reflect.Struct || t.Kind() == reflect.Map
	case []any:
		return t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8
	case string:
		return t.Kind() == reflect.String || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
	case bool:
		return t.Kind() == reflect.Bool
	case int64:
		return t.Kind() == reflect.Float64 || t.Kind() == reflect.Int64 || t.Kind() == reflect.Int32 && v == int64(int32(v))
	case float64:
		return t.Kind() == reflect.Float64
	}
	return false
}

func kindOfJSON(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return fmt.Sprintf("the text %q", shorten(v))
	default:
		text, _ := json.Marshal(v)
		return string(text)
	}
}

// shownText is how much of a text a message quotes.
const shownText = 40

func shorten(text string) string {
	if len(text) > shownText {
		return strings.ToValidUTF8(text[:shownText], "") + "..."
	}
	return text
}
