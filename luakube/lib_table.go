package luakube

import (
	"slices"

	lua "github.com/yuin/gopher-lua"
)

var tableFunctions = []goFunction{
	{name: "concat", call: tableConcat},
	{name: "getn", call: tableLen},
	{name: "insert", call: tableInsert},
	{name: "maxn", call: tableLen},
	{name: "remove", call: tableRemove},
	{name: "sort", call: tableSort},
}

// tableLen is table.getn and table.maxn: the engine finds no other length than that of the last element.
func tableLen(m *vm, l *lua.LState) int {
	l.Push(lua.LNumber(m.length(m.table(1))))
	return 1
}

func tableConcat(m *vm, l *lua.LState) int {
	t, sep := m.table(1), m.optStr(2, "")
	from, to := m.optInt(3, 1), m.optInt(4, m.length(t))
	b := m.builder()
	for i := from; i <= to; i++ {
		v := t.RawGetInt(i)
		if v.Type() != lua.LTString && m.typeName(v) != "number" {
			l.RaiseError("invalid value (a %s) at index %d in table for concat", m.typeName(v), i)
		}
		m.must(m.meter.steps(1))
		b.write(m.display(v))
		if i < to {
			b.write(sep)
		}
	}
	l.Push(b.text())
	return 1
}

func tableInsert(m *vm, l *lua.LState) int {
	t := m.changing(1)
	n := m.length(t)
	if l.GetTop() == 2 {
		m.set(t, lua.LNumber(n+1), l.Get(2))
		return 0
	}
	pos, value := m.int(2), l.CheckAny(3)
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
	t := m.changing(1)
	n := m.length(t)
	pos := m.optInt(2, n)
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
	t := m.changing(1)
	n := m.length(t)
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
