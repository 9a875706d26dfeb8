// Package builtin interprets Kubernetes' own kinds, in Go. One file holds what is known about one kind; the
// index below lists them.
//
// Rules read the fields they need from unstructured objects and change the fields they name, nothing else:
// a field that is newer than this package survives every answer.
package builtin

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
)

// kind is what is known about one kind.
type kind struct {
	gvk   schema.GroupVersionKind
	rules rules
}

// rules answer for exactly the kind they belong to, except for Prune, which holds for every version of
// it: what must not travel is a matter of what the field means, and pruning the wrong version of a kind is
// harmless while sending, say, a cluster IP is not.
type rules map[interpreter.Operation]interpreter.Interpreter

// index is every kind in this package, ordered by group and kind.
var index = []kind{}

// Layer answers for the kinds of the index. It implements interpreter.Lister.
func Layer() interpreter.Layer { return newLayer("built-in", index) }

// Fallback answers for every kind: the whole status is reflected, and what belongs to the control plane's
// copy of any object is pruned. It implements interpreter.Lister.
func Fallback() interpreter.Layer { return newLayer("fallback", []kind{anyKind}) }

const wildcard = "*"

var anyKind = kind{
	gvk: schema.GroupVersionKind{Group: wildcard, Version: wildcard, Kind: wildcard},
	rules: rules{
		interpreter.InterpretStatus: interpreter.StatusFunc(wholeStatus),
		interpreter.Prune:           pruneFunc(nil),
	},
}

type layer struct {
	name    string
	rules   map[interpreter.Key][]*interpreter.Rule
	entries []interpreter.Entry
}

func newLayer(name string, kinds []kind) *layer {
	l := &layer{name: name, rules: map[interpreter.Key][]*interpreter.Rule{}}
	for _, k := range kinds {
		rule := interpreter.KindString(k.gvk)
		if k.gvk.Kind == wildcard {
			rule = "any kind"
		}
		for _, op := range slices.Sorted(maps.Keys(k.rules)) {
			at := interpreter.Key{Kind: k.gvk, Operation: op}
			if op == interpreter.Prune {
				at.Kind.Version = wildcard
			}
			l.rules[at] = []*interpreter.Rule{{Name: rule, Interpreter: k.rules[op]}}
			l.entries = append(l.entries, interpreter.Entry{Kind: at.Kind, Operation: op, Rule: rule})
		}
	}
	return l
}

func (l *layer) Name() string { return l.name }

func (l *layer) Entries() []interpreter.Entry { return slices.Clone(l.entries) }

func (l *layer) Rules(kind schema.GroupVersionKind, op interpreter.Operation) []*interpreter.Rule {
	if op == interpreter.Prune {
		kind.Version = wildcard
	}
	if rules, ok := l.rules[interpreter.Key{Kind: kind, Operation: op}]; ok {
		return rules
	}
	return l.rules[interpreter.Key{Kind: anyKind.gvk, Operation: op}]
}

// wholeStatus reflects a status as it is, an empty one included.
func wholeStatus(obj *unstructured.Unstructured) (any, error) {
	status, err := mapAt(obj.Object, "status")
	if status == nil || err != nil {
		return nil, err
	}
	return clone(status), nil
}

// ofTheControlPlane are the fields under metadata that an API server or a controller of the control plane
// wrote about its own copy of an object. Owners and finalizers are among them: neither exists in a member.
var ofTheControlPlane = []string{
	"creationTimestamp",
	"deletionGracePeriodSeconds",
	"deletionTimestamp",
	"finalizers",
	"generation",
	"managedFields",
	"ownerReferences",
	"resourceVersion",
	"selfLink",
	"uid",
}

// pruneFunc answers Prune: first what holds for every kind, then what a kind adds to it; nil adds nothing.
func pruneFunc(add func(obj map[string]any) error) interpreter.Interpreter {
	return interpreter.PruneFunc(func(obj *unstructured.Unstructured) error {
		remove(obj.Object, "status")
		for _, name := range ofTheControlPlane {
			remove(obj.Object, "metadata", name)
		}
		if add == nil {
			return nil
		}
		return add(obj.Object)
	})
}
