package builtin

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeinterpret/interpret/interpreter"
)

var jobExamples = []example{
	{name: "parallelism", op: interpreter.InterpretReplica, object: "spec: {parallelism: 2, completions: 5, template: {spec: {containers: [{resources: {requests: {cpu: 1}}}]}}}",
		want: "{replica: 2, requires: {namespace: ns1, resourceRequest: {cpu: '1'}}}"},
	{name: "not more than must complete", op: interpreter.InterpretReplica, object: "spec: {parallelism: 10, completions: 3}", want: "{replica: 3, requires: {namespace: ns1}}"},
	{name: "one by default", op: interpreter.InterpretReplica, want: "{replica: 1, requires: {namespace: ns1}}"},
	{name: "one by default, whatever must complete", op: interpreter.InterpretReplica, object: "spec: {completions: 3}", want: "{replica: 1, requires: {namespace: ns1}}"},
	{name: "none", op: interpreter.InterpretReplica, object: "spec: {parallelism: 0, completions: 3}", want: "{replica: 0, requires: {namespace: ns1}}"},
	{name: "negative parallelism", op: interpreter.InterpretReplica, object: "spec: {parallelism: -1}", wantErr: "spec.parallelism must not be negative"},
	{name: "completions of a wrong type", op: interpreter.InterpretReplica, object: "spec: {completions: x}", wantErr: "spec.completions must be a whole number"},
	{name: "one component", op: interpreter.InterpretComponent, object: "spec: {parallelism: 2}", want: "[{name: main, replicas: 2, replicaRequirements: {}}]"},

	{name: "another number", op: interpreter.ReviseReplica, replicas: 4, object: "spec: {parallelism: 2, completions: 5}", want: "spec: {parallelism: 4, completions: 5}"},
	{name: "the field is made", op: interpreter.ReviseReplica, replicas: 4, want: "spec: {parallelism: 4}"},

	{name: "generated labels", op: interpreter.Retain,
		object:   "spec: {selector: {matchLabels: {k: v}, matchExpressions: []}, template: {metadata: {labels: {app: x}}}}",
		observed: "spec: {selector: {matchLabels: {controller-uid: u}}, template: {metadata: {labels: {app: z, job-name: j}}}}",
		want:     "spec: {selector: {matchLabels: {controller-uid: u}, matchExpressions: []}, template: {metadata: {labels: {app: z, job-name: j}}}}"},
	{name: "parents are made, and empty is not missing", op: interpreter.Retain, observed: "spec: {selector: {matchLabels: {}}}", want: "spec: {selector: {matchLabels: {}}}"},
	{name: "nothing generated", op: interpreter.Retain, object: "spec: {selector: {matchLabels: {k: v}}}", observed: "spec: {selector: {matchLabels: null}}", want: "spec: {selector: {matchLabels: {k: v}}}"},
	{name: "labels of a wrong type", op: interpreter.Retain, observed: "spec: {template: {metadata: {labels: {q: 1}}}}", wantErr: "spec.template.metadata.labels.q must be text, got 1"},
	{name: "a selector of a wrong type", op: interpreter.Retain, observed: "spec: {selector: x}", wantErr: "spec.selector must be an object"},
	{name: "a desired selector of a wrong type", op: interpreter.Retain, object: "spec: {selector: x}", observed: "spec: {selector: {matchLabels: {a: b}}}", wantErr: "spec.selector must be an object"},

	{name: "what counts", op: interpreter.InterpretStatus,
		object: "status: {active: 1, ready: 1, succeeded: 0, failed: 2, completedIndexes: '1', startTime: '2024-05-01T10:00:00Z', completionTime: null, conditions: [{type: Suspended, status: 'False', message: m}], uncountedTerminatedPods: {}}",
		want:   "{active: 1, failed: 2, startTime: '2024-05-01T10:00:00Z', conditions: [{type: Suspended, status: 'False', message: m}]}"},
	{name: "an empty status", op: interpreter.InterpretStatus, object: "status: {}", want: "{}"},
	{name: "no status", op: interpreter.InterpretStatus, want: "null"},
	{name: "a status of a wrong type", op: interpreter.InterpretStatus, object: "status: []", wantErr: "status must be an object"},
	{name: "a counter of a wrong type", op: interpreter.InterpretStatus, object: "status: {active: x}", wantErr: "status.active must be a whole number"},
	{name: "a time that is none", op: interpreter.InterpretStatus, object: "status: {startTime: noon}", wantErr: "status.startTime must be a time"},
	{name: "conditions of a wrong type", op: interpreter.InterpretStatus, object: "status: {conditions: {}}", wantErr: "status.conditions must be a list"},

	{name: "running", op: interpreter.AggregateStatus, object: "status: {active: 9, ready: 3, conditions: [{type: Suspended, status: 'True'}, {type: Failed, status: 'False'}]}",
		members: []string{"{active: 1, failed: 1, startTime: '2024-05-01T10:00:00Z'}", "{active: 2, startTime: '2024-05-01T09:00:00Z', conditions: [{type: SuccessCriteriaMet, status: 'True'}, {type: Complete, status: 'False'}]}"},
		want:    "{active: 3, failed: 1, startTime: '2024-05-01T09:00:00Z'}"},
	{name: "not all have started", op: interpreter.AggregateStatus, members: []string{"{active: 1, startTime: '2024-05-01T10:00:00Z'}", "{}", ""}, want: "{active: 1}"},
	{name: "members that have left go on counting", op: interpreter.AggregateStatus, object: "status: {active: 3, succeeded: 2, failed: 1, startTime: '2024-05-01T08:00:00Z'}",
		members: []string{"{succeeded: 1, failed: 2}"}, want: "{succeeded: 2, failed: 2, startTime: '2024-05-01T08:00:00Z'}"},
	{name: "nobody", op: interpreter.AggregateStatus, object: "status: {active: 1, succeeded: 1, startTime: '2024-05-01T08:00:00Z'}", want: "{succeeded: 1, startTime: '2024-05-01T08:00:00Z'}"},
	{name: "complete, whatever comes later", op: interpreter.AggregateStatus,
		object:  "status: {succeeded: 2, startTime: '2024-05-01T08:00:00Z', completionTime: '2024-05-01T09:00:00Z', conditions: [{type: SuccessCriteriaMet, status: 'True'}, {type: Complete, status: 'True'}]}",
		members: []string{"{active: 5, succeeded: 4, conditions: [{type: Failed, status: 'True'}]}"},
		want:    "{succeeded: 4, startTime: '2024-05-01T08:00:00Z', completionTime: '2024-05-01T09:00:00Z', conditions: [{type: Complete, status: 'True'}, {type: SuccessCriteriaMet, status: 'True'}]}"},
	{name: "failed, whatever comes later", op: interpreter.AggregateStatus, object: "status: {failed: 2, conditions: [{type: Failed, status: 'True'}]}",
		members: []string{"{active: 5, failed: 3, conditions: [{type: Complete, status: 'True'}]}"}, want: "{failed: 3, conditions: [{type: Failed, status: 'True'}]}"},
	{name: "success was promised by another hand", op: interpreter.AggregateStatus, object: "status: {conditions: [{type: SuccessCriteriaMet, status: 'True'}]}",
		members: []string{"{failed: 3, conditions: [{type: Failed, status: 'True'}]}"}, want: "{failed: 3, conditions: [{type: SuccessCriteriaMet, status: 'True'}]}"},
	{name: "a member's counter of a wrong type", op: interpreter.AggregateStatus, members: []string{"active: x"}, wantErr: "status.active must be a whole number"},
	{name: "a member's start of a wrong type", op: interpreter.AggregateStatus, members: []string{"startTime: 1"}, wantErr: "status.startTime must be text"},
	{name: "a member's end of a wrong type", op: interpreter.AggregateStatus, members: []string{"completionTime: 1"}, wantErr: "status.completionTime must be text"},
	{name: "a member's condition of a wrong type", op: interpreter.AggregateStatus, members: []string{"conditions: [{type: 1, status: 'True'}]"}, wantErr: "status.conditions[0].type must be text"},
	{name: "a member's condition status of a wrong type", op: interpreter.AggregateStatus, members: []string{"conditions: [{type: Complete, status: true}]"}, wantErr: "status.conditions[0].status must be text"},
	{name: "a counter of a wrong type", op: interpreter.AggregateStatus, object: "status: {failed: x}", wantErr: "status.failed must be a whole number"},
	{name: "a start of a wrong type", op: interpreter.AggregateStatus, object: "status: {startTime: 1}", wantErr: "status.startTime must be text"},
	{name: "an end of a wrong type", op: interpreter.AggregateStatus, object: "status: {completionTime: 1}", wantErr: "status.completionTime must be text"},
	{name: "a condition of a wrong type", op: interpreter.AggregateStatus, object: "status: {conditions: [{type: 1}]}", wantErr: "status.conditions[0].type must be text"},
	{name: "a condition's status of a wrong type", op: interpreter.AggregateStatus, object: "status: {conditions: [{status: 1}]}", wantErr: "status.conditions[0].status must be text"},

	{name: "running", op: interpreter.InterpretHealth, object: "status: {active: 1}", want: "Healthy Running"},
	{name: "between two pods", op: interpreter.InterpretHealth, object: "status: {failed: 1, startTime: '2024-05-01T08:00:00Z'}", want: "Healthy Running"},
	{name: "not started", op: interpreter.InterpretHealth, want: "Progressing NotStarted"},
	{name: "suspended", op: interpreter.InterpretHealth, object: "{spec: {suspend: true}, status: {active: 1}}", want: "Suspended Suspended"},
	{name: "complete, then suspended", op: interpreter.InterpretHealth, object: "{spec: {suspend: true}, status: {conditions: [{type: Complete, status: 'True'}]}}", want: "Healthy Complete"},
	{name: "failed", op: interpreter.InterpretHealth, object: "{spec: {suspend: true}, status: {active: 1, conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded, message: m}]}}", want: "Degraded BackoffLimitExceeded"},
	{name: "about to fail", op: interpreter.InterpretHealth, object: "status: {active: 1, conditions: [{type: FailureTarget, status: 'True', reason: PodFailurePolicy, message: m}]}", want: "Degraded PodFailurePolicy"},
	{name: "conditions of a wrong type", op: interpreter.InterpretHealth, object: "status: {conditions: x}", wantErr: "status.conditions must be a list"},
	{name: "suspended by a wrong type", op: interpreter.InterpretHealth, object: "spec: {suspend: x}", wantErr: "spec.suspend must be true or false"},
	{name: "a start of a wrong type", op: interpreter.InterpretHealth, object: "status: {startTime: 1}", wantErr: "status.startTime must be text"},
	{name: "active of a wrong type", op: interpreter.InterpretHealth, object: "status: {active: x}", wantErr: "status.active must be a whole number"},

	{name: "what the pods need", op: interpreter.InterpretDependency, object: "spec: {template: {spec: {serviceAccountName: robot}}}", want: "v1 ServiceAccount ns1/robot"},

	{name: "generated labels go", op: interpreter.Prune,
		object: "spec: {ttlSecondsAfterFinished: 9, selector: {matchLabels: {controller-uid: u, batch.kubernetes.io/controller-uid: u, mine: '1'}}, template: {metadata: {labels: {job-name: j, batch.kubernetes.io/job-name: j, controller-uid: u, batch.kubernetes.io/controller-uid: u}}}}",
		want:   "spec: {selector: {matchLabels: {mine: '1'}}, template: {metadata: {labels: {}}}}"},
	{name: "a selector of one's own stays", op: interpreter.Prune, object: "spec: {manualSelector: true, ttlSecondsAfterFinished: 9, selector: {matchLabels: {controller-uid: u}}}",
		want: "spec: {manualSelector: true, selector: {matchLabels: {controller-uid: u}}}"},
	{name: "a manual selector of a wrong type", op: interpreter.Prune, object: "spec: {manualSelector: x}", wantErr: "spec.manualSelector must be true or false"},
}

