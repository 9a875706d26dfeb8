package kinds

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
)

// crd writes a CRD; its kind is Namespaced unless the short names begin with "cluster".
func crd(group, kind, plural, names string, versions ...string) string {
	var b strings.Builder
	scope := "Namespaced"
	if strings.HasPrefix(names, "cluster") {
		scope, names = "Cluster", strings.TrimPrefix(names, "cluster")
	}
	fmt.Fprintf(&b, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.%[2]s}
spec:
  group: %[2]s
  scope: %[3]s
  names: {kind: %[4]s, plural: %[1]s%[5]s}
  versions:
`, plural, group, scope, kind, names)
	for i, v := range versions {
		served := !strings.HasPrefix(v, "-")
		fmt.Fprintf(&b, "  - {name: %s, served: %t, storage: %t, subresources: {status: {}, scale: {specReplicasPath: .spec.n, statusReplicasPath: .status.n}}, schema: {openAPIV3Schema: {type: object}}}\n", strings.TrimPrefix(v, "-"), served, i == 0)
	}
	return b.String()
}

func definitionsOf(t testing.TB, crds ...string) *definition.Set {
	t.Helper()
	list, err := definition.Parse("crds.yaml", []byte(strings.Join(crds, "---")))
	require.NoError(t, err)
	set, err := definition.NewSet(list...)
	require.NoError(t, err)
	return set
}

// zoo are CRDs whose names get into each other's way.
var zoo = []string{
	crd("sample.webhook.io", "Foo", "foos", ", shortNames: [fo, f], categories: [all, mine]", "v1", "v2", "v2beta1", "v10", "v1alpha1", "stable", "-v11"),
	crd("auth.example.com", "User", "users", "cluster, singular: person, shortNames: [us], categories: [all]", "v1"),
	crd("example.com", "Gadget", "gadgets", ", shortNames: [g]", "v1"),
	crd("example.com.au", "Gadget", "gadgets", ", shortNames: [g, gau]", "v1"),
	crd("other.org", "Gadget", "gadgets", "", "v1beta1"),
	// Kubernetes has a resource of this name, and another of this short name.
	crd("serving.example.dev", "Service", "services", ", shortNames: [ksvc, po]", "v1"),
	// A kind whose names say nothing of it, and a resource called like another's kind.
	crd("odd.io", "FooBar", "barfoos", ", singular: barfoo", "v1"),
	crd("odd.io", "Quux", "quuxes", ", shortNames: [foobar]", "v1"),
	// The singular of one is the plural of another.
	crd("odd.io", "Data", "data", ", singular: data", "v1"),
}

func newZoo(t testing.TB) *Kinds {
	t.Helper()
	return New(Standard(), Definitions(definitionsOf(t, zoo...)))
}

// What people type, and what it means by priority.
func TestFind(t *testing.T) {
	t.Parallel()
	k := newZoo(t)
	for name, want := range map[string]string{
		"deployments":                       "deployments.v1.apps",
		"deployment":                        "deployments.v1.apps",
		"deploy":                            "deployments.v1.apps",
		"DEPLOY":                            "deployments.v1.apps",
		"Deployment":                        "deployments.v1.apps",
		"  Deployment\t":                    "deployments.v1.apps",
		"deployments.apps":                  "deployments.v1.apps",
		"Deployment.Apps":                   "deployments.v1.apps",
		"deploy.app":                        "deployments.v1.apps",
		"deployments.v1":                    "deployments.v1.apps",
		"deployments.v1.apps":               "deployments.v1.apps",
		"Deployment.V1.apps":                "deployments.v1.apps",
		"deploy.v1.apps":                    "deployments.v1.apps",
		"apps/v1 Deployment":                "deployments.v1.apps",
		"apps/v1   deploy":                  "deployments.v1.apps",
		"apps/v1/Deployment":                "deployments.v1.apps",
		"apps/v1, Kind=Deployment":          "deployments.v1.apps",
		"apps/v1, Resource=deployments":     "deployments.v1.apps",
		"/v1, Kind=Pod":                     "pods.v1",
		"v1 Pod":                            "pods.v1",
		"v1/Pod":                            "pods.v1",
		"pods.v1.":                          "pods.v1",
		"pods.":                             "pods.v1",
		"hpa":                               "horizontalpodautoscalers.v2.autoscaling horizontalpodautoscalers.v1.autoscaling",
		"hpa.autoscal":                      "horizontalpodautoscalers.v2.autoscaling horizontalpodautoscalers.v1.autoscaling",
		"hpa.v1.autoscaling":                "horizontalpodautoscalers.v1.autoscaling",
		"autoscaling/v1 hpa":                "horizontalpodautoscalers.v1.autoscaling",
		"events":                            "events.v1 events.v1.events.k8s.io",
		"v1 Event":                          "events.v1",
		"events.events":                     "events.v1.events.k8s.io",
		"endpoints":                         "endpoints.v1",
		"storageclass.storage":              "storageclasses.v1.storage.k8s.io",
		"crd":                               "customresourcedefinitions.v1.apiextensions.k8s.io",
		"foos":                              "foos.v10.sample.webhook.io foos.v2.sample.webhook.io foos.v1.sample.webhook.io foos.v2beta1.sample.webhook.io foos.v1alpha1.sample.webhook.io foos.stable.sample.webhook.io",
		"Foo.v2":                            "foos.v2.sample.webhook.io",
		"f.stable.sample.webhook.io":        "foos.stable.sample.webhook.io",
		"crd/foos.v1":                       "foos.v1.sample.webhook.io",
		"person":                            "users.v1.auth.example.com",
		"User":                              "users.v1.auth.example.com",
		"users.auth":                        "users.v1.auth.example.com",
		"auth.example.com/v1 User":          "users.v1.auth.example.com",
		"gadgets":                           "gadgets.v1.example.com gadgets.v1.example.com.au gadgets.v1beta1.other.org",
		"gadgets.example.com":               "gadgets.v1.example.com",
		"gadgets.example":                   "gadgets.v1.example.com gadgets.v1.example.com.au",
		"gadgets.v1":                        "gadgets.v1.example.com gadgets.v1.example.com.au",
		"g":                                 "gadgets.v1.example.com gadgets.v1.example.com.au",
		"g.example.com":                     "gadgets.v1.example.com",
		"gau":                               "gadgets.v1.example.com.au",
		"services":                          "services.v1 services.v1.serving.example.dev",
		"svc":                               "services.v1",
		"ksvc":                              "services.v1.serving.example.dev",
		"po":                                "pods.v1 services.v1.serving.example.dev",
		"crd/services":                      "services.v1.serving.example.dev",
		"CRDs/services.serving.example.dev": "services.v1.serving.example.dev",
		"customresourcedefinition.apiextensions.k8s.io/gadgets.other.org": "gadgets.v1beta1.other.org",
		// A short name is nearer than a kind, unless that is written as it is.
		"foobar":         "quuxes.v1.odd.io",
		"FOObar":         "quuxes.v1.odd.io",
		"FooBar":         "barfoos.v1.odd.io",
		"FooBar.odd":     "barfoos.v1.odd.io",
		"barfoo":         "barfoos.v1.odd.io",
		"odd.io/v1 Quux": "quuxes.v1.odd.io",
		"data":           "data.v1.odd.io",
		"mine":           "foos.v10.sample.webhook.io",
	} {
		list, err := k.Find(t.Context(), name)
		if assert.NoError(t, err, name) {
			assert.Equal(t, want, written(list), name)
		}
	}
}

func written(list []*Resource) string {
	var names []string
	for _, r := range list {
		names = append(names, r.String())
	}
	return strings.Join(names, " ")
}

func TestOne(t *testing.T) {
	t.Parallel()
	k := newZoo(t)
	for name, want := range map[string]string{
		"hpa":            "horizontalpodautoscalers.v2.autoscaling",
		"events":         "events.v1",
		"foos":           "foos.v10.sample.webhook.io",
		"services":       "services.v1",
		"po":             "pods.v1",
		"Gadget.v1beta1": "gadgets.v1beta1.other.org",
		"gau":            "gadgets.v1.example.com.au",
		"mine":           "foos.v10.sample.webhook.io",
	} {
		r, err := k.One(t.Context(), name)
		if assert.NoError(t, err, name) {
			assert.Equal(t, want, r.String(), name)
		}
	}
	for name, want := range map[string]string{
		"gadgets":         `"gadgets" is ambiguous; name the group, as in gadgets.example.com, gadgets.example.com.au or gadgets.other.org`,
		"gadgets.example": `"gadgets.example" is ambiguous; name the group, as in gadgets.example.com or gadgets.example.com.au`,
		"G":               `"G" is ambiguous; name the group, as in gadgets.example.com or gadgets.example.com.au`,
		"all":             `"all" is a category; name one of its resources, pods, replicationcontrollers, services, daemonsets.apps, deployments.apps, replicasets.apps, statefulsets.apps or 5 others`,
	} {
		_, err := k.One(t.Context(), name)
		var ambiguous *AmbiguousError
		require.ErrorAs(t, err, &ambiguous, name)
		assert.EqualError(t, err, want)
		assert.True(t, meta.IsAmbiguousError(err), name)
		var resource *meta.AmbiguousResourceError
		require.ErrorAs(t, err, &resource)
		assert.Len(t, resource.MatchingKinds, len(ambiguous.Candidates), name)
	}
}

// Two resources of one group and version that have a name in common cannot be told apart by their group.
func TestOneOfAGroup(t *testing.T) {
	t.Parallel()
	k := New(Definitions(definitionsOf(t,
		crd("a.io", "Left", "lefts", ", shortNames: [x]", "v1"), crd("a.io", "Right", "rights", ", shortNames: [x]", "v1"))))
	_, err := k.One(t.Context(), "x")
	require.EqualError(t, err, `"x" is ambiguous; name the resource, as in lefts.v1.a.io or rights.v1.a.io`)
}

func TestNoMatch(t *testing.T) {
	t.Parallel()
	k := newZoo(t)
	for name, want := range map[string]string{
		"deplyments":               `there is no resource or kind "deplyments", did you mean deployments?`,
		"Deplyment":                `there is no resource or kind "Deplyment", did you mean Deployment?`,
		"clusterrole-bindings":     `there is no resource or kind "clusterrole-bindings", did you mean bindings, clusterrolebindings or clusterroles?`,
		"xyzzy":                    `there is no resource or kind "xyzzy"`,
		"deployments.batch":        `there is no resource or kind "deployments.batch", only deployments.v1.apps`,
		"deployments.v1beta1.apps": `there is no resource or kind "deployments.v1beta1.apps", only deployments.v1.apps`,
		"deploy.v9":                `there is no resource or kind "deploy.v9", only deployments.v1.apps`,
		"apps/v9 Deployment":       `there is no resource or kind "apps/v9 Deployment", only deployments.v1.apps`,
		"app/v1 Deployment":        `there is no resource or kind "app/v1 Deployment", only deployments.v1.apps`,
		"v1 Deployment":            `there is no resource or kind "v1 Deployment", only deployments.v1.apps`,
		"foos.v11":                 `there is no resource or kind "foos.v11", only foos.v10.sample.webhook.io, foos.v2.sample.webhook.io, foos.v1.sample.webhook.io, foos.v2beta1.sample.webhook.io, foos.v1alpha1.sample.webhook.io and foos.stable.sample.webhook.io`,
		"crd/deployments":          `there is no resource or kind "crd/deployments", only deployments.v1.apps`,
		"all.apps":                 `there is no resource or kind "all.apps"`,
		"crd/all":                  `there is no resource or kind "crd/all"`,
	} {
		_, err := k.Find(t.Context(), name)
		var noMatch *NoMatchError
		require.ErrorAs(t, err, &noMatch, name)
		assert.EqualError(t, err, want)
		assert.True(t, meta.IsNoMatchError(err), name)
	}
}

func TestInvalidNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"":                       `"" is not the name of a resource or kind: want one such as deployments.apps, or an apiVersion and a kind`,
		"a b c":                  `"a b c" is not the name of a resource or kind: want one such as deployments.apps, or an apiVersion and a kind`,
		"deploy/web":             `"deploy/web" is not the name of a resource or kind: it is that of an object; say only deploy`,
		"deployments/scale":      `"deployments/scale" is not the name of a resource or kind: it is that of an object; say only deployments`,
		"*":                      `"*" is not the name of a resource or kind: "*" has letters that no name has`,
		".apps":                  `".apps" is not the name of a resource or kind: a part of it is empty`,
		"pods..apps":             `"pods..apps" is not the name of a resource or kind: a part of it is empty`,
		".":                      `"." is not the name of a resource or kind: a part of it is empty`,
		"crd/":                   `"crd/" is not the name of a resource or kind: a part of it is empty`,
		"a/b/c/Deployment":       `"a/b/c/Deployment" is not the name of a resource or kind: "a/b/c" is no apiVersion such as apps/v1`,
		"apps/v1 ":               `"apps/v1" is not the name of a resource or kind: it is that of an object; say only apps`,
		"apps/ Deployment":       `"apps/ Deployment" is not the name of a resource or kind: "apps/" is no apiVersion such as apps/v1`,
		"apps..x/v1 Deployment":  `"apps..x/v1 Deployment" is not the name of a resource or kind: "apps..x/v1" is no apiVersion such as apps/v1`,
		"apps/v1 Deploy_ment":    `"apps/v1 Deploy_ment" is not the name of a resource or kind: "Deploy_ment" has letters that no name has`,
		strings.Repeat("a", 600): `not the name of a resource or kind: it has 600 letters, more than any can have`,
	} {
		_, err := New(Standard()).Find(t.Context(), name)
		require.ErrorIs(t, err, ErrInvalidName)
		assert.EqualError(t, err, want)
	}
}

func TestWhatAResourceIs(t *testing.T) {
	t.Parallel()
	k := newZoo(t)
	r, err := k.One(t.Context(), "deploy")
	require.NoError(t, err)
	assert.Equal(t, &Resource{
		Kind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		Name: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, Singular: "deployment",
		ShortNames: []string{"deploy"}, Categories: []string{"all"}, Namespaced: true, Preferred: true, Standard: true,
		Verbs:        []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
		Subresources: []string{"scale", "status"}, rank: r.rank,
	}, r)
	assert.Equal(t, &meta.RESTMapping{Resource: r.Name, GroupVersionKind: r.Kind, Scope: meta.RESTScopeNamespace}, r.Mapping())
	r, err = k.One(t.Context(), "person")
	require.NoError(t, err)
	assert.Equal(t, &Resource{
		Kind: schema.GroupVersionKind{Group: "auth.example.com", Version: "v1", Kind: "User"},
		Name: schema.GroupVersionResource{Group: "auth.example.com", Version: "v1", Resource: "users"}, Singular: "person",
		ShortNames: []string{"us"}, Categories: []string{"all"}, Preferred: true, Definition: r.Definition,
		Verbs: customVerbs, Subresources: []string{"status", "scale"}, rank: r.rank,
	}, r)
	assert.Equal(t, "users.auth.example.com", r.Definition.Name())
	assert.Equal(t, meta.RESTScopeRoot, r.Scope())
	assert.True(t, r.HasVerb("watch"))
	assert.False(t, r.HasVerb("proxy"))
	assert.Regexp(t, `^v1\.\d+\.\d+$`, StandardVersion())
}

// A CRD for a group that comes with Kubernetes adds to it, and changes nothing in it.
func TestSourcesAreJoined(t *testing.T) {
	t.Parallel()
	k := New(Standard(), Definitions(definitionsOf(t, crd("apps", "Deployment", "deployments", ", shortNames: [mine]", "v1", "v2"), crd("apps", "Extra", "extras", "", "v1"))))
	list, err := k.Find(t.Context(), "deployments")
	require.NoError(t, err)
	assert.Equal(t, "deployments.v1.apps deployments.v2.apps", written(list))
	assert.Equal(t, []string{"deploy"}, list[0].ShortNames)
	assert.True(t, list[0].Preferred)
	assert.False(t, list[1].Preferred)
	r, err := k.One(t.Context(), "extras")
	require.NoError(t, err)
	assert.True(t, r.Standard)
	// Other kinds do not learn of it.
	_, err = New(Standard()).Find(t.Context(), "extras")
	require.True(t, meta.IsNoMatchError(err))
}

// Of kinds that there are only rules for, the names are guessed, and no more is said than that.
func TestListedKinds(t *testing.T) {
	t.Parallel()
	k := New(Standard()).With(Listed(
		schema.GroupVersionKind{Group: "demo.io", Version: "v1beta1", Kind: "Policy"},
		schema.GroupVersionKind{Group: "demo.io", Version: "v1", Kind: "Policy"},
		schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
	))
	for _, name := range []string{"policies", "policy", "Policy", "policies.demo", "demo.io/v1 Policy", "crd/policies"} {
		r, err := k.One(t.Context(), name)
		require.NoError(t, err)
		assert.Equal(t, "policies.v1.demo.io", r.String(), name)
		assert.Empty(t, r.Verbs)
	}
	r, err := k.One(t.Context(), "deployment")
	require.NoError(t, err)
	assert.Equal(t, []string{"deploy"}, r.ShortNames)
	// Whether they are in namespaces is not known.
	problems, err := k.CheckDependencies(t.Context(), nil, references("demo.io/v1 Policy a", "demo.io/v1 Policy shop/a", "demo.io/v2 Policy a"))
	require.NoError(t, err)
	assert.Empty(t, problems)
}

func TestMapper(t *testing.T) {
	t.Parallel()
	var k meta.RESTMapper = newZoo(t)
	foo := schema.GroupKind{Group: "sample.webhook.io", Kind: "Foo"}

	m, err := k.RESTMapping(foo)
	require.NoError(t, err)
	assert.Equal(t, foo.WithVersion("v10"), m.GroupVersionKind)
	m, err = k.RESTMapping(foo, "v11", "v1", "v2")
	require.NoError(t, err)
	assert.Equal(t, foo.WithVersion("v1"), m.GroupVersionKind)
	assert.Equal(t, schema.GroupVersionResource{Group: foo.Group, Version: "v1", Resource: "foos"}, m.Resource)
	assert.Equal(t, meta.RESTScopeNamespace, m.Scope)
	all, err := k.RESTMappings(foo)
	require.NoError(t, err)
	require.Len(t, all, 6)
	for i, version := range []string{"v10", "v2", "v1", "v2beta1", "v1alpha1", "stable"} {
		assert.Equal(t, version, all[i].GroupVersionKind.Version)
	}
	singular, err := k.ResourceSingularizer("us")
	require.NoError(t, err)
	assert.Equal(t, "person", singular)
	singular, err = k.ResourceSingularizer("gadgets")
	require.NoError(t, err)
	assert.Equal(t, "gadget", singular)
	singular, err = k.ResourceSingularizer("nothing")
	require.True(t, meta.IsNoMatchError(err))
	assert.Equal(t, "nothing", singular)

	for _, c := range []struct {
		kind     schema.GroupKind
		versions []string
		want     string
	}{
		{foo, []string{"v11"}, `there is no resource or kind "sample.webhook.io/v11 Foo", only foos.v10.sample.webhook.io, foos.v2.sample.webhook.io, foos.v1.sample.webhook.io, foos.v2beta1.sample.webhook.io, foos.v1alpha1.sample.webhook.io and foos.stable.sample.webhook.io`},
		{schema.GroupKind{Group: "sample.webhook.io", Kind: "Gadget"}, nil, `there is no resource or kind "Gadget.sample.webhook.io", only gadgets.v1.example.com, gadgets.v1.example.com.au and gadgets.v1beta1.other.org`},
		{schema.GroupKind{Kind: "Pods"}, []string{"v1"}, `there is no resource or kind "v1 Pods", did you mean Pod?`},
	} {
		_, err := k.RESTMapping(c.kind, c.versions...)
		require.EqualError(t, err, c.want)
		var noKind *meta.NoKindMatchError
		require.ErrorAs(t, err, &noKind)
		assert.Equal(t, &meta.NoKindMatchError{GroupKind: c.kind, SearchedVersions: c.versions}, noKind)
		assert.True(t, meta.IsNoMatchError(err))
	}
	for _, partial := range []schema.GroupVersionResource{{Resource: "nothing"}, {Group: "apps", Version: "v2", Resource: "deploy"}} {
		_, err1 := k.KindFor(partial)
		_, err2 := k.KindsFor(partial)
		_, err3 := k.ResourceFor(partial)
		_, err4 := k.ResourcesFor(partial)
		for _, err := range []error{err1, err2, err3, err4} {
			var noMatch *meta.NoResourceMatchError
			require.ErrorAs(t, err, &noMatch)
			assert.Equal(t, partial, noMatch.PartialResource)
			assert.True(t, meta.IsNoMatchError(err))
		}
	}
	_, err = k.KindFor(schema.GroupVersionResource{Resource: "gadgets"})
	var ambiguous *meta.AmbiguousResourceError
	require.ErrorAs(t, err, &ambiguous)
	assert.True(t, meta.IsAmbiguousError(err))
	assert.Len(t, ambiguous.MatchingResources, 3)
	_, err = k.ResourceFor(schema.GroupVersionResource{})
	require.ErrorIs(t, err, ErrInvalidName)
}

func TestExactLookups(t *testing.T) {
	k := newZoo(t)
	all, err := k.All(t.Context())
	require.NoError(t, err)
	require.Greater(t, len(all), 70)
	for _, r := range all {
		byKind, err := k.ByKind(t.Context(), r.Kind)
		require.NoError(t, err)
		assert.Same(t, r, byKind)
		byName, err := k.ByResource(t.Context(), r.Name)
		require.NoError(t, err)
		assert.Same(t, r, byName)
		// What is printed is found.
		one, err := k.One(t.Context(), r.String())
		require.NoError(t, err)
		assert.Same(t, r, one)
		one, err = k.One(t.Context(), interpreter.KindString(r.Kind))
		require.NoError(t, err)
		assert.Same(t, r, one)
	}
	assert.True(t, slices.IsSortedFunc(all, byRank))

	kind, name := all[len(all)-1].Kind, all[len(all)-1].Name
	ctx := t.Context()
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		_, err1 := k.ByKind(ctx, kind)
		_, err2 := k.ByResource(ctx, name)
		if err1 != nil || err2 != nil {
			t.Error(err1, err2)
		}
	}))
	_, err = k.ByKind(ctx, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "deployment"})
	require.EqualError(t, err, `there is no resource or kind "apps/v1 deployment", did you mean Deployment?`)
	_, err = k.ByResource(ctx, schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployment"})
	require.True(t, meta.IsNoMatchError(err))
}

// changing are definitions as they are followed on a server.
type changing struct {
	set *definition.Set
	err error
}

func (c *changing) Definition(kind schema.GroupKind) (*definition.Definition, error) {
	if c.err != nil {
		return nil, c.err
	}
	return c.set.Definition(kind)
}

func (c *changing) All() ([]*definition.Definition, error) {
	if c.err != nil {
		return nil, c.err
	}
	return c.set.All()
}

func TestDefinitionsThatChange(t *testing.T) {
	t.Parallel()
	c := &changing{err: fmt.Errorf("CRDs: %w", interpreter.ErrNotReady)}
	k := New(Standard(), Definitions(c))
	_, err := k.One(t.Context(), "users")
	require.ErrorIs(t, err, interpreter.ErrNotReady)
	require.False(t, meta.IsNoMatchError(err))

	c.set, c.err = definitionsOf(t), nil
	_, err = k.One(t.Context(), "users")
	require.True(t, meta.IsNoMatchError(err))
	before := k.current.Load()
	_, err = k.One(t.Context(), "users")
	require.True(t, meta.IsNoMatchError(err))
	assert.Same(t, before, k.current.Load(), "nothing has changed")

	c.set = definitionsOf(t, zoo[1])
	r, err := k.One(t.Context(), "users")
	require.NoError(t, err)
	assert.Equal(t, "users.v1.auth.example.com", r.String())

	// What was known stays known while they cannot be read.
	c.err = interpreter.ErrNotReady
	_, err = k.One(t.Context(), "users")
	require.NoError(t, err)
	_, err = k.One(t.Context(), "foos")
	require.ErrorIs(t, err, interpreter.ErrNotReady)
}

// Whatever is typed: it is found, or the error says which of three things is wrong; and what is found is found again
// by all the names that it has.
func FuzzFind(f *testing.F) {
	for _, seed := range []string{
		"", "deploy", "Deployment.v1.apps", "apps/v1 Deployment", "apps/v1, Kind=Deployment", "crd/foos", "crd/foos.sample.webhook.io", "pods.v1.",
		"deploy/web", "all", "mine", "gadgets.example", "FooBar", "foobar.V1.ODD.io", "v1/Pod", "/v1, Kind=Pod", "a/b/c", "a b c", "..", "é", "\x00", "K",
	} {
		f.Add(seed)
	}
	k := newZoo(f)
	f.Fuzz(func(t *testing.T, name string) {
		list, err := k.Find(t.Context(), name)
		_, oneErr := k.One(t.Context(), name)
		if err != nil {
			require.Equal(t, err, oneErr)
			require.NotEqual(t, errors.Is(err, ErrInvalidName), meta.IsNoMatchError(err))
			require.NotEmpty(t, err.Error())
			return
		}
		require.True(t, oneErr == nil || meta.IsAmbiguousError(oneErr))
		require.NotEmpty(t, list)
		require.True(t, slices.IsSortedFunc(list, byRank))
		for _, r := range list {
			for _, other := range []string{r.String(), interpreter.KindString(r.Kind), r.Kind.String(), r.Name.String(), strings.ToUpper(r.String())} {
				again, err := k.One(t.Context(), other)
				require.NoError(t, err)
				require.Same(t, r, again)
			}
		}
	})
}

// manyCRDs are as many as a large control plane has.
func manyCRDs() []string {
	var list []string
	for i := range 500 {
		list = append(list, crd(fmt.Sprintf("group%d.example.com", i/4), fmt.Sprintf("Kind%d", i), fmt.Sprintf("kind%ds", i), fmt.Sprintf(", shortNames: [k%d], categories: [all]", i), "v1", "v1beta1"))
	}
	return list
}

func BenchmarkByKind(b *testing.B) {
	k := New(Standard(), Definitions(definitionsOf(b, manyCRDs()...)))
	kind := schema.GroupVersionKind{Group: "group77.example.com", Version: "v1beta1", Kind: "Kind310"}
	require.NoError(b, k.Load(b.Context()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := k.ByKind(b.Context(), kind); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkByResource(b *testing.B) {
	k := New(Standard(), Definitions(definitionsOf(b, manyCRDs()...)))
	name := schema.GroupVersionResource{Group: "group77.example.com", Version: "v1beta1", Resource: "kind310s"}
	require.NoError(b, k.Load(b.Context()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := k.ByResource(b.Context(), name); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOne(b *testing.B) {
	k := New(Standard(), Definitions(definitionsOf(b, manyCRDs()...)))
	for _, name := range []string{"kind310s", "k310", "Kind310.v1beta1.group77.example.com"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := k.One(b.Context(), name); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What it takes to get ready: decoding the table of standard kinds, which a command does once.
func BenchmarkStandardTable(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decodeStandard(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	set := definitionsOf(b, manyCRDs()...)
	b.ReportAllocs()
	for b.Loop() {
		if err := New(Standard(), Definitions(set)).Load(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
