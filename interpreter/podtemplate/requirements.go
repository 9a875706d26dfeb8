package podtemplate

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

// Requirements is what one pod made from a template needs to be scheduled; a Pod is a template too. It is
// nil when the template asks for nothing. The namespace is left empty: a template does not know it.
//
// Resources add up as they do for the scheduler (component-helpers, KEP-753, KEP-2837): sidecars run beside
// the containers, other init containers before them, pod-level requests replace the sum, overhead comes on
// top. Where a request is missing, the limit takes its place, as the API server has it. What is requested
// with zero is not required.
func Requirements(template map[string]any) (*interpreter.ReplicaRequirements, error) {
	spec, err := object(template, "spec")
	if spec == nil || err != nil {
		return nil, err
	}
	r, err := requirementsOf(spec)
	if err != nil {
		return nil, within("spec", err)
	}
	if r.NodeClaim == nil && r.ResourceRequest == nil && r.PriorityClassName == "" {
		return nil, nil
	}
	return r, nil
}

// ForComponent is what one replica of a component needs, given what one replica of a workload does. The two
// differ in the namespace, which components do not have. The result shares its parts with r.
func ForComponent(r *interpreter.ReplicaRequirements) *v1alpha1.ComponentReplicaRequirements {
	if r == nil {
		return nil
	}
	return &v1alpha1.ComponentReplicaRequirements{
		NodeClaim: r.NodeClaim, ResourceRequest: r.ResourceRequest, PriorityClassName: r.PriorityClassName,
	}
}

// requirementsOf reads what counts of a pod spec. Its result is never nil, but all its parts may be empty.
func requirementsOf(spec map[string]any) (*interpreter.ReplicaRequirements, error) {
	class, err := text(spec, "priorityClassName")
	if err != nil {
		return nil, err
	}
	claim, err := nodeClaim(spec)
	if err != nil {
		return nil, err
	}
	request, err := requests(spec)
	if err != nil {
		return nil, err
	}
	return &interpreter.ReplicaRequirements{NodeClaim: claim, ResourceRequest: request, PriorityClassName: class}, nil
}

// requests is the sum of what the pod requests, nil if that is nothing.
//
// The sum itself is not computed here: a typed pod is made of the fields that count and handed to the code
// that the scheduler uses too. Every resource name counts, whether this package has heard of it or not, and
// nothing is rounded.
func requests(spec map[string]any) (corev1.ResourceList, error) {
	pod := &corev1.Pod{}
	var err error
	if pod.Spec.Containers, err = containers(spec, "containers"); err != nil {
		return nil, err
	}
	if pod.Spec.InitContainers, err = containers(spec, "initContainers"); err != nil {
		return nil, err
	}
	if pod.Spec.Overhead, err = resources(spec, "overhead"); err != nil {
		return nil, err
	}
	if pod.Spec.Resources, err = podLevel(spec, pod); err != nil {
		return nil, err
	}
	sum := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	for name, q := range sum {
		if q.Sign() <= 0 {
			delete(sum, name)
		}
	}
	if len(sum) == 0 {
		return nil, nil
	}
	return sum, nil
}

// containers are the containers in a field, each with no more than its part in the sum: its requests, filled
// up with its limits, and whether it is a sidecar. In spec.containers a restart policy means something else
// and the sum does not look at it, but it is read all the same, for one rule on both lists.
func containers(spec map[string]any, field string) ([]corev1.Container, error) {
	l, err := list(spec, field)
	if len(l) == 0 || err != nil {
		return nil, err
	}
	out := make([]corev1.Container, len(l))
	for i, v := range l {
		c, err := element(field, i, v)
		if err != nil {
			return nil, err
		}
		request, limits, err := requestsAndLimits(c)
		if err != nil {
			return nil, withinIndex(field, i, err)
		}
		policy, err := text(c, "restartPolicy")
		if err != nil {
			return nil, withinIndex(field, i, err)
		}
		if policy == string(corev1.ContainerRestartPolicyAlways) {
			always := corev1.ContainerRestartPolicyAlways
			out[i].RestartPolicy = &always
		}
		for name, q := range limits {
			if _, ok := request[name]; ok {
				continue
			}
			if request == nil {
				request = make(corev1.ResourceList, len(limits))
			}
			request[name] = q
		}
		out[i].Resources.Requests = request
	}
	return out, nil
}

