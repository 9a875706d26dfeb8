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
	gvk schema.GroupVersionKind
	// also are further versions of the kind in which all that the rules read looks the same.
	also []string
	// rules are those that Karmada has too; users know their answers from there.
	rules rules
	// extra are rules that Karmada lacks, or answers that go further than its own.
	extra rules
}

// rules answer for exactly the kind they belong to, except for Prune, which holds for every version of
// it: what must not travel is a matter of what the field means, and pruning the wrong version of a kind is
// harmless while sending, say, a cluster IP is not.
type rules map[interpreter.Operation]interpreter.Interpreter

// index is every kind in this package.
var index = []kind{
	// Workloads.
	daemonSet,
	deployment,
	replicaSet,
	replicationController,
	statefulSet,
	cronJob,
	job,
	pod,

	// The core group.
	namespace,
	persistentVolume,
	persistentVolumeClaim,
	secret,
	service,
	serviceAccount,

	// The other groups of Kubernetes.
	mutatingWebhookConfiguration,
	validatingWebhookConfiguration,
	customResourceDefinition,
	apiService,
	horizontalPodAutoscaler,
	ingress,
	networkPolicy,
	podDisruptionBudget,
	clusterRoleBinding,
	roleBinding,

	// Kinds that the Kubernetes project publishes as CRDs.
	gateway,
	grpcRoute,
	httpRoute,
	listenerSet,
	tcpRoute,
	tlsRoute,
	udpRoute,
	serviceImport,
}

// Layer answers what Karmada's own built-in rules answer. It implements interpreter.Lister.
func Layer() interpreter.Layer {
	return newLayer("built-in", index, func(k kind) rules { return k.rules })
}

// Extra answers what Karmada has no built-in rule for, such as the health of a Job. Where it goes further
// than Layer it belongs before it; leave it out to have exactly the answers that Karmada gives. It implements
// interpreter.Lister.
func Extra() interpreter.Layer {
	return newLayer("built-in extra", index, func(k kind) rules { return k.extra })
}

// Fallback answers for every kind: the whole status is reflected, and what belongs to the control plane's
// copy of any object is pruned. It implements interpreter.Lister.
func Fallback() interpreter.Layer {
	return newLayer("fallback", []kind{anyKind}, func(k kind) rules { return k.rules })
}

// wildcard stands for any group, version or kind. No real one can be called that.
const wildcard = "*"

// anyKind is what is known about kinds that nobody knows.
var anyKind = kind{
	gvk: schema.GroupVersionKind{Group: wildcard, Version: wildcard, Kind: wildcard},
	rules: rules{
		interpreter.InterpretStatus: interpreter.StatusFunc(wholeStatus),
		interpreter.Prune:           pruneFunc(nil),
	},
}

// layer is a set of rules that never changes.
type layer struct {
	name    string
	rules   map[interpreter.Key][]*interpreter.Rule
	entries []interpreter.Entry
}

// newLayer takes those rules of each kind that of picks. Entries are in the order of the kinds.
func newLayer(name string, kinds []kind, of func(kind) rules) *layer {
	l := &layer{name: name, rules: map[interpreter.Key][]*interpreter.Rule{}}
	for _, k := range kinds {
		for _, version := range append([]string{k.gvk.Version}, k.also...) {
			gvk := k.gvk.GroupKind().WithVersion(version)
			for _, op := range slices.Sorted(maps.Keys(of(k))) {
				l.add(gvk, op, of(k)[op])
			}
		}
	}
	return l
}

func (l *layer) add(gvk schema.GroupVersionKind, op interpreter.Operation, answer interpreter.Interpreter) {
	rule := interpreter.KindString(gvk)
	if gvk == anyKind.gvk {
		rule = "any kind"
	}
	at := interpreter.Key{Kind: gvk, Operation: op}
	if op == interpreter.Prune {
		at.Kind.Version = wildcard
	}
	l.rules[at] = []*interpreter.Rule{{Name: rule, Interpreter: answer}}
	l.entries = append(l.entries, interpreter.Entry{Kind: at.Kind, Operation: op, Rule: rule})
}

func (l *layer) Name() string { return l.name }

func (l *layer) Entries() []interpreter.Entry { return slices.Clone(l.entries) }

// Rules are those of the kind itself, or else those for any kind.
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
	return interpreter.CloneValue(status), nil
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
		pruneAny(obj.Object)
		if add == nil {
			return nil
		}
		return add(obj.Object)
	})
}

// pruneAny takes away what must not travel, whatever the kind.
func pruneAny(obj map[string]any) {
	remove(obj, "status")
	for _, name := range ofTheControlPlane {
		remove(obj, "metadata", name)
	}
}
