package luakube_test

import (
	"fmt"
	"math"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/luakube"
)

// awkward is an object of everything that gets lost on the way through less careful bridges.
func awkward() map[string]any {
	many := map[string]any{}
	for i := range 40 {
		many[fmt.Sprintf("k%02d", i)] = map[string]any{"i": int64(i)}
	}
	return map[string]any{
		"apiVersion": "demo.io/v1",
		"kind":       "Widget",
		"spec": map[string]any{
			"big": int64(9007199254740993), "min": int64(math.MinInt64), "max": int64(math.MaxInt64),
			"edge": int64(1 << 53), "three": int64(3), "float": 3.0, "half": 0.5, "huge": 1e300,
			"emptyObject": map[string]any{}, "emptyList": []any{}, "nothing": nil, "emptyText": "",
			"nested": map[string]any{"o": map[string]any{}, "l": []any{[]any{}, map[string]any{}}},
			"list":   []any{int64(1), nil, 3.0, "x", map[string]any{"a": []any{nil}}, nil},
			"bool":   false,
		},
		"keys": map[string]any{
			"a.b/c": "1", "*.x": map[string]any{}, "x|y": []any{}, "@this": nil, `b\s`: int64(5), "": map[string]any{"": []any{}},
			"a.example.com": map[string]any{}, "urn:x": []any{}, "1": "one", "-1": "minus", "true": "t", "ключ": "é", "a\nb": "\x00",
		},
		"many": many,
	}
}

// touches are ways to touch an object that change nothing.
var touches = map[string]string{
	"nothing":               `return o`,
	"reading":               `local x, y, z = o.spec.big, o.spec.list[5].a, o.keys["a.b/c"] return o`,
	"reading much":          `for i = 0, 39 do local x = o.many["k" .. string.format("%02d", i)].i end return o`,
	"iterating":             `for k, v in pairs(o.spec) do end for i, v in ipairs(o.spec.list) do end return o`,
	"iterating deeply":      `local function deep(v) if type(v) == "table" then for _, x in pairs(v) do deep(x) end end end deep(o) return o`,
	"measuring":             `local n = #o.spec.list + table.getn(o.spec.emptyList) + table.maxn(o.spec.list) return o`,
	"unpacking":             `local a, b = unpack(o.spec.list) return o`,
	"next":                  `next(o) next(o.keys) next(o.spec.emptyObject) return o`,
	"writing back":          `for k, v in pairs(o.spec) do o.spec[k] = v end return o`,
	"writing back deeply":   `local function deep(v) for k, x in pairs(v) do if type(x) == "table" then deep(x) end v[k] = x end end deep(o) return o`,
	"away and back":         `local s = o.spec o.spec = nil o.spec = s return o`,
	"a field come and gone": `o.new = {} o.new = nil o.spec.list[7] = 1 o.spec.list[7] = nil return o`,
	"another table":         `return {apiVersion = o.apiVersion, kind = o.kind, spec = o.spec, keys = o.keys, many = o.many}`,
	"inserted and removed":  `table.insert(o.spec.list, 1, "x") table.remove(o.spec.list, 1) return o`,
}

func TestWhatAScriptDoesNotChangeComesBackEqual(t *testing.T) {
	for name, source := range touches {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, any(awkward()), run(t, source, awkward()))
		})
	}
}

func TestArgumentsAreNeitherChangedNorSharedWithTheResult(t *testing.T) {
	sources := map[string]string{
		"overwriting": `o.spec.three = 9 o.spec.list[1] = "y" o.keys[""][""][1] = {} o.many = nil return o`,
		"sorting":     `table.remove(o.spec.list) table.sort(o.spec.list, function(a, b) return tostring(a) < tostring(b) end) return o`,
		"clearing":    `for k in pairs(o.keys) do o.keys[k] = nil end return o`,
		"twice":       `return {a = o.spec, b = o.spec, c = {o.keys, o.keys}}`,
	}
	for name, source := range touches {
		sources[name] = source
	}
	for name, source := range sources {
		t.Run(name, func(t *testing.T) {
			arg := awkward()
			result := run(t, source, arg)
			require.Equal(t, awkward(), arg, "changed by the script")
			scramble(result)
			require.Equal(t, awkward(), arg, "shared with the result")
		})
	}
}

// scramble changes every container inside a value.
func scramble(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			scramble(e)
		}
		v["scrambled"] = true
	case []any:
		for i, e := range v {
			scramble(e)
			v[i] = "scrambled"
		}
	}
}

