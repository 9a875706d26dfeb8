package luakube_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kubeinterpret/interpret/luakube"
)

// hostile are scripts that want all there is. Each ends at a limit, or with an error that says what is too much.
var hostile = []struct{ name, source, limit, want string }{
	// Time.
	{"loop", `while true do end`, "instructions", ""},
	{"repeat loop", `repeat until false`, "instructions", ""},
	{"goto loop", `::again:: goto again`, "instructions", ""},
	{"numeric loop", `for i = 1, math.huge do end`, "instructions", ""},
	{"iterator loop", `for x in function() return 1 end do end`, "instructions", ""},
	{"tail call loop", `local function f() return f() end f()`, "call depth", ""},
	{"loop in pcall", `while true do pcall(function() while true do end end) end`, "instructions", ""},
	{"caught again and again", `for i = 1, 1e9 do pcall(function() for i = 1, 1e9 do pcall(error, "x") end end) end`, "instructions", ""},
	{"loop in an error handler", `for i = 1, 1e9 do xpcall(function() error("x") end, function() while true do end end) end`, "instructions", ""},
	{"error in an error handler", `while true do xpcall(error, function() error("y") end) end`, "instructions", ""},
	{"loop in a gsub callback", `return ("x"):gsub("x", function() while true do end end)`, "instructions", ""},
	{"loop in a sort comparator", `table.sort({2, 1}, function() while true do end end)`, "instructions", ""},
	{"sort that never agrees", `local t = {} for i = 1, 1e5 do t[i] = i end while true do table.sort(t, function() return true end) end`, "instructions", ""},
	{"pcall tree", `local function f() pcall(f) pcall(f) end f()`, "instructions", ""},
	{"arithmetic on text", `local s = ("1"):rep(300) while true do local x = s + s end`, "instructions", ""},
	{"length of nothing", `local t = {} t[1600000] = 1 t[1600000] = nil while true do local x = ` + strings.TrimSuffix(strings.Repeat("#t + ", 60), " + ") + ` end`, "time", ""},
	{"next over nothing", `local t = {} t[1600000] = 1 t[1600000] = nil while true do next(t) end`, "time", ""},
	{"index beyond nothing", `local t, i = {}, 100 t[500000] = 1 t[500000] = nil while true do i = i + 1 t[i] = 1 t[i] = nil t[500000 + i] = 1 t[500000 + i] = nil end`, "memory", ""},
	{"result of nothing", `local t, r = {}, {} t[1600000] = 1 t[1600000] = nil for i = 1, 10000 do r[i] = t end return r`, "time", ""},
	{"concat of numbers", `local t = {} for i = 1, 1e4 do t[i] = i end while true do table.concat(t, "") end`, "memory", ""},
	{"long keys", `local s, t = ("x"):rep(4e6), {} while true do local x = t[s] x = t[s] x = t[s] x = t[s] x = t[s] x = t[s] end`, "instructions", ""},
	{"long comparisons", `local s, t = ("x"):rep(4e6), ("x"):rep(4e6) while true do local x = s == t x = s < t x = s == t x = s == t end`, "instructions", ""},
	{"quantities", `while true do kube.resourceAdd("1e60", "1e-60", "1.0000000001") end`, "instructions", ""},
	{"quantity of a huge exponent", `return kube.resourceAdd("1e2000000000", "1")`, "", "quantity of a sensible size"},
	{"quantity of many digits", `return kube.resourceAdd(("1"):rep(1e6))`, "", "must be a quantity"},
	{"long path", `local p = ("a."):rep(4e5) .. "b" while true do kube.get(o, p) end`, "instructions", ""},
	{"dependencies", `local t = {spec = {volumes = {}}} for i = 1, 2000 do t.spec.volumes[i] = {secret = {secretName = "s" .. i}} end while true do kube.getPodDependencies(t, "x") end`, "memory", ""},
	{"dates", `while true do os.date(("%c"):rep(1e5)) end`, "memory", ""},
	{"printing", `while true do print(("x"):rep(1e5)) end`, "memory", ""},

	// Patterns.
	{"find", `return string.find(("a"):rep(5000), ".-.-.-.-.-b")`, "instructions", ""},
	{"find as method", `return ("a"):rep(5000):find(".-.-.-.-.-b")`, "instructions", ""},
	{"match", `return string.match(("a"):rep(200), ("a*"):rep(30) .. "b")`, "instructions", ""},
	{"match as method", `return ("a"):rep(200):match(("a?"):rep(100) .. ("a"):rep(201))`, "instructions", ""},
	{"gmatch", `for x in string.gmatch(("a"):rep(5000), ".-.-.-.-b") do end`, "instructions", ""},
	{"gmatch as method", `for x in ("a"):rep(5000):gmatch("[^b]*[^b]*[^b]*[^b]*b") do end`, "instructions", ""},
	{"gsub", `return string.gsub(("a"):rep(5000), "(.-)(.-)(.-)%1b", "")`, "instructions", ""},
	{"gsub as method", `return ("a"):rep(5000):gsub("a+a+a+a+b", "")`, "instructions", ""},
	{"search in a search", `return ("a"):rep(1e4):gsub("a", function() return ("a"):rep(1e4):find("a-b") end)`, "instructions", ""},
	{"brackets", `return ("("):rep(1e6):find("%b()")`, "instructions", ""},
	{"long set", `return ("a"):rep(1e6):find("[" .. ("b"):rep(999990) .. "a]*c")`, "instructions", ""},
	{"long set in gmatch", `for x in ("a"):rep(1e6):gmatch("[" .. ("b"):rep(999990) .. "]") do end`, "instructions", ""},
	{"long frontier", `return ("a"):rep(1e6):find("%f[" .. ("b"):rep(999990) .. "]")`, "instructions", ""},
	{"back references", `return ("a"):rep(1e5):find("(a*)%1%1b")`, "instructions", ""},
	{"captures", `return ("a"):find(("("):rep(40))`, "", "too many captures, at most 32"},
	{"nested pattern", `return ("a"):rep(300):find(("a?"):rep(300) .. "b")`, "", "pattern too complex: it nests deeper than 200"},

	// Memory.
	{"doubling", `local s = "x" while true do s = s .. s end`, "text", ""},
	{"doubling by format", `local s = "x" while true do s = string.format("%s%s", s, s) end`, "", "exceeded a text of 1000000 bytes"},
	{"doubling by concat", `local s = "x" while true do s = table.concat({s, s}) end`, "text", ""},
	{"doubling by gsub", `local s = "x" while true do s = s:gsub(".", "%0%0") end`, "memory", ""},
	{"doubling by rep", `local s = "xx" while true do s = s:rep(2) end`, "", "exceeded a text of 1000000 bytes"},
	{"a little more each time", `local s = "" while true do s = s .. "x" end`, "memory", ""},
	{"many long texts", `local t = {} for i = 1, 1e9 do t[i] = ("x"):rep(1e6) .. i end`, "memory", ""},
	{"many upper texts", `local t, s = {}, ("x"):rep(1e6) for i = 1, 1e9 do t[i] = s:upper() end`, "memory", ""},
	{"rep", `return string.rep("x", 1e9)`, "text", ""},
	{"rep as method", `return ("xxxx"):rep(1e18)`, "text", ""},
	{"rep without end", `return ("x"):rep(math.huge)`, "text", ""},
	{"replacement of captures", `return ("x"):rep(1e6):gsub(".*", ("%0"):rep(4e5))`, "text", ""},
	{"replacement of numbered captures", `return ("x"):rep(1e6):gsub("(.*)", ("%1"):rep(4e5))`, "text", ""},
	{"format width", `return string.format("%1000000d", 1)`, "", "width or precision above 99"},
	{"format precision", `return string.format("%.100f", 1)`, "", "width or precision above 99"},
	{"concat with a long separator", `local t = {} for i = 1, 1e5 do t[i] = 1 end return table.concat(t, ("x"):rep(1e6))`, "text", ""},
	{"list growing", `local t = {} while true do t[#t + 1] = 1 end`, "memory", ""},
	{"list growing by insert", `local t = {} while true do table.insert(t, 1) end`, "memory", ""},
	{"list growing at the front", `local t = {} while true do table.insert(t, 1, 1) end`, "instructions", ""},
	{"keys growing", `local t, i = {}, 0 while true do i = i + 1 t["k" .. i] = i end`, "memory", ""},
	{"keys growing by numbers", `local t, i = {}, 0.5 while true do i = i + 1 t[i] = i end`, "memory", ""},
	{"tables growing", `local t = {} while true do t = {t} end`, "memory", ""},
	{"lists growing", `local t = kube.array() while true do t = kube.array(t) end`, "memory", ""},
	{"a view growing", `while true do o[#o + 1] = 1 end`, "memory", ""},
	{"globals growing", `local i = 0 while true do i = i + 1 _G["k" .. i] = i end`, "memory", ""},
	{"a library growing", `local i = 0 while true do i = i + 1 string["k" .. i] = i end`, "memory", ""},
	{"huge index", `local t = {} t[60000000] = 1`, "memory", ""},
	{"huge index for nothing", `local t = {} for i = 1, 20 do t[i * 3000000] = nil o[i * 3000000] = nil _G[i * 3000000] = nil end while true do local x = #t + #o + #_G end`, "instructions", ""},
	{"huge index of a view", `o[60000000] = 1`, "memory", ""},
	{"huge index of globals", `_G[60000000] = 1`, "memory", ""},
	{"huge index of a library", `string[60000000] = 1`, "memory", ""},
	{"huge index of a made list", `kube.array()[60000000] = 1`, "memory", ""},
	{"huge index of package", `package.loaded[60000000] = 1`, "memory", ""},
	{"huge index of a date", `os.date("*t")[60000000] = 1`, "memory", ""},
	{"huge index in a constructor", `return {[60000000] = 1}`, "memory", ""},
	{"computed index in a constructor", `local n = 6e7 return {a = 1, [n] = 1}`, "memory", ""},
	{"huge position", `table.insert({}, 60000000, 1)`, "memory", ""},
	{"huge index of arg", `local function f(...) arg[60000000] = 1 end f(1)`, "memory", ""},
	{"closures", `local f while true do local g = f f = function() return g end end`, "memory", ""},
	{"closures in a condition", `local t = {} while (function() t[#t + 1] = function() return t end return true end)() do end`, "memory", ""},
	{"iterators", `local t = {} for i = 1, 1e9 do t[i] = ("x"):gmatch("x") end`, "memory", ""},
	{"error messages kept", `local t, s = {}, ("x"):rep(4e6) for i = 1, 1e9 do t[i] = select(2, pcall(error, s)) end`, "memory", ""},
	{"exact integers", `local t = {} for i = 1, 1e9 do t[i] = o.big + i end`, "memory", ""},
	{"names of tables", `while true do tostring({}) end`, "memory", ""},
	{"checked operations replaced", `_G["{}"] = function(t) return t end`, "", `the global "{}" cannot be set`},
	{"checked operations called", `_G["function"](-1e15) local t = {} while true do t = {t} end`, "memory", ""},

	// Depth.
	{"recursion", `local function f() return 1 + f() end f()`, "call depth", ""},
	{"recursion through pcall", `local function f() local ok, e = pcall(f) error(e, 0) end f()`, "call depth", ""},
	{"recursion through xpcall", `local function f() local ok, e = xpcall(f, function(e) return e end) error(e, 0) end f()`, "call depth", ""},
	{"recursion through gsub", `local function f() return (("x"):gsub("x", f)) end f()`, "call depth", ""},
	{"recursion through sort", `local function f() table.sort({1, 2}, f) end f()`, "call depth", ""},
	{"recursion through iterators", `local function f() for x in f do end end f()`, "call depth", ""},
	{"stack by unpack", `return unpack({}, 1, 1e8)`, "", "unpack of more values than the 131072 that fit on the stack"},
	{"stack by unpack without end", `return unpack({}, -math.huge, math.huge)`, "", "unpack of more values than the 131072 that fit on the stack"},
	{"stack by byte", `return ("x"):rep(1e6):byte(1, -1)`, "", "at most 131072 fit on the stack"},
	{"stack by many arguments", `local t = {} for i = 1, 7e4 do t[i] = i end return (function(...) return (function(...) return ... end)(...) end)(unpack(t))`, "stack slots", ""},

	// Results.
	{"deep result", `local t = {} for i = 1, 1e5 do t = {t} end return t`, "", "nests deeper than 500 levels"},
	{"exponential result", `local t = {x = 1} for i = 1, 60 do t = {a = t, b = t} end return t`, "memory", ""},
	{"exponential list", `local t = {} for i = 1, 60 do t = {t, t} end return t`, "memory", ""},
	{"views copied without end", `local t = {} for i = 1, 1e5 do t[i] = o.env end return t`, "memory", ""},
	{"cycle", `local t = {} t.t = t return t`, "", "t contains itself"},
	{"cycle for a path", `local t = {} t.t = t return kube.get(t, ("t."):rep(1e5) .. "t")`, "", "t contains itself"},
	{"huge error", `error(("x"):rep(4e6))`, "", "xxx..."},
	{"huge error value", `error({message = ("x"):rep(4e6)})`, "", "xxx..."},
	{"huge assertion", `assert(false, ("x"):rep(4e6))`, "", "xxx..."},
	{"huge key in an error", `local n return n[("x"):rep(4e6)]`, "", "attempt to index"},
}

