package builtin

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
)

func TestLayersNameTheirRules(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		layer interpreter.Layer
		name  string
		kind  schema.GroupVersionKind
		op    interpreter.Operation
		want  string
	}{
		{Layer(), "built-in", service.gvk, interpreter.Retain, "v1 Service"},
		{Layer(), "built-in", service.gvk, interpreter.InterpretReplica, ""},
		{Layer(), "built-in", horizontalPodAutoscaler.gvk, interpreter.InterpretHealth, ""},
		{Extra(), "built-in extra", horizontalPodAutoscaler.gvk, interpreter.InterpretHealth, "autoscaling/v2 HorizontalPodAutoscaler"},
		{Extra(), "built-in extra", service.gvk, interpreter.Retain, ""},
		{Extra(), "built-in extra", schema.GroupVersionKind{Group: gatewayGroup, Version: "v1alpha2", Kind: "TCPRoute"}, interpreter.InterpretDependency, "gateway.networking.k8s.io/v1alpha2 TCPRoute"},
		{Extra(), "built-in extra", schema.GroupVersionKind{Group: gatewayGroup, Version: "v1beta2", Kind: "TCPRoute"}, interpreter.InterpretDependency, ""},
		{Fallback(), "fallback", widget.gvk, interpreter.Prune, "any kind"},
		{Fallback(), "fallback", widget.gvk, interpreter.InterpretStatus, "any kind"},
		{Fallback(), "fallback", widget.gvk, interpreter.InterpretHealth, ""},
	} {
		assert.Equal(t, tc.name, tc.layer.Name())
		got := ""
		for _, r := range tc.layer.Rules(tc.kind, tc.op) {
			got += r.Name
		}
		assert.Equal(t, tc.want, got, "%s %s %s", tc.name, tc.kind, tc.op)
	}
}

func TestPruningGoesByGroupAndKind(t *testing.T) {
	t.Parallel()
	for apiVersion, pruned := range map[string]bool{"v1": true, "v2": true, "serving.example.dev/v1": false} {
		obj := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": apiVersion, "kind": "Service", "spec": map[string]any{"clusterIP": "10.0.0.9"}, "status": map[string]any{},
		}}
		got, err := interpreter.Pruned(t.Context(), interpreter.NewChain(Layer(), Fallback()), obj)
		require.NoError(t, err)
		_, kept, err := unstructured.NestedString(got.Object, "spec", "clusterIP")
		require.NoError(t, err)
		assert.Equal(t, !pruned, kept, apiVersion)
		assert.NotContains(t, got.Object, "status")
	}
}

// Without the extra layer an Ingress has the dependencies that Karmada gives it.
func TestIngressBackendsAreExtra(t *testing.T) {
	t.Parallel()
	checkExample(t, interpreter.NewChain(Layer()), ingress, example{
		op:     interpreter.InterpretDependency,
		object: "spec: {tls: [{secretName: cert}, {}], defaultBackend: {service: {name: web}}}",
		want:   "v1 Secret ns1/cert",
	})
}

func TestEntriesAreTheRules(t *testing.T) {
	t.Parallel()
	for _, layer := range []interpreter.Layer{Layer(), Extra(), Fallback()} {
		entries := layer.(interpreter.Lister).Entries()
		assert.NotEmpty(t, entries)
		seen := map[interpreter.Key]bool{}
		for _, e := range entries {
			at := interpreter.Key{Kind: e.Kind, Operation: e.Operation}
			assert.False(t, seen[at], "twice: %v", at)
			seen[at] = true
			rules := layer.Rules(e.Kind, e.Operation)
			require.Len(t, rules, 1)
			assert.Equal(t, e.Rule, rules[0].Name)
		}
		entries[0].Rule = "changed"
		assert.NotEqual(t, entries[0], layer.(interpreter.Lister).Entries()[0], "the caller's copy is the layer's")
	}
}

