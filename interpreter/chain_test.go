package interpreter_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

var widgetKind = schema.GroupVersionKind{Group: "demo.io", Version: "v1", Kind: "Widget"}

func widget() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "demo.io/v1", "kind": "Widget", "metadata": map[string]any{"name": "w", "namespace": "ns1"},
	}}
}

// layer is a layer made of a map.
type layer struct {
	name  string
	rules map[interpreter.Key][]*interpreter.Rule
}

func (l layer) Name() string { return l.name }

func (l layer) Rules(kind schema.GroupVersionKind, op interpreter.Operation) []*interpreter.Rule {
	return l.rules[interpreter.Key{Kind: kind, Operation: op}]
}

func (l layer) Entries() []interpreter.Entry {
	var list []interpreter.Entry
	for key, rules := range l.rules {
		for _, r := range rules {
			list = append(list, interpreter.Entry{Kind: key.Kind, Operation: key.Operation, Rule: r.Name})
		}
	}
	return list
}

func one(name string, op interpreter.Operation, in interpreter.Interpreter, more ...*interpreter.Rule) layer {
	rules := append([]*interpreter.Rule{{Name: name + "-rule", Interpreter: in}}, more...)
	return layer{name, map[interpreter.Key][]*interpreter.Rule{{Kind: widgetKind, Operation: op}: rules}}
}

func status(v any) interpreter.Interpreter {
	return interpreter.StatusFunc(func(*unstructured.Unstructured) (any, error) { return v, nil })
}

func TestTheNearestLayerWithARuleAnswers(t *testing.T) {
	chain := interpreter.NewChain(nil, one("a", interpreter.InterpretHealth, nil), one("b", interpreter.InterpretStatus, status("b")), one("c", interpreter.InterpretStatus, status("c")))
	res, err := chain.Interpret(t.Context(), &interpreter.Request{Operation: interpreter.InterpretStatus, Object: widget()})
	require.NoError(t, err)
	assert.Equal(t, "b", res.Status)
	assert.Equal(t, interpreter.Source{Layer: "b", Rule: "b-rule"}, res.Source)
	assert.True(t, chain.Handles(widgetKind, interpreter.InterpretStatus))
	assert.False(t, chain.Handles(widgetKind, interpreter.Prune))
	assert.Len(t, chain.Layers(), 3)
}

func TestAFailingRuleIsFinal(t *testing.T) {
	cause := errors.New("no idea")
	chain := interpreter.NewChain(
		one("a", interpreter.InterpretStatus, interpreter.StatusFunc(func(*unstructured.Unstructured) (any, error) { return nil, cause })),
		one("b", interpreter.InterpretStatus, status("b")))
	_, err := interpreter.Reflected(t.Context(), chain, widget())
	require.ErrorIs(t, err, cause)
	assert.EqualError(t, err, "InterpretStatus of demo.io/v1 Widget ns1/w by a a-rule: no idea")
	var e *interpreter.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, interpreter.Source{Layer: "a", Rule: "a-rule"}, e.Source)
}

func TestNoRuleSaysWhatThereIs(t *testing.T) {
	chain := interpreter.NewChain(one("a", interpreter.InterpretStatus, status(nil)))
	for _, c := range []struct {
		version string
		op      interpreter.Operation
		want    string
	}{
		{"demo.io/v2", interpreter.InterpretStatus, "InterpretStatus of demo.io/v2 Widget ns1/w: no rule for demo.io/v2 Widget; have demo.io/v1 Widget (a-rule)"},
		{"demo.io/v1", interpreter.InterpretHealth, "InterpretHealth of demo.io/v1 Widget ns1/w: no rule for demo.io/v1 Widget; have rules for InterpretStatus"},
		{"other.io/v1", interpreter.InterpretHealth, "InterpretHealth of other.io/v1 Widget ns1/w: no rule for other.io/v1 Widget"},
	} {
		o := widget()
		o.SetAPIVersion(c.version)
		_, err := chain.Interpret(t.Context(), &interpreter.Request{Operation: c.op, Object: o})
		assert.ErrorIs(t, err, interpreter.ErrNoRule)
		assert.EqualError(t, err, c.want)
	}
}

