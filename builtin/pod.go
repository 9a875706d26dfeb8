package builtin

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

var pod = kind{
	gvk: corev1.SchemeGroupVersion.WithKind("Pod"),
	rules: rules{
		interpreter.InterpretReplica:    interpreter.ReplicaFunc(bare.replica),
		interpreter.Retain:              interpreter.RetainFunc(retainAssigned),
		interpreter.AggregateStatus:     interpreter.AggregateFunc(aggregatePod),
		interpreter.InterpretHealth:     interpreter.HealthFunc(podHealth),
		interpreter.InterpretDependency: interpreter.DependencyFunc(bare.dependencies),
	},
	extra: rules{
		interpreter.Retain:             interpreter.RetainFunc(retainImmutable),
		interpreter.InterpretComponent: interpreter.ComponentFunc(bare.components),
	},
}

// bare is a Pod that nothing scales.
var bare = workload{replicas: one}

// containerLists are the containers that a template can have; ephemeral ones are added to running pods only.
var containerLists = []string{"containers", "initContainers"}

// retainAssigned keeps what the member assigns to every pod: the node, the service account, and the volumes
// and mounts that bring the account's token. What the member has not assigned, the template does not either:
// these fields are the member's alone.
//
// Containers that the member has injected are not taken over, and neither are tolerations: admission adds the
// usual ones to every update again. Where that is not enough, retainImmutable is.
func retainAssigned(desired, observed *unstructured.Unstructured) error {
	for _, name := range []string{"nodeName", "serviceAccountName"} {
		if err := replace(textAt, desired.Object, observed.Object, "spec", name); err != nil {
			return err
		}
	}
	if err := replace(listAt, desired.Object, observed.Object, "spec", "volumes"); err != nil {
		return err
	}
	for _, list := range containerLists {
		err := eachPair(desired.Object, observed.Object, func(mine, theirs map[string]any) error {
			return replace(listAt, mine, theirs, "volumeMounts")
		}, "spec", list)
		if err != nil {
			return err
		}
	}
	return nil
}

// replace makes a field what it is in another object, missing included.
func replace[T any](read reader[T], desired, observed map[string]any, path ...string) error {
	if _, err := read(observed, path...); err != nil {
		return err
	}
	v, err := valueAt(observed, path...)
	if err != nil {
		return err
	}
	if v == nil {
		remove(desired, path...)
		return nil
	}
	return set(desired, interpreter.CloneValue(v), path...)
}

// eachPair calls fn with the objects of a list in one object and their namesakes in the same list of another.
// Of several in one that share a name the first counts.
func eachPair(one, other map[string]any, fn func(one, other map[string]any) error, path ...string) error {
	byName := map[string]map[string]any{}
	err := eachAt(one, func(item map[string]any) error {
		name, err := textAt(item, "name")
		if _, taken := byName[name]; !taken && item != nil {
			byName[name] = item
		}
		return err
	}, path...)
	if err != nil {
		return err
	}
	return eachAt(other, func(item map[string]any) error {
		name, err := textAt(item, "name")
		if err != nil || byName[name] == nil {
			return err
		}
		return fn(byName[name], item)
	}, path...)
}

// retainImmutable keeps all of the spec that an API server does not let anybody change, which is nearly all of
// it: images, the deadline, further tolerations and fewer scheduling gates get through, see
// https://kubernetes.io/docs/concepts/workloads/pods/#pod-update-and-replacement and
// https://kubernetes.io/docs/concepts/scheduling-eviction/pod-scheduling-readiness.
//
// What the member's admission has defaulted, injected or assigned thus never stands in the way of an update.
// The price is that a forbidden change in the template has no effect instead of failing in every sync.
func retainImmutable(desired, observed *unstructured.Unstructured) error {
	theirs, err := mapAt(observed.Object, "spec")
	if err != nil {
		return err
	}
	if _, err := mapAt(desired.Object, "spec"); err != nil || theirs == nil {
		return err
	}
	spec := map[string]any{"spec": interpreter.CloneValue(theirs)}
	for _, list := range containerLists {
		err := eachAt(spec, func(kept map[string]any) error { _, err := textAt(kept, "image"); return err }, "spec", list)
		if err != nil {
			return err
		}
		err = eachPair(spec, desired.Object, func(kept, mine map[string]any) error {
			image, err := textAt(mine, "image")
			if image != "" {
				kept["image"] = image
			}
			return err
		}, "spec", list)
		if err != nil {
			return err
		}
	}
	if err := addTolerations(spec, desired.Object); err != nil {
		return err
	}
	if err := shortenDeadline(spec, desired.Object); err != nil {
		return err
	}
	if err := removeGates(spec, desired.Object); err != nil {
		return err
	}
	desired.Object["spec"] = spec["spec"]
	return nil
}

// addTolerations adds those of the template that the member does not have: taking one away is refused.
func addTolerations(kept, desired map[string]any) error {
	path := []string{"spec", "tolerations"}
	have, err := listAt(kept, path...)
	if err != nil {
		return err
	}
	seen := map[toleration]bool{}
	err = eachAt(kept, func(theirs map[string]any) error {
		t, err := tolerationOf(theirs)
		seen[t] = true
		return err
	}, path...)
	if err != nil {
		return err
	}
	n := len(have)
	err = eachAt(desired, func(mine map[string]any) error {
		t, err := tolerationOf(mine)
		if err == nil && !seen[t] {
			seen[t] = true
			have = append(have, interpreter.CloneValue(mine))
		}
		return err
	}, path...)
	if err != nil || len(have) == n {
		return err
	}
	return set(kept, have, path...)
}

