package definition_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
)

// answers is a layer that gives every question the same answer, a copy of it each time.
type answers struct{ interpreter.Result }

func (answers) Name() string { return "test" }

func (a answers) Rules(schema.GroupVersionKind, interpreter.Operation) []*interpreter.Rule {
	return []*interpreter.Rule{{Name: "rule", Interpreter: interpreter.Func(func(context.Context, *interpreter.Request) (*interpreter.Result, error) {
		res := a.Result
		res.Object, res.Status = interpreter.Clone(a.Object), interpreter.CloneValue(a.Status)
		return &res, nil
	})}}
}

// guard asks a layer with a guard.
func guard(t testing.TB, definitions definition.Definitions, req *interpreter.Request, given answers) (*interpreter.Result, error) {
	t.Helper()
	before := []*unstructured.Unstructured{interpreter.Clone(req.Object), interpreter.Clone(req.Observed)}
	res, err := interpreter.NewChain(given).WithChecks(definition.Guard(definitions)).Interpret(t.Context(), req)
	assert.Equal(t, before, []*unstructured.Unstructured{req.Object, req.Observed}, "the request was changed")
	return res, err
}

func set(t testing.TB) *definition.Set {
	t.Helper()
	s, err := definition.NewSet(read(t, "app.yaml"))
	require.NoError(t, err)
	return s
}

// app is an App with a spec and a status.
func app(t testing.TB, spec, status string) *unstructured.Unstructured {
	t.Helper()
	if status != "" {
		status = "\nstatus: " + status
	}
	return object(t, "apiVersion: demo.io/v1\nkind: App\nmetadata: {name: a, namespace: ns}\nspec: "+spec+status)
}

func TestTheGuardTellsWhatARuleDidWrong(t *testing.T) {
	t.Parallel()
	const invalid = "invalid result: "
	for name, c := range map[string]struct {
		op               interpreter.Operation
		object, observed string // specs
		answer           string // a spec
		want             string // errors, a line each
	}{
		"sound":                     {op: interpreter.ReviseReplica, object: "{replicas: 1}", answer: "{replicas: 2}"},
		"unknown field":             {op: interpreter.ReviseReplica, object: "{replicas: 1}", answer: "{replicas: 1, replcas: 2}", want: invalid + "spec.replcas: Forbidden: the schema has no such field, did you mean replicas?"},
		"wrong type":                {op: interpreter.ReviseReplica, object: "{max: 1}", answer: "{max: '2'}", want: invalid + `spec.max: Invalid value: "string"`},
		"two mistakes":              {op: interpreter.ReviseReplica, object: "{}", answer: "{mode: slow, x: 1}", want: invalid + "spec.x: Forbidden: the schema has no such field\n" + invalid + `spec.mode: Unsupported value: "slow"`},
		"against a rule":            {op: interpreter.ReviseReplica, object: "{max: 5, replicas: 1}", answer: "{max: 5, replicas: 7}", want: invalid + "spec: Invalid value: at most max replicas"},
		"wrong before":              {op: interpreter.ReviseReplica, object: "{mode: slow, x: 1}", answer: "{mode: slow, x: 1, replicas: 2}"},
		"wrong before and worse":    {op: interpreter.ReviseReplica, object: "{x: 1}", answer: "{x: 1, z: 2}", want: invalid + "spec.z: Forbidden"},
		"wrong item that moved":     {op: interpreter.ReviseReplica, object: "{ports: [{name: b}, {name: a, x: 1}]}", answer: "{ports: [{name: a, x: 1}]}"},
		"second wrong item":         {op: interpreter.ReviseReplica, object: "{ports: [{name: b}, {name: a, x: 1}]}", answer: "{ports: [{name: b, x: 1}, {name: a, x: 1}]}", want: invalid + "spec.ports[0].x: Forbidden"},
		"required":                  {op: interpreter.ReviseReplica, object: "{ports: [{name: b}]}", answer: "{ports: [{port: 1}]}", want: invalid + "spec.ports[0].name: Required value"},
		"pruned what is required":   {op: interpreter.Prune, object: "{ports: [{name: b}]}", answer: "{ports: [{port: 1}]}"},
		"pruned against a rule":     {op: interpreter.Prune, object: "{max: 5, replicas: 1}", answer: "{max: 5, replicas: 7}"},
		"pruned and put in":         {op: interpreter.Prune, object: "{}", answer: "{x: 1}", want: invalid + "spec.x: Forbidden"},
		"retained":                  {op: interpreter.Retain, object: "{}", observed: "{replicas: 3}", answer: "{replicas: 3}"},
		"retained what was wrong":   {op: interpreter.Retain, object: "{}", observed: "{x: 3}", answer: "{x: 3}"},
		"retained with a mistake":   {op: interpreter.Retain, object: "{}", observed: "{replicas: 3}", answer: "{replicsa: 3}", want: invalid + "spec.replicsa: Forbidden"},
		"lost what must not change": {op: interpreter.Retain, object: "{class: a}", observed: "{class: a}", answer: "{}", want: invalid + "spec: Invalid value: class cannot change"},
		"changed by the user":       {op: interpreter.Retain, object: "{class: b}", observed: "{class: a}", answer: "{class: b}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replicas := int32(1)
			req := &interpreter.Request{Operation: c.op, Object: app(t, c.object, ""), Replicas: &replicas}
			if c.op == interpreter.Retain {
				req.Observed = app(t, c.observed, "{ready: 1}")
			}
			_, err := guard(t, set(t), req, answers{interpreter.Result{Object: app(t, c.answer, "")}})
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, interpreter.ErrInvalidResult)
			for _, want := range strings.Split(c.want, "\n") {
				assert.ErrorContains(t, err, want)
			}
			assert.Equal(t, strings.Count(c.want, "\n"), strings.Count(err.Error(), "\n"), err)
		})
	}
}

func TestTheGuardLooksAtStatuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		op     interpreter.Operation
		before string
		status string
		want   string
	}{
		"sound":                    {interpreter.AggregateStatus, "{ready: 1}", "{ready: 2}", ""},
		"unknown":                  {interpreter.AggregateStatus, "{}", "{redy: 2}", "status.redy: Forbidden: the schema has no such field, did you mean ready?"},
		"too much":                 {interpreter.AggregateStatus, "{}", "{ready: 3000000000}", "status.ready: Invalid value"},
		"reflected":                {interpreter.InterpretStatus, "{}", "{ready: 2, generation: 1, resourceTemplateGeneration: 2}", ""},
		"reflected unknown":        {interpreter.InterpretStatus, "{}", "{redy: 2}", "status.redy: Forbidden"},
		"reflected as it was":      {interpreter.InterpretStatus, "{redy: 1}", "{redy: 1}", ""},
		"reflected of a type":      {interpreter.InterpretStatus, "{}", "{ready: many}", "status.ready: Invalid value"},
		"reflected of a wrong one": {interpreter.InterpretStatus, "{}", "[1]", "status: Invalid value"},
		"about another's fields":   {interpreter.AggregateStatus, "{}", "{generation: 1}", "status.generation: Forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := &interpreter.Request{Operation: c.op, Object: app(t, "{x: 1}", c.before)}
			result := app(t, "{x: 1}", c.status)
			_, err := guard(t, set(t), req, answers{interpreter.Result{Object: result, Status: result.Object["status"]}})
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, interpreter.ErrInvalidResult)
			assert.ErrorContains(t, err, c.want)
		})
	}
}

