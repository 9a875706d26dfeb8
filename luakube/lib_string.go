package luakube

import (
	"fmt"
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

var stringFunctions = []goFunction{
	{name: "byte", call: strByte},
	{name: "char", call: strChar},
	{name: "dump", call: unavailable("string.dump")},
	{name: "find", call: func(m *vm, l *lua.LState) int { return m.search(l, true) }},
	{name: "format", call: strFormat},
	{name: "gfind", call: strGmatch},
	{name: "gmatch", call: strGmatch},
	{name: "gsub", call: strGsub},
	{name: "len", call: strLen},
	{name: "lower", call: str1(strings.ToLower)},
	{name: "match", call: func(m *vm, l *lua.LState) int { return m.search(l, false) }},
	{name: "rep", call: strRep},
	{name: "reverse", call: str1(reverse)},
	{name: "sub", call: strSub},
	{name: "upper", call: str1(strings.ToUpper)},
}

// builder makes a text of pieces, charging for each before it is copied.
type builder struct {
	strings.Builder
	m *vm
}

func (m *vm) builder() *builder { return &builder{m: m} }

func (b *builder) write(s string) {
	b.m.chargeText(len(s))
	if b.Len()+len(s) > longestText {
		b.m.chargeText(b.Len() + len(s))
	}
	b.WriteString(s)
}

// text is the whole, which has been paid for.
func (b *builder) text() lua.LString { return lua.LString(b.String()) }

func str1(f func(string) string) func(m *vm, l *lua.LState) int {
	return func(m *vm, l *lua.LState) int {
		s := m.str(1)
		m.chargeText(len(s))
		l.Push(lua.LString(f(s)))
		return 1
	}
}

func reverse(s string) string {
	b := []byte(s)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return string(b)
}

func strLen(m *vm, l *lua.LState) int {
	if s, ok := l.Get(1).(lua.LString); ok {
		l.Push(lua.LNumber(len(s)))
	} else {
		l.Push(lua.LNumber(len(m.str(1))))
	}
	return 1
}

// span turns positions as Lua counts them, from 1, or from the end if negative, into a range of bytes.
func span(n, from, to int) (int, int) {
	if from < 0 {
		from = max(n+from, 0)
	} else if from > 0 {
		from--
	}
	if to < 0 {
		to = n + to + 1
	}
	return min(from, n), min(max(to, 0), n)
}

func strSub(m *vm, l *lua.LState) int {
	s := m.str(1)
	from, to := span(len(s), m.optInt(2, 1), m.optInt(3, -1))
	if from >= to {
		l.Push(lua.LString(""))
		return 1
	}
	l.Push(m.text(s[from:to]))
	return 1
}

func strByte(m *vm, l *lua.LState) int {
	s := m.str(1)
	first := m.optInt(2, 1)
	from, to := span(len(s), first, m.optInt(3, first))
	if from >= to {
		return 0
	}
	if to-from >= stackSlots {
		l.RaiseError("byte of %d values: at most %d fit on the stack", to-from, stackSlots)
	}
	m.must(m.meter.steps(to - from))
	for i := from; i < to; i++ {
		l.Push(lua.LNumber(s[i]))
	}
	return to - from
}

func strChar(m *vm, l *lua.LState) int {
	b := make([]byte, l.GetTop())
	for i := range b {
		c := m.int(i + 1)
		if c < 0 || c > 255 {
			l.ArgError(i+1, "value out of range")
		}
		b[i] = byte(c)
	}
	l.Push(m.text(string(b)))
	return 1
}

func strRep(m *vm, l *lua.LState) int {
	s, n := m.str(1), m.int(2)
	if n <= 0 || s == "" {
		l.Push(lua.LString(""))
		return 1
	}
	m.chargeText(len(s) * min(n, math.MaxInt32))
	l.Push(lua.LString(strings.Repeat(s, n)))
	return 1
}

func (m *vm) matcher(src, pat string) *matcher {
	return &matcher{src: src, pat: pat, meter: &m.meter}
}

// start is where a search begins: argument n, a position as Lua counts them.
func (m *vm) start(n, length int) int {
	init := m.optInt(n, 1)
	if init < 0 {
		init = max(length+init+1, 1)
	}
	return max(init, 1) - 1
}

func (m *vm) search(l *lua.LState, find bool) int {
	src, pat := m.str(1), m.str(2)
	init := m.start(3, len(src))
	if init > len(src) {
		l.Push(lua.LNil)
		return 1
	}
	if find && (l.ToBool(4) || !strings.ContainsAny(pat, "^$*+?.([%-")) {
		m.must(m.meter.steps((len(src) - init) / bytesPerStep))
		i := strings.Index(src[init:], pat)
		if i < 0 {
			l.Push(lua.LNil)
			return 1
		}
		l.Push(lua.LNumber(init + i + 1))
		l.Push(lua.LNumber(init + i + len(pat)))
		return 2
	}
	mt := m.matcher(src, pat)
	from, to, err := mt.find(init)
	m.must(err)
	if from < 0 {
		l.Push(lua.LNil)
		return 1
	}
	if find {
		l.Push(lua.LNumber(from + 1))
		l.Push(lua.LNumber(to))
		return 2 + m.pushCaptures(mt, from, to, false)
	}
	return m.pushCaptures(mt, from, to, true)
}

// pushCaptures pushes the captures of a match, or where there are none and it is asked for, all of it.
func (m *vm) pushCaptures(mt *matcher, from, to int, whole bool) int {
	if mt.level == 0 && whole {
		m.state.Push(m.text(mt.src[from:to]))
		return 1
	}
	for i := range mt.level {
		m.state.Push(m.capture(mt, i))
	}
	return mt.level
}

func (m *vm) capture(mt *matcher, i int) lua.LValue {
	c := mt.captures[i]
	if c.length == capturePosition {
		return lua.LNumber(c.start + 1)
	}
	return m.text(mt.src[c.start : c.start+c.length])
}

func strGmatch(m *vm, l *lua.LState) int {
	src, pat := m.str(1), m.str(2)
	m.must(m.meter.alloc(priceClosure))
	pos := 0
	l.Push(m.function(func(m *vm, l *lua.LState) int {
		if pos > len(src) {
			l.Push(lua.LNil)
			return 1
		}
		mt := m.matcher(src, pat)
		// An anchor would stop the iteration at once; in gmatch ^ is an ordinary character.
		from, to, err := mt.findAll(pos)
		m.must(err)
		if from < 0 {
			pos = len(src) + 1
			l.Push(lua.LNil)
			return 1
		}
		pos = to
		if to == from {
			pos++
		}
		return m.pushCaptures(mt, from, to, true)
	}))
	return 1
}

// findAll is find without anchors.
func (m *matcher) findAll(init int) (start, end int, err error) {
	for s := init; s <= len(m.src); s++ {
		m.level = 0
		e, err := m.match(s, 0)
		if err != nil {
			return -1, -1, err
		}
		if e >= 0 {
			return s, e, m.closedAll()
		}
	}
	return -1, -1, nil
}

func strGsub(m *vm, l *lua.LState) int {
	src, pat := m.str(1), m.str(2)
	repl := l.Get(3)
	switch repl.(type) {
	case lua.LString, lua.LNumber, *lua.LTable, *lua.LFunction:
	default:
		l.ArgError(3, fmt.Sprintf("string, table or function expected, got %s", m.typeName(repl)))
	}
	most := len(src) + 1
	if l.Get(4) != lua.LNil {
		most = m.int(4)
	}
	mt := m.matcher(src, pat)
	p, anchored := 0, strings.HasPrefix(pat, "^")
	if anchored {
		p = 1
	}
	// What is kept of the source is paid for here, byte by byte would be too often.
	m.chargeText(len(src))
	b := m.builder()
	pos, n := 0, 0
	for n < most {
		mt.level = 0
		end, err := mt.match(pos, p)
		m.must(err)
		if end >= 0 {
			m.must(mt.closedAll())
			n++
			b.write(m.replacement(mt, repl, pos, end))
		}
		switch {
		case end > pos:
			pos = end
		case pos < len(src):
			b.WriteByte(src[pos])
			pos++
		default:
			pos++
		}
		if pos > len(src) || anchored {
			break
		}
	}
	if pos < len(src) {
		b.WriteString(src[pos:])
	}
	l.Push(b.text())
	l.Push(lua.LNumber(n))
	return 2
}

// replacement is what a match is replaced with.
func (m *vm) replacement(mt *matcher, repl lua.LValue, from, to int) string {
	l := m.state
	first := func() lua.LValue {
		if mt.level == 0 {
			return m.text(mt.src[from:to])
		}
		return m.capture(mt, 0)
	}
	var v lua.LValue
	switch r := repl.(type) {
	case *lua.LTable:
		var err error
		v, err = m.get(r, first())
		m.must(err)
	case *lua.LFunction:
		// The callback may search too; the matcher's captures are its own.
		l.Push(r)
		n := m.pushCaptures(mt, from, to, true)
		l.Call(n, 1)
		v = l.Get(-1)
		l.Pop(1)
	default:
		return m.expand(mt, m.checkText(3, r.String()), from, to)
	}
	switch {
	case !lua.LVAsBool(v):
		return mt.src[from:to]
	case v.Type() == lua.LTString || m.typeName(v) == "number":
		return m.display(v)
	}
	l.RaiseError("invalid replacement value (a %s)", m.typeName(v))
	return ""
}

// expand fills the captures into a replacement text.
func (m *vm) expand(mt *matcher, repl string, from, to int) string {
	if !strings.Contains(repl, "%") {
		return repl
	}
	b := m.builder()
	for i := 0; i < len(repl); i++ {
		if repl[i] != '%' {
			b.WriteByte(repl[i])
			continue
		}
		i++
		switch {
		case i == len(repl):
			m.state.RaiseError("invalid use of '%s' at the end of the replacement", "%")
		case repl[i] == '0' || repl[i] == '1' && mt.level == 0:
			b.write(mt.src[from:to])
		case digit(repl[i]):
			c := int(repl[i] - '1')
			if c >= mt.level {
				m.state.RaiseError("invalid capture index %%%d in the replacement", c+1)
			}
			b.write(m.display(m.capture(mt, c)))
		default:
			b.WriteByte(repl[i])
		}
	}
	return b.String()
}

// maxWidth bounds the width and precision of a format, as Lua does: two digits.
const maxWidth = 99

// strFormat knows the verbs of Lua 5.1, and %v, which scripts written for Karmada may use for %s.
func strFormat(m *vm, l *lua.LState) int {
	format := m.str(1)
	b := m.builder()
	arg := 1
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			j := i
			for j < len(format) && format[j] != '%' {
				j++
			}
			b.write(format[i:j])
			i = j - 1
			continue
		}
		i++
		if i < len(format) && format[i] == '%' {
			b.WriteByte('%')
			continue
		}
		spec := i
		for i < len(format) && strings.IndexByte("-+ #0", format[i]) >= 0 {
			i++
		}
		digits := func() {
			first := i
			for i < len(format) && digit(format[i]) {
				i++
			}
			if i-first > 2 {
				l.RaiseError("invalid format: width or precision above %d", maxWidth)
			}
		}
		digits()
		if i < len(format) && format[i] == '.' {
			i++
			digits()
		}
		if i >= len(format) {
			l.RaiseError("invalid format: it ends inside '%%%s'", format[spec:])
		}
		arg++
		b.write(m.formatOne("%"+format[spec:i], format[i], arg))
	}
	l.Push(b.text())
	return 1
}

