package luakube

import (
	"context"
	"fmt"
	"math/rand"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
)

const (
	// callDepth bounds nested calls: more than any object nests, and little enough for the Go stack.
	callDepth = 1000
	// stackSlots bounds the values on the machine's stack: room to unpack tens of thousands.
	stackSlots = 1 << 17
	// firstSlots is what a new state starts with; rules use a few hundred.
	firstSlots = 1024
	// slotsStep is by how many the stack grows at a time.
	slotsStep = 8192
	// firstGlobals is how many globals a script's table has room for at first: the function and few others.
	firstGlobals = 4
	// keptViews is how many views a state may have made and still be kept; a larger map holds on to memory.
	keptViews = 4096
)

// vm is a Lua state with what belongs to the call it runs.
type vm struct {
	engine *Engine
	main   *lua.LState
	// state is the thread that runs: main, or that of a protected call.
	state *lua.LState
	meter meter
	// threads are for protected calls, by depth; protecting are the states that wait for one to end.
	threads, protecting []*lua.LState

	base *lua.LTable // the globals every script starts with; scripts read through to it, never touch it
	mt   struct {
		lazyObject, lazyList, object, list, plain, env, integer, null *lua.LTable
	}
	null           *lua.LUserData
	engineToNumber *lua.LFunction
	nextPair       *lua.LFunction
	nextItem       *lua.LFunction
	libraries      map[string]*library
	byMeta         map[*lua.LTable]*library
	wrapped        map[*lua.LTable]bool // metatables of Go values whose functions are wrapped
	modules        map[*module]*loadedModule
	frozen         map[*lua.LFunction]bool // functions of modules whose captured values are frozen

	// What follows belongs to one call.
	script       *Script
	call         *Call
	ctx          context.Context
	env          *lua.LTable
	views        map[*lua.LTable]*view
	spare        []*view               // for the next calls
	opened       map[string]lua.LValue // libraries and modules in use
	filledLibs   map[*lua.LTable]bool
	names        map[any]int // what tostring called a table or function
	integers     map[int64]*lua.LUserData
	random       *rand.Rand
	began        time.Time
	nextErr      error
	nextErrValue lua.LValue
	broken       bool // the state must not be used again
}

func newVM(e *Engine) *vm {
	m := &vm{engine: e, views: map[*lua.LTable]*view{}}
	m.main = lua.NewState(lua.Options{
		SkipOpenLibs:        true,
		CallStackSize:       callDepth,
		MinimizeStackMemory: true,
		RegistrySize:        firstSlots,
		RegistryGrowStep:    slotsStep,
		RegistryMaxSize:     stackSlots,
	})
	m.state = m.main
	m.meter.reset(context.Background(), e.limits)
	m.main.SetContext(&m.meter)
	m.open()
	return m
}

// begin makes the state ready for a call: fresh globals, and a meter at zero.
func (m *vm) begin(ctx context.Context, s *Script, c *Call) {
	m.ctx, m.script, m.call = ctx, s, c
	m.meter.reset(ctx, m.engine.limits)
	m.env = m.newEnv()
}

// newEnv makes globals for one chunk.
func (m *vm) newEnv() *lua.LTable {
	env := m.state.CreateTable(0, firstGlobals)
	env.Metatable = m.mt.env
	return env
}

// reset forgets the call, and says whether the state may be used again.
func (m *vm) reset() bool {
	if m.broken || m.meter.stopped != nil || len(m.views) > keptViews {
		return false
	}
	m.state.SetTop(0)
	m.ctx, m.script, m.call, m.env = nil, nil, nil, nil
	m.meter.parent = context.Background()
	m.dropViews()
	clear(m.opened)
	clear(m.filledLibs)
	clear(m.names)
	clear(m.integers)
	m.random, m.began, m.nextErr, m.nextErrValue = nil, time.Time{}, nil, nil
	return true
}

// stop marks the state as unusable and passes the error on.
func (m *vm) stop(err error) error {
	m.broken = true
	return err
}

// raise raises a Go error in the script, where it may be caught unless a limit is behind it.
func (m *vm) raise(err error) {
	m.state.RaiseError("%s", err.Error())
}

// must raises an error, if there is one.
func (m *vm) must(err error) {
	if err != nil {
		m.raise(err)
	}
}

