package versions_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/interpreter/versions"
	"github.com/kubeinterpret/interpret/luakube"
	"github.com/kubeinterpret/interpret/webhook/conversion"
)

// crdOf is a CRD of Foo in demo.io with versions, of which the first is stored, and a conversion in YAML.
func crdOf(t testing.TB, conversion string, names ...string) *definition.Definition {
	text := `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.demo.io}
spec:
  group: demo.io
  names: {plural: foos, kind: Foo}
  scope: Namespaced
  conversion: ` + conversion + `
  versions:
`
	for i, name := range names {
		text += fmt.Sprintf("  - {name: %s, served: true, storage: %t, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}\n", name, i == 0)
	}
	list, err := definition.Parse("foo.yaml", []byte(text))
	require.NoError(t, err)
	return list[0]
}

const (
	none = "{strategy: None}"
	// calls is a conversion that nobody calls here: the converter of the layer is asked instead.
	calls = "{strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://localhost'}}}"
)

func setOf(t testing.TB, list ...*definition.Definition) *definition.Set {
	s, err := definition.NewSet(list...)
	require.NoError(t, err)
	return s
}

func kind(version string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "demo.io", Version: version, Kind: "Foo"}
}

// layer is rules by key.
type layer map[interpreter.Key][]*interpreter.Rule

func (l layer) Name() string { return "test" }

func (l layer) Rules(kind schema.GroupVersionKind, op interpreter.Operation) []*interpreter.Rule {
	return l[interpreter.Key{Kind: kind, Operation: op}]
}

// says is a rule of some name that answers with a message.
func says(name string) *interpreter.Rule {
	return &interpreter.Rule{Name: name, Interpreter: interpreter.HealthFunc(func(o *unstructured.Unstructured) (interpreter.Health, error) {
		return interpreter.Health{Status: interpreter.Healthy, Message: name + " saw " + o.GetAPIVersion()}, nil
	})}
}

func object(t testing.TB, text string) *unstructured.Unstructured {
	raw, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	o := &unstructured.Unstructured{}
	require.NoError(t, o.UnmarshalJSON(raw))
	return o
}

func foo(t testing.TB, version string) *unstructured.Unstructured {
	return object(t, "{apiVersion: demo.io/"+version+", kind: Foo, metadata: {name: web, namespace: a}, spec: {replicas: 2}}")
}

func health(t testing.TB, c *interpreter.Chain, o *unstructured.Unstructured) string {
	h, err := interpreter.HealthOf(t.Context(), c, o)
	if interpreter.IsNoRule(err) {
		return "nobody"
	}
	require.NoError(t, err)
	return h.Message
}

func TestWhichVersionAnswers(t *testing.T) {
	t.Parallel()
	at := func(version string) interpreter.Key {
		return interpreter.Key{Kind: kind(version), Operation: interpreter.InterpretHealth}
	}
	// Stored is v1beta1; by priority v2, v1, v1beta1, v1alpha1 follow.
	defs := setOf(t, crdOf(t, none, "v1beta1", "v1alpha1", "v1", "v2"))
	for name, c := range map[string]struct {
		rules layer
		asked string
		want  string
	}{
		"its own":                     {layer{at("v1"): {says("one")}, at("v1beta1"): {says("beta")}}, "v1", "one saw demo.io/v1"},
		"the stored one comes first":  {layer{at("v2"): {says("two")}, at("v1beta1"): {says("beta")}}, "v1", "beta saw demo.io/v1beta1"},
		"then the newest":             {layer{at("v2"): {says("two")}, at("v1"): {says("one")}}, "v1beta1", "two saw demo.io/v2"},
		"a stable one before a beta":  {layer{at("v1alpha1"): {says("alpha")}, at("v1"): {says("one")}}, "v1beta1", "one saw demo.io/v1"},
		"an alpha is better than no":  {layer{at("v1alpha1"): {says("alpha")}}, "v1", "alpha saw demo.io/v1alpha1"},
		"undeclared versions ask no":  {layer{at("v1"): {says("one")}}, "v3", "nobody"},
		"undeclared versions are not": {layer{at("v3"): {says("three")}}, "v1", "nobody"},
		"no rules":                    {layer{}, "v1", "nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			chain := interpreter.NewChain(versions.New(c.rules, defs, nil))
			for range 2 { // The second time it is remembered.
				assert.Equal(t, c.want, health(t, chain, foo(t, c.asked)))
			}
		})
	}
	bar := object(t, "{apiVersion: demo.io/v1, kind: Bar}")
	other := layer{{Kind: schema.GroupVersionKind{Group: "demo.io", Version: "v2", Kind: "Bar"}, Operation: interpreter.InterpretHealth}: {says("bar")}}
	assert.Equal(t, "nobody", health(t, interpreter.NewChain(versions.New(other, defs, nil)), bar), "there is no CRD of it")
}

