package luakube

import (
	"slices"

	lua "github.com/yuin/gopher-lua"
)

// goFunction is one function of a library. The tables that hold them are the manual: documentation lists what
// stands there.
type goFunction struct {
	name string
	call func(m *vm, l *lua.LState) int
	// extra functions are there but not seen by scripts that iterate over the library, which find what
	// Karmada has.
	extra bool
}

type standardLibrary struct {
	name      string
	functions []goFunction
	values    map[string]lua.LValue
}

var standardLibraries = []standardLibrary{
	{name: "string", functions: stringFunctions},
	{name: "table", functions: tableFunctions},
	{name: "math", functions: mathFunctions, values: mathValues},
	{name: "os", functions: osFunctions},
}

func isLibrary(name string) bool {
	return slices.ContainsFunc(standardLibraries, func(l standardLibrary) bool { return l.name == name })
}

// library is a library as it is for every call. A script gets a table of its own that reads through to it,
// so what it writes there is gone with the call.
type library struct {
	frozen *lua.LTable
	meta   *lua.LTable
	listed []string // what iteration shows, sorted
	// sealed tables cannot be changed, not even by the call.
	sealed bool
}

func (m *vm) addLibrary(name string, functions []goFunction, values map[string]lua.LValue) {
	lib := &library{frozen: m.state.CreateTable(0, len(functions)+len(values))}
	for _, f := range functions {
		lib.frozen.RawSetString(f.name, m.function(f.call))
		if !f.extra {
			lib.listed = append(lib.listed, f.name)
		}
	}
	for k, v := range values {
		lib.frozen.RawSetString(k, v)
		lib.listed = append(lib.listed, k)
	}
	m.register(name, lib)
}

func (m *vm) register(name string, lib *library) {
	slices.Sort(lib.listed)
	lib.meta = m.state.CreateTable(0, 2)
	lib.meta.RawSetString("__index", lib.frozen)
	lib.meta.RawSetString("__newindex", m.mt.plain.RawGetString("__newindex"))
	m.libraries[name] = lib
	m.byMeta[lib.meta] = lib
}

// openLibrary gives the call's own table of a library.
func (m *vm) openLibrary(name string) lua.LValue {
	if t, ok := m.opened[name]; ok {
		return t
	}
	t := m.state.CreateTable(0, 0)
	t.Metatable = m.libraries[name].meta
	m.opened[name] = t
	return t
}

// libraryOf is the library a table reads through to, nil if it is no library.
func (m *vm) libraryOf(t *lua.LTable) *library {
	switch t.Metatable {
	case m.mt.plain, m.mt.object, m.mt.list, m.mt.lazyObject, m.mt.lazyList, m.mt.env:
		return nil
	}
	meta, _ := t.Metatable.(*lua.LTable)
	return m.byMeta[meta]
}

// fillLibrary puts a library's functions into the call's own table, for a script that iterates over it.
func (m *vm) fillLibrary(t *lua.LTable, lib *library) error {
	if m.filledLibs[t] {
		return nil
	}
	m.filledLibs[t] = true
	if err := m.meter.alloc(len(lib.listed) * priceEntry); err != nil {
		return err
	}
	for _, name := range lib.listed {
		if t.RawGetString(name) == lua.LNil {
			t.RawSetString(name, lib.frozen.RawGetString(name))
		}
	}
	return nil
}

// packageTable is the library "package", of which only what a script may look at is left.
func (m *vm) packageTable() lua.LValue {
	if t, ok := m.opened["package"]; ok {
		return t
	}
	t := m.newTable(0, 4)
	for _, name := range []string{"loaded", "loaders", "preload"} {
		t.RawSetString(name, m.newTable(0, 0))
	}
	t.RawSetString("loadlib", m.function(unavailable("package.loadlib")))
	m.opened["package"] = t
	return t
}

// unavailable is a function that says that it is not for rules.
func unavailable(name string) func(m *vm, l *lua.LState) int {
	return func(_ *vm, l *lua.LState) int {
		l.RaiseError("%s is not available in rules", name)
		return 0
	}
}
