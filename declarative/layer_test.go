package declarative_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/luakube"
)

// custom makes a customization with one rule for apps.demo.io/v1 Widget, or another target as "apiVersion kind".
func custom(name, rule, lua string, target ...string) *declarative.Customization {
	c := &v1alpha1.ResourceInterpreterCustomization{}
	c.Name = name
	c.Spec.Target = v1alpha1.CustomizationTarget{APIVersion: "apps.demo.io/v1", Kind: "Widget"}
	if len(target) > 0 {
		c.Spec.Target.APIVersion, c.Spec.Target.Kind, _ = strings.Cut(target[0], " ")
	}
	script := &v1alpha1.LuaRule{LuaScript: lua}
	switch rule {
	case "statusReflection":
		c.Spec.Customizations.StatusReflection = script
	case "healthInterpretation":
		c.Spec.Customizations.HealthInterpretation = script
	case "dependencyInterpretation":
		c.Spec.Customizations.DependencyInterpretation = script
	case "retention":
		c.Spec.Customizations.Retention = script
	case "replicaResource":
		c.Spec.Customizations.ReplicaResource = script
	case "pruning":
		c.Spec.Customizations.Pruning = script
	default:
		panic(rule)
	}
	return declarative.From(c)
}

// says is a status rule that tells who answered.
func says(name string, target ...string) *declarative.Customization {
	return custom(name, "statusReflection", fmt.Sprintf("function ReflectStatus(o) return {by = %q} end", name), target...)
}

func widget() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps.demo.io/v1", "kind": "Widget",
		"metadata": map[string]any{"name": "w", "namespace": "ns1"}, "spec": map[string]any{},
	}}
}

func chainOf(t testing.TB, list ...*declarative.Customization) *interpreter.Chain {
	t.Helper()
	layer, err := declarative.New(list)
	require.NoError(t, err)
	return interpreter.NewChain(layer)
}

func by(t testing.TB, chain *interpreter.Chain, o *unstructured.Unstructured) string {
	t.Helper()
	status, err := interpreter.Reflected(t.Context(), chain, o)
	if interpreter.IsNoRule(err) {
		return ""
	}
	require.NoError(t, err)
	return status.(map[string]any)["by"].(string)
}

func TestTheMostSpecificTargetAnswers(t *testing.T) {
	// From the least to the most specific: each one added to those before it answers from then on.
	order := []string{
		"*/* *", "* *", "*/v1 *", "* Widget", "*/v1 Widget",
		"*.io/* *", "*.demo.io/* *", "*.demo.io/v1 *", "*.demo.io/* Widget", "*.demo.io/v1 Widget",
		"apps.demo.io/* *", "apps.demo.io/v1 *", "apps.demo.io/* Widget", "apps.demo.io/v1 Widget",
	}
	var list []*declarative.Customization
	for i, target := range order {
		// Names run the other way, so that they cannot be what decides; the two ways to write "any" are equal.
		name := fmt.Sprintf("c%02d", len(order)-i)
		list = append(list, says(name, target))
		require.Equal(t, name, by(t, chainOf(t, list...), widget()), target)
	}
}

func TestPatternsMatchWholeParts(t *testing.T) {
	for target, kinds := range map[string]map[string]bool{
		"*.demo.io/* *": {"apps.demo.io/v1 Widget": true, "a.b.demo.io/v2 Gadget": true, "demo.io/v1 Widget": false, "xdemo.io/v1 Widget": false, "v1 Pod": false},
		"* Pod":         {"v1 Pod": true, "apps.demo.io/v3 Pod": true, "v1 Service": false},
		"v1 *":          {"v1 Pod": true, "apps.demo.io/v1 Widget": false},
		"demo.io/v1 *":  {"demo.io/v1 Widget": true, "demo.io/v2 Widget": false, "apps.demo.io/v1 Widget": false},
	} {
		chain := chainOf(t, says("any", target))
		for kind, want := range kinds {
			apiVersion, name, _ := strings.Cut(kind, " ")
			o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": name}}
			assert.Equal(t, want, by(t, chain, o) == "any", "%s for %s", target, kind)
		}
	}
}

func TestASelectorNarrowsATargetAndComesFirst(t *testing.T) {
	gold := says("z-gold")
	gold.Spec.Target.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
	chain := chainOf(t, says("a-all"), gold)
	o := widget()
	assert.Equal(t, "a-all", by(t, chain, o))
	o.SetLabels(map[string]string{"tier": "gold"})
	assert.Equal(t, "z-gold", by(t, chain, o))
}