func TestATableUsedTwiceIsTwoValuesInTheResult(t *testing.T) {
	r := run(t, `local r = {cpu = "1"} return {a = r, b = r, c = {r, r}}`).(map[string]any)
	require.Equal(t, fromJSON(t, `{"a": {"cpu": "1"}, "b": {"cpu": "1"}, "c": [{"cpu": "1"}, {"cpu": "1"}]}`), any(r))
	scramble(r["a"])
	require.Equal(t, fromJSON(t, `{"cpu": "1"}`), r["b"])
}

// deployment has so many environment variables.
func deployment(variables int) map[string]any {
	env := make([]any, variables)
	for i := range env {
		env[i] = map[string]any{"name": fmt.Sprint("V", i), "value": "x"}
	}
	return map[string]any{
		"metadata": map[string]any{"generation": int64(4)},
		"spec": map[string]any{"replicas": int64(2), "template": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": "main", "image": "nginx", "env": env}},
		}}},
	}
}

// allocations is how many a call takes on a state from the pool, which a collection empties, and the race
// detector now and then.
func allocations(t *testing.T, s *luakube.Script, arg any) float64 {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	least := math.Inf(1)
	for range 20 {
		least = min(least, testing.AllocsPerRun(1, func() {
			_, _, err := call(t, s, arg)
			require.NoError(t, err)
		}))
	}
	return least
}

func TestReadingCostsTheSameHoweverLargeTheObject(t *testing.T) {
	s := compile(t, newEngine(t), `return o.metadata.generation == 4 and o.spec.template.spec.containers[1].image == "nginx"`)
	v, small, err := call(t, s, deployment(2))
	require.NoError(t, err)
	require.Equal(t, true, v)
	_, large, err := call(t, s, deployment(1000))
	require.NoError(t, err)
	require.Equal(t, small, large)
	require.InDelta(t, allocations(t, s, deployment(2)), allocations(t, s, deployment(1000)), 1)
}

func TestChangingAFieldCostsOneDeepCopyMore(t *testing.T) {
	s := compile(t, newEngine(t), `o.spec.replicas = 5 return o`)
	read := compile(t, newEngine(t), `return o.spec.replicas`)
	large := deployment(1000)
	copying := testing.AllocsPerRun(50, func() { runtime.DeepCopyJSON(large) })
	require.Less(t, allocations(t, s, large), copying+allocations(t, read, large)+40)
}

func TestStatusItemsAreDecodedWhenTouched(t *testing.T) {
	items := []v1alpha1.AggregatedStatusItem{
		{ClusterName: "m1", Applied: true, Health: v1alpha1.ResourceHealthy, Status: &runtime.RawExtension{Raw: []byte(`{"ready": 2, "id": 9007199254740993, "none": null, "empty": {}}`)}},
		{ClusterName: "m2", AppliedMessage: "no room", Status: &runtime.RawExtension{Raw: []byte(`{"ready":`)}},
		{ClusterName: "m3"},
		{ClusterName: "m4", Status: &runtime.RawExtension{Raw: []byte(`null`)}},
	}
	require.Equal(t, []any{"m1", true, "Healthy", int64(2), int64(9007199254740993), "no room", false, false, int64(4)}, run(t, `
		return {o[1].clusterName, o[1].applied, o[1].health, o[1].status.ready, o[1].status.id, o[2].appliedMessage,
			o[3].status ~= nil, o[4].status ~= nil, #o}`, items))
	require.Equal(t, fromJSON(t, `{"clusterName": "m1", "applied": true, "health": "Healthy", "status": {"ready": 2, "id": 9007199254740993, "none": null, "empty": {}}}`),
		run(t, `local x = o[1].status.ready return o[1]`, items))
	require.Equal(t, fromJSON(t, `{"ready": 2, "id": 9007199254740993, "none": null, "empty": {}}`), run(t, `return o[1].status`, items))
	require.ErrorContains(t, fails(t, `return o[2].status`, items), "the status is not JSON")
	require.ErrorContains(t, fails(t, `return o`, items), "[1].status the status is not JSON")
	require.Equal(t, `{"ready":`, string(items[1].Status.Raw))
}

func TestNoStatusItemsAreAnEmptyList(t *testing.T) {
	for _, items := range [][]v1alpha1.AggregatedStatusItem{nil, {}} {
		require.Equal(t, []any{}, run(t, `for i, item in ipairs(o) do error("not empty") end return o`, items))
		require.Equal(t, int64(0), run(t, `return #o`, items))
	}
}

