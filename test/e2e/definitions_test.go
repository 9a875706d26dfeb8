package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubeinterpret/interpret/interpreter/manifest"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

// What our definitions accept is stored whole, the fields that Karmada lacks included.
func TestConfigurationIsStoredWhole(t *testing.T) {
	for _, name := range []string{"ResourceInterpreterCustomization", "ResourceInterpreterWebhookConfiguration"} {
		written := placed(t, object(t, samples[name]), newNamespace(t))
		stored := create(t, written)
		require.True(t, holds(stored.Object, written.Object), "written %v\nstored %v", written, stored)
	}
}

func TestConfigurationIsRefused(t *testing.T) {
	const customization = `
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: refused}
`
	const configuration = `
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterWebhookConfiguration
metadata: {name: refused}
`
	for name, c := range map[string]struct{ manifest, reason string }{
		"no spec":           {customization, "spec: Required value"},
		"no target":         {customization + "spec: {customizations: {}}", "spec.target: Required value"},
		"no kind":           {customization + "spec: {target: {apiVersion: v1}, customizations: {}}", "spec.target.kind: Required value"},
		"no rules":          {customization + "spec: {target: {apiVersion: v1, kind: Pod}}", "spec.customizations: Required value"},
		"no script":         {customization + "spec: {target: {apiVersion: v1, kind: Pod}, customizations: {pruning: {}}}", "spec.customizations.pruning.luaScript: Required value"},
		"a script of lines": {customization + "spec: {target: {apiVersion: v1, kind: Pod}, customizations: {pruning: {luaScript: [a]}}}", "spec.customizations.pruning.luaScript: Invalid value"},
		"a misspelt rule":   {customization + "spec: {target: {apiVersion: v1, kind: Pod}, customizations: {prune: {luaScript: a}}}", `unknown field "spec.customizations.prune"`},
		"no webhooks":       {configuration, "webhooks: Required value"},
		"no name":           {configuration + "webhooks: [{clientConfig: {}, interpreterContextVersions: [v1alpha1]}]", "webhooks[0].name: Required value"},
		"no client":         {configuration + "webhooks: [{name: a.example.com, interpreterContextVersions: [v1alpha1]}]", "webhooks[0].clientConfig: Required value"},
		"no versions":       {configuration + "webhooks: [{name: a.example.com, clientConfig: {}}]", "webhooks[0].interpreterContextVersions: Required value"},
		"no operations": {configuration + "webhooks: [{name: a.example.com, clientConfig: {}, interpreterContextVersions: [v1alpha1], rules: [{apiGroups: ['*'], apiVersions: ['*'], kinds: ['*']}]}]",
			"webhooks[0].rules[0].operations: Required value"},
		"a service without a name": {configuration + "webhooks: [{name: a.example.com, clientConfig: {service: {namespace: b}}, interpreterContextVersions: [v1alpha1]}]", "webhooks[0].clientConfig.service.name: Required value"},
	} {
		t.Run(name, func(t *testing.T) {
			mustBeRefused(t, server.Create(t.Context(), object(t, c.manifest)), c.reason)
		})
	}
}

// The customizations that come with the library, and those of the examples, are accepted as they are.
func TestCustomizationsOfTheRepositoryAreAccepted(t *testing.T) {
	n := 0
	for _, root := range []string{"../../builtin/thirdparty", "../../examples"} {
		must(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
				return err
			}
			text, err := os.ReadFile(path)
			must(t, err)
			for _, doc := range manifest.Split(path, text) {
				fields, err := doc.Object()
				if err != nil || fields["kind"] != v1alpha1.KindResourceInterpreterCustomization {
					continue // recorded cases are files of other documents
				}
				raw, err := doc.JSON()
				must(t, err)
				n++
				require.NoError(t, server.Create(t.Context(), object(t, string(raw)), client.DryRunAll), path)
			}
			return nil
		}))
	}
	require.Greater(t, n, 50)
}
