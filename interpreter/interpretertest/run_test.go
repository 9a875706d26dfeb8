package interpretertest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/interpretertest"
)

// answer is an interpreter that gives the same answer to everything, written as YAML under the results' names.
func answer(t *testing.T, text string) interpreter.Interpreter {
	t.Helper()
	var v struct {
		Replica      int32                                  `json:"replica"`
		Requires     *interpreter.ReplicaRequirements       `json:"requires"`
		Components   []interpreter.Component                `json:"components"`
		Object       map[string]any                         `json:"object"`
		Status       any                                    `json:"status"`
		Health       interpreter.Health                     `json:"health"`
		Dependencies []interpreter.DependentObjectReference `json:"dependencies"`
	}
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), &v))
	return interpreter.Func(func(context.Context, *interpreter.Request) (*interpreter.Result, error) {
		res := &interpreter.Result{
			Replicas: v.Replica, Requirements: v.Requires, Components: v.Components, Status: v.Status,
			Health: v.Health, Dependencies: v.Dependencies,
		}
		if v.Object != nil {
			res.Object = &unstructured.Unstructured{Object: v.Object}
		}
		return res, nil
	})
}

func inputs(op interpreter.Operation) string {
	switch op {
	case interpreter.Retain:
		return "desiredObj: {apiVersion: v1, kind: Thing}\nobservedObj: {apiVersion: v1, kind: Thing}\n"
	case interpreter.ReviseReplica:
		return "desiredObj: {apiVersion: v1, kind: Thing}\ninputReplicas: 2\n"
	}
	return "desiredObj: {apiVersion: v1, kind: Thing}\n"
}

