package interpreter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Rule is what answers one operation for one kind.
type Rule struct {
	// Name tells the layer's rules apart for people: a customization's name, a webhook's, a built-in kind.
	Name string
	// Selector narrows the rule to objects whose labels match; nil matches every object.
	Selector labels.Selector
	// Interpreter gives the answer.
	Interpreter Interpreter
}

func (r *Rule) matches(req *Request) bool {
	return r.Selector == nil || r.Selector.Matches(labels.Set(req.Object.GetLabels()))
}

// Layer is an ordered source of rules. Looking a rule up and running it are two steps, so "is there a
// rule?" and "did it work?" never share a return value.
type Layer interface {
	// Name is the layer's name in messages and output.
	Name() string
	// Rules are the layer's rules for a kind and operation, nearest first; none is an answer. The slice
	// belongs to the layer. A layer that cannot know yet gives a rule that fails with ErrNotReady.
	Rules(kind schema.GroupVersionKind, op Operation) []*Rule
}

// Entry is one rule that a layer has. The kind's parts may be patterns.
type Entry struct {
	Kind      schema.GroupVersionKind
	Operation Operation
	Rule      string
}

// Lister is a Layer that can list its rules.
type Lister interface {
	// Entries lists the rules in a fixed order.
	Entries() []Entry
}

// Source says who answers: the layer and the rule in it. Empty means nobody.
type Source struct {
	Layer string
	Rule  string
}

func (s Source) String() string { return strings.TrimSpace(s.Layer + " " + s.Rule) }

// Key is the coordinate every rule lives at; a layer is usually a map of these.
type Key struct {
	Kind      schema.GroupVersionKind
	Operation Operation
}

// Chain asks layers in order. The first rule that matches answers, and its error is final: a failing
// rule never falls through. A rule can ask the rest of the chain with Request.Next.
//
// The chain also does the work that must not depend on the layer: it checks inputs and answers, puts status
// items and dependencies in order, and names errors.
type Chain struct {
	layers []Layer
	checks []Check
}

// Check looks at a rule's answer before anybody gets it, and gives what is wrong with it. The request is what the rule
// was asked, and read-only; the result is nobody else's yet, so a check may put right what is sure to be meant.
type Check func(ctx context.Context, req *Request, res *Result) []error

// Blamer is an Interpreter that can say where in it a mistake in its answer comes from.
type Blamer interface {
	// Blame gives the error with the place. Mistakes in a field of the object are a *field.Error inside.
	Blame(err error) error
}

// NewChain makes a chain of layers, nearest first. Nil layers are left out.
func NewChain(layers ...Layer) *Chain {
	c := &Chain{}
	for _, l := range layers {
		if l != nil {
			c.layers = append(c.layers, l)
		}
	}
	return c
}

// WithChecks makes a chain of the same layers, in which every rule's answer is checked further. What a check finds
// is the rule's error.
func (c *Chain) WithChecks(checks ...Check) *Chain {
	return &Chain{layers: c.layers, checks: append(slices.Clone(c.checks), checks...)}
}

// Layers lists the chain's layers, nearest first. The slice is the caller's.
func (c *Chain) Layers() []Layer { return slices.Clone(c.layers) }

// Interpret answers a request. Every error is an *Error.
func (c *Chain) Interpret(ctx context.Context, req *Request) (*Result, error) {
	return c.interpret(ctx, req, position{})
}

// Handles says whether any layer has a rule for the kind and operation, whatever the object's labels.
func (c *Chain) Handles(kind schema.GroupVersionKind, op Operation) bool {
	for _, l := range c.layers {
		if len(l.Rules(kind, op)) > 0 {
			return true
		}
	}
	return false
}

// position is a place in the chain from which the search for a rule starts.
type position struct{ layer, rule int }

// rest is the part of a chain that starts at a position.
type rest struct {
	chain *Chain
	from  position
}

func (r rest) Interpret(ctx context.Context, req *Request) (*Result, error) {
	return r.chain.interpret(ctx, req, r.from)
}

func (c *Chain) interpret(ctx context.Context, req *Request, from position) (*Result, error) {
	contract, ok := ContractOf(req.Operation)
	if !ok {
		return nil, newError(req, Source{}, fmt.Errorf("%w: unknown operation %q", ErrInvalidRequest, req.Operation))
	}
	if err := req.check(contract); err != nil {
		return nil, newError(req, Source{}, err)
	}
	kind := req.Kind()
	for ; from.layer < len(c.layers); from = (position{layer: from.layer + 1}) {
		layer := c.layers[from.layer]
		rules := layer.Rules(kind, req.Operation)
		for i := from.rule; i < len(rules); i++ {
			if !rules[i].matches(req) {
				continue
			}
			if contract.Union {
				return c.union(ctx, contract, req, rules[i:], from.layer)
			}
			source := Source{Layer: layer.Name(), Rule: rules[i].Name}
			return c.run(ctx, contract, req, rules[i], source, position{layer: from.layer, rule: i + 1})
		}
	}
	return nil, newError(req, Source{}, c.noRule(req))
}