func TestTheNearerLayerAnswersInWhateverVersion(t *testing.T) {
	t.Parallel()
	defs := setOf(t, crdOf(t, none, "v2", "v1"))
	near := versions.New(layer{{Kind: kind("v1"), Operation: interpreter.InterpretHealth}: {says("near")}}, defs, nil)
	far := versions.New(layer{{Kind: kind("v2"), Operation: interpreter.InterpretHealth}: {says("far")}}, defs, nil)
	chain := interpreter.NewChain(near, far)
	assert.Equal(t, "near saw demo.io/v1", health(t, chain, foo(t, "v2")))
	list, err := chain.Explain(&interpreter.Request{Object: foo(t, "v2")})
	require.NoError(t, err)
	for _, e := range list {
		if e.Operation == interpreter.InterpretHealth {
			assert.Equal(t, []interpreter.Source{{Layer: "test", Rule: "near (demo.io/v1)"}}, e.Answers)
			assert.Equal(t, []interpreter.Source{{Layer: "test", Rule: "far"}}, e.PassedOver)
		} else {
			assert.Empty(t, e.Answers)
		}
	}
}

func TestSelectorsAreThoseOfTheRule(t *testing.T) {
	t.Parallel()
	rule := says("chosen")
	rule.Selector = labels.SelectorFromSet(labels.Set{"a": "b"})
	l := versions.New(layer{{Kind: kind("v1"), Operation: interpreter.InterpretHealth}: {rule, says("rest")}}, setOf(t, crdOf(t, none, "v2", "v1")), nil)
	o := foo(t, "v2")
	assert.Equal(t, "rest saw demo.io/v1", health(t, interpreter.NewChain(l), o))
	o.SetLabels(map[string]string{"a": "b"})
	assert.Equal(t, "chosen saw demo.io/v1", health(t, interpreter.NewChain(l), o))
}

// customized is a layer of customizations for demo.io Foo in a version; rules are "key: script" in YAML.
func customized(t testing.TB, name, version, rules string) *declarative.Layer {
	scripts := map[string]string{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(rules), &scripts))
	c := &v1alpha1.ResourceInterpreterCustomization{}
	customizations := map[string]any{}
	for key, script := range scripts {
		customizations[key] = map[string]any{"luaScript": script}
	}
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"target": map[string]any{"apiVersion": "demo.io/" + version, "kind": "Foo"}, "customizations": customizations},
	}, c))
	l, err := declarative.New([]*declarative.Customization{declarative.From(c)}, declarative.WithName(name+"-layer"))
	require.NoError(t, err)
	return l
}

// In v1 there are size and state, in v2 spec.replicas and status.phase.
const converter = `
apiVersion: kubeinterpret.io/v1alpha1
kind: Converter
metadata: {name: foo}
spec:
  target: {group: demo.io, kind: Foo, versions: [v1, v2]}
  luaScript: |
    local function move(from, a, to, b)
      if from and from[a] ~= nil then
        to[b] = from[a]
        if a ~= b then from[a] = nil end
      end
    end
    function Convert(obj, desired)
      if obj.spec and obj.spec.broken then error("spec.broken cannot be converted") end
      if desired == "demo.io/v1" then
        if obj.spec then move(obj.spec, "replicas", obj.spec, "size") end
        if obj.status then move(obj.status, "phase", obj.status, "state") end
      else
        if obj.spec then move(obj.spec, "size", obj.spec, "replicas") end
        if obj.status then move(obj.status, "state", obj.status, "phase") end
      end
      obj.apiVersion = desired
      return obj
    end
`