func TestViewsAreTables(t *testing.T) {
	o := fromJSON(t, `{"spec": {"b": {"x": 1}, "a": [1, 2, 3], "d": {}, "c": "text"}, "names": ["y", "x", "z"],
		"list": [{"n": "one"}, {"n": "two"}], "nulls": [1, null, 3], "nothing": null}`)
	holds(t, o,
		`return type(o) == "table" and type(o.list) == "table" and type(o.spec.c) == "string" and type(o.nope) == "nil"`,
		// The same key gives the same table, in every state.
		`return o.spec == o.spec and o.list[1] == o.list[1] and o.spec.b ~= o.spec.d`,
		`local s = o.spec for _ in pairs(o) do end return s == o.spec`,
		`local e = o.list[2] local n = 0 for _, x in ipairs(o.list) do if x == e then n = n + 1 end end return n == 1`,
		`local e = o.list[2] o.list[3] = {} return o.list[2] == e`,
		// What is not there is nil.
		`return o.list[0] == nil and o.list[3] == nil and o.list[1.5] == nil and o.list[-1] == nil and o.list.n == nil`,
		`return o.spec[1] == nil and o.spec[true] == nil and o.spec.nope == nil and o.nothing == nil`,
		// Keys come sorted.
		`local ks = {} for k in pairs(o.spec) do ks[#ks + 1] = k end return table.concat(ks) == "abcd"`,
		`local k, v = next(o.spec) return k == "a" and v == o.spec.a and next(o.spec, "d") == nil and next(o.spec.d) == nil`,
		`local is = {} for i, v in ipairs(o.names) do is[#is + 1] = i .. v end return table.concat(is, ",") == "1y,2x,3z"`,
		`local is = {} for i, v in pairs(o.names) do is[#is + 1] = i .. v end return table.concat(is, ",") == "1y,2x,3z"`,
		// Measuring.
		`return #o.list == 2 and #o.spec == 0 and #o.spec.a == 3 and table.getn(o.names) == 3 and table.maxn(o.names) == 3`,
		`return select("#", unpack(o.names)) == 3 and select(2, unpack(o.names)) == "x" and unpack(o.names, 3) == "z"`,
		`return table.concat(o.names, "+") == "y+x+z"`,
		`return (string.gsub("$c", "%$(%w+)", o.spec)) == "text"`,
		// The table functions see all of it.
		`table.insert(o.names, "w") return #o.names == 4 and o.names[4] == "w"`,
		`table.insert(o.names, 1, "w") return table.concat(o.names) == "wyxz"`,
		`return table.remove(o.names) == "z" and table.remove(o.names, 1) == "y" and table.concat(o.names) == "x"`,
		`table.sort(o.names) return table.concat(o.names) == "xyz"`,
		`table.sort(o.list, function(a, b) return a.n > b.n end) return o.list[1].n == "two"`,
		// Nulls hold their place in a list.
		`return #o.nulls == 3 and o.nulls[2] == kube.null and o.nulls[3] == 3 and tostring(kube.null) == "null"`,
		`local n = 0 for _ in ipairs(o.nulls) do n = n + 1 end return n == 3`,
		// Reading goes on after writing.
		`o.spec.e = 1 return o.spec.e == 1 and o.spec.c == "text" and o.spec.b.x == 1 and #o.spec.a == 3`,
		`o.spec.c = nil return o.spec.c == nil and o.spec.b.x == 1`,
		`return tostring(o.spec) == tostring(o.spec) and tostring(o.spec) ~= tostring(o.list)`,
		`local seen = {} seen[o.spec] = true return seen[o.spec] and not seen[o.list]`,
	)
	many := awkward()
	holds(t, many, `local t = {} for k in pairs(o.many) do t[k] = o.many[k] end for k, v in pairs(t) do if o.many[k] ~= v then return false end end return true`,
		`local t = {} for i = 0, 39 do local k = string.format("k%02d", i) t[k] = o.many[k] end for k, v in pairs(t) do if o.many[k] ~= v or o.many[k].i ~= tonumber(string.sub(k, 2)) then return false end end return true`)
}

