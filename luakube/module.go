package luakube

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	lua "github.com/yuin/gopher-lua"
	luar "layeh.com/gopher-luar"

	"github.com/kubeinterpret/interpret/interpreter"
)

// loading marks a module whose chunk is running.
var loading = &lua.LUserData{Value: "loading", Metatable: lua.LNil}

// baseRequire gives kube, the standard libraries, and what the embedding program registers.
func baseRequire(m *vm, l *lua.LState) int {
	name := m.str(1)
	if v, ok := m.opened[name]; ok && name != "package" {
		if v == loading {
			l.RaiseError("module %q requires itself", name)
		}
		l.Push(v)
		return 1
	}
	switch {
	case m.libraries[name] != nil:
		l.Push(m.openLibrary(name))
		return 1
	case m.engine.values[name] != nil:
		m.opened[name] = m.goModule(name, m.engine.values[name])
	case m.engine.scripts[name] != nil:
		m.opened[name] = m.loadModule(name)
	default:
		l.RaiseError("%s", m.noModule(name))
	}
	l.Push(m.opened[name])
	return 1
}

// loadModule gives a script module's value. While it is being made it is marked, so that a circle is found.
func (m *vm) loadModule(name string) (v lua.LValue) {
	opened := m.opened
	opened[name] = loading
	defer func() {
		if v == nil {
			delete(opened, name)
		}
	}()
	return m.scriptModule(m.engine.scripts[name])
}

func (m *vm) noModule(name string) string {
	have := append(sortedKeys(m.libraries), sortedKeys(m.engine.values)...)
	have = append(have, sortedKeys(m.engine.scripts)...)
	message := fmt.Sprintf("there is no module %q", shorten(name))
	if near := interpreter.Nearest(name, have); near != "" {
		message += fmt.Sprintf(", did you mean %q?", near)
	}
	return fmt.Sprintf("%s (have %q)", message, have)
}

// goModule wraps a Go value. A map of functions becomes a library like the standard ones, and is made once
// for the state; what it holds is shared by all scripts.
func (m *vm) goModule(name string, value any) lua.LValue {
	if v := reflect.ValueOf(value); v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String {
		lib := &library{frozen: m.state.CreateTable(0, v.Len())}
		for it := v.MapRange(); it.Next(); {
			lib.frozen.RawSetString(it.Key().String(), m.wrapValue(it.Value().Interface()))
			lib.listed = append(lib.listed, it.Key().String())
		}
		m.register(name, lib)
		return m.openLibrary(name)
	}
	return m.wrapValue(value)
}

func (m *vm) wrapValue(value any) lua.LValue {
	v := luar.New(m.state, value)
	if fn, ok := v.(*lua.LFunction); ok {
		return m.wrapFunction(fn, reflect.TypeOf(value))
	}
	return m.wrap(v)
}

// wrap makes what gopher-luar made of a Go value fit for scripts: its functions are given whole objects, and it
// cannot be changed, since all scripts share it.
func (m *vm) wrap(v lua.LValue) lua.LValue {
	switch v := v.(type) {
	case *lua.LFunction:
		return m.wrapFunction(v, nil)
	case *lua.LUserData:
		meta, ok := v.Metatable.(*lua.LTable)
		if !ok || v == m.null || meta == m.mt.integer || m.wrapped[meta] {
			return v
		}
		m.wrapped[meta] = true
		t := reflect.TypeOf(v.Value)
		if _, ok := v.Value.(fmt.Stringer); !ok {
			// Otherwise it would show its address, which is another in every run.
			meta.RawSetString("__tostring", m.function(func(m *vm, l *lua.LState) int {
				l.Push(lua.LString("userdata"))
				return 1
			}))
		}
		if index, ok := meta.RawGetString("__index").(*lua.LFunction); ok {
			meta.RawSetString("__index", m.function(func(m *vm, l *lua.LState) int { return m.member(l, index, t) }))
		}
		// Iterating and following a pointer give more values to wrap; a channel would block.
		for _, name := range []string{"__call", "__unm"} {
			if op, ok := meta.RawGetString(name).(*lua.LFunction); ok && t.Kind() != reflect.Chan {
				meta.RawSetString(name, m.wrapFunction(op, nil))
			} else {
				meta.RawSetString(name, lua.LNil)
			}
		}
		for _, name := range []string{"__newindex", "__add", "__pow"} {
			meta.RawSetString(name, m.function(unchangeable))
		}
	}
	return v
}

