package luakube

import (
	"math"
	"math/rand"

	lua "github.com/yuin/gopher-lua"
)

var mathValues = map[string]lua.LValue{
	"huge": lua.LNumber(math.Inf(1)),
	"pi":   lua.LNumber(math.Pi),
}

var mathFunctions = []goFunction{
	{name: "abs", call: mathAbs},
	{name: "acos", call: math1(math.Acos)},
	{name: "asin", call: math1(math.Asin)},
	{name: "atan", call: math1(math.Atan)},
	{name: "atan2", call: math2(math.Atan2)},
	{name: "ceil", call: whole(math.Ceil)},
	{name: "cos", call: math1(math.Cos)},
	{name: "cosh", call: math1(math.Cosh)},
	{name: "deg", call: math1(func(x float64) float64 { return x * 180 / math.Pi })},
	{name: "exp", call: math1(math.Exp)},
	{name: "floor", call: whole(math.Floor)},
	{name: "fmod", call: mathFmod},
	{name: "frexp", call: mathFrexp},
	{name: "ldexp", call: math2(func(x, e float64) float64 { return math.Ldexp(x, int(max(min(e, 5000), -5000))) })},
	{name: "log", call: math1(math.Log)},
	{name: "log10", call: math1(math.Log10)},
	{name: "max", call: func(m *vm, l *lua.LState) int { return m.extreme(l, false) }},
	{name: "min", call: func(m *vm, l *lua.LState) int { return m.extreme(l, true) }},
	{name: "mod", call: math2(math.Mod)},
	{name: "modf", call: mathModf},
	{name: "pow", call: math2(math.Pow)},
	{name: "rad", call: math1(func(x float64) float64 { return x * math.Pi / 180 })},
	{name: "random", call: mathRandom},
	{name: "randomseed", call: mathRandomSeed},
	{name: "sin", call: math1(math.Sin)},
	{name: "sinh", call: math1(math.Sinh)},
	{name: "sqrt", call: math1(math.Sqrt)},
	{name: "tan", call: math1(math.Tan)},
	{name: "tanh", call: math1(math.Tanh)},
}

func math1(f func(float64) float64) func(m *vm, l *lua.LState) int {
	return func(m *vm, l *lua.LState) int {
		l.Push(lua.LNumber(f(m.num(1))))
		return 1
	}
}

func math2(f func(a, b float64) float64) func(m *vm, l *lua.LState) int {
	return func(m *vm, l *lua.LState) int {
		l.Push(lua.LNumber(f(m.num(1), m.num(2))))
		return 1
	}
}

// whole rounds; an exact integer is whole already.
func whole(f func(float64) float64) func(m *vm, l *lua.LState) int {
	return func(m *vm, l *lua.LState) int {
		if _, ok := exactInt(l.Get(1)); ok {
			l.Push(l.Get(1))
			return 1
		}
		l.Push(lua.LNumber(f(m.num(1))))
		return 1
	}
}

func mathAbs(m *vm, l *lua.LState) int {
	if i, ok := exactInt(l.Get(1)); ok && i != math.MinInt64 {
		l.Push(m.integer(max(i, -i)))
		return 1
	}
	l.Push(lua.LNumber(math.Abs(m.num(1))))
	return 1
}

// mathFmod is the rest of a division that cuts off; between integers it is exact.
func mathFmod(m *vm, l *lua.LState) int {
	a, aWhole := wholeInt(l.Get(1))
	b, bWhole := wholeInt(l.Get(2))
	if aWhole && bWhole && b != 0 && b != -1 {
		l.Push(m.integer(a % b))
		return 1
	}
	l.Push(lua.LNumber(math.Mod(m.num(1), m.num(2))))
	return 1
}

func mathFrexp(m *vm, l *lua.LState) int {
	fraction, exponent := math.Frexp(m.num(1))
	l.Push(lua.LNumber(fraction))
	l.Push(lua.LNumber(exponent))
	return 2
}

func mathModf(m *vm, l *lua.LState) int {
	integer, fraction := math.Modf(m.num(1))
	l.Push(lua.LNumber(integer))
	l.Push(lua.LNumber(fraction))
	return 2
}

func (m *vm) extreme(l *lua.LState, least bool) int {
	// A text that reads as a number is one.
	number := func(i int) lua.LValue {
		if _, exact := exactInt(l.Get(i)); exact {
			return l.Get(i)
		}
		return lua.LNumber(m.num(i))
	}
	best := number(1)
	for i := 2; i <= l.GetTop(); i++ {
		lower, upper := number(i), best
		if !least {
			lower, upper = upper, lower
		}
		if m.compareExact(l, lower, upper, false) {
			best = number(i)
		}
	}
	l.Push(best)
	return 1
}

// firstSeed seeds the random numbers of every call: rules must give the same answer to the same question.
const firstSeed = 1

func (m *vm) rand() *rand.Rand {
	if m.random == nil {
		m.random = rand.New(rand.NewSource(firstSeed))
	}
	return m.random
}

func mathRandom(m *vm, l *lua.LState) int {
	switch l.GetTop() {
	case 0:
		l.Push(lua.LNumber(m.rand().Float64()))
	case 1:
		l.Push(m.randomInt(1, int64(m.int(1)), 1))
	default:
		l.Push(m.randomInt(int64(m.int(1)), int64(m.int(2)), 2))
	}
	return 1
}

func (m *vm) randomInt(low, high int64, arg int) lua.LValue {
	n := uint64(high) - uint64(low) + 1
	if low > high || n == 0 || n > math.MaxInt64 {
		m.state.ArgError(arg, "interval is empty or too large")
	}
	return m.integer(low + m.rand().Int63n(int64(n)))
}

func mathRandomSeed(m *vm, l *lua.LState) int {
	m.random = rand.New(rand.NewSource(int64(m.num(1))))
	return 0
}
