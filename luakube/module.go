package luakube

import (
	"fmt"
	"reflect"

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
		m.opened[name] = loading
		m.opened[name] = m.runModule(m.engine.scripts[name])
	default:
		l.RaiseError("%s", m.noModule(name))
	}
	l.Push(m.opened[name])
	return 1
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

// runModule runs a Lua module's chunk in globals of its own and gives the value it returns.
func (m *vm) runModule(mod *module) lua.LValue {
	chunk := m.state.NewFunctionFromProto(mod.proto)
	chunk.Env = m.newEnv()
	m.state.Push(chunk)
	m.state.Call(0, 1)
	v := m.state.Get(-1)
	m.state.Pop(1)
	if v == lua.LNil {
		return lua.LTrue
	}
	return v
}

// goModule wraps a Go value. A map of functions becomes a library like the standard ones, and is made once
// for the state; what it holds is shared by all scripts.
func (m *vm) goModule(name string, value any) lua.LValue {
	if v := reflect.ValueOf(value); v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String {
		lib := &library{frozen: m.state.CreateTable(0, v.Len())}
		for it := v.MapRange(); it.Next(); {
			lib.frozen.RawSetString(it.Key().String(), m.wrap(luar.New(m.state, it.Value().Interface())))
			lib.listed = append(lib.listed, it.Key().String())
		}
		m.register(name, lib)
		return m.openLibrary(name)
	}
	return m.wrap(luar.New(m.state, value))
}

// wrap makes a Go value's functions see whole objects: gopher-luar reads a table's content directly, where a
// view has none before it is filled.
func (m *vm) wrap(v lua.LValue) lua.LValue {
	switch v := v.(type) {
	case *lua.LFunction:
		return m.function(func(m *vm, l *lua.LState) int {
			n := l.GetTop()
			for i := 1; i <= n; i++ {
				if t, ok := l.Get(i).(*lua.LTable); ok {
					m.must(m.fillDeep(t, 0))
				}
			}
			l.Insert(v, 1)
			l.Call(n, lua.MultRet)
			return l.GetTop()
		})
	case *lua.LUserData:
		meta, ok := v.Metatable.(*lua.LTable)
		if !ok || m.wrapped[meta] {
			return v
		}
		m.wrapped[meta] = true
		if index, ok := meta.RawGetString("__index").(*lua.LFunction); ok {
			meta.RawSetString("__index", m.function(func(m *vm, l *lua.LState) int {
				l.Insert(index, 1)
				l.Call(l.GetTop()-1, 1)
				l.Push(m.wrap(l.Get(-1)))
				return 1
			}))
		}
	}
	return v
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
		if inner, ok := v.(*lua.LTable); ok {
			if err := m.fillDeep(inner, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
