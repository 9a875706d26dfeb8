package luakube_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kubeinterpret/interpret/luakube"
)

// answer is a destination that takes any value of a script as it is.
type answer struct{ value any }

func (a *answer) UnmarshalValue(v any) error { a.value = v; return nil }

// newEngine makes an engine with the default limits, but for the time: the machine may be busy.
func newEngine(t testing.TB, options ...luakube.Option) *luakube.Engine {
	t.Helper()
	limits := luakube.DefaultLimits()
	limits.Time = time.Minute
	e, err := luakube.New(append([]luakube.Option{luakube.WithLimits(limits)}, options...)...)
	require.NoError(t, err)
	return e
}

// compile compiles the body of a function F(o, p), unless the source defines F itself.
func compile(t testing.TB, e *luakube.Engine, source string) *luakube.Script {
	t.Helper()
	if !strings.Contains(source, "function F(") {
		source = "local kube = require('kube') function F(o, p) " + source + "\nend"
	}
	s, err := e.Compile("probe/rule", source, "F")
	require.NoError(t, err, source)
	return s
}

// call calls a script for its first result.
func call(t testing.TB, s *luakube.Script, args ...any) (any, luakube.Usage, error) {
	t.Helper()
	var a answer
	use, err := s.Call(t.Context(), &luakube.Call{Args: args, Rets: []luakube.Ret{{Noun: "answer", Into: &a}}})
	return a.value, use, err
}

// run runs a source on a new engine for its first result.
func run(t testing.TB, source string, args ...any) any {
	t.Helper()
	v, _, err := call(t, compile(t, newEngine(t), source), args...)
	require.NoError(t, err, source)
	return v
}

// fails runs a source that must fail.
func fails(t testing.TB, source string, args ...any) error {
	t.Helper()
	_, _, err := call(t, compile(t, newEngine(t), source), args...)
	require.Error(t, err, source)
	return err
}

// holds runs statements, each of which must return true.
func holds(t *testing.T, o any, statements ...string) {
	t.Helper()
	e := newEngine(t)
	for _, s := range statements {
		v, _, err := call(t, compile(t, e, s), o)
		require.NoError(t, err, s)
		require.Equal(t, true, v, s)
	}
}

// fromJSON reads JSON as Kubernetes does: whole numbers are int64, others float64.
func fromJSON(t testing.TB, text string) any {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal([]byte(text), &v), text)
	return v
}

// objectAnswer is a destination for an object of which only some fields are taken.
type objectAnswer struct{ object *unstructured.Unstructured }

func (a *objectAnswer) ret(base map[string]any, only ...string) luakube.Ret {
	return luakube.Ret{Noun: "object", Only: only, Base: base, Into: &a.object}
}

func (a *objectAnswer) content() any {
	if a.object == nil {
		return nil
	}
	return a.object.Object
}
