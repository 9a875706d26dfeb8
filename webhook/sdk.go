package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonutil "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

// Functions are what a hook answers with: for each kind, one function per operation, made into an interpreter
// by [interpreter.ReplicaFunc], [interpreter.HealthFunc] and their like. A function that changes an object
// is given a copy; the patch is computed from what it leaves.
type Functions map[schema.GroupVersionKind]map[interpreter.Operation]interpreter.Interpreter

// Hook is a hook written in Go. It is an interpreter, for a Handler, and a layer, for a chain that has more.
type Hook struct {
	rules   map[interpreter.Key][]*interpreter.Rule
	entries []interpreter.Entry
	chain   *interpreter.Chain
}

// NewHook makes a hook of functions.
func NewHook(functions Functions) (*Hook, error) {
	h := &Hook{rules: map[interpreter.Key][]*interpreter.Rule{}}
	var errs []error
	for kind, operations := range functions {
		if kind.Version == "" || kind.Kind == "" {
			errs = append(errs, fmt.Errorf("a kind needs a version and a kind, got %q and %q", kind.Version, kind.Kind))
		}
		for op, in := range operations {
			switch _, known := interpreter.ContractOf(op); {
			case !known:
				errs = append(errs, fmt.Errorf("%s: unknown operation %q (have %v)", interpreter.KindString(kind), op, interpreter.Operations()))
			case in == nil:
				errs = append(errs, fmt.Errorf("%s: %s has no function", interpreter.KindString(kind), op))
			}
			rule := &interpreter.Rule{Name: kind.GroupKind().String(), Interpreter: in}
			h.rules[interpreter.Key{Kind: kind, Operation: op}] = []*interpreter.Rule{rule}
			h.entries = append(h.entries, interpreter.Entry{Kind: kind, Operation: op, Rule: rule.Name})
		}
	}
	slices.SortFunc(h.entries, func(a, b interpreter.Entry) int {
		return cmp.Or(cmp.Compare(a.Kind.String(), b.Kind.String()), cmp.Compare(a.Operation, b.Operation))
	})
	h.chain = interpreter.NewChain(h)
	return h, errors.Join(errs...)
}

// Interpret answers as a chain of this one layer does: what is missing in a request or wrong with an answer
// is an error.
func (h *Hook) Interpret(ctx context.Context, req *interpreter.Request) (*interpreter.Result, error) {
	return h.chain.Interpret(ctx, req)
}

// Name is the layer's name.
func (h *Hook) Name() string { return "hook" }

// Rules gives the function of a kind and operation.
func (h *Hook) Rules(kind schema.GroupVersionKind, op interpreter.Operation) []*interpreter.Rule {
	return h.rules[interpreter.Key{Kind: kind, Operation: op}]
}

// Entries lists the functions by kind and operation.
func (h *Hook) Entries() []interpreter.Entry { return slices.Clone(h.entries) }

// RulesOf are the rules with which a webhook configuration registers a layer for exactly what it answers, one
// for each kind. Operations that Karmada refuses in a rule are left out, and so are kinds with a pattern that
// a rule cannot have: it knows "*", and nothing in between.
func RulesOf(l interpreter.Lister) []v1alpha1.RuleWithOperations {
	operations := map[schema.GroupVersionKind][]interpreter.Operation{}
	var kinds []schema.GroupVersionKind
	for _, e := range l.Entries() {
		if !slices.Contains(ruleOperations(), e.Operation) || !expressible(e.Kind) {
			continue
		}
		if operations[e.Kind] == nil {
			kinds = append(kinds, e.Kind)
		}
		if !slices.Contains(operations[e.Kind], e.Operation) {
			operations[e.Kind] = append(operations[e.Kind], e.Operation)
		}
	}
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind, b.Kind))
	})
	rules := make([]v1alpha1.RuleWithOperations, 0, len(kinds))
	for _, k := range kinds {
		slices.Sort(operations[k])
		rules = append(rules, v1alpha1.RuleWithOperations{
			Operations: operations[k],
			Rule:       v1alpha1.Rule{APIGroups: []string{k.Group}, APIVersions: []string{k.Version}, Kinds: []string{k.Kind}},
		})
	}
	return rules
}

// expressible says whether a rule can match a kind whose parts may be patterns.
func expressible(k schema.GroupVersionKind) bool {
	for _, part := range []string{k.Group, k.Version, k.Kind} {
		if part != wildcard && slices.ContainsFunc([]rune(part), func(r rune) bool { return r == '*' }) {
			return false
		}
	}
	return true
}

// As reads an object as a Go type. Use it to look: an object that is made of the type again has lost the
// fields that the type does not know, and gained empty ones that it does.
func As[T any](obj *unstructured.Unstructured) (*T, error) {
	typed := new(T)
	// Through text rather than with runtime's converter, whose errors do not say which field is wrong.
	text, err := json.Marshal(obj.Object)
	if err == nil {
		err = jsonutil.Unmarshal(text, typed)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", interpreter.ErrInvalidRequest, err)
	}
	return typed, nil
}
