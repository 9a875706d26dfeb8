package conversion_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/luakube"
	"github.com/kubeinterpret/interpret/webhook/conversion"
)

const converter = `apiVersion: kubeinterpret.io/v1alpha1
kind: Converter
metadata:
  name: foo
spec:
  target:
    group: sample.webhook.io
    kind: Foo
    versions: [v1, v2]
  luaScript: |
    function Convert(obj, desiredAPIVersion)
      local annotations = obj.metadata.annotations or {}
      if desiredAPIVersion == "sample.webhook.io/v1" then
        annotations["sample.webhook.io/alias"] = obj.spec.alias
        obj.spec.alias = nil
      else
        obj.spec.alias = annotations["sample.webhook.io/alias"]
        annotations["sample.webhook.io/alias"] = nil
      end
      if next(annotations) == nil then
        annotations = nil
      end
      obj.metadata.annotations = annotations
      obj.apiVersion = desiredAPIVersion
      return obj
    end
`

func engine(t testing.TB, options ...luakube.Option) *luakube.Engine {
	e, err := luakube.New(options...)
	require.NoError(t, err)
	return e
}

// compiled is the set of the converters in a file.
func compiled(t testing.TB, text string, options ...luakube.Option) *conversion.Set {
	list, err := conversion.Parse("f.yaml", []byte(text))
	require.NoError(t, err)
	var registrations []conversion.Registration
	for _, c := range list {
		r, err := c.Compile(engine(t, options...))
		require.NoError(t, err)
		registrations = append(registrations, r)
	}
	s, err := conversion.NewSet(registrations...)
	require.NoError(t, err)
	return s
}

func TestConvertersInLua(t *testing.T) {
	s := compiled(t, converter)
	in := object(t, web)
	out, err := s.Convert(t.Context(), []*unstructured.Unstructured{in}, v1)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"sample.webhook.io/alias": "w"}, out[0].GetAnnotations())
	assert.Equal(t, map[string]any{"size": int64(9007199254740993)}, out[0].Object["spec"])
	back, err := s.Convert(t.Context(), out, v2)
	require.NoError(t, err)
	assert.Equal(t, in, back[0])
}