func TestChangingAViewInEveryState(t *testing.T) {
	const object = `{"spec": {"a": {"x": 1}, "b": 2, "n": null}, "list": [{"y": 1}, null, "z"]}`
	states := map[string]string{
		"untouched":   "",
		"partly read": "local r1, r2, r3 = o.spec.a.x, o.spec.b, o.list[1].y ",
		"filled":      "for _ in pairs(o.spec) do end for _ in ipairs(o.list) do end ",
	}
	for change, want := range map[string]string{
		`o.spec.c = "new"`:     `{"spec": {"a": {"x": 1}, "b": 2, "c": "new", "n": null}, "list": [{"y": 1}, null, "z"]}`,
		`o.spec.b = 3`:         `{"spec": {"a": {"x": 1}, "b": 3, "n": null}, "list": [{"y": 1}, null, "z"]}`,
		`o.spec.b = nil`:       `{"spec": {"a": {"x": 1}, "n": null}, "list": [{"y": 1}, null, "z"]}`,
		`o.spec.a = nil`:       `{"spec": {"b": 2, "n": null}, "list": [{"y": 1}, null, "z"]}`,
		`o.spec.n = "some"`:    `{"spec": {"a": {"x": 1}, "b": 2, "n": "some"}, "list": [{"y": 1}, null, "z"]}`,
		`o.spec.b = kube.null`: `{"spec": {"a": {"x": 1}, "b": null, "n": null}, "list": [{"y": 1}, null, "z"]}`,
		`o.spec.a.x = 2`:       `{"spec": {"a": {"x": 2}, "b": 2, "n": null}, "list": [{"y": 1}, null, "z"]}`,
		`o.spec.a = {}`:        `{"spec": {"a": {}, "b": 2, "n": null}, "list": [{"y": 1}, null, "z"]}`,
		`o.spec.a, o.list[1] = o.list[1], o.spec.a`: `{"spec": {"a": {"y": 1}, "b": 2, "n": null}, "list": [{"x": 1}, null, "z"]}`,
		`o.list[2] = 5`:                                 `{"spec": {"a": {"x": 1}, "b": 2, "n": null}, "list": [{"y": 1}, 5, "z"]}`,
		`o.list[4] = kube.null`:                         `{"spec": {"a": {"x": 1}, "b": 2, "n": null}, "list": [{"y": 1}, null, "z", null]}`,
		`o.list[1].y = nil`:                             `{"spec": {"a": {"x": 1}, "b": 2, "n": null}, "list": [{}, null, "z"]}`,
		`table.remove(o.list, 2)`:                       `{"spec": {"a": {"x": 1}, "b": 2, "n": null}, "list": [{"y": 1}, "z"]}`,
		`table.insert(o.list, o.spec.a)`:                `{"spec": {"a": {"x": 1}, "b": 2, "n": null}, "list": [{"y": 1}, null, "z", {"x": 1}]}`,
		`for i = #o.list, 1, -1 do o.list[i] = nil end`: `{"spec": {"a": {"x": 1}, "b": 2, "n": null}, "list": []}`,
		`o.spec = nil`:                                  `{"list": [{"y": 1}, null, "z"]}`,
		`o.list = {}`:                                   `{"spec": {"a": {"x": 1}, "b": 2, "n": null}, "list": []}`,
	} {
		for state, touch := range states {
			t.Run(change+" "+state, func(t *testing.T) {
				require.Equal(t, fromJSON(t, want), run(t, touch+change+" return o", fromJSON(t, object)))
			})
		}
	}
}

func TestEmptyTablesAreWhatTheyWereMadeAs(t *testing.T) {
	o := fromJSON(t, `{"object": {}, "list": [], "one": [1], "field": {"x": 1}}`)
	for source, want := range map[string]string{
		`return {}`: `{}`,
		`return {a = {}, b = kube.array(), c = kube.object(), d = kube.array(kube.array(), {})}`:                    `{"a": {}, "b": [], "c": {}, "d": [[], {}]}`,
		`local l, e = o.list, o.object o.list = nil return {moved = l, also = e, args = kube.array(), labels = {}}`: `{"moved": [], "also": {}, "args": [], "labels": {}}`,
		`o.one[1] = nil return {o.one, o.list, o.object}`:                                                           `[[], [], {}]`,
		`table.remove(o.one) return o.one`:                                                                          `[]`,
		`o.field.x = nil return {o.field}`:                                                                          `[{}]`,
		`local a = kube.array() a[1] = "x" return a`:                                                                `["x"]`,
		`local a = kube.array() a.x = 1 return a`:                                                                   `{"x": 1}`,
		`local a = kube.array("x") table.remove(a) return {a}`:                                                      `[[]]`,
		`for k in pairs(o) do end return {o.list, o.object}`:                                                        `[[], {}]`,
		`o.list.x = 1 o.object[1] = 1 return {o.list, o.object}`:                                                    `[{"x": 1}, [1]]`,
		`return {spec = {volume = {name = "v", emptyDir = {}}}}`:                                                    `{"spec": {"volume": {"name": "v", "emptyDir": {}}}}`,
	} {
		require.Equal(t, fromJSON(t, want), run(t, source, o), source)
	}
}

