package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

// jobs are a Job in the control plane and its copies in members. What a member's controller writes is checked by
// the server, too, so the lives here are such as happen.
type jobs struct {
	t        *testing.T
	template *unstructured.Unstructured
	members  map[string]*unstructured.Unstructured
	// folds counts the aggregated statuses that were written.
	folds int
}

func newJobs(t *testing.T, manifest string, members ...string) *jobs {
	t.Helper()
	j := &jobs{t: t, template: create(t, placed(t, object(t, manifest), newNamespace(t))), members: map[string]*unstructured.Unstructured{}}
	for _, name := range members {
		j.join(name)
	}
	return j
}

func (j *jobs) join(name string) {
	j.t.Helper()
	j.members[name] = newMember(j.t, j.template)
}

// write has a member's controller write a status.
func (j *jobs) write(name, status string) {
	j.t.Helper()
	j.members[name] = withStatus(j.t, j.members[name], value(j.t, status))
}

// fold aggregates what the members report, except for those that are silent, and gives what the server has then.
func (j *jobs) fold(silent ...string) string {
	j.t.Helper()
	var items []interpreter.AggregatedStatusItem
	for _, name := range slices.Sorted(maps.Keys(j.members)) {
		item := reported(j.t, name, j.members[name])
		if slices.Contains(silent, name) {
			item.Status = nil
		}
		items = append(items, item)
	}
	j.template = aggregated(j.t, j.template, items)
	j.folds++
	return j.said()
}

// said is the template's status in one line: counters, conditions that are True, and which times are set.
func (j *jobs) said() string {
	j.t.Helper()
	status, _, err := unstructured.NestedMap(j.template.Object, "status")
	must(j.t, err)
	var words []string
	for _, name := range []string{"active", "succeeded", "failed"} {
		if n := status[name]; n != nil {
			words = append(words, fmt.Sprint(name, " ", n))
		}
	}
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		fields := c.(map[string]any)
		require.Equal(j.t, "True", fields["status"])
		words = append(words, fields["type"].(string))
	}
	if status["completionTime"] != nil {
		words = append(words, "with time")
	}
	return strings.Join(words, ", ")
}

// Statuses as a Job controller writes them.
const (
	jobRuns     = "{startTime: '2024-05-01T10:00:00Z', active: 2, ready: 1, uncountedTerminatedPods: {}}"
	jobFails    = "{startTime: '2024-05-01T10:00:00Z', active: 1, failed: 2, conditions: [{type: FailureTarget, status: 'True', reason: BackoffLimitExceeded, lastTransitionTime: '2024-05-01T10:30:00Z'}]}"
	jobFailed   = "{startTime: '2024-05-01T10:00:00Z', failed: 3, conditions: [{type: FailureTarget, status: 'True', reason: BackoffLimitExceeded, lastTransitionTime: '2024-05-01T10:30:00Z'}, {type: Failed, status: 'True', reason: BackoffLimitExceeded, lastTransitionTime: '2024-05-01T10:31:00Z'}]}"
	jobComplete = "{startTime: '2024-05-01T10:00:00Z', succeeded: 4, completionTime: '2024-05-01T11:00:00Z', conditions: [{type: SuccessCriteriaMet, status: 'True', lastTransitionTime: '2024-05-01T11:00:00Z'}, {type: Complete, status: 'True', lastTransitionTime: '2024-05-01T11:00:00Z'}]}"
)

