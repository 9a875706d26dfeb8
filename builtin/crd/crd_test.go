package crd_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/builtin/crd"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
	"github.com/kubeinterpret/interpret/interpreter/interpretertest"
)

// testdata is every CRD below testdata.
func testdata(t testing.TB) *definition.Set {
	t.Helper()
	files, err := filepath.Glob("testdata/*/crd.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var list []*definition.Definition
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		found, err := definition.Parse(file, data)
		require.NoError(t, err)
		list = append(list, found...)
	}
	set, err := definition.NewSet(list...)
	require.NoError(t, err)
	return set
}

func TestTheCRDsOfTheTestsAreSound(t *testing.T) {
	t.Parallel()
	all, err := testdata(t).All()
	require.NoError(t, err)
	for _, d := range all {
		assert.Empty(t, d.Problems(t.Context()), d.Name())
	}
}

// Every rule must have a case, and every case must hold. What is to be written must be what an API server accepts.
func TestCases(t *testing.T) {
	t.Parallel()
	set := testdata(t)
	layer := crd.New(set)
	chain := interpreter.NewChain(layer, crd.KStatus(set))
	files, err := filepath.Glob("testdata/*/*-test.yaml")
	require.NoError(t, err)
	operations, kinds := map[interpreter.Operation]bool{}, map[schema.GroupVersionKind]bool{}
	for _, file := range files {
		cases, err := interpretertest.ReadFile(file)
		require.NoError(t, err)
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) { interpretertest.Test(t, chain, cases) })
		for _, c := range cases {
			operations[c.Operation], kinds[c.Object.GroupVersionKind()] = true, true
			for name := range c.Output {
				if name == "aggregatedStatus" || name == "revised" {
					t.Run("written/"+c.Name, func(t *testing.T) { accepted(t, set, chain, c) })
				}
			}
		}
	}
	for _, e := range layer.Entries() {
		assert.True(t, operations[e.Operation], "%s has no case", e.Operation)
		assert.True(t, kinds[e.Kind], "%s has no case", e.Kind)
	}
}

func accepted(t *testing.T, set *definition.Set, chain *interpreter.Chain, c interpretertest.Case) {
	req, err := c.Request()
	require.NoError(t, err)
	res, err := chain.Interpret(t.Context(), req)
	require.NoError(t, err)
	d, err := set.Definition(req.Kind().GroupKind())
	require.NoError(t, err)
	errs, err := d.Version(req.Kind().Version).Validate(t.Context(), res.Object, nil)
	require.NoError(t, err)
	assert.Empty(t, errs, "%v", res.Object)
	again, err := chain.Interpret(t.Context(), req)
	require.NoError(t, err)
	assert.Equal(t, res.Object, again.Object)
}
