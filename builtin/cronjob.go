package builtin

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

// There is no ReviseReplica: a schedule cannot be divided between clusters. Nor is there InterpretReplica, as
// most of the time nothing runs at all.
var cronJob = kind{
	gvk: batchv1.SchemeGroupVersion.WithKind("CronJob"),
	rules: rules{
		interpreter.AggregateStatus:     interpreter.AggregateFunc(aggregateCronJob),
		interpreter.InterpretDependency: interpreter.DependencyFunc(scheduled.dependencies),
	},
	extra: rules{
		interpreter.InterpretHealth:    interpreter.HealthFunc(cronJobHealth),
		interpreter.InterpretComponent: interpreter.ComponentFunc(scheduled.components),
	},
}

// scheduled counts the pods of one run. How many runs overlap is up to the schedule.
var scheduled = workload{
	template: []string{"spec", "jobTemplate", "spec", "template"},
	replicas: func(obj map[string]any) (int32, error) { return parallelism(obj, "spec", "jobTemplate", "spec") },
}

// aggregateCronJob lists the running Jobs of all members and keeps the latest times. No items say nothing:
// what was last known stays.
func aggregateCronJob(obj *unstructured.Unstructured, items []interpreter.AggregatedStatusItem) error {
	if len(items) == 0 {
		return nil
	}
	status, err := statusOf(obj)
	if err != nil {
		return err
	}
	var active []any
	var schedule, success time.Time
	_, err = eachReported(byCluster(items), func(_ string, member raw) error {
		last, err := member.moment("lastScheduleTime")
		if err != nil {
			return err
		}
		schedule = latest(schedule, last)
		if last, err = member.moment("lastSuccessfulTime"); err != nil {
			return err
		}
		success = latest(success, last)
		active, err = appendObjects(active, member, "active")
		return err
	})
	if err != nil {
		return err
	}
	setList(status, "active", active)
	setMoment(status, "lastScheduleTime", schedule)
	setMoment(status, "lastSuccessfulTime", success)
	return putStatus(obj, status)
}

// appendObjects appends the objects of a list in a member's status, decoded as they are: fields that are newer
// than this package are kept.
func appendObjects(list []any, member raw, path ...string) ([]any, error) {
	err := member.each(func(item raw) error {
		v, err := item.value()
		list = append(list, v)
		return err
	}, path...)
	return list, err
}

// setList writes a list, and removes it if it is empty: as the API's own types write it.
func setList(obj map[string]any, name string, list []any) {
	if len(list) == 0 {
		delete(obj, name)
		return
	}
	obj[name] = list
}

// cronJobHealth is that of the schedule: whether a run succeeds is told by its Job.
func cronJobHealth(obj *unstructured.Unstructured) (interpreter.Health, error) {
	suspended, err := boolAt(obj.Object, "spec", "suspend")
	if err != nil {
		return interpreter.Health{}, err
	}
	if suspended {
		return verdict(interpreter.Suspended, "Suspended", "no runs are started while spec.suspend is true"), nil
	}
	return verdict(interpreter.Healthy, "Scheduled", "runs are started as scheduled"), nil
}
