package declarative_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/luakube"
)

// check gives what is wrong with a file, a line each.
func check(t *testing.T, text string) string {
	t.Helper()
	list, err := declarative.Parse("f.yaml", []byte(text))
	require.NoError(t, err)
	// Time enough for the slowest machine to reach the instruction limit first.
	limits := luakube.DefaultLimits()
	limits.Time = time.Minute
	engine, err := luakube.New(luakube.WithLimits(limits))
	require.NoError(t, err)
	problems, err := declarative.Check(list, declarative.WithEngine(engine))
	require.NoError(t, err)
	var lines []string
	for _, p := range problems {
		lines = append(lines, p.String())
		if p.Place.Line > 0 {
			assert.Equal(t, strings.Split(text, "\n")[p.Place.Line-1], p.Place.Source)
		}
	}
	return strings.Join(lines, "\n")
}

// health is a customization with one rule whose script is a literal block.
func health(script string) string {
	return `apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: probe}
spec:
  target: {apiVersion: demo.io/v1, kind: Widget}
  customizations:
    healthInterpretation:
      luaScript: |
        ` + strings.ReplaceAll(script, "\n", "\n        ") + "\n"
}

func TestCheckFindsMistakesInScriptsWhereTheyStand(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"sound":                 {"function InterpretHealth(obj) return true end", ""},
		"assigned function":     {"InterpretHealth = function(obj) return true end", ""},
		"variable arguments":    {"function InterpretHealth(...) return true end", ""},
		"syntax":                {"function InterpretHealth(obj)\n  return = 1\nend", "f.yaml:10:18: probe/healthInterpretation: syntax error near \"=\""},
		"missing end":           {"function InterpretHealth(obj)\n  return true\n", "f.yaml:10: probe/healthInterpretation: syntax error at the end of the script"},
		"misspelt function":     {"function InterpretHealht(obj) return true end", "f.yaml:8:7: probe/healthInterpretation: the script defines no function InterpretHealth; is InterpretHealht meant to be it?"},
		"no function":           {"local x = 1", "f.yaml:8:7: probe/healthInterpretation: the script defines no function InterpretHealth"},
		"local function":        {"local function InterpretHealth(obj) return true end", "f.yaml:8:7: probe/healthInterpretation: the script defines no function InterpretHealth"},
		"no function at all":    {"InterpretHealth = {}", "f.yaml:8:7: probe/healthInterpretation: InterpretHealth is a table, not a function"},
		"error at load":         {"local x = 1\nerror(\"no\")\nfunction InterpretHealth(obj) end", "f.yaml:10: probe/healthInterpretation: no"},
		"endless load":          {"while true do end\nfunction InterpretHealth(obj) end", "f.yaml:9: probe/healthInterpretation: exceeded 20000000 instructions (limits: 20000000 instructions, 64Mi of memory, 1m0s)"},
		"too many parameters":   {"function InterpretHealth(obj, more) return more end", "f.yaml:9:18: probe/healthInterpretation: InterpretHealth is called with 1 argument (obj), but takes 2"},
		"too few parameters":    {"function InterpretHealth() return true end", "f.yaml:9:18: probe/healthInterpretation: InterpretHealth is called with 1 argument (obj), but takes 0"},
		"global never set":      {"function InterpretHealth(obj)\n  return observed.status\nend", "f.yaml:10:18: probe/healthInterpretation: the global observed is read and never set"},
		"misspelt global":       {"function InterpretHealth(obj)\n  return tostrng(obj.x) == ''\nend", "f.yaml:10:18: probe/healthInterpretation: the global tostrng is read and never set, did you mean tostring?"},
		"module without":        {"function InterpretHealth(obj)\n  return kube.condition(obj, 'Ready') ~= nil\nend", "f.yaml:10:18: probe/healthInterpretation: the global kube is read and never set; add: local kube = require(\"kube\")"},
		"unavailable":           {"function InterpretHealth(obj)\n  return getmetatable(obj)\nend", "f.yaml:10:18: probe/healthInterpretation: getmetatable is not available in rules"},
		"global set elsewhere":  {"function InterpretHealth(obj) return ok() end\nfunction ok() return limit end\nlimit = true", ""},
		"locals and parameters": {"local a = 1\nfunction InterpretHealth(obj)\n  for i = 1, 2 do local b = i + a end\n  for k, v in pairs(obj) do a = k .. v end\n  repeat local done = true until done\n  local function f(x) return f or x end\n  goto out\n  ::out::\n  return f(arg)\nend", "f.yaml:17:20: probe/healthInterpretation: the global arg is read and never set"},
		"globals as fields":     {"_G.limit = 1\n_G[\"most\"] = 2\nfunction InterpretHealth(obj) return limit < most end", ""},
		"looked at, not called": {"function InterpretHealth(obj) return type(setmetatable) ~= nil end", ""},
		"chosen at load":        {"if true then function InterpretHealth(obj) return true end else function InterpretHealth(o, x) return x end end", ""},
		"overwritten":           {"function InterpretHealth() end\nfunction InterpretHealth(obj) return true end", ""},
		"empty":                 {"", "f.yaml:8:7: probe/healthInterpretation: the script is empty, so the operation is left to the layers below; leave the rule out"},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, check(t, health(c.script))) })
	}
}