const innocent = `
local kube = require("kube")
count = (count or 0) + 1
function F(o)
  local names = {}
  for i, e in ipairs(o.env) do names[#names + 1] = string.upper(e.name) end
  return {count = count, names = table.concat(names, ","), sum = kube.resourceAdd("1Gi", "512Mi"), big = o.big,
    replaced = (string.gsub("a-b", "-", "_")), method = ("x"):rep(3), caught = select(2, pcall(error, "e", 0)), list = {#o, {}}}
end`

func hostileObject() map[string]any {
	return map[string]any{"big": int64(9007199254740993), "env": []any{map[string]any{"name": "a"}, map[string]any{"name": "b"}}}
}

func TestHostileScriptsEndAtALimitAndHarmNobody(t *testing.T) {
	const mostMemory = 256 << 20
	limits := luakube.DefaultLimits()
	e := newEngine(t, luakube.WithLimits(limits))
	good := compile(t, e, innocent)
	want, _, err := call(t, good, hostileObject())
	require.NoError(t, err)
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			s := compile(t, e, h.source)
			var took time.Duration
			var used uint64
			// What the wall limit promises holds for an idle core, which this one may not be at first.
			for range 3 {
				took, used, err = measured(func() error { _, _, err := call(t, s, hostileObject()); return err })
				if took <= limits.Time*3/2 {
					break
				}
			}
			require.Error(t, err)
			assert.LessOrEqual(t, took, limits.Time*3/2)
			assert.Less(t, used, uint64(mostMemory))
			assert.Less(t, len(err.Error()), 5000)
			var limit *luakube.LimitError
			switch {
			case h.limit == "":
				assert.NotErrorIs(t, err, luakube.ErrLimit)
				assert.ErrorContains(t, err, h.want)
			case assert.ErrorAs(t, err, &limit):
				assert.ErrorIs(t, err, luakube.ErrLimit)
				// A slow machine may run out of time first.
				assert.Contains(t, []string{h.limit, "time"}, limit.Limit)
				assert.ErrorContains(t, err, "exceeded "+limit.Max)
			}
			t.Logf("| %s | %.60s | %v ms | %d MB |", h.name, err, took.Milliseconds(), used>>20)

			after, _, err := call(t, good, hostileObject())
			require.NoError(t, err)
			require.Equal(t, want, after)
		})
	}
}

