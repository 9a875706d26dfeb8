package builtin

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kubeinterpret/interpret/interpreter"
)

// What all kinds with replicas and a template have in common is shown with the Deployment.
var deploymentExamples = []example{
	{name: "replicas and requirements", op: interpreter.InterpretReplica,
		object: "spec: {replicas: 3, template: {spec: {priorityClassName: high, nodeSelector: {a: b}, containers: [{resources: {requests: {cpu: 1}}}]}}}",
		want:   "{replica: 3, requires: {namespace: ns1, priorityClassName: high, nodeClaim: {nodeSelector: {a: b}}, resourceRequest: {cpu: '1'}}}"},
	{name: "one by default, and nothing required but the namespace", op: interpreter.InterpretReplica, want: "{replica: 1, requires: {namespace: ns1}}"},
	{name: "null replicas are none", op: interpreter.InterpretReplica, object: "spec: {replicas: null, template: null}", want: "{replica: 1, requires: {namespace: ns1}}"},
	{name: "no replicas", op: interpreter.InterpretReplica, object: "spec: {replicas: 0}", want: "{replica: 0, requires: {namespace: ns1}}"},
	{name: "a whole number with a point", op: interpreter.InterpretReplica, object: "spec: {replicas: 3.0}", want: "{replica: 3, requires: {namespace: ns1}}"},
	{name: "negative replicas", op: interpreter.InterpretReplica, object: "spec: {replicas: -1}", wantErr: "spec.replicas must not be negative, got -1"},
	{name: "replicas beyond 32 bits", op: interpreter.InterpretReplica, object: "spec: {replicas: 4294967297}", wantErr: "spec.replicas must fit in 32 bits, got 4294967297"},
	{name: "a fraction of a replica", op: interpreter.InterpretReplica, object: "spec: {replicas: 2.5}", wantErr: "spec.replicas must be a whole number, got 2.5"},
	{name: "a template of a wrong type", op: interpreter.InterpretReplica, object: "spec: {template: x}", wantErr: `spec.template must be an object, got the text "x"`},
	{name: "a quantity that is none", op: interpreter.InterpretReplica, object: "spec: {template: {spec: {containers: [{}, {resources: {requests: {cpu: x}}}]}}}",
		wantErr: `spec.template.spec.containers[1].resources.requests.cpu must be a quantity such as 500m or 64Mi, got the text "x"`},

	{name: "one component", op: interpreter.InterpretComponent,
		object: "spec: {replicas: 3, template: {spec: {priorityClassName: high, containers: [{resources: {limits: {memory: 1Gi}}}]}}}",
		want:   "[{name: main, replicas: 3, replicaRequirements: {priorityClassName: high, resourceRequest: {memory: 1Gi}}}]"},
	{name: "a component that needs nothing", op: interpreter.InterpretComponent, want: "[{name: main, replicas: 1, replicaRequirements: {}}]"},
	{name: "replicas of a wrong type", op: interpreter.InterpretComponent, object: "spec: {replicas: x}", wantErr: "spec.replicas must be a whole number"},

	{name: "another number", op: interpreter.ReviseReplica, replicas: 7, object: "spec: {replicas: 3, paused: true}", want: "spec: {replicas: 7, paused: true}"},
	{name: "none", op: interpreter.ReviseReplica, object: "spec: {replicas: 3}", want: "spec: {replicas: 0}"},
	{name: "the field is made", op: interpreter.ReviseReplica, replicas: 7, want: "spec: {replicas: 7}"},
	{name: "a null field is made", op: interpreter.ReviseReplica, replicas: 7, object: "spec: {replicas: null}", want: "spec: {replicas: 7}"},
	{name: "replicas of a wrong type", op: interpreter.ReviseReplica, object: "spec: {replicas: '3'}", wantErr: `spec.replicas must be a whole number, got the text "3"`},
	{name: "a spec of a wrong type", op: interpreter.ReviseReplica, object: "spec: x", wantErr: `spec must be an object, got the text "x"`},

	{name: "scaled in the member", op: interpreter.Retain,
		object:   "{metadata: {labels: {resourcetemplate.karmada.io/retain-replicas: 'true'}}, spec: {replicas: 2, paused: true}}",
		observed: "spec: {replicas: 7, paused: false}",
		want:     "{metadata: {labels: {resourcetemplate.karmada.io/retain-replicas: 'true'}}, spec: {replicas: 7, paused: true}}"},
	{name: "scaled to nothing in the member, and no spec yet", op: interpreter.Retain,
		object:   "metadata: {labels: {resourcetemplate.karmada.io/retain-replicas: 'true'}}",
		observed: "spec: {replicas: 0}",
		want:     "{metadata: {labels: {resourcetemplate.karmada.io/retain-replicas: 'true'}}, spec: {replicas: 0}}"},
	{name: "without the label", op: interpreter.Retain, object: "spec: {replicas: 2}", observed: "{metadata: {labels: {resourcetemplate.karmada.io/retain-replicas: 'true'}}, spec: {replicas: 7}}",
		want: "spec: {replicas: 2}"},
	{name: "with another value of the label", op: interpreter.Retain, object: "{metadata: {labels: {resourcetemplate.karmada.io/retain-replicas: 'True'}}, spec: {replicas: 2}}",
		observed: "spec: {replicas: 7}", want: "{metadata: {labels: {resourcetemplate.karmada.io/retain-replicas: 'True'}}, spec: {replicas: 2}}"},
	{name: "labels of a wrong type", op: interpreter.Retain, object: "metadata: {labels: {resourcetemplate.karmada.io/retain-replicas: true}}", wantErr: "retain-replicas must be text"},
	{name: "nothing observed", op: interpreter.Retain, object: "metadata: {labels: {resourcetemplate.karmada.io/retain-replicas: 'true'}}", observed: "spec: {}",
		wantErr: "spec.replicas is missing in the observed object"},
	{name: "observed of a wrong type", op: interpreter.Retain, object: "metadata: {labels: {resourcetemplate.karmada.io/retain-replicas: 'true'}}", observed: "spec: {replicas: x}",
		wantErr: "spec.replicas must be a whole number"},

	{name: "sums, and all in sync", op: interpreter.AggregateStatus,
		object: "{metadata: {generation: 3}, status: {observedGeneration: 2, unavailableReplicas: 4, collisionCount: 1}}",
		members: []string{"{generation: 5, observedGeneration: 5, resourceTemplateGeneration: 3, replicas: 2, readyReplicas: 1, updatedReplicas: 2, availableReplicas: 1}",
			"{generation: 1, observedGeneration: 1, resourceTemplateGeneration: 4, replicas: 2, readyReplicas: 2, updatedReplicas: 1, availableReplicas: 2}"},
		want: "{observedGeneration: 3, replicas: 4, readyReplicas: 3, updatedReplicas: 3, availableReplicas: 3, collisionCount: 1}"},
	{name: "one is behind", op: interpreter.AggregateStatus, object: "{metadata: {generation: 3}, status: {observedGeneration: 2}}",
		members: []string{"{resourceTemplateGeneration: 3, replicas: 1}", "{resourceTemplateGeneration: 2, replicas: 1}"}, want: "{observedGeneration: 2, replicas: 2}"},
	{name: "one has not reported", op: interpreter.AggregateStatus, object: "metadata: {generation: 3}", members: []string{"{resourceTemplateGeneration: 3, replicas: 1}", ""}, want: "{replicas: 1}"},
	{name: "nobody", op: interpreter.AggregateStatus, object: "{metadata: {generation: 3}, status: {observedGeneration: 2, replicas: 2}}", want: "{observedGeneration: 3}"},
	{name: "a member's counter of a wrong type", op: interpreter.AggregateStatus, members: []string{"replicas: x"}, wantErr: `cluster "m0": status.replicas must be a whole number, got the text "x"`},

	{name: "what counts", op: interpreter.InterpretStatus,
		object: "{metadata: {generation: 7, annotations: {resourcetemplate.karmada.io/generation: '5'}}, status: {observedGeneration: 6, replicas: 2, readyReplicas: 0, collisionCount: 1, conditions: []}}",
		want:   "{generation: 7, resourceTemplateGeneration: 5, observedGeneration: 6, replicas: 2}"},
	{name: "no status", op: interpreter.InterpretStatus, object: "metadata: {generation: 7}", want: "null"},
	{name: "a malformed annotation", op: interpreter.InterpretStatus, object: "{metadata: {annotations: {resourcetemplate.karmada.io/generation: five}}, status: {}}", wantErr: "must be a whole number"},

	{name: "all there", op: interpreter.InterpretHealth, object: "{metadata: {generation: 2}, spec: {replicas: 2}, status: {observedGeneration: 2, updatedReplicas: 2, availableReplicas: 2}}",
		want: "Healthy Available"},
	{name: "nothing wanted", op: interpreter.InterpretHealth, object: "spec: {replicas: 0}", want: "Healthy Available"},
	{name: "not seen yet", op: interpreter.InterpretHealth, object: "{metadata: {generation: 2}, status: {observedGeneration: 1}}", want: "Progressing NotObserved"},
	{name: "the status of another", op: interpreter.InterpretHealth, object: "{metadata: {generation: 2}, status: {observedGeneration: 3, updatedReplicas: 1, availableReplicas: 1}}", want: "Progressing NotObserved"},
	{name: "one wanted by default", op: interpreter.InterpretHealth, object: "status: {updatedReplicas: 1, availableReplicas: 0}", want: "Progressing Unavailable"},
	{name: "no status", op: interpreter.InterpretHealth, want: "Progressing Updating"},
	{name: "halted half-way", op: interpreter.InterpretHealth, object: "{spec: {paused: true, replicas: 2}, status: {updatedReplicas: 1, availableReplicas: 2, conditions: [{type: Progressing, status: Unknown, reason: DeploymentPaused}]}}", want: "Progressing Paused"},
	{name: "halted, and nothing to do", op: interpreter.InterpretHealth, object: "{spec: {paused: true}, status: {updatedReplicas: 1, availableReplicas: 1}}", want: "Healthy Available"},
	{name: "halted, and no pods can be made", op: interpreter.InterpretHealth, object: "{spec: {paused: true}, status: {conditions: [{type: ReplicaFailure, status: 'True', reason: FailedCreate, message: m}]}}", want: "Degraded FailedCreate"},
	{name: "halted by a wrong type", op: interpreter.InterpretHealth, object: "spec: {paused: 'yes'}", wantErr: "spec.paused must be true or false"},
	{name: "stuck", op: interpreter.InterpretHealth, object: "status: {conditions: [{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded, message: m}]}", want: "Degraded ProgressDeadlineExceeded"},
	{name: "no pods can be made", op: interpreter.InterpretHealth,
		object: "status: {conditions: [{type: Progressing, status: 'False', reason: r, message: m}, {type: ReplicaFailure, status: 'True', reason: FailedCreate, message: m}]}", want: "Degraded FailedCreate"},
	{name: "late but there", op: interpreter.InterpretHealth,
		object: "status: {updatedReplicas: 1, availableReplicas: 1, conditions: [{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded}]}", want: "Healthy Available"},
	{name: "a counter of a wrong type", op: interpreter.InterpretHealth, object: "status: {availableReplicas: x}", wantErr: "status.availableReplicas must be a whole number"},
	{name: "another counter of a wrong type", op: interpreter.InterpretHealth, object: "status: {updatedReplicas: x}", wantErr: "status.updatedReplicas must be a whole number"},
	{name: "replicas of a wrong type", op: interpreter.InterpretHealth, object: "spec: {replicas: x}", wantErr: "spec.replicas must be a whole number"},
	{name: "a generation of a wrong type", op: interpreter.InterpretHealth, object: "status: {observedGeneration: x}", wantErr: "status.observedGeneration must be a whole number"},
	{name: "conditions of a wrong type", op: interpreter.InterpretHealth, object: "status: {conditions: {}}", wantErr: "status.conditions must be a list"},

	{name: "what the pods need", op: interpreter.InterpretDependency, object: "spec: {template: {spec: {serviceAccountName: robot, volumes: [{configMap: {name: c}}]}}}",
		want: "v1 ConfigMap ns1/c\nv1 ServiceAccount ns1/robot"},
	{name: "nothing", op: interpreter.InterpretDependency},
	{name: "a template of a wrong type", op: interpreter.InterpretDependency, object: "spec: {template: x}", wantErr: "spec.template must be an object"},
	{name: "volumes of a wrong type", op: interpreter.InterpretDependency, object: "spec: {template: {spec: {volumes: x}}}", wantErr: `spec.template.spec.volumes must be a list, got the text "x"`},

	{name: "revisions go", op: interpreter.Prune,
		object: "metadata: {annotations: {deployment.kubernetes.io/revision: '3', deployment.kubernetes.io/revision-history: '1,2', deployment.kubernetes.io/desired-replicas: '3'}}",
		want:   "metadata: {annotations: {deployment.kubernetes.io/desired-replicas: '3'}}"},
}

