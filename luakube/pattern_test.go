package luakube_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua"

	"github.com/kubeinterpret/interpret/luakube"
)

// searches shows what all pattern functions make of a text and a pattern. It runs on the engine's stock
// library, too.
const searches = `
local function show(ok, ...)
  if not ok then return "error: " .. tostring(...) end
  local t = {}
  for i = 1, select("#", ...) do
    local v = select(i, ...)
    t[i] = type(v) .. ":" .. tostring(v)
  end
  if #t == 0 then t[1] = "nil:nil" end
  return table.concat(t, " ")
end
function F(o)
  local all = {}
  local ok, err = pcall(function()
    for a, b, c in string.gmatch(o.text, o.pattern) do
      all[#all + 1] = tostring(a) .. ";" .. tostring(b) .. ";" .. tostring(c)
    end
  end)
  return {
    find = show(pcall(string.find, o.text, o.pattern, o.from)),
    match = show(pcall(string.match, o.text, o.pattern, o.from)),
    gmatch = ok and table.concat(all, "|") or "error: " .. tostring(err),
    gsub = show(pcall(string.gsub, o.text, o.pattern, o.replacement)),
    called = show(pcall(string.gsub, o.text, o.pattern, function(a, b) return "<" .. tostring(a) .. tostring(b) .. ">" end)),
  }
end`

type search struct {
	text, pattern, replacement string
	from                       int
}

// ours are the answers of our matcher.
func (s search) ours(t testing.TB, script *luakube.Script) map[string]any {
	v, _, err := call(t, script, map[string]any{"text": s.text, "pattern": s.pattern, "replacement": s.replacement, "from": int64(s.from)})
	require.NoError(t, err)
	return v.(map[string]any)
}

// stock are those of the engine's. It must not be asked about patterns that take long.
func (s search) stock(t testing.TB, l *lua.LState) map[string]any {
	o := l.NewTable()
	o.RawSetString("text", lua.LString(s.text))
	o.RawSetString("pattern", lua.LString(s.pattern))
	o.RawSetString("replacement", lua.LString(s.replacement))
	o.RawSetString("from", lua.LNumber(s.from))
	require.NoError(t, l.CallByParam(lua.P{Fn: l.GetGlobal("F"), NRet: 1, Protect: true}, o))
	answers := map[string]any{}
	l.Get(-1).(*lua.LTable).ForEach(func(k, v lua.LValue) { answers[k.String()] = v.String() })
	l.Pop(1)
	return answers
}

func stockLibrary(t testing.TB) *lua.LState {
	l := lua.NewState()
	t.Cleanup(l.Close)
	require.NoError(t, l.DoString(searches))
	return l
}

func TestPatternsMatchAsInTheStockLibrary(t *testing.T) {
	texts := []string{"", "a", "aaa", "abc", "hello world", "key = value", "a.b.c", "x=1, y=2", "(a(b)c)", "  trim  ", "2024-01-31", "a\x00b", "%d", "[x]", "-", "^$", "ab12AB_", "\tq\n"}
	patterns := []string{
		"", "a", "b", ".", "a*", "a+", "a-", "a?", ".*", ".-", ".+", "^a", "a$", "^$", "^.*$", "^a*$", "$", "^", "$a", "a^",
		"%a", "%a+", "%d+", "%s*", "%w+", "%p", "%u", "%l", "%x+", "%c", "%A+", "%D", "%S+", "%W", "%P", "%U", "%L", "%X", "%z", "%Z",
		"[abc]", "[^abc]+", "[a-c]+", "[%a_]+", "[%w%s]*", "[]]", "[^]]", "[a-]", "[-a]", "[%]]", "[a%-c]", "[^%s]+", "[%d.]+",
		"(a)", "(a*)(b*)", "()a()", "(%w+) (%w+)", "(%w+)%s*=%s*(%w+)", "((a)(b))", "()", "(.-)", "^(%s*)(.-)(%s*)$", "(%d+)-(%d+)-(%d+)",
		"(.)%1", "(a)b*%1", "(.*)%1", "%b()", "%b[]", "%bxx", "a%b()b", "%.", "%%", "%-", "%$", "a.-b", "l+", "o w", "[^=]+=", "(%w)(%w)",
	}
	script, l := compile(t, newEngine(t), searches), stockLibrary(t)
	for _, text := range texts {
		for _, pattern := range patterns {
			for _, from := range []int{1, 2, -1} {
				s := search{text, pattern, "[%0]", from}
				ours, stock := s.ours(t, script), s.stock(t, l)
				if from > len(text)+1 || pattern == "" {
					// The stock library fails, or always finds the empty pattern at the beginning.
					delete(ours, "find")
					delete(stock, "find")
				}
				if strings.HasPrefix(pattern, "^") {
					// In gmatch an anchor is an ordinary character in Lua, and an anchor in the stock library.
					delete(ours, "gmatch")
					delete(stock, "gmatch")
				}
				require.Equal(t, stock, ours, "%q in %q from %d", pattern, text, from)
			}
		}
	}
}

