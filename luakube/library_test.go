package luakube_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/luakube"
)

func TestFormatWritesValues(t *testing.T) {
	o := map[string]any{"big": int64(9007199254740993), "min": int64(-9223372036854775808)}
	for expression, want := range map[string]string{
		`"%d %5d|%-5d|%05d|%+d|% d", 42, 42, 42, 42, 42, 42`: "42    42|42   |00042|+42| 42",
		`"%d %i", 3.99, -3.99`:                               "3 -3",
		`"%u", 7`:                                            "7",
		`"%x %X %#x %o", 255, 255, 255, 8`:                   "ff FF 0xff 10",
		`"%x", -1`:                                           "ffffffffffffffff",
		`"%f %.2f %8.3f %.0f", 1.5, 2/3, 2/3, 2.5`:           "1.500000 0.67    0.667 2",
		`"%e %.1E", 12345.678, 12345.678`:                    "1.234568e+04 1.2E+04",
		`"%g %g", 0.1, 1e20`:                                 "0.1 1e+20",
		`"%s %s %s %s", "a", 1, true, nil`:                   "a 1 true nil",
		`"%5s|%-5s|%.2s", "abc", "abc", "abc"`:               "  abc|abc  |ab",
		`"%v", "x"`:                                          "x",
		`"%q", 'a "b"\n'`:                                    `"a \"b\"\n"`,
		`"%c%c%c", 76, 117, 97`:                              "Lua",
		`"100%%"`:                                            "100%",
		`"%s", 2147483648`:                                   "2147483648",
		`"%s", 1e15`:                                         "1000000000000000",
		`"%d %d %s", o.big, o.min, o.big`:                    "9007199254740993 -9223372036854775808 9007199254740993",
		`"%s", kube.null`:                                    "null",
		`"%d", "10"`:                                         "10",
		`"no verbs"`:                                         "no verbs",
		`"%99d|", 1`:                                         fmt.Sprintf("%99d|", 1),
	} {
		require.Equal(t, want, run(t, "return string.format("+expression+")", o), expression)
	}
	for expression, want := range map[string]string{
		`"%d"`:                     "bad argument #2 to format",
		`"%d", "x"`:                "number expected, got string",
		`"%d", 0/0`:                "is no integer",
		`"%d", 1e300`:              "is no integer",
		`"%s"`:                     "bad argument #2 to format",
		`"%"`:                      "it ends inside '%'",
		`"%5"`:                     "it ends inside '%5'",
		`"%y", 1`:                  "unknown verb '%y'",
		`"%100d", 1`:               "width or precision above 99",
		`"%.100f", 1`:              "width or precision above 99",
		`"%s", ("x"):rep(1000001)`: "exceeded a text of 1000000 bytes",
	} {
		require.ErrorContains(t, fails(t, "return string.format("+expression+")", o), want, expression)
	}
}

func FuzzFormat(f *testing.F) {
	for _, format := range []string{"%d", "%5.2f|%-5s", "%q %c", "%%", "%x%X%o", "%+d % d %05d", "%e%g", "%i%u", "%s%v", "%99.99f", "%", "%5", "%#x", "text %s text"} {
		f.Add(format, "text", 1.5, int64(9007199254740993))
	}
	limits := luakube.DefaultLimits()
	limits.Instructions, limits.Memory = 1_000_000, 8<<20
	s := compile(f, newEngine(f, luakube.WithLimits(limits)), `return string.format(o.f, o.s, o.n, o.i, o.s, o.n, o.i), string.format(o.f, o.i, o.n, o.i), string.format(o.f, o.n, o.n, o.n)`)
	f.Fuzz(func(t *testing.T, format, text string, number float64, integer int64) {
		o := map[string]any{"f": format, "s": text, "n": number, "i": integer}
		v, _, err := call(t, s, o)
		var script *luakube.ScriptError
		if err != nil {
			require.ErrorAs(t, err, &script)
			require.NotContains(t, script.Message, "internal error")
			return
		}
		if !strings.Contains(format+text, "!") {
			require.NotContains(t, v, "%!", "which is how Go shows a verb it does not know")
		}
		again, _, err := call(t, s, o)
		require.NoError(t, err)
		require.Equal(t, v, again)
	})
}

