package crd

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
)

// LayerName is the name of the layer of CRDs.
const LayerName = "crd"

// Layer answers for custom resources what their CRDs say. It implements interpreter.Lister, and is safe for many
// goroutines.
type Layer struct {
	definitions definition.Definitions
	// plans are what has been worked out, by the *definition.Version it is about. They go when the version does.
	plans sync.Map
	// listed are the entries as they were listed last, and of which CRDs.
	listed atomic.Pointer[listing]
}

type listing struct {
	of      []*definition.Definition
	entries []interpreter.Entry
}

// New makes the layer. It belongs behind all layers that know kinds by their names, and before those that answer for
// every kind. Nothing is worked out before somebody asks about a kind. CRDs that come, change or go are
// noticed at the next question.
func New(definitions definition.Definitions) *Layer { return &Layer{definitions: definitions} }

// Name is LayerName.
func (l *Layer) Name() string { return LayerName }

// answered are the operations that a CRD may answer.
var answered = []interpreter.Operation{
	interpreter.InterpretReplica,
	interpreter.InterpretComponent,
	interpreter.ReviseReplica,
	interpreter.Retain,
	interpreter.AggregateStatus,
	interpreter.InterpretStatus,
	interpreter.InterpretDependency,
}

// Rules are those of the kind's CRD. Whether a kind has pods is looked up in its schema, so the first question about
// them costs the reading of it.
func (l *Layer) Rules(kind schema.GroupVersionKind, op interpreter.Operation) []*interpreter.Rule {
	if !slices.Contains(answered, op) {
		return nil
	}
	d, err := l.definitions.Definition(kind.GroupKind())
	if err != nil {
		if !isCustom(kind.Group) {
			return nil // Whatever CRDs there will be, none is about this kind.
		}
		return failing(kind.GroupKind(), err)
	}
	if d == nil {
		return nil
	}
	v := d.Version(kind.Version)
	if v == nil {
		return nil
	}
	return l.plan(v).rules(op)
}

// failing is the rule of a kind of which it cannot be told yet whether there is one.
func failing(kind schema.GroupKind, err error) []*interpreter.Rule {
	return []*interpreter.Rule{{Name: kind.String(), Interpreter: interpreter.Func(
		func(context.Context, *interpreter.Request) (*interpreter.Result, error) { return nil, err })}}
}

// Entries lists the rules by the names of the CRDs. It reads the schemas of those that may be about pods.
func (l *Layer) Entries() []interpreter.Entry {
	all, err := l.definitions.All()
	if err != nil {
		return nil // Rules give the error.
	}
	if last := l.listed.Load(); last != nil && slices.Equal(last.of, all) {
		return slices.Clone(last.entries)
	}
	var list []interpreter.Entry
	for _, d := range all {
		for _, v := range d.Versions() {
			for _, op := range answered {
				for _, rule := range l.plan(v).rules(op) {
					list = append(list, interpreter.Entry{Kind: v.Kind(), Operation: op, Rule: rule.Name})
				}
			}
		}
	}
	l.listed.Store(&listing{of: slices.Clone(all), entries: list})
	return slices.Clone(list)
}

// plan is what is known about a version.
func (l *Layer) plan(v *definition.Version) *plan {
	if p, ok := l.plans.Load(v); ok {
		return p.(*plan)
	}
	// Versions that are no more are dropped here, so that what follows a server for long does not grow.
	l.plans.Range(func(key, _ any) bool {
		old := key.(*definition.Version)
		d, err := l.definitions.Definition(old.Definition.GroupKind())
		if err == nil && (d == nil || d.Version(old.Name) != old) {
			l.plans.Delete(key)
		}
		return true
	})
	p, _ := l.plans.LoadOrStore(v, newPlan(v))
	return p.(*plan)
}

// plan is what a version of a CRD says about its objects.
type plan struct {
	version *definition.Version
	scale   *scale
	// shape is what the schema says.
	shape func() (*shape, error)
	// plain are the rules that are there whatever the schema says; ofPods are those that depend on it.
	plain  map[interpreter.Operation][]*interpreter.Rule
	ofPods func() map[interpreter.Operation][]*interpreter.Rule
}

// shape is what a plan needs of a schema.
type shape struct {
	// status is the schema of the status, nil if there is none.
	status *structuralschema.Structural
	pods   *pods
}

