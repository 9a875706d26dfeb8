package crd

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
)

// maker makes schemas of statuses, and statuses that fit them.
type maker struct{ *rand.Rand }

// fieldNames are names with a meaning, and without.
var fieldNames = []string{
	"replicas", "readyReplicas", "port", "phase", "ready", "failed", "startTime", "completionTime", "version", "observedGeneration",
	"conditions", "members", "details", "labels", "mood", "generation", "percent", "state", "hosts",
}

// schema makes a schema of an object. Depth is how many objects may still be inside.
func (m maker) schema(depth int) map[string]any {
	properties := map[string]any{}
	var required []any
	for range 1 + m.IntN(6) {
		name := fieldNames[m.IntN(len(fieldNames))]
		property := m.property(name, depth)
		properties[name] = property
	}
	for name := range properties {
		if m.IntN(3) == 0 {
			required = append(required, name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func (m maker) property(name string, depth int) map[string]any {
	switch name {
	case "observedGeneration", "generation":
		return map[string]any{"type": "integer", "format": "int64"}
	case "startTime", "completionTime":
		return map[string]any{"type": "string", "format": "date-time"}
	case "conditions":
		return map[string]any{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"type"},
			"items": map[string]any{"type": "object", "required": []any{"type", "status", "lastTransitionTime", "reason", "message"}, "properties": map[string]any{
				"type":               map[string]any{"type": "string"},
				"status":             map[string]any{"type": "string", "enum": []any{"True", "False", "Unknown"}[:2+m.IntN(2)]},
				"reason":             map[string]any{"type": "string", "minLength": int64(1), "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"},
				"message":            map[string]any{"type": "string", "maxLength": int64(8 + m.IntN(60))},
				"lastTransitionTime": map[string]any{"type": "string", "format": "date-time"},
				"observedGeneration": map[string]any{"type": "integer", "minimum": int64(0)},
			}}}
	}
	kinds := 10
	if depth == 0 {
		kinds = 6
	}
	switch m.IntN(kinds) {
	case 0:
		return map[string]any{"type": "integer", "format": "int32", "minimum": int64(0)}
	case 1:
		return map[string]any{"type": "integer", "minimum": int64(1)}
	case 2:
		return map[string]any{"type": "boolean"}
	case 3:
		return map[string]any{"type": "string", "enum": []any{"Pending", "Running", "Failed", "Blue"}}
	case 4:
		return map[string]any{"x-kubernetes-int-or-string": true}
	case 5:
		return map[string]any{"type": "number"}
	case 6:
		return m.schema(depth - 1)
	case 7:
		return map[string]any{"type": "object", "additionalProperties": m.schema(depth - 1)}
	case 8:
		items := m.schema(depth - 1)
		items["properties"].(map[string]any)["id"] = map[string]any{"type": []string{"integer", "string"}[m.IntN(2)]}
		required, _ := items["required"].([]any)
		items["required"] = append(required, "id")
		return map[string]any{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"id"}, "items": items}
	}
	list := map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "maxItems": int64(1 + m.IntN(4))}
	if m.IntN(2) == 0 {
		list["x-kubernetes-list-type"] = "set"
	}
	return list
}

// value makes a value that fits a schema.
func (m maker) value(s map[string]any) any {
	if choices, ok := s["enum"].([]any); ok {
		return choices[m.IntN(len(choices))]
	}
	switch s["type"] {
	case nil:
		return []any{int64(m.IntN(3)), "1Gi"}[m.IntN(2)]
	case "integer":
		return int64(1 + m.IntN(4))
	case "boolean":
		return m.IntN(2) == 0
	case "number":
		return float64(m.IntN(4)) / 2
	case "string":
		if s["format"] == "date-time" {
			return fmt.Sprintf("2026-01-%02dT00:00:00Z", 1+m.IntN(28))
		}
		return []any{"Ready", "Failed", "x", "Stalled"}[m.IntN(4)]
	case "array":
		list, seen := []any{}, map[any]bool{}
		for range m.IntN(1 + int(orElse(s["maxItems"], 3))) {
			v := m.value(s["items"].(map[string]any))
			id := any(fmt.Sprint(v))
			if keys, ok := s["x-kubernetes-list-map-keys"].([]any); ok {
				id = v.(map[string]any)[keys[0].(string)]
			}
			if !seen[id] {
				list = append(list, v)
			}
			seen[id] = true
		}
		return list
	}
	object := map[string]any{}
	if more, ok := s["additionalProperties"].(map[string]any); ok {
		for range m.IntN(3) {
			object[fmt.Sprint("key", m.IntN(3))] = m.value(more)
		}
		return object
	}
	required, _ := s["required"].([]any)
	for name, property := range s["properties"].(map[string]any) {
		must := false
		for _, r := range required {
			must = must || r == name
		}
		if must || m.IntN(3) > 0 {
			object[name] = m.value(property.(map[string]any))
		}
	}
	return object
}

func orElse(v any, n int64) int64 {
	if v, ok := v.(int64); ok {
		return v
	}
	return n
}

// What is folded from statuses that an API server has stored is a status that it stores.
func TestAnAPIServerAcceptsWhatIsFolded(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		m := maker{rand.New(rand.NewPCG(seed, 1))}
		status := m.schema(2)
		text, err := json.Marshal(map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.demo.io"},
			"spec": map[string]any{
				"group": "demo.io", "scope": "Namespaced", "names": map[string]any{"kind": "Widget", "plural": "widgets"},
				"versions": []any{map[string]any{
					"name": "v1", "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
					"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"status": status}}},
				}},
			},
		})
		require.NoError(t, err)
		d := parsed(t, string(text))
		set, err := definition.NewSet(d)
		require.NoError(t, err)
		chain := interpreter.NewChain(New(set))
		obj := object("demo.io/v1", "Widget")
		obj.Object["metadata"].(map[string]any)["generation"] = int64(3)
		var items []interpreter.AggregatedStatusItem
		for i := range 1 + m.IntN(4) {
			reported := m.value(status)
			member := interpreter.Clone(obj)
			member.Object["status"] = reported
			errs, err := d.Version("v1").Validate(t.Context(), member, nil)
			require.NoError(t, err)
			require.Empty(t, errs, "seed %d: the test is wrong", seed)
			raw, err := json.Marshal(reported)
			require.NoError(t, err)
			items = append(items, interpreter.AggregatedStatusItem{ClusterName: fmt.Sprint("m", i), Status: &runtime.RawExtension{Raw: raw}})
		}
		if m.IntN(4) == 0 {
			items = append(items, interpreter.AggregatedStatusItem{ClusterName: "silent"})
		}
		// The first time, and then again on what was written, with fewer members.
		for len(items) > 0 {
			folded, err := interpreter.Aggregated(t.Context(), chain, obj, items)
			require.NoError(t, err, "seed %d", seed)
			if folded.Object["status"] != nil {
				errs, err := d.Version("v1").Validate(t.Context(), folded, nil)
				require.NoError(t, err)
				require.Empty(t, errs, "seed %d: %v\nof %v", seed, folded.Object["status"], items)
			}
			obj, items = folded, items[1:]
		}
	}
}
