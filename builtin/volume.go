package builtin

import (
	"slices"

	"github.com/kubeinterpret/interpret/interpreter"
)

// aggregatePhase is the phase of a volume or claim in several clusters: the first of order that some member
// is in. A member that has not reported, or reports a phase that is not in order, counts as Pending.
//
// Order goes from what needs attention to what does not, so that one odd cluster is seen among many good ones.
func aggregatePhase(items []interpreter.AggregatedStatusItem, order []string) (string, error) {
	best, pending := len(order), slices.Index(order, "Pending")
	reported, err := eachReported(items, func(_ string, member raw) error {
		at := pending
		for i, phase := range order {
			is, err := member.is(phase, "phase")
			if err != nil {
				return err
			}
			if is {
				at = i
			}
		}
		best = min(best, at)
		return nil
	})
	if err != nil {
		return "", err
	}
	if reported < len(items) {
		best = min(best, pending)
	}
	return order[best], nil
}