func TestCheckFindsWhatNoPartOfTheAPIHas(t *testing.T) {
	text := strings.NewReplacer("healthInterpretation:", "healthInterpretion:", "spec:", "spec:\n  tarket: {}", "luaScript", "luascript").Replace(health("function InterpretHealth(obj) return true end"))
	assert.Equal(t, `f.yaml:5:3: probe: unknown field "spec.tarket", did you mean target?
f.yaml:8:5: probe: unknown field "spec.customizations.healthInterpretion", did you mean healthInterpretation?
f.yaml:7:3: probe: there are no rules (have retention, replicaResource, componentResource, replicaRevision, statusReflection, statusAggregation, healthInterpretation, dependencyInterpretation, pruning)`, check(t, text))
	text = strings.Replace(health("function InterpretHealth(obj) return true end"), "luaScript", "luascript", 1)
	assert.Contains(t, check(t, text), `f.yaml:8:7: probe: unknown field "spec.customizations.healthInterpretation.luascript", did you mean luaScript?`)
}

func TestCheckFindsSelectorsThatSelectTooMuch(t *testing.T) {
	with := func(selector string) string {
		return check(t, strings.Replace(health("function InterpretHealth(obj) return true end"), "kind: Widget", "kind: Widget, labelSelector: "+selector, 1))
	}
	assert.Contains(t, with(`{matchLabel: {x: "1"}}`), `unknown field "spec.target.labelSelector.matchLabel", did you mean matchLabels?`)
	assert.Contains(t, with(`{matchExpressions: [{key: a, operater: Exists}]}`), `unknown field "spec.target.labelSelector.matchExpressions.operater", did you mean operator?`)
	assert.Empty(t, with(`{matchLabels: {x: "1"}, matchExpressions: [{key: a, operator: In, values: [b]}]}`))
}

func TestFieldsInAnotherLetterCaseAreNotTheAPIs(t *testing.T) {
	list, err := declarative.Parse("f.yaml", []byte(strings.Replace(health("function InterpretHealth(obj) return true end"), "luaScript", "luascript", 1)))
	require.NoError(t, err)
	assert.Empty(t, list[0].Spec.Customizations.HealthInterpretation.LuaScript)
}

func TestCheckFindsTargetsThatMatchNothing(t *testing.T) {
	assert.Equal(t, `f.yaml:5:36: probe: spec.target.kind: "Wid*": a pattern is "*" alone`,
		check(t, strings.Replace(health("function InterpretHealth(obj) return true end"), "kind: Widget", "kind: Wid*", 1)))
	assert.Equal(t, `f.yaml:5:3: probe: spec.target.kind: is required`,
		check(t, strings.Replace(health("function InterpretHealth(obj) return true end"), ", kind: Widget", "", 1)))
	assert.Contains(t, check(t, strings.Replace(health("function InterpretHealth(obj) return true end"), "{name: probe}", "{}", 1)), "metadata.name is required")
}

