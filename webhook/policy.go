package webhook

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

// FailurePolicyAnnotation is where a configuration says what happens when a hook fails. The package's
// documentation has its form.
const FailurePolicyAnnotation = annotationPrefix + "failure-policy"

// annotationPrefix begins the names of annotations that are ours.
const annotationPrefix = "webhook.kubeinterpret.io/"

// failurePolicy says what happens when a hook gives no usable answer.
type failurePolicy string

const (
	fail   failurePolicy = "Fail"
	ignore failurePolicy = "Ignore"
)

// policies are the failure policies of a configuration's hooks.
type policies struct {
	rest failurePolicy
	own  map[string]failurePolicy
}

func (p policies) of(hook string) failurePolicy {
	if own, ok := p.own[hook]; ok {
		return own
	}
	return p.rest
}

// parsePolicies reads "Ignore", "a.example.com=Ignore", and lists of such items.
func parsePolicies(c *v1alpha1.ResourceInterpreterWebhookConfiguration) (policies, error) {
	p := policies{rest: fail, own: map[string]failurePolicy{}}
	text, ok := c.Annotations[FailurePolicyAnnotation]
	if !ok {
		return p, nil
	}
	rest := false
	for item := range strings.SplitSeq(text, ",") {
		hook, policy, named := strings.Cut(strings.TrimSpace(item), "=")
		if !named {
			hook, policy = "", hook
		}
		if policy != string(fail) && policy != string(ignore) {
			return p, fmt.Errorf("a policy must be %s or %s, got %q", fail, ignore, policy)
		}
		switch _, twice := p.own[hook]; {
		case !named && rest || twice:
			return p, fmt.Errorf("two policies for the same hooks in %q", text)
		case !named:
			rest, p.rest = true, failurePolicy(policy)
		case !slices.ContainsFunc(c.Webhooks, func(w v1alpha1.ResourceInterpreterWebhook) bool { return w.Name == hook }):
			return p, fmt.Errorf("a policy for %q, and there is no such webhook", hook)
		default:
			p.own[hook] = failurePolicy(policy)
		}
	}
	return p, nil
}
