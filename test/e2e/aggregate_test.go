package e2e

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

// lives are the statuses that three members go through, by sample. The server takes each of them in a member,
// so they are such as controllers write.
var lives = map[string][3][]string{
	"Deployment": {
		{"{observedGeneration: 1, replicas: 1, unavailableReplicas: 1}", "{observedGeneration: 1, replicas: 4, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3, unavailableReplicas: 1, terminatingReplicas: 1}", "{observedGeneration: 1, replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3}"},
		{"{}", "{observedGeneration: 1, conditions: [{type: Available, status: 'False', reason: MinimumReplicasUnavailable, message: m}]}", "{observedGeneration: 1, collisionCount: 2, replicas: 3, updatedReplicas: 1, readyReplicas: 2, availableReplicas: 1, unavailableReplicas: 2}"},
		{"{observedGeneration: 1, replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3}", "{observedGeneration: 1}"},
	},
	"ReplicaSet": {
		{"{replicas: 0}", "{observedGeneration: 1, replicas: 2, fullyLabeledReplicas: 2, readyReplicas: 2, availableReplicas: 1}"},
		{"{replicas: 2, fullyLabeledReplicas: 1}", "{observedGeneration: 1, replicas: 0}"},
		{"{replicas: 2, fullyLabeledReplicas: 2, readyReplicas: 1, observedGeneration: 1, terminatingReplicas: 1}"},
	},
	"ReplicationController": {
		{"{replicas: 0}", "{observedGeneration: 1, replicas: 2, fullyLabeledReplicas: 2, readyReplicas: 2, availableReplicas: 1}"},
		{"{replicas: 2, fullyLabeledReplicas: 1}", "{observedGeneration: 1, replicas: 0}"},
		{"{replicas: 2, fullyLabeledReplicas: 2, readyReplicas: 1, observedGeneration: 1}"},
	},
	"StatefulSet": {
		{"{replicas: 0}", "{observedGeneration: 1, replicas: 3, readyReplicas: 2, currentReplicas: 1, updatedReplicas: 2, availableReplicas: 2, currentRevision: db-1, updateRevision: db-2, collisionCount: 0}"},
		{"{replicas: 3, readyReplicas: 3, currentReplicas: 3, updatedReplicas: 3, availableReplicas: 3, observedGeneration: 1}", "{replicas: 1, observedGeneration: 1}"},
		{"{replicas: 2, readyReplicas: 1, availableReplicas: 0}"},
	},
	"DaemonSet": {
		{"{currentNumberScheduled: 0, desiredNumberScheduled: 3, numberMisscheduled: 0, numberReady: 0}", "{currentNumberScheduled: 3, desiredNumberScheduled: 3, numberMisscheduled: 1, numberReady: 2, updatedNumberScheduled: 3, numberAvailable: 2, numberUnavailable: 1, observedGeneration: 1}"},
		{"{currentNumberScheduled: 2, desiredNumberScheduled: 2, numberMisscheduled: 0, numberReady: 2, numberAvailable: 2, updatedNumberScheduled: 2, observedGeneration: 1}", "{currentNumberScheduled: 0, desiredNumberScheduled: 0, numberMisscheduled: 0, numberReady: 0, observedGeneration: 1}"},
		{"{currentNumberScheduled: 1, desiredNumberScheduled: 1, numberMisscheduled: 0, numberReady: 1, collisionCount: 1}"},
	},
	"CronJob": {
		{"{}", "{active: [{apiVersion: batch/v1, kind: Job, name: nightly-1, namespace: a, uid: u1}], lastScheduleTime: '2024-05-01T03:00:00Z'}", "{lastScheduleTime: '2024-05-01T03:00:00Z', lastSuccessfulTime: '2024-05-01T03:10:00Z'}"},
		{"{lastScheduleTime: '2024-04-30T03:00:00Z'}", "{active: [{apiVersion: batch/v1, kind: Job, name: nightly-1, namespace: b, uid: u2}, {apiVersion: batch/v1, kind: Job, name: nightly-2, namespace: b, uid: u3}]}"},
		{"{active: [{apiVersion: batch/v1, kind: Job, name: nightly-1, namespace: c, uid: u4}]}", "{}"},
	},
	"Pod": {
		{"{phase: Pending, qosClass: BestEffort, conditions: [{type: PodScheduled, status: 'True'}]}",
			"{phase: Running, qosClass: BestEffort, podIP: 10.1.0.1, podIPs: [{ip: 10.1.0.1}], hostIP: 10.2.0.1, hostIPs: [{ip: 10.2.0.1}], startTime: '2024-05-01T10:00:00Z', initContainerStatuses: [{name: prepare, image: i, imageID: d, ready: true, restartCount: 0, state: {terminated: {exitCode: 0}}}], containerStatuses: [{name: main, image: i, imageID: d, ready: true, restartCount: 0, started: true, state: {running: {startedAt: '2024-05-01T10:00:01Z'}}}]}",
			"{phase: Running, qosClass: BestEffort, initContainerStatuses: [{name: prepare, image: i, imageID: d, ready: true, restartCount: 0, state: {terminated: {exitCode: 0}}}], containerStatuses: [{name: main, image: i, imageID: d, ready: false, restartCount: 3, lastState: {terminated: {exitCode: 1}}, state: {waiting: {reason: CrashLoopBackOff, message: m}}}]}"},
		{"{phase: Pending, qosClass: BestEffort, initContainerStatuses: [{name: prepare, image: i, imageID: '', ready: false, restartCount: 0, state: {running: {}}}], containerStatuses: [{name: main, image: i, imageID: '', ready: false, restartCount: 0, state: {waiting: {reason: PodInitializing}}}]}",
			"{phase: Failed, qosClass: BestEffort, reason: Evicted, message: m}"},
		{"{phase: Running, qosClass: BestEffort, containerStatuses: [{name: main, image: i, imageID: d, ready: false, restartCount: 1, state: {terminated: {exitCode: 137, reason: OOMKilled}}}]}"},
	},
	"Service, load balancer": {
		{"loadBalancer: {}", "loadBalancer: {ingress: [{ip: 192.0.2.1, ipMode: Proxy, ports: [{port: 443, protocol: TCP}, {port: 80, protocol: TCP, error: MixedProtocolNotSupported}]}, {ip: 192.0.2.2}]}"},
		{"{loadBalancer: {ingress: [{hostname: b.example.com}]}, conditions: [{type: Ready, status: 'True', reason: R, message: m, lastTransitionTime: '2024-05-01T10:00:00Z'}]}", "loadBalancer: {ingress: [{ip: 192.0.2.1, ports: [{port: 80, protocol: TCP}]}]}"},
		{"loadBalancer: {ingress: [{ip: '2001:db8::1', ipMode: VIP}, {hostname: a.example.com, ip: 192.0.2.9}]}"},
	},
	"Service": {{"{}"}, {"loadBalancer: {}"}, {"conditions: [{type: Ready, status: 'True', reason: R, message: m, lastTransitionTime: '2024-05-01T10:00:00Z'}]"}},
	"Ingress": {
		{"loadBalancer: {}", "loadBalancer: {ingress: [{ip: 192.0.2.1, ports: [{port: 443, protocol: TCP}]}]}"},
		{"loadBalancer: {ingress: [{hostname: a.example.com}, {ip: 192.0.2.1, ports: [{port: 443, protocol: TCP, error: example.com/Taken}]}]}"},
		{"loadBalancer: {ingress: [{hostname: a.example.com}]}", "{}"},
	},
	"PersistentVolumeClaim": {
		{"phase: Pending", "{phase: Bound, accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}}", "{phase: Bound, accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, allocatedResources: {storage: 2Gi}, allocatedResourceStatuses: {storage: ControllerResizeInProgress}, conditions: [{type: Resizing, status: 'True'}]}"},
		{"{}", "{phase: Bound, accessModes: [ReadWriteOnce], capacity: {storage: 2Gi}}", "phase: Lost"},
		{"phase: Pending", "{phase: Bound, accessModes: [ReadWriteOnce], capacity: {storage: 1536Mi}}"},
	},
	"PersistentVolume": {
		{"phase: Pending", "phase: Available", "{phase: Bound, lastPhaseTransitionTime: '2024-05-01T10:00:00Z'}", "phase: Released", "{phase: Failed, reason: VolumeFailedDelete, message: m}"},
		{"{}", "phase: Bound", "phase: Bound", "phase: Released"},
		{"phase: Available", "phase: Bound"},
	},
	"PodDisruptionBudget": {
		{"{currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0}", "{observedGeneration: 1, currentHealthy: 3, desiredHealthy: 2, disruptionsAllowed: 1, expectedPods: 3, disruptedPods: {web-1: '2024-05-01T10:00:00Z'}, conditions: [{type: DisruptionAllowed, status: 'True', reason: SufficientPods, message: '', lastTransitionTime: '2024-05-01T10:00:00Z'}]}"},
		{"{currentHealthy: 1, desiredHealthy: 2, disruptionsAllowed: 0, expectedPods: 3, disruptedPods: {web-1: '2024-05-01T10:00:01Z', web-2: '2024-05-01T10:00:02Z'}}"},
		{"{currentHealthy: 2, desiredHealthy: 1, disruptionsAllowed: 1, expectedPods: 2}"},
	},
	"HorizontalPodAutoscaler": {
		{"{desiredReplicas: 0, currentReplicas: 0}", "{observedGeneration: 1, desiredReplicas: 3, currentReplicas: 2, lastScaleTime: '2024-05-01T10:00:00Z', currentMetrics: [{type: Resource, resource: {name: cpu, current: {averageUtilization: 70, averageValue: 350m}}}], conditions: [{type: AbleToScale, status: 'True', reason: R, message: m, lastTransitionTime: '2024-05-01T10:00:00Z'}]}"},
		{"{desiredReplicas: 1}"},
		{"{desiredReplicas: 2, currentReplicas: 5}", "{desiredReplicas: 0}"},
	},
	"Job": {
		{"{}", "{startTime: '2024-05-01T10:00:00Z', active: 2, ready: 1, uncountedTerminatedPods: {}}", "{startTime: '2024-05-01T10:00:00Z', active: 1, succeeded: 3, uncountedTerminatedPods: {}}"},
		{"{startTime: '2024-05-01T09:00:00Z', active: 2}", "{startTime: '2024-05-01T09:00:00Z', succeeded: 4, completionTime: '2024-05-01T11:00:00Z', conditions: [{type: SuccessCriteriaMet, status: 'True', lastTransitionTime: '2024-05-01T11:00:00Z'}, {type: Complete, status: 'True', lastTransitionTime: '2024-05-01T11:00:00Z'}]}"},
		{"{startTime: '2024-05-01T10:00:00Z', active: 2, failed: 1}", "{startTime: '2024-05-01T10:00:00Z', failed: 2, active: 1, terminating: 1, conditions: [{type: FailureTarget, status: 'True', reason: BackoffLimitExceeded, lastTransitionTime: '2024-05-01T11:00:00Z'}]}", "{startTime: '2024-05-01T10:00:00Z', failed: 3, conditions: [{type: FailureTarget, status: 'True', reason: BackoffLimitExceeded, lastTransitionTime: '2024-05-01T11:00:00Z'}, {type: Failed, status: 'True', reason: BackoffLimitExceeded, lastTransitionTime: '2024-05-01T11:00:00Z'}]}"},
	},
}

