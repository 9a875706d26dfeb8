package luakube

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// integerMeta makes integers beyond 2^53 act as numbers.
func (m *vm) integerMeta() *lua.LTable {
	mt := m.state.CreateTable(0, 8)
	m.addArithmetic(mt)
	mt.RawSetString("__eq", m.function(func(m *vm, l *lua.LState) int {
		a, _ := exactInt(l.Get(1))
		b, _ := exactInt(l.Get(2))
		l.Push(lua.LBool(a == b))
		return 1
	}))
	return mt
}

// addArithmetic gives a metatable the operators for operands of which one is an exact integer or a text that
// reads as a number.
func (m *vm) addArithmetic(mt *lua.LTable) {
	for name, op := range map[string]func(a, b int64) (int64, bool){
		"__add": addInt, "__sub": subInt, "__mul": mulInt, "__div": divInt, "__mod": modInt,
	} {
		mt.RawSetString(name, m.function(func(m *vm, l *lua.LState) int {
			a, aok := wholeOperand(l.Get(1))
			b, bok := wholeOperand(l.Get(2))
			if aok && bok {
				if r, ok := op(a, b); ok {
					l.Push(m.integer(r))
					return 1
				}
			}
			l.Push(lua.LNumber(floatOp(name, m.operand(name, 1), m.operand(name, 2))))
			return 1
		}))
	}
	mt.RawSetString("__pow", m.function(func(m *vm, l *lua.LState) int {
		l.Push(lua.LNumber(math.Pow(m.operand("__pow", 1), m.operand("__pow", 2))))
		return 1
	}))
	mt.RawSetString("__unm", m.function(func(m *vm, l *lua.LState) int {
		i, exact := exactInt(l.Get(1))
		if r, ok := subInt(0, i); exact && ok {
			l.Push(m.integer(r))
		} else {
			l.Push(l.Get(1))
			l.Push(lua.LNumber(-m.operand("__unm", 1)))
		}
		return 1
	}))
}

// wholeOperand is an operand without a fraction. Text counts as a number here, as everywhere in arithmetic.
func wholeOperand(v lua.LValue) (int64, bool) {
	if s, ok := v.(lua.LString); ok && len(s) <= longestNumber {
		i, err := strconv.ParseInt(strings.Trim(string(s), " \t\n"), 0, 64)
		return i, err == nil
	}
	return wholeInt(v)
}

// longestNumber is how long a text may be that is read as a number.
const longestNumber = 1000

// operand is an operand of arithmetic as the engine would take it: a number, or text that reads as one.
func (m *vm) operand(name string, n int) float64 {
	switch v := m.state.Get(n).(type) {
	case lua.LNumber:
		return float64(v)
	case *lua.LUserData:
		if i, ok := exactInt(v); ok {
			return float64(i)
		}
	case lua.LString:
		if f, ok := parseNumber(string(v)); ok {
			return f
		}
	}
	m.state.RaiseError("cannot perform %s operation between %s and %s", strings.TrimPrefix(name, "__"), m.typeName(m.state.Get(1)), m.typeName(m.state.Get(2)))
	return 0
}

// parseNumber reads a number as the engine does.
func parseNumber(s string) (float64, bool) {
	if len(s) > longestNumber {
		return 0, false
	}
	s = strings.Trim(s, " \t\n")
	if i, err := strconv.ParseInt(s, 0, 64); err == nil {
		return float64(i), true
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

func floatOp(name string, a, b float64) float64 {
	switch name {
	case "__add":
		return a + b
	case "__sub":
		return a - b
	case "__mul":
		return a * b
	case "__div":
		return a / b
	}
	r := math.Mod(a, b)
	if b > 0 && r < 0 || b < 0 && r > 0 {
		r += b
	}
	return r
}

func addInt(a, b int64) (int64, bool) {
	c := a + b
	return c, (c > a) == (b > 0)
}

func subInt(a, b int64) (int64, bool) {
	c := a - b
	return c, (c < a) == (b > 0)
}

func mulInt(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	c := a * b
	return c, c/b == a && !(a == -1 && b == math.MinInt64) && !(b == -1 && a == math.MinInt64)
}

// divInt divides where nothing is left over.
func divInt(a, b int64) (int64, bool) {
	if b == 0 || b == -1 && a == math.MinInt64 || a%b != 0 {
		return 0, false
	}
	return a / b, true
}

func modInt(a, b int64) (int64, bool) {
	if b == 0 {
		return 0, false
	}
	if b == -1 {
		return 0, true
	}
	r := a % b
	if r != 0 && (r < 0) != (b < 0) {
		r += b
	}
	return r, true
}

// compareExact orders two numbers of which one is beyond 2^53.
func (m *vm) compareExact(l *lua.LState, a, b lua.LValue, equal bool) bool {
	x, xok := bigFloat(a)
	y, yok := bigFloat(b)
	if !xok || !yok {
		m.incomparable(l, a, b)
	}
	if x == nil || y == nil {
		return false
	}
	c := x.Cmp(y)
	return c < 0 || equal && c == 0
}

// exactBits are enough for every int64 and every float64.
const exactBits = 64

// bigFloat is a number without rounding. It is nil for NaN, with which nothing compares.
func bigFloat(v lua.LValue) (*big.Float, bool) {
	if i, ok := exactInt(v); ok {
		return new(big.Float).SetPrec(exactBits).SetInt64(i), true
	}
	n, ok := v.(lua.LNumber)
	if !ok {
		return nil, false
	}
	if math.IsNaN(float64(n)) {
		return nil, true
	}
	return new(big.Float).SetPrec(exactBits).SetFloat64(float64(n)), true
}