func converters(t testing.TB) *conversion.Set {
	list, err := conversion.Parse("foo.yaml", []byte(converter))
	require.NoError(t, err)
	engine, err := luakube.New()
	require.NoError(t, err)
	r, err := list[0].Compile(engine)
	require.NoError(t, err)
	s, err := conversion.NewSet(r)
	require.NoError(t, err)
	return s
}

// local converts without HTTP, and counts what is converted.
func local(t testing.TB) (versions.Func, *int) {
	s, n := converters(t), new(int)
	return func(ctx context.Context, d *definition.Definition, objects []*unstructured.Unstructured, version string) ([]*unstructured.Unstructured, error) {
		*n += len(objects)
		return s.Convert(ctx, objects, schema.GroupVersion{Group: d.GroupKind().Group, Version: version})
	}, n
}

// Rules for v1, as somebody writes them who knows nothing of v2. Each would fail in v2.
const rulesOfV1 = `
replicaResource: |
  function GetReplicas(obj) return obj.spec.size end
componentResource: |
  function GetComponents(obj) return {{name = "all", replicas = obj.spec.size}} end
replicaRevision: |
  function ReviseReplica(obj, n)
    assert(obj.spec.replicas == nil)
    obj.spec.size = n
    return obj
  end
retention: |
  function Retain(desired, observed)
    desired.spec.size = observed.spec.size
    return desired
  end
statusAggregation: |
  function AggregateStatus(obj, items)
    local states = {}
    for _, item in ipairs(items) do
      states[#states+1] = item.status and item.status.state or "?"
    end
    obj.spec.size = 99
    obj.status = {state = table.concat(states, ","), size = obj.spec.size}
    return obj
  end
statusReflection: |
  function ReflectStatus(obj) return {state = obj.status.state} end
healthInterpretation: |
  function InterpretHealth(obj) return obj.status.state == "up", obj.apiVersion end
dependencyInterpretation: |
  function GetDependencies(obj) return {{apiVersion = "v1", kind = "Secret", namespace = obj.metadata.namespace, name = "s" .. obj.spec.size}} end
pruning: |
  function Prune(obj)
    obj.spec.size = nil
    return obj
  end
`

const fooV2 = "{apiVersion: demo.io/v2, kind: Foo, metadata: {name: web, namespace: a, uid: u}, spec: {replicas: 2, other: [{}]}, status: {phase: up}}"

func items(raw ...string) []interpreter.AggregatedStatusItem {
	var list []interpreter.AggregatedStatusItem
	for i, r := range raw {
		item := interpreter.AggregatedStatusItem{ClusterName: string(rune('a' + i))}
		if r != "" {
			item.Status = &runtime.RawExtension{Raw: []byte(r)}
		}
		list = append(list, item)
	}
	return list
}

func TestEveryOperationIsAnsweredInAnotherVersion(t *testing.T) {
	t.Parallel()
	defs := setOf(t, crdOf(t, calls, "v2", "v1"))
	convert, _ := local(t)
	chain := interpreter.NewChain(versions.New(customized(t, "web", "v1", rulesOfV1), defs, convert))
	in := object(t, fooV2)
	ctx := t.Context()

	n, _, err := interpreter.Replicas(ctx, chain, in)
	require.NoError(t, err)
	assert.Equal(t, int32(2), n)

	components, err := interpreter.Components(ctx, chain, in)
	require.NoError(t, err)
	assert.Equal(t, []interpreter.Component{{Name: "all", Replicas: 2}}, components)

	revised, err := interpreter.Revised(ctx, chain, in, 7)
	require.NoError(t, err)
	want := object(t, fooV2)
	want.Object["spec"].(map[string]any)["replicas"] = int64(7)
	assert.Equal(t, want, revised)

	observed := object(t, fooV2)
	observed.Object["spec"].(map[string]any)["replicas"] = int64(5)
	retained, err := interpreter.Retained(ctx, chain, in, observed)
	require.NoError(t, err)
	want.Object["spec"].(map[string]any)["replicas"] = int64(5)
	assert.Equal(t, want, retained)
	observed = object(t, "{apiVersion: demo.io/v1, kind: Foo, metadata: {name: web, namespace: a}, spec: {size: 5}}")
	retained, err = interpreter.Retained(ctx, chain, in, observed)
	require.NoError(t, err, "what is observed may be in the rule's version")
	assert.Equal(t, want, retained)

	aggregated, err := interpreter.Aggregated(ctx, chain, in, items(`{"phase":"up"}`, "", "null", `{"phase":"down"}`, `{}`))
	require.NoError(t, err)
	want = object(t, fooV2)
	want.Object["status"] = map[string]any{"phase": "up,?,?,down,?", "size": int64(99)}
	assert.Equal(t, want, aggregated, "only the status changes")

	status, err := interpreter.Reflected(ctx, chain, in)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"phase": "up"}, status)

	h, err := interpreter.HealthOf(ctx, chain, in)
	require.NoError(t, err)
	assert.Equal(t, interpreter.Health{Status: interpreter.Healthy, Message: "demo.io/v1"}, h)

	dependencies, err := interpreter.Dependencies(ctx, chain, in)
	require.NoError(t, err)
	assert.Equal(t, []interpreter.DependentObjectReference{{APIVersion: "v1", Kind: "Secret", Namespace: "a", Name: "s2"}}, dependencies)

	pruned, err := interpreter.Pruned(ctx, chain, in)
	require.NoError(t, err)
	want = object(t, fooV2)
	delete(want.Object["spec"].(map[string]any), "replicas")
	assert.Equal(t, want, pruned)

	assert.Equal(t, object(t, fooV2), in, "the question is not modified")

	// In its own version nothing is converted.
	convert2, count := local(t)
	own := interpreter.NewChain(versions.New(customized(t, "web", "v1", rulesOfV1), defs, convert2))
	_, _, err = interpreter.Replicas(ctx, own, object(t, "{apiVersion: demo.io/v1, kind: Foo, spec: {size: 3}}"))
	require.NoError(t, err)
	assert.Zero(t, *count)
}