var replicaSetExamples = []example{
	{name: "replicas", op: interpreter.InterpretReplica, object: "spec: {replicas: 2}", want: "{replica: 2, requires: {namespace: ns1}}"},
	{name: "one component", op: interpreter.InterpretComponent, object: "spec: {replicas: 2}", want: "[{name: main, replicas: 2, replicaRequirements: {}}]"},
	{name: "another number", op: interpreter.ReviseReplica, replicas: 7, object: "spec: {replicas: 3}", want: "spec: {replicas: 7}"},
	{name: "scaled in the member", op: interpreter.Retain,
		object:   "{metadata: {labels: {resourcetemplate.karmada.io/retain-replicas: 'true'}}, spec: {replicas: 2, minReadySeconds: 1}}",
		observed: "spec: {replicas: 7, minReadySeconds: 2}",
		want:     "{metadata: {labels: {resourcetemplate.karmada.io/retain-replicas: 'true'}}, spec: {replicas: 7, minReadySeconds: 1}}"},
	{name: "without the label", op: interpreter.Retain, object: "spec: {replicas: 2}", observed: "spec: {replicas: 7}", want: "spec: {replicas: 2}"},
	{name: "observed of a wrong type", op: interpreter.Retain, object: "metadata: {labels: {resourcetemplate.karmada.io/retain-replicas: 'true'}}", observed: "spec: {replicas: x}",
		wantErr: "spec.replicas must be a whole number"},
	{name: "sums", op: interpreter.AggregateStatus, object: "status: {fullyLabeledReplicas: 9}",
		members: []string{"{replicas: 2, readyReplicas: 2, availableReplicas: 1, fullyLabeledReplicas: 2}", "{replicas: 1}"},
		want:    "{replicas: 3, readyReplicas: 2, availableReplicas: 1, fullyLabeledReplicas: 9}"},
	{name: "what counts", op: interpreter.InterpretStatus, object: "status: {fullyLabeledReplicas: 2, readyReplicas: 1}", want: "{replicas: 0, readyReplicas: 1}"},
	{name: "all there", op: interpreter.InterpretHealth, object: "{spec: {replicas: 2}, status: {availableReplicas: 2}}", want: "Healthy Available"},
	{name: "one missing", op: interpreter.InterpretHealth, object: "{spec: {replicas: 2}, status: {availableReplicas: 1}}", want: "Progressing Unavailable"},
	{name: "one wanted by default", op: interpreter.InterpretHealth, object: "status: {replicas: 0}", want: "Progressing Unavailable"},
	{name: "no status", op: interpreter.InterpretHealth, object: "spec: {replicas: 0}", want: "Progressing NotObserved"},
	{name: "no pods can be made", op: interpreter.InterpretHealth, object: "status: {conditions: [{type: ReplicaFailure, status: 'True', reason: FailedCreate, message: m}]}", want: "Degraded FailedCreate"},
	{name: "not seen yet", op: interpreter.InterpretHealth, object: "{metadata: {generation: 2}, status: {availableReplicas: 1}}", want: "Progressing NotObserved"},
	{name: "a counter of a wrong type", op: interpreter.InterpretHealth, object: "status: {availableReplicas: x}", wantErr: "status.availableReplicas must be a whole number"},
	{name: "replicas of a wrong type", op: interpreter.InterpretHealth, object: "{spec: {replicas: x}, status: {replicas: 0}}", wantErr: "spec.replicas must be a whole number"},
	{name: "what the pods need", op: interpreter.InterpretDependency, object: "spec: {template: {spec: {serviceAccountName: robot}}}", want: "v1 ServiceAccount ns1/robot"},
}

