package kinds

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"

	"github.com/kubeinterpret/interpret/interpreter/definition"
)

// Source is where kinds are known from: Standard, Definitions, Listed or Discovery.
type Source interface {
	// load lists what there is. Before is what it said last, nil at first; giving it back means that nothing has
	// changed, and the table that was made from it stays.
	load(ctx context.Context, before *listing) (*listing, error)
}

// listing is what a source says.
type listing struct {
	groups []group
	// whole means that of the versions that are listed every resource is.
	whole bool
	// complete means that there are no other groups and versions than those listed and those that failed.
	complete bool
	// failed are the versions about which nothing could be learnt.
	failed map[schema.GroupVersion]error

	// definitions are what the listing was made from, if it was CRDs.
	definitions []*definition.Definition
}

// group is an API group with the resources of all its versions.
type group struct {
	name string
	// preferred is a version; empty if the source does not say.
	preferred string
	resources []*Resource
}

// standardTable is what a server said about itself; see test/e2e/kindtable.
//
//go:embed standard.json
var standardTable []byte

// standardKinds are decoded when somebody asks: most runs of a command do not.
type standardKinds struct {
	listing *listing
	version string
	groups  map[string]bool
}

var standard = sync.OnceValues(decodeStandard)

func decodeStandard() (*standardKinds, error) {
	var table struct {
		KubernetesVersion string                             `json:"kubernetesVersion"`
		Items             []apidiscoveryv2.APIGroupDiscovery `json:"items"`
	}
	if err := json.Unmarshal(standardTable, &table); err != nil {
		return nil, fmt.Errorf("the table of standard kinds: %w", err)
	}
	list, resources, _ := discovery.SplitGroupsAndResources(apidiscoveryv2.APIGroupDiscoveryList{Items: table.Items})
	var groups []*restmapper.APIGroupResources
	known := map[string]bool{}
	for _, g := range list.Groups {
		versions := map[string][]metav1.APIResource{}
		for _, v := range g.Versions {
			versions[v.Version] = resources[schema.GroupVersion{Group: g.Name, Version: v.Version}].APIResources
		}
		groups = append(groups, &restmapper.APIGroupResources{Group: g, VersionedResources: versions})
		known[g.Name] = true
	}
	return &standardKinds{&listing{groups: groupsOf(groups), whole: true}, table.KubernetesVersion, known}, nil
}

// StandardVersion is the version of Kubernetes whose kinds Standard knows, such as v1.30.0.
func StandardVersion() string {
	s, err := standard()
	if err != nil {
		return ""
	}
	return s.version
}

// Standard is a source of the kinds that a freshly installed API server serves: the built-in ones, without alpha
// versions and others that must be switched on.
func Standard() Source { return standardSource{} }

type standardSource struct{}

func (standardSource) load(context.Context, *listing) (*listing, error) {
	s, err := standard()
	if err != nil {
		return nil, err
	}
	return s.listing, nil
}

// groupsOf translates what client-go made of discovery. What has a slash in its name is part of another resource.
func groupsOf(list []*restmapper.APIGroupResources) []group {
	var groups []group
	for _, from := range list {
		g := group{name: from.Group.Name, preferred: from.Group.PreferredVersion.Version}
		for _, v := range from.Group.Versions {
			gv := schema.GroupVersion{Group: g.name, Version: v.Version}
			resources := map[string]*Resource{}
			for _, api := range from.VersionedResources[v.Version] {
				if strings.Contains(api.Name, "/") {
					continue
				}
				r := &Resource{
					Kind: gv.WithKind(api.Kind), Name: gv.WithResource(api.Name), Singular: api.SingularName,
					ShortNames: api.ShortNames, Categories: api.Categories, Namespaced: api.Namespaced, Verbs: api.Verbs,
				}
				if r.Singular == "" {
					// Old aggregated servers leave it out, and kubectl guesses as well.
					_, singular := meta.UnsafeGuessKindToResource(r.Kind)
					r.Singular = singular.Resource
				}
				resources[api.Name] = r
				g.resources = append(g.resources, r)
			}
			for _, api := range from.VersionedResources[v.Version] {
				if name, sub, is := strings.Cut(api.Name, "/"); is && resources[name] != nil {
					resources[name].Subresources = append(resources[name].Subresources, sub)
				}
			}
		}
		groups = append(groups, g)
	}
	return groups
}