func TestCheckFindsConflicts(t *testing.T) {
	sound := health("function InterpretHealth(obj) return true end")
	other := strings.Replace(sound, "{name: probe}", "{name: other}", 1)
	assert.Equal(t, `f.yaml:7:5: probe/healthInterpretation: conflict: InterpretHealth of demo.io/v1 Widget: customizations "other" and "probe" both have a rule; "other" answers, being first by name (see f.yaml:17:5)`,
		check(t, sound+"---\n"+other))
	assert.Equal(t, `f.yaml:13:12: probe: there is another customization of this name (see f.yaml:3:12)`, check(t, sound+"---\n"+sound))
	pattern := strings.Replace(other, "kind: Widget", `kind: "*"`, 1)
	assert.Empty(t, check(t, sound+"---\n"+pattern), "a more specific target is no conflict")
}

func TestCheckFindsCommentsThatSwallowCode(t *testing.T) {
	folded := strings.Replace(health("-- whether it is well\nfunction InterpretHealth(obj) return true end"), "luaScript: |", "luaScript: >", 1)
	assert.Contains(t, check(t, folded), "f.yaml:9:9: probe/healthInterpretation: the script is a folded block (>), which joins its lines, so the comment that begins here swallows the code after it; write | instead of >")
	assert.Empty(t, check(t, strings.Replace(health("function InterpretHealth(obj)\n  local s = [[ -- not a comment ]]\n  return #s > 0\nend"), "luaScript: |", "luaScript: >", 1)))
	harmless := strings.Replace(health("local s = \"--\"\nfunction InterpretHealth(obj) return s == \"\" end -- at the end"), "luaScript: |", "luaScript: >", 1)
	assert.Empty(t, check(t, harmless))
}

func TestPlacesInEveryStyleOfScalar(t *testing.T) {
	const script = "function InterpretHealth(obj) return nope end"
	for style, want := range map[string]string{
		"|\n        " + script:    "f.yaml:9:46:",
		"|2\n          " + script: "f.yaml:9:48:",
		">-\n        " + script:   "f.yaml:8:",
		script:                    "f.yaml:8:55:",
		"'" + script + "'":        "f.yaml:8:56:",
		`"` + script + `"`:        "f.yaml:8:56:",
	} {
		text := strings.Replace(health(""), "|\n        \n", style+"\n", 1)
		got := check(t, text)
		assert.True(t, strings.HasPrefix(got, want), "%q for %s", got, style)
		assert.Contains(t, got, "the global nope is read and never set", style)
	}
}

func TestParseNamesFileAndLine(t *testing.T) {
	for text, want := range map[string]string{
		"a: [":                          "f.yaml:1: not YAML",
		"---\n- 1\n":                    "f.yaml:2:1: not an object",
		"apiVersion: v1\nkind: Pod\n":   "f.yaml:1:1: not a ResourceInterpreterCustomization",
		"a: 1\na: 2\n":                  "f.yaml:",
		health("") + "---\nkind: Pod\n": "f.yaml:11:1: not a ResourceInterpreterCustomization",
		strings.Replace(health(""), "{apiVersion: demo.io/v1, kind: Widget}", "3", 1): "spec.target",
	} {
		_, err := declarative.Parse("f.yaml", []byte(text))
		assert.ErrorContains(t, err, want, text)
	}
	for _, text := range []string{"", "---\n", "# nothing\n", "null\n"} {
		list, err := declarative.Parse("f.yaml", []byte(text))
		require.NoError(t, err)
		assert.Empty(t, list)
	}
}