func newPlan(v *definition.Version) *plan {
	p := &plan{version: v, plain: map[interpreter.Operation][]*interpreter.Rule{}}
	p.scale = newScale(v)
	p.shape = sync.OnceValues(func() (*shape, error) {
		root, err := v.Schema()
		if err != nil {
			return nil, err
		}
		return &shape{status: statusSchema(root), pods: newPods(placesIn(root), p.scale)}, nil
	})
	p.ofPods = sync.OnceValue(p.podRules)
	if p.scale != nil {
		p.add(p.plain, interpreter.InterpretReplica, interpreter.ReplicaFunc(p.replica))
		p.add(p.plain, interpreter.ReviseReplica, interpreter.ReviseFunc(p.scale.revise))
	}
	if p.scale != nil || !v.HasStatus {
		p.add(p.plain, interpreter.Retain, interpreter.RetainFunc(p.retain))
	}
	if p.scale != nil || v.HasStatus {
		p.add(p.plain, interpreter.AggregateStatus, interpreter.AggregateFunc(p.aggregate))
	}
	if v.HasStatus {
		p.add(p.plain, interpreter.InterpretStatus, interpreter.StatusFunc(p.reflect))
	}
	return p
}

func (p *plan) add(rules map[interpreter.Operation][]*interpreter.Rule, op interpreter.Operation, in interpreter.Interpreter) {
	rules[op] = []*interpreter.Rule{{Name: p.version.Definition.Name() + " " + p.version.Name, Interpreter: in}}
}

func (p *plan) rules(op interpreter.Operation) []*interpreter.Rule {
	switch op {
	case interpreter.InterpretComponent, interpreter.InterpretDependency:
		return p.ofPods()[op]
	}
	return p.plain[op]
}

// podRules are those about pods. Where the schema cannot be read, they say so: that there are no pods is not known.
func (p *plan) podRules() map[interpreter.Operation][]*interpreter.Rule {
	rules := map[interpreter.Operation][]*interpreter.Rule{}
	if !p.version.Definition.Mentions(containers, preserved) {
		return rules // Most CRDs are not about pods, and their schemas need not be read to know that.
	}
	sh, err := p.shape()
	if err != nil || sh.pods.counted {
		p.add(rules, interpreter.InterpretComponent, interpreter.Func(p.components))
	}
	// The pods of an object outside namespaces run in one that the schema does not tell.
	if err != nil || len(sh.pods.places) > 0 && p.version.Definition.Namespaced() {
		p.add(rules, interpreter.InterpretDependency, interpreter.Func(p.dependencies))
	}
	return rules
}

// replica is InterpretReplica.
func (p *plan) replica(obj *unstructured.Unstructured) (int32, *interpreter.ReplicaRequirements, error) {
	n, err := p.scale.replicas(obj)
	if err != nil {
		return 0, nil, err
	}
	sh, err := p.shape()
	if err != nil {
		return 0, nil, err
	}
	r, err := sh.pods.requirements(obj)
	return n, r, err
}

// components is InterpretComponent. Where the schema only leaves room for pods and the object has none, the layers
// below are asked: nothing is known here.
func (p *plan) components(ctx context.Context, req *interpreter.Request) (*interpreter.Result, error) {
	sh, err := p.shape()
	if err != nil {
		return nil, err
	}
	list, sure, err := sh.pods.components(req.Object, p.scale)
	if err != nil {
		return nil, err
	}
	if !sure {
		return req.Next(ctx, req)
	}
	return &interpreter.Result{Components: list}, nil
}

// dependencies is InterpretDependency.
func (p *plan) dependencies(ctx context.Context, req *interpreter.Request) (*interpreter.Result, error) {
	sh, err := p.shape()
	if err != nil {
		return nil, err
	}
	list, sure, err := sh.pods.dependencies(req.Object)
	if err != nil {
		return nil, err
	}
	if !sure {
		return req.Next(ctx, req)
	}
	return &interpreter.Result{Dependencies: list}, nil
}

// retain is Retain. Where the status is no subresource it is part of what is written, and it is the member's.
func (p *plan) retain(desired, observed *unstructured.Unstructured) error {
	if p.scale != nil {
		if err := p.scale.retain(desired, observed); err != nil {
			return err
		}
	}
	if status := observed.Object["status"]; status != nil && !p.version.HasStatus {
		desired.Object["status"] = interpreter.CloneValue(status)
	}
	return nil
}

// servers are the groups with a dot in their names that API servers bring along. Those without a dot are all theirs:
// a CRD must have one.
var servers = []string{
	"admission.k8s.io",
	"admissionregistration.k8s.io",
	"apidiscovery.k8s.io",
	"apiextensions.k8s.io",
	"apiregistration.k8s.io",
	"authentication.k8s.io",
	"authorization.k8s.io",
	"certificates.k8s.io",
	"coordination.k8s.io",
	"discovery.k8s.io",
	"events.k8s.io",
	"flowcontrol.apiserver.k8s.io",
	"imagepolicy.k8s.io",
	"internal.apiserver.k8s.io",
	"lifecycle.k8s.io",
	"networking.k8s.io",
	"node.k8s.io",
	"rbac.authorization.k8s.io",
	"resource.k8s.io",
	"scheduling.k8s.io",
	"storage.k8s.io",
	"storagemigration.k8s.io",
}

// isCustom says whether the kinds of a group are custom resources, or may be.
func isCustom(group string) bool {
	return strings.Contains(group, ".") && !slices.Contains(servers, group)
}
