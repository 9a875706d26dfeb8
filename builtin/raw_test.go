package builtin

import (
	"encoding/json"
	"fmt"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeinterpret/interpret/interpreter"
)

func item(cluster, status string) interpreter.AggregatedStatusItem {
	it := interpreter.AggregatedStatusItem{ClusterName: cluster}
	if status != "" {
		it.Status = &runtime.RawExtension{Raw: []byte(status)}
	}
	return it
}

func TestRawReadsInPlace(t *testing.T) {
	t.Parallel()
	it := item("m1", ` { "n" : 3.0 , "s":"a\"b", "nested": {"l": [ {"x":1}, null , {"x":2} ]}, "\u006ed": 7, "n2":1, "n2":2, "e": {}, "el": [ ], "big": 1e3, "nil": null } `)
	r, err := reported(&it)
	require.NoError(t, err)

	for path, want := range map[string]int64{"n": 3, "nd": 7, "n2": 2, "big": 1000, "nil": 0, "missing": 0} {
		n, err := r.int64(path)
		require.NoError(t, err)
		assert.Equal(t, want, n, path)
	}
	s, err := r.text("s")
	require.NoError(t, err)
	assert.Equal(t, `a"b`, s)

	var xs []int64
	require.NoError(t, r.each(func(item raw) error {
		n, err := item.int64("x")
		xs = append(xs, n)
		return err
	}, "nested", "l"))
	assert.Equal(t, []int64{1, 0, 2}, xs)
	require.NoError(t, r.each(func(raw) error { return assert.AnError }, "el"))

	for _, tc := range []struct{ status, wantErr string }{
		{`{"n":1e400}`, "cannot unmarshal number 1e400"},
		{`{"n":[null,"x"]}`, `n must hold objects, got the text "x" at 1`},
		{`{"n":-}`, "not JSON"},
	} {
		it := item("m1", tc.status)
		_, err := eachReported([]interpreter.AggregatedStatusItem{it}, func(_ string, status raw) error {
			if err := status.entries(func(_ string, value raw) error {
				if value[0] == '[' {
					return nil
				}
				_, err := value.value()
				return err
			}); err != nil {
				return err
			}
			return status.each(func(raw) error { return nil }, "n")
		})
		assert.ErrorContains(t, err, tc.wantErr)
	}

	_, err = r.int64("nested", "l", "x")
	assert.EqualError(t, err, "nested.l must be an object, got a list")
	_, err = r.int64("s")
	assert.EqualError(t, err, `s must be a whole number, got the text "a\"b"`)
}

func TestReportedTellsGarbageFromSilence(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status, wantErr string
		n               int
	}{
		{"", "", 0},
		{" ", "", 0},
		{"null", "", 0},
		{"{}", "", 1},
		{"[]", `cluster "m1": status: must be an object, got a list`, 0},
		{"{", `cluster "m1": status: not JSON`, 0},
	} {
		n, err := eachReported([]interpreter.AggregatedStatusItem{item("m1", tc.status)}, func(string, raw) error { return nil })
		assert.Equal(t, tc.n, n, tc.status)
		if tc.wantErr == "" {
			assert.NoError(t, err, tc.status)
		} else {
			assert.EqualError(t, err, tc.wantErr, tc.status)
		}
	}
	n, err := eachReported([]interpreter.AggregatedStatusItem{{Status: &runtime.RawExtension{
		Object: &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "X", "replicas": int64(2)}},
	}}}, func(_ string, status raw) error {
		n, err := status.int64("replicas")
		assert.EqualValues(t, 2, n)
		return err
	})
	assert.NoError(t, err)
	assert.Equal(t, 1, n)
}

func TestCountersAllocateLittle(t *testing.T) {
	c := counters{optional: []string{"replicas", "readyReplicas", "updatedReplicas", "availableReplicas", "unavailableReplicas"}}
	var items []interpreter.AggregatedStatusItem
	for i := range 100 {
		items = append(items, item(fmt.Sprint("m", i), `{"generation":3,"observedGeneration":3,"resourceTemplateGeneration":2,"replicas":1000,"readyReplicas":1000,
			"updatedReplicas":1000,"conditions":[{"type":"Available","status":"True"}]}`))
	}
	obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"generation": int64(2)}}}
	allocs := testing.AllocsPerRun(10, func() { require.NoError(t, c.aggregate(obj, items)) })
	// Without the race detector, which adds one for each member, it is a handful.
	assert.Less(t, allocs, 1.5*float64(len(items)))
	status := obj.Object["status"].(map[string]any)
	assert.Equal(t, int64(100000), status["replicas"])
	assert.Equal(t, int64(2), status["observedGeneration"])
}

// FuzzRaw compares every value that raw finds with what encoding/json makes of the same bytes.
func FuzzRaw(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":1,"a":2}`, `{"a":{"b":[1,"x\\",{"c":null}]}}`, "{\"\\ud800\":1}", `{"":""}`, `{"a":[[],{}]}`,
		`{"a":-0.0,"b":1e400}`, "{\"a\":\"\x80\"}", `{"a" : "]}" }`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		it := item("m", data)
		r, err := reported(&it)
		if err != nil || r == nil || !utf8.ValidString(data) {
			return // encoding/json replaces what is not UTF-8, raw leaves it
		}
		var want map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(data), &want))
		for key, value := range want {
			got, err := r.at(key)
			require.NoError(t, err)
			if got == nil {
				require.Equal(t, "null", string(value))
				continue
			}
			require.Equal(t, string(value), string(got))
			_, _ = got.int64()
			_, _ = got.text()
			_ = got.each(func(item raw) error { _, err := item.value(); return err })
			_ = got.entries(func(string, raw) error { return nil })
			_, _ = got.value()
		}
	})
}