func TestStringFunctions(t *testing.T) {
	holds(t, nil,
		`return string.len("") == 0 and string.len("a\0b") == 3 and #"é" == 2 and ("abc"):len() == 3`,
		`return string.sub("hello", 2, 4) == "ell" and string.sub("hello", -3) == "llo" and string.sub("hello", 2) == "ello" and string.sub("hello", 0) == "hello"`,
		`return string.sub("hello", 4, 2) == "" and string.sub("hello", 10) == "" and string.sub("hello", -100, 2) == "he" and string.sub("hello", 2, 100) == "ello"`,
		`return string.sub("hello", 1, math.huge) == "hello" and string.sub("hello", -math.huge) == "hello" and string.sub("hello", math.huge) == ""`,
		`return string.byte("A") == 65 and select("#", string.byte("abc", 1, -1)) == 3 and string.byte("abc", 10) == nil and string.byte("abc", -1) == 99`,
		`return string.char(72, 105) == "Hi" and string.char() == "" and not pcall(string.char, 256) and not pcall(string.char, -1)`,
		`return string.upper("aé1") == "AÉ1" and string.lower("AbC") == "abc" and ("x"):upper() == "X"`,
		`return string.reverse("abc") == "cba" and string.reverse("") == ""`,
		`return string.rep("ab", 3) == "ababab" and string.rep("x", 0) == "" and string.rep("x", -5) == "" and string.rep("", 1e9) == "" and string.rep("x", 2.9) == "xx"`,
		`return string.find("hello", "l") == 3 and string.match("key=val", "(%w+)=") == "key" and select(2, ("a b c"):gsub(" ", "_")) == 2`,
		`return string.gfind == string.gfind and string.gfind("a", "a")() == "a"`,
		`return string.upper(5) == "5" and ("%d"):format(3) == "3" and (5 .. ""):rep(2) == "55"`,
		`return "a" < "b" and "a" < "aa" and "B" < "a" and "" < "a" and not ("a" < "a") and "a" <= "a" and "b" > "a" and "b" >= "b"`,
		`return 1 .. 2 == "12" and "a" .. 1.5 .. "b" == "a1.5b" and "x" .. -0.5 == "x-0.5" and 2147483648 .. "" == "2147483648"`,
		`local a, b = "x", "y" return a .. b .. a .. b .. (a .. b) .. a == "xyxyxyx"`,
	)
	require.ErrorContains(t, fails(t, `return "a" .. nil`), "attempt to concatenate a nil value")
	require.ErrorContains(t, fails(t, `local t = {} return "x" .. t.missing .. "y"`), "look at t.missing")
	require.ErrorContains(t, fails(t, `return 1 < "2"`), "attempt to compare number with string")
	require.ErrorContains(t, fails(t, `return {} < {}`), "attempt to compare table with table")
	require.ErrorContains(t, fails(t, `local s = "x" return s:nope()`), "s:nope")
}

func TestTableFunctions(t *testing.T) {
	holds(t, nil,
		`local t = {3, 1, 2} table.sort(t) return table.concat(t, ",") == "1,2,3"`,
		`local t = {"b", "a", "c"} table.sort(t, function(a, b) return a > b end) return table.concat(t) == "cba"`,
		// Equal elements keep their order.
		`local t = {} for i = 1, 50 do t[i] = {k = i % 3, i = i} end table.sort(t, function(a, b) return a.k < b.k end)
		 for i = 2, 50 do if t[i - 1].k == t[i].k and t[i - 1].i > t[i].i then return false end end return true`,
		`local t = {1} table.insert(t, 2) table.insert(t, 1, 0) return table.concat(t, ",") == "0,1,2"`,
		`local t = {} table.insert(t, 5, "x") return t[5] == "x" and t[1] == nil`,
		`local t = {1, 2, 3} return table.remove(t) == 3 and table.remove(t, 1) == 1 and table.remove(t, 9) == nil and #t == 1`,
		`return table.remove({}) == nil and table.concat({}) == "" and table.concat({1, "a", 2.5}, "-") == "1-a-2.5"`,
		`return table.concat({1, 2, 3, 4}, ",", 2, 3) == "2,3" and table.concat({1, 2}, ",", 3) == ""`,
		`return table.getn({1, 2}) == 2 and table.maxn({1, 2, nil, 4}) == 4 and #{1, 2, 3} == 3`,
		`return unpack({1, 2, 3}, 2) == 2 and select("#", unpack({}, 1, 3)) == 3 and select("#", unpack({}, math.huge, math.huge)) == 1 and select("#", unpack({1}, 2, 1)) == 0`,
		`local t = {} t.x = 1 t.y = 2 t.x = nil local n = 0 for k, v in pairs(t) do n = n + v end return n == 2`,
		`local t = {x = 1, 5, y = 2, 6} local ks = {} for k in pairs(t) do ks[#ks + 1] = tostring(k) end return table.concat(ks, ",") == "1,2,x,y"`,
		`local t = {10, 20, nil, 40} local n = 0 for i, v in ipairs(t) do n = n + v end return n == 30`,
		`return next({}) == nil and next({5}) == 1 and select(2, next({a = 1})) == 1 and next({5}, 1) == nil`,
		`local function f(...) local t = {...} return #t, select("#", ...), select(-1, ...) end local a, b, c = f(1, 2, 3) return a == 3 and b == 3 and c == 3`,
		`local function f(...) return arg.n, #arg, arg[2] end local n, len, second = f("a", "b") return n == 2 and len == 2 and second == "b"`,
		`local t = {f = function(self, x) return self.n + x end, n = 2} return t:f(3) == 5`,
		`local t = {{1, 2}, {a = {b = {"deep"}}}} return t[2].a.b[1] == "deep" and #t[1] == 2`,
	)
	require.ErrorContains(t, fails(t, `return table.concat({1, {}, 3})`), "invalid value (a table) at index 2 in table for concat")
	require.ErrorContains(t, fails(t, `table.sort({1, "x"})`), "attempt to compare")
	require.ErrorContains(t, fails(t, `table.sort({1, 2}, 5)`), "function expected")
	require.ErrorContains(t, fails(t, `table.insert(nil, 1)`), "table expected, got nil")
	require.ErrorContains(t, fails(t, `for k in pairs(nil) do end`), "table expected, got nil")
	require.ErrorContains(t, fails(t, `local t = {} t[nil] = 1`), "table index is nil")
	require.ErrorContains(t, fails(t, `local t = {} t[0/0] = 1`), "table index is NaN")
}

