package thirdparty

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/interpretertest"
)

func TestEveryBundledRuleCompiles(t *testing.T) {
	t.Parallel()
	b := New()
	require.NoError(t, b.Load())
	for _, f := range b.folders() {
		parsed, err := f.parse()
		require.NoError(t, err)
		all := append(parsed.karmada, parsed.extra...)
		require.NotEmpty(t, all, f.path)
		name := strings.ToLower(strings.ReplaceAll(path.Dir(f.path), "/", "-"))
		for _, c := range all {
			assert.Contains(t, []string{name, name + "-extra"}, c.Name, f.path)
			assert.Equal(t, f.kind, schema.FromAPIVersionAndKind(c.Spec.Target.APIVersion, c.Spec.Target.Kind), f.path)
		}
	}
}

// Every rule must have a case, and every case must hold. Whether each branch of a rule has one is for whoever
// writes the rule to see to.
func TestCases(t *testing.T) {
	t.Parallel()
	in := interpreter.NewChain(Extra(), Layer())
	covered := map[interpreter.Key]bool{}
	for _, f := range shared().folders() {
		t.Run(path.Dir(f.path), func(t *testing.T) {
			paths, err := filepath.Glob(filepath.Join(path.Dir(f.path), "testdata", "*-test.yaml"))
			require.NoError(t, err)
			require.NotEmpty(t, paths, "the kind has no cases")
			for _, p := range paths {
				cases, err := interpretertest.ReadFile(p)
				require.NoError(t, err)
				interpretertest.Test(t, in, cases)
				for _, c := range cases {
					kind := c.Object.GroupVersionKind()
					if assert.True(t, f.kind == kind || f.isPattern() && f.matches(kind), "%s: is about %s", c, kind) {
						covered[interpreter.Key{Kind: f.kind, Operation: c.Operation}] = true
					}
				}
			}
		})
	}
	for _, l := range []interpreter.Layer{Extra(), Layer()} {
		for _, e := range l.(interpreter.Lister).Entries() {
			assert.True(t, covered[interpreter.Key{Kind: e.Kind, Operation: e.Operation}], "%s of %s has no case", e.Operation, e.Kind)
		}
	}
}

const good = `apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: good}
spec:
  target: {apiVersion: example.io/v1, kind: Good}
  customizations:
    healthInterpretation: {luaScript: "function InterpretHealth() return true end"}
`

func TestWhatIsBrokenIsAnErrorOfItsKindOnly(t *testing.T) {
	t.Parallel()
	b := newBundle(fstest.MapFS{
		"example.io/v1/Good/customizations.yaml":         {Data: []byte(good)},
		"example.io/v1/Unreadable/customizations.yaml":   {Data: []byte("kind: [")},
		"example.io/v1/Uncompilable/customizations.yaml": {Data: []byte(strings.ReplaceAll(good, "return true end", "retrun end"))},
	})
	assert.ErrorContains(t, b.Load(), "Unreadable/customizations.yaml")
	assert.ErrorContains(t, b.Load(), "Uncompilable/customizations.yaml")
	assert.NotContains(t, b.Load().Error(), "/Good/")
	rule := func(kind string) *interpreter.Rule {
		rules := b.Extra().Rules(schema.GroupVersionKind{Group: "example.io", Version: "v1", Kind: kind}, interpreter.InterpretHealth)
		require.Len(t, rules, 1, kind)
		return rules[0]
	}
	assert.Equal(t, "good", rule("Good").Name)
	_, err := rule("Unreadable").Interpreter.Interpret(t.Context(), nil)
	assert.ErrorContains(t, err, "bundled rules: example.io/v1/Unreadable/customizations.yaml")
	_, err = rule("Uncompilable").Interpreter.Interpret(t.Context(), nil)
	assert.ErrorContains(t, err, "example.io/v1/Uncompilable/customizations.yaml:7")
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	target := func(apiVersion, kind string) *fstest.MapFile {
		text := strings.NewReplacer("example.io/v1", `"`+apiVersion+`"`, "kind: Good", `kind: "`+kind+`"`, "name: good", `name: "`+apiVersion+kind+`"`)
		return &fstest.MapFile{Data: []byte(text.Replace(good))}
	}
	b := newBundle(fstest.MapFS{
		"any.example.io/any/any/customizations.yaml": target("*.example.io/*", "*"),
		"a.example.io/any/Good/customizations.yaml":  target("a.example.io/*", "Good"),
		"a.example.io/v1/Good/customizations.yaml":   target("a.example.io/v1", "Good"),
	})
	require.NoError(t, b.Load())
	names := func(apiVersion, kind string) (names []string) {
		for _, r := range b.Extra().Rules(schema.FromAPIVersionAndKind(apiVersion, kind), interpreter.InterpretHealth) {
			names = append(names, r.Name)
		}
		return names
	}
	assert.Equal(t, []string{"a.example.io/v1Good", "a.example.io/*Good", "*.example.io/**"}, names("a.example.io/v1", "Good"))
	assert.Equal(t, []string{"a.example.io/*Good", "*.example.io/**"}, names("a.example.io/v2", "Good"))
	assert.Equal(t, []string{"*.example.io/**"}, names("b.example.io/v2", "Other"))
	assert.Empty(t, names("example.io/v1", "Good"))
	assert.Len(t, strings.Split(string(b.Source(schema.FromAPIVersionAndKind("a.example.io/v1", "Good"))), "---\n"), 3)
	assert.Len(t, b.Kinds(), 3)
}

func TestSourceIsTheFile(t *testing.T) {
	t.Parallel()
	kind := schema.FromAPIVersionAndKind("apps.kruise.io/v1alpha1", "CloneSet")
	want, err := fs.ReadFile(files, "apps.kruise.io/v1alpha1/CloneSet/customizations.yaml")
	require.NoError(t, err)
	assert.Equal(t, string(want), string(New().Source(kind)))
	assert.Nil(t, New().Source(schema.FromAPIVersionAndKind("v1", "Nothing")))
	assert.Contains(t, New().Kinds(), kind)
}