func TestBadRequestsAreRefusedBeforeAnyRuleIsAsked(t *testing.T) {
	asked := false
	rule := interpreter.Func(func(context.Context, *interpreter.Request) (*interpreter.Result, error) {
		asked = true
		return &interpreter.Result{Object: widget()}, nil
	})
	minus, zero := int32(-1), int32(0)
	object := func(fields map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: fields}
	}
	for want, req := range map[string]*interpreter.Request{
		"unknown operation \"Guess\"":             {Operation: "Guess", Object: widget()},
		"no object":                               {Operation: interpreter.InterpretHealth},
		"the object has no apiVersion":            {Operation: interpreter.InterpretHealth, Object: object(map[string]any{})},
		"the object has no kind":                  {Operation: interpreter.InterpretHealth, Object: object(map[string]any{"apiVersion": "v1"})},
		"the object's kind must be text, got int": {Operation: interpreter.InterpretHealth, Object: object(map[string]any{"apiVersion": "v1", "kind": 3})},
		"unexpected GroupVersion string: a/b/c":   {Operation: interpreter.InterpretHealth, Object: object(map[string]any{"apiVersion": "a/b/c", "kind": "X"})},
		"no observed":                             {Operation: interpreter.Retain, Object: widget()},
		"the observed object has an empty kind":   {Operation: interpreter.Retain, Object: widget(), Observed: object(map[string]any{"apiVersion": "v1", "kind": ""})},
		"no replica":                              {Operation: interpreter.ReviseReplica, Object: widget()},
		"replicas must not be negative, got -1":   {Operation: interpreter.ReviseReplica, Object: widget(), Replicas: &minus},
	} {
		_, err := interpreter.NewChain(one("a", req.Operation, rule)).Interpret(t.Context(), req)
		assert.ErrorIs(t, err, interpreter.ErrInvalidRequest, want)
		assert.ErrorContains(t, err, want)
	}
	assert.False(t, asked)
	_, err := interpreter.NewChain(one("a", interpreter.ReviseReplica, rule)).Interpret(t.Context(), &interpreter.Request{Operation: interpreter.ReviseReplica, Object: widget(), Replicas: &zero})
	require.NoError(t, err, "zero is a real number of replicas")
	assert.True(t, asked)
}

