package definition_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kubeinterpret/interpret/interpreter/definition"
)

func TestMentions(t *testing.T) {
	t.Parallel()
	const text = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.demo.io"},
"spec":{"group":"demo.io","names":{"kind":"Widget","plural":"widgets"},"versions":[{"name":"v1","schema":{"openAPIV3Schema":{"type":"object",
"properties":{"NAME":{"type":"string"}}}}}]}}`
	for name, want := range map[string]bool{"containers": true, "container": false, `c\u006fntainers`: true, "size": false} {
		list, err := definition.Parse("crd.json", []byte(strings.Replace(text, "NAME", name, 1)))
		require.NoError(t, err)
		require.Len(t, list, 1)
		assert.Equal(t, want, list[0].Mentions("containers", "initContainers"), name)
	}
}