func TestTheGuardPutsRightWhatIsSureToBeMeant(t *testing.T) {
	t.Parallel()
	replicas := int32(2)
	req := &interpreter.Request{Operation: interpreter.ReviseReplica, Object: app(t, "{}", ""), Replicas: &replicas}
	res, err := guard(t, set(t), req, answers{interpreter.Result{Object: app(t, "{replicas: 2.0, ports: {}, labels: []}", "")}})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"replicas": int64(2), "ports": []any{}, "labels": map[string]any{}}, res.Object.Object["spec"])

	req = &interpreter.Request{Operation: interpreter.InterpretStatus, Object: app(t, "{}", "{ready: 1}")}
	for given, want := range map[string]any{"[]": map[string]any{}, "{ready: 2.0}": map[string]any{"ready": int64(2)}} {
		res, err = guard(t, set(t), req, answers{interpreter.Result{Status: app(t, "{}", given).Object["status"]}})
		require.NoError(t, err)
		assert.Equal(t, want, res.Status)
	}
	res, err = guard(t, set(t), req, answers{})
	require.NoError(t, err)
	assert.Nil(t, res.Status)
}

func TestTheGuardTellsOfManyMistakesAFew(t *testing.T) {
	t.Parallel()
	var fields []string
	for i := range 30 {
		fields = append(fields, fmt.Sprintf("unknown%d: 1", i))
	}
	replicas := int32(2)
	req := &interpreter.Request{Operation: interpreter.ReviseReplica, Object: app(t, "{}", ""), Replicas: &replicas}
	_, err := guard(t, set(t), req, answers{interpreter.Result{Object: app(t, "{"+strings.Join(fields, ", ")+"}", "")}})
	require.Error(t, err)
	assert.Equal(t, 10, strings.Count(err.Error(), "Forbidden"))
	assert.ErrorContains(t, err, "invalid result: 20 more")
}

// unready are Definitions that have not been read.
type unready struct{}

func (unready) Definition(schema.GroupKind) (*definition.Definition, error) {
	return nil, fmt.Errorf("%w: CRDs are being read", interpreter.ErrNotReady)
}

func (u unready) All() ([]*definition.Definition, error) { return nil, interpreter.ErrNotReady }

func TestTheGuardSaysWhatItCannotCheck(t *testing.T) {
	t.Parallel()
	wrong := answers{interpreter.Result{Status: map[string]any{"redy": int64(1)}}}
	ask := func(apiVersion, kind string) *interpreter.Request {
		o := app(t, "{}", "{ready: 1}")
		o.SetAPIVersion(apiVersion)
		o.SetKind(kind)
		return &interpreter.Request{Operation: interpreter.InterpretStatus, Object: o}
	}
	_, err := guard(t, unready{}, ask("demo.io/v1", "App"), wrong)
	require.ErrorIs(t, err, interpreter.ErrNotReady)
	require.NotErrorIs(t, err, interpreter.ErrInvalidResult)

	broken, err := definition.NewSet(read(t, "broken.yaml"))
	require.NoError(t, err)
	all, err := broken.All()
	require.NoError(t, err)
	_, err = guard(t, broken, ask(all[0].Versions()[0].Kind().GroupVersion().String(), all[0].GroupKind().Kind), wrong)
	require.ErrorContains(t, err, "CRD "+all[0].Name()+", version "+all[0].Versions()[0].Name)

	for name, req := range map[string]*interpreter.Request{
		"another kind":    ask("demo.io/v1", "Other"),
		"another version": ask("demo.io/v7", "App"),
	} {
		_, err := guard(t, set(t), req, wrong)
		assert.NoError(t, err, name)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = interpreter.NewChain(wrong).WithChecks(definition.Guard(set(t))).Interpret(ctx, ask("demo.io/v1", "App"))
	require.ErrorIs(t, err, context.Canceled)
}

func TestTheGuardLeavesOtherOperationsAlone(t *testing.T) {
	t.Parallel()
	req := &interpreter.Request{Operation: interpreter.InterpretReplica, Object: app(t, "{x: 1}", "")}
	res, err := guard(t, set(t), req, answers{interpreter.Result{Replicas: 3}})
	require.NoError(t, err)
	assert.Equal(t, int32(3), res.Replicas)
}
