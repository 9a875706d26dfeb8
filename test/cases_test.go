//go:build cases

package test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubeinterpret/interpret/builtin"
	"github.com/kubeinterpret/interpret/builtin/thirdparty"
	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/interpretertest"
)

// TestCases runs the recorded cases below the directory CASES_DIR, each at its own level. It is made for
// recordings that are not part of the repository, so it is only built when asked for: make cases DIR=path.
//
// Where a case says that we differ on purpose, and has no answer of ours, another answer is told and not
// counted.
func TestCases(t *testing.T) {
	dir := os.Getenv("CASES_DIR")
	require.NotEmpty(t, dir, "CASES_DIR names the directory of the cases")
	files := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".jsonl" {
			return err
		}
		files++
		cases, err := interpretertest.ReadFile(path)
		require.NoError(t, err)
		t.Run(entry.Name(), func(t *testing.T) {
			for _, c := range cases {
				t.Run(c.Name, func(t *testing.T) { runCase(t, c) })
			}
		})
		return nil
	})
	require.NoError(t, err)
	require.NotZero(t, files, "no .jsonl files in %s", dir)
}

func runCase(t *testing.T, c interpretertest.Case) {
	o := c.Run(t.Context(), level(c.Recorded))
	switch {
	case o.Passed:
	case c.Recorded.Decision == "ours" && c.Recorded.Why == "" && !o.Misbehaved:
		t.Logf("%s\nwe differ on purpose %v: %s", c, c.Recorded.Quirks, o)
	default:
		t.Errorf("%s\n%s", c, o)
	}
}

// level is the set of rules that a case is about; without a level that is all we have.
func level(r *interpretertest.Recorded) interpreter.Interpreter {
	switch r.Level {
	case "native":
		return interpreter.NewChain(builtin.Layer(), builtin.Fallback())
	case "thirdparty":
		return interpreter.NewChain(thirdparty.Layer())
	case "declarative":
		return customized(r)
	}
	return interpreter.NewChain(thirdparty.Layer(), builtin.Layer(), builtin.Fallback())
}

// customized answers from the case's customizations. If one does not load, that is the answer to the case.
func customized(r *interpretertest.Recorded) interpreter.Interpreter {
	var list []*declarative.Customization
	for _, c := range r.Customizations {
		list = append(list, declarative.From(c))
	}
	layer, err := declarative.New(list)
	if err != nil {
		return interpreter.Func(func(context.Context, *interpreter.Request) (*interpreter.Result, error) { return nil, err })
	}
	return interpreter.NewChain(layer)
}
