package luakube_test

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kubeinterpret/interpret/luakube"
)

// FuzzIdentity sends any JSON object through rules that change nothing.
func FuzzIdentity(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"": {"": []}}`, `{"a": null}`, `{"a": [null, 1, null]}`, `{"a": [[], {}, [{}], [[]]]}`, `{"a.b/c": {}, "*.x": [], "x|y": null, "@this": 1, "b\\s": 2}`,
		`{"seed": 9007199254740993, "min": -9223372036854775808, "max": 9223372036854775807, "two": 18446744073709551616}`,
		`{"f": 3.0, "g": 1e300, "h": -0.0, "i": 0.1, "j": 1e15, "k": 9007199254740992.0, "l": 5e-324}`,
		`{"1": "one", "2": "two", "list": [1, 2.5, "x", true, false, null]}`, `{"\ud800": "\u0000", "é": "\uffff", "n": {"n": {"n": {"n": {}}}}}`,
		`{"metadata": {"labels": {"a.example.com": "", "urn:x": ""}}, "spec": {"affinity": {}, "args": []}}`,
	} {
		f.Add([]byte(text))
	}
	long, err := stdjson.Marshal(awkward())
	require.NoError(f, err)
	f.Add(long)
	e := newEngine(f)
	var scripts []*luakube.Script
	for _, source := range touches {
		if !strings.Contains(source, "o.") {
			scripts = append(scripts, compile(f, e, source))
		}
	}
	scripts = append(scripts,
		compile(f, e, `for k, v in pairs(o) do o[k] = v end return o`),
		compile(f, e, `local function deep(v) if type(v) == "table" then local n = 0 for _, x in pairs(v) do deep(x) n = n + 1 end if #v > 0 then v[1] = v[1] table.insert(v, "x") table.remove(v) end end end deep(o) return o`),
		compile(f, e, `local k, v = next(o) if type(v) == "table" then next(v) end return o`),
		compile(f, e, `local function copy(v) if type(v) ~= "table" then return v end local c = {} for k, x in pairs(v) do copy(x) c[k] = x end return c end copy(o) return o`),
	)
	f.Fuzz(func(t *testing.T, text []byte) {
		object := map[string]any{}
		if json.Unmarshal(text, &object) != nil || object == nil || len(text) > 1<<16 {
			return
		}
		before := runtime.DeepCopyJSON(object)
		for _, s := range scripts {
			result, _, err := call(t, s, object)
			if err != nil {
				// Only a script that has touched the depths is held to how deep tables may nest.
				require.ErrorContains(t, err, "nests deeper than 500 levels")
				continue
			}
			require.Equal(t, any(before), result)
			scramble(result)
			require.Equal(t, before, object)
		}
	})
}

// FuzzScript takes any bytes for a script, which gives an answer or an error, the same each time.
func FuzzScript(f *testing.F) {
	for _, h := range hostile {
		f.Add("function F(o) " + h.source + " end")
	}
	for _, s := range append(stains, innocent, spy, searches) {
		f.Add(s)
	}
	for _, source := range touches {
		f.Add("function F(o) " + source + " end")
	}
	for _, fn := range luakube.Functions() {
		f.Add("local kube = require('kube') function F(o) return " + fn.Example + " end")
	}
	f.Add("function F(")
	f.Add("x = = 1")
	f.Add("\x00\xff")
	limits := luakube.DefaultLimits()
	limits.Instructions, limits.Memory, limits.Time = 200_000, 4<<20, 5*time.Second
	e := newEngine(f, luakube.WithLimits(limits))
	good := compile(f, e, innocent)
	want, _, err := call(f, good, hostileObject())
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, source string) {
		e.Analyze(source)
		luakube.Fields(source, "F")
		s, err := e.Compile("probe/rule", source, "F")
		if err != nil {
			requireScriptError(t, err)
			return
		}
		object := hostileObject()
		first, use, err := call(t, s, object)
		require.Equal(t, hostileObject(), object)
		if err != nil {
			requireScriptError(t, err)
			if errors.Is(err, context.DeadlineExceeded) {
				return // which depends on the machine
			}
		}
		if !strings.Contains(source, "os") { // which has a clock
			again, useAgain, errAgain := call(t, s, object)
			require.Equal(t, first, again)
			require.Equal(t, use, useAgain)
			require.Equal(t, err == nil, errAgain == nil)
		}
		if err == nil {
			_, err := stdjson.Marshal(first)
			require.NoError(t, err)
		}
		after, _, err := call(t, good, hostileObject())
		require.NoError(t, err)
		require.Equal(t, want, after)
	})
}

func requireScriptError(t *testing.T, err error) {
	var script *luakube.ScriptError
	require.ErrorAs(t, err, &script)
	require.NotContains(t, script.Message, "internal error")
	require.Less(t, len(err.Error()), 10_000)
}
