package declarative_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/interpretertest"
)

// A customization that does not load is an error of the case, as it is one of the call in Karmada.
func TestRecordedCases(t *testing.T) {
	t.Parallel()
	cases, err := interpretertest.ReadFile("testdata/declarative.jsonl")
	require.NoError(t, err)
	for _, c := range cases {
		interpretertest.Test(t, customized(c), []interpretertest.Case{c})
	}
}

func customized(c interpretertest.Case) interpreter.Interpreter {
	var list []*declarative.Customization
	for _, r := range c.Recorded.Customizations {
		list = append(list, declarative.From(r))
	}
	layer, err := declarative.New(list)
	if err != nil {
		return interpreter.Func(func(context.Context, *interpreter.Request) (*interpreter.Result, error) { return nil, err })
	}
	return interpreter.NewChain(layer)
}