func TestMathFunctions(t *testing.T) {
	holds(t, nil,
		`return math.floor(2.7) == 2 and math.floor(-2.1) == -3 and math.ceil(2.1) == 3 and math.abs(-5) == 5`,
		`return math.max(1, 5, 3) == 5 and math.min(4, 2, 8) == 2 and math.sqrt(16) == 4 and math.pow(2, 10) == 1024`,
		`return math.fmod(7, 3) == 1 and math.mod(-7, 3) == -1 and -7 % 3 == 2 and 7 % -3 == -2 and 5.5 % 2 == 1.5`,
		`return math.modf(3.7) == 3 and math.abs(select(2, math.modf(3.7)) - 0.7) < 1e-9 and math.frexp(8) == 0.5 and math.ldexp(0.5, 4) == 8`,
		`return math.abs(math.sin(math.pi)) < 1e-9 and math.cos(0) == 1 and math.exp(0) == 1 and math.log(1) == 0 and math.log10(1000) > 2.99`,
		`return math.huge > 1e308 and -math.huge < -1e308 and math.deg(math.pi) == 180 and math.rad(180) == math.pi`,
		// Random numbers are the same in every call, and as asked for.
		`local a = {} for i = 1, 100 do local r = math.random(6) if r < 1 or r > 6 or r % 1 ~= 0 then return false end end return true`,
		`local r = math.random() return r >= 0 and r < 1 and math.random(5, 5) == 5`,
		`math.randomseed(3) local a = math.random(1e6) math.randomseed(3) return a == math.random(1e6)`,
		`return not pcall(math.random, 0) and not pcall(math.random, 2, 1) and not pcall(math.random, -math.huge, math.huge)`,
		`return tonumber("10") == 10 and tonumber(" 5 ") == 5 and tonumber("0x1F") == 31 and tonumber("ff", 16) == 255 and tonumber("x") == nil and tonumber("") == nil and tonumber({}) == nil`,
		`return tonumber("1e2") == nil and tonumber("1.5") == 1.5 and tostring(1e15) == "1000000000000000" and -5 % 3 == 1 and "10" + 5 == 15`,
	)
	first := run(t, `return {math.random(), math.random(100), math.random(-5, 5)}`)
	require.Equal(t, first, run(t, `return {math.random(), math.random(100), math.random(-5, 5)}`))
}

func TestTheClockIsTheEnginesAndInUTC(t *testing.T) {
	now := time.Date(2024, 2, 29, 13, 4, 5, 0, time.FixedZone("elsewhere", 5*3600))
	clock := func() time.Time { return now }
	e := newEngine(t, luakube.WithClock(clock))
	for expression, want := range map[string]any{
		`os.time()`:                     now.Unix(),
		`os.date()`:                     "29 Feb 24 08:04 UTC",
		`os.date("%Y-%m-%dT%H:%M:%SZ")`: "2024-02-29T08:04:05Z",
		`os.date("!%F %X %p %I")`:       "2024-02-29 08:04:05 AM 08",
		`os.date("%a %A %b %B %d %y %w %j %x %z %Z")`: "Thu Thursday Feb February 29 24 4 060 02/29/24 +0000 UTC",
		`os.date("%% %Q %", 0)`:                       "% %Q %",
		`os.date("%F", 0)`:                            "1970-01-01",
		`os.date("%F", -1)`:                           "1969-12-31",
		`os.date("*t").yday`:                          int64(60),
		`os.date("!*t", 86399)`:                       fromJSON(t, `{"year": 1970, "month": 1, "day": 1, "hour": 23, "min": 59, "sec": 59, "wday": 5, "yday": 1, "isdst": false}`),
		`os.time({year = 2024, month = 2, day = 29})`: time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC).Unix(),
		`os.time({year = 2024, month = 2, day = 29, hour = 8, min = 4, sec = 5})`: now.Unix(),
		`os.time({year = 2024, month = 14, day = -1})`:                            time.Date(2024, 14, -1, 12, 0, 0, 0, time.UTC).Unix(),
		`os.time(os.date("*t"))`:                                                  now.Unix(),
		`os.difftime(os.time(), 100)`:                                             now.Unix() - 100,
		`os.clock()`:                                                              int64(0),
	} {
		v, _, err := call(t, compile(t, e, "return "+expression))
		require.NoError(t, err, expression)
		require.Equal(t, want, v, expression)
	}
	for expression, want := range map[string]string{
		`os.time({year = 2024})`:                       "field 'month' is missing in the date table",
		`os.time({year = 2024, month = 1, day = 1.5})`: "field 'day' of the date table must be a whole number",
		`os.time({year = 1e300, month = 1, day = 1})`:  "field 'year' of the date table must be a whole number of ordinary size",
		`os.date("%F", 1e300)`:                         "time out of range",
		`os.date("%F", 0/0)`:                           "time out of range",
		`os.time(5)`:                                   "table expected, got number",
	} {
		_, _, err := call(t, compile(t, e, "return "+expression))
		require.ErrorContains(t, err, want, expression)
	}
	ticking := newEngine(t, luakube.WithClock(func() time.Time { now = now.Add(time.Second); return now }))
	v, _, err := call(t, compile(t, ticking, `os.clock() os.clock() return os.clock() >= 2 and os.time() < os.time()`))
	require.NoError(t, err)
	require.Equal(t, true, v)
	_, err = luakube.New(luakube.WithClock(nil))
	require.ErrorContains(t, err, "the clock is nil")
}

func TestRequireGivesTheStandardLibraries(t *testing.T) {
	holds(t, nil,
		`return require("string") == string and require("table") == table and require("math") == math and require("os") == os and require("kube") == kube`,
		`return require("string").upper("x") == "X" and require("kube") == require("kube")`,
		`return _G == _G._G and _G.string == string and _VERSION == "Lua 5.1" and type(package.loaded) == "table"`,
		`local names = {} for k in pairs(table) do names[#names + 1] = k end return table.concat(names, " ") == "concat getn insert maxn remove sort"`,
	)
}

