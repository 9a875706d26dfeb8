package builtin

import (
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

// AggregateStatus of a Job is more than sums, because an API server guards the end of a Job: the conditions
// come in pairs (FailureTarget before Failed, SuccessCriteriaMet before Complete, KEP-3850, KEP-4368) that
// exclude each other and never go away again, a finished Job has no active pods and a start, only a complete
// one has a completion time, and finished pods are never taken back. A status that breaks one of these is
// refused as a whole, and the template would never learn of its end.

// clock tells the time of a new condition. Conditions that the template has keep theirs, so folding the same
// items again changes nothing.
type clock func() time.Time

// jobEnd is what the members' Jobs have come to. Members counts all items, reported those with a status,
// started those with a start time.
type jobEnd struct {
	members, reported, complete int
	failed                      []string
	started                     int
	start, completion           time.Time
}

// add takes in one member's status.
func (e *jobEnd) add(cluster string, member raw) error {
	verdict, err := jobVerdict(member)
	if err != nil {
		return err
	}
	switch verdict {
	case batchv1.JobComplete:
		e.complete++
	case batchv1.JobFailed:
		e.failed = append(e.failed, cluster)
	}
	start, err := member.moment("startTime")
	if err != nil {
		return err
	}
	if !start.IsZero() {
		e.started++
	}
	e.start = earliest(e.start, start)
	completion, err := member.moment("completionTime")
	e.completion = latest(e.completion, completion)
	e.reported++
	return err
}

// jobVerdict is the condition that says how a member's Job has ended, empty while it runs. FailureTarget and
// SuccessCriteriaMet are not verdicts yet: pods may still be counted. No Job has two verdicts; if one seems to,
// the first counts.
func jobVerdict(member raw) (verdict batchv1.JobConditionType, err error) {
	err = member.each(func(c raw) error {
		isTrue, err := c.is(string(corev1.ConditionTrue), "status")
		if err != nil || !isTrue || verdict != "" {
			return err
		}
		for _, end := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed} {
			is, err := c.is(string(end), "type")
			if err != nil {
				return err
			}
			if is {
				verdict = end
			}
		}
		return nil
	}, "conditions")
	return verdict, err
}

// aggregateJob adds up the pods and decides on the end: one failed member is a FailureTarget, which becomes
// Failed when no pod is active in any member; all members complete is SuccessCriteriaMet and Complete. The
// counters of finished pods go on rising after that.
func (now clock) aggregateJob(obj *unstructured.Unstructured, items []interpreter.AggregatedStatusItem) error {
	end := jobEnd{members: len(items)}
	status := map[string]any{}
	if err := jobCounters.sum(status, byCluster(items), end.add); err != nil {
		return err
	}
	// Members that have left go on counting.
	for i, name := range jobCounters.optional[1:] {
		was, _, err := int32At(obj.Object, "status", name)
		if err != nil {
			return err
		}
		n, _, err := int32At(status, name)
		if err != nil {
			return err
		}
		jobCounters.write(status, i+1, int64(max(was, n)))
	}
	was, err := endingOf(obj.Object)
	if err != nil {
		return err
	}
	_, active := status["active"]
	will := now.ending(was, end, active)
	if will.finished() {
		delete(status, "active")
	}
	setMoment(status, "startTime", will.start)
	setMoment(status, "completionTime", will.completion)
	setList(status, "conditions", will.conditions())
	return putStatus(obj, status)
}

// ending is how far a Job is from its end: the conditions that are True, nil if they are not, and the times,
// zero if they are not set. Other conditions, and those that are False, are not kept.
type ending struct {
	failureTarget, failed, successCriteriaMet, complete map[string]any
	start, completion                                   time.Time
}

func (e ending) finished() bool { return e.failed != nil || e.complete != nil }

// conditions are in the order in which Karmada lists them. That of the failure has none there; it is in the
// order of its coming.
func (e ending) conditions() (list []any) {
	for _, c := range []map[string]any{e.failureTarget, e.failed, e.complete, e.successCriteriaMet} {
		if c != nil {
			list = append(list, c)
		}
	}
	return list
}

// endingOf is what the template's own status says.
func endingOf(obj map[string]any) (e ending, err error) {
	if e.start, err = momentAt(obj, "status", "startTime"); err != nil {
		return e, err
	}
	if e.completion, err = momentAt(obj, "status", "completionTime"); err != nil {
		return e, err
	}
	err = eachAt(obj, func(c map[string]any) error {
		typ, err := textAt(c, "type")
		if err != nil {
			return err
		}
		status, err := textAt(c, "status")
		if err != nil || status != string(corev1.ConditionTrue) {
			return err
		}
		switch batchv1.JobConditionType(typ) {
		case batchv1.JobFailureTarget:
			e.failureTarget = c
		case batchv1.JobFailed:
			e.failed = c
		case batchv1.JobSuccessCriteriaMet:
			e.successCriteriaMet = c
		case batchv1.JobComplete:
			e.complete = c
		}
		return nil
	}, "status", "conditions")
	return e, err
}

// ending goes as far towards the end as the members have come and an API server will go along. It never goes
// back: a Job that is about to fail fails, even if the members that failed have left.
//
// The start is set once all members have one, so that it does not move as more of them start, and stays what
// it is, since an API server refuses another. The completion time waits for Complete for the same reason.
func (now clock) ending(e ending, members jobEnd, active bool) ending {
	completion := e.completion
	e.completion = time.Time{}
	if e.start.IsZero() && members.members > 0 && members.started == members.members {
		e.start = members.start
	}
	// The start of the Job once it has ended, when a member that never started no longer will.
	start := e.start
	if start.IsZero() {
		start = members.start
	}
	allComplete := members.members > 0 && members.complete == members.members
	switch {
	case e.complete != nil:
		e.completion = completion
	case e.failed != nil:
	case e.successCriteriaMet == nil && (e.failureTarget != nil || len(members.failed) > 0):
		message := "Job executed failed in member clusters " + strings.Join(members.failed, ",")
		if e.failureTarget != nil && len(members.failed) == 0 {
			// The members that failed have left; which they were is in the condition.
			message, _ = e.failureTarget["message"].(string)
		}
		if e.failureTarget == nil {
			e.failureTarget = now.condition(batchv1.JobFailureTarget, "JobFailed", message)
		}
		// A member that has not reported may have active pods.
		if !active && members.reported == members.members && !start.IsZero() {
			e.start = start
			e.failed = now.condition(batchv1.JobFailed, "JobFailed", message)
		}
	case allComplete:
		if e.successCriteriaMet == nil {
			e.successCriteriaMet = now.condition(batchv1.JobSuccessCriteriaMet, "CompletionsReached", "All member clusters have met success criteria")
		}
		if completion.IsZero() {
			completion = members.completion
		}
		if !active && !start.IsZero() && !completion.IsZero() {
			e.start, e.completion = start, latest(start, completion)
			e.complete = now.condition(batchv1.JobComplete, "Completed", "Job completed")
		}
	}
	return e
}

// condition makes a condition that has just become True.
func (now clock) condition(typ batchv1.JobConditionType, reason, message string) map[string]any {
	at := now().UTC().Format(time.RFC3339)
	return map[string]any{
		"type": string(typ), "status": string(corev1.ConditionTrue),
		"reason": reason, "message": message, "lastProbeTime": at, "lastTransitionTime": at,
	}
}