// set stores a field of a table that a script may see, and charges for its growth.
func (m *vm) set(t *lua.LTable, key, value lua.LValue) {
	if changesNothing(t, key, value) {
		return
	}
	if value != lua.LNil {
		m.must(m.meter.alloc(priceEntry))
		m.chargeIndex(t, key)
	}
	if s, ok := key.(lua.LString); ok {
		m.roomForKeys(t)
		t.RawSetString(string(s), value)
		return
	}
	m.state.RawSet(t, key, value)
}

// changesNothing says whether nil is stored where nothing is, for which the engine would make room. A key that is
// none is left to the engine to refuse.
func changesNothing(t *lua.LTable, key, value lua.LValue) bool {
	if value != lua.LNil || key == lua.LNil {
		return false
	}
	if n, ok := key.(lua.LNumber); ok && n != n {
		return false
	}
	return t.RawGet(key) == lua.LNil
}

// roomForKeys gives a table without content a hash part of its own size; the engine's default is large.
func (m *vm) roomForKeys(t *lua.LTable) {
	if k, _ := t.Next(lua.LNil); k == lua.LNil && t.Len() == 0 {
		fresh := m.state.CreateTable(0, 2)
		fresh.Metatable = t.Metatable
		*t = *fresh
	}
}

// longList is from where on the length of a list is worth a look at the clock: the engine finds it by going
// back over the empty slots at the end, of which there may be millions.
const longList = 64

// chargeIndex charges for the empty slots before an index far beyond a list's end.
func (m *vm) chargeIndex(t *lua.LTable, key lua.LValue) {
	n, ok := key.(lua.LNumber)
	if !ok || n < longList || n >= lua.LNumber(lua.MaxArrayIndex) {
		return
	}
	m.must(m.meter.look())
	if gap := int(n) - t.MaxN(); gap > 1 {
		m.must(m.meter.alloc(gap * priceSlot))
		m.must(m.meter.steps(gap / bytesPerStep))
	}
}

// get reads a field of a table, through views and libraries, without calling anything of the script's.
func (m *vm) get(t *lua.LTable, key lua.LValue) (lua.LValue, error) {
	if v := m.viewOf(t); v != nil && !v.filled {
		return m.field(v, key)
	}
	if lib := m.libraryOf(t); lib != nil && lib.sealed {
		t = lib.frozen
	}
	return t.RawGet(key), nil
}

// newTable makes a table with a known number of fields, as if the script had written it down.
func (m *vm) newTable(items, keys int) *lua.LTable {
	m.must(m.meter.alloc(priceTable + (items+keys)*priceEntry))
	t := m.state.CreateTable(items, keys)
	t.Metatable = m.mt.plain
	return t
}

// text gives a string to the script, and charges for it.
func (m *vm) text(s string) lua.LString {
	m.chargeText(len(s))
	return lua.LString(s)
}

func (m *vm) chargeText(n int) {
	if n > longestText {
		m.meter.stop(limitText, fmt.Sprintf("a text of %d bytes", longestText))
	}
	m.must(m.meter.alloc(n + priceString))
	m.must(m.meter.steps(n / bytesPerStep))
}

// function makes a Go function callable from scripts.
func (m *vm) function(f func(m *vm, l *lua.LState) int) *lua.LFunction {
	return m.state.NewFunction(func(l *lua.LState) int { return f(m, l) })
}