// podLevel are the pod's own requests, which stand in for those of its containers. A limit without request
// is a request only where no container requests the resource, or where it cannot be overcommitted (KEP-2837).
func podLevel(spec map[string]any, pod *corev1.Pod) (*corev1.ResourceRequirements, error) {
	request, limits, err := requestsAndLimits(spec)
	if err != nil {
		return nil, err
	}
	if len(limits) > 0 {
		ofContainers := resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{})
		for name, q := range limits {
			if _, ok := request[name]; ok {
				continue
			}
			if _, ok := ofContainers[name]; ok && !strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
				continue
			}
			if request == nil {
				request = corev1.ResourceList{}
			}
			request[name] = q
		}
	}
	return &corev1.ResourceRequirements{Requests: request}, nil
}

// requestsAndLimits are those of a container or a pod; nil where there are none. Both maps are new.
func requestsAndLimits(owner map[string]any) (request, limits corev1.ResourceList, err error) {
	r, err := object(owner, "resources")
	if r == nil || err != nil {
		return nil, nil, err
	}
	if request, err = resources(r, "requests"); err != nil {
		return nil, nil, within("resources", err)
	}
	if limits, err = resources(r, "limits"); err != nil {
		return nil, nil, within("resources", err)
	}
	return request, limits, nil
}

// resources are the quantities in a field, nil if there are none. A null quantity is a missing one, not zero:
// a limit may take its place.
func resources(m map[string]any, field string) (corev1.ResourceList, error) {
	o, err := object(m, field)
	if len(o) == 0 || err != nil {
		return nil, err
	}
	out := make(corev1.ResourceList, len(o))
	for name, v := range o {
		if v == nil {
			continue
		}
		q, err := Quantity(v)
		if err != nil {
			return nil, fault(field+"."+name, "%s", err)
		}
		out[corev1.ResourceName(name)] = q
	}
	return out, nil
}

// Parsing rounds to a billionth, one digit at a time: an exponent of minus two billion takes hours. So does
// adding where it is plus two billion. No bound keeps out a quantity that an API server has stored: it stores
// them in their shortest form.
const (
	longestQuantity  = 128
	smallestExponent = -64
	largestExponent  = 64
)

// Quantity reads a quantity as the API does, from text or from a number. Unlike resource.ParseQuantity, it
// is quick whatever the text.
func Quantity(v any) (resource.Quantity, error) {
	var s string
	switch v := v.(type) {
	case string:
		s = strings.TrimSpace(v)
	case int64:
		return *resource.NewQuantity(v, resource.DecimalSI), nil
	case float64:
		// Infinity and NaN are no quantities either.
		s = strconv.FormatFloat(v, 'g', -1, 64)
	default:
		return resource.Quantity{}, fmt.Errorf("must be a quantity, got %s", describe(v))
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if exponent, err := strconv.Atoi(s[i+1:]); err == nil && (exponent < smallestExponent || exponent > largestExponent) {
			return resource.Quantity{}, fmt.Errorf("must be a quantity of a sensible size, got %s", describe(v))
		}
	}
	if len(s) <= longestQuantity {
		if q, err := resource.ParseQuantity(s); err == nil {
			return q, nil
		}
	}
	return resource.Quantity{}, fmt.Errorf("must be a quantity such as 500m or 64Mi, got %s", describe(v))
}

// nodeClaim says which nodes will do, and is nil if any will. Preferences do not count, and neither does where
// other pods are: neither can be told from the node. An empty node selector makes a claim, as it does for
// Karmada, empty tolerations do not.
func nodeClaim(spec map[string]any) (*v1alpha1.NodeClaim, error) {
	selector, err := textMap(spec, "nodeSelector")
	if err != nil {
		return nil, err
	}
	tolerated, err := tolerations(spec)
	if err != nil {
		return nil, err
	}
	affinity, err := requiredAffinity(spec)
	if err != nil {
		return nil, err
	}
	if selector == nil && tolerated == nil && affinity == nil {
		return nil, nil
	}
	return &v1alpha1.NodeClaim{HardNodeAffinity: affinity, NodeSelector: selector, Tolerations: tolerated}, nil
}