// noon is when the tests of a Job's end take place.
var noon = clock(func() time.Time { return time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC) })

func TestTheEndOfAJob(t *testing.T) {
	t.Parallel()
	const (
		at       = "lastProbeTime: '2024-05-01T12:00:00Z', lastTransitionTime: '2024-05-01T12:00:00Z'"
		target   = "{type: FailureTarget, status: 'True', reason: JobFailed, message: 'Job executed failed in member clusters m1', " + at + "}"
		failed   = "{type: Failed, status: 'True', reason: JobFailed, message: 'Job executed failed in member clusters m1', " + at + "}"
		complete = "{type: Complete, status: 'True', reason: Completed, message: Job completed, " + at + "}"
		criteria = "{type: SuccessCriteriaMet, status: 'True', reason: CompletionsReached, message: All member clusters have met success criteria, " + at + "}"

		start       = "startTime: '2024-05-01T10:00:00Z'"
		hasFailed   = "{failed: 1, " + start + ", conditions: [{type: FailureTarget, status: 'True'}, {type: Failed, status: 'True'}]}"
		isActive    = "{active: 1, " + start + "}"
		hasComplete = "{succeeded: 1, " + start + ", completionTime: '2024-05-01T11:00:00Z', conditions: [{type: Complete, status: 'True'}]}"
	)
	for _, tc := range []struct {
		name, status string
		members      []string
		want         string
	}{
		{"one has failed, another is active", "", []string{isActive, hasFailed}, "{active: 1, failed: 1, " + start + ", conditions: [" + target + "]}"},
		{"one has failed, another is complete", "", []string{hasComplete, hasFailed}, "{succeeded: 1, failed: 1, " + start + ", conditions: [" + target + ", " + failed + "]}"},
		{"one has failed, another has not reported", "", []string{"", hasFailed}, "{failed: 1, conditions: [" + target + "]}"},
		{"one has failed, another never started", "", []string{"{}", hasFailed}, "{failed: 1, " + start + ", conditions: [" + target + ", " + failed + "]}"},
		{"one has failed, and nobody ever started", "", []string{"{}", "conditions: [{type: Failed, status: 'True'}]"}, "{conditions: [" + target + "]}"},
		{"the one that failed has left", "{" + start + ", conditions: [" + target + "]}", []string{hasComplete}, "{succeeded: 1, " + start + ", conditions: [" + target + ", " + failed + "]}"},
		{"all have left", "{" + start + ", conditions: [" + target + "]}", nil, "{" + start + ", conditions: [" + target + ", " + failed + "]}"},
		{"all are complete", "", []string{hasComplete, hasComplete},
			"{succeeded: 2, " + start + ", completionTime: '2024-05-01T11:00:00Z', conditions: [" + complete + ", " + criteria + "]}"},
		{"all are complete but one has not reported", "", []string{hasComplete, ""}, "{succeeded: 1}"},
		{"all are complete, and the start is known from before", "{startTime: '2024-05-01T11:30:00Z'}", []string{hasComplete},
			"{succeeded: 1, startTime: '2024-05-01T11:30:00Z', completionTime: '2024-05-01T11:30:00Z', conditions: [" + complete + ", " + criteria + "]}"},
		{"all are complete, one still has a pod", "", []string{"{active: 1, " + start + ", completionTime: '2024-05-01T11:00:00Z', conditions: [{type: Complete, status: 'True'}]}"},
			"{active: 1, " + start + ", conditions: [" + criteria + "]}"},
		{"complete without times", "", []string{"{succeeded: 1, conditions: [{type: Complete, status: 'True'}]}"}, "{succeeded: 1, conditions: [" + criteria + "]}"},
		{"the times have come", "{succeeded: 1, completionTime: '2024-05-01T10:30:00Z', conditions: [" + criteria + "]}", []string{hasComplete},
			"{succeeded: 1, " + start + ", completionTime: '2024-05-01T10:30:00Z', conditions: [" + complete + ", " + criteria + "]}"},
		{"the first verdict of a member counts", "", []string{"{" + start + ", completionTime: '2024-05-01T11:00:00Z', conditions: [{type: Complete, status: 'True'}, {type: Failed, status: 'True'}]}"},
			"{" + start + ", completionTime: '2024-05-01T11:00:00Z', conditions: [" + complete + ", " + criteria + "]}"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			e := example{object: "status: " + tc.status, members: tc.members}
			req := e.request(t, job)
			require.NoError(t, noon.aggregateJob(req.Object, req.Statuses))
			assertYAML(t, tc.want, req.Object.Object["status"])
			slices.Reverse(req.Statuses)
			require.NoError(t, noon.aggregateJob(req.Object, req.Statuses))
			assertYAML(t, tc.want, req.Object.Object["status"])
		})
	}
}