func TestAnswersAreChecked(t *testing.T) {
	answers := func(op interpreter.Operation, res *interpreter.Result) error {
		rule := interpreter.Func(func(context.Context, *interpreter.Request) (*interpreter.Result, error) { return res, nil })
		n := int32(1)
		_, err := interpreter.NewChain(one("a", op, rule)).Interpret(context.Background(), &interpreter.Request{Operation: op, Object: widget(), Observed: widget(), Replicas: &n})
		return err
	}
	other := widget()
	other.SetName("other")
	ref := func(d interpreter.DependentObjectReference) *interpreter.Result {
		return &interpreter.Result{Dependencies: []interpreter.DependentObjectReference{{APIVersion: "v1", Kind: "Secret", Name: "ok"}, d}}
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	for _, c := range []struct {
		op   interpreter.Operation
		res  *interpreter.Result
		want string
	}{
		{interpreter.InterpretHealth, nil, "no answer and no error"},
		{interpreter.InterpretHealth, &interpreter.Result{Health: interpreter.Health{Status: "Fine"}}, `unknown health status "Fine" (have [Healthy Progressing Degraded Suspended Unknown])`},
		{interpreter.InterpretReplica, &interpreter.Result{Replicas: -2}, "replicas must not be negative, got -2"},
		{interpreter.InterpretComponent, &interpreter.Result{Components: []interpreter.Component{{Name: "a"}, {Name: "b", Replicas: -1}}}, `components[1] "b": replicas must not be negative`},
		{interpreter.Retain, &interpreter.Result{}, "no object"},
		{interpreter.Retain, &interpreter.Result{Object: other}, `metadata.name is "other", was "w"`},
		{interpreter.InterpretDependency, ref(interpreter.DependentObjectReference{Kind: "Secret", Name: "x"}), "dependencies[1]: apiVersion is required"},
		{interpreter.InterpretDependency, ref(interpreter.DependentObjectReference{APIVersion: "v1", Name: "x"}), "dependencies[1]: kind is required"},
		{interpreter.InterpretDependency, ref(interpreter.DependentObjectReference{APIVersion: "v1", Kind: "Secret"}), "dependencies[1]: name or labelSelector is required"},
		{interpreter.InterpretDependency, ref(interpreter.DependentObjectReference{APIVersion: "v1", Kind: "Secret", LabelSelector: &metav1.LabelSelector{}}), "dependencies[1]: name or labelSelector is required"},
		{interpreter.InterpretDependency, ref(interpreter.DependentObjectReference{APIVersion: "v1", Kind: "Secret", Name: "x", LabelSelector: selector}), "exclude each other"},
		{interpreter.InterpretDependency, ref(interpreter.DependentObjectReference{APIVersion: "a/b/c", Kind: "Secret", Name: "x"}), "dependencies[1]: apiVersion"},
		{interpreter.InterpretDependency, ref(interpreter.DependentObjectReference{APIVersion: "v1", Kind: "Secret", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b c"}}}), "dependencies[1]: labelSelector.matchLabels"},
	} {
		err := answers(c.op, c.res)
		assert.ErrorIs(t, err, interpreter.ErrInvalidResult, c.want)
		assert.ErrorContains(t, err, c.want)
	}
	require.NoError(t, answers(interpreter.InterpretDependency, ref(interpreter.DependentObjectReference{APIVersion: "v1", Kind: "Node", Name: "n"})), "a cluster-scoped dependency has no namespace")
}

func TestDependenciesAreSortedAndJoined(t *testing.T) {
	a := interpreter.DependentObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: "n", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}
	b := a
	b.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	c := interpreter.DependentObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "n", Name: "c"}
	list, err := interpreter.Dependencies(t.Context(), interpreter.NewChain(one("a", interpreter.InterpretDependency, interpreter.DependencyFunc(
		func(*unstructured.Unstructured) ([]interpreter.DependentObjectReference, error) {
			return []interpreter.DependentObjectReference{a, c, b, c}, nil
		}))), widget())
	require.NoError(t, err)
	assert.Equal(t, []interpreter.DependentObjectReference{c, a}, list)
}

func TestSelectorsDecideByTheObjectsLabels(t *testing.T) {
	gold := &interpreter.Rule{Name: "gold", Selector: labels.SelectorFromSet(labels.Set{"tier": "gold"}), Interpreter: status("gold")}
	l := layer{"a", map[interpreter.Key][]*interpreter.Rule{{Kind: widgetKind, Operation: interpreter.InterpretStatus}: {gold}}}
	chain := interpreter.NewChain(l, one("b", interpreter.InterpretStatus, status("all")))
	o := widget()
	got, err := interpreter.Reflected(t.Context(), chain, o)
	require.NoError(t, err)
	assert.Equal(t, "all", got)
	o.SetLabels(map[string]string{"tier": "gold"})
	got, err = interpreter.Reflected(t.Context(), chain, o)
	require.NoError(t, err)
	assert.Equal(t, "gold", got)
}

func TestNextAsksTheRestOfTheChain(t *testing.T) {
	add := func(name string) interpreter.Interpreter {
		return interpreter.Func(func(ctx context.Context, req *interpreter.Request) (*interpreter.Result, error) {
			res, err := req.Next(ctx, req)
			if interpreter.IsNoRule(err) {
				return &interpreter.Result{Status: name}, nil
			}
			if err != nil {
				return nil, err
			}
			return &interpreter.Result{Status: name + res.Source.Layer + res.Status.(string)}, nil
		})
	}
	chain := interpreter.NewChain(one("a", interpreter.InterpretStatus, add("1"), &interpreter.Rule{Name: "second", Interpreter: add("2")}), one("b", interpreter.InterpretStatus, add("3")))
	got, err := interpreter.Reflected(t.Context(), chain, widget())
	require.NoError(t, err)
	assert.Equal(t, "1a2b3", got)

	_, err = (&interpreter.Request{}).Next(t.Context(), nil)
	assert.ErrorIs(t, err, interpreter.ErrNoRule, "outside a chain nothing is below")
}

func TestTheOrderOfMembersDoesNotMatter(t *testing.T) {
	names := interpreter.AggregateFunc(func(o *unstructured.Unstructured, items []interpreter.AggregatedStatusItem) error {
		var list []any
		for _, item := range items {
			list = append(list, item.ClusterName)
		}
		o.Object["status"] = map[string]any{"clusters": list}
		return nil
	})
	items := []interpreter.AggregatedStatusItem{{ClusterName: "c"}, {ClusterName: "a"}, {ClusterName: "b"}}
	got, err := interpreter.Aggregated(t.Context(), interpreter.NewChain(one("a", interpreter.AggregateStatus, names)), widget(), items)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"clusters": []any{"a", "b", "c"}}, got.Object["status"])
	assert.Equal(t, "c", items[0].ClusterName, "the request is left alone")
}

