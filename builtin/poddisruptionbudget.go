package builtin

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

// podDisruptionBudget limits how many pods may be evicted at a time, see
// https://kubernetes.io/docs/concepts/workloads/pods/disruptions.
var podDisruptionBudget = kind{
	gvk: policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
	rules: rules{
		interpreter.AggregateStatus: interpreter.AggregateFunc(aggregateBudget),
		interpreter.InterpretStatus: interpreter.StatusFunc(reflectBudget),
		interpreter.InterpretHealth: interpreter.HealthFunc(budgetHealth),
	},
	extra: rules{
		// Its pods are picked by label, and come with the workloads that own them.
		interpreter.InterpretDependency: interpreter.DependencyFunc(noDependencies),
	},
}

// All four are required fields of the status, so zeros are written.
var budgetCounters = counters{always: []string{"currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"}}

// aggregateBudget adds up the budgets. Pods of one name may be disrupted in several clusters, so the names
// carry the cluster's. Generation and conditions, which tell of one controller, go.
//
// The sums are no promise: a budget of two in each of two clusters lets both be emptied at once.
func aggregateBudget(obj *unstructured.Unstructured, items []interpreter.AggregatedStatusItem) error {
	status, disrupted := map[string]any{}, map[string]any{}
	err := budgetCounters.sum(status, items, func(cluster string, member raw) error {
		return member.entries(func(pod string, since raw) error {
			v, err := since.value()
			disrupted[cluster+"/"+pod] = v
			return err
		}, "disruptedPods")
	})
	if err != nil {
		return err
	}
	if len(disrupted) > 0 {
		status["disruptedPods"] = disrupted
	}
	return set(obj.Object, status, "status")
}

// reflectBudget reports what aggregateBudget folds.
func reflectBudget(obj *unstructured.Unstructured) (any, error) {
	if status, err := mapAt(obj.Object, "status"); status == nil || err != nil {
		return nil, err
	}
	status := map[string]any{}
	if err := budgetCounters.copyTo(status, obj.Object); err != nil {
		return nil, err
	}
	pods, err := mapAt(obj.Object, "status", "disruptedPods")
	if len(pods) > 0 {
		status["disruptedPods"] = interpreter.CloneValue(pods)
	}
	return status, err
}

// budgetHealth asks whether the pods that must run do. That none may be evicted at the moment is not a fault:
// it is what the budget is for. A status without any field has not been computed yet.
//
// When the controller cannot compute the budget (reason SyncFailed of DisruptionAllowed,
// https://kubernetes.io/docs/reference/kubernetes-api/policy-resources/pod-disruption-budget-v1) it lets nothing be
// evicted and leaves the other counters as they were. They decide all the same, and the message says how old they may be.
func budgetHealth(obj *unstructured.Unstructured) (interpreter.Health, error) {
	if status, err := mapAt(obj.Object, "status"); len(status) == 0 || err != nil {
		return notObserved, err
	}
	current, _, err := int32At(obj.Object, "status", "currentHealthy")
	if err != nil {
		return interpreter.Health{}, err
	}
	desired, _, err := int32At(obj.Object, "status", "desiredHealthy")
	if err != nil {
		return interpreter.Health{}, err
	}
	allowed, err := conditionAt(obj.Object, policyv1.DisruptionAllowedCondition)
	if err != nil {
		return interpreter.Health{}, err
	}
	health := verdict(interpreter.Healthy, "EnoughPods", "%d pods are healthy, %d must be", current, desired)
	if current < desired {
		health = verdict(interpreter.Degraded, "TooFewPods", "%d of the %d pods that must run are healthy", current, desired)
	}
	if allowed.reason == policyv1.SyncFailedReason && !allowed.isTrue() {
		health.Reason = allowed.reason
		health.Message += ", when the budget could last be computed: " + allowed.message
	}
	return health, nil
}

// noDependencies is the answer of a kind that stands alone, which "no rule" would not be.
func noDependencies(*unstructured.Unstructured) ([]interpreter.DependentObjectReference, error) {
	return nil, nil
}