func TestJobFails(t *testing.T) {
	j := newJobs(t, samples["Job"], "a", "b", "c")
	require.Empty(t, j.fold())
	for name := range j.members {
		j.write(name, jobRuns)
	}
	require.Equal(t, "active 6", j.fold())
	j.write("b", jobFails)
	require.Equal(t, "active 5, failed 2", j.fold())
	j.write("b", jobFailed)
	require.Equal(t, "active 4, failed 3, FailureTarget", j.fold())
	j.write("a", jobComplete)
	require.Equal(t, "active 2, succeeded 4, failed 3, FailureTarget", j.fold())
	require.Equal(t, "succeeded 4, failed 3, FailureTarget", j.fold("c"), "one that is silent may have active pods")
	// Between two pods nobody is active.
	j.write("c", "{startTime: '2024-05-01T10:00:00Z', succeeded: 2, failed: 1}")
	require.Equal(t, "succeeded 6, failed 4, FailureTarget, Failed", j.fold())
	// The counters go on, the verdict stays.
	j.write("c", "{startTime: '2024-05-01T10:00:00Z', succeeded: 3, failed: 1, active: 1}")
	require.Equal(t, "succeeded 7, failed 4, FailureTarget, Failed", j.fold())
	j.write("c", strings.Replace(jobComplete, "succeeded: 4", "succeeded: 4, failed: 1", 1))
	require.Equal(t, "succeeded 8, failed 4, FailureTarget, Failed", j.fold())
	delete(j.members, "b")
	require.Equal(t, "succeeded 8, failed 4, FailureTarget, Failed", j.fold())
	j.members = nil
	require.Equal(t, "succeeded 8, failed 4, FailureTarget, Failed", j.fold())
}

func TestJobCompletes(t *testing.T) {
	j := newJobs(t, samples["Job"], "a", "b")
	j.write("a", jobComplete)
	require.Equal(t, "succeeded 4", j.fold(), "one has not begun")
	j.write("b", jobRuns)
	require.Equal(t, "active 2, succeeded 4", j.fold())
	j.write("b", "{startTime: '2024-05-01T10:00:00Z', succeeded: 4, active: 1, conditions: [{type: SuccessCriteriaMet, status: 'True', reason: CompletionsReached, lastTransitionTime: '2024-05-01T11:00:00Z'}]}")
	require.Equal(t, "active 1, succeeded 8", j.fold())
	j.write("b", jobComplete)
	require.Equal(t, "succeeded 8, Complete, SuccessCriteriaMet, with time", j.fold())
	// A member that joins after the end counts, and changes nothing else.
	j.join("c")
	require.Equal(t, "succeeded 8, Complete, SuccessCriteriaMet, with time", j.fold())
	j.write("c", "{startTime: '2024-05-02T10:00:00Z', succeeded: 1, active: 2}")
	require.Equal(t, "succeeded 9, Complete, SuccessCriteriaMet, with time", j.fold())
	j.write("c", strings.NewReplacer("05-01", "05-02", "failed: 3", "succeeded: 1, failed: 3").Replace(jobFailed))
	require.Equal(t, "succeeded 9, failed 3, Complete, SuccessCriteriaMet, with time", j.fold())
}

// Counters never go back, whoever leaves and whoever starts anew.
func TestJobMembersLeave(t *testing.T) {
	j := newJobs(t, samples["Job"], "a", "b")
	j.write("a", "{startTime: '2024-05-01T09:00:00Z', active: 1, succeeded: 2, failed: 1}")
	j.write("b", "{startTime: '2024-05-01T10:00:00Z', active: 1, succeeded: 1}")
	require.Equal(t, "active 2, succeeded 3, failed 1", j.fold())
	delete(j.members, "a")
	require.Equal(t, "active 1, succeeded 3, failed 1", j.fold())
	j.members = nil
	require.Equal(t, "succeeded 3, failed 1", j.fold())
	j.members = map[string]*unstructured.Unstructured{}
	j.join("b")
	require.Equal(t, "succeeded 3, failed 1", j.fold())
	j.write("b", "{startTime: '2024-05-01T12:00:00Z', active: 2}")
	require.Equal(t, "active 2, succeeded 3, failed 1", j.fold())
	j.write("b", strings.NewReplacer("T10", "T12", "T11", "T13").Replace(jobComplete))
	require.Equal(t, "succeeded 4, failed 1, Complete, SuccessCriteriaMet, with time", j.fold())

	// The member that failed is gone before the others are done.
	j = newJobs(t, samples["Job"], "a", "b")
	j.write("a", jobFailed)
	j.write("b", jobRuns)
	require.Equal(t, "active 2, failed 3, FailureTarget", j.fold())
	delete(j.members, "a")
	require.Equal(t, "active 2, failed 3, FailureTarget", j.fold())
	j.write("b", jobComplete)
	require.Equal(t, "succeeded 4, failed 3, FailureTarget, Failed", j.fold())
}