var statefulSetExamples = []example{
	{name: "replicas", op: interpreter.InterpretReplica, object: "spec: {replicas: 2}", want: "{replica: 2, requires: {namespace: ns1}}"},
	{name: "one component", op: interpreter.InterpretComponent, object: "spec: {replicas: 2}", want: "[{name: main, replicas: 2, replicaRequirements: {}}]"},
	{name: "another number", op: interpreter.ReviseReplica, replicas: 7, object: "spec: {replicas: 3}", want: "spec: {replicas: 7}"},
	{name: "scaled in the member", op: interpreter.Retain,
		object:   "{metadata: {labels: {resourcetemplate.karmada.io/retain-replicas: 'true'}}, spec: {replicas: 2, minReadySeconds: 1}}",
		observed: "spec: {replicas: 7, minReadySeconds: 2}",
		want:     "{metadata: {labels: {resourcetemplate.karmada.io/retain-replicas: 'true'}}, spec: {replicas: 7, minReadySeconds: 1}}"},
	{name: "without the label", op: interpreter.Retain, object: "spec: {replicas: 2}", observed: "spec: {replicas: 7}", want: "spec: {replicas: 2}"},
	{name: "observed of a wrong type", op: interpreter.Retain, object: "metadata: {labels: {resourcetemplate.karmada.io/retain-replicas: 'true'}}", observed: "spec: {replicas: x}",
		wantErr: "spec.replicas must be a whole number"},
	{name: "sums, and all in sync", op: interpreter.AggregateStatus, object: "{metadata: {generation: 3}, status: {currentRevision: r}}",
		members: []string{"{generation: 5, observedGeneration: 5, resourceTemplateGeneration: 3, replicas: 2, readyReplicas: 2, currentReplicas: 2, updatedReplicas: 1}"},
		want:    "{observedGeneration: 3, replicas: 2, readyReplicas: 2, currentReplicas: 2, updatedReplicas: 1, availableReplicas: 0, currentRevision: r}"},
	{name: "what counts", op: interpreter.InterpretStatus, object: "status: {observedGeneration: 1, currentReplicas: 1, currentRevision: r}",
		want: "{replicas: 0, availableReplicas: 0, currentReplicas: 1, observedGeneration: 1}"},
	{name: "all there", op: interpreter.InterpretHealth, object: "{spec: {replicas: 2}, status: {updatedReplicas: 2, availableReplicas: 2}}", want: "Healthy Available"},
	{name: "one not updated", op: interpreter.InterpretHealth, object: "{spec: {replicas: 2}, status: {updatedReplicas: 1, availableReplicas: 2}}", want: "Progressing Updating"},
	{name: "nothing wanted", op: interpreter.InterpretHealth, object: "{spec: {replicas: 0}, status: {replicas: 0}}", want: "Healthy Available"},
	{name: "no status", op: interpreter.InterpretHealth, object: "spec: {replicas: 0}", want: "Progressing NotObserved"},
	{name: "not seen yet", op: interpreter.InterpretHealth, object: "metadata: {generation: 2}", want: "Progressing NotObserved"},
	{name: "a counter of a wrong type", op: interpreter.InterpretHealth, object: "status: {updatedReplicas: x}", wantErr: "status.updatedReplicas must be a whole number"},
	{name: "what the pods need, and their names", op: interpreter.InterpretDependency, object: "spec: {serviceName: web, template: {spec: {serviceAccountName: robot}}}",
		want: "v1 Service ns1/web\nv1 ServiceAccount ns1/robot"},
	{name: "a volume that a claim template replaces", op: interpreter.InterpretDependency,
		object: `spec: {volumeClaimTemplates: [{metadata: {name: www}}, {metadata: {name: log}}], template: {spec: {volumes: [
			{name: www, persistentVolumeClaim: {claimName: www}}, {name: log, secret: {secretName: s}}, {name: data, persistentVolumeClaim: {claimName: www}}, {name: b, persistentVolumeClaim: {claimName: shared}}, null]}}}`,
		want: "v1 PersistentVolumeClaim ns1/shared\nv1 PersistentVolumeClaim ns1/www"},
	{name: "claim templates, and no volumes", op: interpreter.InterpretDependency, object: "spec: {volumeClaimTemplates: [{metadata: {name: www}}], template: {spec: {}}}"},
	{name: "claim templates of a wrong type", op: interpreter.InterpretDependency, object: "spec: {volumeClaimTemplates: x}", wantErr: "spec.volumeClaimTemplates must be a list"},
	{name: "a claim template's name of a wrong type", op: interpreter.InterpretDependency, object: "spec: {volumeClaimTemplates: [{metadata: {name: 1}}]}", wantErr: "spec.volumeClaimTemplates[0].metadata.name must be text"},
	{name: "volumes of a wrong type", op: interpreter.InterpretDependency, object: "spec: {volumeClaimTemplates: [null], template: {spec: {volumes: x}}}", wantErr: "spec.template.spec.volumes must be a list"},
	{name: "a volume of a wrong type", op: interpreter.InterpretDependency, object: "spec: {volumeClaimTemplates: [{metadata: {name: a}}], template: {spec: {volumes: [{name: a, secret: 1}, {name: b, secret: 1}]}}}",
		wantErr: "spec.template.spec.volumes[1].secret must be an object"},
	{name: "a volume that is no object", op: interpreter.InterpretDependency, object: "spec: {volumeClaimTemplates: [null], template: {spec: {volumes: [x]}}}", wantErr: "spec.template.spec.volumes[0] must be an object"},
	{name: "a service name of a wrong type", op: interpreter.InterpretDependency, object: "spec: {serviceName: 1}", wantErr: "spec.serviceName must be text"},
}