func TestYAMLComparison(t *testing.T) {
	t.Parallel()
	const (
		cpu1  = "replica: 2\nrequires: {resourceRequest: {cpu: 1000m, memory: 1Gi}}"
		refAB = "dependencies: [{apiVersion: v1, kind: Secret, name: a}, {apiVersion: v1, kind: Secret, name: b}]"
	)
	for _, tt := range []struct {
		name   string
		op     interpreter.Operation
		want   string
		answer string
		// diff is a part of the difference; empty means that the answers are the same.
		diff string
	}{
		{name: "equal", op: interpreter.InterpretReplica, want: cpu1, answer: cpu1},
		{name: "quantities by value", op: interpreter.InterpretReplica, want: `{replica: 2, requires: {resourceRequest: {cpu: 1, memory: "1073741824"}}}`, answer: cpu1},
		{name: "another quantity", op: interpreter.InterpretReplica, want: `{replica: 2, requires: {resourceRequest: {cpu: 1001m, memory: 1024Mi}}}`, answer: cpu1, diff: "-    cpu: 1001m\n+    cpu: \"1\"\n     memory: 1Gi\n"},
		{name: "no quantity", op: interpreter.InterpretReplica, want: `{replica: 2, requires: {resourceRequest: {cpu: lots, memory: 1Gi}}}`, answer: cpu1, diff: "-    cpu: lots"},
		{name: "quantities elsewhere by text", op: interpreter.InterpretStatus, want: "status: {cpu: 1000m}", answer: "status: {cpu: '1'}", diff: "-  cpu: 1000m\n+  cpu: \"1\"\n"},
		{name: "numbers by value", op: interpreter.InterpretReplica, want: "replica: 2.0", answer: "replica: 2"},
		{name: "another number", op: interpreter.InterpretReplica, want: "replica: 2.5", answer: "replica: 2", diff: "-replica: 2.5\n+replica: 2\n"},
		{name: "a large number to the last digit", op: interpreter.InterpretStatus, want: "status: {sum: 9007199254740993}", answer: "status: {sum: '9007199254740992'}", diff: "-  sum: 9007199254740993"},
		{name: "text is no number", op: interpreter.InterpretReplica, want: "replica: '2'", answer: "replica: 2", diff: "-replica: \"2\"\n+replica: 2\n"},
		{name: "null is missing", op: interpreter.InterpretStatus, want: "status: {a: 1, b: null}", answer: "status: {a: 1}"},
		{name: "missing is null", op: interpreter.InterpretStatus, want: "status: {a: 1}", answer: "status: {a: 1, b: null}"},
		{name: "null in a list stays", op: interpreter.InterpretStatus, want: "status: {a: [1]}", answer: "status: {a: [1, null]}", diff: "+  - null"},
		{name: "empty is not missing", op: interpreter.InterpretStatus, want: "status: {a: 1}", answer: "status: {a: 1, b: {}}", diff: "+  b: {}"},
		{name: "an object is no list", op: interpreter.InterpretStatus, want: "status: {a: []}", answer: "status: {a: {}}", diff: "-  a: []\n+  a: {}\n"},
		{name: "nothing to report", op: interpreter.InterpretStatus, want: "status: null", answer: "{}"},
		{name: "an empty status is a report", op: interpreter.InterpretStatus, want: "status: null", answer: "status: {}", diff: "+status: {}"},
		{name: "lists in order", op: interpreter.InterpretStatus, want: "status: {a: [1, 2]}", answer: "status: {a: [2, 1]}", diff: "-  - 1\n"},
		{name: "a result that is not named is null", op: interpreter.InterpretReplica, want: "replica: 2", answer: "replica: 2"},
		{name: "a result that is not named is not null", op: interpreter.InterpretReplica, want: "replica: 2", answer: "{replica: 2, requires: {namespace: ns}}", diff: "+requires:\n+  namespace: ns\n"},
		{name: "dependencies are a set", op: interpreter.InterpretDependency, want: "dependencies: [{apiVersion: v1, kind: Secret, name: b}, {apiVersion: v1, kind: Secret, name: a}, {apiVersion: v1, kind: Secret, name: b, namespace: null}]", answer: refAB},
		{name: "a dependency is missing", op: interpreter.InterpretDependency, want: "dependencies: [{apiVersion: v1, kind: Secret, name: b}]", answer: refAB, diff: "+  name: a\n+- apiVersion: v1\n+  kind: Secret\n"},
		{name: "selectors count", op: interpreter.InterpretDependency, want: "dependencies: [{apiVersion: v1, kind: Pod, labelSelector: {matchLabels: {a: b}}}]", answer: "dependencies: [{apiVersion: v1, kind: Pod, labelSelector: {matchLabels: {a: c}}}]", diff: "-      a: b\n+      a: c\n"},
		{name: "no dependencies", op: interpreter.InterpretDependency, want: "dependencies: null", answer: "dependencies: []"},
		{name: "components by name", op: interpreter.InterpretComponent, want: "components: [{name: b, replicas: 1}, {name: a, replicas: 2}]", answer: "components: [{name: a, replicas: 2}, {name: b, replicas: 1}]"},
		{name: "components repeat", op: interpreter.InterpretComponent, want: "components: [{name: a, replicas: 2}, {name: a, replicas: 2}]", answer: "components: [{name: a, replicas: 2}]", diff: "-- name: a"},
		{name: "component quantities by value", op: interpreter.InterpretComponent, want: "components: [{name: a, replicas: 2, replicaRequirements: {resourceRequest: {cpu: 0.5}}}]", answer: "components: [{name: a, replicas: 2, replicaRequirements: {resourceRequest: {cpu: 500m}}}]"},
		{name: "healthy alone", op: interpreter.InterpretHealth, want: "healthy: true", answer: "health: {status: Suspended, message: on purpose}"},
		{name: "not healthy", op: interpreter.InterpretHealth, want: "healthy: true", answer: "health: {status: Degraded}", diff: "-healthy: true\n+healthy: false\n"},
		{name: "healthy as text", op: interpreter.InterpretHealth, want: "healthy: 'true'", answer: "health: {status: Healthy}", diff: "-healthy: \"true\"\n+healthy: true\n"},
		{name: "health alone, given fields only", op: interpreter.InterpretHealth, want: "health: {status: Progressing}", answer: "health: {status: Progressing, message: wait}"},
		{name: "health says more", op: interpreter.InterpretHealth, want: "{healthy: false, health: {message: go}}", answer: "health: {status: Progressing, message: wait}", diff: "-  message: go\n+  message: wait\n"},
		{name: "retained", op: interpreter.Retain, want: "retained: {apiVersion: v1, kind: Thing, spec: {a: 1}}", answer: "object: {apiVersion: v1, kind: Thing, spec: {a: 2}}", diff: "-    a: 1\n+    a: 2\n"},
		{name: "revised", op: interpreter.ReviseReplica, want: "revised: {apiVersion: v1, kind: Thing}", answer: "object: {apiVersion: v1, kind: Thing}"},
		{name: "pruned", op: interpreter.Prune, want: "pruned: {apiVersion: v1, kind: Thing}", answer: "object: {apiVersion: v1, kind: Thing, status: {}}", diff: "+  status: {}\n"},
		{name: "aggregated, the whole object", op: interpreter.AggregateStatus, want: "aggregatedStatus: {apiVersion: v1, kind: Thing, status: {a: 1}}", answer: "object: {apiVersion: v1, kind: Thing, spec: {}, status: {a: 1}}", diff: "+  spec: {}\n"},
		{name: "now", op: interpreter.InterpretStatus, want: "status: {at: <now>}", answer: "status: {at: '" + time.Now().UTC().Format(time.RFC3339) + "'}"},
		{name: "not now", op: interpreter.InterpretStatus, want: "status: {at: <now>}", answer: "status: {at: '2020-01-01T00:00:00Z'}", diff: "-  at: <now>\n+  at: \"2020-01-01T00:00:00Z\"\n"},
		{name: "now, but with a fraction", op: interpreter.InterpretStatus, want: "status: {at: <now>}", answer: "status: {at: '" + time.Now().UTC().Truncate(time.Second).Add(time.Millisecond).Format(time.RFC3339Nano) + "'}", diff: "-  at: <now>"},
		{name: "a time is text", op: interpreter.InterpretStatus, want: "status: {at: 2020-01-01T00:00:00Z}", answer: "status: {at: '2020-01-01T00:00:00Z'}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := fmt.Sprintf("name: it\noperation: %s\n%soutput:\n  %s\n", tt.op, inputs(tt.op), strings.ReplaceAll(tt.want, "\n", "\n  "))
			cases, err := interpretertest.Parse("it.yaml", []byte(text))
			require.NoError(t, err)
			require.Len(t, cases, 1)
			o := cases[0].Run(t.Context(), answer(t, tt.answer))
			assert.Equal(t, tt.diff == "", o.Passed, o)
			assert.Contains(t, o.Diff, tt.diff)
		})
	}
}

