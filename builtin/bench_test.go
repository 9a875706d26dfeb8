package builtin

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

// benchmarked is a Deployment of two containers, as a member cluster reports it.
const benchmarked = `
metadata: {generation: 3, labels: {app: web}, annotations: {resourcetemplate.karmada.io/generation: "3"}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      serviceAccountName: web
      nodeSelector: {disk: ssd}
      tolerations: [{key: dedicated, operator: Equal, value: web, effect: NoSchedule}]
      containers:
      - name: app
        image: registry.example/app:1
        env: [{name: A, value: a}, {name: B, valueFrom: {secretKeyRef: {name: app, key: b}}}]
        envFrom: [{configMapRef: {name: app}}]
        ports: [{containerPort: 8080}]
        resources: {requests: {cpu: 250m, memory: 64Mi}, limits: {cpu: "1", memory: 128Mi}}
      - name: proxy
        image: registry.example/proxy:1
        resources: {requests: {cpu: 100m, memory: 32Mi}}
      volumes: [{name: settings, configMap: {name: settings}}, {name: data, persistentVolumeClaim: {claimName: data}}]
status: {observedGeneration: 3, replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3,
  conditions: [{type: Available, status: "True"}, {type: Progressing, status: "True", reason: NewReplicaSetAvailable}]}
`

// sizes are the Deployment as it is and with a thousand environment variables.
func sizes(t testing.TB) map[string]*unstructured.Unstructured {
	t.Helper()
	small, large := complete(t, deployment, benchmarked), complete(t, deployment, benchmarked)
	containers, err := listAt(large.Object, "spec", "template", "spec", "containers")
	require.NoError(t, err)
	app := containers[0].(map[string]any)
	for i := range 1000 {
		app["env"] = append(app["env"].([]any), map[string]any{"name": fmt.Sprint("V", i), "value": "x"})
	}
	return map[string]*unstructured.Unstructured{"small": small, "large": large}
}

func hundredMembers() (items []interpreter.AggregatedStatusItem) {
	for i := range 100 {
		items = append(items, item(fmt.Sprintf("member-%03d", i), `{"generation":5,"observedGeneration":5,"resourceTemplateGeneration":3,`+
			`"replicas":3,"updatedReplicas":3,"readyReplicas":3,"availableReplicas":3}`))
	}
	return items
}

// question is what the benchmarks ask about obj.
func question(t testing.TB, op interpreter.Operation, obj *unstructured.Unstructured) *interpreter.Request {
	t.Helper()
	replicas := int32(7)
	return &interpreter.Request{Operation: op, Object: obj, Observed: obj, Replicas: &replicas, Statuses: hundredMembers()[:1]}
}

func BenchmarkBuiltin(b *testing.B) {
	chain := interpreter.NewChain(Extra(), Layer(), Fallback())
	ask := func(b *testing.B, req *interpreter.Request) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := chain.Interpret(b.Context(), req); err != nil {
				b.Fatal(err)
			}
		}
	}
	objects := sizes(b)
	for _, op := range interpreter.Operations() {
		for _, size := range []string{"small", "large"} {
			b.Run(fmt.Sprintf("%s/%s", op, size), func(b *testing.B) { ask(b, question(b, op, objects[size])) })
		}
		if op == interpreter.AggregateStatus {
			b.Run(fmt.Sprintf("%s/100members", op), func(b *testing.B) {
				req := question(b, op, objects["small"])
				req.Statuses = hundredMembers()
				ask(b, req)
			})
		}
	}
}

// BenchmarkDeepCopy is what an operation that changes the object costs at least.
func BenchmarkDeepCopy(b *testing.B) {
	objects := sizes(b)
	for _, size := range []string{"small", "large"} {
		b.Run(size, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				objects[size].DeepCopy()
			}
		})
	}
}

// What an answer may cost, so that nobody makes it dear without noticing. What a rule reads does not grow with
// what it does not.
func TestAnswersAreCheap(t *testing.T) {
	chain := interpreter.NewChain(Extra(), Layer(), Fallback())
	objects := sizes(t)
	// The race detector empties pools at random, so the least of several runs is what an answer costs.
	cost := func(req *interpreter.Request) float64 {
		least := math.Inf(1)
		for range 20 {
			least = min(least, testing.AllocsPerRun(1, func() {
				_, err := chain.Interpret(t.Context(), req)
				require.NoError(t, err)
			}))
		}
		return least
	}
	for op, most := range map[interpreter.Operation]float64{
		interpreter.InterpretReplica:    60,
		interpreter.InterpretComponent:  61,
		interpreter.InterpretDependency: 50,
		interpreter.InterpretHealth:     10,
		interpreter.InterpretStatus:     20,
	} {
		small, large := cost(question(t, op, objects["small"])), cost(question(t, op, objects["large"]))
		assert.LessOrEqual(t, small, most, op)
		assert.InDelta(t, small, large, 1, op)
	}
	many := question(t, interpreter.AggregateStatus, objects["small"])
	many.Statuses = hundredMembers()
	assert.LessOrEqual(t, cost(many), 700.0)
	for size, obj := range objects {
		copied := testing.AllocsPerRun(10, func() { obj.DeepCopy() })
		assert.LessOrEqual(t, cost(question(t, interpreter.ReviseReplica, obj)), copied+6, size)
	}
}
