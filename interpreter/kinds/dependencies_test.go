package kinds

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
)

// references reads lines of apiVersion, kind, namespace/name.
func references(lines ...string) []interpreter.DependentObjectReference {
	var list []interpreter.DependentObjectReference
	for _, line := range lines {
		words := strings.Fields(line)
		namespace, name, namespaced := strings.Cut(words[2], "/")
		if !namespaced {
			namespace, name = "", words[2]
		}
		list = append(list, interpreter.DependentObjectReference{APIVersion: words[0], Kind: words[1], Namespace: namespace, Name: name})
	}
	return list
}

func object(apiVersion, kind, namespace string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetName("web")
	o.SetNamespace(namespace)
	return o
}

// told writes problems as they are told: certain ones with an exclamation mark.
func told(problems []*DependencyProblem) []string {
	var texts []string
	for _, p := range problems {
		mark := "? "
		if p.Certain {
			mark = "! "
		}
		texts = append(texts, mark+p.Error())
	}
	return texts
}

func TestCheckDependencies(t *testing.T) {
	t.Parallel()
	live := newAPIServer(t, zoo...)
	live.set(func(s *apiServer) {
		s.groups = append(s.groups, apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: "metrics.k8s.io"}, Versions: []apidiscoveryv2.APIVersionDiscovery{
			{Version: "v1beta1", Freshness: apidiscoveryv2.DiscoveryFreshnessStale},
		}})
	})
	for dependency, want := range map[string]struct{ offline, live string }{
		"v1 ConfigMap shop/settings":                 {"", ""},
		"rbac.authorization.k8s.io/v1 ClusterRole r": {"", ""},
		"sample.webhook.io/v2 Foo shop/a":            {"", ""},
		"auth.example.com/v1 User u":                 {"", ""},

		"v1 ConfigMap settings": {
			"! dependencies[1] v1 ConfigMap settings: the namespace is missing; v1 ConfigMap is in namespaces", "same"},
		"rbac.authorization.k8s.io/v1 ClusterRole shop/r": {
			"! dependencies[1] rbac.authorization.k8s.io/v1 ClusterRole shop/r: the namespace is too much; rbac.authorization.k8s.io/v1 ClusterRole is in none", "same"},
		"auth.example.com/v1 User shop/u": {
			"! dependencies[1] auth.example.com/v1 User shop/u: the namespace is too much; auth.example.com/v1 User is in none", "same"},

		// The version comes with Kubernetes, and so all of its kinds are known.
		"v1 Confgmap shop/settings": {
			`! dependencies[1] v1 Confgmap shop/settings: there is no resource or kind "v1 Confgmap", did you mean ConfigMap?`, "same"},
		"v1 Deployment shop/a": {
			`! dependencies[1] v1 Deployment shop/a: there is no resource or kind "v1 Deployment", only deployments.v1.apps`, "same"},
		// A version that another Kubernetes may have.
		"apps/v1beta1 Deployment shop/a": {
			`? dependencies[1] apps/v1beta1 Deployment shop/a: there is no resource or kind "apps/v1beta1 Deployment", only deployments.v1.apps; a Kubernetes other than ` + StandardVersion() + ` may have it`,
			`! dependencies[1] apps/v1beta1 Deployment shop/a: there is no resource or kind "apps/v1beta1 Deployment", only deployments.v1.apps`},
		// The CRD says which versions there are.
		"auth.example.com/v2 User u": {
			`! dependencies[1] auth.example.com/v2 User u: there is no resource or kind "auth.example.com/v2 User", only users.v1.auth.example.com`, "same"},
		// Another CRD of the group may define it, and may be nearly called like one that is known.
		"auth.example.com/v1 Group g": {"", `! dependencies[1] auth.example.com/v1 Group g: there is no resource or kind "auth.example.com/v1 Group"`},
		"auth.example.com/v1 Usr u": {
			`? dependencies[1] auth.example.com/v1 Usr u: there is no resource or kind "auth.example.com/v1 Usr", did you mean auth.example.com/v1 User? It may come from another CRD`,
			`! dependencies[1] auth.example.com/v1 Usr u: there is no resource or kind "auth.example.com/v1 Usr", did you mean User?`},
		// Nobody told about the group.
		"cert-manager.io/v1 Issuer shop/a": {"", `! dependencies[1] cert-manager.io/v1 Issuer shop/a: there is no resource or kind "cert-manager.io/v1 Issuer"`},
		"metrics.k8s.io/v1beta1 PodMetrics shop/a": {"",
			`? dependencies[1] metrics.k8s.io/v1beta1 PodMetrics shop/a: there is no resource or kind "metrics.k8s.io/v1beta1 PodMetrics" (it may be one of those that the API server could not tell about: metrics.k8s.io/v1beta1: stale GroupVersion discovery: metrics.k8s.io/v1beta1)`},
		"a/b/c Kind shop/a": {
			`! dependencies[1] a/b/c Kind shop/a: there is no resource or kind "a/b/c Kind"`, "same"},
	} {
		if want.live == "same" {
			want.live = want.offline
		}
		for source, k := range map[string]*Kinds{want.offline: newZoo(t), want.live: New(Discovery(live.client))} {
			problems, err := k.CheckDependencies(t.Context(), object("apps/v1", "Deployment", "shop"), references("v1 Secret shop/first", dependency))
			require.NoError(t, err)
			if source == "" {
				assert.Empty(t, told(problems), dependency)
				continue
			}
			assert.Equal(t, []string{source}, told(problems))
		}
	}
}

