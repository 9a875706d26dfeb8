package thirdparty

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/interpretertest"
	"github.com/kubeinterpret/interpret/luakube"
)

// laws answers with the clock stopped, so that two answers to the same question are the same.
func laws() *interpreter.Chain {
	b := New(luakube.WithClock(func() time.Time { return time.Unix(1_700_000_000, 0) }))
	return interpreter.NewChain(b.Extra(), b.Layer())
}

// kindsWith lists the kinds that have a rule for an operation. Those that a pattern stands for are the kinds of its
// cases.
func kindsWith(op interpreter.Operation) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	add := func(kind schema.GroupVersionKind) {
		if !slices.Contains(kinds, kind) && len(Extra().Rules(kind, op))+len(Layer().Rules(kind, op)) > 0 {
			kinds = append(kinds, kind)
		}
	}
	for _, f := range shared().folders() {
		if !f.isPattern() {
			add(f.kind)
		}
	}
	cases, _ := allCases() // An error is told to whoever asks for examples.
	for _, c := range cases {
		if c.Operation == op {
			add(c.Object.GroupVersionKind())
		}
	}
	return kinds
}

// allCases reads every case there is, recorded ones included, once.
var allCases = sync.OnceValues(func() ([]interpretertest.Case, error) {
	paths, err := filepath.Glob("*/*/*/testdata/*-test.yaml")
	if err != nil {
		return nil, err
	}
	var all []interpretertest.Case
	for _, p := range append(paths, "testdata/thirdparty.jsonl") {
		cases, err := interpretertest.ReadFile(p)
		if err != nil {
			return nil, err
		}
		all = append(all, cases...)
	}
	return all, nil
})

// examples are the cases of a kind's operation that want an answer.
func examples(t *testing.T, kind schema.GroupVersionKind, op interpreter.Operation) []interpretertest.Case {
	all, err := allCases()
	require.NoError(t, err)
	var found []interpretertest.Case
	for _, c := range all {
		if c.Operation == op && c.Object.GroupVersionKind() == kind && !c.Fails && c.WantError == "" {
			found = append(found, c)
		}
	}
	return found
}

func object(kind schema.GroupVersionKind, fields map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: maps.Clone(fields)}
	o.SetGroupVersionKind(kind)
	return o
}

// raised says whether an error is one that a rule raises on purpose: it names a field and no line, since the
// mistake is in the object.
func raised(err error) bool {
	var script *luakube.ScriptError
	return errors.As(err, &script) && script.Line == 0 && script.Err == nil
}

// stumbled says whether an error comes from a rule that took for granted what an object did not have. The
// others name a field: of the object, where a rule looked, or of the answer, where it copied a value.
func stumbled(err error) bool {
	return err != nil && !raised(err) && !interpreter.IsNoRule(err) && !errors.Is(err, interpreter.ErrInvalidResult) && !errors.Is(err, interpreter.ErrInvalidRequest)
}

// TestNoRuleStumblesOverAWrongType puts values of other types in places of all examples.
func TestNoRuleStumblesOverAWrongType(t *testing.T) {
	t.Parallel()
	in := laws()
	for _, op := range interpreter.Operations() {
		for _, kind := range kindsWith(op) {
			for _, c := range examples(t, kind, op) {
				req, err := c.Request()
				require.NoError(t, err, c)
				twist(req.Object.Object, func(at string) { ask(t, in, req, c, at) })
				if req.Observed != nil {
					twist(req.Observed.Object, func(at string) { ask(t, in, req, c, "observed "+at) })
				}
				for i := range req.Statuses {
					if req.Statuses[i].Status == nil {
						continue
					}
					whole := map[string]any{}
					require.NoError(t, json.Unmarshal([]byte(`{"status":`+string(req.Statuses[i].Status.Raw)+`}`), &whole))
					twist(whole, func(at string) {
						req.Statuses[i].Status.Raw, err = json.Marshal(whole["status"])
						require.NoError(t, err)
						ask(t, in, req, c, fmt.Sprintf("items[%d]%s", i, at))
					})
					req.Statuses[i] = c.Statuses[i]
				}
			}
		}
	}
}

func ask(t *testing.T, in interpreter.Interpreter, req *interpreter.Request, c interpretertest.Case, at string) {
	if _, err := in.Interpret(t.Context(), req); stumbled(err) {
		t.Errorf("%s with another value at %s: %v", c, at, err)
	}
}

// everyPlace says that one of so many places is changed. Examples of a kind are alike and begin to count at
// different places, so that with all of them together no place is left out.
const everyPlace = 4

