package luakube

import (
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// loadedModule is a script module that a state keeps from one call to the next.
type loadedModule struct {
	value lua.LValue
	// What loading it used. Every call that requires it is charged as if it had loaded it, so that what a call
	// uses does not depend on the calls before.
	instructions, memory int
}

// scriptModule gives a script module's value. A module that keeps nothing between the calls of its functions
// is loaded once a state and frozen; one that does is loaded afresh for every call.
func (m *vm) scriptModule(mod *module) lua.LValue {
	if loaded, ok := m.modules[mod]; ok {
		m.must(m.meter.alloc(loaded.memory))
		m.must(m.meter.steps(loaded.instructions))
		return loaded.value
	}
	if mod.stateful {
		return m.runModule(mod)
	}
	instructions, memory := m.meter.instructions, m.meter.memory
	// What the calling script did to its libraries is no concern of a module that others will use.
	v := m.runApart(mod)
	loaded := &loadedModule{value: v, instructions: int(m.meter.instructions - instructions), memory: int(m.meter.memory - memory)}
	m.freeze(v)
	m.modules[mod] = loaded
	return v
}

// runApart runs a module with libraries of its own.
func (m *vm) runApart(mod *module) lua.LValue {
	opened := m.opened
	defer func() { m.opened = opened }()
	m.opened = map[string]lua.LValue{}
	for name, v := range opened {
		if v == loading {
			m.opened[name] = v
		}
	}
	return m.runModule(mod)
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

// freeze makes everything that can be reached from a value unchangeable: tables, and what functions have
// captured. A frozen table is empty and reads through to its content, like a library.
func (m *vm) freeze(v lua.LValue) {
	switch v := v.(type) {
	case *lua.LTable:
		lib := m.libraryOf(v)
		if lib != nil && lib.sealed {
			return
		}
		if lib == nil {
			content := *v
			lib = &library{frozen: &content}
		}
		m.seal(v, lib)
		for key, value := lib.frozen.Next(lua.LNil); key != lua.LNil; key, value = lib.frozen.Next(key) {
			m.freeze(value)
		}
	case *lua.LFunction:
		if v.IsG || m.frozen[v] {
			return
		}
		m.frozen[v] = true
		m.freeze(v.Env)
		for _, up := range v.Upvalues {
			m.freeze(up.Value())
		}
	}
}

// seal makes a table a window on a library's content through which nothing can be changed.
func (m *vm) seal(t *lua.LTable, of *library) {
	sealed := &library{frozen: of.frozen, meta: m.state.CreateTable(0, 3), sealed: true}
	sealed.meta.RawSetString("__index", of.frozen)
	sealed.meta.RawSetString("__newindex", m.function(unchangeable))
	sealed.meta.RawSetString("__len", m.function(func(m *vm, l *lua.LState) int {
		l.Push(lua.LNumber(m.length(of.frozen)))
		return 1
	}))
	m.byMeta[sealed.meta] = sealed
	*t = *m.state.CreateTable(0, 0)
	t.Metatable = sealed.meta
}

func unchangeable(_ *vm, l *lua.LState) int {
	l.RaiseError("a module's values cannot be changed")
	return 0
}

// keepsState says whether functions of a module's chunk assign to what outlives their calls: locals of the
// chunk, or globals.
func keepsState(chunk []ast.Stmt) bool {
	outlives := false
	w := &scopeWalker{assigned: func(name string, s *scope) {
		if s.function > 0 && s.home(name) < 1 {
			outlives = true
		}
	}}
	w.block(chunk, nil)
	return outlives
}