// member is a field or method of a Go value.
func (m *vm) member(l *lua.LState, index *lua.LFunction, t reflect.Type) int {
	key := l.Get(2)
	l.Insert(index, 1)
	l.Call(l.GetTop()-1, 1)
	v := l.Get(-1)
	if fn, ok := v.(*lua.LFunction); ok {
		if name, ok := key.(lua.LString); ok && name != "" {
			method, found := t.MethodByName(string(name))
			if !found {
				method, found = t.MethodByName(strings.ToUpper(string(name[:1])) + string(name[1:]))
			}
			if found {
				l.Push(m.wrapFunction(fn, method.Type))
				return 1
			}
		}
	}
	l.Push(m.wrap(v))
	return 1
}

// wrapFunction calls a function that gopher-luar made. T is its Go type, receiver first if it is a method; nil
// if that is not known.
func (m *vm) wrapFunction(fn *lua.LFunction, t reflect.Type) *lua.LFunction {
	return m.function(func(m *vm, l *lua.LState) int {
		n := l.GetTop()
		for i := 1; i <= n; i++ {
			l.Replace(i, m.forGo(l.Get(i), parameter(t, i-1)))
		}
		l.Insert(fn, 1)
		l.Call(n, lua.MultRet)
		for i := 1; i <= l.GetTop(); i++ {
			if s, ok := l.Get(i).(lua.LString); ok {
				m.chargeText(len(s))
			}
			if u, ok := l.Get(i).(*lua.LUserData); ok {
				if err, ok := u.Value.(error); ok {
					l.Replace(i, m.text(err.Error()))
					continue
				}
			}
			l.Replace(i, m.wrap(l.Get(i)))
		}
		return l.GetTop()
	})
}

// parameter is the type of a function's parameter, nil if it is not known.
func parameter(t reflect.Type, i int) reflect.Type {
	switch {
	case t == nil:
		return nil
	case t.IsVariadic() && i >= t.NumIn()-1:
		return t.In(t.NumIn() - 1).Elem()
	case i < t.NumIn():
		return t.In(i)
	}
	return nil
}

// forGo is an argument as gopher-luar can take it. Where Go takes any JSON value, a table arrives as one.
func (m *vm) forGo(v lua.LValue, want reflect.Type) lua.LValue {
	switch v := v.(type) {
	case *lua.LTable:
		if !takesJSON(want) {
			m.must(m.fillDeep(v, 0))
			return v
		}
		x, err := m.encoder().value(v, nil, want)
		m.must(err)
		if x == nil {
			return lua.LNil
		}
		return &lua.LUserData{Value: x, Metatable: lua.LNil}
	case *lua.LFunction:
		// gopher-luar would call it where nobody counts.
		return m.function(func(m *vm, l *lua.LState) int {
			s, n := m.state, l.GetTop()
			s.Push(v)
			for i := 1; i <= n; i++ {
				s.Push(l.Get(i))
			}
			before := s.GetTop() - n - 1
			s.Call(n, lua.MultRet)
			results := s.GetTop() - before
			for i := 1; i <= results; i++ {
				l.Push(s.Get(before + i))
			}
			s.SetTop(before)
			return results
		})
	}
	if v == m.null {
		return lua.LNil
	}
	return v
}

// takesJSON says whether JSON values can stand for values of a type.
func takesJSON(t reflect.Type) bool {
	switch {
	case t == nil:
		return false
	case t.Kind() == reflect.Map:
		return t.Key().Kind() == reflect.String && takesJSON(t.Elem())
	case t.Kind() == reflect.Slice:
		return takesJSON(t.Elem())
	}
	return t.Kind() == reflect.Interface && t.NumMethod() == 0
}

// fillDeep fills a table and all tables in it.
func (m *vm) fillDeep(t *lua.LTable, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("a table for a module nests deeper than %d levels, or contains itself", maxDepth)
	}
	if err := m.fillTable(t); err != nil {
		return err
	}
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		if err := m.meter.steps(1); err != nil {
			return err
		}
		switch v := v.(type) {
		case *lua.LTable:
			if err := m.fillDeep(v, depth+1); err != nil {
				return err
			}
		case *lua.LFunction:
			return errors.New("a table for a module holds a function")
		case *lua.LUserData:
			if v == m.null {
				return errors.New("a table for a module holds a null, which its Go type does not take")
			}
		}
	}
	return nil
}