// TestJobStatusesAreAccepted plays random lives of a Job in several clusters and holds every status against
// what an API server checks on the status subresource.
func TestJobStatusesAreAccepted(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		obj := complete(t, job, "spec: {}")
		members := make([]*batchv1.JobStatus, 1+r.IntN(3))
		was := batchv1.JobStatus{}
		for step := range 12 {
			i := r.IntN(len(members))
			members[i] = live(r, members[i])
			now := noon().Add(time.Duration(step) * time.Minute)
			items := itemsOf(t, members)
			if r.IntN(10) == 0 {
				items = items[:len(items)-1] // a cluster goes for a while
			}
			require.NoError(t, clock(func() time.Time { return now }).aggregateJob(obj, items))
			is := statusOfJob(t, obj.Object["status"])
			require.Empty(t, refusals(was, is), "seed %d, step %d\nwas %+v\nis  %+v", seed, step, was, is)

			again := obj.DeepCopy()
			r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
			require.NoError(t, noon.aggregateJob(again, items))
			require.Equal(t, obj, again, "seed %d, step %d: aggregating again changes the answer", seed, step)
			was = is
		}
	}
}

// live makes a step in the life of a member's Job.
func live(r *rand.Rand, s *batchv1.JobStatus) *batchv1.JobStatus {
	if s == nil {
		return &batchv1.JobStatus{}
	}
	next := s.DeepCopy()
	at := func(minute int) *metav1.Time {
		t := metav1.NewTime(noon().Add(time.Duration(minute) * time.Minute))
		return &t
	}
	switch {
	case len(s.Conditions) > 0:
	case s.StartTime == nil:
		next.StartTime = at(r.IntN(60) - 60)
		next.Active = int32(r.IntN(3))
	case r.IntN(3) == 0:
		next.Active, next.Succeeded = 0, s.Succeeded+s.Active
		next.CompletionTime = at(r.IntN(60))
		next.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	case r.IntN(3) == 0:
		next.Active, next.Failed = 0, s.Failed+s.Active
		next.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
	default:
		next.Active = int32(r.IntN(3))
		next.Failed += int32(r.IntN(2))
	}
	return next
}

