package crd

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
)

// benchmarked is an object of testdata/app, as a member cluster reports it.
const benchmarked = `
apiVersion: demo.io/v1
kind: App
metadata: {name: x, namespace: shop, generation: 3, annotations: {resourcetemplate.karmada.io/generation: "3"}}
spec:
  replicas: 3
  template:
    metadata: {labels: {app: x}}
    spec:
      serviceAccountName: web
      nodeSelector: {disk: ssd}
      containers:
      - {name: app, image: i, resources: {requests: {cpu: 250m, memory: 64Mi}}, envFrom: [{configMapRef: {name: app}}]}
      - {name: proxy, image: i, resources: {requests: {cpu: 100m, memory: 32Mi}}}
status: {phase: Running, observedGeneration: 3, replicas: 3, readyReplicas: 3, selector: app=x,
  conditions: [{type: Ready, status: "True", reason: AllUp, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}
`

func benchChain(b *testing.B) *interpreter.Chain {
	text, err := os.ReadFile("testdata/app/crd.yaml")
	require.NoError(b, err)
	set, err := definition.NewSet(parsed(b, string(text)))
	require.NoError(b, err)
	return interpreter.NewChain(New(set), KStatus(set))
}

func BenchmarkAnswers(b *testing.B) {
	chain := benchChain(b)
	obj := &unstructured.Unstructured{}
	require.NoError(b, yaml.Unmarshal([]byte(benchmarked), &obj.Object))
	obj.Object = interpreter.CloneValue(wholeNumbers(obj.Object)).(map[string]any)
	var items []interpreter.AggregatedStatusItem
	for i := range 100 {
		items = append(items, interpreter.AggregatedStatusItem{ClusterName: fmt.Sprintf("member-%03d", i), Status: &runtime.RawExtension{Raw: []byte(
			`{"generation":5,"observedGeneration":5,"resourceTemplateGeneration":3,"phase":"Running","replicas":3,"readyReplicas":3,"selector":"app=x",` +
				`"conditions":[{"type":"Ready","status":"True","reason":"AllUp","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}`)}})
	}
	n := int32(7)
	ask := func(b *testing.B, req *interpreter.Request) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := chain.Interpret(b.Context(), req); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, op := range append(answered, interpreter.InterpretHealth) {
		b.Run(string(op), func(b *testing.B) {
			ask(b, &interpreter.Request{Operation: op, Object: obj, Observed: obj, Replicas: &n, Statuses: items[:1]})
		})
	}
	b.Run("AggregateStatus/100members", func(b *testing.B) {
		ask(b, &interpreter.Request{Operation: interpreter.AggregateStatus, Object: obj, Statuses: items})
	})
}

// wholeNumbers turns the floats that YAML has made of whole numbers into these.
func wholeNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = wholeNumbers(v[key])
		}
	case []any:
		for i := range v {
			v[i] = wholeNumbers(v[i])
		}
	case float64:
		return int64(v)
	}
	return v
}

func BenchmarkRules(b *testing.B) {
	set, err := definition.NewSet(parsed(b, fmt.Sprintf(widget, 1)))
	require.NoError(b, err)
	layer := New(set)
	for name, kind := range map[string]schema.GroupVersionKind{
		"known": widgetKind, "unknown": {Group: "demo.io", Version: "v1", Kind: "Gadget"}, "own": {Group: "apps", Version: "v1", Kind: "Deployment"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				layer.Rules(kind, interpreter.InterpretDependency)
			}
		})
	}
}
