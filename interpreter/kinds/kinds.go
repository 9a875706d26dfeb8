package kinds

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
)

// Kinds finds resources and kinds by name. It asks its sources when something is looked up first, and again when
// something is not found; what they said last stays in force if that fails. It is safe for many goroutines.
//
// Its methods without a context are those of meta.RESTMapper; they may wait for a server as long as its client does.
type Kinds struct {
	sources []Source
	current atomic.Pointer[table]

	// loading is held by who asks the sources; listings, what they said last, belong to them.
	loading  chan struct{}
	listings []*listing
}

var _ meta.ResettableRESTMapper = (*Kinds)(nil)

// New makes kinds of sources, the most trusted one first. Nothing is asked yet; see Load.
func New(sources ...Source) *Kinds {
	return &Kinds{sources: slices.Clone(sources), loading: make(chan struct{}, 1), listings: make([]*listing, len(sources))}
}

// With makes kinds of the same sources and of others, which are trusted less.
func (k *Kinds) With(sources ...Source) *Kinds { return New(slices.Concat(k.sources, sources)...) }

// Load asks the sources unless that has been done, so that an error that they have is told in time.
func (k *Kinds) Load(ctx context.Context) error {
	_, err := k.table(ctx)
	return err
}

// Reset makes the next look-up ask the sources anew.
func (k *Kinds) Reset() { k.current.Store(nil) }

func (k *Kinds) table(ctx context.Context) (*table, error) {
	if t := k.current.Load(); t != nil {
		return t, nil
	}
	return k.refresh(ctx, nil)
}

// refresh asks the sources, unless somebody else has done so since the table was in force that is given.
func (k *Kinds) refresh(ctx context.Context, seen *table) (*table, error) {
	select {
	case k.loading <- struct{}{}:
		defer func() { <-k.loading }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if t := k.current.Load(); t != nil && t != seen {
		return t, nil
	}
	changed := k.current.Load() == nil
	listings := slices.Clone(k.listings)
	for i, s := range k.sources {
		l, err := s.load(ctx, listings[i])
		if err != nil {
			return nil, err
		}
		changed = changed || l != listings[i]
		listings[i] = l
	}
	if !changed {
		return seen, nil
	}
	s, err := standard()
	if err != nil {
		return nil, err
	}
	t := newTable(listings, s.groups)
	k.listings = listings
	k.current.Store(t)
	return t, nil
}

// search looks in the table, and if nothing is there in a newer one. The table is what was looked in last.
func (k *Kinds) search(ctx context.Context, find func(*table) []*Resource) ([]*Resource, *table, error) {
	t, err := k.table(ctx)
	if err != nil {
		return nil, nil, err
	}
	if list := find(t); len(list) > 0 {
		return list, t, nil
	}
	newer, err := k.refresh(ctx, t)
	if err != nil || newer == t {
		return nil, t, err
	}
	return find(newer), newer, nil
}

// All lists every version of every resource by priority. The list is the caller's.
func (k *Kinds) All(ctx context.Context) ([]*Resource, error) {
	t, err := k.table(ctx)
	if err != nil {
		return nil, err
	}
	return slices.Clone(t.all), nil
}

// Undiscovered says which versions of groups a server could not tell about, and why; nil if there are none.
func (k *Kinds) Undiscovered(ctx context.Context) error {
	t, err := k.table(ctx)
	if err != nil {
		return err
	}
	return t.undiscovered("", "")
}

// ByKind finds the resource of a kind. An error that is not from a source is a *NoMatchError.
func (k *Kinds) ByKind(ctx context.Context, kind schema.GroupVersionKind) (*Resource, error) {
	if t := k.current.Load(); t != nil {
		if r := t.byKind[kind]; r != nil {
			return r, nil
		}
	}
	list, t, err := k.search(ctx, func(t *table) []*Resource { return only(t.byKind[kind]) })
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, t.noKind(kind.GroupKind(), kind.Version)
	}
	return list[0], nil
}

// ByResource finds a resource by its full name, with the plural. An error that is not from a source is a
// *NoMatchError.
func (k *Kinds) ByResource(ctx context.Context, name schema.GroupVersionResource) (*Resource, error) {
	if t := k.current.Load(); t != nil {
		if r := t.byName[name]; r != nil {
			return r, nil
		}
	}
	list, t, err := k.search(ctx, func(t *table) []*Resource { return only(t.byName[name]) })
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, t.noResource(joinName(name.Resource, name.Version, name.Group), name)
	}
	return list[0], nil
}

func only(r *Resource) []*Resource {
	if r == nil {
		return nil
	}
	return []*Resource{r}
}

// Find lists all that a name may mean, by priority, the versions of a resource among it. In any letter case, it is
//
//	deployments, deployment, deploy         a plural, a singular or a short name
//	Deployment                              a kind
//	deployments.apps, deploy.v1.apps        with the group or its beginning, and with the version before it
//	deployments.v1                          with the version only
//	apps/v1 Deployment                      an apiVersion and a kind
//	crd/foos, crd/foos.example.com          the resource that a CRD defines
//	all                                     a category, which means the preferred version of each of its resources
//
// What nothing has as its resource name is looked for as a short name, then as a kind, then as a category. The error
// is ErrInvalidName, a *NoMatchError, or that of a source.
func (k *Kinds) Find(ctx context.Context, name string) ([]*Resource, error) {
	list, _, err := k.find(ctx, name)
	return list, err
}

