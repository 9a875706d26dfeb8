package luakube

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAModuleIsLoadedOnceAndCannotBeChanged(t *testing.T) {
	e, err := New(WithScriptModule("rules", `
local kube = require("kube")
local rules = {units = {k = 1000, list = {"a", "b"}}, self = nil}
rules.self = rules
local hidden = {n = 1}
function rules.hidden() return hidden end
function rules.add(a, b) return kube.resourceAdd(a, b) end
function rules.set() hidden.n = 2 end
local function fact(n) if n < 2 then return 1 end return n * fact(n - 1) end
function rules.sum(list) local sum = 0 for _, v in ipairs(list) do local function add() sum = sum + v end add() end return sum + fact(3) end
return rules`))
	require.NoError(t, err)
	status := func(body string) (any, Usage, error) {
		s, err := e.Compile("p/x", "local rules = require('rules') function F(o) "+body+" end", "F")
		require.NoError(t, err)
		var status any
		use, err := s.Call(t.Context(), &Call{Args: []any{map[string]any{}}, Rets: []Ret{{Noun: "status", Into: &status}}})
		return status, use, err
	}
	read := `local keys = {} for k in pairs(rules.units) do table.insert(keys, k) end table.sort(keys)
		return {k = rules.units.k, n = #rules.units.list, second = rules.units.list[2], keys = keys, same = rules.self == rules, sum = rules.sum({1, 2}),
			add = rules.add("1", "2"), hidden = rules.hidden().n, unpacked = {unpack(rules.units.list)}, joined = table.concat(rules.units.list, "+"), whole = rules.units}`
	want := map[string]any{"k": int64(1000), "n": int64(2), "second": "b", "keys": []any{"k", "list"}, "same": true, "sum": int64(9), "add": "3",
		"hidden": int64(1), "unpacked": []any{"a", "b"}, "joined": "a+b", "whole": map[string]any{"k": int64(1000), "list": []any{"a", "b"}}}
	var first Usage
	for i := range 20 {
		got, use, err := status(read)
		require.NoError(t, err)
		require.Equal(t, want, got)
		if i == 0 {
			first = use
		}
		require.Equal(t, first, use, "a call that finds the module loaded is charged like one that loads it")
		for _, change := range []string{
			"rules.add = nil", "rules.new = 1", "rules.units.k = 2", "rules.units.list[1] = 'z'", "table.insert(rules.units.list, 'c')",
			"table.remove(rules.units.list)", "table.sort(rules.units.list)", "rules.hidden().n = 3", "rules.set()",
			"local _, list = ipairs(rules.units.list) list[1] = 'z'", "local _, units = pairs(rules.units) units.k = 3",
		} {
			_, _, err := status(change + " return {}")
			require.ErrorContains(t, err, "a module's values cannot be changed", change)
		}
		_, _, err = status(`string.format = nil require("kube").resourceAdd = nil return {a = rules.add("1", "2")}`)
		require.NoError(t, err, "a module keeps its own libraries")
	}
}

func TestAModuleWithStateIsRunAfreshForEveryCall(t *testing.T) {
	for name, source := range map[string]string{
		"local":      "local n = 0 return {inc = function() n = n + 1 return n end}",
		"global":     "n = 0 return {inc = function() n = n + 1 return n end}",
		"in a block": "local n = 0 do local m = {} function m.inc() while true do n = n + 1 break end return n end return m end",
		"inner":      "local n = 0 return {inc = function() local function f() n = n + 1 end f() return n end}",
		"function":   "local f = function() return 0 end return {inc = function() local v = f() + 1 function f() return v end return v end}",
	} {
		e, err := New(WithScriptModule("counter", source))
		require.NoError(t, err)
		s, err := e.Compile("p/x", "function F(o) return {n = require('counter').inc()} end", "F")
		require.NoError(t, err)
		for range 3 {
			var status any
			_, err := s.Call(t.Context(), &Call{Args: []any{map[string]any{}}, Rets: []Ret{{Into: &status}}})
			require.NoError(t, err, name)
			assert.Equal(t, map[string]any{"n": int64(1)}, status, name)
		}
	}
}

func TestAModuleThatFailsToLoadFailsEveryTime(t *testing.T) {
	e, err := New(WithScriptModule("broken", "local x = nil\nreturn {y = x.z}"), WithScriptModule("cycle", "return require('cycle')"))
	require.NoError(t, err)
	for module, want := range map[string]string{"broken": "broken:2: attempt to index x, which is nil, with key 'z'", "cycle": `module "cycle" requires itself`} {
		s, err := e.Compile("p/x", "function F(o) return require('"+module+"') end", "F")
		require.NoError(t, err)
		for range 3 {
			var status any
			_, err := s.Call(t.Context(), &Call{Args: []any{map[string]any{}}, Rets: []Ret{{Into: &status}}})
			require.ErrorContains(t, err, want)
		}
	}
}
