package declarative_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
)

// paths are all fields of a kind, an item's step being [].
type paths []string

func (p paths) HasField(path ...string) (bool, int, string) {
	for i, step := range path {
		prefix := strings.Join(path[:i+1], ".")
		if step != "" && !slices.Contains(p, prefix) {
			return false, i, "similar"
		}
	}
	return true, 0, ""
}

const fieldsOfFoo = `apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: foo}
spec:
  target: {apiVersion: TARGET, kind: Foo}
  customizations:
    retention:
      luaScript: |
        function Retain(desired, observed)
          desired.spec.paused = observed.spec.pausd
          desired.spec.deep.er = observed.kind
          return desired
        end
    replicaRevision:
      luaScript: "function ReviseReplica(obj, replica) obj.spec.size = replica return obj end"
    statusAggregation:
      luaScript: |
        function AggregateStatus(obj, items)
          local status = {}
          for i = 1, #items do
            status.ready = (status.ready or 0) + items[i].status.redy + #items[i].clusterName
          end
          obj.status = status
          return obj
        end
REFLECTION`

const reflection = `    statusReflection:
      luaScript: |
        function ReflectStatus(obj)
          return {ready = obj.status.redy, more = 1}
        end
`

func TestCheckFieldsFindsWhatObjectsDoNotHave(t *testing.T) {
	t.Parallel()
	v1 := paths{"kind", "spec", "spec.paused", "spec.size", "status", "status.ready"}
	versions := func(kind schema.GroupKind) map[string]declarative.Fields {
		if kind.Group != "demo.io" {
			return nil
		}
		return map[string]declarative.Fields{"v1": v1, "v2": append(slices.Clone(v1), "spec.pausd")}
	}
	pausd := "f.yaml:10:47: foo/retention: Foo has no field spec.pausd, did you mean similar?"
	deep := "f.yaml:11:24: foo/retention: Foo has no field spec.deep, did you mean similar?"
	for name, c := range map[string]struct {
		target, reflection string
		want               []string
	}{
		"a version":       {"demo.io/v1", "", []string{pausd, deep, "f.yaml:21:66: foo/statusAggregation: Foo has no field status.redy, did you mean similar?"}},
		"any version":     {"demo.io/*", "", []string{deep, "f.yaml:21:66: foo/statusAggregation: Foo has no field status.redy, did you mean similar?"}},
		"own reflection":  {"demo.io/v1", reflection, []string{pausd, deep, "f.yaml:29:38: foo/statusReflection: Foo has no field status.redy, did you mean similar?"}},
		"unknown version": {"demo.io/v3", "", []string{"f.yaml:5:12: foo: Foo has no version v3 (have v1, v2)"}},
		"unknown kind":    {"other.io/v1", "", nil},
		"pattern":         {"'*.io/*'", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.NewReplacer("TARGET", c.target, "REFLECTION", c.reflection).Replace(fieldsOfFoo)
			list, err := declarative.Parse("f.yaml", []byte(text))
			require.NoError(t, err)
			var got []string
			for _, p := range declarative.CheckFields(list, versions) {
				assert.False(t, p.Fatal)
				got = append(got, p.String())
			}
			slices.Sort(got)
			want := slices.Sorted(slices.Values(c.want))
			assert.Equal(t, want, got)
		})
	}
}

func TestMistakesInAnAnswerAreBlamedOnTheLineThatSetsTheField(t *testing.T) {
	t.Parallel()
	list, err := declarative.Parse("f.yaml", []byte(strings.NewReplacer("TARGET", "demo.io/v1", "REFLECTION", reflection).Replace(fieldsOfFoo)))
	require.NoError(t, err)
	layer, err := declarative.New(list)
	require.NoError(t, err)
	wrong := func(path string) interpreter.Check {
		return func(context.Context, *interpreter.Request, *interpreter.Result) []error {
			return []error{field.Forbidden(field.NewPath(path), "not here")}
		}
	}
	foo := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "demo.io/v1", "kind": "Foo", "metadata": map[string]any{"name": "x"},
		"spec": map[string]any{"deep": map[string]any{}}, "status": map[string]any{},
	}}
	for _, c := range []struct {
		op         interpreter.Operation
		path, want string
	}{
		{interpreter.Retain, "spec.paused", "foo/retention:2:16: Retain: spec.paused: Forbidden: not here"},
		{interpreter.Retain, "spec.deep.er", "foo/retention:3:21: Retain: spec.deep.er: Forbidden: not here"},
		{interpreter.Retain, "metadata", "foo/retention:1: Retain: metadata: Forbidden: not here"},
		{interpreter.AggregateStatus, "status.ready", "foo/statusAggregation:4:12: AggregateStatus: status.ready: Forbidden: not here"},
		{interpreter.InterpretStatus, "status.more", "foo/statusReflection:2:36: ReflectStatus: status.more: Forbidden: not here"},
	} {
		req := &interpreter.Request{Operation: c.op, Object: foo, Observed: foo}
		_, err := interpreter.NewChain(layer).WithChecks(wrong(c.path)).Interpret(t.Context(), req)
		assert.ErrorContains(t, err, c.want)
	}
}