func TestProtectedCalls(t *testing.T) {
	holds(t, map[string]any{"spec": map[string]any{"x": int64(1)}},
		// What was captured stays captured.
		`local n = 0 local function inc() n = n + 1 end inc() pcall(error, "x") inc() return n == 2`,
		`local n = 0 local function inc() n = n + 1 end pcall(function() inc() error("x") end) n = n + 10 inc() return n == 12`,
		`local n = 0 local function inc() n = n + 1 end for i = 1, 5 do pcall(function() n = n + i inc() error("x") end) end return n == 20`,
		`local n = 0 xpcall(function() n = 1 error("x") end, function(e) n = n + 1 end) n = n + 1 return n == 3`,
		`local get, set pcall(function() local v = 7 get = function() return v end set = function(x) v = x end error("x") end) local a, b, c = 1, 2, 3 set(8) return get() == 8`,
		`local fs = {} for i = 1, 3 do pcall(function() local j = i fs[i] = function() j = j + 1 return j end error("x") end) end return fs[1]() == 2 and fs[3]() == 4 and fs[1]() == 3`,
		`local get pcall(function() local v = 7 get = function() return v end local function f() return 1 + f() end f() end) return get() == 7`,
		`local n = 0 local function count(d) n = n + 1 if d > 0 then pcall(count, d - 1) error("x") end end pcall(count, 50) return n == 51`,
		// Results and errors come through.
		`return select("#", pcall(function() return 1, nil, 3 end)) == 4 and select(4, pcall(function() return 1, nil, 3 end)) == 3`,
		`return select("#", pcall(function() end)) == 1 and select(3, pcall(function(...) return ... end, 1, 2)) == 2`,
		`local ok, e = pcall(error, {code = 5}) return not ok and e.code == 5`,
		`local ok, e = pcall(error) return not ok`,
		`local ok, e = pcall(error, "x") return e == "x"`,
		`local ok, e = pcall(error, "x", 0) return e == "x"`,
		`local ok, e = pcall(function() error("x") end) return e == "probe/rule:1: x"`,
		`local ok, e = pcall(function() return nil + 1 end) return not ok and string.find(e, "probe/rule:1:", 1, true) == 1`,
		`local ok, e = pcall(function() local ok, e = pcall(error, "inner") error(e .. " outer", 0) end) return e == "inner outer"`,
		`local ok, e = pcall(5) return not ok and type(e) == "string"`,
		`local ok, a, b = xpcall(function() return 1, 2 end, print) return ok and a == 1 and b == 2`,
		`local ok, e = xpcall(function() error("x", 0) end, function(e) return e .. "!" end) return not ok and e == "x!"`,
		`local ok, e = xpcall(function() error("x", 0) end, function(e) error("handler", 0) end) return not ok and e == "handler"`,
		`return assert(5, "no") == 5 and select(2, pcall(assert, false, "no")) == "no" and select(2, pcall(assert, nil)) == "assertion failed!"`,
		// Depth and stack limits can be caught, and the script goes on.
		`local function f() return 1 + f() end local ok, e = pcall(f) local function g(n) return n == 0 and 0 or 1 + g(n - 1) end return not ok and string.find(e, "stack overflow") and g(500) == 500`,
		`local t = {} for i = 1, 60000 do t[i] = i end local function f(...) return (function(...) return (function(...) return select("#", ...) end)(...) end)(...) end local ok = pcall(f, unpack(t)) return ok == false and #t == 60000`,
		// Views, libraries and metatables are the same inside.
		`local v = o.spec return pcall(function() return o.spec end) and select(2, pcall(function() return o.spec end)) == v`,
		`pcall(function() o.spec.y = 2 error("x") end) return o.spec.y == 2 and o.spec.x == 1`,
		`return select(2, pcall(function() return ("x"):upper() .. #{1, 2} .. kube.resourceAdd("1", "1") end)) == "X22"`,
		`local t = {3, 1, 2} pcall(table.sort, t, function(a, b) error("x") end) table.sort(t) return table.concat(t) == "123"`,
		`return (string.gsub("abc", "%w", function(c) return select(2, pcall(string.upper, c)) end)) == "ABC"`,
	)
}

func TestErrorsSayWhereAndWhy(t *testing.T) {
	o := map[string]any{"spec": map[string]any{}}
	for source, want := range map[string]string{
		"\nreturn o.status.x":                                "probe/rule:2: attempt to index o.status, which is nil, with key 'x'",
		"\n\nfor _, c in ipairs(o.status.conditions) do end": "probe/rule:3: attempt to index o.status, which is nil, with key 'conditions'",
		"for _, c in ipairs(o.spec.conditions) do end":       "bad argument #1 to ipairs (table expected, got nil): look at o.spec.conditions",
		"o.status.x = 1":                                     "attempt to index o.status, which is nil, with key 'x'",
		"return o.spec.a + 1":                                "attempt to calculate nil + number: look at o.spec.a",
		"return o.spec.a < 1":                                "attempt to compare nil with number: look at o.spec.a",
		"return 'x' .. o.spec.a":                             "attempt to concatenate a nil value: look at o.spec.a",
		"o.spec.nope()":                                      "attempt to call a non-function object: look at require and o.spec.nope",
		"return #o.spec.a":                                   "look at o.spec.a",
		"error('mine')":                                      "probe/rule:1: mine",
		"error({message = 'mine'})":                          "probe/rule: mine",
		"error({})":                                          "probe/rule: a table was raised as an error",
		"error()":                                            "probe/rule",
	} {
		err := fails(t, source, o)
		require.ErrorContains(t, err, want, source)
		var script *luakube.ScriptError
		require.ErrorAs(t, err, &script, source)
		require.Equal(t, "probe/rule", script.Script)
	}
	require.Less(t, len(fails(t, "return o"+strings.Repeat(".deep", 100)+".x").Error()), 1000)
	require.Less(t, len(fails(t, "return o"+strings.Repeat("()", 100)).Error()), 1000)
	for source, want := range map[string]string{
		"x = = 1":                            "probe/rule:1:5: syntax error near \"=\"",
		"function G() end":                   "the script defines no function F",
		"function f() end":                   "the script defines no function F; is f meant to be it?",
		"F = 5":                              "F is a number, not a function",
		"error('at load')\nfunction F() end": "probe/rule:1: at load",
		"function F()\n\nreturn 1\n":         "probe/rule:3: syntax error at the end of the script",
		"goto nowhere function F() end":      "nowhere",
	} {
		_, err := newEngine(t).Compile("probe/rule", source, "F")
		require.ErrorContains(t, err, want, source)
	}
}

