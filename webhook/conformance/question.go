package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
)

// Question is one that a hook says it answers.
type Question struct {
	*interpreter.Request
	// Made says that an object was made up, or given for another use. Who refuses it makes no mistake.
	Made bool
}

// Samples are objects to ask about. They are not modified.
type Samples struct {
	// Desired are objects as the control plane has them, Observed as member clusters report them.
	Desired, Observed []*unstructured.Unstructured
	// Statuses are for AggregateStatus; without any, some are made up.
	Statuses []interpreter.AggregatedStatusItem
	// Replicas is for ReviseReplica; nil means defaultReplicas.
	Replicas *int32
}

const (
	// defaultReplicas is a number that objects seldom have already.
	defaultReplicas = 7
	// The name and the namespace of objects that are made up.
	madeName, madeNamespace = "conformance", "default"
	// The version of a kind whose rule allows any, where no sample says better.
	anyVersion = "v1"
)

// Questions makes questions of what a hook is registered for: one for each operation and object. A kind that a rule
// names and no sample has is asked about with an object that has little more than a name. A rule for any kind, or any
// group, is asked about with the samples only. The error says that no question could be made.
func Questions(rules []v1alpha1.RuleWithOperations, samples Samples) ([]Question, error) {
	kinds := kindsOf(rules, samples)
	var questions []Question
	for _, kind := range kinds {
		for _, c := range interpreter.Contracts() {
			if webhook.Matches(explicit(rules), kind, c.Operation) {
				questions = append(questions, samples.questions(c, kind)...)
			}
		}
	}
	if len(questions) > 0 {
		return questions, nil
	}
	if len(rules) == 0 {
		return nil, errors.New("there are no rules, so the hook is never asked")
	}
	if len(kinds) == 0 {
		return nil, errors.New("the rules are for any kind; give a sample object, or a kind")
	}
	return nil, fmt.Errorf("no rule is for %s", interpreter.KindString(kinds[0]))
}

// explicit writes out the operations of rules for any: all but Prune, which nobody may register for and Karmada never
// sends. A rule that names it is taken at its word.
func explicit(rules []v1alpha1.RuleWithOperations) []v1alpha1.RuleWithOperations {
	rules = slices.Clone(rules)
	for i := range rules {
		if slices.Contains(rules[i].Operations, v1alpha1.InterpreterOperationAll) {
			rules[i].Operations = slices.DeleteFunc(interpreter.Operations(), func(o interpreter.Operation) bool { return o == interpreter.Prune })
		}
	}
	return rules
}

// kindsOf lists the kinds of the samples, and those that rules name and no sample has.
func kindsOf(rules []v1alpha1.RuleWithOperations, samples Samples) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, o := range slices.Concat(samples.Desired, samples.Observed) {
		if !slices.Contains(kinds, o.GroupVersionKind()) {
			kinds = append(kinds, o.GroupVersionKind())
		}
	}
	for _, r := range rules {
		for _, group := range r.APIGroups {
			for _, version := range r.APIVersions {
				for _, kind := range r.Kinds {
					k := schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
					if group == "*" || kind == "*" || slices.ContainsFunc(kinds, func(have schema.GroupVersionKind) bool {
						return have.GroupKind() == k.GroupKind() && (version == "*" || version == have.Version)
					}) {
						continue
					}
					if version == "*" {
						k.Version = anyVersion
					}
					kinds = append(kinds, k)
				}
			}
		}
	}
	return kinds
}

// questions are those about one operation and one kind.
func (s *Samples) questions(c *interpreter.Contract, kind schema.GroupVersionKind) []Question {
	ofKind := func(list []*unstructured.Unstructured) []*unstructured.Unstructured {
		return slices.DeleteFunc(slices.Clone(list), func(o *unstructured.Unstructured) bool { return o.GroupVersionKind() != kind })
	}
	desired, observed := ofKind(s.Desired), ofKind(s.Observed)
	objects, others := desired, observed
	if c.In[0].Observed {
		objects, others = others, objects
	}
	made := len(objects) == 0
	if made {
		objects = others
	}
	if len(objects) == 0 {
		objects = []*unstructured.Unstructured{minimal(kind)}
	}
	var questions []Question
	for _, o := range objects {
		q := Question{Made: made, Request: &interpreter.Request{Operation: c.Operation, Object: o}}
		for _, in := range c.In {
			switch in.Name {
			case "observed":
				q.Observed = counterpart(o, observed)
				q.Made = q.Made || len(observed) == 0
			case "replica":
				n := int32(defaultReplicas)
				if s.Replicas != nil {
					n = *s.Replicas
				}
				q.Replicas = &n
			case "items":
				q.Statuses = s.Statuses
				if len(q.Statuses) == 0 {
					q.Made = true
					q.Statuses = statuses(2, o)
				}
			}
		}
		questions = append(questions, q)
	}
	return questions
}

// counterpart finds an object among those that are observed: the one of its name, else the first one, else what the
// member cluster would report if it had changed nothing.
func counterpart(desired *unstructured.Unstructured, observed []*unstructured.Unstructured) *unstructured.Unstructured {
	for _, o := range observed {
		if o.GetName() == desired.GetName() && o.GetNamespace() == desired.GetNamespace() {
			return o
		}
	}
	if len(observed) > 0 {
		return observed[0]
	}
	return desired
}

// minimal is an object that has what every object has.
func minimal(kind schema.GroupVersionKind) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(kind)
	o.SetName(madeName)
	o.SetNamespace(madeNamespace)
	return o
}

// statuses are status items of as many clusters, which report what the object has for a status.
func statuses(n int, o *unstructured.Unstructured) []interpreter.AggregatedStatusItem {
	raw := []byte(`{}`)
	if status, ok := o.Object["status"].(map[string]any); ok {
		if text, err := json.Marshal(status); err == nil {
			raw = text
		}
	}
	items := make([]interpreter.AggregatedStatusItem, n)
	for i := range items {
		items[i] = interpreter.AggregatedStatusItem{
			ClusterName: fmt.Sprintf("member%d", i+1), Applied: true, Health: v1alpha1.ResourceHealthy,
			Status: &runtime.RawExtension{Raw: raw},
		}
	}
	return items
}
