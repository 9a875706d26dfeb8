package builtin

import (
	"strings"

	"github.com/kubeinterpret/interpret/interpreter"
)

var podDisruptionBudgetExamples = []example{
	{name: "sums, and pods by cluster", op: interpreter.AggregateStatus,
		object: "status: {observedGeneration: 4, conditions: []}",
		members: []string{
			"{currentHealthy: 2, desiredHealthy: 1, expectedPods: 2, disruptionsAllowed: 1, disruptedPods: {p: '2024-05-01T10:00:00Z'}}",
			"",
			"{currentHealthy: 3, disruptedPods: {p: '2024-05-01T11:00:00Z', q: null}}",
		},
		want: "{currentHealthy: 5, desiredHealthy: 1, expectedPods: 2, disruptionsAllowed: 1, " +
			"disruptedPods: {m0/p: '2024-05-01T10:00:00Z', m2/p: '2024-05-01T11:00:00Z', m2/q: null}}"},
	{name: "nobody", op: interpreter.AggregateStatus, want: "{currentHealthy: 0, desiredHealthy: 0, expectedPods: 0, disruptionsAllowed: 0}"},
	{name: "a counter of a wrong type", op: interpreter.AggregateStatus, members: []string{"expectedPods: 2.5"}, wantErr: "status.expectedPods must be a whole number, got 2.5"},
	{name: "pods of a wrong type", op: interpreter.AggregateStatus, members: []string{"disruptedPods: []"}, wantErr: "status.disruptedPods must be an object, got a list"},

	{name: "the counters", op: interpreter.InterpretStatus,
		object: "status: {currentHealthy: 3.0, conditions: [], disruptedPods: {p: '2024-05-01T10:00:00Z'}}",
		want:   "{currentHealthy: 3, desiredHealthy: 0, expectedPods: 0, disruptionsAllowed: 0, disruptedPods: {p: '2024-05-01T10:00:00Z'}}"},
	{name: "no status", op: interpreter.InterpretStatus, want: "null"},
	{name: "a counter of a wrong type", op: interpreter.InterpretStatus, object: "status: {currentHealthy: x}", wantErr: "status.currentHealthy must be a whole number"},
	{name: "pods of a wrong type", op: interpreter.InterpretStatus, object: "status: {disruptedPods: 1}", wantErr: "status.disruptedPods must be an object"},

	{name: "enough", op: interpreter.InterpretHealth, object: "status: {currentHealthy: 1, desiredHealthy: 1}", want: "Healthy EnoughPods"},
	{name: "too few", op: interpreter.InterpretHealth, object: "status: {desiredHealthy: 1}", want: "Degraded TooFewPods"},
	{name: "no status", op: interpreter.InterpretHealth, want: "Progressing NotObserved"},
	{name: "a status of a wrong type", op: interpreter.InterpretHealth, object: "status: x", wantErr: "status must be an object"},
	{name: "a counter of a wrong type", op: interpreter.InterpretHealth, object: "status: {currentHealthy: x}", wantErr: "status.currentHealthy must be a whole number"},
	{name: "a bound of a wrong type", op: interpreter.InterpretHealth, object: "status: {desiredHealthy: x}", wantErr: "status.desiredHealthy must be a whole number"},

	{name: "enough, as far as known", op: interpreter.InterpretHealth,
		object: "status: {currentHealthy: 1, desiredHealthy: 1, conditions: [{type: DisruptionAllowed, status: 'False', reason: SyncFailed, message: no scale}]}", want: "Healthy SyncFailed"},
	{name: "too few, as far as known", op: interpreter.InterpretHealth,
		object: "status: {desiredHealthy: 1, conditions: [{type: DisruptionAllowed, status: 'False', reason: SyncFailed, message: no scale}]}", want: "Degraded SyncFailed"},
	{name: "none may be evicted", op: interpreter.InterpretHealth,
		object: "status: {currentHealthy: 1, desiredHealthy: 1, conditions: [{type: DisruptionAllowed, status: 'False', reason: InsufficientPods, message: ''}]}", want: "Healthy EnoughPods"},
	{name: "conditions of a wrong type", op: interpreter.InterpretHealth, object: "status: {conditions: {}}", wantErr: "status.conditions must be a list"},

	{name: "none", op: interpreter.InterpretDependency, object: "spec: {selector: {matchLabels: {a: b}}}", want: ""},
}

var networkPolicyExamples = []example{
	{name: "none", op: interpreter.InterpretDependency, object: "spec: {podSelector: {matchLabels: {a: b}}}", want: ""},
}