func TestPatternsThatTheStockLibraryLacks(t *testing.T) {
	holds(t, nil,
		`return (string.gsub("THE (quick) fox", "%f[%a]%a+%f[%A]", "w")) == "w (w) w"`,
		`return string.find("a,b", "%f[,]") == 2 and string.match("x1", "%f[%d].") == "1" and string.find("abc", "%f[%z]") == 4`,
		`local n = 0 for w in ("^a ^b"):gmatch("^%a") do n = n + 1 end return n == 2`,
		`return string.find("abc", "", 2) == 2 and select(2, string.find("abc", "", 2)) == 1 and string.find("abc", "", 4) == 4 and string.find("abc", "", 5) == nil`,
		`return string.find("a+b", "+", 1, true) == 2 and string.find("a+b", "a+b", 1, true) == 1 and string.find("aab", "a", 2, true) == 2`,
		`return select(2, string.gsub("abc", "", "-")) == 4 and (string.gsub("abc", "", "-")) == "-a-b-c-"`,
		`return (string.gsub("abc", "b", "%%")) == "a%c" and (string.gsub("abc", "(b)", "[%1%0]")) == "a[bb]c" and (string.gsub("abc", "b", "[%1]")) == "a[b]c"`,
		`return (string.gsub("a b c", "%a", {a = "1", b = true and 2, c = false})) == "1 2 c"`,
		`return (string.gsub("aaa", "a", "b", 2)) == "bba" and (string.gsub("aaa", "a", "b", 0)) == "aaa" and (string.gsub("aaa", "a", "b", -1)) == "aaa"`,
		`return (string.gsub("abc", "%w", function(c) if c == "b" then return nil end return c:upper() end)) == "AbC"`,
		`return (string.gsub("abc", "b", 5)) == "a5c" and (string.gsub("x", "x", function() return 1.5 end)) == "1.5"`,
	)
	for source, want := range map[string]string{
		`string.find("a", "[a")`:                                   "missing ']'",
		`string.find("a", "[")`:                                    "missing ']'",
		`string.find("a", "[^")`:                                   "missing ']'",
		`string.find("a", "[%")`:                                   "missing ']'",
		`string.find("a", "%")`:                                    "ends with '%'",
		`string.find("a", "(a")`:                                   "unfinished capture",
		`string.match("a", "a)")`:                                  "invalid pattern capture",
		`string.find("a", "%1")`:                                   "invalid capture index %1",
		`string.find("a", "(%1)")`:                                 "invalid capture index %1",
		`string.find("a", "%0")`:                                   "invalid capture index %0",
		`string.find("a", "%b")`:                                   "%b needs two characters",
		`string.find("a", "%bx")`:                                  "%b needs two characters",
		`string.find("a", "%f")`:                                   "missing '[' after '%f'",
		`string.gsub("a", "a", "%2")`:                              "invalid capture index %2",
		`string.gsub("a", "a", "%")`:                               "invalid use of '%'",
		`string.gsub("a", "a", function() return {} end)`:          "invalid replacement value (a table)",
		`string.gsub("a", "a", true)`:                              "string, table or function expected, got boolean",
		`string.gsub("a", "a")`:                                    "string, table or function expected, got nil",
		`string.match(("a"):rep(9e5), "(a)(a*)b" .. ("x"):rep(2))`: "exceeded 20000000 instructions",
	} {
		require.ErrorContains(t, fails(t, "return "+source), want, source)
	}
}

// FuzzPattern compares our matcher with the stock one, on patterns small enough for it, and sees that the
// others end.
func FuzzPattern(f *testing.F) {
	for _, s := range []search{
		{"hello world", "(%w+) (%w+)", "%2 %1", 1}, {"a(b(c)d)e", "%b()", "[%0]", 1}, {"abcabc", "(.-)%1", "", -3}, {"  x  ", "^%s*(.-)%s*$", "%1", 1},
		{"2024-01-31", "(%d+)-(%d+)-(%d+)", "%3.%2.%1", 1}, {"[x]", "[]x[]+", "%%", 2}, {"a\x00b", "%z", "0", 1}, {"aaaa", "a-a$", "%0", 1}, {"THE fox", "%f[%a]%a+", "w", 1},
		{strings.Repeat("a", 40), strings.Repeat("a*", 20) + "b", "", 1},
	} {
		f.Add(s.text, s.pattern, s.replacement, s.from)
	}
	limits := luakube.DefaultLimits()
	limits.Instructions = 1_000_000
	script, l := compile(f, newEngine(f, luakube.WithLimits(limits)), searches), stockLibrary(f)
	f.Fuzz(func(t *testing.T, text, pattern, replacement string, from int) {
		s := search{text, pattern, replacement, from}
		v, _, err := call(t, script, map[string]any{"text": text, "pattern": pattern, "replacement": replacement, "from": int64(from)})
		if err != nil && !strings.Contains(err.Error(), "not UTF-8") {
			require.ErrorIs(t, err, luakube.ErrLimit)
		}
		if err != nil {
			return
		}
		ours := v.(map[string]any)
		if len(text) > 20 || len(pattern) > 12 || strings.Count(pattern, "*")+strings.Count(pattern, "+")+strings.Count(pattern, "-") > 4 {
			return
		}
		if pattern == "" || strings.HasPrefix(pattern, "^") || strings.Contains(pattern, "%f") || from < -len(text) || from > len(text) || strings.Contains(replacement, "%") {
			return
		}
		for name, stock := range s.stock(t, l) {
			// The stock library takes patterns that end within an item.
			malformed := strings.Contains(ours[name].(string), "malformed pattern")
			if !malformed && !strings.HasPrefix(stock.(string), "error") {
				require.Equal(t, stock, ours[name], "%s of %q in %q from %d", name, pattern, text, from)
			}
		}
	})
}