func TestIntegersBeyond53BitsAreExact(t *testing.T) {
	o := map[string]any{"big": int64(9007199254740993), "min": int64(math.MinInt64), "max": int64(math.MaxInt64), "n": int64(3)}
	holds(t, o,
		`return o.big > 5 and 5 < o.big and o.big >= 5 and not (o.big < 5) and o.min < 0 and o.max > o.big`,
		`return o.big > 9007199254740992 and not (o.big <= 9007199254740992) and o.big < 9007199254740994`,
		`return o.big >= o.big and o.big <= o.big and not (o.big < o.big) and not (o.big > o.big)`,
		`return o.big < math.huge and o.min > -math.huge and not (o.big < 0/0) and not (o.big > 0/0)`,
		`return o.big == o.big and o.big ~= o.max and o.big ~= 5 and o.big ~= nil and o.big ~= "9007199254740993"`,
		`return tostring(o.big) == "9007199254740993" and tostring(o.min) == "-9223372036854775808"`,
		`return o.big .. "" == "9007199254740993" and "n" .. o.max .. o.n == "n92233720368547758073"`,
		`return string.format("%d %i %s %x", o.max, o.min, o.big, o.big) == "9223372036854775807 -9223372036854775808 9007199254740993 20000000000001"`,
		`return string.format("%5.1f %.0f", 2.25, o.big) == "  2.2 9007199254740992"`,
		`return type(o.big) == "number" and string.rep("x", 3) == "xxx" and string.len(o.big) == 16 and string.sub(o.big, -3) == "993"`,
		`return tonumber(o.big) == 9007199254740992 and tonumber(tostring(o.big)) == 9007199254740992`,
		`return o.big + 1 - 1 == o.big and tostring(o.big + o.n) == "9007199254740996" and tostring(2 + o.big) == "9007199254740995"`,
		`return o.big - 1 == 9007199254740992 and o.big - o.big == 0 and type(o.big - o.big) == "number"`,
		`return tostring(o.big * 2) == "18014398509481986" and tostring(-o.big) == "-9007199254740993" and -(-o.big) == o.big`,
		`return o.big % 10 == 3 and o.big % -10 == -7 and -o.big % 10 == 7 and tostring(o.max % o.big) == tostring(o.max - 1023 * o.big)`,
		`return o.big / 1 == o.big and tostring(o.big * 3 / 3) == "9007199254740993" and o.big / 2 == 4503599627370496.5`,
		// What does not fit becomes a float, as it would without exact integers.
		`return o.max + 1 == 2^63 and o.min - 1 == -2^63 and o.max * 2 == 2^64 and -o.min == 2^63 and o.big + 0.5 == 9007199254740992`,
		`return o.big ^ 1 == 9007199254740992 and o.big % 0 ~= o.big % 0 and o.big / 0 == math.huge`,
		`return tostring(o.big + "1") == "9007199254740994" and tostring("2" * o.big) == "18014398509481986" and o.big + "0.5" == 9007199254740992`,
		`return "10" + 5 == 15 and "3" * "4" == 12 and "7" / "2" == 3.5 and "7" % "4" == 3 and -"2" == -2 and "0x10" + 0 == 16 and " 5 " + 0 == 5 and "2" ^ 3 == 8`,
		`return math.floor(o.big) == o.big and math.ceil(o.max) == o.max and math.abs(o.min + 1) == o.max and math.abs(o.min) == 2^63`,
		`return math.max(o.big, 1) == o.big and math.max(1, o.big) == o.big and math.min(o.big, 1) == 1 and math.min(o.min, o.big, 0) == o.min`,
		`return math.max(o.big, 9007199254740992) == o.big and math.sqrt(o.big) > 9.4e7 and math.fmod(o.big, 10) == 3`,
		`local t = {o.max, 1, o.min, o.big} table.sort(t) return t[1] == o.min and t[2] == 1 and t[3] == o.big and t[4] == o.max`,
		`local t = {} t[o.big] = "x" return t[o.big] == "x" and t[o.big + 1] == nil and t[o.big + 1 - 1] == "x"`,
		`return table.concat({o.big, 1}, ",") == "9007199254740993,1" and (string.gsub("x", "x", {x = o.big})) == "9007199254740993"`,
		`return not pcall(function() return o.big + {} end) and not pcall(function() return o.big < "1" end) and not pcall(function() return o.big + "x" end)`,
	)
	require.Equal(t, fromJSON(t, `{"a": 9007199254740994, "b": 9223372036854775807, "c": -9223372036854775808, "d": 9223372036854775806, "e": 9007199254740992}`),
		run(t, `return {a = o.big + 1, b = o.max, c = o.min, d = o.max - 1, e = tonumber(o.big)}`, o))
	require.Equal(t, int64(9007199254740992), run(t, `o.big = tonumber(o.big) return o`, o).(map[string]any)["big"])
	require.ErrorContains(t, fails(t, `return o.big + {}`, o), "attempt to calculate number + table")
	require.ErrorContains(t, fails(t, `return o.big < {}`, o), "attempt to compare number with table")
}

