package versions_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/versions"
)

// blamed is a rule that knows where its mistakes come from.
type blamed struct{ interpreter.Interpreter }

func (blamed) Blame(err error) error { return fmt.Errorf("line 7: %w", err) }

func TestARuleIsBlamedForItsAnswerAboutAnotherVersion(t *testing.T) {
	t.Parallel()
	rule := says("one")
	known := *rule
	known.Interpreter = blamed{rule.Interpreter}
	check := func(context.Context, *interpreter.Request, *interpreter.Result) []error {
		return []error{errors.New("ugly")}
	}
	for want, r := range map[string]*interpreter.Rule{"line 7: ugly": &known, "by test one (demo.io/v1): ugly": rule} {
		rules := layer{interpreter.Key{Kind: kind("v1"), Operation: interpreter.InterpretHealth}: {r}}
		chain := interpreter.NewChain(versions.New(rules, setOf(t, crdOf(t, none, "v1", "v2")), nil)).WithChecks(check)
		_, err := interpreter.HealthOf(t.Context(), chain, foo(t, "v2"))
		require.ErrorContains(t, err, want)
	}
}