// twist calls a function once for each place of a tree that is changed, with another value in it, and puts the
// tree right again. Which value it is differs from place to place and from tree to tree.
func twist(tree any, with func(at string)) {
	var walk func(at string, v any)
	others := []any{"x", int64(7), 2.5, true, nil, []any{}, []any{"x"}, []any{nil}, map[string]any{}, map[string]any{"x": "x"}}
	n := len(fmt.Sprint(tree))
	set := func(at string, old any, put func(any)) {
		if n++; n%everyPlace == 0 {
			other := others[n/everyPlace%len(others)]
			put(other)
			with(at + fmt.Sprintf(" = %v", other))
			put(old)
		}
		walk(at, old)
	}
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				set(at+"."+key, v[key], func(x any) { v[key] = x })
			}
		case []any:
			for i := range v {
				set(fmt.Sprintf("%s[%d]", at, i), v[i], func(x any) { v[i] = x })
			}
		}
	}
	walk("", tree)
}

func TestNoRuleStumblesOverAnEmptyObject(t *testing.T) {
	t.Parallel()
	in := laws()
	bare := map[string]map[string]any{
		"nothing":        {},
		"a name":         {"metadata": map[string]any{"name": "x"}},
		"empty spec":     {"metadata": map[string]any{"name": "x"}, "spec": map[string]any{}},
		"empty status":   {"metadata": map[string]any{"name": "x"}, "status": map[string]any{}},
		"empty both":     {"metadata": map[string]any{"name": "x"}, "spec": map[string]any{}, "status": map[string]any{}},
		"nulls":          {"metadata": map[string]any{"name": "x"}, "spec": nil, "status": nil},
		"empty template": {"metadata": map[string]any{"name": "x"}, "spec": map[string]any{"template": map[string]any{}, "replicas": int64(1)}},
	}
	n := int32(2)
	for _, op := range interpreter.Operations() {
		for _, kind := range kindsWith(op) {
			for name, fields := range bare {
				req := &interpreter.Request{
					Operation: op, Object: object(kind, fields), Observed: object(kind, fields), Replicas: &n,
					Statuses: []interpreter.AggregatedStatusItem{{ClusterName: "one"}, status("two", "{}"), status("three", "null")},
				}
				if _, err := in.Interpret(t.Context(), req); err != nil {
					assert.True(t, raised(err), "%s of %s, %s: %v", op, kind, name, err)
				}
			}
		}
	}
}

func status(cluster, raw string) interpreter.AggregatedStatusItem {
	return interpreter.AggregatedStatusItem{ClusterName: cluster, Status: &runtime.RawExtension{Raw: []byte(raw)}}
}

// roomless are kinds in which not every number of replicas has a place. Of a RayService one replica is the
// head, which is always there.
var roomless = map[string]int32{"RayService": 1}

func TestRevisedReplicasAreInterpreted(t *testing.T) {
	t.Parallel()
	in := laws()
	for _, kind := range kindsWith(interpreter.ReviseReplica) {
		require.True(t, in.Handles(kind, interpreter.InterpretReplica), kind)
		for _, c := range append(examples(t, kind, interpreter.InterpretReplica), examples(t, kind, interpreter.ReviseReplica)...) {
			for n := roomless[kind.Kind]; n < 9; n++ {
				if before, err := replicas(t.Context(), in, c.Object); err != nil || before == 0 && roomless[kind.Kind] > 0 {
					continue // Nothing to compare with, such as a service without a head.
				}
				res, err := in.Interpret(t.Context(), &interpreter.Request{Operation: interpreter.ReviseReplica, Object: c.Object, Replicas: &n})
				require.NoError(t, err, c)
				got, err := replicas(t.Context(), in, res.Object)
				require.NoError(t, err, c)
				if room(c.Object) {
					assert.Equal(t, n, got, c)
				}
				for _, p := range differences("", c.Object.Object, res.Object.Object) {
					assert.Contains(t, sizes, path.Base(p), "%s: %s changed", c, p)
				}
				again, err := in.Interpret(t.Context(), &interpreter.Request{Operation: interpreter.ReviseReplica, Object: res.Object, Replicas: &n})
				require.NoError(t, err, c)
				assert.Equal(t, res.Object, again.Object, c)
			}
		}
	}
}

func replicas(ctx context.Context, in interpreter.Interpreter, o *unstructured.Unstructured) (int32, error) {
	res, err := in.Interpret(ctx, &interpreter.Request{Operation: interpreter.InterpretReplica, Object: o})
	if err != nil {
		return 0, err
	}
	return res.Replicas, nil
}

// sizes are the fields in which kinds keep their number of replicas.
var sizes = []string{"replicas", "parallelism", "count", "instances"}