// Without the extra layer a StatefulSet has the dependencies that Karmada gives it.
func TestStatefulSetServiceIsExtra(t *testing.T) {
	t.Parallel()
	checkExample(t, interpreter.NewChain(Layer()), statefulSet, example{
		op: interpreter.InterpretDependency, object: "spec: {serviceName: web, template: {spec: {serviceAccountName: robot}}}", want: "v1 ServiceAccount ns1/robot",
	})
}

// Karmada retains the replicas of a Deployment only.
func TestReplicasOfOtherKindsAreRetainedByTheExtraLayer(t *testing.T) {
	t.Parallel()
	labelled := "metadata: {labels: {resourcetemplate.karmada.io/retain-replicas: 'true'}}"
	for _, k := range []kind{replicaSet, statefulSet} {
		checkExample(t, interpreter.NewChain(Layer()), k, example{op: interpreter.Retain, object: labelled, observed: "spec: {replicas: 7}", wantErr: "no rule for"})
	}
}

var daemonSetExamples = []example{
	{name: "one component, one pod a node", op: interpreter.InterpretComponent, object: "{spec: {template: {spec: {containers: [{resources: {requests: {cpu: 1}}}]}}}, status: {desiredNumberScheduled: 5}}",
		want: "[{name: main, replicas: 1, replicaRequirements: {resourceRequest: {cpu: '1'}}}]"},
	{name: "sums", op: interpreter.AggregateStatus, object: "{metadata: {generation: 1}, status: {collisionCount: 2}}",
		members: []string{"{resourceTemplateGeneration: 1, currentNumberScheduled: 3, desiredNumberScheduled: 3, numberAvailable: 2, numberMisscheduled: 1, numberReady: 2, updatedNumberScheduled: 3, numberUnavailable: 1}",
			"{resourceTemplateGeneration: 1, currentNumberScheduled: 1}"},
		want: "{observedGeneration: 1, currentNumberScheduled: 4, desiredNumberScheduled: 3, numberAvailable: 2, numberMisscheduled: 1, numberReady: 2, updatedNumberScheduled: 3, numberUnavailable: 1, collisionCount: 2}"},
	{name: "what counts", op: interpreter.InterpretStatus, object: "status: {collisionCount: 1, numberReady: 1}",
		want: "{currentNumberScheduled: 0, desiredNumberScheduled: 0, numberMisscheduled: 0, numberReady: 1}"},
	{name: "all there", op: interpreter.InterpretHealth, object: "status: {desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 2}", want: "Healthy Available"},
	{name: "one not updated", op: interpreter.InterpretHealth, object: "status: {desiredNumberScheduled: 2, updatedNumberScheduled: 1, numberAvailable: 2}", want: "Progressing Updating"},
	{name: "one not available", op: interpreter.InterpretHealth, object: "status: {desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 1}", want: "Progressing Unavailable"},
	{name: "no nodes", op: interpreter.InterpretHealth, object: "status: {desiredNumberScheduled: 0}", want: "Healthy Available"},
	{name: "no status", op: interpreter.InterpretHealth, want: "Progressing NotObserved"},
	{name: "an empty status", op: interpreter.InterpretHealth, object: "status: {}", want: "Progressing NotObserved"},
	{name: "a status of a wrong type", op: interpreter.InterpretHealth, object: "status: x", wantErr: "status must be an object"},
	{name: "not seen yet", op: interpreter.InterpretHealth, object: "metadata: {generation: 2}", want: "Progressing NotObserved"},
	{name: "desired of a wrong type", op: interpreter.InterpretHealth, object: "status: {desiredNumberScheduled: x}", wantErr: "status.desiredNumberScheduled must be a whole number"},
	{name: "updated of a wrong type", op: interpreter.InterpretHealth, object: "status: {updatedNumberScheduled: x}", wantErr: "status.updatedNumberScheduled must be a whole number"},
	{name: "available of a wrong type", op: interpreter.InterpretHealth, object: "status: {numberAvailable: x}", wantErr: "status.numberAvailable must be a whole number"},
	{name: "what the pods need", op: interpreter.InterpretDependency, object: "spec: {template: {spec: {serviceAccountName: robot}}}", want: "v1 ServiceAccount ns1/robot"},
}