func TestTheStrategyNoneChangesTheVersionOnly(t *testing.T) {
	t.Parallel()
	l := customized(t, "web", "v1", `
replicaRevision: |
  function ReviseReplica(obj, n)
    assert(obj.apiVersion == "demo.io/v1")
    obj.spec.replicas = n
    return obj
  end
statusReflection: |
  function ReflectStatus(obj) return {all = {obj.apiVersion}} end
statusAggregation: |
  function AggregateStatus(obj, items)
    obj.status = {first = items[1].status}
    return obj
  end
`)
	chain := interpreter.NewChain(versions.New(l, setOf(t, crdOf(t, none, "v2", "v1")), versions.Func(func(context.Context, *definition.Definition, []*unstructured.Unstructured, string) ([]*unstructured.Unstructured, error) {
		return nil, errors.New("the strategy None calls nobody")
	})))
	in := object(t, fooV2)
	revised, err := interpreter.Revised(t.Context(), chain, in, 7)
	require.NoError(t, err)
	want := object(t, fooV2)
	want.Object["spec"].(map[string]any)["replicas"] = int64(7)
	assert.Equal(t, want, revised)
	status, err := interpreter.Reflected(t.Context(), chain, in)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"all": []any{"demo.io/v1"}}, status)
	aggregated, err := interpreter.Aggregated(t.Context(), chain, in, items(`{"phase":"up"}`))
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"first": map[string]any{"phase": "up"}}, aggregated.Object["status"])
	assert.Equal(t, "demo.io/v2", aggregated.GetAPIVersion())
	assert.Equal(t, object(t, fooV2), in)
	// What comes back is the caller's.
	revised.Object["spec"].(map[string]any)["other"] = nil
	assert.Equal(t, object(t, fooV2), in)
}

