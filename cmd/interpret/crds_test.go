package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

// A server judges by conventions the kinds whose CRDs it knows, unless it is told otherwise; of the rest it says that
// there is no rule, which callers may take for a reason not to act. It does not register to be asked.
func TestServeJudgesByConventions(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "builtin", "crd", "testdata", "app", "crd.yaml"))
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "crd.yaml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	app := func(kind string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "demo.io/v1", "kind": kind, "metadata": map[string]any{"name": "x", "namespace": "shop"},
			"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}},
		}}
	}
	for _, c := range []struct {
		args             []string
		defined, unknown bool
	}{
		{nil, true, false},
		{[]string{"--kstatus"}, true, true},
		{[]string{"--kstatus=false"}, false, false},
	} {
		s := start(t, append([]string{"-f", file}, c.args...)...)
		for kind, answered := range map[string]bool{"App": c.defined, "Widget": c.unknown} {
			healthy, err := interpreter.IsHealthy(t.Context(), s.directly(), app(kind))
			if !answered {
				assert.ErrorContains(t, err, "no rule for demo.io/v1 "+kind, c.args)
				continue
			}
			require.NoError(t, err, c.args)
			assert.True(t, healthy, c.args)
		}
		for _, rule := range s.configuration.Webhooks[0].Rules {
			if slices.Contains(rule.Operations, interpreter.InterpretHealth) {
				assert.NotContains(t, rule.APIGroups, "demo.io")
			}
		}
	}
}
