package crd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
	"github.com/kubeinterpret/interpret/interpreter/interpretertest"
)

// FuzzSchema asks everything about objects of any shape whose CRDs say anything. Whatever comes, there is an answer
// or an error, the request stays as it is, and the answer shares nothing with it.
func FuzzSchema(f *testing.F) {
	files, err := filepath.Glob("testdata/*/crd.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		list, err := definition.Parse(file, text)
		if err != nil {
			f.Fatal(err)
		}
		for _, d := range list {
			crd, err := d.CRD()
			if err != nil {
				f.Fatal(err)
			}
			schema, err := json.Marshal(crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(schema, ".spec.replicas", []byte(`{"spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}},"status":{"replicas":1}}`))
		}
	}
	f.Add([]byte(`{"type":"object","properties":{"[]":{"type":"object"},"spec":{"type":"array","items":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}`),
		".", []byte(`{"spec":[{"template":{}}],"status":{"conditions":[{"type":"Ready","status":"True"}]}}`))
	f.Fuzz(func(t *testing.T, schema []byte, path string, content []byte) {
		var declared any
		obj := map[string]any{}
		if yaml.Unmarshal(schema, &declared) != nil || yaml.Unmarshal(content, &obj) != nil {
			return
		}
		text, err := json.Marshal(map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.demo.io"},
			"spec": map[string]any{
				"group": "demo.io", "scope": "Namespaced", "names": map[string]any{"kind": "Widget", "plural": "widgets"},
				"versions": []any{map[string]any{
					"name": "v1", "served": true, "storage": true,
					"subresources": map[string]any{"status": map[string]any{}, "scale": map[string]any{
						"specReplicasPath": path, "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector",
					}},
					"schema": map[string]any{"openAPIV3Schema": declared},
				}},
			},
		})
		if err != nil {
			return
		}
		list, err := definition.Parse("", text)
		if err != nil {
			return
		}
		set, err := definition.NewSet(list...)
		if err != nil {
			t.Fatal(err)
		}
		obj["apiVersion"], obj["kind"] = "demo.io/v1", "Widget"
		status, _ := json.Marshal(obj["status"])
		n := int64(3)
		c := interpretertest.Case{
			Object: &unstructured.Unstructured{Object: obj}, Observed: &unstructured.Unstructured{Object: obj}, Replicas: &n,
			Statuses: []interpreter.AggregatedStatusItem{
				{ClusterName: "a", Status: &runtime.RawExtension{Raw: status}}, {ClusterName: "b", Status: &runtime.RawExtension{Raw: status}}, {ClusterName: "c"},
			},
		}
		layer := New(set)
		layer.Entries()
		chain := interpreter.NewChain(layer, KStatus(set))
		for _, c.Operation = range interpreter.Operations() {
			if o := c.Run(t.Context(), chain); o.Misbehaved {
				t.Errorf("%s: %s", c.Operation, o)
			}
		}
	})
}