var cronJobExamples = []example{
	{name: "one component, of one run", op: interpreter.InterpretComponent, object: "spec: {jobTemplate: {spec: {parallelism: 4, completions: 2, template: {spec: {containers: [{resources: {requests: {cpu: 1}}}]}}}}}",
		want: "[{name: main, replicas: 2, replicaRequirements: {resourceRequest: {cpu: '1'}}}]"},
	{name: "runs and times", op: interpreter.AggregateStatus, object: "status: {active: [{name: old}], lastScheduleTime: '2020-01-01T00:00:00Z', future: 1}",
		members: []string{"{active: [{name: a, uid: u}], lastScheduleTime: '2024-05-01T10:00:00Z'}", "{active: [{name: a}, {name: b}], lastScheduleTime: '2024-05-01T13:00:00+02:00', lastSuccessfulTime: '2024-05-01T09:00:00Z'}", ""},
		want:    "{active: [{name: a, uid: u}, {name: a}, {name: b}], lastScheduleTime: '2024-05-01T11:00:00Z', lastSuccessfulTime: '2024-05-01T09:00:00Z', future: 1}"},
	{name: "nothing runs", op: interpreter.AggregateStatus, object: "status: {active: [{name: old}]}", members: []string{"{}"}, want: "{}"},
	{name: "nobody", op: interpreter.AggregateStatus, object: "status: {active: [{name: old}]}", want: "{active: [{name: old}]}"},
	{name: "a status of a wrong type", op: interpreter.AggregateStatus, object: "status: x", members: []string{"{}"}, wantErr: "status must be an object"},
	{name: "runs of a wrong type", op: interpreter.AggregateStatus, members: []string{"active: x"}, wantErr: `cluster "m0": status.active must be a list`},
	{name: "a time of a wrong type", op: interpreter.AggregateStatus, members: []string{"lastScheduleTime: 1"}, wantErr: "status.lastScheduleTime must be text"},
	{name: "a time that is none", op: interpreter.AggregateStatus, members: []string{"lastSuccessfulTime: noon"}, wantErr: `status.lastSuccessfulTime must be a time such as 2006-01-02T15:04:05Z, got the text "noon"`},
	{name: "on schedule", op: interpreter.InterpretHealth, want: "Healthy Scheduled"},
	{name: "suspended", op: interpreter.InterpretHealth, object: "spec: {suspend: true}", want: "Suspended Suspended"},
	{name: "suspended by a wrong type", op: interpreter.InterpretHealth, object: "spec: {suspend: 'yes'}", wantErr: "spec.suspend must be true or false"},
	{name: "what the pods need", op: interpreter.InterpretDependency, object: "spec: {jobTemplate: {spec: {template: {spec: {serviceAccountName: robot}}}}}", want: "v1 ServiceAccount ns1/robot"},
	{name: "a template's field of a wrong type", op: interpreter.InterpretDependency, object: "spec: {jobTemplate: {spec: {template: {spec: {volumes: 1}}}}}",
		wantErr: "spec.jobTemplate.spec.template.spec.volumes must be a list, got 1"},
}