// A file often leaves the namespace to whoever applies it.
func TestDependenciesOfAnObjectWithoutNamespace(t *testing.T) {
	t.Parallel()
	k := newZoo(t)
	missing := references("v1 Secret a", "v1 Node n/a")
	for name, c := range map[string]struct {
		object *unstructured.Unstructured
		want   []string
	}{
		"without one":     {object("apps/v1", "Deployment", ""), []string{"! dependencies[1] v1 Node n/a: the namespace is too much; v1 Node is in none"}},
		"of unknown kind": {object("a.b/v1", "C", ""), []string{"! dependencies[1] v1 Node n/a: the namespace is too much; v1 Node is in none"}},
		"in none":         {object("auth.example.com/v1", "User", ""), []string{"! dependencies[0] v1 Secret a: the namespace is missing; v1 Secret is in namespaces", "! dependencies[1] v1 Node n/a: the namespace is too much; v1 Node is in none"}},
		"nil":             {nil, []string{"! dependencies[0] v1 Secret a: the namespace is missing; v1 Secret is in namespaces", "! dependencies[1] v1 Node n/a: the namespace is too much; v1 Node is in none"}},
	} {
		problems, err := k.CheckDependencies(t.Context(), c.object, missing)
		require.NoError(t, err)
		assert.Equal(t, c.want, told(problems), name)
	}
}

// layer has one rule for everything.
type layer struct{ interpreter.Interpreter }

func (l layer) Name() string { return "customization" }

func (l layer) Rules(schema.GroupVersionKind, interpreter.Operation) []*interpreter.Rule {
	return []*interpreter.Rule{{Name: "web", Interpreter: l}}
}

func TestGuard(t *testing.T) {
	t.Parallel()
	var answer []interpreter.DependentObjectReference
	server := newAPIServer(t)
	chainWith := func(k *Kinds) *interpreter.Chain {
		return interpreter.NewChain(layer{interpreter.Func(func(context.Context, *interpreter.Request) (*interpreter.Result, error) {
			return &interpreter.Result{Dependencies: slices.Clone(answer), Health: interpreter.HealthOfBool(true)}, nil
		})}).WithChecks(k.Guard())
	}
	chain := chainWith(newZoo(t))
	req := &interpreter.Request{Operation: interpreter.InterpretDependency, Object: object("apps/v1", "Deployment", "shop")}

	answer = references("apps/v1beta1 Deployment shop/b", "un.known/v1 Kind c", "v1 ConfigMap shop/a")
	res, err := chain.Interpret(t.Context(), req)
	require.NoError(t, err)
	assert.Equal(t, answer, res.Dependencies)

	answer = references("v1 ConfigMap shop/a", "v1 Secret b", "v1 Scret shop/b", "apps/v1beta1 Deployment shop/b")
	_, err = chain.Interpret(t.Context(), req)
	require.EqualError(t, err, `InterpretDependency of apps/v1 Deployment shop/web by customization web: invalid result: dependencies[2] v1 Scret shop/b: there is no resource or kind "v1 Scret", did you mean Secret?
invalid result: dependencies[3] v1 Secret b: the namespace is missing; v1 Secret is in namespaces`)
	require.ErrorIs(t, err, interpreter.ErrInvalidResult)
	require.ErrorIs(t, err, ErrNamespaceMissing)
	var problem *DependencyProblem
	require.ErrorAs(t, err, &problem)
	assert.Equal(t, answer[2], problem.Dependency)

	_, err = chain.Interpret(t.Context(), &interpreter.Request{Operation: interpreter.InterpretHealth, Object: req.Object})
	require.NoError(t, err)

	// What cannot be checked is not let through.
	server.set(func(s *apiServer) {
		s.down = func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }
	})
	_, err = chainWith(New(Discovery(server.client))).Interpret(t.Context(), req)
	require.ErrorContains(t, err, "by customization web: dependencies[0]: asking the API server which kinds there are: ")
}
