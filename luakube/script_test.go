package luakube

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSmoke(t *testing.T) {
	e, err := New()
	require.NoError(t, err)
	s, err := e.Compile("probe/statusReflection", `
local kube = require("kube")
function ReflectStatus(obj)
  local r = {}
  for k, v in pairs(obj.spec) do r[k] = v end
  r.big2 = obj.spec.big + 1
  r.cmp = obj.spec.big > 5
  r.n = #obj.spec.list
  r.s = "a" .. obj.spec.n .. "b"
  r.m = string.gsub("a-b-c", "-", "_")
  r.empty = kube.array()
  return r
end`, "ReflectStatus")
	require.NoError(t, err)
	var status any
	use, err := s.Call(t.Context(), &Call{
		Args: []any{map[string]any{"spec": map[string]any{"n": int64(3), "f": 3.0, "big": int64(9007199254740993), "nul": nil, "e": map[string]any{}, "list": []any{nil, "x"}}}},
		Rets: []Ret{{Noun: "status", Into: &status}},
	})
	require.NoError(t, err)
	t.Logf("%#v %v", status, use)
}

func TestErrs(t *testing.T) {
	e, _ := New()
	for _, src := range []string{
		"function F(o) return o.status.x.y end",
		"function F(o) for _, c in ipairs(o.status.conditions) do end end",
		"function F(o) return o.a + 1 end",
		"function F(o) return o.a < 1 end",
		"function F(o) return 'x' .. o.a .. 'y' end",
		"function F(o) o.foo() end",
		"function F(o) return #o.foo end",
		"function F(o) while true do end end",
		"function F(o) local s='x' while true do s=s..s end end",
		"function F(o) local t={} while true do t[#t+1]={} end end",
		"function F(o) return F(o)+1 end",
		"function F(o) local a={} a.a=a return a end",
		"function F(o) local a={} for i=1,30 do a={a,a} end return a end",
		"function F(o) return string.rep('x',1e9) end",
		"function F(o) return string.find(string.rep('a',5000), '.-.-.-.-.-b') end",
		"function F(o) return {a={1,nil,3}} end",
		"function F(o) return print end",
		"function F(o) while true do pcall(function() while true do end end) end end",
		"function F(o) for i=1,1e9 do xpcall(function() error('x') end, function() while true do end end) end end",
	} {
		s, err := e.Compile("p/x", src, "F")
		if err != nil {
			t.Log(src, "COMPILE", err)
			continue
		}
		var status any
		use, err := s.Call(t.Context(), &Call{
			Args: []any{map[string]any{"spec": map[string]any{}}},
			Rets: []Ret{{Noun: "status", Into: &status}},
		})
		t.Log(src, "\n    ", err, use)
	}
}