// Whatever members report, in whatever order and however many of them, the status that comes of it is taken by
// the server. Every one is written.
func TestAggregatedStatusesAreAccepted(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(lives)) {
		t.Run(name, func(t *testing.T) {
			template := create(t, placed(t, object(t, samples[name]), newNamespace(t)))
			var members [3]*unstructured.Unstructured
			for i := range members {
				members[i] = newMember(t, template)
			}
			steps := 0
			for _, life := range lives[name] {
				steps = max(steps, len(life))
			}
			for step := range steps {
				var items []interpreter.AggregatedStatusItem
				for i, life := range lives[name] {
					if step < len(life) {
						members[i] = withStatus(t, members[i], value(t, life[step]))
					}
					items = append(items, reported(t, fmt.Sprintf("m%d", i), members[i]))
				}
				template = aggregatedInAllWays(t, template, items)
			}
			template = aggregated(t, template, nil)
			aggregated(t, template, []interpreter.AggregatedStatusItem{{ClusterName: "new"}})
		})
	}
}

// aggregatedInAllWays folds what is reported, and less than that. In the end it folds all of it, in each order,
// and wants one answer.
func aggregatedInAllWays(t *testing.T, template *unstructured.Unstructured, items []interpreter.AggregatedStatusItem) *unstructured.Unstructured {
	t.Helper()
	silent := slices.Clone(items)
	for i := range silent {
		silent[i].Status = nil
	}
	template = aggregated(t, template, silent)
	template = aggregated(t, template, append(slices.Clone(items[:1]), silent[1:]...))
	template = aggregated(t, template, nil)
	for i := range items {
		template = aggregated(t, template, items[i:i+1])
		template = aggregated(t, template, slices.Delete(slices.Clone(items), i, i+1))
	}
	template = aggregated(t, template, items)
	first := template
	for _, order := range orders(items) {
		template = aggregated(t, template, order)
		require.Equal(t, first.Object["status"], template.Object["status"])
	}
	return template
}

// newMember is an object in a member cluster, as the control plane sends it there: pruned, and with the
// generation of the template.
func newMember(t *testing.T, template *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	obj := placed(t, pruned(t, full, template), newNamespace(t))
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations["resourcetemplate.karmada.io/generation"] = fmt.Sprint(template.GetGeneration())
	obj.SetAnnotations(annotations)
	return create(t, obj)
}
