package luakube

import (
	"fmt"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// The clock is the engine's, and every time is UTC: a rule must give the same answer on every machine.
var osFunctions = []goFunction{
	{name: "clock", call: osClock, extra: true},
	{name: "date", call: osDate},
	{name: "difftime", call: osDifftime, extra: true},
	{name: "time", call: osTime},
}

// osClock is the time since the call began, in seconds. With a clock that stands still it is zero.
func osClock(m *vm, l *lua.LState) int {
	if m.began.IsZero() {
		m.began = m.engine.now()
	}
	l.Push(lua.LNumber(m.engine.now().Sub(m.began).Seconds()))
	return 1
}

func osDifftime(m *vm, l *lua.LState) int {
	l.Push(lua.LNumber(m.num(1) - m.num(2)))
	return 1
}

// osTime is now in seconds since 1970, or the time a table describes; noon where it has no hour.
func osTime(m *vm, l *lua.LState) int {
	if l.Get(1) == lua.LNil {
		l.Push(lua.LNumber(m.engine.now().Unix()))
		return 1
	}
	t := l.CheckTable(1)
	field := func(name string, other int) int {
		v, err := m.get(t, lua.LString(name))
		m.must(err)
		if s, text := v.(lua.LString); text {
			v = lua.LVAsNumber(s)
		}
		n, ok := wholeInt(v)
		switch {
		case v == lua.LNil && other >= 0:
			return other
		case v == lua.LNil:
			l.RaiseError("field '%s' is missing in the date table", name)
		case !ok || n < -maxDateField || n > maxDateField:
			l.RaiseError("field '%s' of the date table must be a whole number of ordinary size", name)
		}
		return int(n)
	}
	year, month, day := field("year", -1), field("month", -1), field("day", -1)
	hour, minute, second := field("hour", 12), field("min", 0), field("sec", 0)
	l.Push(lua.LNumber(time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC).Unix()))
	return 1
}

// maxDateField bounds the fields of a date, so that no sum of them overflows.
const maxDateField = 1 << 31

// maxUnix is the last second of the year 9999, beyond which dates have no customary form.
const maxUnix = 253402300799

func osDate(m *vm, l *lua.LState) int {
	format := m.optStr(1, "%c")
	at := m.engine.now()
	if l.Get(2) != lua.LNil {
		seconds := m.num(2)
		if !(seconds >= -maxUnix && seconds <= maxUnix) {
			l.ArgError(2, "time out of range")
		}
		at = time.Unix(int64(seconds), 0)
	}
	at = at.UTC()
	format = strings.TrimPrefix(format, "!")
	if strings.HasPrefix(format, "*t") {
		l.Push(m.dateTable(at))
		return 1
	}
	l.Push(m.text(strftime(format, at)))
	return 1
}

func (m *vm) dateTable(at time.Time) *lua.LTable {
	t := m.newTable(0, 9)
	for _, f := range []struct {
		name  string
		value int
	}{
		{"year", at.Year()}, {"month", int(at.Month())}, {"day", at.Day()}, {"hour", at.Hour()},
		{"min", at.Minute()}, {"sec", at.Second()}, {"wday", int(at.Weekday()) + 1}, {"yday", at.YearDay()},
	} {
		t.RawSetString(f.name, lua.LNumber(f.value))
	}
	t.RawSetString("isdst", lua.LFalse)
	return t
}

var dateLayouts = map[byte]string{
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January", 'c': "02 Jan 06 15:04 MST", 'd': "02",
	'F': "2006-01-02", 'H': "15", 'I': "03", 'm': "01", 'M': "04", 'p': "PM", 'S': "05",
	'x': "01/02/06", 'X': "15:04:05", 'y': "06", 'Y': "2006", 'z': "-0700", 'Z': "MST",
}

// strftime writes a time by the letters that C knows; an unknown one stands for itself.
func strftime(format string, at time.Time) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		switch c := format[i]; {
		case dateLayouts[c] != "":
			b.WriteString(at.Format(dateLayouts[c]))
		case c == 'w':
			fmt.Fprint(&b, int(at.Weekday()))
		case c == 'j':
			fmt.Fprintf(&b, "%03d", at.YearDay())
		case c == '%':
			b.WriteByte('%')
		default:
			b.WriteByte('%')
			b.WriteByte(c)
		}
	}
	return b.String()
}