func TestRecordedComparison(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		op      interpreter.Operation
		compare interpretertest.Compare
		expect  string
		answer  string
		diff    string
	}{
		{name: "exact keeps empties", op: interpreter.Prune, compare: interpretertest.Exact, expect: `{"object": {"kind": "Thing", "a": {}}}`, answer: "object: {kind: Thing}", diff: "-  a: {}\n"},
		{name: "loose drops empties from the leaves up", op: interpreter.Prune, compare: interpretertest.Loose, expect: `{"object": {"kind": "Thing", "a": {"b": {"c": []}}, "d": [{}]}}`, answer: "object: {kind: Thing, d: [{e: null}]}"},
		{name: "loose keeps what is in lists", op: interpreter.Prune, compare: interpretertest.Loose, expect: `{"object": {"kind": "Thing", "d": [{}]}}`, answer: "object: {kind: Thing}", diff: "-  d:\n"},
		{name: "loose keeps false and zero", op: interpreter.InterpretStatus, compare: interpretertest.Loose, expect: `{"status": {"a": 0, "b": false, "c": ""}}`, answer: "status: {}", diff: "-  a: 0\n-  b: false\n-  c: \"\"\n"},
		{name: "status ignores the rest", op: interpreter.AggregateStatus, compare: interpretertest.Status, expect: `{"object": {"kind": "Thing", "spec": {"a": 1}, "status": {"sum": 3, "x": {}}}}`, answer: "object: {kind: Thing, status: {sum: 3}}"},
		{name: "status counts", op: interpreter.AggregateStatus, compare: interpretertest.Status, expect: `{"object": {"kind": "Thing", "status": {"sum": 3}}}`, answer: "object: {kind: Thing, status: {sum: 4}}", diff: "-    sum: 3\n+    sum: 4\n"},
		{name: "status is missing", op: interpreter.AggregateStatus, compare: interpretertest.Status, expect: `{"object": {"kind": "Thing", "status": {"sum": 3}}}`, answer: "object: {kind: Thing}", diff: "-  status:\n-    sum: 3\n"},
		{name: "repeats count", op: interpreter.InterpretDependency, compare: interpretertest.Exact, expect: `{"dependencies": [{"apiVersion": "v1", "kind": "Pod", "name": "a"}, {"apiVersion": "v1", "kind": "Pod", "name": "a"}]}`, answer: "dependencies: [{apiVersion: v1, kind: Pod, name: a}]", diff: "-- apiVersion: v1"},
		{name: "order of dependencies", op: interpreter.InterpretDependency, compare: interpretertest.Exact, expect: `{"dependencies": [{"apiVersion": "v1", "kind": "Pod", "name": "b"}, {"apiVersion": "v1", "kind": "Pod", "name": "a"}]}`, answer: "dependencies: [{apiVersion: v1, kind: Pod, name: a}, {apiVersion: v1, kind: Pod, name: b}]"},
		{name: "null requirements", op: interpreter.InterpretReplica, compare: interpretertest.Loose, expect: `{"replicas": 3, "requirements": null}`, answer: "replica: 3"},
		{name: "more about quotas than recorded", op: interpreter.InterpretReplica, compare: interpretertest.Exact, expect: `{"replicas": 3, "requirements": {"resourceRequest": {"cpu": "1"}}}`, answer: "{replica: 3, requires: {namespace: ns, priorityClassName: high, resourceRequest: {cpu: 1}}}"},
		{name: "about quotas only", op: interpreter.InterpretReplica, compare: interpretertest.Exact, expect: `{"replicas": 3, "requirements": null}`, answer: "{replica: 3, requires: {namespace: ns}}"},
		{name: "another namespace than recorded", op: interpreter.InterpretReplica, compare: interpretertest.Exact, expect: `{"replicas": 3, "requirements": {"namespace": "a"}}`, answer: "{replica: 3, requires: {namespace: b}}", diff: "-  namespace: a\n+  namespace: b\n"},
		{name: "no requirements, but some recorded", op: interpreter.InterpretReplica, compare: interpretertest.Exact, expect: `{"replicas": 3, "requirements": {"resourceRequest": {"cpu": "1"}}}`, answer: "{replica: 3, requires: {namespace: ns}}", diff: "-  resourceRequest:\n"},
		{name: "a component's priority class", op: interpreter.InterpretComponent, compare: interpretertest.Exact, expect: `{"components": [{"name": "a", "replicas": 1}]}`, answer: "components: [{name: a, replicas: 1, replicaRequirements: {priorityClassName: high}}]"},
		{name: "healthy", op: interpreter.InterpretHealth, compare: interpretertest.Exact, expect: `{"healthy": false}`, answer: "health: {status: Unknown}"},
		{name: "revised", op: interpreter.ReviseReplica, compare: interpretertest.Exact, expect: `{"object": {"spec": {"size": 2.0}}}`, answer: "object: {spec: {size: 2}}"},
		{name: "retained", op: interpreter.Retain, compare: interpretertest.Exact, expect: `{"object": {"spec": {"size": 2}}}`, answer: "object: {spec: {size: 3}}", diff: "-    size: 2\n+    size: 3\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			line := fmt.Sprintf(`{"id": "it", "level": "native", "operation": %q, "object": {"apiVersion": "v1", "kind": "Thing"}, "enabled": true, "expectError": false, "compare": %q, "expect": %s}`, tt.op, tt.compare, tt.expect)
			cases, err := interpretertest.ParseRecorded("it.jsonl", []byte(line))
			require.NoError(t, err)
			o := cases[0].Run(t.Context(), answer(t, tt.answer))
			assert.Equal(t, tt.diff == "", o.Passed, o)
			assert.Contains(t, o.Diff, tt.diff)
		})
	}
}

