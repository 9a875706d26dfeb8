package luakube

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

// maxDepth bounds how deep a table in a result may nest. JSON readers of the API server stop at 10,000; no
// resource comes near either.
const maxDepth = 500

// priceNode is what one value of a result is charged: its box and its place in a map or list.
const priceNode = 64

// priceMap is what an object of a result is charged, whatever is in it: Go makes room for eight fields at once.
const priceMap = 320

// fieldError is an error at a place inside a value.
type fieldError struct {
	path string // from the outside in: .spec.list[0]
	err  error
}

func (e *fieldError) Error() string {
	return strings.TrimPrefix(e.path, ".") + " " + e.err.Error()
}

func (e *fieldError) Unwrap() error { return e.err }

// inField puts a field in front of an error's path. A limit has no place.
func inField(err error, step string) error {
	if e, ok := err.(*fieldError); ok {
		e.path = step + e.path
		return e
	}
	if _, ok := err.(*LimitError); ok {
		return err
	}
	return &fieldError{path: step, err: err}
}

func keyStep(key string) string {
	if key == "" || strings.ContainsAny(key, ".[]/: ") {
		return "[" + strconv.Quote(key) + "]"
	}
	return "." + key
}

func indexStep(i int) string { return "[" + strconv.Itoa(i) + "]" }

// encoder turns what a script returned into Go values. What was not touched comes from the value behind the
// view, so it is exact.
type encoder struct {
	*vm
	// active are the tables being encoded, to find cycles; a table used in two places is fine.
	active map[*lua.LTable]struct{}
	depth  int
}

func (m *vm) encoder() *encoder { return &encoder{vm: m} }

// value encodes v. Original is what was at its place before the script ran; a number equal to it keeps its Go
// type. Want is the Go type it is for, nil if any.
func (e *encoder) value(v lua.LValue, original any, want reflect.Type) (any, error) {
	if err := e.meter.alloc(priceNode); err != nil {
		return nil, err
	}
	if err := e.meter.steps(1); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case *lua.LNilType:
		return nil, nil
	case lua.LBool:
		return bool(v), nil
	case lua.LString:
		if !utf8.ValidString(string(v)) {
			return nil, fmt.Errorf("is the text %q, which is not UTF-8", shorten(string(v)))
		}
		return string(v), nil
	case lua.LNumber:
		return encodeNumber(float64(v), original)
	case *lua.LTable:
		return e.table(v, original, want)
	case *lua.LUserData:
		if i, ok := v.Value.(int64); ok {
			return i, nil
		}
		if v == e.null {
			return nil, nil
		}
	}
	return nil, fmt.Errorf("is a %s, which is no value of a resource", e.typeName(v))
}

func encodeNumber(f float64, original any) (any, error) {
	switch o := original.(type) {
	case int64:
		if float64(o) == f && o >= -maxExact && o <= maxExact {
			return original, nil
		}
	case float64:
		if o == f {
			return original, nil
		}
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("is %v, which JSON cannot say", lua.LNumber(f))
	}
	if i, ok := floatInt(f); ok {
		return i, nil
	}
	return f, nil
}

func (e *encoder) table(t *lua.LTable, original any, want reflect.Type) (any, error) {
	switch lib := e.libraryOf(t); {
	case lib != nil && lib.sealed:
		t = lib.frozen
	case lib != nil:
		return nil, fmt.Errorf("is a library, which is no value of a resource")
	}
	v := e.viewOf(t)
	if v != nil && !v.filled && len(v.kids) == 0 {
		return e.untouched(v, want)
	}
	if _, cycle := e.active[t]; cycle {
		return nil, fmt.Errorf("contains itself")
	}
	if e.depth++; e.depth > maxDepth {
		return nil, fmt.Errorf("nests deeper than %d levels", maxDepth)
	}
	if e.active == nil {
		e.active = make(map[*lua.LTable]struct{}, 8)
	}
	e.active[t] = struct{}{}
	defer func() {
		delete(e.active, t)
		e.depth--
	}()
	if v != nil && !v.filled {
		return e.partly(v, want)
	}
	if err := e.meter.look(); err != nil {
		return nil, err
	}
	n := t.Len()
	key, _ := t.Next(lua.LNumber(n))
	if n == 0 {
		key, _ = t.Next(lua.LNil)
	}
	switch {
	case n > 0 && key == lua.LNil:
		return e.list(t, v, n, want)
	case n > 0:
		return nil, fmt.Errorf("mixes list entries and the key %s", e.show(key))
	case key != lua.LNil:
		return e.object(t, v, key, want)
	case e.emptyIsList(t, original, want):
		return []any{}, nil
	}
	return e.object(t, v, key, want)
}

// emptyIsList says whether an empty table is a list: by the type it is for, else by its mark, else by what was
// in its place before, since who clears a list wants no object there.
func (e *encoder) emptyIsList(t *lua.LTable, original any, want reflect.Type) bool {
	switch {
	case wantsList(want):
		return true
	case wantsObject(want), t.Metatable == e.mt.object:
		return false
	case t.Metatable == e.mt.list:
		return true
	}
	_, was := original.([]any)
	return was
}

func wantsList(t reflect.Type) bool { return t != nil && elem(t).Kind() == reflect.Slice }

func wantsObject(t reflect.Type) bool {
	return t != nil && (elem(t).Kind() == reflect.Struct || elem(t).Kind() == reflect.Map)
}