func TestNumbersKeepTheirGoType(t *testing.T) {
	o := fromJSON(t, `{"i": 3, "list": [1, 2]}`).(map[string]any)
	o["f"], o["g"] = 3.0, 1e15
	require.Equal(t, map[string]any{"i": int64(3), "f": 3.0, "g": 1e15, "list": []any{int64(1), int64(2)}},
		run(t, `for k, v in pairs(o) do o[k] = v end o.i = o.i + 0 o.f = o.f * 1 return o`, o))
	require.Equal(t, map[string]any{"i": int64(4), "f": int64(4), "g": 1e15, "list": []any{int64(2), int64(2)}},
		run(t, `o.i = o.i + 1 o.f = o.f + 1 o.list[1] = 2 return o`, o))
	require.Equal(t, []any{int64(2147483648), int64(1e15), 0.5, int64(-1), int64(0), 1e300, float64(1 << 63), int64(-1 << 63), int64(1 << 62)},
		run(t, `return {2147483648, 1e15, 0.5, -1, -0, 1e300, 2^63, -2^63, 2^62}`))
}

func TestWhatJSONCannotSayIsRefusedWithItsPath(t *testing.T) {
	for source, want := range map[string]string{
		`return {a = {b = {1, 0/0}}}`:                         "a.b[1] is NaN",
		`return {a = 1/0}`:                                    "a is +Inf",
		`return {a = -math.huge}`:                             "a is -Inf",
		`return {a = {1, 2, x = 3}}`:                          `a mixes list entries and the key "x"`,
		`return {a = {1, nil, 3}}`:                            "a[1] is missing from the list; use kube.null for a null",
		`return {a = {[0] = 1}}`:                              "a has the key 0, a number; keys are text, or 1 to n in a list",
		`return {a = {[1.5] = 1}}`:                            "a has the key 1.5, a number",
		`return {a = {[true] = 1}}`:                           "a has the key true, a boolean",
		`return {a = {x = 1, [o] = 1}}`:                       "a has the key table: 1, a table",
		`return {["a.b"] = {[""] = {f = print}}}`:             `["a.b"][""].f is a function, which is no value of a resource`,
		`return {s = string}`:                                 "s is a library, which is no value of a resource",
		`return kube`:                                         "is a library, which is no value of a resource",
		`local t = {} t.x = {y = t} return {t}`:               "[0].x.y contains itself",
		`o.spec.self = o return o`:                            "spec.self contains itself",
		`local l = o.list l[1] = l return l`:                  "[0] contains itself",
		`local t = {} for i = 1, 600 do t = {t} end return t`: "nests deeper than 500 levels",
		`return print`:                                        "is a function, which is no value of a resource",
	} {
		err := fails(t, source, map[string]any{"spec": map[string]any{}, "list": []any{int64(1)}})
		require.ErrorContains(t, err, "F: first result (answer)", source)
		require.ErrorContains(t, err, want, source)
		require.ErrorIs(t, err, interpreter.ErrInvalidResult, source)
		var script *luakube.ScriptError
		require.ErrorAs(t, err, &script)
		require.Equal(t, 1, script.Line, source)
	}
}

func into(t *testing.T, source, function string, rets ...luakube.Ret) error {
	t.Helper()
	s, err := newEngine(t).Compile("probe/rule", source, function)
	require.NoError(t, err)
	_, err = s.Call(t.Context(), &luakube.Call{Args: []any{map[string]any{"spec": map[string]any{"none": map[string]any{}, "nolist": []any{}}}}, Rets: rets})
	return err
}

