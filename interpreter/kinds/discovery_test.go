package kinds

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// apiServer answers discovery as an API server does.
type apiServer struct {
	*httptest.Server
	client discovery.CachedDiscoveryInterface

	mu     sync.Mutex
	groups []apidiscoveryv2.APIGroupDiscovery
	asked  int
	// down answers in its place.
	down http.HandlerFunc
}

// newAPIServer serves the standard kinds, and those of the definitions.
func newAPIServer(t testing.TB, crds ...string) *apiServer {
	t.Helper()
	var table apidiscoveryv2.APIGroupDiscoveryList
	require.NoError(t, json.Unmarshal(standardTable, &table))
	s := &apiServer{groups: table.Items}
	s.add(t, crds...)
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: s.URL, QPS: -1})
	require.NoError(t, err)
	s.client = memory.NewMemCacheClient(client)
	return s
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil {
		s.down(w, r)
		return
	}
	list := apidiscoveryv2.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{APIVersion: apidiscoveryv2.SchemeGroupVersion.String(), Kind: "APIGroupDiscoveryList"}}
	for _, g := range s.groups {
		if (g.Name == "") == (r.URL.Path == "/api") {
			list.Items = append(list.Items, g)
		}
	}
	s.asked++
	w.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
	_ = json.NewEncoder(w).Encode(list)
}

// rounds is how often everything was asked for.
func (s *apiServer) rounds() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked / 2
}

func (s *apiServer) set(change func(*apiServer)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// add adds groups as an API server would discover them.
func (s *apiServer) add(t testing.TB, crds ...string) {
	if len(crds) == 0 {
		return
	}
	l, err := Definitions(definitionsOf(t, crds...)).load(t.Context(), nil)
	require.NoError(t, err)
	s.set(func(s *apiServer) {
		for _, g := range merge([]*listing{l}) {
			custom := newTable([]*listing{{groups: []group{*g}}}, nil)
			d := apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.name}}
			for _, r := range custom.all {
				scope := apidiscoveryv2.ScopeCluster
				if r.Namespaced {
					scope = apidiscoveryv2.ScopeNamespace
				}
				if n := len(d.Versions); n == 0 || d.Versions[n-1].Version != r.Name.Version {
					d.Versions = append(d.Versions, apidiscoveryv2.APIVersionDiscovery{Version: r.Name.Version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent})
				}
				v := &d.Versions[len(d.Versions)-1]
				kind := metav1.GroupVersionKind(r.Kind)
				v.Resources = append(v.Resources, apidiscoveryv2.APIResourceDiscovery{
					Resource: r.Name.Resource, SingularResource: r.Singular, ResponseKind: &kind, Scope: scope,
					ShortNames: r.ShortNames, Categories: r.Categories, Verbs: r.Verbs,
					Subresources: []apidiscoveryv2.APISubresourceDiscovery{{Subresource: "status", ResponseKind: &kind, Verbs: []string{"get"}}},
				})
			}
			s.groups = append(s.groups, d)
		}
	})
}

// fixed always says the same.
type fixed struct{ *listing }

func (f fixed) load(context.Context, *listing) (*listing, error) { return f.listing, nil }