// measured is how long a function took, and by how much memory was above what it was before.
func measured(f func() error) (time.Duration, uint64, error) {
	runtime.GC()
	before := memoryInUse()
	var peak uint64
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for tick := time.Tick(time.Millisecond); ; {
			peak = max(peak, memoryInUse())
			select {
			case <-tick:
			case <-done:
				return
			}
		}
	}()
	start := time.Now()
	err := f()
	took := time.Since(start)
	close(done)
	<-stopped
	return took, max(peak, before) - before, err
}

func memoryInUse() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() + samples[1].Value.Uint64()
}

func TestHostileSourceIsRefused(t *testing.T) {
	e := newEngine(t)
	long := func(s string) string { return strings.Repeat(s, (luakube.MaxSource-100)/len(s)) }
	for name, source := range map[string]string{
		"too long":        "x = 1 " + strings.Repeat(" ", luakube.MaxSource),
		"loop":            "while true do end function F() end",
		"tables":          "x = " + long("{"),
		"closed tables":   "x = " + strings.Repeat("{", 1e5) + strings.Repeat("}", 1e5),
		"parentheses":     "x = " + long("("),
		"signs":           "x = " + long("- ") + "1",
		"nots":            "x = " + long("not ") + "1",
		"lengths":         "x = " + long("#") + "y",
		"powers":          "x = " + long("y^") + "y",
		"sums":            "x = " + long("y+") + "y",
		"ands":            "x = " + long("y and ") + "y",
		"calls":           "x = y" + long("()"),
		"fields":          "x = y" + long(".y"),
		"methods":         "x = y" + long(":y()"),
		"functions":       "x = " + long("function() return ") + "1" + long(" end"),
		"varargs":         "function F(...) x = " + long("{"),
		"blocks":          long("do "),
		"ifs":             long("if x then "),
		"loops":           long("while x do "),
		"many locals":     long("local x "),
		"many jumps":      "while x do " + long("y=1 ") + " end",
		"unfinished text": `x = "` + long("x"),
		"unfinished note": "--[[" + long("x"),
		"brackets":        long("["),
		"nothing":         "",
		"zeros":           long("\x00"),
	} {
		t.Run(name, func(t *testing.T) {
			took, used, err := measured(func() error { _, err := e.Compile("probe/rule", source, "F"); return err })
			var script *luakube.ScriptError
			require.ErrorAs(t, err, &script)
			require.Less(t, took, 10*time.Second)
			require.Less(t, used, uint64(256<<20))
			require.Less(t, len(err.Error()), 1000)
		})
	}
}