func TestErrorsAreOutcomes(t *testing.T) {
	t.Parallel()
	fail := func(err error) interpreter.Interpreter {
		return interpreter.HealthFunc(func(*unstructured.Unstructured) (interpreter.Health, error) { return interpreter.Health{}, err })
	}
	thing := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Thing"}}
	broken, noRule := errors.New("status.phase: must be text"), interpreter.NewChain()
	huge := int64(1) << 40
	for _, tt := range []struct {
		name    string
		c       interpretertest.Case
		in      interpreter.Interpreter
		problem string
	}{
		{name: "no expectation", in: fail(nil), problem: "no expected output"},
		{name: "error without expectation", in: fail(broken), problem: "status.phase: must be text"},
		{name: "error instead of an answer", c: interpretertest.Case{Output: map[string]any{"healthy": true}}, in: fail(broken), problem: "must be text"},
		{name: "wanted text", c: interpretertest.Case{WantError: "must be text"}, in: fail(broken)},
		{name: "other text", c: interpretertest.Case{WantError: "spec.replicas"}, in: fail(broken), problem: `want an error with "spec.replicas", got: status.phase: must be text`},
		{name: "answer instead of an error", c: interpretertest.Case{WantError: "must be text"}, in: fail(nil), problem: `want an error with "must be text", got an answer`},
		{name: "any error", c: interpretertest.Case{Fails: true}, in: fail(broken)},
		{name: "no rule is not any error", c: interpretertest.Case{Fails: true}, in: noRule, problem: "want an error, got: InterpretHealth of v1 Thing: no rule"},
		{name: "no rule by its text", c: interpretertest.Case{WantError: "no rule"}, in: noRule},
		{name: "no rule", c: interpretertest.Case{NoRule: true}, in: noRule},
		{name: "a rule where none is wanted", c: interpretertest.Case{NoRule: true}, in: fail(broken), problem: "want that there is no rule, got: status.phase"},
		{name: "an answer where no rule is wanted", c: interpretertest.Case{NoRule: true}, in: fail(nil), problem: "want that there is no rule, got an answer"},
		{name: "unknown operation", c: interpretertest.Case{Operation: "Guess"}, in: fail(nil), problem: `unknown operation "Guess"`},
		{name: "replicas that do not fit", c: interpretertest.Case{Replicas: &huge, Fails: true}, in: fail(nil)},
		{name: "neither answer nor error", c: interpretertest.Case{Fails: true}, in: interpreter.Func(func(context.Context, *interpreter.Request) (*interpreter.Result, error) { return nil, nil }), problem: "neither an answer nor an error"},
		{name: "a panic is not the wanted error", c: interpretertest.Case{Fails: true, WantError: "nil map"}, in: interpreter.Func(func(context.Context, *interpreter.Request) (*interpreter.Result, error) { panic("nil map") }), problem: "panic: nil map"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := tt.c
			c.Object = thing
			if c.Operation == "" {
				c.Operation = interpreter.InterpretHealth
			}
			o := c.Run(t.Context(), tt.in)
			assert.Equal(t, tt.problem == "", o.Passed, o)
			assert.Contains(t, o.String(), tt.problem)
		})
	}
}