func TestExplain(t *testing.T) {
	chain := interpreter.NewChain(
		one("a", interpreter.InterpretDependency, nil, &interpreter.Rule{Name: "second"}),
		one("b", interpreter.InterpretDependency, nil),
		one("c", interpreter.InterpretHealth, nil, &interpreter.Rule{Name: "second"}))
	list, err := chain.Explain(&interpreter.Request{Object: widget()})
	require.NoError(t, err)
	require.Len(t, list, 9)
	for _, e := range list {
		switch e.Operation {
		case interpreter.InterpretDependency:
			assert.Equal(t, []interpreter.Source{{Layer: "a", Rule: "a-rule"}, {Layer: "a", Rule: "second"}}, e.Answers)
			assert.Equal(t, []interpreter.Source{{Layer: "b", Rule: "b-rule"}}, e.PassedOver)
		case interpreter.InterpretHealth:
			assert.Equal(t, []interpreter.Source{{Layer: "c", Rule: "c-rule"}}, e.Answers)
			assert.Equal(t, []interpreter.Source{{Layer: "c", Rule: "second"}}, e.PassedOver)
		default:
			assert.Empty(t, e.Answers)
		}
	}
	_, err = chain.Explain(&interpreter.Request{})
	assert.ErrorIs(t, err, interpreter.ErrInvalidRequest)
}

func TestEveryOperationIsWhole(t *testing.T) {
	rules := v1alpha1.CustomizationRules{
		Retention: &v1alpha1.LuaRule{LuaScript: "retention"}, ReplicaResource: &v1alpha1.LuaRule{LuaScript: "replicaResource"},
		ComponentResource: &v1alpha1.LuaRule{LuaScript: "componentResource"}, ReplicaRevision: &v1alpha1.LuaRule{LuaScript: "replicaRevision"},
		StatusReflection: &v1alpha1.LuaRule{LuaScript: "statusReflection"}, StatusAggregation: &v1alpha1.LuaRule{LuaScript: "statusAggregation"},
		HealthInterpretation: &v1alpha1.LuaRule{LuaScript: "healthInterpretation"}, DependencyInterpretation: &v1alpha1.LuaRule{LuaScript: "dependencyInterpretation"},
		Pruning: &v1alpha1.LuaRule{LuaScript: "pruning"},
	}
	seen := map[string]bool{}
	n := int32(3)
	req := &interpreter.Request{Object: widget(), Observed: widget(), Replicas: &n}
	for _, c := range interpreter.Contracts() {
		t.Run(string(c.Operation), func(t *testing.T) {
			assert.False(t, seen[c.Function], "functions are told apart")
			seen[c.Function] = true
			assert.Equal(t, c.Rule, c.Script(&rules).LuaScript, "the rule's key and its field belong together")
			assert.NotEmpty(t, c.Summary)
			assert.NotEmpty(t, c.None)
			found, ok := interpreter.ContractOf(c.Operation)
			assert.True(t, ok)
			assert.Same(t, c, found)
			for _, in := range c.In {
				var fresh interpreter.Request
				require.NoError(t, in.Set(&fresh, in.Of(req)), in.Name)
				assert.Equal(t, in.Of(req), in.Of(&fresh), in.Name)
			}
			var res interpreter.Result
			for _, out := range c.Out {
				assert.NotNil(t, out.In(&res), out.Name)
				out.Of(&res)
			}
		})
	}
	assert.Len(t, seen, len(interpreter.Operations()))
}