type counter struct{ Start int }

func (c *counter) Add(n int) int                    { return c.Start + n }
func (c *counter) Fail(message string) (int, error) { return 0, errors.New(message) }
func (c *counter) Keys(o map[string]any) int        { return len(o) }
func (c *counter) Another() *counter                { return &counter{c.Start + 1} }
func (c *counter) Each(list []any, f func(x any) string) (all string) {
	for _, x := range list {
		all += f(x)
	}
	return all
}

func TestGoModules(t *testing.T) {
	var got any
	e := newEngine(t,
		luakube.WithModule("double", func(n float64) float64 { return 2 * n }),
		luakube.WithModule("counter", &counter{Start: 10}),
		luakube.WithModule("lib", map[string]any{
			"take":   func(v any) { got = v },
			"object": func(v map[string]any) int { got = v; return len(v) },
			"list":   func(v []any) int { got = v; return len(v) },
			"texts":  func(v []string) int { return len(v) },
			"texmap": func(v map[string]string) int { return len(v) },
			"join":   func(sep string, parts ...string) string { return fmt.Sprint(sep, parts) },
			"exact":  func(i int64) int64 { return i },
			"fails":  func() (string, error) { return "", errors.New("no luck") },
			"panics": func() { panic("on purpose") },
			"long":   func() string { return string(make([]byte, 5<<20)) },
			"name":   "lib",
		}),
	)
	eval := func(source string, args ...any) (any, error) {
		v, _, err := call(t, compile(t, e, source), args...)
		return v, err
	}
	for source, want := range map[string]any{
		`return require("double")(4)`:                                                          int64(8),
		`return require("counter"):Add(5)`:                                                     int64(15),
		`return require("counter"):add(5)`:                                                     int64(15),
		`return require("counter").Start`:                                                      int64(10),
		`return require("counter"):Another():Another():Add(1)`:                                 int64(13),
		`local v, err = require("counter"):Fail("bad") return tostring(err)`:                   "bad",
		`local v, err = require("lib").fails() return tostring(err)`:                           "no luck",
		`return tostring(require("counter")) .. tostring(require("lib").exact)`:                "userdatafunction: 1",
		`return require("counter"):Keys(o)`:                                                    int64(5),
		`return require("counter"):Keys({a = 1, b = {}})`:                                      int64(2),
		`return require("lib").texts({"a", "b"})`:                                              int64(2),
		`return require("lib").texts(o.names)`:                                                 int64(2),
		`return require("lib").texmap(o.labels)`:                                               int64(1),
		`return require("lib").join("-", "a", "b")`:                                            "-[a b]",
		`return require("lib").name`:                                                           "lib",
		`return require("lib").exact(o.big) > 9e15`:                                            true,
		`return require("counter"):each(o.names, function(x) return x:upper() end)`:            "XY",
		`return require("lib") == require("lib") and require("counter") == require("counter")`: true,
		`return pcall(require("lib").panics) == false`:                                         true,
	} {
		v, err := eval(source, moduleObject())
		require.NoError(t, err, source)
		require.Equal(t, want, v, source)
	}

	// A view arrives whole, as plain Go values that are the module's own.
	for _, touch := range []string{"", "local x = o.deep.list[1].x ", "for k in pairs(o.deep) do end "} {
		for _, function := range []string{"take", "object"} {
			arg := moduleObject()
			_, err := eval(touch+`require("lib").`+function+`(o)`, arg)
			require.NoError(t, err)
			require.Equal(t, any(moduleObject()), got)
			scramble(got)
			require.Equal(t, moduleObject(), arg)
		}
	}
	_, err := eval(`require("lib").list(o.deep.list) require("lib").list({})`, moduleObject())
	require.NoError(t, err)
	require.Equal(t, []any{}, got)

	for source, want := range map[string]string{
		`require("counter").Start = 5`:                                   "a module's values cannot be changed",
		`local x = require("counter") ^ require("counter")`:              "a module's values cannot be changed",
		`require("counter"):each({1}, function() while true do end end)`: "exceeded 20000000 instructions",
		`require("lib").panics()`:                                        "on purpose",
		`require("lib").long()`:                                          "exceeded a text of 4194304 bytes",
		`require("lib").texts({"a", kube.null})`:                         "holds a null",
		`require("lib").texts({print})`:                                  "holds a function",
		`local t = {} t[1] = t require("lib").texts(t)`:                  "contains itself",
		`local t = {} t[1] = t require("lib").take(t)`:                   "contains itself",
		`return {require("counter")}`:                                    "is a userdata, which is no value of a resource",
	} {
		_, err := eval(source)
		require.ErrorContains(t, err, want, source)
	}
}