// One finds what a name means, as Find has it, by priority. If that does not decide, or the name is that of a
// category with several resources, the error is an *AmbiguousError.
func (k *Kinds) One(ctx context.Context, name string) (*Resource, error) {
	list, category, err := k.find(ctx, name)
	if err != nil {
		return nil, err
	}
	if category && len(list) > 1 {
		return nil, newAmbiguous(name, schema.GroupVersionResource{Resource: name}, list, true)
	}
	r, rivals := first(list)
	if r == nil {
		return nil, newAmbiguous(name, schema.GroupVersionResource{Resource: name}, rivals, false)
	}
	return r, nil
}

func (k *Kinds) find(ctx context.Context, text string) (list []*Resource, category bool, err error) {
	n, err := parseName(text)
	if err != nil {
		return nil, false, err
	}
	list, t, err := k.search(ctx, func(t *table) []*Resource {
		var found []*Resource
		found, category = t.find(&n)
		return found
	})
	if err != nil {
		return nil, false, err
	}
	if len(list) == 0 {
		return nil, false, t.noName(&n)
	}
	return list, category, nil
}

// find looks for what a name can mean, in turn. What it gives must not be changed.
func (t *table) find(n *name) (list []*Resource, category bool) {
	if n.word != n.partials[0].Resource {
		// Only kinds are written with capitals. One that is written just so is nearer than a name that is not.
		for _, p := range n.partials {
			list := t.namedIn(t.kinds, p)
			list = slices.DeleteFunc(list, func(r *Resource) bool { return r.Kind.Kind != n.word })
			if list = n.filter(list, p); len(list) > 0 {
				return list, false
			}
		}
	}
	for _, p := range n.partials {
		if list := n.filter(t.named(p, true), p); len(list) > 0 {
			return list, false
		}
	}
	if p := n.partials[0]; p.Group == "" && p.Version == "" && !n.custom {
		list = t.categories[p.Resource]
	}
	return slices.Clone(list), true
}

// filter leaves those that the way the name is written allows.
func (n *name) filter(list []*Resource, p schema.GroupVersionResource) []*Resource {
	return slices.DeleteFunc(list, func(r *Resource) bool {
		return n.exact && r.Name.Group != p.Group || n.custom && r.Standard
	})
}

// noName is the error for a name that nothing has.
func (t *table) noName(n *name) error {
	p := n.partials[0]
	e := t.noResource(n.text, p)
	if len(e.Nearest) > 0 {
		e.Nearest = t.nearest(n.word, false)
	}
	for _, looser := range n.looser() {
		if len(e.Others) == 0 {
			e.Others = n.filter(t.named(looser, true), schema.GroupVersionResource{Group: p.Group})
		}
	}
	if len(e.Others) > 0 {
		e.Nearest = nil
	}
	return e
}

// noResource is the error for a partial resource that nothing has.
func (t *table) noResource(text string, p schema.GroupVersionResource) *NoMatchError {
	e := &NoMatchError{
		Name: text, Others: t.named(schema.GroupVersionResource{Resource: p.Resource}, true),
		Undiscovered: t.undiscovered(p.Group, p.Version), err: &meta.NoResourceMatchError{PartialResource: p},
	}
	if len(e.Others) == 0 {
		e.Nearest = t.nearest(p.Resource, false)
	}
	return e
}

// noKind is the error for a kind that there is not.
func (t *table) noKind(kind schema.GroupKind, versions ...string) error {
	e := &NoMatchError{Name: kind.String(), err: &meta.NoKindMatchError{GroupKind: kind, SearchedVersions: versions}}
	version := ""
	if len(versions) == 1 {
		version = versions[0]
		e.Name = interpreter.KindString(kind.WithVersion(version))
	}
	e.Undiscovered = t.undiscovered(kind.Group, version)
	for _, r := range t.all {
		if r.Kind.Kind == kind.Kind {
			e.Others = append(e.Others, r)
		}
	}
	// What the group has under that name is nearer than what others have.
	inGroup := func(r *Resource) bool { return r.Kind.Group == kind.Group }
	if slices.ContainsFunc(e.Others, inGroup) {
		e.Others = slices.DeleteFunc(e.Others, func(r *Resource) bool { return !inGroup(r) })
	}
	if len(e.Others) == 0 {
		e.Nearest = t.nearest(kind.Kind, true)
	}
	return e
}

// newAmbiguous is the error for a name that fits several.
func newAmbiguous(text string, p schema.GroupVersionResource, list []*Resource, category bool) error {
	err := &meta.AmbiguousResourceError{PartialResource: p}
	for _, r := range list {
		err.MatchingResources = append(err.MatchingResources, r.Name)
		err.MatchingKinds = append(err.MatchingKinds, r.Kind)
	}
	return &AmbiguousError{Name: text, Candidates: list, Category: category, err: err}
}

// isNoMatch says whether an error means that something is not there, rather than that it could not be told.
func isNoMatch(err error) bool {
	var e *NoMatchError
	return errors.As(err, &e)
}