func TestBadTargetsAreRefusedWithTheField(t *testing.T) {
	for target, want := range map[string]string{
		"apps/v1 ":      "spec.target.kind: is required",
		" Widget":       "spec.target.apiVersion: is required",
		"apps/v1 Wid*":  "spec.target.kind",
		"a*b/v1 Widget": "spec.target.apiVersion",
		"*x/v1 Widget":  "spec.target.apiVersion",
		"/v1 Widget":    "spec.target.apiVersion",
		"a/ Widget":     "spec.target.apiVersion",
		"a/b/c Widget":  "spec.target.apiVersion",
		"a/v* Widget":   "spec.target.apiVersion",
	} {
		_, err := declarative.New([]*declarative.Customization{says("bad", target)})
		assert.ErrorContains(t, err, want, target)
		assert.ErrorContains(t, err, `customization "bad"`, target)
	}
	bad := says("bad")
	bad.Spec.Target.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	_, err := declarative.New([]*declarative.Customization{bad})
	assert.ErrorContains(t, err, "spec.target.labelSelector")
}

func TestRulesOfOneKindAreAskedInTurnByNext(t *testing.T) {
	// Two teams retain different fields; the last word is the layer's below.
	below := chainOf(t, custom("base", "retention", `function Retain(d, o) d.spec.base = o.spec.base return d end`)).Layers()[0]
	layer, err := declarative.New([]*declarative.Customization{
		custom("a", "retention", `local kube = require("kube")
			function Retain(d, o) d.spec.a = o.spec.a return kube.next(d, o) end`),
		custom("b", "retention", `local kube = require("kube")
			function Retain(d, o) local r = kube.next(d, o) r.spec.b = o.spec.b return r end`),
	})
	require.NoError(t, err)
	desired, observed := widget(), widget()
	observed.Object["spec"] = map[string]any{"a": int64(1), "b": int64(2), "base": int64(3)}
	got, err := interpreter.Retained(t.Context(), interpreter.NewChain(layer, below), desired, observed)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"a": int64(1), "b": int64(2), "base": int64(3)}, got.Object["spec"])
	assert.Empty(t, desired.Object["spec"])
}

