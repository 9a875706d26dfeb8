package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
	"github.com/kubeinterpret/interpret/interpreter/kinds"
)

func discoverer(t *testing.T) discovery.CachedDiscoveryInterface {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(server.config)
	require.NoError(t, err)
	return memory.NewMemCacheClient(client)
}

// The table that comes with the library is what a server says, word for word and in its order. If this fails after an
// update of Kubernetes, make kind-table writes it anew.
func TestStandardKindsAreTheServers(t *testing.T) {
	client := discoverer(t)
	version, err := client.ServerVersion()
	require.NoError(t, err)
	assert.Equal(t, version.GitVersion, kinds.StandardVersion())

	want, err := kinds.New(kinds.Discovery(client)).All(t.Context())
	require.NoError(t, err)
	got, err := kinds.New(kinds.Standard()).All(t.Context())
	require.NoError(t, err)
	var standard []kinds.Resource
	for _, r := range want {
		if r.Standard {
			standard = append(standard, *r)
		}
	}
	require.Len(t, got, len(standard))
	require.Greater(t, len(got), 60)
	for i := range got {
		assert.Equal(t, facts(standard[i]), facts(*got[i]))
	}
}

// facts are all that a resource says, without its place among others.
func facts(r kinds.Resource) map[string]any {
	return map[string]any{
		"kind": r.Kind, "name": r.Name, "singular": r.Singular, "short": r.ShortNames, "categories": r.Categories,
		"namespaced": r.Namespaced, "verbs": r.Verbs, "subresources": r.Subresources, "preferred": r.Preferred,
	}
}

// walruses is a CRD with several versions, which a server puts in an order of its own.
const walruses = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: walruses.sea.example.com}
spec:
  group: sea.example.com
  scope: Cluster
  names: {kind: Walrus, plural: walruses, singular: walrus, shortNames: [wal], categories: [mammals, all]}
  versions:
  - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
  - {name: v2, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object}}}
  - {name: v10, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
  - {name: v1alpha3, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
  - {name: v11, served: false, storage: false, schema: {openAPIV3Schema: {type: object}}}
  - {name: calf, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
`

// A CRD that has just been made is found, and what its file says without a server is what the server says.
func TestCustomKindsAreTheServers(t *testing.T) {
	live := kinds.New(kinds.Discovery(discoverer(t)))
	kind := schema.GroupVersionKind{Group: "sea.example.com", Version: "v2", Kind: "Walrus"}
	_, err := live.ByKind(t.Context(), kind)
	require.True(t, meta.IsNoMatchError(err), "%v", err)
	problems, err := live.CheckDependencies(t.Context(), nil, []interpreter.DependentObjectReference{{APIVersion: "sea.example.com/v2", Kind: "Walrus", Name: "paul"}})
	require.NoError(t, err)
	require.Len(t, problems, 1)
	assert.True(t, problems[0].Certain)

	crd := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(walruses), crd))
	_, err = envtest.InstallCRDs(server.config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}})
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, envtest.UninstallCRDs(server.config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}}))
	})
	_, err = live.ByKind(t.Context(), kind)
	require.NoError(t, err)

	list, err := definition.Parse("walruses.yaml", []byte(walruses))
	require.NoError(t, err)
	set, err := definition.NewSet(list...)
	require.NoError(t, err)
	offline := kinds.New(kinds.Standard(), kinds.Definitions(set))
	client := discoverer(t)
	theirs := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(client), client, nil)
	for _, name := range []string{"walruses", "walrus", "wal", "Walrus", "WALRUS.sea", "wal.v10.sea.example.com", "sea.example.com/calf Walrus", "crd/walruses", "mammals"} {
		want, err := live.Find(t.Context(), name)
		require.NoError(t, err)
		got, err := offline.Find(t.Context(), name)
		require.NoError(t, err)
		require.Len(t, got, len(want), name)
		for i := range want {
			assert.Equal(t, facts(*want[i]), facts(*got[i]), name)
		}
	}
	partial := schema.GroupVersionResource{Resource: "walrus"}
	want, err := theirs.KindsFor(partial)
	require.NoError(t, err)
	require.Len(t, want, 5)
	for _, k := range []*kinds.Kinds{live, offline} {
		got, err := k.KindsFor(partial)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

// What interpret resources lists of a server, and in the same words, is what kubectl api-resources does.
func TestResourcesBesideKubectl(t *testing.T) {
	bin, err := built()
	require.NoError(t, err)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(kubeconfig, server.env.KubeConfig, 0o600))
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, append(args, "--kubeconfig", kubeconfig, "--cache-dir", t.TempDir())...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		require.NoError(t, err, "%s %s\n%s", name, args, &stderr)
		return string(out)
	}
	for _, args := range [][]string{
		nil,
		{"--sort-by", "kind"},
		{"--api-group", "apps"},
		{"--api-group", ""},
		{"--namespaced=false", "--sort-by", "name"},
		{"--categories", "all"},
		{"--verbs", "list,watch"},
	} {
		want := columnsOf(run(filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"), append([]string{"api-resources", "-o", "wide"}, args...)...))
		got := columnsOf(run(bin, append([]string{"resources", "-o", "wide"}, args...)...))
		require.Greater(t, len(want), 3)
		if strings.Contains(strings.Join(args, " "), "--sort-by") {
			assert.Equal(t, want, got, args)
		} else {
			assert.ElementsMatch(t, want, got, args)
		}
	}
	assert.ElementsMatch(t,
		strings.Fields(run(filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"), "api-resources", "-o", "name")),
		strings.Fields(run(bin, "resources", "-o", "name")))
}

// columnsOf are the cells of a table that kubectl has as well, line by line.
func columnsOf(table string) [][]string {
	header, _, _ := strings.Cut(table, "\n")
	var starts []int
	for _, name := range []string{"NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND", "VERBS", "CATEGORIES"} {
		starts = append(starts, strings.Index(header, name))
	}
	end := strings.Index(header, "ANSWERS")
	var list [][]string
	for line := range strings.Lines(table) {
		if end > 0 && end < len(line) {
			line = line[:end]
		}
		var cells []string
		for i, start := range starts {
			next := len(line)
			if i+1 < len(starts) {
				next = min(next, starts[i+1])
			}
			cells = append(cells, strings.TrimSpace(line[min(start, next):next]))
		}
		list = append(list, cells)
	}
	return list
}