// union runs every rule that matches and joins the lists. The answers of the layers below are not joined.
func (c *Chain) union(ctx context.Context, contract *Contract, req *Request, rules []*Rule, layer int) (*Result, error) {
	var joined *Result
	for _, rule := range rules {
		if !rule.matches(req) {
			continue
		}
		source := Source{Layer: c.layers[layer].Name(), Rule: rule.Name}
		res, err := c.run(ctx, contract, req, rule, source, position{layer: layer + 1})
		if err != nil {
			return nil, err
		}
		if joined == nil {
			joined = res
			continue
		}
		joined.Dependencies = append(joined.Dependencies, res.Dependencies...)
		joined.Source.Rule += ", " + rule.Name
	}
	joined.Dependencies = sortDependencies(joined.Dependencies)
	return joined, nil
}

func (c *Chain) run(ctx context.Context, contract *Contract, req *Request, rule *Rule, source Source, below position) (*Result, error) {
	asked := *req
	asked.next = rest{c, below}
	asked.Statuses = byCluster(req.Statuses)
	res, err := rule.Interpreter.Interpret(ctx, &asked)
	if err != nil {
		return nil, newError(req, source, err)
	}
	if res == nil {
		return nil, newError(req, source, fmt.Errorf("%w: no answer and no error", ErrInvalidResult))
	}
	if err := contract.Check(req, res); err != nil {
		return nil, newError(req, source, err)
	}
	for _, check := range c.checks {
		if found := check(ctx, &asked, res); len(found) > 0 {
			return nil, newError(req, source, blame(rule.Interpreter, found))
		}
	}
	res.Source = source
	return res, nil
}

// blame joins errors, each with its place in the rule if that can be told.
func blame(rule Interpreter, errs []error) error {
	if b, ok := rule.(Blamer); ok {
		for i, err := range errs {
			errs[i] = b.Blame(err)
		}
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// byCluster gives status items in the order of their clusters' names, so that no answer depends on the order in
// which members happened to be listed. Items of one cluster stay as they are.
func byCluster(items []AggregatedStatusItem) []AggregatedStatusItem {
	byName := func(a, b AggregatedStatusItem) int { return strings.Compare(a.ClusterName, b.ClusterName) }
	if slices.IsSortedFunc(items, byName) {
		return items
	}
	items = slices.Clone(items)
	slices.SortStableFunc(items, byName)
	return items
}

// maxNear bounds how many near misses an error names: enough to see a wrong version, little to read.
const maxNear = 5

// noRule says what rules there are for the same kind in other versions, or else for other operations.
func (c *Chain) noRule(req *Request) error {
	kind := req.Kind()
	var versions, operations []string
	for _, l := range c.layers {
		lister, ok := l.(Lister)
		if !ok {
			continue
		}
		for _, e := range lister.Entries() {
			if e.Kind.Kind != kind.Kind || e.Kind.Group != kind.Group {
				continue
			}
			if e.Operation == req.Operation {
				versions = append(versions, fmt.Sprintf("%s (%s)", KindString(e.Kind), e.Rule))
			} else if e.Kind == kind {
				operations = append(operations, string(e.Operation))
			}
		}
	}
	near := ""
	switch {
	case len(versions) > 0:
		near = "; have " + some(versions)
	case len(operations) > 0:
		near = "; have rules for " + some(operations)
	}
	return fmt.Errorf("%w for %s%s", ErrNoRule, KindString(kind), near)
}

func some(list []string) string {
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) > maxNear {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:maxNear], ", "), len(list)-maxNear)
	}
	return strings.Join(list, ", ")
}

// Explanation says who would answer one operation.
type Explanation struct {
	Operation Operation
	// Answers is who would answer: one source, or several whose lists are joined. Empty means nobody.
	Answers []Source
	// PassedOver are the rules that would have answered, had the ones before them not, nearest first.
	PassedOver []Source
}

// Explain says who would answer each operation for the object of a request, and who would be passed
// over. Only the object's kind and labels count, and the request's operation does not.
func (c *Chain) Explain(req *Request) ([]Explanation, error) {
	if req.Object == nil {
		return nil, newError(req, Source{}, fmt.Errorf("%w: no object", ErrInvalidRequest))
	}
	if err := checkObject(req.Object, "object"); err != nil {
		return nil, newError(req, Source{}, err)
	}
	list := make([]Explanation, 0, len(contracts))
	for i := range contracts {
		e := Explanation{Operation: contracts[i].Operation}
		answering := -1
		for j, l := range c.layers {
			for _, rule := range l.Rules(req.Kind(), e.Operation) {
				if !rule.matches(req) {
					continue
				}
				source := Source{Layer: l.Name(), Rule: rule.Name}
				if answering < 0 || answering == j && contracts[i].Union {
					answering = j
					e.Answers = append(e.Answers, source)
				} else {
					e.PassedOver = append(e.PassedOver, source)
				}
			}
		}
		list = append(list, e)
	}
	return list, nil
}

// IsNoRule says whether an error means that no layer had a rule, rather than that one failed.
func IsNoRule(err error) bool { return errors.Is(err, ErrNoRule) }