func TestLongSourceThatIsSimpleRuns(t *testing.T) {
	pieces := `"x"` + strings.Repeat(` .. "x"`, 9999)
	require.Equal(t, strings.Repeat("x", 10000), run(t, "return "+pieces))
	chain := "if o == 0 then return 0 " + strings.Repeat("elseif o == -1 then return 1 ", 3000) + "else return 2 end"
	require.Equal(t, int64(2), run(t, chain, int64(1)))
	require.Equal(t, int64(5000), run(t, "local n = 0 "+strings.Repeat("n = n + 1 ", 5000)+"return n"))
	require.Equal(t, int64(3000), run(t, "return #{"+strings.Repeat("'x', ", 3000)+"}"))
}

func TestOrdinarySizesFitWithinTheLimits(t *testing.T) {
	holds(t, nil,
		`local t = {} for i = 1, 20000 do t[i] = "item" .. i end return #table.concat(t, ",") == 168894 + 19999`,
		`local t = {} for i = 1, 5000 do t[i] = i end return select("#", unpack(t)) == 5000`,
		`local t = {} for i = 1, 50000 do t[i] = i end return select("#", unpack(t)) == 50000`,
		`local t = {} for i = 1, 20000 do t[i] = 20000 - i end table.sort(t) return t[1] == 0 and t[20000] == 19999`,
		`local s = ("abc "):rep(2e5) return select(2, s:gsub("%w+", "x")) == 200000`,
		`local function f(n) if n == 0 then return 0 end return 1 + f(n - 1) end return f(900) == 900`,
	)
}