func TestInterpretersMustLeaveTheRequestAlone(t *testing.T) {
	t.Parallel()
	cases, err := interpretertest.Parse("", []byte(`
operation: AggregateStatus
desiredObj: {apiVersion: v1, kind: Thing, spec: {list: [{a: 1}]}}
statusItems: [{clusterName: one, status: {n: 1}}]
output: {aggregatedStatus: {apiVersion: v1, kind: Thing, spec: {list: [{a: 1}]}}}
`))
	require.NoError(t, err)
	for _, tt := range []struct {
		name    string
		fn      func(req *interpreter.Request) *unstructured.Unstructured
		problem string
	}{
		{name: "copies", fn: func(req *interpreter.Request) *unstructured.Unstructured { return req.Object.DeepCopy() }},
		{name: "changes the object", problem: "the interpreter changed the request", fn: func(req *interpreter.Request) *unstructured.Unstructured {
			o := req.Object.DeepCopy()
			req.Object.Object["status"] = map[string]any{}
			return o
		}},
		{name: "changes a status item", problem: "the interpreter changed the request", fn: func(req *interpreter.Request) *unstructured.Unstructured {
			req.Statuses[0].Status.Raw[0] = ' '
			return req.Object.DeepCopy()
		}},
		{name: "gives the request's object back", problem: "shares memory", fn: func(req *interpreter.Request) *unstructured.Unstructured { return req.Object }},
		{name: "copies the surface only", problem: "shares memory", fn: func(req *interpreter.Request) *unstructured.Unstructured {
			return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Thing", "spec": req.Object.Object["spec"]}}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := cases[0].Run(t.Context(), interpreter.Func(func(_ context.Context, req *interpreter.Request) (*interpreter.Result, error) {
				return &interpreter.Result{Object: tt.fn(req)}, nil
			}))
			assert.Equal(t, tt.problem == "", o.Passed, o)
			assert.Contains(t, o.Problem, tt.problem)
		})
	}
}