func TestOperationsAreFoundInAnyCaseAndWithAHint(t *testing.T) {
	for _, op := range interpreter.Operations() {
		for _, name := range []string{string(op), strings.ToUpper(string(op))} {
			got, err := interpreter.ParseOperation(name)
			require.NoError(t, err)
			assert.Equal(t, op, got)
		}
	}
	got, err := interpreter.ParseOperation("interprethealth")
	require.NoError(t, err)
	assert.Equal(t, interpreter.InterpretHealth, got)
	for name, near := range map[string]string{"Health": "InterpretHealth", "InterpretReplicas": "InterpretReplica", "Retian": "Retain", "aggregate": "AggregateStatus"} {
		_, err := interpreter.ParseOperation(name)
		assert.ErrorContains(t, err, "did you mean "+near+"?", name)
		assert.ErrorContains(t, err, "InterpretDependency")
	}
	_, err = interpreter.ParseOperation("")
	assert.ErrorIs(t, err, interpreter.ErrInvalidRequest)
}

func TestHealth(t *testing.T) {
	for status, healthy := range map[interpreter.HealthStatus]bool{
		interpreter.Healthy: true, interpreter.Suspended: true, interpreter.Progressing: false, interpreter.Degraded: false, interpreter.Unknown: false,
	} {
		assert.Equal(t, healthy, interpreter.Health{Status: status}.IsHealthy(), status)
	}
	for _, c := range []struct {
		value any
		want  interpreter.Health
	}{
		{nil, interpreter.Health{Status: "Unknown"}},
		{true, interpreter.Health{Status: "Healthy"}},
		{false, interpreter.Health{Status: "Degraded"}},
		{map[string]any{}, interpreter.Health{Status: "Unknown"}},
		{map[string]any{"status": "Progressing", "reason": "R", "message": "m"}, interpreter.Health{Status: "Progressing", Reason: "R", Message: "m"}},
	} {
		var h interpreter.Health
		require.NoError(t, h.UnmarshalValue(c.value))
		assert.Equal(t, c.want, h)
	}
	for _, bad := range []any{1.0, "yes", []any{}, map[string]any{"state": "x"}, map[string]any{"status": true}} {
		assert.Error(t, new(interpreter.Health).UnmarshalValue(bad))
	}
}

func TestTypedHelpersAnswerWhatTheyAsk(t *testing.T) {
	ctx := t.Context()
	o := widget()
	o.Object["spec"] = map[string]any{"n": 3} // an int, as people write by hand
	set := func(path string) func(obj *unstructured.Unstructured) error {
		return func(obj *unstructured.Unstructured) error { obj.Object[path] = "set"; return nil }
	}
	check := func(got *unstructured.Unstructured, err error) {
		t.Helper()
		require.NoError(t, err)
		assert.Equal(t, "set", got.Object["x"])
		assert.NotContains(t, o.Object, "x", "the request is left alone")
	}
	check(interpreter.Pruned(ctx, interpreter.PruneFunc(set("x")), o))
	check(interpreter.Retained(ctx, interpreter.RetainFunc(func(d, _ *unstructured.Unstructured) error { return set("x")(d) }), o, o))
	check(interpreter.Revised(ctx, interpreter.ReviseFunc(func(obj *unstructured.Unstructured, n int32) error {
		assert.EqualValues(t, 2, n)
		return set("x")(obj)
	}), o, 2))
	check(interpreter.Aggregated(ctx, interpreter.AggregateFunc(func(obj *unstructured.Unstructured, items []interpreter.AggregatedStatusItem) error {
		assert.Len(t, items, 1)
		return set("x")(obj)
	}), o, []interpreter.AggregatedStatusItem{{}}))

	n, req, err := interpreter.Replicas(ctx, interpreter.ReplicaFunc(func(*unstructured.Unstructured) (int32, *interpreter.ReplicaRequirements, error) {
		return 2, &interpreter.ReplicaRequirements{Namespace: "ns1"}, nil
	}), o)
	require.NoError(t, err)
	assert.EqualValues(t, 2, n)
	assert.Equal(t, "ns1", req.Namespace)
	parts, err := interpreter.Components(ctx, interpreter.ComponentFunc(func(*unstructured.Unstructured) ([]interpreter.Component, error) {
		return []interpreter.Component{{Name: "a"}}, nil
	}), o)
	require.NoError(t, err)
	assert.Len(t, parts, 1)
	healthy, err := interpreter.IsHealthy(ctx, interpreter.HealthFunc(func(*unstructured.Unstructured) (interpreter.Health, error) {
		return interpreter.HealthOfBool(true), nil
	}), o)
	require.NoError(t, err)
	assert.True(t, healthy)

	cause := errors.New("broken")
	failing := interpreter.Func(func(context.Context, *interpreter.Request) (*interpreter.Result, error) { return nil, cause })
	health, err := interpreter.HealthOf(ctx, failing, o)
	assert.ErrorIs(t, err, cause)
	assert.Equal(t, interpreter.Unknown, health.Status, "an error is no verdict")
	for _, ask := range []func() error{
		func() error { _, _, err := interpreter.Replicas(ctx, failing, o); return err },
		func() error { _, err := interpreter.Components(ctx, failing, o); return err },
		func() error { _, err := interpreter.Dependencies(ctx, failing, o); return err },
		func() error { _, err := interpreter.Reflected(ctx, failing, o); return err },
		func() error { _, err := interpreter.Pruned(ctx, failing, o); return err },
	} {
		assert.ErrorIs(t, ask(), cause)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"healthInterpretation", "retention", "statusReflection"}
	for name, want := range map[string]string{"healthInterpretion": "healthInterpretation", "RETENTION": "retention", "retain": "retention", "xyz": "", "": ""} {
		assert.Equal(t, want, interpreter.Nearest(name, names), name)
	}
}

