package builtin

import (
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

var job = kind{
	gvk: batchv1.SchemeGroupVersion.WithKind("Job"),
	rules: rules{
		interpreter.InterpretReplica:    interpreter.ReplicaFunc(running.replica),
		interpreter.ReviseReplica:       revise("spec", "parallelism"),
		interpreter.Retain:              interpreter.RetainFunc(retainGenerated),
		interpreter.AggregateStatus:     interpreter.AggregateFunc(clock(time.Now).aggregateJob),
		interpreter.InterpretStatus:     interpreter.StatusFunc(reflectJob),
		interpreter.InterpretDependency: interpreter.DependencyFunc(running.dependencies),
		interpreter.Prune:               pruneFunc(pruneJob),
	},
	extra: rules{
		interpreter.InterpretHealth:    interpreter.HealthFunc(jobHealth),
		interpreter.InterpretComponent: interpreter.ComponentFunc(running.components),
	},
}

// running counts the pods of a Job that run at the same time.
var running = workload{
	template: []string{"spec", "template"},
	replicas: func(obj map[string]any) (int32, error) { return parallelism(obj, "spec") },
}

// parallelism is how many pods a job spec runs at a time: as many as it says, 1 by default, and never more
// than must complete. How many have completed already does not count, nor does suspension: the answer is about
// the spec, so that it does not change while the Job runs.
func parallelism(obj map[string]any, spec ...string) (int32, error) {
	n, err := countAt(obj, 1, append(slices.Clone(spec), "parallelism")...)
	if err != nil {
		return 0, err
	}
	completions, err := countAt(obj, n, append(slices.Clone(spec), "completions")...)
	return min(n, completions), err
}

// The labels that the API server generates for a Job, by their old names and their new ones. They carry the
// Job's UID, which is another in every cluster.
var (
	generatedUIDs   = []string{"controller-uid", batchv1.ControllerUidLabel}
	generatedLabels = append(slices.Clone(generatedUIDs), "job-name", batchv1.JobNameLabel)
)

// Where the generated labels are.
var (
	selectorLabels = []string{"spec", "selector", "matchLabels"}
	templateLabels = []string{"spec", "template", "metadata", "labels"}
)

// retainGenerated keeps the selector and the pod labels, which are generated in the member and immutable. They
// are taken as a whole: a label that the template adds later is refused by the member's API server, too.
// Expressions in the selector are never generated and stay the template's.
func retainGenerated(desired, observed *unstructured.Unstructured) error {
	for _, path := range [][]string{selectorLabels, templateLabels} {
		labels, err := mapAt(observed.Object, path...)
		if err != nil {
			return err
		}
		for key := range labels {
			if _, err := textAt(labels, key); err != nil {
				return within(strings.Join(path, "."), err)
			}
		}
		if labels == nil {
			continue
		}
		if err := set(desired.Object, interpreter.CloneValue(labels), path...); err != nil {
			return err
		}
	}
	return nil
}

// pruneJob takes away the generated selector and labels, and the time to live: an object that the member
// deletes by itself would be made again.
func pruneJob(obj map[string]any) error {
	remove(obj, "spec", "ttlSecondsAfterFinished")
	manual, err := boolAt(obj, "spec", "manualSelector")
	if manual || err != nil {
		return err
	}
	for _, name := range generatedUIDs {
		remove(obj, append(slices.Clone(selectorLabels), name)...)
	}
	for _, name := range generatedLabels {
		remove(obj, append(slices.Clone(templateLabels), name)...)
	}
	return nil
}

// jobCounters leave out ready and terminating, which the template could not keep: an API server bounds them by
// active, and a finished Job must not have any.
var jobCounters = counters{optional: []string{"active", "succeeded", "failed"}}

// reflectJob leaves out what only the controller in the member needs: uncounted pods and indexes, which mean
// nothing beside those of another cluster. An empty status is reported as such, since it says that the
// controller has not begun. Conditions are whole, for whoever reads the single clusters.
func reflectJob(obj *unstructured.Unstructured) (any, error) {
	if status, err := mapAt(obj.Object, "status"); status == nil || err != nil {
		return nil, err
	}
	status := map[string]any{}
	if err := jobCounters.copyTo(status, obj.Object); err != nil {
		return nil, err
	}
	for _, name := range []string{"startTime", "completionTime"} {
		t, err := momentAt(obj.Object, "status", name)
		if err != nil {
			return nil, err
		}
		setMoment(status, name, t)
	}
	conditions, err := listAt(obj.Object, "status", "conditions")
	if err != nil {
		return nil, err
	}
	setList(status, "conditions", conditions)
	return interpreter.CloneValue(status), nil
}

// jobHealth tells how the Job itself fares. A failure of some pods is part of the Job's life. FailureTarget is a
// failure already: the decision has been made, only pods are still ending. What has ended stays what it is
// when somebody suspends it afterwards.
func jobHealth(obj *unstructured.Unstructured) (interpreter.Health, error) {
	for _, bad := range []batchv1.JobConditionType{batchv1.JobFailed, batchv1.JobFailureTarget} {
		c, err := conditionAt(obj.Object, string(bad))
		if err != nil {
			return interpreter.Health{}, err
		}
		if c.isTrue() {
			return interpreter.Health{Status: interpreter.Degraded, Reason: c.reason, Message: c.message}, nil
		}
	}
	complete, err := conditionAt(obj.Object, string(batchv1.JobComplete))
	if err != nil {
		return interpreter.Health{}, err
	}
	suspended, err := boolAt(obj.Object, "spec", "suspend")
	if err != nil {
		return interpreter.Health{}, err
	}
	start, err := momentAt(obj.Object, "status", "startTime")
	if err != nil {
		return interpreter.Health{}, err
	}
	active, _, err := int32At(obj.Object, "status", "active")
	if err != nil {
		return interpreter.Health{}, err
	}
	switch {
	case complete.isTrue():
		return verdict(interpreter.Healthy, "Complete", "the job is complete"), nil
	case suspended:
		return verdict(interpreter.Suspended, "Suspended", "the job is halted while spec.suspend is true"), nil
	case active > 0 || !start.IsZero():
		return verdict(interpreter.Healthy, "Running", "the job is running, %d pods are active", active), nil
	}
	return verdict(interpreter.Progressing, "NotStarted", "the job has not started yet"), nil
}