func itemsOf(t *testing.T, members []*batchv1.JobStatus) (items []interpreter.AggregatedStatusItem) {
	t.Helper()
	for i, m := range members {
		it := interpreter.AggregatedStatusItem{ClusterName: fmt.Sprint("m", i)}
		if m != nil {
			data, err := json.Marshal(m)
			require.NoError(t, err)
			it.Status = &runtime.RawExtension{Raw: data}
		}
		items = append(items, it)
	}
	return items
}

func statusOfJob(t *testing.T, v any) (s batchv1.JobStatus) {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &s))
	return s
}

// refusals says why an API server would not take the second status after the first.
func refusals(was, is batchv1.JobStatus) (list []string) {
	on := func(s batchv1.JobStatus, typ batchv1.JobConditionType) bool {
		return slices.ContainsFunc(s.Conditions, func(c batchv1.JobCondition) bool { return c.Type == typ && c.Status == corev1.ConditionTrue })
	}
	complete, failed := on(is, batchv1.JobComplete), on(is, batchv1.JobFailed)
	criteria, target := on(is, batchv1.JobSuccessCriteriaMet), on(is, batchv1.JobFailureTarget)
	for why, broken := range map[string]bool{
		"Failed without FailureTarget":           failed && !target,
		"Complete without SuccessCriteriaMet":    complete && !criteria,
		"success and failure":                    (complete || criteria) && (failed || target),
		"finished with active pods":              (complete || failed) && is.Active > 0,
		"finished without a start":               (complete || failed) && is.StartTime == nil,
		"complete without completion time":       complete && is.CompletionTime == nil,
		"a completion time, but not complete":    !complete && is.CompletionTime != nil,
		"completed before the start":             is.CompletionTime != nil && is.StartTime != nil && is.CompletionTime.Before(is.StartTime),
		"fewer succeeded":                        is.Succeeded < was.Succeeded,
		"fewer failed":                           is.Failed < was.Failed,
		"another start":                          was.StartTime != nil && !was.StartTime.Equal(is.StartTime),
		"another completion time":                was.CompletionTime != nil && !was.CompletionTime.Equal(is.CompletionTime),
		"SuccessCriteriaMet after Complete":      on(was, batchv1.JobComplete) && !on(was, batchv1.JobSuccessCriteriaMet) && criteria,
		"a condition of the end taken back":      on(was, batchv1.JobComplete) && !complete || on(was, batchv1.JobFailed) && !failed,
		"a condition before the end taken back":  on(was, batchv1.JobSuccessCriteriaMet) && !criteria || on(was, batchv1.JobFailureTarget) && !target,
		"a status with conditions that are none": slices.ContainsFunc(is.Conditions, func(c batchv1.JobCondition) bool { return c.Status != corev1.ConditionTrue }),
	} {
		if broken {
			list = append(list, why)
		}
	}
	return list
}