var podExamples = []example{
	{name: "always one", op: interpreter.InterpretReplica, object: "spec: {containers: [{resources: {requests: {cpu: 1}}}]}", want: "{replica: 1, requires: {namespace: ns1, resourceRequest: {cpu: '1'}}}"},
	{name: "a spec of a wrong type", op: interpreter.InterpretReplica, object: "spec: [x]", wantErr: "spec must be an object, got a list"},
	{name: "one component", op: interpreter.InterpretComponent, want: "[{name: main, replicas: 1, replicaRequirements: {}}]"},

	{name: "what cannot change stays, what can gets through", op: interpreter.Retain,
		object: `spec: {activeDeadlineSeconds: 50, containers: [{name: a, image: 'a:2', env: [{name: N}]}, {name: new, image: 'n:1'}], initContainers: [{name: i}],
			volumes: [{name: data}], tolerations: [{key: k, operator: Equal}, {key: k2, tolerationSeconds: 5}]}`,
		observed: `spec: {nodeName: n1, activeDeadlineSeconds: 100, containers: [{name: proxy, image: 'p:1'}, {name: a, image: 'a:1', volumeMounts: [{name: token}]}],
			initContainers: [{name: i, image: 'i:1'}], volumes: [{name: data}, {name: token}], tolerations: [{key: k}, {key: ready, tolerationSeconds: 300}], ephemeralContainers: [{name: debug}]}`,
		want: `spec: {nodeName: n1, activeDeadlineSeconds: 50, containers: [{name: proxy, image: 'p:1'}, {name: a, image: 'a:2', volumeMounts: [{name: token}]}],
			initContainers: [{name: i, image: 'i:1'}], volumes: [{name: data}, {name: token}], tolerations: [{key: k}, {key: ready, tolerationSeconds: 300}, {key: k2, tolerationSeconds: 5}],
			ephemeralContainers: [{name: debug}]}`},
	{name: "a deadline cannot be put off", op: interpreter.Retain, object: "spec: {activeDeadlineSeconds: 50}", observed: "spec: {activeDeadlineSeconds: 10}", want: "spec: {activeDeadlineSeconds: 10}"},
	{name: "a deadline can be set", op: interpreter.Retain, object: "spec: {activeDeadlineSeconds: 50}", observed: "spec: {nodeName: a}", want: "spec: {activeDeadlineSeconds: 50, nodeName: a}"},
	{name: "a scheduling gate can be taken away", op: interpreter.Retain, object: "spec: {schedulingGates: [{name: b}, {name: new}]}", observed: "spec: {schedulingGates: [{name: a}, {name: b}, {name: c}]}",
		want: "spec: {schedulingGates: [{name: b}]}"},
	{name: "all scheduling gates can be taken away", op: interpreter.Retain, observed: "spec: {priority: 0, schedulingGates: [{name: a}]}", want: "spec: {priority: 0}"},
	{name: "a scheduling gate cannot be put back", op: interpreter.Retain, object: "spec: {schedulingGates: [{name: a}]}", observed: "spec: {priority: 0}", want: "spec: {priority: 0}"},
	{name: "desired scheduling gates of a wrong type", op: interpreter.Retain, object: "spec: {schedulingGates: [{name: 1}]}", observed: "spec: {priority: 0}", wantErr: "spec.schedulingGates[0].name must be text"},
	{name: "observed scheduling gates of a wrong type", op: interpreter.Retain, observed: "spec: {schedulingGates: x}", wantErr: "spec.schedulingGates must be a list"},
	{name: "nothing observed", op: interpreter.Retain, object: "spec: {nodeName: a}", want: "spec: {nodeName: a}"},
	{name: "the template says nothing", op: interpreter.Retain, observed: "spec: {nodeName: a}", want: "spec: {nodeName: a}"},
	{name: "an observed spec of a wrong type", op: interpreter.Retain, observed: "spec: x", wantErr: "spec must be an object"},
	{name: "a desired spec of a wrong type", op: interpreter.Retain, object: "spec: x", observed: "spec: {}", wantErr: "spec must be an object"},
	{name: "desired containers of a wrong type", op: interpreter.Retain, object: "spec: {containers: x}", observed: "spec: {}", wantErr: "spec.containers must be a list"},
	{name: "observed containers of a wrong type", op: interpreter.Retain, observed: "spec: {containers: x}", wantErr: "spec.containers must be a list"},
	{name: "an image of a wrong type", op: interpreter.Retain, object: "spec: {containers: [{name: a, image: 1}]}", observed: "spec: {containers: [{name: a}]}", wantErr: "spec.containers[0].image must be text"},
	{name: "an observed image of a wrong type", op: interpreter.Retain, observed: "spec: {containers: [{name: a, image: 1}]}", wantErr: "spec.containers[0].image must be text"},
	{name: "observed tolerations of a wrong type", op: interpreter.Retain, observed: "spec: {tolerations: x}", wantErr: "spec.tolerations must be a list"},
	{name: "a desired toleration of a wrong type", op: interpreter.Retain, object: "spec: {tolerations: [{effect: 1}]}", observed: "spec: {}", wantErr: "spec.tolerations[0].effect must be text"},
	{name: "an observed toleration of a wrong type", op: interpreter.Retain, observed: "spec: {tolerations: [{key: 1}]}", wantErr: "spec.tolerations[0].key must be text"},
	{name: "a toleration's operator of a wrong type", op: interpreter.Retain, observed: "spec: {tolerations: [{operator: 1}]}", wantErr: "operator must be text"},
	{name: "a toleration's value of a wrong type", op: interpreter.Retain, observed: "spec: {tolerations: [{value: 1}]}", wantErr: "value must be text"},
	{name: "a desired deadline of a wrong type", op: interpreter.Retain, object: "spec: {activeDeadlineSeconds: x}", observed: "spec: {}", wantErr: "spec.activeDeadlineSeconds must be a whole number"},
	{name: "an observed deadline of a wrong type", op: interpreter.Retain, observed: "spec: {activeDeadlineSeconds: x}", wantErr: "spec.activeDeadlineSeconds must be a whole number"},

	{name: "failed before all", op: interpreter.AggregateStatus, members: []string{"phase: Running", "phase: Failed", ""}, want: "phase: Failed"},
	{name: "not reported is pending", op: interpreter.AggregateStatus, members: []string{"phase: Running", ""}, want: "phase: Pending"},
	{name: "running before succeeded", op: interpreter.AggregateStatus, members: []string{"phase: Succeeded", "phase: Running"}, want: "phase: Running"},
	{name: "no phase that counts", op: interpreter.AggregateStatus, object: "status: {phase: Running}", members: []string{"phase: Unknown"}, want: "{}"},
	{name: "containers of all, whole", op: interpreter.AggregateStatus, object: "status: {podIP: 1.2.3.4, containerStatuses: [{name: old}], initContainerStatuses: [{name: old}]}",
		members: []string{"{phase: Running, podIP: 10.0.0.1, containerStatuses: [{name: a, ready: true, restartCount: 2}]}",
			"{phase: Running, containerStatuses: [{name: a, ready: false}, {name: b}], ephemeralContainerStatuses: [{name: d}]}"},
		want: "{phase: Running, podIP: 1.2.3.4, containerStatuses: [{name: a, ready: true, restartCount: 2}, {name: a, ready: false}, {name: b}], ephemeralContainerStatuses: [{name: d}]}"},
	{name: "nobody", op: interpreter.AggregateStatus, object: "status: {phase: Running}", want: "phase: Running"},
	{name: "a status of a wrong type", op: interpreter.AggregateStatus, object: "status: x", members: []string{"{}"}, wantErr: "status must be an object"},
	{name: "a phase of a wrong type", op: interpreter.AggregateStatus, members: []string{"phase: 1"}, wantErr: "status.phase must be text"},
	{name: "containers of a wrong type", op: interpreter.AggregateStatus, members: []string{"initContainerStatuses: [1]"}, wantErr: "status.initContainerStatuses must hold objects"},

	{name: "running and ready", op: interpreter.InterpretHealth, object: "status: {phase: Running, conditions: [{type: Initialized, status: 'True'}, {type: Ready, status: 'True'}]}", want: "Healthy Ready"},
	{name: "running, not ready", op: interpreter.InterpretHealth, object: "status: {phase: Running, conditions: [{type: Ready, status: 'False'}]}", want: "Progressing NotReady"},
	{name: "running, no conditions", op: interpreter.InterpretHealth, object: "status: {phase: Running}", want: "Progressing NotReady"},
	{name: "done", op: interpreter.InterpretHealth, object: "status: {phase: Succeeded}", want: "Healthy Succeeded"},
	{name: "failed", op: interpreter.InterpretHealth, object: "status: {phase: Failed}", want: "Degraded Failed"},
	{name: "failed for a reason", op: interpreter.InterpretHealth, object: "status: {phase: Failed, reason: Evicted, message: The node was low on memory}", want: "Degraded Evicted"},
	{name: "lost", op: interpreter.InterpretHealth, object: "status: {phase: Unknown}", want: "Unknown Unknown"},
	{name: "pending", op: interpreter.InterpretHealth, object: "status: {phase: Pending, containerStatuses: [{name: a, state: {waiting: {reason: ContainerCreating}}}]}", want: "Progressing NotStarted"},
	{name: "no status", op: interpreter.InterpretHealth, want: "Progressing NotStarted"},
	{name: "no image", op: interpreter.InterpretHealth, object: "status: {phase: Pending, initContainerStatuses: [{name: i, state: {waiting: {reason: ErrImagePull, message: m}}}]}", want: "Degraded ErrImagePull"},
	{name: "an image that cannot be", op: interpreter.InterpretHealth, object: "status: {phase: Pending, containerStatuses: [{name: i, state: {waiting: {reason: InvalidImageName}}}]}", want: "Degraded InvalidImageName"},
	{name: "no configuration", op: interpreter.InterpretHealth, object: "status: {phase: Pending, containerStatuses: [{name: a, state: {waiting: {reason: CreateContainerConfigError}}}]}", want: "Degraded CreateContainerConfigError"},
	{name: "crashing again and again", op: interpreter.InterpretHealth,
		object: "status: {phase: Running, containerStatuses: [{name: a, state: {running: {}}}, {name: b, state: {waiting: {reason: CrashLoopBackOff}}}, {name: c, state: {waiting: {reason: ErrImagePull}}}]}", want: "Degraded CrashLoopBackOff"},
	{name: "a phase of a wrong type", op: interpreter.InterpretHealth, object: "status: {phase: 1}", wantErr: "status.phase must be text"},
	{name: "conditions of a wrong type", op: interpreter.InterpretHealth, object: "status: {conditions: {}}", wantErr: "status.conditions must be a list"},
	{name: "a reason of a wrong type", op: interpreter.InterpretHealth, object: "status: {phase: Failed, reason: 1}", wantErr: "status.reason must be text"},
	{name: "a message of a wrong type", op: interpreter.InterpretHealth, object: "status: {phase: Failed, message: 1}", wantErr: "status.message must be text"},
	{name: "containers of a wrong type", op: interpreter.InterpretHealth, object: "status: {containerStatuses: x}", wantErr: "status.containerStatuses must be a list"},
	{name: "a container's state of a wrong type", op: interpreter.InterpretHealth, object: "status: {containerStatuses: [{state: x}]}", wantErr: "status.containerStatuses[0].state must be an object"},
	{name: "a container's reason of a wrong type", op: interpreter.InterpretHealth, object: "status: {containerStatuses: [{state: {waiting: {reason: 1}}}]}", wantErr: "state.waiting.reason"},
	{name: "a container's message of a wrong type", op: interpreter.InterpretHealth, object: "status: {containerStatuses: [{state: {waiting: {reason: BackOff, message: 1}}}]}", wantErr: "state.waiting.message"},

	{name: "what it needs", op: interpreter.InterpretDependency, object: "spec: {imagePullSecrets: [{name: s}]}", want: "v1 Secret ns1/s"},
	{name: "volumes of a wrong type", op: interpreter.InterpretDependency, object: "spec: {volumes: x}", wantErr: "spec.volumes must be a list"},
}

