package builtin

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kubeinterpret/interpret/interpreter"
)

func TestNumbersAreReadExactlyOrRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		value   any
		want    int64
		found   bool
		wantErr string
	}{
		{value: nil},
		{value: int64(3), want: 3, found: true},
		{value: 3.0, want: 3, found: true},
		{value: math.Copysign(0, -1), want: 0, found: true},
		{value: float64(math.MinInt64), want: math.MinInt64, found: true},
		{value: 2.5, wantErr: "spec.n must be a whole number, got 2.5"},
		{value: math.Pow(2, 63), wantErr: "spec.n must be a whole number, got 9.223372036854776e+18"},
		{value: math.NaN(), wantErr: "spec.n must be a whole number, got NaN"},
		{value: math.Inf(1), wantErr: "spec.n must be a whole number, got +Inf"},
		{value: "3", wantErr: `spec.n must be a whole number, got the text "3"`},
		{value: true, wantErr: "spec.n must be a whole number, got true"},
		{value: int32(3), wantErr: "spec.n must be a whole number, got int32"},
		{value: map[string]any{}, wantErr: "spec.n must be a whole number, got an object"},
		{value: []any{}, wantErr: "spec.n must be a whole number, got a list"},
		{value: strings.Repeat("é", 50), wantErr: `spec.n must be a whole number, got the text "` + strings.Repeat("é", 20) + `..."`},
	} {
		n, found, err := int64At(map[string]any{"spec": map[string]any{"n": tc.value}}, "spec", "n")
		if tc.wantErr != "" {
			assert.EqualError(t, err, tc.wantErr)
			assert.False(t, found)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, tc.want, n)
		assert.Equal(t, tc.found, found)
	}
	for _, n := range []int64{math.MaxInt32 + 1, math.MinInt32 - 1} {
		_, _, err := int32At(map[string]any{"n": n}, "n")
		assert.ErrorContains(t, err, "n must fit in 32 bits")
	}
}

func TestWrongTypesAreNamedWithTheirPath(t *testing.T) {
	t.Parallel()
	obj := map[string]any{"a": map[string]any{"b": "x", "nil": nil, "deep": []any{map[string]any{"c": int64(1)}, nil, "x"}}}
	_, err := observed(map[string]any{"metadata": map[string]any{"generation": "1"}})
	assert.EqualError(t, err, `metadata.generation must be a whole number, got the text "1"`)
	_, err = textAt(obj, "a", "b", "c")
	assert.EqualError(t, err, `a.b must be an object, got the text "x"`)
	_, err = boolAt(obj, "a", "b")
	assert.EqualError(t, err, `a.b must be true or false, got the text "x"`)
	_, err = mapAt(obj, "a", "b")
	assert.EqualError(t, err, `a.b must be an object, got the text "x"`)
	s, err := textAt(obj, "a", "nil", "c")
	assert.NoError(t, err)
	assert.Empty(t, s)
	var seen int
	err = eachAt(obj, func(item map[string]any) error {
		seen++
		item["written"] = true
		_, err := int32AtField(item)
		return err
	}, "a", "deep")
	assert.EqualError(t, err, `a.deep must hold objects, got the text "x" at 2`)
	assert.Equal(t, 2, seen)
	err = eachAt(obj, func(item map[string]any) error { _, err := textAt(item, "c"); return err }, "a", "deep")
	assert.EqualError(t, err, "a.deep[0].c must be text, got 1")
	err = eachAt(obj, func(map[string]any) error { return assert.AnError }, "a", "deep")
	assert.ErrorIs(t, err, assert.AnError)
	assert.ErrorContains(t, err, "a.deep[0]: ")
}

func int32AtField(item map[string]any) (int32, error) {
	n, _, err := int32At(item, "c")
	return n, err
}

func TestSetMakesTheWay(t *testing.T) {
	t.Parallel()
	obj := map[string]any{"null": nil, "typed": map[string]any(nil), "text": "x"}
	require.NoError(t, set(obj, int64(1), "null", "a", "b"))
	require.NoError(t, set(obj, int64(1), "typed", "a"))
	assert.EqualError(t, set(obj, int64(1), "text", "a"), `text must be an object, got the text "x"`)
	assert.Equal(t, map[string]any{
		"null": map[string]any{"a": map[string]any{"b": int64(1)}}, "typed": map[string]any{"a": int64(1)}, "text": "x",
	}, obj)
	remove(obj, "text", "a")
	remove(obj, "missing", "a")
	remove(obj, "null", "a", "b")
	assert.Equal(t, map[string]any{"a": map[string]any{}}, obj["null"])
}

func TestCloneSharesNothingAndTakesAnything(t *testing.T) {
	t.Parallel()
	type odd struct{ n int }
	was := map[string]any{"m": map[string]any{"l": []any{int64(1), odd{2}, nil}}, "nil": []any(nil), "nilMap": map[string]any(nil)}
	got := interpreter.CloneValue(was).(map[string]any)
	assert.Equal(t, was, got)
	got["m"].(map[string]any)["l"].([]any)[0] = "changed"
	assert.Equal(t, int64(1), was["m"].(map[string]any)["l"].([]any)[0])
}

func TestReadingAllocatesNothing(t *testing.T) {
	obj := map[string]any{
		"spec":   map[string]any{"n": int64(1 << 40), "s": "x", "b": true, "l": []any{}},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}},
	}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		_, _, _ = int64At(obj, "spec", "n")
		_, _ = textAt(obj, "spec", "s")
		_, _ = boolAt(obj, "spec", "b")
		_, _ = mapAt(obj, "spec")
		_, _ = listAt(obj, "spec", "l")
		_, _ = observed(obj)
		if c, _ := conditionAt(obj, "Ready"); !c.isTrue() {
			t.Error("not ready")
		}
	}))
}