// everyRule calls fn with each operation of each kind and version in the index.
func everyRule(fn func(gvk schema.GroupVersionKind, op interpreter.Operation)) {
	for _, k := range index {
		ops := slices.Sorted(maps.Keys(k.rules))
		for op := range k.extra {
			if !slices.Contains(ops, op) {
				ops = append(ops, op)
			}
		}
		for _, version := range append([]string{k.gvk.Version}, k.also...) {
			for _, op := range ops {
				fn(k.gvk.GroupKind().WithVersion(version), op)
			}
		}
	}
}

func TestAlmostEmptyObjectsHaveAnAnswer(t *testing.T) {
	t.Parallel()
	chain := interpreter.NewChain(Extra(), Layer(), Fallback())
	everyRule(func(gvk schema.GroupVersionKind, op interpreter.Operation) {
		bare := func() *unstructured.Unstructured {
			obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "x"}}}
			obj.SetGroupVersionKind(gvk)
			return obj
		}
		replicas := int32(1)
		req := &interpreter.Request{Operation: op, Object: bare(), Observed: bare(), Replicas: &replicas}
		res, err := chain.Interpret(t.Context(), req)
		require.NoError(t, err, "%s %s", gvk, op)
		assert.Equal(t, bare(), req.Object)
		switch op {
		case interpreter.Retain, interpreter.Prune:
			assert.Equal(t, bare(), res.Object, "%s %s", gvk, op)
		case interpreter.InterpretHealth:
			assert.NotEmpty(t, res.Health.Reason, "%s %s", gvk, op)
			assert.NotEmpty(t, res.Health.Message, "%s %s", gvk, op)
		}
	})
}

func TestNamesAndNamespacesOfWrongTypesAreTold(t *testing.T) {
	t.Parallel()
	chain := interpreter.NewChain(Extra(), Layer())
	alone := map[string]bool{networkPolicy.gvk.Kind: true, podDisruptionBudget.gvk.Kind: true}
	everyRule(func(gvk schema.GroupVersionKind, op interpreter.Operation) {
		if alone[gvk.Kind] || op != interpreter.InterpretReplica && op != interpreter.InterpretComponent && op != interpreter.InterpretDependency {
			return
		}
		for metadata, wantErr := range map[string]string{
			`{"name": "x", "namespace": 5}`:       "metadata.namespace must be text, got 5",
			`{"name": ["x"], "namespace": "ns1"}`: "metadata.name must be text, got a list",
			`"x"`:                                 "metadata must be an object, got the text \"x\"",
		} {
			obj := decode(`{"metadata": `+metadata+`}`, gvk)
			require.NotNil(t, obj)
			_, err := chain.Interpret(t.Context(), &interpreter.Request{Operation: op, Object: obj})
			byName := gvk.Kind == serviceAccount.gvk.Kind || gvk.Kind == serviceImport.gvk.Kind
			if !byName && strings.HasPrefix(wantErr, "metadata.name ") {
				assert.NoError(t, err, "%s %s: the name is not read", gvk, op)
				continue
			}
			assert.ErrorContains(t, err, wantErr, "%s %s", gvk, op)
		}
	})
}

func TestAnyListOfItemsCanBeAggregated(t *testing.T) {
	t.Parallel()
	chain := interpreter.NewChain(Extra(), Layer(), Fallback())
	none, empty := item("m1", ""), item("m2", "{}")
	everyRule(func(gvk schema.GroupVersionKind, op interpreter.Operation) {
		if op != interpreter.AggregateStatus {
			return
		}
		obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "x", "generation": int64(2)}}}
		obj.SetGroupVersionKind(gvk)
		answers := map[string][]string{}
		for name, lists := range map[string][][]interpreter.AggregatedStatusItem{
			"no items":     {nil, {}},
			"not reported": {{none}, {none}},
			"in any order": {{none, empty, none}, {empty, none, none}, {none, none, empty}},
		} {
			for _, items := range lists {
				got, err := interpreter.Aggregated(t.Context(), chain, obj, items)
				require.NoError(t, err, "%s: %s", gvk, name)
				again, err := interpreter.Aggregated(t.Context(), chain, got, items)
				require.NoError(t, err)
				assert.Equal(t, got, again, "%s: aggregating again changes the answer", gvk)
				data, err := json.Marshal(got)
				require.NoError(t, err)
				answers[name] = append(answers[name], string(data))
			}
			assert.Len(t, slices.Compact(answers[name]), 1, "%s: %s", gvk, name)
		}
	})
}

