package declarative

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/manifest"
	"github.com/kubeinterpret/interpret/luakube"
)

// DefaultName is the name of a layer of customizations.
const DefaultName = "customization"

// Layer answers from customizations. It is safe for many goroutines, also while it is replaced.
type Layer struct {
	name   string
	engine *luakube.Engine
	// The rules in force. A call goes on with those it started with.
	rules atomic.Pointer[ruleSet]
	// One replacement at a time.
	replacing sync.Mutex
	changed   func()
}

// Option changes a Layer that is being made.
type Option func(*Layer) error

// WithName sets the layer's name in messages. Without it that is DefaultName.
func WithName(name string) Option {
	return func(l *Layer) error {
		if name == "" {
			return errors.New("the layer's name is empty")
		}
		l.name = name
		return nil
	}
}

// WithEngine sets what compiles and runs the scripts. Without it that is an engine with default limits.
func WithEngine(e *luakube.Engine) Option {
	return func(l *Layer) error {
		if e == nil {
			return errors.New("the engine is nil")
		}
		l.engine = e
		return nil
	}
}

// WithChanged has a function called after every replacement, when the new rules are in force. It must not
// call Replace.
func WithChanged(changed func()) Option {
	return func(l *Layer) error {
		l.changed = changed
		return nil
	}
}

// New makes a layer of customizations, all of which must be sound. For a layer that lives with broken ones,
// make it of none and call Replace. Conflicts are no error here; see Layer.Conflicts.
func New(customizations []*Customization, options ...Option) (*Layer, error) {
	l := &Layer{name: DefaultName}
	for _, o := range options {
		if err := o(l); err != nil {
			return nil, err
		}
	}
	if l.engine == nil {
		engine, err := luakube.New()
		if err != nil {
			return nil, err
		}
		l.engine = engine
	}
	l.rules.Store(newRuleSet(nil))
	if err := l.Replace(customizations); err != nil {
		return nil, err
	}
	return l, nil
}

// LoadError says which customization is broken, and where.
type LoadError struct {
	// Name is the customization's.
	Name string
	// Rule is the key of the rule that is broken, empty if it is not a rule.
	Rule string
	// Place is where the mistake stands, if the customization was read from a file.
	Place Place
	Err   error
}

func (e *LoadError) Error() string {
	var b strings.Builder
	if place := e.Place.String(); place != "" {
		b.WriteString(place + ": ")
	}
	// A script's error names customization and rule itself.
	var script *luakube.ScriptError
	if !errors.As(e.Err, &script) {
		fmt.Fprintf(&b, "customization %q: ", e.Name)
	}
	b.WriteString(e.Err.Error())
	return b.String()
}

func (e *LoadError) Unwrap() error { return e.Err }

// Replace puts other customizations in the place of the present ones, at once for all that ask afterwards. A
// customization that is broken leaves its last good version, by name and UID, in force, or is left out if there
// is none. The error joins a *LoadError for each mistake; the sound customizations are in force all the same.
// What did not change is not compiled again.
func (l *Layer) Replace(customizations []*Customization) error {
	l.replacing.Lock()
	defer l.replacing.Unlock()
	good, err := l.compileAll(customizations)
	l.put(good)
	return err
}

// ReplaceAll is Replace for customizations that belong together, such as those in a directory: if any of them is
// broken, nothing changes.
func (l *Layer) ReplaceAll(customizations []*Customization) error {
	l.replacing.Lock()
	defer l.replacing.Unlock()
	good, err := l.compileAll(customizations)
	if err != nil {
		return err
	}
	l.put(good)
	return nil
}

// compileAll gives the last good version of each customization by name, and what is wrong with the others.
func (l *Layer) compileAll(customizations []*Customization) (map[string]*compiled, error) {
	old := l.rules.Load()
	good := make(map[string]*compiled, len(customizations))
	var errs []error
	for _, c := range customizations {
		if _, twice := good[c.Name]; twice {
			errs = append(errs, &LoadError{Name: c.Name, Place: c.Place("metadata", "name"), Err: errors.New("there is another customization of this name")})
			continue
		}
		fresh, err := l.compile(c, old.compiled[c.Name])
		if err != nil {
			errs = append(errs, err)
			// Another object of the same name has no claim on what the one before it said.
			if fresh = old.compiled[c.Name]; fresh != nil && fresh.source.UID != c.UID {
				fresh = nil
			}
		}
		if fresh != nil {
			good[c.Name] = fresh
		}
	}
	return good, errors.Join(errs...)
}

// put puts customizations in force.
func (l *Layer) put(good map[string]*compiled) {
	l.rules.Store(newRuleSet(good))
	if l.changed != nil {
		l.changed()
	}
}

// compiled is a customization ready to answer.
type compiled struct {
	source *Customization
	target target
	rules  map[interpreter.Operation]*rule
}