// What a rule of v1 asks below is asked in v2, where a rule of v2 answers as if nobody had been there.
func TestAskingTheLayersBelow(t *testing.T) {
	t.Parallel()
	defs := setOf(t, crdOf(t, calls, "v2", "v1"))
	convert, _ := local(t)
	near := versions.New(customized(t, "near", "v1", `
replicaRevision: |
  local kube = require("kube")
  function ReviseReplica(obj, n)
    obj.spec.mark = obj.spec.size
    local below = kube.next(obj, n + 1)
    assert(below.apiVersion == "demo.io/v1" and below.spec.replicas == nil)
    below.spec.size = below.spec.size * 10
    return below
  end
statusReflection: |
  local kube = require("kube")
  function ReflectStatus(obj)
    local status = kube.next()
    assert(status.phase == nil)
    status.state = status.state .. "!"
    return status
  end
statusAggregation: |
  local kube = require("kube")
  function AggregateStatus(obj, items)
    local below = kube.next(obj, items)
    below.status.state = below.status.state .. "!"
    return below
  end
healthInterpretation: |
  local kube = require("kube")
  function InterpretHealth(obj) return kube.next({apiVersion = "other.io/v1", kind = "Bar"}) end
`), defs, convert)
	far := versions.New(customized(t, "far", "v2", `
replicaRevision: |
  function ReviseReplica(obj, n)
    assert(obj.apiVersion == "demo.io/v2" and obj.spec.size == nil)
    obj.spec.replicas = n
    return obj
  end
statusReflection: |
  function ReflectStatus(obj) return {phase = obj.status.phase .. "?"} end
statusAggregation: |
  function AggregateStatus(obj, items)
    obj.status = {phase = items[1].status.phase}
    return obj
  end
`), defs, convert)
	chain := interpreter.NewChain(near, far)
	revised, err := interpreter.Revised(t.Context(), chain, object(t, fooV2), 3)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"replicas": int64(40), "mark": int64(2), "other": []any{map[string]any{}}}, revised.Object["spec"])
	status, err := interpreter.Reflected(t.Context(), chain, object(t, fooV2))
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"phase": "up?!"}, status)
	aggregated, err := interpreter.Aggregated(t.Context(), chain, object(t, fooV2), items(`{"phase":"down"}`))
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"phase": "down!"}, aggregated.Object["status"])
	_, err = interpreter.HealthOf(t.Context(), chain, object(t, fooV2))
	require.ErrorContains(t, err, "no rule for other.io/v1 Bar", "what is about something else is asked as it is")
}

