package thirdparty_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubeinterpret/interpret/builtin/thirdparty"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/interpretertest"
)

func TestRecordedCases(t *testing.T) {
	t.Parallel()
	cases, err := interpretertest.ReadFile("testdata/thirdparty.jsonl")
	require.NoError(t, err)
	interpretertest.Test(t, interpreter.NewChain(thirdparty.Layer()), cases)
}