func TestTheDestinationDecidesWhatAnEmptyTableIs(t *testing.T) {
	var n int32
	var r *v1alpha1.ReplicaRequirements
	rets := []luakube.Ret{{Noun: "replicas", Into: &n}, {Noun: "requirements", Optional: true, Into: &r}}
	require.NoError(t, into(t, `function GetReplicas(o) return 1, {nodeClaim = {}, resourceRequest = {cpu = "1", memory = 2147483648}} end`, "GetReplicas", rets...))
	require.Equal(t, int32(1), n)
	require.Equal(t, &v1alpha1.NodeClaim{}, r.NodeClaim)
	require.Equal(t, "1", r.ResourceRequest.Cpu().String())
	require.Equal(t, int64(2147483648), r.ResourceRequest.Memory().Value())

	r = nil
	require.NoError(t, into(t, `function GetReplicas(o) return 1, {nodeClaim = {tolerations = {}, nodeSelector = {}}, resourceRequest = {}, unknown = {1, 2}} end`, "GetReplicas", rets...))
	require.NotNil(t, r.NodeClaim.NodeSelector)
	require.Empty(t, r.NodeClaim.Tolerations)

	r = nil
	require.NoError(t, into(t, `function GetReplicas(o) return 1, {nodeClaim = {tolerations = o.spec.none, nodeSelector = o.spec.nolist}} end`, "GetReplicas", rets...))
	require.Empty(t, r.NodeClaim.Tolerations)
	require.Empty(t, r.NodeClaim.NodeSelector)

	r = &v1alpha1.ReplicaRequirements{}
	require.NoError(t, into(t, `function GetReplicas(o) return 7 end`, "GetReplicas", rets...))
	require.Equal(t, int32(7), n)

	var components []v1alpha1.Component
	require.NoError(t, into(t, `function GetComponents(o) return {} end`, "GetComponents", luakube.Ret{Noun: "components", Into: &components}))
	require.Equal(t, []v1alpha1.Component{}, components)
	require.NoError(t, into(t, `function GetComponents(o) return {{name = "a", replicas = 2, replicaRequirements = {}}, {}, {name = "b", replicas = 0}} end`, "GetComponents", luakube.Ret{Noun: "components", Into: &components}))
	require.Equal(t, []v1alpha1.Component{{Name: "a", Replicas: 2, ReplicaRequirements: &v1alpha1.ComponentReplicaRequirements{}}, {Name: "b"}}, components)

	var dependencies []v1alpha1.DependentObjectReference
	ret := luakube.Ret{Noun: "dependencies", Into: &dependencies}
	require.NoError(t, into(t, `function GetDependencies(o) return {} end`, "GetDependencies", ret))
	require.Equal(t, []v1alpha1.DependentObjectReference{}, dependencies)
	require.NoError(t, into(t, `function GetDependencies(o) return o.spec.none end`, "GetDependencies", ret))
	require.Equal(t, []v1alpha1.DependentObjectReference{}, dependencies)
	require.NoError(t, into(t, `function GetDependencies(o) return {{apiVersion = "v1", kind = "Secret", name = "s", labelSelector = {matchLabels = {}}}} end`, "GetDependencies", ret))
	require.Equal(t, "s", dependencies[0].Name)
	require.NotNil(t, dependencies[0].LabelSelector)

	var status any
	require.NoError(t, into(t, `function ReflectStatus(o) return {} end`, "ReflectStatus", luakube.Ret{Noun: "status", Into: &status}))
	require.Equal(t, map[string]any{}, status)
}

func TestTypedValuesAreNotSharedWithTheResult(t *testing.T) {
	given := []v1alpha1.Component{{Name: "a", ReplicaRequirements: &v1alpha1.ComponentReplicaRequirements{NodeClaim: &v1alpha1.NodeClaim{NodeSelector: map[string]string{"k": "v"}}}}}
	var got []v1alpha1.Component
	s := compile(t, newEngine(t), `return o`)
	_, err := s.Call(t.Context(), &luakube.Call{Args: []any{given}, Rets: []luakube.Ret{{Noun: "components", Into: &got}}})
	require.NoError(t, err)
	require.Equal(t, given, got)
	got[0].ReplicaRequirements.NodeClaim.NodeSelector["k"] = "changed"
	require.Equal(t, "v", given[0].ReplicaRequirements.NodeClaim.NodeSelector["k"])
}