func TestNextGivesWhatTheFunctionItselfWouldReturn(t *testing.T) {
	for _, c := range []struct {
		name, below, above string
		want               interpreter.Health
	}{
		{"passed on", `return {status = "Progressing", reason = "Rolling", message = "2 of 3"}`, `return kube.next()`,
			interpreter.Health{Status: "Progressing", Reason: "Rolling", Message: "2 of 3"}},
		{"looked at", `return false, "crash looping"`, `local ok, h = kube.next() return not ok, h.message`,
			interpreter.Health{Status: "Healthy", Message: "crash looping"}},
		{"nothing below is an error that can be caught", "", `return (pcall(kube.next))`, interpreter.Health{Status: "Degraded"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			above := chainOf(t, custom("above", "healthInterpretation", `local kube = require("kube") function InterpretHealth(o) `+c.above+` end`)).Layers()
			if c.below != "" {
				above = append(above, chainOf(t, custom("below", "healthInterpretation", `function InterpretHealth(o) `+c.below+` end`)).Layers()...)
			}
			got, err := interpreter.HealthOf(t.Context(), interpreter.NewChain(above...), widget())
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestAnErrorOfALayerBelowKeepsItsCause(t *testing.T) {
	chain := chainOf(t, custom("a", "healthInterpretation", `function InterpretHealth(o) return require("kube").next() end`))
	_, err := interpreter.HealthOf(t.Context(), chain, widget())
	require.ErrorIs(t, err, interpreter.ErrNoRule)
	assert.ErrorContains(t, err, "by customization a")
}

func TestDependenciesOfAllRulesAreJoined(t *testing.T) {
	refs := func(names ...string) string {
		var b strings.Builder
		for _, n := range names {
			fmt.Fprintf(&b, `{apiVersion = "v1", kind = "Secret", namespace = "ns1", name = %q},`, n)
		}
		return "function GetDependencies(o) return {" + b.String() + "} end"
	}
	chain := chainOf(t,
		custom("b", "dependencyInterpretation", refs("y", "x", "y")),
		custom("a", "dependencyInterpretation", refs("z", "x")),
		custom("any", "dependencyInterpretation", refs("w"), "* *"),
	)
	for range 100 {
		res, err := chain.Interpret(t.Context(), &interpreter.Request{Operation: interpreter.InterpretDependency, Object: widget()})
		require.NoError(t, err)
		var names []string
		for _, d := range res.Dependencies {
			names = append(names, d.Name)
		}
		require.Equal(t, []string{"w", "x", "y", "z"}, names)
		require.Equal(t, "a, b, any", res.Source.Rule)
	}
	failing := chainOf(t, custom("a", "dependencyInterpretation", refs("x")), custom("b", "dependencyInterpretation", `function GetDependencies(o) error("no idea") end`))
	_, err := interpreter.Dependencies(t.Context(), failing, widget())
	require.ErrorContains(t, err, "no idea")
}

func TestScriptsDoNotSeeEachOther(t *testing.T) {
	// What the first leaves behind, the second would find.
	chain := chainOf(t,
		custom("a", "dependencyInterpretation", `function GetDependencies(o)
			n = (n or 0) + 1
			string.upper = function(s) return s .. "HACKED" end
			return {{apiVersion = "v1", kind = "Secret", name = "a" .. n}} end`),
		custom("b", "dependencyInterpretation", `function GetDependencies(o)
			n = (n or 0) + 1
			return {{apiVersion = "v1", kind = "Secret", name = string.upper("b") .. n}} end`),
	)
	for range 100 {
		list, err := interpreter.Dependencies(t.Context(), chain, widget())
		require.NoError(t, err)
		require.Len(t, list, 2)
		require.Equal(t, "B1", list[0].Name)
		require.Equal(t, "a1", list[1].Name)
	}
}

func TestReplaceAllChangesEverythingOrNothing(t *testing.T) {
	changes := 0
	layer, err := declarative.New([]*declarative.Customization{says("a")}, declarative.WithChanged(func() { changes++ }))
	require.NoError(t, err)
	chain := interpreter.NewChain(layer)
	before := changes
	broken := custom("a", "statusReflection", "function ReflectStatus(o")
	other := says("b", "apps/v1 Deployment")
	deployment := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"}}
	for says, list := range map[string][]*declarative.Customization{
		"a/statusReflection:1: syntax error":          {other, broken},
		"there is another customization of this name": {other, other},
	} {
		require.ErrorContains(t, layer.ReplaceAll(list), says)
		assert.Equal(t, "a", by(t, chain, widget()))
		assert.Empty(t, by(t, chain, deployment))
	}
	assert.Equal(t, before, changes)
	require.NoError(t, layer.ReplaceAll([]*declarative.Customization{other}))
	assert.Empty(t, by(t, chain, widget()))
	assert.Equal(t, "b", by(t, chain, deployment))
	assert.Equal(t, before+1, changes)
}

func TestReplaceKeepsTheLastGoodVersionOfWhatBreaks(t *testing.T) {
	layer, err := declarative.New(nil)
	require.NoError(t, err)
	chain := interpreter.NewChain(layer)
	assert.Empty(t, by(t, chain, widget()))

	require.NoError(t, layer.Replace([]*declarative.Customization{says("a"), says("other", "apps/v1 Deployment")}))
	assert.Equal(t, "a", by(t, chain, widget()))

	broken := custom("a", "statusReflection", "function ReflectStatus(o")
	newcomer := custom("new", "healthInterpretation", "function Misspelt(o) end")
	err = layer.Replace([]*declarative.Customization{broken, newcomer, custom("b", "healthInterpretation", "function InterpretHealth(o) return true end")})
	require.ErrorContains(t, err, "a/statusReflection")
	require.ErrorContains(t, err, "new/healthInterpretation: the script defines no function InterpretHealth (it defines Misspelt)")
	assert.Equal(t, "a", by(t, chain, widget()), "the last good version goes on")
	healthy, err := interpreter.IsHealthy(t.Context(), chain, widget())
	require.NoError(t, err)
	assert.True(t, healthy, "the sound ones are in force")
	deployment := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"}}
	assert.Empty(t, by(t, chain, deployment), "what is no longer there is gone")

	// One that was deleted and made anew is another, which has no last good version.
	anew := custom("a", "statusReflection", "function ReflectStatus(o")
	anew.UID = "another"
	require.Error(t, layer.Replace([]*declarative.Customization{anew}))
	assert.Empty(t, by(t, chain, widget()))

	require.NoError(t, layer.Replace(nil))
	assert.Empty(t, by(t, chain, widget()))
}

func TestNewWantsEverythingSound(t *testing.T) {
	_, err := declarative.New([]*declarative.Customization{says("a"), custom("b", "retention", "function Retain(")})
	require.Error(t, err)
	_, err = declarative.New([]*declarative.Customization{says("a"), says("a")})
	require.ErrorContains(t, err, "another customization of this name")
}

func TestChangedIsToldAfterTheNewRulesAreInForce(t *testing.T) {
	var layer *declarative.Layer
	told := 0
	layer, err := declarative.New(nil, declarative.WithChanged(func() {
		told++
		if layer != nil {
			assert.NotNil(t, layer.Customization("a"))
		}
	}))
	require.NoError(t, err)
	require.NoError(t, layer.Replace([]*declarative.Customization{says("a")}))
	assert.Equal(t, 2, told)
}

func TestConflictsNameBoth(t *testing.T) {
	layer, err := declarative.New([]*declarative.Customization{
		says("b"), says("a"), says("c"), says("elsewhere", "*/* *"),
		custom("d", "dependencyInterpretation", "function GetDependencies(o) end"),
		custom("e", "dependencyInterpretation", "function GetDependencies(o) end"),
	})
	require.NoError(t, err)
	var found []string
	for _, c := range layer.Conflicts() {
		found = append(found, fmt.Sprintf("%s: %s before %s", c.Operation, c.First.Name, c.Second.Name))
	}
	assert.Equal(t, []string{"InterpretStatus: a before b", "InterpretStatus: a before c"}, found)
}

func TestAnErrorTellsTheWholeStory(t *testing.T) {
	engine, err := luakube.New()
	require.NoError(t, err)
	layer, err := declarative.New([]*declarative.Customization{custom("probe", "healthInterpretation", "function InterpretHealth(o)\n  while true do end\nend")}, declarative.WithEngine(engine))
	require.NoError(t, err)
	_, err = interpreter.IsHealthy(t.Context(), interpreter.NewChain(layer), widget())
	require.ErrorIs(t, err, luakube.ErrLimit)
	for _, word := range []string{"InterpretHealth of apps.demo.io/v1 Widget ns1/w by customization probe", "exceeded", "1s", "probe/healthInterpretation:2"} {
		assert.ErrorContains(t, err, word)
	}
}

func TestAVersionWithoutRuleIsToldWhichHaveOne(t *testing.T) {
	o := widget()
	o.SetAPIVersion("apps.demo.io/v2")
	_, err := interpreter.Reflected(t.Context(), chainOf(t, says("probe")), o)
	require.ErrorIs(t, err, interpreter.ErrNoRule)
	assert.EqualError(t, err, "InterpretStatus of apps.demo.io/v2 Widget ns1/w: no rule for apps.demo.io/v2 Widget; have apps.demo.io/v1 Widget (probe)")
}

func TestARuleChangesOnlyWhatItIsAskedToChange(t *testing.T) {
	o := widget()
	o.Object["spec"] = map[string]any{"affinity": map[string]any{}, "list": []any{}, "template": map[string]any{"emptyDir": map[string]any{}}}
	c := custom("a", "pruning", "function Prune(o) return o end")
	c.Spec.Customizations.StatusAggregation = &v1alpha1.LuaRule{LuaScript: `function AggregateStatus(d, items) d.spec.list = {1} d.status = {ready = #items} return d end`}
	got, err := interpreter.Aggregated(t.Context(), chainOf(t, c), o, nil)
	require.NoError(t, err)
	want := o.DeepCopy()
	want.Object["status"] = map[string]any{"ready": int64(0)}
	assert.Equal(t, want, got)
}

func TestAnAnswerMustBeTheSameObject(t *testing.T) {
	for lua, want := range map[string]string{
		`o.metadata.name = "other"`: `metadata.name is "other", was "w"`,
		`o.kind = nil`:              `kind is "", was "Widget"`,
		`o = {}`:                    `apiVersion is "", was "apps.demo.io/v1"`,
	} {
		_, err := interpreter.Pruned(t.Context(), chainOf(t, custom("a", "pruning", "function Prune(o) "+lua+" return o end")), widget())
		assert.ErrorIs(t, err, interpreter.ErrInvalidResult, lua)
		assert.ErrorContains(t, err, want, lua)
	}
}

func TestABadAnswerIsBlamedOnTheFunctionsLine(t *testing.T) {
	_, _, err := interpreter.Replicas(t.Context(), chainOf(t, custom("a", "replicaResource", "local x = 1\nfunction GetReplicas(o) return -3 end")), widget())
	var script *luakube.ScriptError
	require.ErrorAs(t, err, &script)
	assert.Equal(t, 2, script.Line)
	require.ErrorIs(t, err, interpreter.ErrInvalidResult)
	assert.ErrorContains(t, err, "replicas must not be negative, got -3")
}

// TestRulesAreReplacedUnderReaders is for the race detector, and checks that no reader ever sees a mixture.
func TestRulesAreReplacedUnderReaders(t *testing.T) {
	all := func(n int) []*declarative.Customization {
		list, err := declarative.Parse("bench.yaml", []byte(strings.ReplaceAll(benchRules, "{name: bench}", fmt.Sprintf("{name: bench%d}", n))))
		require.NoError(t, err)
		return append(list, custom("v", "statusReflection", fmt.Sprintf("function ReflectStatus(o) return {n = %d} end", n)), custom("w", "pruning", "function Prune(o) return o end", "* *"))
	}
	// A loaded machine may leave a goroutine waiting for longer than a rule may run.
	limits := luakube.DefaultLimits()
	limits.Time = time.Minute
	engine, err := luakube.New(luakube.WithLimits(limits))
	require.NoError(t, err)
	layer, err := declarative.New(all(0), declarative.WithEngine(engine))
	require.NoError(t, err)
	chain := interpreter.NewChain(layer)
	var newest atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	replicas := int32(2)
	for i := range 64 {
		readers.Go(func() {
			object := deployment(2)
			for n := i; ctx.Err() == nil; n++ {
				op := interpreter.Operations()[n%len(interpreter.Operations())]
				if op == interpreter.InterpretComponent {
					continue
				}
				_, err := chain.Interpret(t.Context(), &interpreter.Request{Operation: op, Object: object, Observed: object, Replicas: &replicas, Statuses: members(2)})
				if !assert.NoError(t, err) {
					return
				}
				least := newest.Load()
				status, err := interpreter.Reflected(t.Context(), chain, widget())
				if !assert.NoError(t, err) || !assert.GreaterOrEqual(t, status.(map[string]any)["n"], least, "a rule from before the last replacement") {
					return
				}
			}
		})
	}
	for n := 1; n <= 50; n++ {
		require.NoError(t, layer.Replace(all(n)))
		newest.Store(int64(n))
		time.Sleep(time.Millisecond)
	}
	cancel()
	readers.Wait()
}

func TestIdleMemoryOfACustomization(t *testing.T) {
	const n, most = 200, 64 << 10
	var list []*declarative.Customization
	for i := range n {
		// Every script has a text of its own, as different customizations have.
		text := strings.ReplaceAll(benchRules, "bench}", fmt.Sprintf("bench%d}", i))
		text = strings.ReplaceAll(text, "end\n", fmt.Sprintf("end --%d\n", i))
		parsed, err := declarative.Parse("bench.yaml", []byte(text))
		require.NoError(t, err)
		parsed[0].Spec.Target.Kind = fmt.Sprintf("Kind%d", i)
		list = append(list, parsed...)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	layer, err := declarative.New(list)
	require.NoError(t, err)
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / n
	t.Logf("%d bytes a customization", each)
	assert.Less(t, each, int64(most))
	runtime.KeepAlive(layer)
}

func BenchmarkLookup(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var list []*declarative.Customization
			for i := range n {
				list = append(list, says(fmt.Sprintf("c%d", i), fmt.Sprintf("g%d.demo.io/v1 Widget", i)))
			}
			list = append(list, says("any", "*.demo.io/* *"))
			layer, err := declarative.New(list)
			require.NoError(b, err)
			kind := schema.GroupVersionKind{Group: "g7.demo.io", Version: "v1", Kind: "Widget"}
			b.ReportAllocs()
			for b.Loop() {
				layer.Rules(kind, interpreter.InterpretStatus)
			}
		})
	}
}

// liveHeap is about what a controller's caches hold. In an almost empty heap the collector runs all the time, and
// takes the second core from whoever has the first.
const liveHeap = 256 << 20

// BenchmarkParallel compares one caller with 64.
func BenchmarkParallel(b *testing.B) {
	caches := make([]byte, liveHeap)
	defer runtime.KeepAlive(caches)
	chain := chainOf(b, custom("a", "healthInterpretation", "function InterpretHealth(o) return o.metadata.name == 'w' end"))
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			b.ReportAllocs()
			var next atomic.Int64
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					o := widget()
					for next.Add(1) <= int64(b.N) {
						if _, err := interpreter.IsHealthy(b.Context(), chain, o); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}