// room says whether any number of workers fits: a Ray service without groups has none, and one with groups of
// several hosts only some.
func room(o *unstructured.Unstructured) bool {
	if o.GetKind() != "RayService" {
		return true
	}
	groups, _, _ := unstructured.NestedSlice(o.Object, "spec", "rayClusterConfig", "workerGroupSpecs")
	return len(groups) > 0 && !slices.ContainsFunc(groups, func(g any) bool {
		group := g.(map[string]any)
		return group["numOfHosts"] != nil || group["suspend"] != nil
	})
}

// differences lists the paths at which two values differ.
func differences(at string, a, b any) []string {
	ma, okA := a.(map[string]any)
	mb, okB := b.(map[string]any)
	la, listA := a.([]any)
	lb, listB := b.([]any)
	// A missing object is one without fields.
	okA, okB = okA || okB && a == nil, okB || okA && b == nil
	var found []string
	switch {
	case okA && okB:
		for key := range ma {
			found = append(found, differences(at+"/"+key, ma[key], mb[key])...)
		}
		for key := range mb {
			if _, both := ma[key]; !both {
				found = append(found, differences(at+"/"+key, nil, mb[key])...)
			}
		}
	case listA && listB && len(la) == len(lb):
		for i := range la {
			found = append(found, differences(fmt.Sprintf("%s[%d]", at, i), la[i], lb[i])...)
		}
	case !reflect.DeepEqual(a, b):
		found = append(found, at)
	}
	return found
}

// retained are the fields that any bundled rule takes from the observed object.
var retained = []string{
	"/operation", "/spec/replicas", "/spec/count", "/spec/instances", "/spec/suspend", "/spec/template/metadata/labels", "/status",
	"/spec/replicatedJobs[0]/template/spec/template/metadata",
	"/spec/replicatedJobs[0]/template/spec/template/spec/nodeSelector",
	"/spec/replicatedJobs[0]/template/spec/template/spec/schedulingGates",
	"/spec/replicatedJobs[0]/template/spec/template/spec/tolerations",
	"/spec/instancetype/revisionName", "/spec/template/spec/domain/firmware", "/spec/template/spec/domain/machine/type",
	"/spec/controlPlaneEndpoint", "/spec/controlPlaneRef", "/spec/infrastructureRef",
	"/spec/providerID", "/spec/failureDomain", "/spec/bootstrap/dataSecretName",
	"/spec/shards", "/spec/forProvider", "/metadata/annotations/crossplane.io",
}

func TestRetainIsIdempotentAndKeepsTheRest(t *testing.T) {
	t.Parallel()
	in := laws()
	for _, kind := range kindsWith(interpreter.Retain) {
		cases := examples(t, kind, interpreter.Retain)
		require.NotEmpty(t, cases, kind)
		for _, c := range cases {
			req := &interpreter.Request{Operation: interpreter.Retain, Object: c.Object, Observed: c.Observed}
			once, err := in.Interpret(t.Context(), req)
			require.NoError(t, err, c)
			req.Object = once.Object
			twice, err := in.Interpret(t.Context(), req)
			require.NoError(t, err, c)
			assert.Equal(t, once.Object, twice.Object, c)
			for _, p := range differences("", c.Object.Object, once.Object.Object) {
				assert.True(t, slices.ContainsFunc(retained, func(r string) bool { return p == r || len(p) > len(r) && p[:len(r)+1] == r+"/" }), "%s: %s changed", c, p)
			}
		}
	}
}

func TestAggregatingTakesMembersInAnyOrderAndNumber(t *testing.T) {
	t.Parallel()
	in := laws()
	for _, kind := range kindsWith(interpreter.AggregateStatus) {
		cases := examples(t, kind, interpreter.AggregateStatus)
		require.NotEmpty(t, cases, kind)
		for _, c := range cases {
			aggregate := func(o *unstructured.Unstructured, items []interpreter.AggregatedStatusItem) *unstructured.Unstructured {
				res, err := in.Interpret(t.Context(), &interpreter.Request{Operation: interpreter.AggregateStatus, Object: o, Statuses: items})
				require.NoError(t, err, c)
				return res.Object
			}
			once := aggregate(c.Object, c.Statuses)
			assert.Equal(t, once, aggregate(once, c.Statuses), "%s: aggregating again changes the status", c)
			reversed := slices.Clone(c.Statuses)
			slices.Reverse(reversed)
			assert.Equal(t, once, aggregate(c.Object, reversed), "%s: the order of members counts", c)
			for n := range c.Statuses {
				silent := slices.Clone(c.Statuses)
				silent[n].Status = nil
				aggregate(c.Object, silent)
				aggregate(c.Object, c.Statuses[:n])
			}
			for _, p := range differences("", c.Object.Object, once.Object) {
				assert.Regexp(t, "^/status", p, "%s: only the status changes", c)
			}
		}
	}
}