func moduleObject() map[string]any {
	return map[string]any{
		"big": int64(9007199254740993), "names": []any{"x", "y"}, "labels": map[string]any{"a": "b"}, "none": nil,
		"deep": map[string]any{"list": []any{map[string]any{"x": int64(1)}, nil, []any{}, map[string]any{}}, "f": 3.0},
	}
}

func TestScriptModules(t *testing.T) {
	e := newEngine(t,
		luakube.WithScriptModule("util", `local M = {} loads = (loads or 0) + 1 function M.loads() return loads end function M.double(x) return x * 2 end return M`),
		luakube.WithScriptModule("uses", `local util = require("util") return {four = util.double(2), util = util}`),
		luakube.WithScriptModule("nothing", `x = 1`),
		luakube.WithScriptModule("a", `return require("b")`),
		luakube.WithScriptModule("b", `return require("a")`),
		luakube.WithScriptModule("broken", "\n\nlocal x = nil .. 'x'"),
		luakube.WithScriptModule("late", "local M = {}\nfunction M.fail(o)\n  return o.status.x\nend\nreturn M"),
	)
	for source, want := range map[string]any{
		`return require("util").double(21)`:                                      int64(42),
		`return require("uses").four`:                                            int64(4),
		`return require("util").loads() + require("util").loads()`:               int64(2),
		`return require("nothing")`:                                              true,
		`require("nothing") return x == nil and loads == nil`:                    true,
		`return pcall(require, "a") == false and require("util").double(1) == 2`: true,
		// A module that fails to load leaves the script as it was, and fails the same way again.
		`string.x = 1 pcall(require, "broken") return string.x == 1`:                                                                                      true,
		`local _, e = pcall(require, "broken") local _, again = pcall(require, "broken") return e == again and string.find(e, "broken:3:", 1, true) == 1`: true,
	} {
		for range 3 {
			v, _, err := call(t, compile(t, e, source))
			require.NoError(t, err, source)
			require.Equal(t, want, v, source)
		}
	}
	for source, want := range map[string]string{
		`require("a")`:             "requires itself",
		`require("broken")`:        "broken:3: ",
		`require("late").fail({})`: "late:3: attempt to index o.status, which is nil, with key 'x'",
		`require("utils")`:         `did you mean "util"?`,
	} {
		_, _, err := call(t, compile(t, e, source))
		require.ErrorContains(t, err, want, source)
	}
	for _, option := range []luakube.Option{
		luakube.WithScriptModule("string", ""), luakube.WithScriptModule("kube", ""), luakube.WithModule("", 1), luakube.WithModule("a b", 1),
		luakube.WithModule("nil", nil), luakube.WithScriptModule("syntax", "return return"), luakube.WithModule("table", 5),
	} {
		_, err := luakube.New(option)
		require.Error(t, err)
	}
	_, err := luakube.New(luakube.WithModule("m", 1), luakube.WithScriptModule("m", ""))
	require.ErrorContains(t, err, `module "m" is there already`)
}

func TestEveryKubeFunctionDoesWhatItsExampleSays(t *testing.T) {
	functions := luakube.Functions()
	require.NotEmpty(t, functions)
	for _, f := range functions {
		t.Run(f.Name, func(t *testing.T) {
			require.NotEmpty(t, f.Doc)
			require.Contains(t, f.Signature, f.Name+"(")
			require.Contains(t, f.Example, "kube."+f.Name)
			require.Equal(t, f.Gives, run(t, "return tostring("+f.Example+")"))
		})
	}
	functions[0].Name = "changed"
	require.NotEqual(t, "changed", luakube.Functions()[0].Name)
}

func TestEveryOperationHasTheSameFunctions(t *testing.T) {
	all := `string.upper("x") math.max(1, 2) table.concat({}) os.time() ipairs({}) `
	for _, f := range luakube.Functions() {
		all += "tostring(" + f.Example + ") "
	}
	for _, name := range luakube.Globals() {
		all += "assert(" + name + " ~= nil) "
	}
	for _, library := range []string{"string", "table", "math", "os"} {
		for _, name := range luakube.Library(library) {
			all += fmt.Sprintf("assert(%s.%s ~= nil and require(%q).%[2]s ~= nil) ", library, name, library)
		}
	}
	e := newEngine(t)
	for _, contract := range interpreter.Contracts() {
		s, err := e.Compile(contract.Rule, `local kube = require("kube") function `+contract.Function+`(o) `+all+` called = true return "called" end`, contract.Function)
		require.NoError(t, err, contract.Operation)
		v, _, err := call(t, s, map[string]any{})
		require.NoError(t, err, contract.Operation)
		require.Equal(t, "called", v, contract.Operation)
	}
}