func (m *vm) formatOne(flags string, verb byte, arg int) string {
	switch verb {
	case 'c':
		return fmt.Sprintf(flags+"s", string([]byte{byte(int(m.num(arg)))}))
	case 'd', 'i':
		return fmt.Sprintf(flags+"d", m.formatInt(arg))
	case 'u':
		return fmt.Sprintf(flags+"d", uint64(m.formatInt(arg)))
	case 'o', 'x', 'X':
		n := m.formatInt(arg)
		if n < 0 {
			return fmt.Sprintf(flags+string(verb), uint64(n))
		}
		return fmt.Sprintf(flags+string(verb), n)
	case 'e', 'E', 'f', 'F', 'g', 'G':
		return fmt.Sprintf(flags+string(verb), m.num(arg))
	case 'q':
		return fmt.Sprintf("%q", m.checkText(arg, m.str(arg)))
	case 's', 'v':
		m.state.CheckAny(arg)
		return fmt.Sprintf(flags+"s", m.checkText(arg, m.display(m.state.Get(arg))))
	}
	m.state.RaiseError("invalid format: unknown verb '%s%c'", flags, verb)
	return ""
}

// formatInt is an argument as an integer; a fraction is cut off, as Lua 5.1 does.
func (m *vm) formatInt(arg int) int64 {
	if i, ok := exactInt(m.state.Get(arg)); ok {
		return i
	}
	f := math.Trunc(m.num(arg))
	i, ok := floatInt(f)
	if !ok {
		m.state.ArgError(arg, fmt.Sprintf("%v is no integer", lua.LNumber(f)))
	}
	return i
}
