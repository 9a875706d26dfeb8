package thirdparty_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubeinterpret/interpret/builtin/thirdparty"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/interpretertest"
)

// cloneSet is the first case of an operation of CloneSet, as a request.
func cloneSet(b *testing.B, op interpreter.Operation) *interpreter.Request {
	cases, err := interpretertest.ReadFile("apps.kruise.io/v1alpha1/CloneSet/testdata/cloneset-test.yaml")
	require.NoError(b, err)
	for _, c := range cases {
		if c.Operation == op {
			req, err := c.Request()
			require.NoError(b, err)
			return req
		}
	}
	b.Fatalf("no case of %s", op)
	return nil
}

// BenchmarkFirstUse is what a process pays that asks about one kind.
func BenchmarkFirstUse(b *testing.B) {
	req := cloneSet(b, interpreter.InterpretHealth)
	b.ReportAllocs()
	for b.Loop() {
		_, err := interpreter.NewChain(thirdparty.New().Layer()).Interpret(b.Context(), req)
		require.NoError(b, err)
	}
}

// BenchmarkKinds is what a process pays that lists what is bundled.
func BenchmarkKinds(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		require.NotEmpty(b, thirdparty.New().Layer().(interpreter.Lister).Entries())
	}
}

func BenchmarkCloneSet(b *testing.B) {
	in := interpreter.NewChain(thirdparty.Layer())
	for _, op := range []interpreter.Operation{interpreter.InterpretHealth, interpreter.InterpretReplica, interpreter.AggregateStatus} {
		b.Run(string(op), func(b *testing.B) {
			req := cloneSet(b, op)
			b.ReportAllocs()
			for b.Loop() {
				_, err := in.Interpret(b.Context(), req)
				require.NoError(b, err)
			}
		})
	}
}