// Without the extra layer only what the member assigns is retained.
func TestPodRetainsWhatIsAssigned(t *testing.T) {
	t.Parallel()
	for _, e := range []example{
		{object: "spec: {nodeName: x, serviceAccountName: y, volumes: [{name: data}], brandNew: 1, tolerations: [{key: t}], containers: [{name: a, image: 'a:2', volumeMounts: [{name: data}]}, {name: a}, {name: b}], initContainers: [{name: i}]}",
			observed: "spec: {nodeName: n1, serviceAccountName: robot, volumes: [{name: token}], tolerations: [{key: ready}], containers: [{name: b, volumeMounts: [{name: token}]}, {name: a, image: 'a:1', volumeMounts: [{name: token}]}, {name: proxy}], initContainers: [{name: i, volumeMounts: [{name: token}]}]}",
			want:     "spec: {nodeName: n1, serviceAccountName: robot, volumes: [{name: token}], brandNew: 1, tolerations: [{key: t}], containers: [{name: a, image: 'a:2', volumeMounts: [{name: token}]}, {name: a}, {name: b, volumeMounts: [{name: token}]}], initContainers: [{name: i, volumeMounts: [{name: token}]}]}"},
		{object: "spec: {nodeName: x, volumes: [{name: data}], containers: [{name: a, volumeMounts: [{name: data}]}]}", observed: "spec: {containers: [{name: a}]}", want: "spec: {containers: [{name: a}]}"},
		{object: "spec: {}", observed: "spec: {nodeName: 1}", wantErr: "spec.nodeName must be text"},
		{object: "spec: {}", observed: "spec: {volumes: 1}", wantErr: "spec.volumes must be a list"},
		{object: "spec: {containers: [{name: 1}]}", wantErr: "spec.containers[0].name must be text"},
		{object: "spec: {containers: x}", wantErr: "spec.containers must be a list"},
		{object: "spec: {containers: [{name: a}]}", observed: "spec: {containers: [{name: a, volumeMounts: x}]}", wantErr: "spec.containers[0].volumeMounts must be a list"},
		{object: "spec: x", observed: "spec: {nodeName: n1}", wantErr: "spec must be an object"},
	} {
		e.op = interpreter.Retain
		checkExample(t, interpreter.NewChain(Layer()), pod, e)
	}
}

func TestItemsAreOrderedByClusterWithoutTouchingTheCallers(t *testing.T) {
	t.Parallel()
	items := []interpreter.AggregatedStatusItem{item("b", "{}"), item("a", `{"x":2}`), item("a", `{"x":1}`), item("a", "")}
	sorted := byCluster(items)
	require.Len(t, sorted, 4)
	assert.Equal(t, "b", items[0].ClusterName)
	assert.Equal(t, "b", sorted[3].ClusterName)
	assert.Equal(t, sorted, byCluster(sorted))
}