var horizontalPodAutoscalerExamples = []example{
	{name: "sums only", op: interpreter.AggregateStatus,
		object:  "status: {currentReplicas: 9, observedGeneration: 2, conditions: []}",
		members: []string{"{currentReplicas: 1, desiredReplicas: 2, currentMetrics: []}", "", "{desiredReplicas: 3}"},
		want:    "{currentReplicas: 1, desiredReplicas: 5}"},
	{name: "nobody", op: interpreter.AggregateStatus, object: "status: {currentReplicas: 9}", want: "desiredReplicas: 0"},
	{name: "a counter of a wrong type", op: interpreter.AggregateStatus, members: []string{"currentReplicas: x"}, wantErr: "status.currentReplicas must be a whole number"},
	{name: "a sum out of range", op: interpreter.AggregateStatus, members: []string{"desiredReplicas: 2000000000", "desiredReplicas: 2000000000"},
		wantErr: "status.desiredReplicas must fit in 32 bits, the sum is 4000000000"},

	{name: "the counters", op: interpreter.InterpretStatus, object: "status: {currentReplicas: 2, conditions: []}", want: "{currentReplicas: 2, desiredReplicas: 0}"},
	{name: "no status", op: interpreter.InterpretStatus, want: "null"},
	{name: "a counter of a wrong type", op: interpreter.InterpretStatus, object: "status: {currentReplicas: []}", wantErr: "status.currentReplicas must be a whole number"},

	{name: "scaling", op: interpreter.InterpretHealth, object: "status: {conditions: [{type: AbleToScale, status: 'True'}, {type: ScalingActive, status: 'True'}]}", want: "Healthy ScalingActive"},
	{name: "not able", op: interpreter.InterpretHealth, object: "status: {conditions: [{type: AbleToScale, status: 'False', reason: FailedGetScale, message: m}]}", want: "Degraded FailedGetScale"},
	{name: "no metrics", op: interpreter.InterpretHealth, object: "status: {conditions: [{type: ScalingActive, status: 'False', reason: FailedGetResourceMetric, message: m}]}", want: "Degraded FailedGetResourceMetric"},
	{name: "scaled to zero by hand", op: interpreter.InterpretHealth, object: "status: {conditions: [{type: ScalingActive, status: 'False', reason: ScalingDisabled, message: m}]}", want: "Suspended ScalingDisabled"},
	{name: "undecided", op: interpreter.InterpretHealth, object: "status: {conditions: [{type: AbleToScale, status: 'True'}]}", want: "Progressing NotScaling"},
	{name: "no status", op: interpreter.InterpretHealth, object: "metadata: {generation: 1}", want: "Progressing NotScaling"},
	{name: "of an older generation", op: interpreter.InterpretHealth, object: "{metadata: {generation: 2}, status: {observedGeneration: 1, conditions: [{type: AbleToScale, status: 'False'}]}}", want: "Progressing NotObserved"},
	{name: "a generation of a wrong type", op: interpreter.InterpretHealth, object: "status: {observedGeneration: x}", wantErr: "status.observedGeneration must be a whole number"},
	{name: "conditions of a wrong type", op: interpreter.InterpretHealth, object: "status: {conditions: {}}", wantErr: "status.conditions must be a list"},
	{name: "a condition of a wrong type", op: interpreter.InterpretHealth, object: "status: {conditions: [{type: ScalingActive, status: true}]}", wantErr: "status.conditions[0].status must be text, got true"},
	{name: "a reason of a wrong type", op: interpreter.InterpretHealth, object: "status: {conditions: [{type: ScalingActive, reason: 1}]}", wantErr: "status.conditions[0].reason must be text"},

	{name: "the target", op: interpreter.InterpretDependency, object: "spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}", want: "apps/v1 Deployment ns1/web"},
	{name: "a target in the core group", op: interpreter.InterpretDependency, object: "spec: {scaleTargetRef: {kind: ReplicationController, name: web}}", want: "v1 ReplicationController ns1/web"},
	{name: "no target", op: interpreter.InterpretDependency, want: ""},
	{name: "an unnamed target", op: interpreter.InterpretDependency, object: "spec: {scaleTargetRef: {kind: Deployment}}", wantErr: "name or labelSelector is required"},
	{name: "a version of a wrong type", op: interpreter.InterpretDependency, object: "spec: {scaleTargetRef: {apiVersion: 1}}", wantErr: "spec.scaleTargetRef.apiVersion must be text"},
	{name: "a kind of a wrong type", op: interpreter.InterpretDependency, object: "spec: {scaleTargetRef: {kind: 1}}", wantErr: "spec.scaleTargetRef.kind must be text"},
	{name: "a name of a wrong type", op: interpreter.InterpretDependency, object: "spec: {scaleTargetRef: {name: 1}}", wantErr: "spec.scaleTargetRef.name must be text"},
}

var serviceImportExamples = []example{
	{name: "service and slices", op: interpreter.InterpretDependency, object: "metadata: {name: db}", want: `
discovery.k8s.io/v1 EndpointSlice ns1/map[kubernetes.io/service-name:derived-db]
v1 Service ns1/derived-db`},
	{name: "a long name is cut", op: interpreter.InterpretDependency, object: "metadata: {name: " + strings.Repeat("a", 54) + "-" + strings.Repeat("b", 9) + "}", want: `
discovery.k8s.io/v1 EndpointSlice ns1/map[kubernetes.io/service-name:derived-` + strings.Repeat("a", 54) + `]
v1 Service ns1/derived-` + strings.Repeat("a", 54)},
}