func TestTheWallLimitHoldsInEveryCall(t *testing.T) {
	limits := luakube.DefaultLimits()
	limits.Instructions, limits.Time = 1<<60, 200*time.Millisecond
	s := compile(t, newEngine(t, luakube.WithLimits(limits)), `while true do end`)
	start := time.Now()
	_, _, err := call(t, s)
	require.ErrorIs(t, err, luakube.ErrLimit)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "exceeded 200ms")
	require.Greater(t, time.Since(start), limits.Time)
}

// A machine without CPU to spare fails no script that would have ended at once, and saves no endless one.
func TestShortScriptsHaveTheirTime(t *testing.T) {
	limits := luakube.DefaultLimits()
	limits.Instructions, limits.Time = 1<<60, time.Millisecond
	engine := newEngine(t, luakube.WithLimits(limits), luakube.WithModule("stall", func() { time.Sleep(2 * limits.Time) }))
	_, _, err := call(t, compile(t, engine, `require("stall")() local n = 0 for i = 1, 100 do n = n + i end return n`))
	require.NoError(t, err)
	_, _, err = call(t, compile(t, engine, `require("stall")() while true do end`))
	require.ErrorContains(t, err, "exceeded 1ms")
}

func TestACancelledContextEndsTheScript(t *testing.T) {
	limits := luakube.DefaultLimits()
	limits.Instructions, limits.Time = 1<<60, time.Hour
	s := compile(t, newEngine(t, luakube.WithLimits(limits)), `while true do pcall(function() while true do end end) end`)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the controller stops")
	go cancel(why)
	_, err := s.Call(ctx, &luakube.Call{})
	require.ErrorIs(t, err, why)
	require.NotErrorIs(t, err, luakube.ErrLimit)
}

func TestLimitsMustBePositive(t *testing.T) {
	for _, l := range []luakube.Limits{{}, {Instructions: 1, Memory: 1}, {Instructions: -1, Memory: 1, Time: 1}, {Memory: 1, Time: 1}} {
		_, err := luakube.New(luakube.WithLimits(l))
		require.ErrorContains(t, err, "limits must be positive")
	}
}

