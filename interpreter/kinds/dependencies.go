package kinds

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
)

// The causes of problems with a dependency, beside a *NoMatchError.
var (
	// ErrNamespaceMissing means that objects of the kind are in namespaces, and none is named.
	ErrNamespaceMissing = errors.New("the namespace is missing")
	// ErrNamespaceSuperfluous means that objects of the kind are in no namespace, and one is named.
	ErrNamespaceSuperfluous = errors.New("the namespace is too much")
)

// DependencyProblem is something wrong with one dependency. Whoever looked for that object would not find it.
type DependencyProblem struct {
	// Index is the dependency's place in the list.
	Index      int
	Dependency interpreter.DependentObjectReference
	// Certain means that no API server could have the object. It is false where the sources know too little to say
	// so: the kind may come from a CRD that was not given, or from another version of Kubernetes.
	Certain bool
	// Err is a *NoMatchError, ErrNamespaceMissing or ErrNamespaceSuperfluous.
	Err error
}

// Error names the dependency, and says what is wrong.
func (p *DependencyProblem) Error() string {
	d := &p.Dependency
	kind, name := d.APIVersion+" "+d.Kind, d.Name
	if d.Namespace != "" {
		name = d.Namespace + "/" + name
	}
	why := p.Err.Error()
	switch {
	case errors.Is(p.Err, ErrNamespaceMissing):
		why += "; " + kind + " is in namespaces"
	case errors.Is(p.Err, ErrNamespaceSuperfluous):
		why += "; " + kind + " is in none"
	case !p.Certain:
		why += p.doubt()
	}
	return fmt.Sprintf("dependencies[%d] %s: %s", p.Index, strings.TrimSpace(kind+" "+name), why)
}

// doubt says what else than a mistake there may be.
func (p *DependencyProblem) doubt() string {
	var unknown *NoMatchError
	if !errors.As(p.Err, &unknown) || unknown.Undiscovered != nil {
		return "" // It is said there.
	}
	s, err := standard()
	if err == nil && s.groups[schema.FromAPIVersionAndKind(p.Dependency.APIVersion, p.Dependency.Kind).Group] {
		return "; a Kubernetes other than " + s.version + " may have it"
	}
	return " It may come from another CRD"
}

// Unwrap is the cause.
func (p *DependencyProblem) Unwrap() error { return p.Err }

// CheckDependencies looks for dependencies that could not be found whatever objects there are: of an unknown kind,
// without the namespace that their kind needs, or with one that it does not have. The error is that of a source.
//
// The object is the one with the dependencies. If it should have a namespace itself and has none yet, as in many a
// file, then its dependencies may lack theirs too. It may be nil.
//
// A kind that is not known is a certain problem if the server was asked, if its version of its group comes with
// Kubernetes, or if its CRD is known without the version. It is an uncertain one if Kubernetes has the group without
// the version, if the server could not tell about the group, or if the group has a kind of nearly that name.
// Otherwise it is none: of kinds that nobody told about, nothing can be said.
func (k *Kinds) CheckDependencies(ctx context.Context, object *unstructured.Unstructured, dependencies []interpreter.DependentObjectReference) ([]*DependencyProblem, error) {
	var problems []*DependencyProblem
	for i, d := range dependencies {
		err, certain := k.checkDependency(ctx, object, d)
		if err == nil {
			continue
		}
		problem := &DependencyProblem{Index: i, Dependency: d, Certain: certain, Err: err}
		if !errors.Is(err, ErrNamespaceMissing) && !errors.Is(err, ErrNamespaceSuperfluous) && !isNoMatch(err) {
			return nil, fmt.Errorf("dependencies[%d]: %w", i, err)
		}
		problems = append(problems, problem)
	}
	return problems, nil
}

func (k *Kinds) checkDependency(ctx context.Context, object *unstructured.Unstructured, d interpreter.DependentObjectReference) (err error, certain bool) {
	gv, err := schema.ParseGroupVersion(d.APIVersion)
	if err != nil {
		return &NoMatchError{Name: d.APIVersion + " " + d.Kind, err: err}, true
	}
	r, err := k.ByKind(ctx, gv.WithKind(d.Kind))
	var unknown *NoMatchError
	switch {
	case errors.As(err, &unknown):
		return k.judge(gv.WithKind(d.Kind), unknown)
	case err != nil:
		return err, false
	case r.Guessed:
		return nil, false
	case !r.Namespaced && d.Namespace != "":
		return ErrNamespaceSuperfluous, true
	case r.Namespaced && d.Namespace == "" && !k.lacksNamespace(ctx, object):
		return ErrNamespaceMissing, true
	}
	return nil, false
}

// lacksNamespace says whether an object has no namespace and yet may belong in one.
func (k *Kinds) lacksNamespace(ctx context.Context, object *unstructured.Unstructured) bool {
	if object == nil || object.GetNamespace() != "" {
		return false
	}
	r, err := k.ByKind(ctx, object.GroupVersionKind())
	return err != nil || r.Namespaced
}

// judge says how much it means that a kind is unknown: the error and whether it is certain, or no error.
func (k *Kinds) judge(kind schema.GroupVersionKind, unknown *NoMatchError) (err error, certain bool) {
	t := k.current.Load()
	if t == nil {
		return nil, false
	}
	sameGroup := false
	for _, r := range unknown.Others {
		if r.Kind.Group != kind.Group || r.Guessed {
			continue
		}
		sameGroup = true
		if r.Definition != nil {
			return unknown, true // Its CRD does not have that version.
		}
	}
	switch {
	case unknown.Undiscovered != nil:
		return unknown, false
	case t.complete || t.whole[kind.GroupVersion()]:
		return unknown, true
	case t.standard[kind.Group] || sameGroup:
		return unknown, false
	}
	if near := t.nearestInGroup(kind); near != "" {
		return &NoMatchError{Name: unknown.Name, Nearest: []string{near}, err: unknown.err}, false
	}
	return nil, false
}

// nearestInGroup finds a kind of the same group and version that is nearly called so.
func (t *table) nearestInGroup(kind schema.GroupVersionKind) string {
	var names []string
	for _, r := range t.all {
		if r.Kind.GroupVersion() == kind.GroupVersion() {
			names = append(names, r.Kind.Kind)
		}
	}
	if near := interpreter.Nearest(kind.Kind, names); near != "" {
		return interpreter.KindString(kind.GroupVersion().WithKind(near))
	}
	return ""
}

// Guard refuses dependencies with which there is a certain problem, for interpreter.Chain.WithChecks:
//
//	chain = chain.WithChecks(k.Guard())
//
// Each error is an interpreter.ErrInvalidResult with a *DependencyProblem, whose index is the place among the sorted
// dependencies of the rule. If a source cannot be asked, its error is the only one, since unchecked is not checked.
func (k *Kinds) Guard() interpreter.Check {
	return func(ctx context.Context, req *interpreter.Request, res *interpreter.Result) []error {
		if req.Operation != interpreter.InterpretDependency {
			return nil
		}
		problems, err := k.CheckDependencies(ctx, req.Object, res.Dependencies)
		if err != nil {
			return []error{err}
		}
		var errs []error
		for _, p := range problems {
			if p.Certain {
				errs = append(errs, fmt.Errorf("%w: %w", interpreter.ErrInvalidResult, p))
			}
		}
		return errs
	}
}
