package builtin

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

// The template of a Pod lists the containers of several pods under the same names, and an API server reads the list
// as that of one pod: a container that has ended and is not to be started again must not be found running, waiting
// or about to start in any later status. It looks for names, so that the end in one member stands in the way of
// all others, in the very status that lists both. A status with such a container is refused as a whole.
//
// Which end is final follows from the spec of the template: see https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy
// and https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers. Two rules are not told there. The end of a
// container that the spec does not have, because the member's admission has injected it, is final, and so is that of an
// ephemeral one.

// podPhases is the order in which phases count: the pod as a whole is in the first that some member is in.
var podPhases = texts([]corev1.PodPhase{corev1.PodFailed, corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded})

// containerStatuses are the lists in which a pod tells about its containers, and where its spec has them. Ephemeral
// ones are added to running pods only: no template has them.
var containerStatuses = []struct{ statuses, containers string }{
	{"containerStatuses", "containers"},
	{"initContainerStatuses", "initContainers"},
	{"ephemeralContainerStatuses", ""},
}

// aggregatePod folds the phase and lists the containers of all members. The rest of the status, addresses
// and conditions above all, is one pod's own. A member that has not reported is Pending, and no members say
// nothing: what was last known stays.
func aggregatePod(obj *unstructured.Unstructured, items []interpreter.AggregatedStatusItem) error {
	if len(items) == 0 {
		return nil
	}
	status, err := statusOf(obj)
	if err != nil {
		return err
	}
	best := len(podPhases)
	lists := make([][]containerStatus, len(containerStatuses))
	reported, err := eachReported(byCluster(items), func(_ string, member raw) error {
		phase, err := member.text("phase")
		if err != nil {
			return err
		}
		if i := slices.Index(podPhases, phase); i >= 0 {
			best = min(best, i)
		}
		for i, kind := range containerStatuses {
			err := member.each(func(item raw) error {
				c, err := readContainerStatus(item)
				lists[i] = append(lists[i], c)
				return err
			}, kind.statuses)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if reported < len(items) {
		best = min(best, slices.Index(podPhases, string(corev1.PodPending)))
	}
	delete(status, "phase")
	if best < len(podPhases) {
		status["phase"] = podPhases[best]
	}
	for i, kind := range containerStatuses {
		list, err := acceptable(obj.Object, kind.statuses, kind.containers, lists[i])
		if err != nil {
			return err
		}
		setList(status, kind.statuses, list)
	}
	return putStatus(obj, status)
}

// containerStatus is what a member reports of a container. The exit code is that of a container that has ended, and
// nil while it has not, or has been started again.
type containerStatus struct {
	name     string
	exitCode *int32
	value    any
}

func readContainerStatus(item raw) (c containerStatus, err error) {
	if c.name, err = item.text("name"); err != nil {
		return c, err
	}
	ended, err := item.at("state", "terminated")
	if err != nil {
		return c, err
	}
	if ended != nil {
		code, err := item.int32("state", "terminated", "exitCode")
		if err != nil {
			return c, err
		}
		c.exitCode = &code
	}
	c.value, err = item.value()
	return c, err
}

// acceptable is what of a list an API server takes in place of the one that the template has.
//
// A container that has ended for good in some members and not in others is listed where it has not: the pod as a whole
// goes on. Once it has ended in all members it is listed with all its ends.
//
// One that has ended for good in the template and runs again, in a new member perhaps, is not listed the first time,
// which the server allows, and from then on it is.
func acceptable(obj map[string]any, statuses, containers string, reported []containerStatus) (list []any, err error) {
	hasEnded, err := finalNames(obj, statuses, containers)
	if err != nil {
		return nil, err
	}
	final := make([]bool, len(reported))
	goesOn := map[string]bool{}
	for i, c := range reported {
		if final[i], err = isFinal(obj, containers, c.name, c.exitCode); err != nil {
			return nil, err
		}
		if !final[i] {
			goesOn[c.name] = true
		}
	}
	for i, c := range reported {
		if goesOn[c.name] && (final[i] || c.exitCode == nil && hasEnded[c.name]) {
			continue
		}
		if err := keepRequested(obj, containers, c); err != nil {
			return nil, err
		}
		list = append(list, c.value)
	}
	return list, nil
}

// finalNames are the containers of which the template's own status says that they have ended for good.
func finalNames(obj map[string]any, statuses, containers string) (map[string]bool, error) {
	names := map[string]bool{}
	err := eachAt(obj, func(item map[string]any) error {
		name, err := textAt(item, "name")
		if err != nil {
			return err
		}
		ended, err := mapAt(item, "state", "terminated")
		if ended == nil || err != nil {
			return err
		}
		code, _, err := int32At(ended, "exitCode")
		if err != nil {
			return within("state.terminated", err)
		}
		is, err := isFinal(obj, containers, name, &code)
		if is {
			names[name] = true
		}
		return err
	}, "status", statuses)
	return names, err
}

// isFinal says whether an API server lets a container that has ended with this exit code be nothing but ended. Nil
// is no end.
//
// A container's own rules come before its own policy, and this before the pod's; in any of them, an action that starts all
// containers frees all of them. Ephemeral containers are listed nowhere, so that their list has no name.
func isFinal(obj map[string]any, containers, name string, exitCode *int32) (bool, error) {
	if exitCode == nil {
		return false, nil
	}
	if containers == "" {
		return true, nil
	}
	if all, err := restartsAll(obj); all || err != nil {
		return false, err
	}
	container, err := containerOf(obj, containers, name)
	if container == nil || err != nil {
		return true, err
	}
	policy, err := textAt(obj, "spec", "restartPolicy")
	if err != nil {
		return false, err
	}
	own, err := textAt(container, "restartPolicy")
	if err != nil {
		return false, err
	}
	if own != "" {
		policy = own
		action, err := restartAction(container, *exitCode)
		if err != nil || action == corev1.ContainerRestartRuleActionRestart {
			return false, err
		}
	}
	switch corev1.RestartPolicy(policy) {
	case corev1.RestartPolicyNever:
		return true, nil
	case corev1.RestartPolicyOnFailure:
		return *exitCode == 0, nil
	}
	return false, nil
}

// containerOf is the container of a name in one of a pod's lists, nil if there is none.
func containerOf(obj map[string]any, list, name string) (found map[string]any, err error) {
	err = eachAt(obj, func(container map[string]any) error {
		has, err := textAt(container, "name")
		if found == nil && has == name {
			found = container
		}
		return err
	}, "spec", list)
	return found, err
}

// restartsAll says whether some container's end may start all containers again.
func restartsAll(obj map[string]any) (all bool, err error) {
	for _, list := range containerLists {
		err := eachAt(obj, func(container map[string]any) error {
			return eachAt(container, func(rule map[string]any) error {
				action, err := textAt(rule, "action")
				all = all || action == string(corev1.ContainerRestartRuleActionRestartAllContainers)
				return err
			}, "restartPolicyRules")
		}, "spec", list)
		if err != nil {
			return false, err
		}
	}
	return all, nil
}

// restartAction is that of the first rule of a container that matches an exit code, empty if none does.
func restartAction(container map[string]any, exitCode int32) (first corev1.ContainerRestartRuleAction, err error) {
	err = eachAt(container, func(rule map[string]any) error {
		operator, err := textAt(rule, "exitCodes", "operator")
		if err != nil {
			return err
		}
		codes, err := listAt(rule, "exitCodes", "values")
		if err != nil {
			return err
		}
		is := false
		for i, v := range codes {
			code, ok := integer(v)
			if !ok {
				return fault([]string{"exitCodes", "values"}, "must hold whole numbers, got %s at %d", describe(v), i)
			}
			is = is || code == int64(exitCode)
		}
		matches := operator == string(corev1.ContainerRestartRuleOnExitCodesOpIn) && is ||
			operator == string(corev1.ContainerRestartRuleOnExitCodesOpNotIn) && !is
		if !matches || first != "" {
			return nil
		}
		action, err := textAt(rule, "action")
		first = corev1.ContainerRestartRuleAction(action)
		return err
	}, "restartPolicyRules")
	return first, err
}

// keepRequested takes from a container's status the devices that the template does not ask for, because the member's
// admission has added them or has made a claim of a request. An API server refuses those. Ephemeral
// containers have none.
func keepRequested(obj map[string]any, containers string, c containerStatus) error {
	value, ok := c.value.(map[string]any)
	if !ok || value["allocatedResourcesStatus"] == nil {
		return nil
	}
	if containers == "" {
		delete(value, "allocatedResourcesStatus")
		return nil
	}
	container, err := containerOf(obj, containers, c.name)
	if container == nil || err != nil {
		return err
	}
	requested, err := requestedNames(container)
	if err != nil {
		return err
	}
	var kept []any
	err = eachAt(value, func(resource map[string]any) error {
		name, err := textAt(resource, "name")
		if requested[name] {
			kept = append(kept, resource)
		}
		return err
	}, "allocatedResourcesStatus")
	setList(value, "allocatedResourcesStatus", kept)
	return err
}

// requestedNames are the resources of a container by the names that its status has for them.
func requestedNames(container map[string]any) (map[string]bool, error) {
	names := map[string]bool{}
	// An object that comes from no API server may have limits alone.
	for _, list := range []string{"requests", "limits"} {
		resources, err := mapAt(container, "resources", list)
		if err != nil {
			return nil, err
		}
		for name := range resources {
			names[name] = true
		}
	}
	err := eachAt(container, func(claim map[string]any) error {
		name, err := textAt(claim, "name")
		if err != nil {
			return err
		}
		request, err := textAt(claim, "request")
		if request != "" {
			name += "/" + request
		}
		names["claim:"+name] = true
		return err
	}, "resources", "claims")
	return names, err
}