// stains are ways for a script to leave something behind.
var stains = []string{
	`left = 1`,
	`_G.left = 1 _G["other"] = 2 _G[1] = 3`,
	`string.upper = function() return "HACKED" end string.left = 1`,
	`string.sub, string.format, table.concat = nil, 5, "x"`,
	`table.insert = nil table.left = {} math.floor = print math.pi = 3 math.huge = 0 os.time = function() return 0 end`,
	`for k in pairs(string) do string[k] = nil end for k in pairs(table) do table[k] = nil end for k in pairs(math) do math[k] = nil end`,
	`local k = require("kube") k.resourceAdd = function() return "HACKED" end k.null = 1 k.left = 2`,
	`local s = require("string") s.upper = nil`,
	`type, pairs, ipairs, tostring, pcall, next, select, error, print = nil`,
	`_G.string, _G.table, _G.math, _G.os, _G._G, _VERSION, package = nil`,
	`require = nil string = {upper = function() return "HACKED" end}`,
	`package.loaded.kube = {} package.preload.x = function() end package.left = 1 package.loaded.string = nil`,
	`math.randomseed(7) math.random() math.random(100)`,
	`local m = require("lua") m.left = 1 m.answer = nil`,
	`local m = require("functions") m.double = nil m.left = 1`,
	`pcall(function() require("struct").Name = "HACKED" end) pcall(function() require("struct").Items[1] = "HACKED" end)`,
	`pcall(function() local x = require("struct") ^ {Name = "HACKED"} end) pcall(function() require("struct").Labels.a = "HACKED" end)`,
	`pcall(function() local ch = require("struct").Ch ch() end) pcall(function() local x = -require("struct").Ch end)`,
	`pcall(function() ("x").y = 1 end) pcall(function() ("x").upper = nil end)`,
	`pcall(function() string.left = function() end local x = ("x"):left() end)`,
	`tostring({}) tostring(print) tostring({})`,
	`o.left = 1 o.env[1].name = "HACKED" o.env = nil`,
	`kube.null.x = 1`,
	`setmetatable("", {__index = {upper = 1}})`,
	`getmetatable("").__index = nil`,
	`setfenv(1, {})`,
	`local n = 0 local function inc() n = n + 1 return n end inc() pcall(error, inc) error(inc)`,
	`pcall(function() local function f() return 1 + f() end f() end)`,
	`local f = function() end pcall(string.gsub, "x", "x", function() error(f) end)`,
	`error({message = "left"})`,
	`while true do end`,
	`local s = "x" while true do s = s .. s end`,
}

// spy looks at everything that a script can see.
const spy = `
local kube = require("kube")
local seen = {}
local function see(name, v) seen[#seen + 1] = name .. "=" .. tostring(v) end
see("left", left) see("other", other) see("G1", _G[1]) see("Gleft", _G.left)
for k, v in pairs(_G) do see("G." .. k, type(v)) end
for _, name in ipairs({"assert", "error", "ipairs", "next", "pairs", "pcall", "print", "require", "select", "tonumber", "tostring", "type", "unpack",
    "xpcall", "_G", "_VERSION", "string", "table", "math", "os", "package", "setmetatable", "kube"}) do see(name, type(_G[name])) end
for _, lib in ipairs({"string", "table", "math", "os", "kube", "functions", "lua"}) do
  local names = {}
  for k, v in pairs(require(lib)) do names[#names + 1] = k .. ":" .. type(v) end
  see(lib, table.concat(names, " "))
end
see("upper", string.upper("abc") .. ("abc"):upper() .. ("abc"):rep(2))
see("sub", string.sub("abc", 2) .. string.format("%03d", 7))
see("math", math.floor(2.5) .. "," .. math.pi .. "," .. tostring(math.huge))
see("random", math.random() .. "," .. math.random(1000))
see("time", os.time() .. os.date("%Y"))
see("kube", kube.resourceAdd("1Gi", "1Gi") .. tostring(kube.null) .. tostring(kube.left))
see("modules", require("functions").double(4) .. tostring(require("functions").left) .. require("lua").answer .. tostring(require("lua").left))
see("struct", require("struct").Name .. require("struct").Items[1] .. require("struct").Labels.a)
see("method", tostring(("x").y) .. tostring(("x").left))
see("table", {})
see("preload", tostring(package.preload.x) .. tostring(package.left) .. type(package.loaded))
function F(o) see("o", tostring(o.left) .. o.env[1].name) return table.concat(seen, "\n") end`