func TestRunsCasesAsSubtests(t *testing.T) {
	cases, err := interpretertest.ReadFile("testdata/thing.yaml")
	require.NoError(t, err)
	recorded, err := interpretertest.ReadFile("testdata/thing.jsonl")
	require.NoError(t, err)
	var names []string
	in := interpreter.Func(func(ctx context.Context, req *interpreter.Request) (*interpreter.Result, error) {
		names = append(names, t.Name())
		return things().Interpret(ctx, req)
	})
	interpretertest.Test(t, in, append(cases, recorded...))
	assert.Len(t, names, len(cases)+len(recorded))
}

// things knows two operations of one made-up kind.
func things() *interpreter.Chain {
	thing := schema.GroupVersionKind{Version: "v1", Kind: "Thing"}
	return interpreter.NewChain(layer{
		{Kind: thing, Operation: interpreter.InterpretHealth}: interpreter.HealthFunc(func(o *unstructured.Unstructured) (interpreter.Health, error) {
			phase, _, err := unstructured.NestedString(o.Object, "status", "phase")
			return interpreter.HealthOfBool(phase == "Ready"), err
		}),
		{Kind: thing, Operation: interpreter.InterpretReplica}: interpreter.ReplicaFunc(func(o *unstructured.Unstructured) (int32, *interpreter.ReplicaRequirements, error) {
			n, _, err := unstructured.NestedInt64(o.Object, "spec", "size")
			return int32(n), nil, err
		}),
	})
}

type layer map[interpreter.Key]interpreter.Interpreter

func (l layer) Name() string { return "test" }

func (l layer) Rules(kind schema.GroupVersionKind, op interpreter.Operation) []*interpreter.Rule {
	in, ok := l[interpreter.Key{Kind: kind, Operation: op}]
	if !ok {
		return nil
	}
	return []*interpreter.Rule{{Name: kind.Kind, Interpreter: in}}
}