func ExampleChain() {
	workloads := interpreter.HealthFunc(func(o *unstructured.Unstructured) (interpreter.Health, error) {
		ready, _, err := unstructured.NestedBool(o.Object, "status", "ready")
		return interpreter.HealthOfBool(ready), err
	})
	chain := interpreter.NewChain(one("mine", interpreter.InterpretHealth, workloads))
	o := widget()
	o.Object["status"] = map[string]any{"ready": true}
	healthy, err := interpreter.IsHealthy(context.Background(), chain, o)
	fmt.Println(healthy, err)
	// Output: true <nil>
}

// blamed is an Interpreter that knows where mistakes come from.
type blamed struct{ interpreter.Interpreter }

func (blamed) Blame(err error) error { return fmt.Errorf("line 7: %w", err) }

func TestAnswersAreCheckedAndBlamedOnTheirRule(t *testing.T) {
	cause := errors.New("no such colour")
	check := func(_ context.Context, req *interpreter.Request, res *interpreter.Result) []error {
		if req.Operation == interpreter.InterpretStatus && res.Status == "green" {
			res.Status = "green (checked)"
			return nil
		}
		return []error{cause, errors.New("ugly")}
	}
	lower := one("b", interpreter.InterpretStatus, blamed{status("mauve")})
	for name, c := range map[string]struct {
		layer interpreter.Layer
		want  string
	}{
		"put right":     {one("a", interpreter.InterpretStatus, status("green")), ""},
		"wrong":         {one("a", interpreter.InterpretStatus, status("mauve")), "InterpretStatus of demo.io/v1 Widget ns1/w by a a-rule: no such colour\nugly"},
		"wrong, placed": {lower, "InterpretStatus of demo.io/v1 Widget ns1/w by b b-rule: line 7: no such colour\nline 7: ugly"},
		"wrong below": {one("a", interpreter.InterpretStatus, interpreter.Func(func(ctx context.Context, req *interpreter.Request) (*interpreter.Result, error) {
			return req.Next(ctx, req)
		})), "InterpretStatus of demo.io/v1 Widget ns1/w by a a-rule: InterpretStatus of demo.io/v1 Widget ns1/w by b b-rule: line 7: no such colour\nline 7: ugly"},
	} {
		plain := interpreter.NewChain(c.layer, lower)
		_, err := interpreter.Reflected(t.Context(), plain, widget())
		require.NoError(t, err, name)
		got, err := interpreter.Reflected(t.Context(), plain.WithChecks(check), widget())
		if c.want == "" {
			require.NoError(t, err, name)
			assert.Equal(t, "green (checked)", got, name)
			continue
		}
		require.ErrorIs(t, err, cause, name)
		assert.EqualError(t, err, c.want, name)
	}
}