func TestKubeFunctions(t *testing.T) {
	o := fromJSON(t, `{"spec": {"ports": [{"port": 80}], "none": null, "labels": {"app.kubernetes.io/name": "x", "a]b": "y"}, "template": {"spec": {"serviceAccountName": "robot",
		"containers": [{"name": "c", "resources": {"requests": {"cpu": "500m"}}}], "volumes": [{"name": "v", "configMap": {"name": "settings"}}]}}},
		"status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Done", "status": "False"}]}}`)
	holds(t, o,
		`return kube.resourceAdd() == "0" and kube.resourceAdd(nil, "1") == "1" and kube.resourceAdd("1Gi", "512Mi") == "1536Mi" and kube.resourceAdd("0", "1Gi") == "1Gi" and kube.resourceAdd("1", "500m") == "1500m"`,
		`return kube.getResourceQuantity("1500m") == 1.5 and kube.getResourceQuantity("1Gi") == 1073741824 and kube.getResourceQuantity(nil) == 0`,
		`return kube.resourceSub("1", "1500m") == "-500m" and kube.resourceSub("1Gi", nil) == "1Gi"`,
		`return kube.resourceMul("100m", 3) == "300m" and kube.resourceMul("1Gi", 0.5) == "512Mi" and kube.resourceMul("1", 1/3) == "334m" and kube.resourceMul("1", 0) == "0"`,
		`return kube.resourceCompare("1", "1000m") == 0 and kube.resourceCompare("1", "2") == -1 and kube.resourceCompare("1Gi", nil) == 1`,
		`local r = kube.accuratePodRequirements(o.spec.template) return r.resourceRequest.cpu == "500m"`,
		`return kube.accuratePodRequirements({}) == nil and kube.accuratePodRequirements({spec = {containers = {}}}) == nil`,
		`local d = kube.getPodDependencies(o.spec.template, "ns") return #d == 2 and d[1].namespace == "ns"`,
		`return kube.getPodDependencies(o.spec.template, nil)[1].namespace == "default" and kube.getPodDependencies(o.spec.template, "")[1].namespace == nil`,
		`local d = kube.getPodDependencies({}, "ns") return type(d) == "table" and #d == 0`,
		`return kube.get(o, "spec.ports[1].port") == 80 and kube.get(o, "spec.ports[2].port") == nil and kube.get(o, "spec.ports[2].port", 5) == 5`,
		`return kube.get(o, 'spec.labels["app.kubernetes.io/name"]') == "x" and kube.get(o, "spec.labels['a]b']") == "y" and kube.get(o, "") == o`,
		`return kube.get(o, "spec.none", "d") == "d" and kube.get(nil, "a.b", 1) == 1 and kube.get("text", "a", 2) == 2 and kube.get(o, "spec.ports[1].port.x.y", 3) == 3 and kube.get(o, "spec.ports[-1]") == nil`,
		`return kube.condition(o, "Ready").status == "True" and kube.condition(o, "Nope") == nil and kube.condition({}, "Ready") == nil and kube.condition({status = {}}, "Ready") == nil and kube.condition({status = {conditions = {"x"}}}, "Ready") == nil`,
		`return #kube.array(1, nil, 3) >= 1 and #kube.array() == 0 and next(kube.object()) == nil and kube.array("a")[1] == "a"`,
	)
	for source, want := range map[string]string{
		`kube.resourceAdd(1)`:                  "quantity as text expected, got number",
		`kube.resourceAdd("x")`:                "must be a quantity",
		`kube.resourceAdd("")`:                 "must be a quantity",
		`kube.getResourceQuantity("-1")`:       "a quantity that is not negative expected",
		`kube.getResourceQuantity()`:           "want 1 argument, got 0",
		`kube.resourceSub("1")`:                "want 2 arguments, got 1",
		`kube.resourceMul("1", 1/0)`:           "a finite number expected",
		`kube.resourceMul("1", "x")`:           "number expected, got string",
		`kube.accuratePodRequirements()`:       "want 1 argument, got 0",
		`kube.accuratePodRequirements("x")`:    "table expected, got string",
		`kube.accuratePodRequirements({1, 2})`: "pod template expected, got a list",
		`kube.accuratePodRequirements({spec = {containers = {{resources = {requests = {cpu = "x"}}}}}})`: "must be a quantity",
		`kube.getPodDependencies({})`:     "want 2 arguments, got 1",
		`kube.getPodDependencies({}, {})`: "string expected, got table",
		`kube.get(o, "a..b")`:             "a name is missing after a dot",
		`kube.get(o, "a.")`:               "a name is missing after a dot",
		`kube.get(o, ".a")`:               "a name is missing",
		`kube.get(o, "a[x]")`:             `want [1], or ["key"]`,
		`kube.get(o, "a[")`:               `want [1], or ["key"]`,
		`kube.get(o, 'a["x')`:             "a quoted key does not end",
		`kube.get(o)`:                     "string expected, got nil",
		`kube.condition(nil, "Ready")`:    "object expected, got nil",
		`kube.next()`:                     "there is no layer below to ask",
	} {
		require.ErrorContains(t, fails(t, "return "+source, o), want, source)
	}
}

func TestNextAsksTheLayersBelow(t *testing.T) {
	var asked []any
	problem := errors.New("no rule below")
	next := func(ctx context.Context, args []any) ([]any, error) {
		asked = args
		if len(args) > 0 && args[0] == "fail" {
			return nil, problem
		}
		return []any{int64(3), &v1alpha1.ReplicaRequirements{Namespace: "ns"}, []v1alpha1.DependentObjectReference{{Kind: "Secret", Name: "s"}}}, nil
	}
	ask := func(source string) (any, error) {
		var a answer
		_, err := compile(t, newEngine(t), source).Call(t.Context(), &luakube.Call{Args: []any{moduleObject()}, Rets: []luakube.Ret{{Noun: "answer", Into: &a}}, Next: next})
		return a.value, err
	}
	v, err := ask(`local n, r, d = kube.next() return {n + 1, r.namespace, d[1].name, d, r}`)
	require.NoError(t, err)
	require.Empty(t, asked)
	require.Equal(t, []any{int64(4), "ns", "s", []any{map[string]any{"apiVersion": "", "kind": "Secret", "name": "s"}}, map[string]any{"namespace": "ns"}}, v)

	_, err = ask(`o.deep.f = nil kube.next(o, 5) return 1`)
	require.NoError(t, err)
	want := moduleObject()
	delete(want["deep"].(map[string]any), "f")
	require.Equal(t, []any{want, int64(5)}, asked)

	// An error that the script lets pass comes back as it was.
	_, err = ask(`kube.next("fail")`)
	require.Equal(t, problem, err)
	v, err = ask(`local ok, e = pcall(kube.next, "fail") return e`)
	require.NoError(t, err)
	require.Equal(t, "no rule below", v)
	_, err = ask(`pcall(kube.next, "fail") error("mine")`)
	require.ErrorContains(t, err, "mine")
	_, err = ask(`while true do local n, r, d = kube.next() end`)
	require.ErrorIs(t, err, luakube.ErrLimit)
}