func TestJobIsSuspended(t *testing.T) {
	j := newJobs(t, samples["Job, suspended"], "a", "b")
	const suspended = "{conditions: [{type: Suspended, status: 'True', reason: JobSuspended, lastTransitionTime: '2024-05-01T10:00:00Z'}]}"
	j.write("a", suspended)
	j.write("b", suspended)
	require.Empty(t, j.fold())
	resume := func(obj *unstructured.Unstructured, suspend bool) *unstructured.Unstructured {
		obj = obj.DeepCopy()
		must(t, unstructured.SetNestedField(obj.Object, suspend, "spec", "suspend"))
		return update(t, obj)
	}
	j.template = resume(j.template, false)
	require.Empty(t, j.fold())
	for name := range j.members {
		j.members[name] = resume(j.members[name], false)
		j.write(name, "{startTime: '2024-05-01T11:00:00Z', active: 1, conditions: [{type: Suspended, status: 'False', reason: JobResumed, lastTransitionTime: '2024-05-01T11:00:00Z'}]}")
	}
	require.Equal(t, "active 2", j.fold())
	// Halted once more, a member forgets its start. The template does not, for it may run elsewhere.
	j.members["a"] = resume(j.members["a"], true)
	j.write("a", suspended)
	require.Equal(t, "active 1", j.fold())
	j.template = resume(j.template, true)
	j.members["b"] = resume(j.members["b"], true)
	j.write("b", suspended)
	require.Empty(t, j.fold())
	j.template = resume(j.template, false)
	for name := range j.members {
		j.members[name] = resume(j.members[name], false)
		j.write(name, strings.ReplaceAll(jobComplete, "05-01", "05-02"))
	}
	require.Equal(t, "succeeded 8, Complete, SuccessCriteriaMet, with time", j.fold())
}

func TestJobIsIndexed(t *testing.T) {
	j := newJobs(t, samples["Job, indexed"], "a", "b")
	j.write("a", "{startTime: '2024-05-01T10:00:00Z', active: 1, succeeded: 1, failed: 1, completedIndexes: '0', failedIndexes: ''}")
	j.write("b", "{startTime: '2024-05-01T10:00:00Z', active: 2, failed: 2, failedIndexes: '1'}")
	require.Equal(t, "active 3, succeeded 1, failed 3", j.fold())
	// The success policy is met while pods are still ending.
	j.write("a", "{startTime: '2024-05-01T10:00:00Z', active: 1, succeeded: 2, failed: 1, completedIndexes: '0,2', conditions: [{type: SuccessCriteriaMet, status: 'True', reason: SuccessPolicy, lastTransitionTime: '2024-05-01T10:30:00Z'}]}")
	require.Equal(t, "active 3, succeeded 2, failed 3", j.fold())
	j.write("a", "{startTime: '2024-05-01T10:00:00Z', succeeded: 2, failed: 1, completedIndexes: '0,2', completionTime: '2024-05-01T10:31:00Z', conditions: [{type: SuccessCriteriaMet, status: 'True', reason: SuccessPolicy, lastTransitionTime: '2024-05-01T10:30:00Z'}, {type: Complete, status: 'True', reason: SuccessPolicy, lastTransitionTime: '2024-05-01T10:31:00Z'}]}")
	require.Equal(t, "active 2, succeeded 2, failed 3", j.fold())
	j.write("b", "{startTime: '2024-05-01T10:00:00Z', failed: 6, failedIndexes: '1-3', conditions: [{type: FailureTarget, status: 'True', reason: MaxFailedIndexesExceeded, lastTransitionTime: '2024-05-01T10:40:00Z'}, {type: Failed, status: 'True', reason: MaxFailedIndexesExceeded, lastTransitionTime: '2024-05-01T10:40:00Z'}]}")
	require.Equal(t, "succeeded 2, failed 7, FailureTarget, Failed", j.fold())
}

