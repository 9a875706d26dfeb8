package luakube

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeinterpret/interpret/interpreter/podtemplate"
)

// fields caches the JSON fields of struct types. Types are few: those that results are made of.
var fields sync.Map // reflect.Type to map[string]field

type field struct {
	index []int
	typ   reflect.Type
}

func fieldsOf(t reflect.Type) map[string]field {
	if f, ok := fields.Load(t); ok {
		return f.(map[string]field)
	}
	found := map[string]field{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" && f.IsExported() {
			found[name] = field{f.Index, f.Type}
		}
	}
	fields.Store(t, found)
	return found
}

// fieldType is the type of what stands under a key in a value for type t; nil if any.
func fieldType(t reflect.Type, key string) reflect.Type {
	if t == nil {
		return nil
	}
	switch t = elem(t); t.Kind() {
	case reflect.Map:
		return t.Elem()
	case reflect.Struct:
		return fieldsOf(t)[key].typ
	}
	return nil
}

// Unmarshaler is a destination that reads a script's value itself.
type Unmarshaler interface {
	// UnmarshalValue is given nil, or the value as JSON values.
	UnmarshalValue(v any) error
}

var quantityType = reflect.TypeFor[resource.Quantity]()

// assign stores a JSON value, or a struct of the very type, in dst. Unknown fields are left out.
func assign(dst reflect.Value, v any) error {
	t := dst.Type()
	if v == nil {
		dst.SetZero()
		return nil
	}
	if src := reflect.ValueOf(v); src.Kind() == reflect.Pointer && (src.Type() == t || src.Type().Elem() == t) {
		if src.Type() != t {
			src = src.Elem()
		}
		dst.Set(src)
		return nil
	}
	switch {
	case t == quantityType:
		q, err := podtemplate.Quantity(v)
		if err != nil {
			return err
		}
		dst.Set(reflect.ValueOf(q))
		return nil
	case t.Kind() == reflect.Pointer:
		p := reflect.New(t.Elem())
		if err := assign(p.Elem(), v); err != nil {
			return err
		}
		dst.Set(p)
		return nil
	case t.Kind() == reflect.Struct && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		return json.Unmarshal(text, dst.Addr().Interface())
	}
	switch t.Kind() {
	case reflect.Interface:
		dst.Set(reflect.ValueOf(v))
		return nil
	case reflect.String:
		if s, ok := v.(string); ok {
			dst.SetString(s)
			return nil
		}
		return mustBe("text", v)
	case reflect.Bool:
		if b, ok := v.(bool); ok {
			dst.SetBool(b)
			return nil
		}
		return mustBe("a boolean", v)
	case reflect.Int32, reflect.Int64, reflect.Int:
		n, err := toInt(v, t.Bits())
		if err != nil {
			return err
		}
		dst.SetInt(n)
		return nil
	case reflect.Map:
		return assignMap(dst, v)
	case reflect.Slice:
		return assignSlice(dst, v)
	case reflect.Struct:
		return assignStruct(dst, v)
	}
	return fmt.Errorf("has the Go type %s, which scripts cannot give", t)
}

func assignMap(dst reflect.Value, v any) error {
	object, err := toObject(v)
	if err != nil {
		return err
	}
	t := dst.Type()
	m := reflect.MakeMapWithSize(t, len(object))
	for _, k := range sortedKeys(object) {
		e := reflect.New(t.Elem()).Elem()
		if err := assign(e, object[k]); err != nil {
			return inField(err, keyStep(k))
		}
		m.SetMapIndex(reflect.ValueOf(k).Convert(t.Key()), e)
	}
	dst.Set(m)
	return nil
}

// toObject is a value as an object. What is empty is what its destination makes it.
func toObject(v any) (map[string]any, error) {
	object, ok := v.(map[string]any)
	if list, is := v.([]any); !ok && (!is || len(list) > 0) {
		return nil, mustBe("a table with keys", v)
	}
	return object, nil
}

func assignSlice(dst reflect.Value, v any) error {
	list, ok := v.([]any)
	if object, is := v.(map[string]any); !ok && (!is || len(object) > 0) {
		return mustBe("a list", v)
	}
	s := reflect.MakeSlice(dst.Type(), len(list), len(list))
	for i, x := range list {
		if err := assign(s.Index(i), x); err != nil {
			return inField(err, indexStep(i))
		}
	}
	dst.Set(s)
	return nil
}

func assignStruct(dst reflect.Value, v any) error {
	object, err := toObject(v)
	if err != nil {
		return err
	}
	known := fieldsOf(dst.Type())
	for _, k := range sortedKeys(object) {
		f, ok := known[k]
		if !ok {
			continue
		}
		if err := assign(dst.FieldByIndex(f.index), object[k]); err != nil {
			return inField(err, keyStep(k))
		}
	}
	return nil
}

// jsonType is what a JSON value is called in messages.
func jsonType(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case string:
		return fmt.Sprintf("the text %q", shorten(v))
	case bool:
		return "a boolean"
	case int64, float64:
		return fmt.Sprintf("the number %v", v)
	case []any:
		return "a list"
	}
	return "a table with keys"
}

// shownText is how much of a text a message quotes.
const shownText = 40

func shorten(s string) string {
	if len(s) > shownText {
		return s[:shownText] + "..."
	}
	return s
}

func mustBe(what string, v any) error {
	return fmt.Errorf("must be %s, got %s", what, jsonType(v))
}

// toInt reads a whole number that fits into so many bits.
func toInt(v any, bits int) (int64, error) {
	var n int64
	switch v := v.(type) {
	case int64:
		n = v
	case float64:
		i, ok := floatInt(v)
		if !ok {
			if v != math.Trunc(v) {
				return 0, fmt.Errorf("must be a whole number, got %v", v)
			}
			return 0, outOfRange(strconv.FormatFloat(v, 'f', -1, 64), bits)
		}
		n = i
	default:
		return 0, mustBe("a number", v)
	}
	if low, high := int64(-1)<<(bits-1), int64(1)<<(bits-1)-1; n < low || n > high {
		return 0, outOfRange(strconv.FormatInt(n, 10), bits)
	}
	return n, nil
}

func outOfRange(n string, bits int) error {
	return fmt.Errorf("must fit into %d bits, got %s", bits, n)
}