// open makes the globals, libraries and metatables. They are the same for every call.
func (m *vm) open() {
	l := m.state
	table := func() *lua.LTable { return l.CreateTable(0, 8) }
	m.byMeta = map[*lua.LTable]*library{}
	m.libraries = map[string]*library{}
	m.wrapped = map[*lua.LTable]bool{}
	m.modules = map[*module]*loadedModule{}
	m.frozen = map[*lua.LFunction]bool{}
	m.opened = map[string]lua.LValue{}
	m.filledLibs = map[*lua.LTable]bool{}
	m.names = map[any]int{}

	set := m.function(func(m *vm, l *lua.LState) int {
		m.set(l.CheckTable(1), l.Get(2), l.Get(3))
		return 0
	})
	length := m.function(func(m *vm, l *lua.LState) int {
		m.must(m.meter.look())
		l.Push(lua.LNumber(l.CheckTable(1).Len()))
		return 1
	})
	marked := func() *lua.LTable {
		mt := table()
		mt.RawSetString("__newindex", set)
		mt.RawSetString("__len", length)
		return mt
	}
	m.mt.plain, m.mt.object, m.mt.list = marked(), marked(), marked()

	index := m.function(func(m *vm, l *lua.LState) int {
		v, err := m.field(m.views[l.CheckTable(1)], l.Get(2))
		m.must(err)
		l.Push(v)
		return 1
	})
	fillAndSet := m.function(func(m *vm, l *lua.LState) int {
		t := l.CheckTable(1)
		m.must(m.fillTable(t))
		m.set(t, l.Get(2), l.Get(3))
		return 0
	})
	measure := m.function(func(m *vm, l *lua.LState) int {
		l.Push(lua.LNumber(len(m.views[l.CheckTable(1)].list)))
		return 1
	})
	lazy := func() *lua.LTable {
		mt := table()
		mt.RawSetString("__index", index)
		mt.RawSetString("__newindex", fillAndSet)
		mt.RawSetString("__len", measure)
		return mt
	}
	m.mt.lazyObject, m.mt.lazyList = lazy(), lazy()

	m.mt.integer = m.integerMeta()
	m.mt.null = table()
	m.mt.null.RawSetString("__tostring", l.NewFunction(func(l *lua.LState) int {
		l.Push(lua.LString("null"))
		return 1
	}))
	m.null = &lua.LUserData{Metatable: m.mt.null}

	m.base = l.CreateTable(0, 64)
	m.openBase()
	m.mt.env = table()
	m.mt.env.RawSetString("__newindex", m.function(func(m *vm, l *lua.LState) int {
		t, key := l.CheckTable(1), l.Get(2)
		if name, ok := key.(lua.LString); ok && reserved[string(name)] {
			l.RaiseError("the global %q cannot be set", string(name))
		}
		if changesNothing(t, key, l.Get(3)) {
			return 0
		}
		m.must(m.meter.alloc(priceEntry))
		m.chargeIndex(t, key)
		l.RawSet(t, key, l.Get(3))
		return 0
	}))
	m.mt.env.RawSetString("__index", m.base)
	// What is not a base function is a library, made when first used, or undefined.
	fallback := table()
	fallback.RawSetString("__index", m.function(func(m *vm, l *lua.LState) int {
		l.Push(m.global(l.Get(2)))
		return 1
	}))
	m.base.Metatable = fallback

	for _, lib := range standardLibraries {
		m.addLibrary(lib.name, lib.functions, lib.values)
	}
	m.addKube()
	strings := table()
	strings.RawSetString("__index", m.libraries["string"].frozen)
	m.addArithmetic(strings)
	l.SetMetatable(lua.LString(""), strings)
}

// global is the value of a global that is no base function: a library, the globals themselves, or nil.
func (m *vm) global(key lua.LValue) lua.LValue {
	name, ok := key.(lua.LString)
	if !ok {
		return lua.LNil
	}
	switch {
	case name == "_G":
		return m.env
	case name == "package":
		return m.packageTable()
	case isLibrary(string(name)):
		return m.openLibrary(string(name))
	}
	return lua.LNil
}

// errorText is the text of a value that was raised.
func (m *vm) errorText(v lua.LValue) string {
	if t, ok := v.(*lua.LTable); ok {
		if message, err := m.get(t, lua.LString("message")); err == nil && message.Type() == lua.LTString {
			return message.String()
		}
		return "a table was raised as an error"
	}
	return m.display(v)
}

// display is tostring without surprises: tables and functions are numbered in the order in which they are
// shown, so that the text is the same in every run.
func (m *vm) display(v lua.LValue) string {
	if i, ok := exactInt(v); ok {
		return fmt.Sprint(i)
	}
	if v == m.null {
		return "null"
	}
	switch v.(type) {
	case *lua.LTable, *lua.LFunction:
		n, ok := m.names[v]
		if !ok {
			n = len(m.names) + 1
			m.names[v] = n
		}
		return fmt.Sprintf("%s: %d", v.Type(), n)
	case *lua.LUserData:
		if s := m.state.CallMeta(v, "__tostring"); s != lua.LNil {
			return s.String()
		}
		return "userdata"
	}
	return v.String()
}

// show is a value as a message quotes it.
func (m *vm) show(v lua.LValue) string {
	if s, ok := v.(lua.LString); ok {
		return fmt.Sprintf("%q", shorten(string(s)))
	}
	return m.display(v)
}

// describe is a value's type with an article, and the value where it is short.
func (m *vm) describe(v lua.LValue) string {
	switch v := v.(type) {
	case lua.LString:
		return fmt.Sprintf("the text %q", shorten(string(v)))
	case lua.LNumber:
		return "the number " + v.String()
	case lua.LBool:
		return v.String()
	case *lua.LNilType:
		return "nil"
	}
	name := m.typeName(v)
	if strings.HasPrefix(name, "u") {
		return "a value of type " + name
	}
	return "a " + name
}