// toleration is what makes two tolerations the same, with the operator that an API server fills in.
type toleration struct {
	key, operator, value, effect string
	seconds                      int64
	bounded                      bool
}

// tolerationOf reads a toleration. A bound of zero seconds is not the same as no bound.
func tolerationOf(m map[string]any) (t toleration, err error) {
	if t.key, err = textAt(m, "key"); err != nil {
		return t, err
	}
	if t.operator, err = textAt(m, "operator"); err != nil {
		return t, err
	}
	if t.operator == "" {
		t.operator = string(corev1.TolerationOpEqual)
	}
	if t.value, err = textAt(m, "value"); err != nil {
		return t, err
	}
	if t.effect, err = textAt(m, "effect"); err != nil {
		return t, err
	}
	t.seconds, t.bounded, err = int64At(m, "tolerationSeconds")
	return t, err
}

// shortenDeadline takes over a deadline that is set or brought forward: the only changes that are accepted.
func shortenDeadline(kept, desired map[string]any) error {
	path := []string{"spec", "activeDeadlineSeconds"}
	mine, wanted, err := int64At(desired, path...)
	if err != nil {
		return err
	}
	theirs, found, err := int64At(kept, path...)
	if err != nil || !wanted || found && theirs <= mine {
		return err
	}
	return set(kept, mine, path...)
}

// removeGates takes away the scheduling gates that the template does not have: adding one is refused, and while one
// is there the pod is not scheduled. A gate that the member's admission has put there goes too, since nothing tells it
// from one that the template has given up.
func removeGates(kept, desired map[string]any) error {
	path := []string{"spec", "schedulingGates"}
	wanted := map[string]bool{}
	err := eachAt(desired, func(gate map[string]any) error {
		name, err := textAt(gate, "name")
		wanted[name] = true
		return err
	}, path...)
	if err != nil {
		return err
	}
	var left []any
	err = eachAt(kept, func(gate map[string]any) error {
		name, err := textAt(gate, "name")
		if wanted[name] {
			left = append(left, gate)
		}
		return err
	}, path...)
	if err != nil {
		return err
	}
	remove(kept, path...)
	if left == nil {
		return nil
	}
	return set(kept, left, path...)
}

// podHealth asks whether the pod does its work: a failed one does not, though nothing more will come of it.
// Whether a container that has ended may be started again is the kubelet's business, and shows in the phase.
func podHealth(obj *unstructured.Unstructured) (interpreter.Health, error) {
	phase, err := textAt(obj.Object, "status", "phase")
	if err != nil {
		return interpreter.Health{}, err
	}
	ready, err := conditionAt(obj.Object, string(corev1.PodReady))
	if err != nil {
		return interpreter.Health{}, err
	}
	switch corev1.PodPhase(phase) {
	case corev1.PodSucceeded:
		return verdict(interpreter.Healthy, phase, "all containers have ended with success"), nil
	case corev1.PodFailed:
		return podFailure(obj.Object)
	case corev1.PodUnknown:
		return verdict(interpreter.Unknown, phase, "the node of the pod does not answer"), nil
	case corev1.PodRunning:
		if ready.isTrue() {
			return verdict(interpreter.Healthy, "Ready", "the pod is running and ready"), nil
		}
	}
	if health, err := stuckContainer(obj.Object); err != nil || health.Status != "" {
		return health, err
	}
	if phase == string(corev1.PodRunning) {
		return verdict(interpreter.Progressing, "NotReady", "the pod is running but not ready"), nil
	}
	return verdict(interpreter.Progressing, "NotStarted", "the pod is not running yet"), nil
}

// podFailure tells why a pod has failed, as far as the kubelet does.
func podFailure(obj map[string]any) (interpreter.Health, error) {
	reason, err := textAt(obj, "status", "reason")
	if err != nil {
		return interpreter.Health{}, err
	}
	message, err := textAt(obj, "status", "message")
	if reason == "" {
		reason = string(corev1.PodFailed)
	}
	if message == "" {
		message = "a container has ended with a failure"
	}
	return interpreter.Health{Status: interpreter.Degraded, Reason: reason, Message: message}, err
}

// stuckContainer is Degraded while the kubelet waits before it tries a container again (CrashLoopBackOff,
// ImagePullBackOff) or cannot make it (ErrImagePull, InvalidImageName, CreateContainerConfigError). It is empty otherwise.
func stuckContainer(obj map[string]any) (health interpreter.Health, err error) {
	for _, list := range []string{"containerStatuses", "initContainerStatuses"} {
		err := eachAt(obj, func(container map[string]any) error {
			reason, err := textAt(container, "state", "waiting", "reason")
			if err != nil || !isStuck(reason) || health.Status != "" {
				return err
			}
			message, err := textAt(container, "state", "waiting", "message")
			if err != nil {
				return err
			}
			name, err := textAt(container, "name")
			health = verdict(interpreter.Degraded, reason, "container %s: %s", name, message)
			return err
		}, "status", list)
		if err != nil {
			return health, err
		}
	}
	return health, nil
}

func isStuck(reason string) bool {
	return reason == "InvalidImageName" || strings.HasSuffix(reason, "BackOff") || strings.HasPrefix(reason, "Err") || strings.HasSuffix(reason, "Error")
}
