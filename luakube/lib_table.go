package luakube

import (
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

var tableFunctions = []goFunction{
	{name: "concat", call: tableConcat},
	{name: "getn", call: tableLen((*lua.LTable).Len)},
	{name: "insert", call: tableInsert},
	{name: "maxn", call: tableLen((*lua.LTable).MaxN)},
	{name: "remove", call: tableRemove},
	{name: "sort", call: tableSort},
}

func tableLen(length func(*lua.LTable) int) func(m *vm, l *lua.LState) int {
	return func(m *vm, l *lua.LState) int {
		l.Push(lua.LNumber(length(m.table(1))))
		return 1
	}
}

func tableConcat(m *vm, l *lua.LState) int {
	t, sep := m.table(1), m.optStr(2, "")
	from, to := l.OptInt(3, 1), l.OptInt(4, t.Len())
	var b strings.Builder
	for i := from; i <= to; i++ {
		v := t.RawGetInt(i)
		if v.Type() != lua.LTString && m.typeName(v) != "number" {
			l.RaiseError("invalid value (a %s) at index %d in table for concat", m.typeName(v), i)
		}
		s := m.display(v)
		m.must(m.meter.steps(1 + (len(s)+len(sep))/bytesPerStep))
		m.must(m.meter.alloc(len(s) + len(sep)))
		b.WriteString(s)
		if i < to {
			b.WriteString(sep)
		}
	}
	l.Push(lua.LString(b.String()))
	return 1
}

func tableInsert(m *vm, l *lua.LState) int {
	t := m.table(1)
	n := t.Len()
	if l.GetTop() == 2 {
		m.set(t, lua.LNumber(n+1), l.Get(2))
		return 0
	}
	pos, value := l.CheckInt(2), l.CheckAny(3)
	if pos < 1 || pos > n {
		m.set(t, lua.LNumber(pos), value)
		return 0
	}
	m.must(m.meter.alloc(priceEntry))
	m.must(m.meter.steps((n - pos) / bytesPerStep))
	t.Insert(pos, value)
	return 0
}

func tableRemove(m *vm, l *lua.LState) int {
	t := m.table(1)
	n := t.Len()
	pos := l.OptInt(2, n)
	if n == 0 || pos < 1 || pos > n {
		l.Push(lua.LNil)
		return 1
	}
	m.must(m.meter.steps((n - pos) / bytesPerStep))
	l.Push(t.Remove(pos))
	return 1
}

// tableSort sorts in place. Equal elements keep their order, so that the result is the same everywhere.
func tableSort(m *vm, l *lua.LState) int {
	t := m.table(1)
	n := t.Len()
	var less *lua.LFunction
	if l.Get(2) != lua.LNil {
		less = l.CheckFunction(2)
	}
	m.must(m.meter.alloc(n * priceSlot))
	m.must(m.meter.steps(n))
	values := make([]lua.LValue, n)
	for i := range values {
		values[i] = t.RawGetInt(i + 1)
	}
	before := func(a, b lua.LValue) bool {
		m.must(m.meter.steps(1))
		if less == nil {
			l.Push(m.base.RawGetString(opLess))
		} else {
			l.Push(less)
		}
		l.Push(a)
		l.Push(b)
		l.Call(2, 1)
		is := lua.LVAsBool(l.Get(-1))
		l.Pop(1)
		return is
	}
	slices.SortStableFunc(values, func(a, b lua.LValue) int {
		switch {
		case before(a, b):
			return -1
		case before(b, a):
			return 1
		}
		return 0
	})
	for i, v := range values {
		t.RawSetInt(i+1, v)
	}
	return 0
}