func TestConversionsThatFail(t *testing.T) {
	t.Parallel()
	defs := setOf(t, crdOf(t, calls, "v2", "v1"))
	convert, _ := local(t)
	broken := object(t, fooV2)
	broken.Object["spec"].(map[string]any)["broken"] = true
	reflect := &interpreter.Request{Operation: interpreter.InterpretStatus, Object: object(t, fooV2)}
	revise := func(o *unstructured.Unstructured) *interpreter.Request {
		return &interpreter.Request{Operation: interpreter.ReviseReplica, Object: o, Replicas: new(int32(3))}
	}
	for name, c := range map[string]struct {
		rules     string
		converter versions.Converter
		req       *interpreter.Request
		want      string
	}{
		"nothing to call with": {rulesOfV1, nil, reflect,
			"InterpretStatus of demo.io/v2 Foo a/web by web-layer web (demo.io/v1): the question: CustomResourceDefinition foos.demo.io has a conversion webhook, and there is nothing to call it with"},
		"a question": {rulesOfV1, convert, revise(broken),
			"ReviseReplica of demo.io/v2 Foo a/web by web-layer web (demo.io/v1): the question: Foo a/web cannot be converted to demo.io/v1: converter foo:8: spec.broken cannot be converted"},
		"an answer": {"replicaRevision: function ReviseReplica(obj, n) obj.spec.broken = true return obj end", convert, revise(object(t, fooV2)),
			"by web-layer web (demo.io/v1): the answer: Foo a/web cannot be converted to demo.io/v2: converter foo:8: spec.broken cannot be converted"},
		"another object": {"replicaRevision: function ReviseReplica(obj, n) obj.metadata.name = 'b' return obj end", convert, revise(object(t, fooV2)),
			`web/replicaRevision:1: ReviseReplica: invalid result: the answer is another object: metadata.name is "b", was "web"`},
		"a status that is a list": {"statusReflection: function ReflectStatus(obj) return {1} end", convert, reflect,
			"the answer: invalid result: a status that is no object cannot be converted, got []interface {}"},
		"a status item that is text": {rulesOfV1, convert, &interpreter.Request{Operation: interpreter.AggregateStatus, Object: object(t, fooV2), Statuses: items(`{}`, `"x"`)},
			`the question: the status of cluster "b": it is no object, so it cannot be converted`},
		"half a list": {rulesOfV1, versions.Func(func(ctx context.Context, d *definition.Definition, objects []*unstructured.Unstructured, version string) ([]*unstructured.Unstructured, error) {
			return nil, nil
		}), reflect, "the question: invalid result: 1 objects were to be converted to demo.io/v1, 0 came back"},
	} {
		t.Run(name, func(t *testing.T) {
			chain := interpreter.NewChain(versions.New(customized(t, "web", "v1", c.rules), defs, c.converter))
			res, err := chain.Interpret(t.Context(), c.req)
			assert.Nil(t, res)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// unready does not know its CRDs yet.
type unready struct{ *definition.Set }

func (unready) Definition(schema.GroupKind) (*definition.Definition, error) {
	return nil, fmt.Errorf("%w: CRDs are not read yet", interpreter.ErrNotReady)
}

func TestCRDsThatAreNotKnownYet(t *testing.T) {
	t.Parallel()
	l := versions.New(layer{{Kind: kind("v1"), Operation: interpreter.InterpretHealth}: {says("one")}}, unready{}, nil)
	chain := interpreter.NewChain(l)
	_, err := interpreter.HealthOf(t.Context(), chain, foo(t, "v2"))
	require.ErrorIs(t, err, interpreter.ErrNotReady)
	assert.Equal(t, "one saw demo.io/v1", health(t, chain, foo(t, "v1")), "its own rule needs no CRD")
	assert.Equal(t, "nobody", health(t, chain, object(t, "{apiVersion: apps/v1, kind: Deployment}")), "no CRD has such a group")
}

func TestEntries(t *testing.T) {
	t.Parallel()
	defs := setOf(t, crdOf(t, none, "v2", "v1", "v1beta1"))
	l := versions.New(customized(t, "web", "v1", "healthInterpretation: function InterpretHealth(obj) return true end"), defs, nil)
	assert.Equal(t, []interpreter.Entry{
		{Kind: kind("v1"), Operation: interpreter.InterpretHealth, Rule: "web"},
		{Kind: kind("v1beta1"), Operation: interpreter.InterpretHealth, Rule: "web (demo.io/v1)"},
		{Kind: kind("v2"), Operation: interpreter.InterpretHealth, Rule: "web (demo.io/v1)"},
	}, l.Entries())
	assert.Equal(t, "web-layer", l.Name())
	every := versions.New(customized(t, "web", "*", "healthInterpretation: function InterpretHealth(obj) return true end"), defs, nil)
	assert.Len(t, every.Entries(), 1, "a pattern matches every version itself")
	assert.Equal(t, "web", every.Rules(kind("v2"), interpreter.InterpretHealth)[0].Name)
	assert.Nil(t, versions.New(layer{}, defs, nil).Entries())
	assert.Len(t, versions.New(customized(t, "web", "v1", "healthInterpretation: function InterpretHealth(obj) return true end"), unready{}, nil).Entries(), 1)
}

// changing is definitions that change.
type changing struct{ *definition.Set }

func TestRulesAndCRDsThatChange(t *testing.T) {
	t.Parallel()
	rules := customized(t, "web", "v1", "healthInterpretation: function InterpretHealth(obj) return true, 'first' end")
	defs := &changing{setOf(t, crdOf(t, none, "v2", "v1"))}
	l := versions.New(rules, defs, nil)
	chain := interpreter.NewChain(l)
	assert.Equal(t, "first", health(t, chain, foo(t, "v2")))
	other := customized(t, "web", "v1", "healthInterpretation: function InterpretHealth(obj) return true, 'second' end")
	require.NoError(t, rules.Replace([]*declarative.Customization{other.Customization("web")}))
	assert.Equal(t, "second", health(t, chain, foo(t, "v2")))
	defs.Set = setOf(t, crdOf(t, none, "v3", "v1"))
	assert.Equal(t, "nobody", health(t, chain, foo(t, "v2")))
	defs.Set = setOf(t, crdOf(t, calls, "v2", "v1"))
	_, err := interpreter.HealthOf(t.Context(), chain, foo(t, "v2"))
	require.ErrorContains(t, err, "there is nothing to call it with")
	require.NoError(t, rules.Replace(nil))
	assert.Equal(t, "nobody", health(t, chain, foo(t, "v2")))
}

func TestManyAskAtOnce(t *testing.T) {
	t.Parallel()
	set := converters(t) // The other one counts, which many must not do at once.
	convert := versions.Func(func(ctx context.Context, d *definition.Definition, objects []*unstructured.Unstructured, version string) ([]*unstructured.Unstructured, error) {
		return set.Convert(ctx, objects, schema.GroupVersion{Group: "demo.io", Version: version})
	})
	chain := interpreter.NewChain(versions.New(customized(t, "web", "v1", rulesOfV1), setOf(t, crdOf(t, calls, "v2", "v1")), convert))
	in := object(t, fooV2)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for n := range int32(20) {
				revised, err := interpreter.Revised(t.Context(), chain, in, n)
				if assert.NoError(t, err) {
					got, _, _ := unstructured.NestedInt64(revised.Object, "spec", "replicas")
					assert.Equal(t, int64(n), got)
				}
			}
		})
	}
	all.Wait()
	assert.Equal(t, object(t, fooV2), in)
}

// The hook of a CRD, called over TLS.
func TestTheHookOfACRD(t *testing.T) {
	t.Parallel()
	handler, err := conversion.NewHandler(converters(t))
	require.NoError(t, err)
	server := httptest.NewTLSServer(handler)
	defer server.Close()
	bundle, err := yaml.Marshal(map[string][]byte{"caBundle": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})})
	require.NoError(t, err)
	hook := fmt.Sprintf("{strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: %q, %s}}}", server.URL, bundle)
	client, err := conversion.NewClient()
	require.NoError(t, err)
	defer client.Close()
	chain := interpreter.NewChain(versions.New(customized(t, "web", "v1", rulesOfV1), setOf(t, crdOf(t, hook, "v2", "v1")), client))
	aggregated, err := interpreter.Aggregated(t.Context(), chain, object(t, fooV2), items(`{"phase":"up"}`, "", `{"phase":"down"}`))
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"phase": "up,?,down", "size": int64(99)}, aggregated.Object["status"])
	server.Close()
	_, err = interpreter.Aggregated(t.Context(), chain, object(t, fooV2), items(`{"phase":"up"}`))
	require.ErrorContains(t, err, "AggregateStatus of demo.io/v2 Foo a/web by web-layer web (demo.io/v1): the question: "+
		"CustomResourceDefinition foos.demo.io: Foo a/web and 1 more from v2 to v1: https://127.0.0.1:")
}