type shared struct {
	Name   string
	Items  []string
	Labels map[string]string
	Ch     chan int
}

func stained(t *testing.T) *luakube.Engine {
	return newEngine(t,
		luakube.WithClock(func() time.Time { return time.Unix(1700000000, 0) }),
		luakube.WithModule("functions", map[string]any{"double": func(n int) int { return 2 * n }}),
		luakube.WithModule("struct", &shared{Name: "name", Items: []string{"item"}, Labels: map[string]string{"a": "label"}, Ch: make(chan int)}),
		luakube.WithScriptModule("lua", `return {answer = 42}`),
	)
}

func TestScriptsLeaveNothingBehind(t *testing.T) {
	fresh, _, err := call(t, compile(t, stained(t), spy), hostileObject())
	require.NoError(t, err)
	require.Contains(t, fresh, "upper=ABCABCabcabc")
	require.Contains(t, fresh, "modules=8nil42nil")
	require.Contains(t, fresh, "struct=nameitemlabel")
	require.Contains(t, fresh, "left=nil")
	for _, stain := range stains {
		t.Run(stain, func(t *testing.T) {
			e := stained(t)
			look := compile(t, e, spy)
			first, _, err := call(t, look, hostileObject())
			require.NoError(t, err)
			require.Equal(t, fresh, first)
			for _, place := range []string{stain, "function F(o) end " + strings.ReplaceAll(stain, "kube.null", `require("kube").null`)} {
				// On top of the script, in its function, and each twice.
				if s, err := e.Compile("stain", place, "F"); err == nil {
					_, _, _ = call(t, s, hostileObject())
				}
			}
			s := compile(t, e, stain)
			for range 2 {
				_, _, _ = call(t, s, hostileObject())
				again, _, err := call(t, look, hostileObject())
				require.NoError(t, err)
				require.Equal(t, fresh, again)
			}
		})
	}
}

func TestACounterIsOneInEveryCall(t *testing.T) {
	s, err := newEngine(t).Compile("counter", `n = (n or 0) + 1 local m = 0 function F() n = n + 1 m = m + 1 return n * 10 + m end`, "F")
	require.NoError(t, err)
	for range 100 {
		v, _, err := call(t, s)
		require.NoError(t, err)
		require.Equal(t, int64(21), v)
	}
}

func TestWhatIsNotForRulesIsNotThere(t *testing.T) {
	for _, name := range []string{
		"io", "debug", "coroutine", "channel", "os.execute", "os.getenv", "os.exit", "os.remove", "os.rename", "os.setenv", "os.tmpname",
		"package.path", "package.cpath", "package.searchers", "package.loaders[1]", "package.loaded.io", "rawlen", "_printregs", "bit32", "utf8", "newthread",
	} {
		require.Equal(t, true, run(t, "return "+name+" == nil"), name)
	}
	for _, expression := range []string{
		`collectgarbage()`, `dofile("/etc/passwd")`, `getfenv()`, `getmetatable("")`, `getmetatable(o)`, `load(function() end)`, `loadfile("x")`, `loadstring("return 1")`,
		`module("x")`, `newproxy()`, `rawequal(1, 1)`, `rawget(o, "x")`, `rawset(o, "x", 1)`, `setfenv(1, {})`, `setmetatable({}, {})`,
		`string.dump(function() end)`, `("x"):dump()`, `package.loadlib("x", "y")`,
	} {
		require.ErrorContains(t, fails(t, "return "+expression, map[string]any{}), "is not available in rules", expression)
	}
	for _, name := range []string{"io", "debug", "coroutine", "channel", "nope", "package.x", "_G", ""} {
		require.ErrorContains(t, fails(t, fmt.Sprintf("return require(%q)", name)), fmt.Sprintf("there is no module %q", name))
	}
	require.ErrorContains(t, fails(t, `return require("kub")`), `did you mean "kube"?`)
}