// What client-go's mappers make of a server, these kinds make of it as well, except where the package says
// otherwise.
func TestAsClientGo(t *testing.T) {
	t.Parallel()
	s := newAPIServer(t, zoo...)
	theirs := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(s.client), s.client, nil)
	listing, err := Discovery(s.client).load(t.Context(), nil)
	require.NoError(t, err)
	ours := New(fixed{listing}) // The server need not be asked again for all that is not there.
	all, err := ours.All(t.Context())
	require.NoError(t, err)
	require.Greater(t, len(all), 80)

	compared := 0
	for _, r := range all {
		short := map[string]bool{}
		for _, name := range r.ShortNames {
			short[name] = true
		}
		for _, name := range append([]string{r.Name.Resource, r.Singular, strings.ToUpper(r.Name.Resource)}, r.ShortNames...) {
			for _, group := range []string{"", r.Name.Group, r.Name.Group[:len(r.Name.Group)/2], "no.such.group"} {
				for _, version := range []string{"", r.Name.Version, "v77"} {
					partial := schema.GroupVersionResource{Group: group, Version: version, Resource: name}
					gotKinds, err := ours.KindsFor(partial)
					gotResources, resourcesErr := ours.ResourcesFor(partial)
					require.Equal(t, err == nil, resourcesErr == nil)
					switch {
					case short[name] && version != "":
						// client-go's expander drops the version.
						if err == nil {
							for _, k := range gotKinds {
								require.Equal(t, version, k.Version, partial)
							}
							require.Contains(t, gotKinds, r.Kind, partial)
						} else {
							require.True(t, version == "v77" || strings.HasPrefix(group, "no.") || group != r.Name.Group, partial)
						}
						continue
					case group == "example.com":
						require.Equal(t, version == "v77", err != nil)
						for _, k := range gotKinds {
							require.Equal(t, group, k.Group, partial)
						}
						continue
					}
					wantKinds, wantErr := theirs.KindsFor(partial)
					wantResources, _ := theirs.ResourcesFor(partial)
					compared++
					if wantErr != nil {
						require.True(t, meta.IsNoMatchError(wantErr))
						require.True(t, meta.IsNoMatchError(err), "%v: %v", partial, err)
						continue
					}
					require.NoError(t, err, partial)
					if short[name] && len(gotKinds) > 1 && gotKinds[0].Group != gotKinds[len(gotKinds)-1].Group {
						// Of the groups that share a short name, the expander takes one.
						require.Contains(t, gotKinds, wantKinds[0], partial)
						continue
					}
					if short[name] && group == "" && r.Name.Group == "" {
						// For the expander, the core group is any group.
						wantKinds, wantResources = wantKinds[:1], wantResources[:1]
					}
					require.Equal(t, wantKinds, gotKinds, partial)
					require.Equal(t, wantResources, gotResources, partial)

					wantKind, wantErr := theirs.KindFor(partial)
					require.NoError(t, wantErr)
					wantResource, wantErr := theirs.ResourceFor(partial)
					require.NoError(t, wantErr)
					gotKind, err := ours.KindFor(partial)
					gotResource, resourceErr := ours.ResourceFor(partial)
					if meta.IsAmbiguousError(err) {
						var ambiguous *AmbiguousError
						require.ErrorAs(t, err, &ambiguous)
						require.ErrorAs(t, resourceErr, &ambiguous)
						require.Equal(t, wantKind, ambiguous.Candidates[0].Kind, partial)
						require.False(t, r.Standard)
						continue
					}
					require.NoError(t, err)
					require.Equal(t, wantKind, gotKind, partial)
					require.Equal(t, wantResource, gotResource, partial)
				}
			}
			want, wantErr := theirs.ResourceSingularizer(name)
			got, err := ours.ResourceSingularizer(name)
			require.NoError(t, wantErr)
			if !meta.IsAmbiguousError(err) {
				require.NoError(t, err)
				require.True(t, want == got || len(short) > 0 && short[name], "%s: %s", name, got)
			}
		}
		for _, versions := range [][]string{nil, {r.Kind.Version}, {"v77"}, {"v77", r.Kind.Version}, {""}} {
			want, wantErr := theirs.RESTMappings(r.Kind.GroupKind(), versions...)
			got, err := ours.RESTMappings(r.Kind.GroupKind(), versions...)
			require.Equal(t, wantErr != nil, err != nil)
			require.Equal(t, want, got)
			one, wantErr := theirs.RESTMapping(r.Kind.GroupKind(), versions...)
			gotOne, err := ours.RESTMapping(r.Kind.GroupKind(), versions...)
			require.Equal(t, wantErr != nil, err != nil)
			require.Equal(t, one, gotOne)
			if wantErr != nil {
				require.True(t, meta.IsNoMatchError(err))
			}
			compared++
		}
	}
	require.Greater(t, compared, 2500)

	expander := restmapper.NewDiscoveryCategoryExpander(s.client)
	want, known := expander.Expand("all")
	require.True(t, known)
	list, err := ours.Find(t.Context(), "all")
	require.NoError(t, err)
	for _, r := range list {
		require.Contains(t, want, r.Name.GroupResource())
	}
}

// A server that has what the table and the definitions say is the same as those.
func TestDiscoveryGivesTheSame(t *testing.T) {
	t.Parallel()
	live, err := New(Discovery(newAPIServer(t, zoo...).client)).All(t.Context())
	require.NoError(t, err)
	offline, err := newZoo(t).All(t.Context())
	require.NoError(t, err)
	require.Len(t, live, len(offline))
	for i := range live {
		want := *offline[i]
		want.Definition = nil
		if !want.Standard {
			want.Subresources = []string{"status"}
		}
		assert.Equal(t, &want, live[i])
	}
}