// rule is one rule ready to answer.
type rule struct {
	interpreter.Rule
	source string
	owner  *compiled
}

func (l *Layer) compile(c *Customization, last *compiled) (*compiled, error) {
	t, err := parseTarget(c.Spec.Target)
	if err != nil {
		var field *fieldError
		errors.As(err, &field)
		return nil, &LoadError{Name: c.Name, Place: c.Place(field.path...), Err: err}
	}
	fresh := &compiled{source: c, target: t, rules: map[interpreter.Operation]*rule{}}
	var errs []error
	for _, contract := range interpreter.Contracts() {
		lua := contract.Script(&c.Spec.Customizations)
		if lua == nil || lua.LuaScript == "" {
			continue
		}
		r := &rule{source: lua.LuaScript, owner: fresh, Rule: interpreter.Rule{Name: c.Name, Selector: t.selector}}
		if last != nil && last.rules[contract.Operation] != nil && last.rules[contract.Operation].source == lua.LuaScript {
			r.Interpreter = last.rules[contract.Operation].Interpreter
		} else {
			script, err := l.engine.Compile(c.Name+"/"+contract.Rule, lua.LuaScript, contract.Function)
			if err != nil {
				errs = append(errs, c.scriptError(contract, err))
				continue
			}
			r.Interpreter = &answer{contract, script}
		}
		fresh.rules[contract.Operation] = r
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return fresh, nil
}

func (c *Customization) scriptError(contract *interpreter.Contract, err error) error {
	line, column := 0, 0
	var script *luakube.ScriptError
	if errors.As(err, &script) {
		line, column = script.Line, script.Column
	}
	return &LoadError{Name: c.Name, Rule: contract.Rule, Place: c.ScriptPlace(contract.Rule, line, column), Err: err}
}

// answer runs any operation's rule; what it takes and gives stands in the contract.
type answer struct {
	contract *interpreter.Contract
	script   *luakube.Script
}

// Interpret calls the rule's function.
func (r *answer) Interpret(ctx context.Context, req *interpreter.Request) (*interpreter.Result, error) {
	a := &asked{res: new(interpreter.Result)}
	a.call.Args, a.call.Rets = a.args[:len(r.contract.In)], a.rets[:len(r.contract.Out)]
	a.call.Next = func(ctx context.Context, args []any) ([]any, error) { return next(ctx, r.contract, req, args) }
	for i, in := range r.contract.In {
		a.args[i] = in.Of(req)
	}
	for i, out := range r.contract.Out {
		a.rets[i] = luakube.Ret{Noun: out.Noun, Optional: out.Optional, Only: out.Only, Base: req.Object.Object, Into: out.In(a.res)}
	}
	if _, err := r.script.Call(ctx, &a.call); err != nil {
		return nil, err
	}
	if err := r.contract.Check(req, a.res); err != nil {
		return nil, r.script.Blame(err)
	}
	return a.res, nil
}

// Blame makes a mistake in the answer one of the script's; one in a field is blamed on the line that sets it.
func (r *answer) Blame(err error) error {
	var wrong *field.Error
	if !errors.As(err, &wrong) {
		return r.script.Blame(err)
	}
	path := manifest.Steps(wrong.Field)
	if !givesObject(r.contract) && len(path) > 0 {
		// The answer is a part of the object, the status.
		path = path[1:]
	}
	return r.script.BlameField(err, path...)
}

// asked is one call of a rule in one piece of memory. No operation has more than two arguments or results.
type asked struct {
	res  *interpreter.Result
	call luakube.Call
	args [2]any
	rets [2]luakube.Ret
}

// next asks the layers below what the rule was asked, with the arguments it gives in the place of its own.
func next(ctx context.Context, contract *interpreter.Contract, req *interpreter.Request, args []any) ([]any, error) {
	asked := *req
	if len(args) > len(contract.In) {
		return nil, fmt.Errorf("%w: kube.next takes at most %d arguments here, got %d", interpreter.ErrInvalidRequest, len(contract.In), len(args))
	}
	for i, arg := range args {
		if err := contract.In[i].Set(&asked, arg); err != nil {
			return nil, err
		}
	}
	res, err := req.Next(ctx, &asked)
	if err != nil {
		return nil, err
	}
	results := make([]any, len(contract.Out))
	for i, out := range contract.Out {
		results[i] = out.Of(res)
	}
	return results, nil
}

// ruleSet is an immutable set of rules.
type ruleSet struct {
	compiled map[string]*compiled
	// exact are the rules of targets that name one kind, patterns those of the others; both in the order in
	// which they are asked.
	exact    map[interpreter.Key][]*rule
	patterns map[interpreter.Operation][]*rule
	// found remembers the rules of kinds that were asked about, *interpreter.Rule by interpreter.Key, so that
	// patterns cost once a kind.
	found sync.Map
	kept  atomic.Int64
}

// maxKept bounds how many kinds and operations are remembered. Clusters have a few thousand; a caller that
// asks about ever new ones must not fill the memory.
const maxKept = 50_000

func newRuleSet(good map[string]*compiled) *ruleSet {
	s := &ruleSet{compiled: good, exact: map[interpreter.Key][]*rule{}, patterns: map[interpreter.Operation][]*rule{}}
	for _, c := range good {
		for op, r := range c.rules {
			if c.target.exact() {
				key := interpreter.Key{Kind: c.target.gvk(), Operation: op}
				s.exact[key] = append(s.exact[key], r)
			} else {
				s.patterns[op] = append(s.patterns[op], r)
			}
		}
	}
	for _, rules := range s.exact {
		slices.SortFunc(rules, (*rule).compare)
	}
	for _, rules := range s.patterns {
		slices.SortFunc(rules, (*rule).compare)
	}
	return s
}

// compare orders rules as they are asked.
func (r *rule) compare(o *rule) int {
	return cmp.Or(r.owner.target.compare(o.owner.target), strings.Compare(r.Name, o.Name))
}

func (s *ruleSet) lookup(key interpreter.Key) []*interpreter.Rule {
	if rules, ok := s.found.Load(key); ok {
		return rules.([]*interpreter.Rule)
	}
	var matching []*rule
	matching = append(matching, s.exact[key]...)
	for _, r := range s.patterns[key.Operation] {
		if r.owner.target.matches(key.Kind) {
			matching = append(matching, r)
		}
	}
	// Names of whole groups come before patterns of groups, but "a whole group, any kind" is a pattern too.
	slices.SortFunc(matching, (*rule).compare)
	rules := make([]*interpreter.Rule, len(matching))
	for i, r := range matching {
		rules[i] = &r.Rule
	}
	if s.kept.Load() < maxKept {
		if _, there := s.found.LoadOrStore(key, rules); !there {
			s.kept.Add(1)
		}
	}
	return rules
}

// Name is the layer's name.
func (l *Layer) Name() string { return l.name }

// Rules are the rules for a kind and operation in the order in which they are asked.
func (l *Layer) Rules(kind schema.GroupVersionKind, op interpreter.Operation) []*interpreter.Rule {
	return l.rules.Load().lookup(interpreter.Key{Kind: kind, Operation: op})
}

// Entries lists the rules by kind, operation and name. Parts of kinds may be patterns.
func (l *Layer) Entries() []interpreter.Entry {
	s := l.rules.Load()
	var entries []interpreter.Entry
	for _, c := range s.compiled {
		for op, r := range c.rules {
			entries = append(entries, interpreter.Entry{Kind: c.target.gvk(), Operation: op, Rule: r.Name})
		}
	}
	slices.SortFunc(entries, func(a, b interpreter.Entry) int {
		return cmp.Or(strings.Compare(a.Kind.String(), b.Kind.String()), strings.Compare(string(a.Operation), string(b.Operation)), strings.Compare(a.Rule, b.Rule))
	})
	return entries
}

// Customization finds the customization in force under a name, nil if there is none.
func (l *Layer) Customization(name string) *Customization {
	if c := l.rules.Load().compiled[name]; c != nil {
		return c.source
	}
	return nil
}

// Conflict is a rule that never answers, because another customization for the very same target has one that
// comes first.
type Conflict struct {
	Operation interpreter.Operation
	// First answers, Second does not, unless it is asked by kube.next.
	First, Second *Customization
}

func (c Conflict) Error() string {
	return fmt.Sprintf("%s of %s %s: customizations %q and %q both have a rule; %q answers, being first by name",
		c.Operation, c.First.Spec.Target.APIVersion, c.First.Spec.Target.Kind, c.First.Name, c.Second.Name, c.First.Name)
}

// Conflicts lists the conflicts among the customizations in force, in a fixed order.
func (l *Layer) Conflicts() []Conflict { return l.rules.Load().conflicts() }

func (s *ruleSet) conflicts() []Conflict {
	var found []Conflict
	check := func(rules []*rule) {
		for i, r := range rules {
			// The first of the rules for a target answers.
			first := slices.IndexFunc(rules, func(o *rule) bool { return o.owner.target.same(r.owner.target) })
			if first < i {
				found = append(found, Conflict{First: rules[first].owner.source, Second: r.owner.source})
			}
		}
	}
	for _, contract := range interpreter.Contracts() {
		if contract.Union {
			continue
		}
		from := len(found)
		for key, rules := range s.exact {
			if key.Operation == contract.Operation {
				check(rules)
			}
		}
		check(s.patterns[contract.Operation])
		for i := range found[from:] {
			found[from+i].Operation = contract.Operation
		}
		slices.SortFunc(found[from:], func(a, b Conflict) int {
			return cmp.Or(strings.Compare(a.First.Name, b.First.Name), strings.Compare(a.Second.Name, b.Second.Name))
		})
	}
	return found
}
