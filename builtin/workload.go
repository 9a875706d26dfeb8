package builtin

import (
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/podtemplate"
)

// workload is where a kind that runs pods keeps what the rules of all such kinds read.
type workload struct {
	// template leads to the pod template; empty for a Pod, which is its own.
	template []string
	// replicas counts the pods that the object asks for.
	replicas func(obj map[string]any) (int32, error)
}

// scaled is a workload of the common shape: a number of replicas and their template. Deployment, ReplicaSet and
// StatefulSet have it.
var scaled = workload{template: []string{"spec", "template"}, replicas: replicasOf}

// one is the number of pods where the object has no say in it.
func one(map[string]any) (int32, error) { return 1, nil }

// replicasOf is spec.replicas, which the API server defaults to 1.
func replicasOf(obj map[string]any) (int32, error) { return countAt(obj, 1, "spec", "replicas") }

// countAt is a number of things, which cannot be negative. Missing stands for null too, as an API server fills
// in its default for both. What does not fit in 32 bits is an error: cut off, it would be another number.
func countAt(obj map[string]any, missing int32, path ...string) (int32, error) {
	n, found, err := int32At(obj, path...)
	switch {
	case err != nil:
		return 0, err
	case !found:
		return missing, nil
	case n < 0:
		return 0, fault(path, "must not be negative, got %d", n)
	}
	return n, nil
}

// replica is InterpretReplica. The requirements are never nil: that a replica runs in the namespace is known
// even where it needs nothing, and quotas count it by that.
func (w workload) replica(obj *unstructured.Unstructured) (int32, *interpreter.ReplicaRequirements, error) {
	n, err := w.replicas(obj.Object)
	if err != nil {
		return 0, nil, err
	}
	template, err := mapAt(obj.Object, w.template...)
	if err != nil {
		return 0, nil, err
	}
	r, err := podtemplate.Requirements(template)
	if err != nil {
		return 0, nil, w.inTemplate(err)
	}
	if r == nil {
		r = &interpreter.ReplicaRequirements{}
	}
	r.Namespace, err = namespaceOf(obj)
	return n, r, err
}

// onlyComponent is the name of the component of a workload that has one. Kueue calls the pods of such
// workloads the same.
const onlyComponent = "main"

// components is InterpretComponent: all replicas are one component.
func (w workload) components(obj *unstructured.Unstructured) ([]interpreter.Component, error) {
	n, r, err := w.replica(obj)
	if err != nil {
		return nil, err
	}
	return []interpreter.Component{{Name: onlyComponent, Replicas: n, ReplicaRequirements: podtemplate.ForComponent(r)}}, nil
}

// dependencies is InterpretDependency: what the pods need.
func (w workload) dependencies(obj *unstructured.Unstructured) ([]interpreter.DependentObjectReference, error) {
	template, err := mapAt(obj.Object, w.template...)
	if err != nil {
		return nil, err
	}
	namespace, err := namespaceOf(obj)
	if err != nil {
		return nil, err
	}
	list, err := podtemplate.Dependencies(template, namespace)
	if err != nil {
		return nil, w.inTemplate(err)
	}
	return list, nil
}

// inTemplate puts the place of the template before the path in an error.
func (w workload) inTemplate(err error) error {
	if f := (*podtemplate.FieldError)(nil); errors.As(err, &f) {
		err = &fieldError{f.Path, f.Problem}
	}
	if len(w.template) == 0 {
		return err
	}
	return within(strings.Join(w.template, "."), err)
}

// revise is ReviseReplica of a field. An absent field is created: the API server would have put 1 there.
func revise(path ...string) interpreter.Interpreter {
	return interpreter.ReviseFunc(func(obj *unstructured.Unstructured, n int32) error {
		if _, _, err := int64At(obj.Object, path...); err != nil {
			return err
		}
		return set(obj.Object, int64(n), path...)
	})
}

// rollout is how far a controller has come with the pods of the present template.
type rollout struct {
	// wanted should run, updated are of the present template, available are ready for long enough.
	wanted, updated, available int32
}

// health is healthy when all that is wanted is updated and what is updated is available. More than is wanted
// is healthy too, since a surge is part of every rollout. All else may pass and is Progressing; the kinds
// whose controllers say when it will not look at their conditions.
func (r rollout) health() interpreter.Health {
	switch {
	case r.updated < r.wanted:
		return verdict(interpreter.Progressing, "Updating", "%d of %d replicas are updated", r.updated, r.wanted)
	case r.available < r.updated:
		return verdict(interpreter.Progressing, "Unavailable", "%d of %d updated replicas are available", r.available, r.updated)
	}
	return verdict(interpreter.Healthy, "Available", "%d replicas are available, %d are wanted", r.available, r.wanted)
}

// rolloutOf reads the rollout of a workload that has a number of replicas.
func rolloutOf(obj map[string]any) (r rollout, err error) {
	if r.wanted, err = replicasOf(obj); err != nil {
		return r, err
	}
	if r.updated, _, err = int32At(obj, "status", "updatedReplicas"); err != nil {
		return r, err
	}
	r.available, _, err = int32At(obj, "status", "availableReplicas")
	return r, err
}

// failedBy replaces a health that is not good by what a condition has to say, if it has the given status. A
// health that is good stays: conditions lag behind counters, and a condition from an earlier trouble may
// outlast it.
func failedBy(health interpreter.Health, obj map[string]any, conditionType, status string) (interpreter.Health, error) {
	if health.IsHealthy() {
		return health, nil
	}
	c, err := conditionAt(obj, conditionType)
	if err != nil || c.status != status {
		return health, err
	}
	return interpreter.Health{Status: interpreter.Degraded, Reason: c.reason, Message: c.message}, nil
}