func TestAScriptUsesTheSameInEveryRun(t *testing.T) {
	options := []luakube.Option{
		luakube.WithModule("functions", map[string]any{"double": func(n int) int { return 2 * n }, "object": func(o map[string]any) int { return len(o) }}),
		luakube.WithModule("struct", &shared{Name: "name", Items: []string{"item"}, Labels: map[string]string{"a": "label"}}),
		luakube.WithScriptModule("lua", `local t = {answer = 42} for i = 1, 10 do t[i] = i end return t`),
		luakube.WithClock(func() time.Time { return time.Unix(1700000000, 0) }),
	}
	for _, source := range []string{
		innocent, spy,
		`return o`,
		`local function deep(v) if type(v) == "table" then for _, x in pairs(v) do deep(x) end end end deep(o) return o`,
		`for k, v in pairs(o.many) do o.keys[k] = v end return o`,
		`for i = 1, 50 do pcall(function() error("x" .. i) end) end return pcall(error, {})`,
		`local function f() local ok, e = pcall(f) error(e, 0) end f()`,
		`for k in pairs(string) do string[k] = nil end return require("functions").object(o) + require("functions").double(2) + #require("lua") + #require("struct").Name`,
		`local t = {} for i = 1, 3000 do t[i] = math.random(i) end table.sort(t) return table.concat(t)`,
		`return string.gsub(("abc "):rep(1000), "%w+", function(w) return w:upper() end)`,
		`local t = {} for i = 1, 100 do t[i] = {tostring({}), o.spec.big + i} end return t`,
		`while true do end`, `local s = "x" while true do s = s .. s end`, `local function f() return 1 + f() end f()`,
		`local t = {a = 1} for i = 1, 40 do t = {t, t} end return t`,
		`return ("a"):rep(300):find("a*a*a*b")`,
	} {
		limits := luakube.DefaultLimits()
		limits.Instructions, limits.Time = 2e5, time.Hour
		options := append([]luakube.Option{luakube.WithLimits(limits)}, options...)
		warm := newEngine(t, options...)
		s := compile(t, warm, source)
		arg := func() map[string]any { o := awkward(); o["env"] = hostileObject()["env"]; return o }
		_, first, firstErr := call(t, s, arg())
		for range 20 {
			_, use, err := call(t, s, arg())
			require.Equal(t, first, use, source)
			require.Equal(t, firstErr, err, source)
			_, use, _ = call(t, compile(t, newEngine(t, options...), source), arg())
			require.Equal(t, first, use, source)
		}
		require.Positive(t, first.Instructions)
	}
}

func TestPrintGoesToTheLogWithTheScriptsName(t *testing.T) {
	stdout := os.Stdout
	r, w, err := os.Pipe()
	require.NoError(t, err)
	os.Stdout = w
	defer func() { os.Stdout = stdout }()

	var log bytes.Buffer
	e := newEngine(t, luakube.WithLog(slog.New(slog.NewTextHandler(&log, nil))))
	s, err := e.Compile("widgets/health", `function F(o) print("ready", o.n, o.big, nil, true) print() end`, "F")
	require.NoError(t, err)
	_, _, err = call(t, s, map[string]any{"n": int64(2), "big": int64(9007199254740993)})
	require.NoError(t, err)
	_, _, err = call(t, compile(t, newEngine(t), `print("to nobody") return 1`))
	require.NoError(t, err)

	require.NoError(t, w.Close())
	printed, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Empty(t, string(printed))
	require.Contains(t, log.String(), `level=INFO msg="ready\t2\t9007199254740993\tnil\ttrue" script=widgets/health`)
	require.Equal(t, 2, strings.Count(log.String(), "script=widgets/health"))
}

func TestManyGoroutinesShareAnEngine(t *testing.T) {
	e := stained(t)
	type job struct {
		script *luakube.Script
		want   any
		err    string
	}
	var jobs []job
	for _, source := range []string{innocent, spy, `return o`, stains[2], stains[5], `pcall(error, "x") return #o.env`, `error("mine")`, `local function f() return 1 + f() end f()`, `return require("functions").double(#o.env)`} {
		j := job{script: compile(t, e, source)}
		v, _, err := call(t, j.script, hostileObject())
		if j.want = v; err != nil {
			j.err = err.Error()
		}
		jobs = append(jobs, j)
	}
	shared := hostileObject()
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			for i := range 30 {
				j := jobs[(g+i)%len(jobs)]
				v, _, err := call(t, j.script, shared)
				if j.err == "" {
					assert.NoError(t, err)
				} else {
					assert.EqualError(t, err, j.err)
				}
				assert.Equal(t, j.want, v)
			}
		})
	}
	wg.Wait()
	require.Equal(t, hostileObject(), shared)
}