func TestParseOpensListsAndReadsJSON(t *testing.T) {
	item := func(name string) string {
		return fmt.Sprintf(`{"apiVersion":"config.karmada.io/v1alpha1","kind":"ResourceInterpreterCustomization","metadata":{"name":%q},"spec":{"target":{"apiVersion":"v1","kind":"Pod"},"customizations":{"retention":{"luaScript":"function Retain("}}}}`, name)
	}
	for _, text := range []string{
		`{"apiVersion":"v1","kind":"List","items":[` + item("a") + "," + item("b") + `]}`,
		`{"apiVersion":"config.karmada.io/v1alpha1","kind":"ResourceInterpreterCustomizationList","items":[` + item("a") + "," + item("b") + `]}`,
		item("a") + "\n" + item("b"),
		item("a") + "\n---\n" + item("b"),
		// Python writes what is not in the Basic Multilingual Plane so, and YAML cannot read it.
		`{"apiVersion":"v1","kind":"List","metadata":{"labels":{"a":"\ud83d\ude00"}},"items":[` + item("a") + "," + item("b") + `]}`,
	} {
		list, err := declarative.Parse("f.json", []byte(text))
		require.NoError(t, err)
		require.Len(t, list, 2, text)
		assert.Equal(t, "b", list[1].Name)
		problems, err := declarative.Check(list[1:])
		require.NoError(t, err)
		require.Len(t, problems, 1)
		assert.Positive(t, problems[0].Place.Line)
	}
	_, err := declarative.Parse("f.json", []byte(`{"apiVersion":"v1","kind":"List","items":[3, `+item("a")+`]}`))
	assert.ErrorContains(t, err, "f.json:1:43: not a ResourceInterpreterCustomization: not an object")
}

// FuzzParse loads whatever is in a file: it ends in customizations or an error, and what loads can be checked.
func FuzzParse(f *testing.F) {
	for _, text := range []string{benchRules, health("function InterpretHealth(obj) return true end"), health("while true do end"), "a: &a [*a]", "{}", "- - -", "? !!binary x\n: y\n---\n\xff"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := declarative.Parse("f", data)
		if err != nil || len(list) > 3 {
			return
		}
		if _, err := declarative.Check(list); err != nil {
			t.Fatal(err)
		}
	})
}

func ExampleCheck() {
	list, _ := declarative.Parse("rules.yaml", []byte(health("function InterpretHealht(obj)\n  return true\nend")))
	problems, _ := declarative.Check(list)
	for _, p := range problems {
		fmt.Println(p)
	}
	// Output: rules.yaml:8:7: probe/healthInterpretation: the script defines no function InterpretHealth; is InterpretHealht meant to be it?
}

func TestCheckSaysWhatIsFatalAndWhereInTheScript(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   []declarative.Problem
	}{
		"a likely mistake": {"function ReflectStatus(o)\n  return observed\nend", []declarative.Problem{{
			Line: 2, Column: 10, Message: "the global observed is read and never set",
		}}},
		"a broken script": {"function ReflectStatus(o)\n  return = 1\nend", []declarative.Problem{{
			Line: 2, Column: 10, Fatal: true, Message: `syntax error near "="`,
		}}},
		"nothing but space": {" \n", []declarative.Problem{{
			Fatal: true, Message: "the script defines no function ReflectStatus",
		}}},
		"nothing": {"", []declarative.Problem{{
			Message: "the script is empty, so the operation is left to the layers below; leave the rule out",
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			list := []*declarative.Customization{custom("a", "statusReflection", c.script)}
			problems, err := declarative.Check(list)
			require.NoError(t, err)
			for i := range c.want {
				c.want[i].Customization, c.want[i].Rule = "a", "statusReflection"
			}
			assert.Equal(t, c.want, problems)
			_, err = declarative.New(list)
			fatal := len(problems) > 0 && problems[0].Fatal
			assert.Equal(t, fatal, err != nil, "fatal is what does not load: %v", err)
		})
	}
}
