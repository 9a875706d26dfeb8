package builtin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubeinterpret/interpret/builtin"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/interpretertest"
)

func TestRecordedCases(t *testing.T) {
	t.Parallel()
	cases, err := interpretertest.ReadFile("testdata/native.jsonl")
	require.NoError(t, err)
	interpretertest.Test(t, interpreter.NewChain(builtin.Layer(), builtin.Fallback()), cases)
}