// tolerations are copied as they are: which taints a toleration matches is up to whoever schedules.
func tolerations(spec map[string]any) ([]corev1.Toleration, error) {
	const field = "tolerations"
	l, err := list(spec, field)
	if len(l) == 0 || err != nil {
		return nil, err
	}
	out := make([]corev1.Toleration, len(l))
	for i, v := range l {
		m, err := element(field, i, v)
		if err != nil {
			return nil, err
		}
		if out[i], err = toleration(m); err != nil {
			return nil, withinIndex(field, i, err)
		}
	}
	return out, nil
}

func toleration(m map[string]any) (t corev1.Toleration, err error) {
	if t.Key, err = text(m, "key"); err != nil {
		return t, err
	}
	operator, err := text(m, "operator")
	if err != nil {
		return t, err
	}
	t.Operator = corev1.TolerationOperator(operator)
	if t.Value, err = text(m, "value"); err != nil {
		return t, err
	}
	effect, err := text(m, "effect")
	if err != nil {
		return t, err
	}
	t.Effect = corev1.TaintEffect(effect)
	t.TolerationSeconds, err = integer(m, "tolerationSeconds")
	return t, err
}

// requiredAffinity is the part of the node affinity that is no preference.
func requiredAffinity(spec map[string]any) (*corev1.NodeSelector, error) {
	affinity, err := object(spec, "affinity")
	if err != nil {
		return nil, err
	}
	node, err := object(affinity, "nodeAffinity")
	if err != nil {
		return nil, within("affinity", err)
	}
	const field = "requiredDuringSchedulingIgnoredDuringExecution"
	required, err := object(node, field)
	if err != nil {
		return nil, within("affinity.nodeAffinity", err)
	}
	if required == nil {
		return nil, nil
	}
	terms, err := nodeSelectorTerms(required)
	if err != nil {
		return nil, within("affinity.nodeAffinity."+field, err)
	}
	return &corev1.NodeSelector{NodeSelectorTerms: terms}, nil
}

// nodeSelectorTerms are alternatives; a node must match one. No terms at all match no node, so a selector
// without any is kept rather than dropped.
func nodeSelectorTerms(required map[string]any) ([]corev1.NodeSelectorTerm, error) {
	const field = "nodeSelectorTerms"
	l, err := list(required, field)
	if l == nil || err != nil {
		return nil, err
	}
	terms := make([]corev1.NodeSelectorTerm, len(l))
	for i, v := range l {
		m, err := element(field, i, v)
		if err != nil {
			return nil, err
		}
		if terms[i].MatchExpressions, err = nodeSelectorRequirements(m, "matchExpressions"); err != nil {
			return nil, withinIndex(field, i, err)
		}
		if terms[i].MatchFields, err = nodeSelectorRequirements(m, "matchFields"); err != nil {
			return nil, withinIndex(field, i, err)
		}
	}
	return terms, nil
}

// nodeSelectorRequirements must all hold. Operators are not checked: the scheduler of the member cluster may
// know one that this package does not.
func nodeSelectorRequirements(term map[string]any, field string) ([]corev1.NodeSelectorRequirement, error) {
	l, err := list(term, field)
	if l == nil || err != nil {
		return nil, err
	}
	out := make([]corev1.NodeSelectorRequirement, len(l))
	for i, v := range l {
		m, err := element(field, i, v)
		if err != nil {
			return nil, err
		}
		if out[i].Key, err = text(m, "key"); err != nil {
			return nil, withinIndex(field, i, err)
		}
		operator, err := text(m, "operator")
		if err != nil {
			return nil, withinIndex(field, i, err)
		}
		out[i].Operator = corev1.NodeSelectorOperator(operator)
		if out[i].Values, err = texts(m, "values"); err != nil {
			return nil, withinIndex(field, i, err)
		}
	}
	return out, nil
}