// FuzzRules asks every rule about whatever JSON objects it is given. Nothing may panic, no request may
// change, and the laws of each operation hold.
func FuzzRules(f *testing.F) {
	kinds := map[schema.GroupKind]int{}
	for i, k := range index {
		kinds[k.gvk.GroupKind()] = i
	}
	for _, s := range suites {
		for _, e := range s.examples {
			req := e.request(f, s.kind)
			observed, status := []byte("{}"), ""
			if req.Observed != nil {
				observed, _ = req.Observed.MarshalJSON()
			}
			if len(req.Statuses) > 0 && req.Statuses[0].Status != nil {
				status = string(req.Statuses[0].Status.Raw)
			}
			object, err := req.Object.MarshalJSON()
			require.NoError(f, err)
			f.Add(kinds[s.kind.gvk.GroupKind()], string(object), string(observed), status)
		}
	}
	chain := interpreter.NewChain(Extra(), Layer(), Fallback())
	f.Fuzz(func(t *testing.T, n int, object, observed, status string) {
		k := index[uint(n)%uint(len(index))]
		obj, seen := decode(object, k.gvk), decode(observed, k.gvk)
		if obj == nil || seen == nil {
			return
		}
		items := []interpreter.AggregatedStatusItem{item("m0", status), item("m1", ""), item("m2", status)}
		replicas := int32(3)
		for _, op := range interpreter.Operations() {
			req := &interpreter.Request{Operation: op, Object: obj.DeepCopy(), Observed: seen.DeepCopy(), Replicas: &replicas, Statuses: items}
			res, err := chain.Interpret(t.Context(), req)
			require.Equal(t, obj, req.Object, "%s modified the object", op)
			require.Equal(t, seen, req.Observed, "%s modified the observed object", op)
			if err != nil {
				require.NotEmpty(t, err.Error())
				continue
			}
			again := *req
			switch op {
			case interpreter.Retain, interpreter.Prune, interpreter.ReviseReplica, interpreter.AggregateStatus:
				again.Object = res.Object
				if op == interpreter.AggregateStatus {
					again.Statuses = []interpreter.AggregatedStatusItem{items[2], items[0], items[1]}
				}
			}
			if op == interpreter.AggregateStatus && k.gvk == pod.gvk {
				// A container that runs again takes a second time to be listed.
				res, err = chain.Interpret(t.Context(), &again)
				require.NoError(t, err, "%s of its own answer", op)
				again.Object = res.Object
			}
			twice, err := chain.Interpret(t.Context(), &again)
			require.NoError(t, err, "%s of its own answer", op)
			if res.Object != nil {
				require.Equal(t, res.Object, twice.Object, "%s of its own answer", op)
			}
		}
	})
}

func decode(text string, gvk schema.GroupVersionKind) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	var fields map[string]any
	if json.Unmarshal([]byte(text), &fields) != nil || fields == nil {
		return nil
	}
	fields["apiVersion"], fields["kind"] = gvk.GroupVersion().String(), gvk.Kind
	data, err := json.Marshal(fields)
	if err != nil || obj.UnmarshalJSON(data) != nil {
		return nil
	}
	return obj
}

func BenchmarkAggregateServices(b *testing.B) {
	var items []interpreter.AggregatedStatusItem
	for i := range 100 {
		items = append(items, item(fmt.Sprint("m", i), fmt.Sprintf(`{"loadBalancer":{"ingress":[{"ip":"10.0.0.%d"}]}}`, i)))
	}
	obj := complete(b, service, "spec: {type: LoadBalancer}")
	in := interpreter.NewChain(Layer())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := interpreter.Aggregated(b.Context(), in, obj, items); err != nil {
			b.Fatal(err)
		}
	}
}
