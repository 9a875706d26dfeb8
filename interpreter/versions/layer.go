package versions

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
)

// Converter converts objects of CRDs whose conversion strategy is Webhook.
type Converter interface {
	// Convert gives objects of a CRD in one of its versions, in their order, all of them or none. Those that are in that
	// version may be given as they are; no object is modified. The error names the CRD, the versions and the object.
	Convert(ctx context.Context, d *definition.Definition, objects []*unstructured.Unstructured, version string) ([]*unstructured.Unstructured, error)
}

// Func is a function that is a Converter.
type Func func(ctx context.Context, d *definition.Definition, objects []*unstructured.Unstructured, version string) ([]*unstructured.Unstructured, error)

// Convert calls f.
func (f Func) Convert(ctx context.Context, d *definition.Definition, objects []*unstructured.Unstructured, version string) ([]*unstructured.Unstructured, error) {
	return f(ctx, d, objects, version)
}

// maxFound bounds how many kinds and operations are remembered. A cluster with a thousand CRDs has fewer that are asked
// about in another version than that of their rules.
const maxFound = 20_000

// Layer is a layer whose rules serve all versions of a kind. It is safe for many goroutines if the layer in it is, also
// while that is replaced.
type Layer struct {
	layer       interpreter.Layer
	definitions definition.Definitions
	converter   Converter

	mu sync.RWMutex
	// found are the rules that were made for kinds that were asked about, so that a look-up makes nothing.
	found map[interpreter.Key]*found
}

// found is what a look-up came to, and what it came to that by.
type found struct {
	definition *definition.Definition
	inner      []*interpreter.Rule
	rules      []*interpreter.Rule
}

// New puts a layer around another one. Without a converter, which may be nil, questions about kinds whose CRD names a
// conversion webhook fail.
func New(layer interpreter.Layer, definitions definition.Definitions, converter Converter) *Layer {
	return &Layer{layer: layer, definitions: definitions, converter: converter, found: map[interpreter.Key]*found{}}
}

// Name is the name of the layer in it.
func (l *Layer) Name() string { return l.layer.Name() }

// Rules are the rules that the layer in it has for the kind, or else for one other version of it.
func (l *Layer) Rules(kind schema.GroupVersionKind, op interpreter.Operation) []*interpreter.Rule {
	if rules := l.layer.Rules(kind, op); len(rules) > 0 {
		return rules
	}
	d, err := l.definition(kind.GroupKind())
	if err != nil {
		return []*interpreter.Rule{{Name: definition.Kind, Interpreter: interpreter.Func(func(context.Context, *interpreter.Request) (*interpreter.Result, error) {
			return nil, err
		})}}
	}
	if d == nil || d.Version(kind.Version) == nil {
		return nil
	}
	storage := d.Storage()
	if rules := l.from(storage, kind, op); rules != nil {
		return rules
	}
	for _, v := range d.Versions() {
		if v == storage {
			continue
		}
		if rules := l.from(v, kind, op); rules != nil {
			return rules
		}
	}
	return nil
}

// definition finds the CRD of a kind, nil if there is none. The group of a CRD has a dot, so who asks about others need
// not wait for CRDs.
func (l *Layer) definition(kind schema.GroupKind) (*definition.Definition, error) {
	if !strings.Contains(kind.Group, ".") {
		return nil, nil
	}
	return l.definitions.Definition(kind)
}

// from are the rules for a kind that are made of those for another version of it, nil if there are none.
func (l *Layer) from(v *definition.Version, kind schema.GroupVersionKind, op interpreter.Operation) []*interpreter.Rule {
	if v.Name == kind.Version {
		return nil
	}
	inner := l.layer.Rules(v.Kind(), op)
	if len(inner) == 0 {
		return nil
	}
	key := interpreter.Key{Kind: kind, Operation: op}
	l.mu.RLock()
	f := l.found[key]
	l.mu.RUnlock()
	if f != nil && f.definition == v.Definition && slices.Equal(f.inner, inner) {
		return f.rules
	}
	f = &found{definition: v.Definition, inner: slices.Clone(inner)}
	for _, r := range inner {
		b := &bridge{
			rule: r.Interpreter,
			to:   passage{definition: v.Definition, converter: l.converter, from: kind.Version, to: v.Name},
			back: passage{definition: v.Definition, converter: l.converter, from: v.Name, to: kind.Version},
		}
		f.rules = append(f.rules, &interpreter.Rule{Name: ruleName(r.Name, v), Selector: r.Selector, Interpreter: b})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.found) >= maxFound {
		clear(l.found)
	}
	l.found[key] = f
	return f.rules
}

// ruleName tells in which version a rule is asked.
func ruleName(name string, v *definition.Version) string {
	return fmt.Sprintf("%s (%s)", name, v.Kind().GroupVersion())
}

// Entries lists the rules of the layer in it, if it lists them, and then those that serve other versions.
func (l *Layer) Entries() []interpreter.Entry {
	lister, ok := l.layer.(interpreter.Lister)
	if !ok {
		return nil
	}
	own := lister.Entries()
	served := map[interpreter.Key]bool{} // without versions
	var more []interpreter.Entry
	for _, e := range own {
		key := interpreter.Key{Kind: e.Kind.GroupKind().WithVersion(""), Operation: e.Operation}
		if served[key] {
			continue
		}
		served[key] = true
		d, err := l.definition(e.Kind.GroupKind())
		if err != nil || d == nil {
			continue // Patterns are no CRD's, and match every version.
		}
		for _, v := range d.Versions() {
			if len(l.layer.Rules(v.Kind(), e.Operation)) > 0 {
				continue
			}
			for _, r := range l.Rules(v.Kind(), e.Operation) {
				more = append(more, interpreter.Entry{Kind: v.Kind(), Operation: e.Operation, Rule: r.Name})
			}
		}
	}
	slices.SortStableFunc(more, func(a, b interpreter.Entry) int {
		return cmp.Or(strings.Compare(a.Kind.String(), b.Kind.String()), strings.Compare(string(a.Operation), string(b.Operation)))
	})
	return append(slices.Clip(own), more...)
}
