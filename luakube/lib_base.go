package luakube

import (
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// maxText is the longest text, in bytes, that a library function takes. Karmada has the same bound.
const maxText = 1_000_000

// longestText is the longest text that a script may make. No object with it could be stored, and the engine
// hashes and compares texts without counting.
const longestText = 4 << 20

// blocked are functions that exist so that a script that calls one is told why it fails.
var blocked = []string{
	"collectgarbage", "dofile", "getfenv", "getmetatable", "load", "loadfile", "loadstring", "module",
	"newproxy", "rawequal", "rawget", "rawset", "setfenv", "setmetatable",
}

var baseFunctions = []goFunction{
	{name: "ipairs", call: baseIpairs},
	{name: "next", call: baseNext},
	{name: "pairs", call: basePairs},
	{name: "pcall", call: basePcall},
	{name: "print", call: basePrint},
	{name: "require", call: baseRequire},
	{name: "tonumber", call: baseToNumber},
	{name: "tostring", call: baseToString},
	{name: "type", call: baseType},
	{name: "unpack", call: baseUnpack},
	{name: "xpcall", call: baseXpcall},
}

// engineFunctions are taken from the engine as they are.
var engineFunctions = []string{"assert", "error", "select"}

func (m *vm) openBase() {
	l := m.state
	l.Push(l.NewFunction(lua.OpenBase))
	l.Call(0, 0)
	engine := l.G.Global
	for _, name := range engineFunctions {
		m.base.RawSetString(name, engine.RawGetString(name))
	}
	m.engineToNumber = engine.RawGetString("tonumber").(*lua.LFunction)
	m.base.RawSetString("_VERSION", lua.LString(lua.LuaVersion))
	for _, f := range baseFunctions {
		m.base.RawSetString(f.name, m.function(f.call))
	}
	for _, name := range blocked {
		m.base.RawSetString(name, m.function(unavailable(name)))
	}
	m.nextPair = m.base.RawGetString("next").(*lua.LFunction)
	m.nextItem = m.function(nextItem)

	m.base.RawSetString(opConcat, m.function(concat))
	m.base.RawSetString(opLess, m.function(func(m *vm, l *lua.LState) int { return m.compare(l, false) }))
	m.base.RawSetString(opLessEq, m.function(func(m *vm, l *lua.LState) int { return m.compare(l, true) }))
	m.base.RawSetString(opEqual, m.function(equal))
	m.base.RawSetString(opTable, m.function(madeTable))
	m.base.RawSetString(opIndex, m.function(tableKey))
	m.base.RawSetString(opClosure, m.function(func(m *vm, l *lua.LState) int {
		m.must(m.meter.alloc(max(m.int(1), 0) * priceClosure))
		return 0
	}))
}

// madeTable charges for a table that the script has just written down, and gives it its metatable.
func madeTable(m *vm, l *lua.LState) int {
	t, ok := l.Get(1).(*lua.LTable)
	if !ok || t.Metatable != lua.LNil {
		l.SetTop(1)
		return 1
	}
	fields := max(int(lua.LVAsNumber(l.Get(2))), t.Len())
	m.must(m.meter.alloc(priceTable + fields*priceEntry))
	t.Metatable = m.mt.plain
	l.SetTop(1)
	return 1
}

// tableKey checks a key that a table is written down with, before the engine makes room for it.
func tableKey(m *vm, l *lua.LState) int {
	if n, ok := l.Get(1).(lua.LNumber); ok && n > 0 && n < lua.LNumber(lua.MaxArrayIndex) {
		m.must(m.meter.alloc(int(n) * priceSlot))
	}
	return 1
}

// concat joins texts and numbers.
func concat(m *vm, l *lua.LState) int {
	size := 0
	for i := 1; i <= l.GetTop(); i++ {
		switch v := l.Get(i).(type) {
		case lua.LString:
			size += len(v)
		case lua.LNumber:
			size += len(v.String())
		default:
			if _, ok := exactInt(v); !ok {
				l.RaiseError("attempt to concatenate a %s value", m.typeName(v))
			}
		}
	}
	m.chargeText(size)
	var b strings.Builder
	b.Grow(size)
	for i := 1; i <= l.GetTop(); i++ {
		b.WriteString(m.display(l.Get(i)))
	}
	l.Push(lua.LString(b.String()))
	return 1
}

// compare orders numbers of every size and texts. With a third argument the two change sides.
func (m *vm) compare(l *lua.LState, equal bool) int {
	a, b := l.Get(1), l.Get(2)
	if l.GetTop() > 2 {
		a, b = b, a
	}
	var less bool
	switch x := a.(type) {
	case lua.LNumber:
		if y, ok := b.(lua.LNumber); ok {
			less = x < y || equal && x == y
			break
		}
		less = m.compareExact(l, a, b, equal)
	case lua.LString:
		y, ok := b.(lua.LString)
		if !ok {
			m.incomparable(l, a, b)
		}
		m.must(m.meter.steps(min(len(x), len(y)) / bytesPerStep))
		less = x < y || equal && x == y
	default:
		less = m.compareExact(l, a, b, equal)
	}
	l.Push(lua.LBool(less))
	return 1
}

// equal is the engine's equality, in which an integer beyond 2^53 equals the number that it rounds to: a script
// cannot write it down more exactly.
func equal(m *vm, l *lua.LState) int {
	a, b := l.Get(1), l.Get(2)
	if i, exact := exactInt(a); exact && b.Type() == lua.LTNumber {
		a = lua.LNumber(i)
	}
	if i, exact := exactInt(b); exact && a.Type() == lua.LTNumber {
		b = lua.LNumber(i)
	}
	l.Push(lua.LBool(l.Equal(a, b)))
	return 1
}

func (m *vm) incomparable(l *lua.LState, a, b lua.LValue) {
	l.RaiseError("attempt to compare %s with %s", m.typeName(a), m.typeName(b))
}

func baseType(m *vm, l *lua.LState) int {
	v := l.CheckAny(1)
	if _, ok := exactInt(v); ok {
		l.Push(lua.LString("number"))
	} else {
		l.Push(lua.LString(v.Type().String()))
	}
	return 1
}

func baseToString(m *vm, l *lua.LState) int {
	if s, ok := l.CheckAny(1).(lua.LString); ok {
		l.Push(s)
		return 1
	}
	l.Push(m.text(m.display(l.Get(1))))
	return 1
}

func baseToNumber(m *vm, l *lua.LState) int {
	if i, ok := exactInt(l.CheckAny(1)); ok {
		l.Push(lua.LNumber(i))
		return 1
	}
	if s, ok := l.Get(1).(lua.LString); ok {
		m.checkText(1, string(s))
	}
	l.Insert(m.engineToNumber, 1)
	l.Call(l.GetTop()-1, 1)
	return 1
}

func basePrint(m *vm, l *lua.LState) int {
	parts := make([]string, l.GetTop())
	size := 0
	for i := range parts {
		parts[i] = m.display(l.Get(i + 1))
		size += len(parts[i])
	}
	m.chargeText(size)
	if m.call == nil {
		// The top level runs to see what it defines; it will say so again when it is called.
		return 0
	}
	m.engine.log.InfoContext(m.ctx, strings.Join(parts, "\t"), "script", m.script.name)
	return 0
}

// table is the content of an argument that must be a table, with all its fields present, for reading.
func (m *vm) table(n int) *lua.LTable {
	t := m.state.CheckTable(n)
	if lib := m.libraryOf(t); lib != nil && lib.sealed {
		return lib.frozen
	}
	m.must(m.fillTable(t))
	return t
}

// changing is an argument that must be a table that can be changed, with all its fields present.
func (m *vm) changing(n int) *lua.LTable {
	t := m.state.CheckTable(n)
	if lib := m.libraryOf(t); lib != nil && lib.sealed {
		unchangeable(m, m.state)
	}
	return m.table(n)
}

func baseNext(m *vm, l *lua.LState) int {
	t := m.table(1)
	last := l.Get(2)
	key, value := t.Next(last)
	if last.Type() != lua.LTString && key.Type() != lua.LTNumber {
		m.must(m.meter.look())
	}
	l.Push(key)
	if key == lua.LNil {
		return 1
	}
	l.Push(value)
	return 2
}

func basePairs(m *vm, l *lua.LState) int {
	m.table(1)
	l.Push(m.nextPair)
	l.Push(l.Get(1))
	l.Push(lua.LNil)
	return 3
}

func nextItem(m *vm, l *lua.LState) int {
	t, i := m.table(1), m.int(2)+1
	v := t.RawGetInt(i)
	if v == lua.LNil {
		l.Push(lua.LNil)
		return 1
	}
	l.Push(lua.LNumber(i))
	l.Push(v)
	return 2
}

func baseIpairs(m *vm, l *lua.LState) int {
	m.table(1)
	l.Push(m.nextItem)
	l.Push(l.Get(1))
	l.Push(lua.LNumber(0))
	return 3
}

func baseUnpack(m *vm, l *lua.LState) int {
	t := m.table(1)
	from, to := m.optInt(2, 1), m.optInt(3, m.length(t))
	if to < from {
		return 0
	}
	// The bounds may be anything, so the difference is taken where it cannot overflow.
	more := uint64(to) - uint64(from)
	if more >= stackSlots {
		l.RaiseError("unpack of more values than the %d that fit on the stack", stackSlots)
	}
	n := int(more) + 1
	m.must(m.meter.steps(n))
	for i := range n {
		l.Push(t.RawGetInt(from + i))
	}
	return n
}

// length is a list's length.
func (m *vm) length(t *lua.LTable) int {
	m.must(m.meter.look())
	return t.Len()
}

// int is an argument that must be a number, cut to an integer. One that is too large is the largest, so that
// math.huge means up to the end, on every machine.
func (m *vm) int(n int) int {
	switch f := math.Trunc(m.num(n)); {
	case f >= math.MaxInt:
		return math.MaxInt
	case f <= math.MinInt:
		return math.MinInt
	case f != f:
		return 0
	default:
		return int(f)
	}
}

func (m *vm) optInt(n, other int) int {
	if m.state.Get(n) == lua.LNil {
		return other
	}
	return m.int(n)
}

// checkText refuses a text argument that is longer than functions take.
func (m *vm) checkText(n int, s string) string {
	if len(s) > maxText {
		m.state.ArgError(n, (&LimitError{Limit: limitText, Max: "a text of 1000000 bytes", All: m.meter.limits}).Error())
	}
	return s
}

// str is an argument that must be text; numbers are taken as text.
func (m *vm) str(n int) string {
	if i, ok := exactInt(m.state.Get(n)); ok {
		return m.display(m.integer(i))
	}
	return m.checkText(n, m.state.CheckString(n))
}

func (m *vm) optStr(n int, other string) string {
	if m.state.Get(n) == lua.LNil {
		return other
	}
	return m.str(n)
}

// num is an argument that must be a number; exact integers are rounded.
func (m *vm) num(n int) float64 {
	if i, ok := exactInt(m.state.Get(n)); ok {
		return float64(i)
	}
	return float64(m.state.CheckNumber(n))
}