func TestWorkloadsAddUp(t *testing.T) {
	t.Parallel()
	c := counters{always: []string{"replicas"}, optional: []string{"readyReplicas"}}
	k := kind{gvk: widget.gvk, rules: rules{
		interpreter.AggregateStatus: interpreter.AggregateFunc(c.aggregate),
		interpreter.InterpretStatus: interpreter.StatusFunc(c.reflect),
	}}
	in := interpreter.NewChain(newLayer("test", []kind{k}, func(k kind) rules { return k.rules }))
	const before = "{metadata: {generation: 3}, status: {observedGeneration: 2, readyReplicas: 9, conditions: [kept]}}"
	const synced = "{generation: 1, observedGeneration: 1, resourceTemplateGeneration: 3, replicas: 2.0, readyReplicas: 1}"
	for _, e := range []example{
		{name: "all in sync", op: interpreter.AggregateStatus, object: before, members: []string{synced, synced},
			want: "{observedGeneration: 3, replicas: 4, readyReplicas: 2, conditions: [kept]}"},
		{name: "one behind the template", op: interpreter.AggregateStatus, object: before,
			members: []string{synced, "{generation: 1, observedGeneration: 1, resourceTemplateGeneration: 2}"},
			want:    "{observedGeneration: 2, replicas: 2, readyReplicas: 1, conditions: [kept]}"},
		{name: "one ahead of the template", op: interpreter.AggregateStatus, object: before, members: []string{"{resourceTemplateGeneration: 4}"},
			want: "{observedGeneration: 3, replicas: 0, conditions: [kept]}"},
		{name: "one behind itself", op: interpreter.AggregateStatus, object: before,
			members: []string{"{generation: 2, observedGeneration: 1, resourceTemplateGeneration: 3}"},
			want:    "{observedGeneration: 2, replicas: 0, conditions: [kept]}"},
		{name: "one not reported", op: interpreter.AggregateStatus, object: before, members: []string{synced, ""},
			want: "{observedGeneration: 2, replicas: 2, readyReplicas: 1, conditions: [kept]}"},
		{name: "nobody", op: interpreter.AggregateStatus, object: before, want: "{observedGeneration: 3, replicas: 0, conditions: [kept]}"},
		{name: "a status of a wrong type", op: interpreter.AggregateStatus, object: "status: x", wantErr: "status must be an object"},
		{name: "a generation of a wrong type", op: interpreter.AggregateStatus, object: "metadata: {generation: x}", wantErr: "metadata.generation must be a whole number"},
		{name: "a member's generation of a wrong type", op: interpreter.AggregateStatus, members: []string{"generation: x"}, wantErr: `cluster "m0": status.generation must be`},
		{name: "a member's observedGeneration of a wrong type", op: interpreter.AggregateStatus, members: []string{"observedGeneration: 1.5"}, wantErr: "status.observedGeneration must be"},
		{name: "a template generation of a wrong type", op: interpreter.AggregateStatus, members: []string{"resourceTemplateGeneration: []"}, wantErr: "status.resourceTemplateGeneration must be"},
		{name: "a counter out of range", op: interpreter.AggregateStatus, members: []string{"replicas: 4294967297"}, wantErr: "status.replicas must fit in 32 bits, got 4294967297"},

		{name: "counters and generations", op: interpreter.InterpretStatus,
			object: "{metadata: {generation: 3, annotations: {resourcetemplate.karmada.io/generation: '-5'}}, status: {observedGeneration: 2, readyReplicas: 0, replicas: 1, other: 1}}",
			want:   "{generation: 3, observedGeneration: 2, resourceTemplateGeneration: -5, replicas: 1}"},
		{name: "an empty annotation", op: interpreter.InterpretStatus, object: "{metadata: {annotations: {resourcetemplate.karmada.io/generation: ''}}, status: {}}", want: "replicas: 0"},
		{name: "no status", op: interpreter.InterpretStatus, object: "{metadata: {generation: 3}, status: null}", want: "null"},
		{name: "a malformed annotation", op: interpreter.InterpretStatus, object: "{metadata: {annotations: {resourcetemplate.karmada.io/generation: five}}, status: {}}",
			wantErr: `metadata.annotations.resourcetemplate.karmada.io/generation must be a whole number, got the text "five"`},
		{name: "an annotation of a wrong type", op: interpreter.InterpretStatus, object: "{metadata: {annotations: {resourcetemplate.karmada.io/generation: 5}}, status: {}}", wantErr: "must be text, got 5"},
		{name: "a counter of a wrong type", op: interpreter.InterpretStatus, object: "status: {replicas: '2'}", wantErr: "status.replicas must be a whole number"},
		{name: "a generation of a wrong type", op: interpreter.InterpretStatus, object: "{metadata: {generation: x}, status: {}}", wantErr: "metadata.generation must be"},
		{name: "an observedGeneration of a wrong type", op: interpreter.InterpretStatus, object: "status: {observedGeneration: x}", wantErr: "status.observedGeneration must be"},
	} {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			checkExample(t, in, k, e)
		})
	}

	// Nothing at all is nothing to report, where no counter is always written.
	sparse := counters{optional: []string{"replicas"}}
	status, err := sparse.reflect(complete(t, widget, "status: {replicas: 0}"))
	assert.NoError(t, err)
	assert.Nil(t, status)
	obj := complete(t, widget, "")
	require.NoError(t, sparse.aggregate(obj, []interpreter.AggregatedStatusItem{item("m1", "")}))
	assert.NotContains(t, obj.Object, "status")
}