func TestScriptsAreHeldToTheSandbox(t *testing.T) {
	limits := luakube.DefaultLimits()
	limits.Instructions = 100_000
	for name, c := range map[string]struct{ body, want string }{
		"endless":        {"while true do end", "converter foo:2: exceeded 100000 instructions"},
		"an error":       {`error("no alias")`, "converter foo:2: no alias"},
		"no result":      {"", "converter foo:1: Convert: first result (converted object) must be a table, got nil"},
		"not an object":  {"return {1}", "must be an object, got a list"},
		"another object": {`obj.metadata.name = "b" return obj`, `metadata.name is "b", must be "web"`},
		"no files":       {"return io.open('/etc/passwd')", "converter foo:2: "},
		"no next":        {"return require('kube').next(obj)", "converter foo:2: "},
	} {
		t.Run(name, func(t *testing.T) {
			convert, err := conversion.NewLua(engine(t, luakube.WithLimits(limits)), "converter foo", "function Convert(obj, desired)\n"+c.body+"\nend")
			require.NoError(t, err)
			_, err = set(t, convert.Convert).Convert(t.Context(), []*unstructured.Unstructured{object(t, web)}, v1)
			require.ErrorContains(t, err, c.want)
		})
	}
	t.Run("out of time", func(t *testing.T) {
		convert, err := conversion.NewLua(engine(t), "foo", "function Convert() while true do end end")
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err = convert.Convert(ctx, object(t, web), v1)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestConvertersInFiles(t *testing.T) {
	replace := func(old, new string) string { return strings.Replace(converter, old, new, 1) }
	for name, c := range map[string]struct{ text, want string }{
		"another kind":       {"apiVersion: v1\nkind: Pod", "f.yaml:1:1: not a Converter, got v1 Pod"},
		"another version":    {replace("v1alpha1", "v1"), "f.yaml:1:1: not a Converter, got kubeinterpret.io/v1 Converter (want kubeinterpret.io/v1alpha1)"},
		"nothing":            {"{}", "f.yaml:1:1: not a Converter, got an object without apiVersion and kind"},
		"an unknown field":   {replace("versions:", "version:"), "f.yaml:9:5: spec.target.version: unknown field, did you mean versions? (have group, kind, versions)\nf.yaml:6:3: spec.target.versions: a conversion is between two versions or more"},
		"in another case":    {replace("luaScript:", "luascript:"), "f.yaml:10:3: spec.luascript: unknown field, did you mean luaScript? (have target, luaScript)\nf.yaml:5:1: spec.luaScript: is required"},
		"no spec":            {"apiVersion: kubeinterpret.io/v1alpha1\nkind: Converter\nspec: 1", "f.yaml:3:1: spec: must be an object\nf.yaml:3:1: spec.target.group: is required"},
		"a group that is no": {replace("group: sample", "group: Sample"), `f.yaml:7:5: spec.target.group: "Sample.webhook.io": a lowercase RFC 1123 subdomain`},
		"no kind":            {replace("kind: Foo", "kind: ''"), "f.yaml:8:5: spec.target.kind: is required"},
		"kind of no text":    {replace("kind: Foo", "kind: 1"), "f.yaml:8:5: spec.target.kind: must be text"},
		"one version":        {replace("[v1, v2]", "[v1]"), "f.yaml:9:5: spec.target.versions: a conversion is between two versions or more"},
		"a version twice":    {replace("[v1, v2]", "[v1, v1]"), "f.yaml:9:5: spec.target.versions: v1 is there twice"},
		"no version":         {replace("[v1, v2]", "[v1, 2]"), "f.yaml:9:5: spec.target.versions: 2: a DNS-1035 label"},
		"not a list":         {replace("[v1, v2]", "v1"), "f.yaml:9:5: spec.target.versions: must be a list of versions"},
		"not YAML":           {"a: [", "f.yaml:1: not YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := conversion.Parse("f.yaml", []byte(c.text))
			require.ErrorContains(t, err, c.want)
			assert.Empty(t, list)
		})
	}
	list, err := conversion.Parse("f.yaml", []byte("---\n"+replace("metadata:\n  name: foo\n", "")+"---\nkind: Pod\n---\n"))
	require.ErrorIs(t, err, conversion.ErrOtherKind)
	require.Len(t, list, 1)
	assert.Equal(t, "Foo.sample.webhook.io", list[0].Name)
	assert.Equal(t, []string{"v1", "v2"}, list[0].Versions)
	assert.Equal(t, "f.yaml", list[0].File())
}

func TestAMistakeInAScriptHasItsPlace(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"syntax":      {"local annotations =", "local = ", `f.yaml:12:13: converter foo:2:9: syntax error near "="`},
		"no function": {"function Convert", "function Konvert", "f.yaml:10:14: converter foo: the script defines no function Convert; is Konvert meant to be it?"},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := conversion.Parse("f.yaml", []byte(strings.Replace(converter, c.old, c.new, 1)))
			require.NoError(t, err)
			_, err = list[0].Compile(engine(t))
			require.EqualError(t, err, c.want)
			var script *luakube.ScriptError
			require.ErrorAs(t, err, &script)
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(converter)
	f.Add("apiVersion: kubeinterpret.io/v1alpha1\nkind: Converter\nspec: {target: {versions: [1, {}]}, x: 1}")
	f.Add(`{"apiVersion":"kubeinterpret.io/v1alpha1","kind":"Converter","spec":{"target":{"group":"a.b","kind":"K","versions":["v1","v2"]},"luaScript":"function Convert(o) return o end"}}`)
	e := engine(f)
	f.Fuzz(func(t *testing.T, text string) {
		list, err := conversion.Parse("f", []byte(text))
		if err == nil {
			for _, c := range list {
				if c.Kind.Group == "" || c.Kind.Kind == "" || len(c.Versions) < 2 || c.Name == "" {
					t.Fatalf("half a converter: %+v", c)
				}
				_, _ = c.Compile(e)
			}
		}
	})
}