func lookups(t testing.TB) (l *versions.Layer, kinds map[string]schema.GroupVersionKind) {
	rules := customized(t, "web", "v1", "healthInterpretation: function InterpretHealth(obj) return true end")
	return versions.New(rules, setOf(t, crdOf(t, none, "v2", "v1")), nil), map[string]schema.GroupVersionKind{
		"own rules":        kind("v1"),
		"another version":  kind("v2"),
		"no definition":    {Group: "other.io", Version: "v1", Kind: "Foo"},
		"no group of CRDs": {Group: "apps", Version: "v1", Kind: "Deployment"},
	}
}

// The layer in it allocates nothing either.
func TestLookUpsAllocateNothing(t *testing.T) {
	l := versions.New(layer{{Kind: kind("v1"), Operation: interpreter.InterpretHealth}: {says("one")}}, setOf(t, crdOf(t, none, "v2", "v1")), nil)
	_, kinds := lookups(t)
	for name, k := range kinds {
		assert.Zero(t, testing.AllocsPerRun(100, func() { l.Rules(k, interpreter.InterpretHealth) }), name)
	}
}

func BenchmarkRules(b *testing.B) {
	l, kinds := lookups(b)
	for name, k := range kinds {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.Rules(k, interpreter.InterpretHealth)
			}
		})
	}
}

func BenchmarkReviseReplica(b *testing.B) {
	convert, _ := local(b)
	for name, c := range map[string]struct{ conversion, asked string }{
		"own version": {none, "{apiVersion: demo.io/v1, kind: Foo, metadata: {name: web}, spec: {size: 2}}"},
		"None":        {none, "{apiVersion: demo.io/v2, kind: Foo, metadata: {name: web}, spec: {size: 2}}"},
		"Lua":         {calls, "{apiVersion: demo.io/v2, kind: Foo, metadata: {name: web}, spec: {replicas: 2}}"},
	} {
		chain := interpreter.NewChain(versions.New(customized(b, "web", "v1", rulesOfV1), setOf(b, crdOf(b, c.conversion, "v2", "v1")), convert))
		in := object(b, c.asked)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := interpreter.Revised(b.Context(), chain, in, 3)
				require.NoError(b, err)
			}
		})
	}
}