// life is what a member's Job has come to.
type life struct {
	begun, active, succeeded, failed int
	// stage is the last condition: empty, FailureTarget, Failed, SuccessCriteriaMet or Complete.
	stage string
}

// step lives on for a while, as a Job controller would. Some lives never fail.
func (l life) step(r *rand.Rand, hour int, fails bool) life {
	switch {
	case l.stage == "Failed" || l.stage == "Complete":
	case l.begun == 0:
		l.begun, l.active = hour, r.IntN(3)
	case l.stage == "FailureTarget":
		l.failed, l.active = l.failed+l.active, 0
		l.stage = "Failed"
	case l.stage == "SuccessCriteriaMet":
		l.active, l.stage = 0, "Complete"
	default:
		l.active = r.IntN(3)
		l.succeeded += r.IntN(2)
		l.failed += r.IntN(2)
		switch end := r.IntN(6); {
		case end == 0 && fails:
			l.stage = "FailureTarget"
		case end == 1:
			l.stage = "SuccessCriteriaMet"
		}
	}
	return l
}

// status is how the controller writes it.
func (l life) status(t *testing.T) map[string]any {
	t.Helper()
	status := map[string]any{}
	at := func(hour int) string {
		return time.Date(2024, 5, 1, hour, 0, 0, 0, time.UTC).Format(time.RFC3339)
	}
	condition := func(types ...string) (list []any) {
		for _, typ := range types {
			list = append(list, map[string]any{"type": typ, "status": "True", "reason": "Because", "lastTransitionTime": at(l.begun + 1)})
		}
		return list
	}
	if l.begun > 0 {
		status["startTime"] = at(l.begun)
	}
	for name, n := range map[string]int{"active": l.active, "succeeded": l.succeeded, "failed": l.failed} {
		if n > 0 {
			status[name] = n
		}
	}
	switch l.stage {
	case "FailureTarget", "SuccessCriteriaMet":
		status["conditions"] = condition(l.stage)
	case "Failed":
		status["conditions"] = condition("FailureTarget", "Failed")
	case "Complete":
		status["conditions"] = condition("SuccessCriteriaMet", "Complete")
		status["completionTime"] = at(l.begun + 1)
	}
	text, err := json.Marshal(status)
	must(t, err)
	return value(t, string(text))
}

// Whatever members live through, in whatever order it becomes known, the server takes what it adds up to.
func TestJobsWalk(t *testing.T) {
	const walks, steps = 12, 40
	r := rand.New(rand.NewPCG(2024, 5))
	ends := map[string]int{}
	folds := 0
	for walk := range walks {
		kind := []string{"Job", "Job, bare", "Job, indexed"}[walk%3]
		j := newJobs(t, samples[kind], "m0", "m1", "m2")
		lives := map[string]life{}
		for step := range steps {
			name := fmt.Sprintf("m%d", r.IntN(4))
			switch obj := j.members[name]; {
			case obj == nil:
				if r.IntN(2) == 0 {
					j.join(name)
					lives[name] = life{}
				}
			case r.IntN(12) == 0:
				delete(j.members, name)
			default:
				lives[name] = lives[name].step(r, step+1, walk%2 == 0)
				j.members[name] = withStatus(t, obj, lives[name].status(t))
			}
			var silent []string
			if r.IntN(5) == 0 {
				silent = append(silent, fmt.Sprintf("m%d", r.IntN(4)))
			}
			j.fold(silent...)
		}
		folds += j.folds
		switch {
		case strings.Contains(j.said(), "Complete"):
			ends["complete"]++
		case strings.Contains(j.said(), "Failed"):
			ends["failed"]++
		default:
			ends["open"]++
		}
	}
	t.Logf("%d aggregated statuses written, %v", folds, ends)
	require.Equal(t, walks*steps, folds)
	require.Positive(t, ends["failed"])
	require.Positive(t, ends["complete"])
}