func elem(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

func (e *encoder) list(t *lua.LTable, v *view, n int, want reflect.Type) (any, error) {
	if wantsList(want) {
		want = elem(want).Elem()
	} else {
		want = nil
	}
	out := make([]any, 0, min(n, 1024))
	for i := range n {
		var original any
		if v != nil && i < len(v.list) {
			original = v.list[i]
		}
		lv := t.RawGetInt(i + 1)
		if lv == lua.LNil {
			return nil, inField(fmt.Errorf("is missing from the list; use kube.null for a null"), indexStep(i))
		}
		x, err := e.value(lv, original, want)
		if err != nil {
			return nil, inField(err, indexStep(i))
		}
		out = append(out, x)
	}
	return out, nil
}

func (e *encoder) object(t *lua.LTable, v *view, key lua.LValue, want reflect.Type) (any, error) {
	if err := e.meter.alloc(priceMap); err != nil {
		return nil, err
	}
	out := map[string]any{}
	var val lua.LValue
	if key != lua.LNil {
		val = t.RawGet(key)
	}
	for ; key != lua.LNil; key, val = t.Next(key) {
		name, ok := key.(lua.LString)
		if !ok {
			return nil, fmt.Errorf("has the key %s, a %s; keys are text, or 1 to n in a list", e.show(key), e.typeName(key))
		}
		if !utf8.ValidString(string(name)) {
			return nil, fmt.Errorf("has the key %s, which is not UTF-8", e.show(key))
		}
		var original any
		if v != nil {
			original = v.object[string(name)]
		}
		x, err := e.value(val, original, fieldType(want, string(name)))
		if err != nil {
			return nil, inField(err, keyStep(string(name)))
		}
		out[string(name)] = x
	}
	if v != nil {
		e.keepNulls(v, out)
	}
	return out, nil
}

// keepNulls puts back the nulls of the value behind a filled view: a script reads them as nil, which it
// cannot tell from missing, so not writing them is no wish to remove them.
func (e *encoder) keepNulls(v *view, out map[string]any) {
	for k, val := range v.object {
		if _, there := out[k]; val == nil && !there {
			out[k] = nil
		}
	}
}

// partly encodes a view that is not filled but some of whose containers were handed out.
func (e *encoder) partly(v *view, want reflect.Type) (any, error) {
	if v.isList {
		if wantsList(want) {
			want = elem(want).Elem()
		} else {
			want = nil
		}
		out := make([]any, len(v.list))
		for i, x := range v.list {
			var err error
			if t := v.kid("", i); t != nil {
				out[i], err = e.value(t, nil, want)
			} else {
				out[i], err = e.copy(x, want)
			}
			if err != nil {
				return nil, inField(err, indexStep(i))
			}
		}
		return out, nil
	}
	if err := e.meter.alloc(priceMap); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(v.object))
	for _, k := range v.kids {
		x, err := e.value(k.table, nil, fieldType(want, k.key))
		if err != nil {
			return nil, inField(err, keyStep(k.key))
		}
		out[k.key] = x
	}
	for k, x := range v.object {
		if _, done := out[k]; done {
			continue
		}
		x, err := e.copy(x, nil)
		if err != nil {
			return nil, inField(err, keyStep(k))
		}
		out[k] = x
	}
	return out, nil
}

// untouched copies the value behind a view. A struct for which its own type is wanted stays one.
func (e *encoder) untouched(v *view, want reflect.Type) (any, error) {
	if v.typed != nil && v.object == nil {
		return e.copy(v.typed, want)
	}
	if v.isList {
		return e.copy(v.list, want)
	}
	return e.copy(v.object, want)
}

// copy copies a Go value deeply.
func (e *encoder) copy(x any, want reflect.Type) (any, error) {
	switch x := x.(type) {
	case nil, string, bool, int64, float64:
		return x, nil
	case int:
		return int64(x), nil
	case int32:
		return int64(x), nil
	case map[string]any:
		if x == nil {
			return nil, nil
		}
		if err := e.meter.alloc(priceMap); err != nil {
			return nil, err
		}
		if err := e.charge(len(x)); err != nil {
			return nil, err
		}
		out := make(map[string]any, len(x))
		for k, v := range x {
			c, err := e.copy(v, nil)
			if err != nil {
				return nil, inField(err, keyStep(k))
			}
			out[k] = c
		}
		return out, nil
	case []any:
		if x == nil {
			return nil, nil
		}
		if err := e.charge(len(x)); err != nil {
			return nil, err
		}
		var inner reflect.Type
		if wantsList(want) {
			inner = elem(want).Elem()
		}
		out := make([]any, len(x))
		for i, v := range x {
			c, err := e.copy(v, inner)
			if err != nil {
				return nil, inField(err, indexStep(i))
			}
			out[i] = c
		}
		return out, nil
	case *runtime.RawExtension:
		return e.decodeRaw(x)
	case *v1alpha1.DependentObjectReference, *v1alpha1.Component, *v1alpha1.ReplicaRequirements:
		if want != nil && elem(want) == reflect.TypeOf(x).Elem() {
			return cloned(x), nil
		}
		return objectForm(x)
	case *v1alpha1.AggregatedStatusItem:
		form, err := objectForm(x)
		if err != nil {
			return nil, err
		}
		return e.copy(form, nil)
	}
	return nil, fmt.Errorf("is a %T, which is no value of a resource", x)
}

// cloned is a deep copy of a struct, or the struct itself if all of it is copied when it is assigned.
func cloned(x any) any {
	switch x := x.(type) {
	case *v1alpha1.DependentObjectReference:
		if x.LabelSelector != nil {
			return x.DeepCopy()
		}
	case *v1alpha1.Component:
		return x.DeepCopy()
	case *v1alpha1.ReplicaRequirements:
		return x.DeepCopy()
	}
	return x
}

func (e *encoder) charge(n int) error {
	if err := e.meter.steps(n); err != nil {
		return err
	}
	return e.meter.alloc(n * priceNode)
}