func TestTheLayersBelowHaveWhatIsLeftOfTheWallTime(t *testing.T) {
	limits := luakube.DefaultLimits()
	limits.Time = 50 * time.Millisecond
	s := compile(t, newEngine(t, luakube.WithLimits(limits)), `return pcall(kube.next)`)
	_, err := s.Call(t.Context(), &luakube.Call{Next: func(ctx context.Context, _ []any) ([]any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	var limit *luakube.LimitError
	require.ErrorAs(t, err, &limit)
	require.Equal(t, "time", limit.Limit)
}

func TestAnalyzeFindsLikelyMistakes(t *testing.T) {
	e := newEngine(t)
	for source, want := range map[string]string{
		"function F(o) return o.x end":                                                                             "",
		"local function g(x) return x end\nfunction F(o) return g(o) end":                                          "",
		"function F(o) local x = 1 for i, v in ipairs({}) do print(i, v, x) end return string.upper(_VERSION) end": "",
		"function F(o) y = 1 return y end":                                                                         "",
		"function F(...) return arg[1] end":                                                                        "",
		"function F() return 1 end":                                                                                "1: F is called with 1 argument (o), but takes 0",
		"function F(a, b) return 1 end":                                                                            "1: F is called with 1 argument (o), but takes 2",
		"function F(o)\n  return stauts\nend":                                                                      "2: the global stauts is read and never set",
		"function F(o) return kube.get(o, 'x') end":                                                                `1: the global kube is read and never set; add: local kube = require("kube")`,
		"function F(o) return pairz(o) end":                                                                        "1: the global pairz is read and never set, did you mean pairs?",
		"function F(o) return loadstring('x') end":                                                                 "1: loadstring is not available in rules",
		"function F(": "",
	} {
		got := ""
		findings := e.Analyze(source)
		if script, err := e.Compile("p/x", source, "F"); err == nil {
			if f := script.CheckParameters([]string{"o"}); f != nil {
				findings = append(findings, *f)
			}
		}
		for _, f := range findings {
			got += fmt.Sprintf("%d: %s\n", f.Line, f.Message)
		}
		if want != "" {
			want += "\n"
		}
		require.Equal(t, want, got, source)
	}
	f := e.Analyze("function F(o)\n  return o.stauts, stauts\nend")
	require.Equal(t, []luakube.Finding{{Line: 2, Column: 20, Message: "the global stauts is read and never set"}}, f)
}

func TestWhatScriptsRelyOn(t *testing.T) {
	e := newEngine(t)
	for _, body := range []string{
		`local y, m, d = ("2024-01-02"):match("(%d+)-(%d+)-(%d+)") return os.time{year = y, month = m, day = d} == os.time{year = 2024, month = 1, day = 2}`,
		`return math.max("1", 2) == 2 and math.max("10", "9") == 10 and math.min("3", 2, "1") == 1`,
		`x = 1 function f() x = 5 return 3 end return (x > f()) == false and x == 5`,
		`x = 5 function f() x = 1 return 3 end return f() >= x`,
		`local a = 9223372036854775807 return o.big == 9223372036854775807 and a == o.big and not (o.big ~= a) and o.big ~= "x" and o.big ~= nil and o.big ~= 1`,
		`return o.odd == o.odd and math.fmod(o.odd, 10) == 3 and o.odd ~= o.big`,
	} {
		s, err := e.Compile("p/x", "function F(o) "+body+" end", "F")
		require.NoError(t, err)
		var got any
		_, err = s.Call(t.Context(), &luakube.Call{
			Args: []any{map[string]any{"big": int64(9223372036854775807), "odd": int64(9007199254740993)}},
			Rets: []luakube.Ret{{Noun: "answer", Into: anyValue{&got}}},
		})
		require.NoError(t, err, body)
		require.Equal(t, true, got, body)
	}
}

// anyValue takes a result of any type.
type anyValue struct{ into *any }

func (a anyValue) UnmarshalValue(v any) error { *a.into = v; return nil }

func TestTextThatIsNotUTF8IsRefusedWithItsPlace(t *testing.T) {
	e := newEngine(t)
	for body, want := range map[string]string{`return {a = {"\255"}}`: "a[0] is the text", `return {["\255"] = 1, ["\254"] = 2}`: "which is not UTF-8"} {
		s, err := e.Compile("p/x", "function F(o) "+body+" end", "F")
		require.NoError(t, err)
		var got any
		_, err = s.Call(t.Context(), &luakube.Call{Rets: []luakube.Ret{{Noun: "status", Into: &got}}})
		require.ErrorContains(t, err, want)
		require.ErrorIs(t, err, interpreter.ErrInvalidResult)
	}
}