func TestResultsOfTheWrongShapeAreNamed(t *testing.T) {
	var n int32
	var status any
	var dependencies []v1alpha1.DependentObjectReference
	var components []v1alpha1.Component
	var requirements *v1alpha1.ReplicaRequirements
	replicas := luakube.Ret{Noun: "replicas", Into: &n}
	for _, c := range []struct {
		source, function string
		ret              luakube.Ret
		want             string
	}{
		{`return o.spec.nope, {}`, "GetReplicas", replicas, "GetReplicas: first result (replicas) must be a number, got nil"},
		{`return "2"`, "GetReplicas", replicas, `must be a number, got the text "2"`},
		{`return {}`, "GetReplicas", replicas, "must be a number, got a table"},
		{`return 2.7`, "GetReplicas", replicas, "must be a whole number, got 2.7"},
		{`return 1e10`, "GetReplicas", replicas, "must fit into 32 bits, got 10000000000"},
		{`return 1e300`, "GetReplicas", replicas, "must fit into 32 bits, got 1000000000000000"},
		{`return 0/0`, "GetReplicas", replicas, "is NaN"},
		{`return nil`, "ReflectStatus", luakube.Ret{Noun: "status", Into: &status}, "ReflectStatus: first result (status) must be a table, got nil"},
		{`return 5`, "ReflectStatus", luakube.Ret{Noun: "status", Into: &status}, "ReflectStatus: first result (status) must be a table, got the number 5"},
		{`return nil`, "GetDependencies", luakube.Ret{Noun: "dependencies", Into: &dependencies}, "GetDependencies: first result (dependencies) must be a list, got nil"},
		{`return true`, "GetDependencies", luakube.Ret{Noun: "dependencies", Into: &dependencies}, "must be a list, got true"},
		{`return {name = "x"}`, "GetDependencies", luakube.Ret{Noun: "dependencies", Into: &dependencies}, "must be a list, got a table with keys"},
		{`return {{name = 5}}`, "GetDependencies", luakube.Ret{Noun: "dependencies", Into: &dependencies}, "[0].name must be text, got the number 5"},
		{`return {{name = "a", replicas = 1.5}}`, "GetComponents", luakube.Ret{Noun: "components", Into: &components}, "[0].replicas must be a whole number, got 1.5"},
		{`return {resourceRequest = {cpu = "x"}}`, "F", luakube.Ret{Noun: "requirements", Into: &requirements}, "resourceRequest.cpu must be a quantity"},
		{`return {nodeClaim = {tolerations = {key = "x"}}}`, "F", luakube.Ret{Noun: "requirements", Into: &requirements}, "nodeClaim.tolerations must be a list, got a table with keys"},
		{`return {nodeClaim = {nodeSelector = {a = {}}}}`, "F", luakube.Ret{Noun: "requirements", Into: &requirements}, "nodeClaim.nodeSelector.a must be text"},
	} {
		err := into(t, "function "+c.function+"(o) "+c.source+" end", c.function, c.ret)
		require.ErrorContains(t, err, c.want, c.source)
		require.ErrorContains(t, err, "("+c.ret.Noun+")", c.source)
		require.ErrorIs(t, err, interpreter.ErrInvalidResult, c.source)
	}
}

func TestOnlyTheFieldsAskedForAreTaken(t *testing.T) {
	base := fromJSON(t, `{"apiVersion": "v1", "kind": "W", "metadata": {"name": "w"}, "spec": {"affinity": {}, "list": [], "n": 1}, "status": {"old": 1}}`).(map[string]any)
	status := func(source string) (any, error) {
		var a objectAnswer
		s := compile(t, newEngine(t), source)
		_, err := s.Call(t.Context(), &luakube.Call{Args: []any{base}, Rets: []luakube.Ret{a.ret(base, "status")}})
		return a.content(), err
	}
	got, err := status(`o.spec.n = 2 o.spec.affinity = nil o.status = {ready = 1} return o`)
	require.NoError(t, err)
	require.Equal(t, fromJSON(t, `{"apiVersion": "v1", "kind": "W", "metadata": {"name": "w"}, "spec": {"affinity": {}, "list": [], "n": 1}, "status": {"ready": 1}}`), got)
	got, err = status(`o.status = nil return o`)
	require.NoError(t, err)
	require.NotContains(t, got, "status")
	_, err = status(`o.metadata.name = "v" return o`)
	require.ErrorContains(t, err, `is another object: metadata.name is "v", was "w"`)
	require.Equal(t, int64(1), base["spec"].(map[string]any)["n"])
}

func TestTheOrderOfAResultIsTheSameInEveryRun(t *testing.T) {
	e := newEngine(t)
	s := compile(t, e, `local s = {} for k, v in pairs(o.many) do s[#s + 1] = k .. v.i end for k in pairs(o.keys) do s[#s + 1] = k end return table.concat(s, " ")`)
	first, _, err := call(t, s, awkward())
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(first.(string), "k000 k011 k022"), first)
	for range 20 {
		again, _, err := call(t, s, awkward())
		require.NoError(t, err)
		require.Equal(t, first, again)
	}
}
