package luakube

import (
	"errors"
	"fmt"
	"math"
	"slices"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

// A view is a table that stands for a Go value behind it. It is empty, and asks for single fields through
// its metatable, until a script writes to it, iterates or measures it. Then it is filled, once, and from
// there on is a plain table but for its mark: the metatable that tells an object from a list.
type view struct {
	table *lua.LTable
	// typed is a struct whose JSON form the object is; it is converted when first touched.
	typed  any
	object map[string]any
	list   []any
	isList bool
	filled bool
	kids   []kid
}

// kid is a table that was handed out for a container inside a view that is not filled. The same field
// always gives the same table.
type kid struct {
	key   string // in an object
	index int    // in a list, from 0
	table *lua.LTable
}

// maxKids is how many containers of one view are looked up one by one; a view asked for more is filled.
const maxKids = 16

func (v *view) kid(key string, index int) *lua.LTable {
	for i := range v.kids {
		if v.kids[i].index == index && v.kids[i].key == key {
			return v.kids[i].table
		}
	}
	return nil
}

// load makes the view's Go value present in its JSON form.
func (m *vm) load(v *view) error {
	if v.typed == nil || v.object != nil {
		return nil
	}
	var err error
	v.object, err = objectForm(v.typed)
	if err != nil {
		return err
	}
	return m.meter.alloc(len(v.object) * priceEntry)
}

// objectForm is the JSON form of a struct. The status of an item stays raw until it is touched.
func objectForm(typed any) (map[string]any, error) {
	item, ok := typed.(*v1alpha1.AggregatedStatusItem)
	if !ok {
		return runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	}
	object := make(map[string]any, 5)
	object["clusterName"] = item.ClusterName
	if item.Status != nil && len(item.Status.Raw) > 0 && string(item.Status.Raw) != "null" {
		object["status"] = item.Status
	}
	if item.Applied {
		object["applied"] = true
	}
	if item.AppliedMessage != "" {
		object["appliedMessage"] = item.AppliedMessage
	}
	if item.Health != "" {
		object["health"] = string(item.Health)
	}
	return object, nil
}

// decodeRaw parses JSON text, keeping integers exact.
func (m *vm) decodeRaw(raw *runtime.RawExtension) (any, error) {
	// A tree takes a few times the memory of its text.
	if err := m.meter.alloc(4 * len(raw.Raw)); err != nil {
		return nil, err
	}
	if err := m.meter.steps(len(raw.Raw) / bytesPerStep); err != nil {
		return nil, err
	}
	var v any
	if err := json.Unmarshal(raw.Raw, &v); err != nil {
		return nil, fmt.Errorf("the status is not JSON: %w", err)
	}
	return v, nil
}

// toLua converts a Go value. Containers become views; nil becomes nil, which in a list would shift what
// follows, so null is told by the caller.
func (m *vm) toLua(v any) (lua.LValue, error) {
	switch v := v.(type) {
	case nil:
		return lua.LNil, nil
	case string:
		return lua.LString(v), nil
	case bool:
		return lua.LBool(v), nil
	case int64:
		return m.integer(v), nil
	case float64:
		return lua.LNumber(v), nil
	case int:
		return m.integer(int64(v)), nil
	case int32:
		return m.integer(int64(v)), nil
	case map[string]any:
		return m.newView(view{object: v}), nil
	case []any:
		return m.newView(view{list: v, isList: true}), nil
	case *runtime.RawExtension:
		if v == nil {
			return lua.LNil, nil
		}
		decoded, err := m.decodeRaw(v)
		if err != nil {
			return nil, err
		}
		return m.toLua(decoded)
	case []v1alpha1.AggregatedStatusItem:
		return m.newView(view{list: pointers(v), isList: true}), nil
	case []v1alpha1.DependentObjectReference:
		return m.newView(view{list: pointers(v), isList: true}), nil
	case []v1alpha1.Component:
		return m.newView(view{list: pointers(v), isList: true}), nil
	case *v1alpha1.AggregatedStatusItem, *v1alpha1.DependentObjectReference, *v1alpha1.Component:
		return m.newView(view{typed: v}), nil
	case *v1alpha1.ReplicaRequirements:
		if v == nil {
			return lua.LNil, nil
		}
		return m.newView(view{typed: v}), nil
	}
	return nil, fmt.Errorf("a %T cannot cross into a script", v)
}

func pointers[T any](list []T) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

func (m *vm) newView(made view) *lua.LTable {
	v := m.spareView()
	made.kids = v.kids
	*v = made
	v.table = m.state.CreateTable(0, 0)
	if v.isList {
		v.table.Metatable = m.mt.lazyList
	} else {
		v.table.Metatable = m.mt.lazyObject
	}
	m.views[v.table] = v
	return v.table
}

// spareView is a view that an earlier call is done with, or a new one.
func (m *vm) spareView() *view {
	n := len(m.spare)
	if n == 0 {
		return new(view)
	}
	v := m.spare[n-1]
	m.spare = m.spare[:n-1]
	return v
}

// maxSpare is how many views a state keeps for the next call.
const maxSpare = 256

// dropViews forgets the views of a call, and what they refer to.
func (m *vm) dropViews() {
	for _, v := range m.views {
		if len(m.spare) == maxSpare {
			break
		}
		clear(v.kids)
		*v = view{kids: v.kids[:0]}
		m.spare = append(m.spare, v)
	}
	clear(m.views)
}

// viewOf is the view behind a table, nil if there is none.
func (m *vm) viewOf(t *lua.LTable) *view {
	switch t.Metatable {
	case m.mt.lazyObject, m.mt.lazyList, m.mt.object, m.mt.list:
		return m.views[t]
	}
	return nil
}

// field converts one field of a view that is not filled.
func (m *vm) field(v *view, key lua.LValue) (lua.LValue, error) {
	if v.isList {
		n, ok := key.(lua.LNumber)
		i := int(n) - 1
		if !ok || lua.LNumber(i+1) != n || i < 0 || i >= len(v.list) {
			return lua.LNil, nil
		}
		return m.child(v, "", i, v.list[i])
	}
	name, ok := key.(lua.LString)
	if !ok {
		return lua.LNil, nil
	}
	if err := m.load(v); err != nil {
		return nil, err
	}
	return m.child(v, string(name), 0, v.object[string(name)])
}

func (m *vm) child(v *view, key string, index int, value any) (lua.LValue, error) {
	if !container(value) {
		if value == nil && v.isList {
			return m.null, nil
		}
		return m.toLua(value)
	}
	if t := v.kid(key, index); t != nil {
		return t, nil
	}
	if err := m.meter.alloc(priceTable); err != nil {
		return nil, err
	}
	converted, err := m.toLua(value)
	if err != nil {
		return nil, err
	}
	t, ok := converted.(*lua.LTable)
	if !ok {
		return converted, nil
	}
	if v.kids = append(v.kids, kid{key, index, t}); len(v.kids) > maxKids {
		if err := m.fill(v); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// container says whether a value becomes a table.
func container(v any) bool {
	switch v.(type) {
	case nil, string, bool, int64, float64, int, int32:
		return false
	}
	return true
}

// fill puts every field into a view's table, objects in the order of their sorted keys.
func (m *vm) fill(v *view) error {
	if v.filled {
		return nil
	}
	if err := m.load(v); err != nil {
		return err
	}
	n := len(v.list) + len(v.object)
	if err := m.meter.alloc(n * priceEntry); err != nil {
		return err
	}
	if err := m.meter.steps(n); err != nil {
		return err
	}
	kids := v.kids
	var byPlace map[kid]*lua.LTable
	if len(kids) > maxKids {
		byPlace = make(map[kid]*lua.LTable, len(kids))
		for _, k := range kids {
			byPlace[kid{key: k.key, index: k.index}] = k.table
		}
	}
	value := func(key string, index int, value any) (lua.LValue, error) {
		if container(value) {
			if t := byPlace[kid{key: key, index: index}]; t != nil {
				return t, nil
			}
			if byPlace == nil {
				if t := v.kid(key, index); t != nil {
					return t, nil
				}
			}
			if err := m.meter.alloc(priceTable); err != nil {
				return nil, err
			}
		}
		return m.toLua(value)
	}
	var filled *lua.LTable
	if v.isList {
		filled = m.state.CreateTable(n, 0)
		filled.Metatable = m.mt.list
		for i, e := range v.list {
			lv, err := value("", i, e)
			if err != nil {
				return err
			}
			if lv == lua.LNil {
				lv = m.null
			}
			filled.RawSetInt(i+1, lv)
		}
	} else {
		filled = m.state.CreateTable(0, n)
		filled.Metatable = m.mt.object
		for _, k := range sortedKeys(v.object) {
			lv, err := value(k, 0, v.object[k])
			if err != nil {
				return err
			}
			if lv != lua.LNil {
				filled.RawSetString(k, lv)
			}
		}
	}
	*v.table = *filled
	v.filled = true
	clear(v.kids)
	v.kids = v.kids[:0]
	return nil
}

// fillTable fills a table that has more than it shows: a view that is not filled, or a library.
func (m *vm) fillTable(t *lua.LTable) error {
	switch t.Metatable {
	case m.mt.lazyObject, m.mt.lazyList:
		return m.fill(m.views[t])
	}
	switch lib := m.libraryOf(t); {
	case lib == nil:
		return nil
	case lib.sealed:
		return errors.New("a table that belongs to a module cannot be handed on; copy it")
	default:
		return m.fillLibrary(t, lib)
	}
}

func sortedKeys[V any](object map[string]V) []string {
	keys := make([]string, 0, len(object))
	for k := range object {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// maxExact is the largest integer up to which all integers are Lua numbers.
const maxExact = 1 << 53

// integer is an integer as a script sees it: a number where numbers are exact, else a value that acts like
// one and keeps every digit.
func (m *vm) integer(i int64) lua.LValue {
	if i >= -maxExact && i <= maxExact {
		return lua.LNumber(i)
	}
	// One value for each integer, so that it may be the key of a table.
	u := m.integers[i]
	if u == nil {
		if m.integers == nil {
			m.integers = map[int64]*lua.LUserData{}
		}
		_ = m.meter.alloc(priceEntry) // the next instruction reports it
		u = &lua.LUserData{Value: i, Metatable: m.mt.integer}
		m.integers[i] = u
	}
	return u
}

// exactInt is the value of an integer beyond 2^53.
func exactInt(v lua.LValue) (int64, bool) {
	u, ok := v.(*lua.LUserData)
	if !ok {
		return 0, false
	}
	i, ok := u.Value.(int64)
	return i, ok
}

// wholeInt is the value of a number or exact integer without a fraction that fits into 64 bits.
func wholeInt(v lua.LValue) (int64, bool) {
	if i, ok := exactInt(v); ok {
		return i, true
	}
	n, ok := v.(lua.LNumber)
	if !ok {
		return 0, false
	}
	return floatInt(float64(n))
}

func floatInt(f float64) (int64, bool) {
	if f != math.Trunc(f) || f < math.MinInt64 || f >= math.MaxInt64 {
		return 0, false
	}
	return int64(f), true
}

// typeName is the type of a value as scripts and messages call it.
func (m *vm) typeName(v lua.LValue) string {
	if _, ok := exactInt(v); ok {
		return "number"
	}
	if v == m.null {
		return "null"
	}
	return v.Type().String()
}