// Definitions is a source of the kinds that CRDs define, in the versions that they serve.
func Definitions(d definition.Definitions) Source { return definitions{d} }

type definitions struct{ definition.Definitions }

// customVerbs are what an API server lets do with every custom resource, in its order.
var customVerbs = []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}

func (s definitions) load(_ context.Context, before *listing) (*listing, error) {
	all, err := s.All()
	if err != nil {
		return nil, err
	}
	if before != nil && slices.Equal(all, before.definitions) {
		return before, nil
	}
	byName := map[string]*group{}
	for _, d := range all {
		name := d.GroupKind().Group
		if byName[name] == nil {
			byName[name] = &group{name: name}
		}
		g := byName[name]
		names := d.Names()
		for _, v := range d.Versions() {
			if !v.Served {
				continue
			}
			gv := schema.GroupVersion{Group: name, Version: v.Name}
			r := &Resource{
				Kind: gv.WithKind(names.Kind), Name: gv.WithResource(names.Plural), Singular: names.Singular,
				ShortNames: names.ShortNames, Categories: names.Categories, Namespaced: d.Namespaced(),
				Verbs: customVerbs, Definition: d,
			}
			if v.HasStatus {
				r.Subresources = append(r.Subresources, "status")
			}
			if v.Scale != nil {
				r.Subresources = append(r.Subresources, "scale")
			}
			g.resources = append(g.resources, r)
		}
	}
	l := &listing{definitions: all}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		l.groups = append(l.groups, *byName[name])
	}
	return l, nil
}

// Listed is a source of kinds of which only that is known, such as those that there are rules for. Their plural is
// guessed as apimachinery guesses it, and they are taken to be in namespaces; see Resource.Guessed.
func Listed(list ...schema.GroupVersionKind) Source { return listed(slices.Clone(list)) }

type listed []schema.GroupVersionKind

func (s listed) load(_ context.Context, before *listing) (*listing, error) {
	if before != nil {
		return before, nil
	}
	byName := map[string]*group{}
	for _, kind := range s {
		if byName[kind.Group] == nil {
			byName[kind.Group] = &group{name: kind.Group}
		}
		g := byName[kind.Group]
		plural, singular := meta.UnsafeGuessKindToResource(kind)
		g.resources = append(g.resources, &Resource{Kind: kind, Name: plural, Singular: singular.Resource, Namespaced: true, Guessed: true})
	}
	l := &listing{}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		l.groups = append(l.groups, *byName[name])
	}
	return l, nil
}

// Discovery is a source of the kinds that a server serves. What the client has in its cache is used until something
// is not found; then the cache is invalidated and the server asked again, each time. A group that the server cannot
// tell about, since its own server is down, does not keep the others from being known.
func Discovery(client discovery.CachedDiscoveryInterface) Source {
	return discovered{discovery.ToCachedDiscoveryInterfaceWithContext(client)}
}

type discovered struct {
	client discovery.CachedDiscoveryInterfaceWithContext
}

func (s discovered) load(ctx context.Context, before *listing) (*listing, error) {
	if before != nil {
		s.client.InvalidateWithContext(ctx)
	}
	noted := &notingFailures{DiscoveryInterfaceWithContext: s.client}
	groups, err := restmapper.GetAPIGroupResourcesWithContext(ctx, noted)
	var partly *discovery.ErrGroupDiscoveryFailed
	if !errors.As(noted.err, &partly) || ctx.Err() != nil {
		// What came with another error, or was cut short, may be any part of the answer.
		err = cmp.Or(err, noted.err)
	}
	if err != nil {
		return nil, fmt.Errorf("asking the API server which kinds there are: %w", err)
	}
	l := &listing{groups: groupsOf(groups), whole: true, complete: true}
	if partly != nil {
		l.failed = partly.Groups
	}
	return l, nil
}

// notingFailures keeps the error that comes beside a partial answer, which restmapper passes over.
type notingFailures struct {
	discovery.DiscoveryInterfaceWithContext
	err error
}

func (n *notingFailures) ServerGroupsAndResourcesWithContext(ctx context.Context) (groups []*metav1.APIGroup, resources []*metav1.APIResourceList, err error) {
	groups, resources, n.err = n.DiscoveryInterfaceWithContext.ServerGroupsAndResourcesWithContext(ctx)
	return groups, resources, n.err
}