// The server is asked when something is not there, and only then.
func TestRefresh(t *testing.T) {
	t.Parallel()
	s := newAPIServer(t)
	k := New(Discovery(s.client))
	assert.Zero(t, s.rounds())
	require.NoError(t, k.Load(t.Context()))
	_, err := k.One(t.Context(), "deploy")
	require.NoError(t, err)
	assert.Equal(t, 1, s.rounds())

	foo := schema.GroupVersionKind{Group: "sample.webhook.io", Version: "v1", Kind: "Foo"}
	_, err = k.ByKind(t.Context(), foo)
	require.True(t, meta.IsNoMatchError(err))
	assert.Equal(t, 2, s.rounds())
	s.add(t, zoo[0])
	r, err := k.ByKind(t.Context(), foo)
	require.NoError(t, err)
	assert.Equal(t, "foos.v1.sample.webhook.io", r.String())
	assert.Equal(t, 3, s.rounds())

	for name, found := range map[string]func(k *Kinds) error{
		"KindFor": func(k *Kinds) error { _, err := k.KindFor(schema.GroupVersionResource{Resource: "us"}); return err },
		"RESTMapping": func(k *Kinds) error {
			_, err := k.RESTMapping(schema.GroupKind{Group: "auth.example.com", Kind: "User"})
			return err
		},
		"Singularizer": func(k *Kinds) error { _, err := k.ResourceSingularizer("users"); return err },
		"Find":         func(k *Kinds) error { _, err := k.Find(t.Context(), "User"); return err },
		"ByResource": func(k *Kinds) error {
			_, err := k.ByResource(t.Context(), schema.GroupVersionResource{Group: "auth.example.com", Version: "v1", Resource: "users"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			k := New(Discovery(s.client))
			require.True(t, meta.IsNoMatchError(found(k)))
			s.add(t, zoo[1])
			require.NoError(t, found(k))
		})
	}

	// What is gone is known after a reset.
	s.set(func(s *apiServer) { s.groups = s.groups[:len(s.groups)-1] })
	_, err = k.ByKind(t.Context(), foo)
	require.NoError(t, err)
	meta.MaybeResetRESTMapper(k)
	_, err = k.ByKind(t.Context(), foo)
	require.True(t, meta.IsNoMatchError(err))
}

// Many who miss something at once do not ask the server each for itself.
func TestRefreshTogether(t *testing.T) {
	t.Parallel()
	s := newAPIServer(t)
	k := New(Discovery(s.client))
	require.NoError(t, k.Load(t.Context()))
	release := make(chan struct{})
	s.set(func(s *apiServer) {
		s.down = func(w http.ResponseWriter, r *http.Request) {
			<-release
			s.down = nil
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	table := k.current.Load()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			newer, err := k.refresh(t.Context(), table)
			if err == nil {
				assert.NotSame(t, table, newer)
			}
		})
	}
	close(release)
	wg.Wait()
	// The first may have failed; of those after it one asks for all.
	assert.LessOrEqual(t, s.rounds(), 3)
}

func TestServerThatCannotTell(t *testing.T) {
	t.Parallel()
	s := newAPIServer(t, zoo[0])
	// A group whose own server is down.
	s.set(func(s *apiServer) {
		s.groups = append(s.groups, apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: "metrics.k8s.io"}, Versions: []apidiscoveryv2.APIVersionDiscovery{
			{Version: "v1beta1", Freshness: apidiscoveryv2.DiscoveryFreshnessStale},
		}})
	})
	k := New(Discovery(s.client))
	_, err := k.One(t.Context(), "foos")
	require.NoError(t, err)
	_, err = k.One(t.Context(), "podmetrics")
	require.EqualError(t, err, `there is no resource or kind "podmetrics" (it may be one of those that the API server could not tell about: metrics.k8s.io/v1beta1: stale GroupVersion discovery: metrics.k8s.io/v1beta1)`)
	_, err = k.One(t.Context(), "podmetrics.apps")
	require.EqualError(t, err, `there is no resource or kind "podmetrics.apps"`)
	require.ErrorContains(t, k.Undiscovered(t.Context()), "metrics.k8s.io/v1beta1")
	require.NoError(t, New(Standard()).Undiscovered(t.Context()))

	// When it does not answer, what it said stays in force, and what it did not say is not taken for missing.
	s.set(func(s *apiServer) {
		s.down = func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }
	})
	_, err = k.One(t.Context(), "foos")
	require.NoError(t, err)
	_, err = k.One(t.Context(), "bars")
	require.ErrorContains(t, err, "asking the API server which kinds there are: ")
	require.False(t, meta.IsNoMatchError(err))
	_, err = k.CheckDependencies(t.Context(), nil, references("example.com/v1 Gadget a/b"))
	require.ErrorContains(t, err, "dependencies[0]: asking the API server")

	// Nor is the answer of one that was cut short.
	ctx, cancel := context.WithCancel(t.Context())
	s.set(func(s *apiServer) {
		s.down = func(_ http.ResponseWriter, r *http.Request) {
			cancel()
			select {
			case <-r.Context().Done():
			case <-time.After(10 * time.Second):
			}
		}
	})
	_, err = k.One(ctx, "bars")
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, meta.IsNoMatchError(err))
	k.Reset()
	require.ErrorIs(t, k.Load(ctx), context.Canceled)
}
