package live_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/declarative/live"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/follow"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

var (
	customizations = v1alpha1.GroupVersion.WithResource(live.Resource)
	events         = corev1.SchemeGroupVersion.WithResource("events")
)

// within is how soon a change must be in force; what takes longer has failed.
const within = 10 * time.Second

// server is an API server that can be out of order.
type server struct {
	*dynamicfake.FakeDynamicClient
	t       testing.TB
	broken  atomic.Pointer[error]
	mu      sync.Mutex
	watches []watch.Interface
	// next is a watch that was begun when the objects were listed: unlike a real server, the tracker does not tell a
	// new watch what has happened since the list.
	next watch.Interface
}

func newServer(t testing.TB, objects ...runtime.Object) *server {
	s := &server{t: t, FakeDynamicClient: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{
			customizations: v1alpha1.KindResourceInterpreterCustomization + "List",
			events:         "EventList",
		}, objects...)}
	s.PrependReactor("list", live.Resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		if err := s.err(); err != nil {
			return true, nil, err
		}
		w, err := s.Tracker().Watch(customizations, "")
		s.mu.Lock()
		defer s.mu.Unlock()
		s.next = w
		return err != nil, nil, err
	})
	s.PrependWatchReactor(live.Resource, func(a clienttesting.Action) (bool, watch.Interface, error) {
		if err := s.err(); err != nil {
			return true, nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		w, err := s.next, error(nil)
		if s.next = nil; w == nil {
			w, err = s.Tracker().Watch(customizations, "")
		}
		s.watches = append(s.watches, w)
		return true, w, err
	})
	return s
}

func (s *server) err() error {
	if err := s.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// fail breaks all watches and lets nobody read until heal.
func (s *server) fail(err error) {
	s.broken.Store(&err)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watches {
		w.Stop()
	}
	s.watches = nil
}

// expire tells those who watch that the past is forgotten, and whether anybody did.
func (s *server) expire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watches {
		w.(*watch.RaceFreeFakeWatcher).Error(&metav1.Status{Status: metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonExpired})
	}
	return len(s.watches) > 0
}

func (s *server) heal() { s.broken.Store(nil) }

func (s *server) create(o *unstructured.Unstructured) {
	_, err := s.Resource(customizations).Create(s.t.Context(), o, metav1.CreateOptions{})
	require.NoError(s.t, err)
}

func (s *server) update(o *unstructured.Unstructured) {
	_, err := s.Resource(customizations).Update(s.t.Context(), o, metav1.UpdateOptions{})
	require.NoError(s.t, err)
}

// events lists what was said about objects, as "reason name: message".
func (s *server) events() []string {
	list, err := s.Resource(events).List(s.t.Context(), metav1.ListOptions{})
	require.NoError(s.t, err)
	var said []string
	for _, e := range list.Items {
		reason, _, _ := unstructured.NestedString(e.Object, "reason")
		name, _, _ := unstructured.NestedString(e.Object, "involvedObject", "name")
		message, _, _ := unstructured.NestedString(e.Object, "message")
		said = append(said, fmt.Sprintf("%s %s %s: %s", e.GetNamespace(), reason, name, message))
	}
	return said
}

// custom is a customization that reflects who answered.
func custom(name, script string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": v1alpha1.KindResourceInterpreterCustomization,
		"metadata": map[string]any{"name": name, "uid": "uid-of-" + name},
		"spec": map[string]any{
			"target":         map[string]any{"apiVersion": "demo.io/v1", "kind": "Widget"},
			"customizations": map[string]any{"statusReflection": map[string]any{"luaScript": script}},
		},
	}}
}

func says(name, what string) *unstructured.Unstructured {
	return custom(name, fmt.Sprintf("function ReflectStatus(o) return {by = %q} end", what))
}

func widget() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "demo.io/v1", "kind": "Widget", "metadata": map[string]any{"name": "w", "namespace": "ns"},
	}}
}

// start runs a layer until the test ends.
func start(t testing.TB, s *server, options ...follow.Option) *live.Layer {
	t.Helper()
	rules, err := declarative.New(nil)
	require.NoError(t, err)
	l, err := live.New(s, rules, options...)
	require.NoError(t, err)
	run(t, l)
	return l
}

func run(t testing.TB, l *live.Layer) {
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { assert.NoError(t, l.Run(ctx)) })
	t.Cleanup(func() {
		stop()
		done.Wait()
	})
}

func ready(t testing.TB, l *live.Layer) *interpreter.Chain {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	require.NoError(t, l.Wait(ctx))
	return interpreter.NewChain(l)
}

// by says who answers: a rule's word, "nobody", or the error.
func by(chain *interpreter.Chain) string {
	status, err := interpreter.Reflected(context.Background(), chain, widget())
	switch {
	case interpreter.IsNoRule(err):
		return "nobody"
	case err != nil:
		return err.Error()
	}
	return status.(map[string]any)["by"].(string)
}

// becomes waits for an answer.
func becomes(t testing.TB, chain *interpreter.Chain, want string) {
	t.Helper()
	eventually(t, func(c *assert.CollectT) { assert.Equal(c, want, by(chain)) })
}

func eventually(t testing.TB, condition func(*assert.CollectT)) {
	t.Helper()
	require.EventuallyWithT(t, condition, within, 5*time.Millisecond)
}

func TestBeforeTheFirstReadEveryQuestionFails(t *testing.T) {
	s := newServer(t, says("a", "first"))
	s.fail(errors.New("no route to host"))
	l := start(t, s)
	chain := interpreter.NewChain(l)
	eventually(t, func(c *assert.CollectT) { assert.ErrorContains(c, l.Ready(), "no route to host") })
	for _, op := range interpreter.Operations() {
		req := &interpreter.Request{Operation: op, Object: widget(), Observed: widget(), Replicas: new(int32)}
		_, err := chain.Interpret(t.Context(), req)
		require.ErrorIs(t, err, interpreter.ErrNotReady, op)
		require.ErrorContains(t, err, "not ready: resourceinterpretercustomizations have not been read yet: no route to host", op)
		assert.False(t, interpreter.IsNoRule(err))
	}
	assert.Empty(t, l.Entries())
	require.ErrorIs(t, l.Ready(), interpreter.ErrNotReady)
	_, err := l.Customizations(t.Context())
	require.ErrorIs(t, err, interpreter.ErrNotReady)
	brief, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	err = l.Wait(brief)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, interpreter.ErrNotReady)

	s.heal()
	becomes(t, ready(t, l), "first")
	require.NoError(t, l.Ready())
	assert.Len(t, l.Entries(), 1)
	stored, err := l.Customizations(t.Context())
	require.NoError(t, err)
	assert.Len(t, stored, 1)
}

func TestBeforeRunEveryQuestionFails(t *testing.T) {
	rules, err := declarative.New(nil)
	require.NoError(t, err)
	l, err := live.New(newServer(t), rules)
	require.NoError(t, err)
	_, err = interpreter.Dependencies(t.Context(), interpreter.NewChain(l), widget())
	require.ErrorIs(t, err, interpreter.ErrNotReady)
}

func TestNoObjectsAreAnAnswer(t *testing.T) {
	chain := ready(t, start(t, newServer(t)))
	assert.Equal(t, "nobody", by(chain))
}

func TestChangesAreInForceWithinASecond(t *testing.T) {
	s := newServer(t)
	l := start(t, s)
	chain := ready(t, l)
	for i, step := range []struct {
		change func()
		want   string
	}{
		{func() { s.create(says("a", "one")) }, "one"},
		{func() { s.update(says("a", "two")) }, "two"},
		{func() {
			require.NoError(t, s.Resource(customizations).Delete(t.Context(), "a", metav1.DeleteOptions{}))
		}, "nobody"},
	} {
		step.change()
		changed := time.Now()
		becomes(t, chain, step.want)
		assert.Less(t, time.Since(changed), time.Second, "step %d", i)
	}
}

func TestManyChangesDisturbNoCaller(t *testing.T) {
	const callers, changes = 64, 20
	s := newServer(t, says("a", "0"))
	l := start(t, s)
	chain := ready(t, l)
	stop := make(chan struct{})
	var calls sync.WaitGroup
	wrong := make([]string, callers)
	for i := range callers {
		calls.Go(func() {
			// All callers together leave time for the changes.
			for paced := time.Tick(10 * time.Millisecond); ; <-paced {
				select {
				case <-stop:
					return
				default:
				}
				if answer := by(chain); strings.Trim(answer, "0123456789") != "" {
					wrong[i] = answer
				}
			}
		})
	}
	for i := range changes {
		s.update(says("a", fmt.Sprint(i)))
		s.create(says(fmt.Sprintf("b%d", i), "second"))
		becomes(t, chain, fmt.Sprint(i))
	}
	close(stop)
	calls.Wait()
	assert.Equal(t, make([]string, callers), wrong)
}

func TestALostWatchKeepsTheLastGoodState(t *testing.T) {
	s := newServer(t, says("a", "before"))
	registry := prometheus.NewRegistry()
	l := start(t, s, follow.WithRegisterer(registry), follow.WithPatience(0))
	chain := ready(t, l)
	assert.InDelta(t, 1, gauge(t, registry, "interpret_configuration_in_step"), 0)

	s.fail(errors.New("connection refused"))
	eventually(t, func(c *assert.CollectT) {
		assert.ErrorContains(c, l.Ready(), "resourceinterpretercustomizations have not been read for 0s, and are as they were then: connection refused")
	})
	assert.Equal(t, "before", by(chain))
	assert.NotErrorIs(t, l.Ready(), interpreter.ErrNotReady, "there is an answer")
	eventually(t, func(c *assert.CollectT) {
		assert.InDelta(c, 0, gauge(t, registry, "interpret_configuration_in_step"), 0)
		assert.Positive(c, gauge(t, registry, "interpret_configuration_read_failures_total"))
	})

	s.update(says("a", "after"))
	s.heal()
	becomes(t, chain, "after")
	require.NoError(t, l.Ready())
	assert.InDelta(t, 1, gauge(t, registry, "interpret_configuration_in_step"), 0)
}

func TestAWatchThatEndsInAnErrorIsALostOne(t *testing.T) {
	s := newServer(t, says("a", "before"))
	registry := prometheus.NewRegistry()
	l := start(t, s, follow.WithRegisterer(registry), follow.WithPatience(0))
	chain := ready(t, l)
	eventually(t, func(c *assert.CollectT) { assert.True(c, s.expire()) })
	eventually(t, func(c *assert.CollectT) {
		assert.InDelta(c, 1, gauge(t, registry, "interpret_configuration_read_failures_total"), 0)
	})
	s.update(says("a", "after"))
	becomes(t, chain, "after")
	require.NoError(t, l.Ready())
}

func TestReadinessIsPatient(t *testing.T) {
	s := newServer(t)
	registry := prometheus.NewRegistry()
	l := start(t, s, follow.WithRegisterer(registry), follow.WithPatience(time.Hour))
	ready(t, l)
	s.fail(errors.New("connection refused"))
	eventually(t, func(c *assert.CollectT) {
		assert.InDelta(c, 0, gauge(t, registry, "interpret_configuration_in_step"), 0)
	})
	require.NoError(t, l.Ready())
}

// gauge is a metric of customizations, or the one of the given state.
func gauge(t testing.TB, g prometheus.Gatherer, name string, state ...string) float64 {
	t.Helper()
	families, err := g.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["resource"] == live.Resource && (len(state) == 0 || labels["state"] == state[0]) {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return -1
}

func TestABrokenObjectIsReportedAndDisturbsNoOther(t *testing.T) {
	s := newServer(t, says("b", "b answers"))
	registry := prometheus.NewRegistry()
	var log lockedBuffer
	l := start(t, s, follow.WithRegisterer(registry), follow.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	chain := ready(t, l)

	s.create(custom("a", "function ReflectStatus(o"))
	const broken = `default Invalid a: a/statusReflection:1: syntax error at the end of the script`
	eventually(t, func(c *assert.CollectT) { assert.Equal(c, []string{broken}, s.events()) })
	assert.Equal(t, "b answers", by(chain))
	assert.InDelta(t, 1, gauge(t, registry, "interpret_configuration_objects", "invalid"), 0)
	assert.InDelta(t, 1, gauge(t, registry, "interpret_configuration_objects", "valid"), 0)
	assert.Contains(t, log.String(), "level=WARN msg=\"a problem with an object\" resource=resourceinterpretercustomizations name=a reason=Invalid")
	require.NoError(t, l.Ready(), "who writes a broken object must not make everybody unready")

	s.update(says("a", "a answers"))
	becomes(t, chain, "a answers")
	eventually(t, func(c *assert.CollectT) {
		assert.InDelta(c, 0, gauge(t, registry, "interpret_configuration_objects", "invalid"), 0)
		assert.Contains(c, log.String(), "nothing is wrong any more")
	})

	s.update(custom("a", "function ReflectStatus(o"))
	eventually(t, func(c *assert.CollectT) {
		assert.Contains(c, s.events(), broken+"; the last good version stays in force")
	})
	assert.Equal(t, "a answers", by(chain))
}

func TestAnObjectOfAnotherShapeDisturbsNoOther(t *testing.T) {
	shapeless := says("a", "nobody")
	shapeless.Object["spec"] = "what the CRD of another version may allow"
	s := newServer(t, shapeless, says("b", "b answers"))
	l := start(t, s)
	chain := ready(t, l)
	assert.Equal(t, "b answers", by(chain))
	eventually(t, func(c *assert.CollectT) {
		said := s.events()
		if assert.Len(c, said, 1) {
			assert.Contains(c, said[0], "Invalid a: the object has not the shape of a ResourceInterpreterCustomization")
		}
	})

	s.update(says("a", "a answers"))
	becomes(t, chain, "a answers")
	s.update(shapeless)
	eventually(t, func(c *assert.CollectT) { assert.Len(c, s.events(), 2) })
	assert.Equal(t, "a answers", by(chain))
}

func TestARuleThatNeverAnswersIsReported(t *testing.T) {
	s := newServer(t, says("a", "a answers"), says("b", "b answers"))
	ready(t, start(t, s))
	eventually(t, func(c *assert.CollectT) {
		assert.Equal(c, []string{`default Conflict b: InterpretStatus of demo.io/v1 Widget: customizations "a" and "b" both have a rule; "a" answers, being first by name`}, s.events())
	})
}

func TestWithoutEventsNoneAreMade(t *testing.T) {
	s := newServer(t, custom("a", "function"))
	registry := prometheus.NewRegistry()
	ready(t, start(t, s, follow.WithoutEvents(), follow.WithRegisterer(registry)))
	eventually(t, func(c *assert.CollectT) {
		assert.InDelta(c, 1, gauge(t, registry, "interpret_configuration_objects", "invalid"), 0)
	})
	assert.Empty(t, s.events())
}

func TestCallersLearnOfChanges(t *testing.T) {
	s := newServer(t, says("a", "one"))
	rules, err := declarative.New(nil)
	require.NoError(t, err)
	l, err := live.New(s, rules)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	changes := l.Changes(ctx)
	chain := interpreter.NewChain(l)
	run(t, l)
	await(t, changes)
	assert.Equal(t, "one", by(chain))
	s.update(says("a", "two"))
	for by(chain) != "two" {
		await(t, changes)
	}
	cancel()
	eventually(t, func(c *assert.CollectT) {
		select {
		case _, open := <-changes:
			assert.False(c, open)
		default:
			assert.Fail(c, "still open")
		}
	})
}

func await(t testing.TB, changes <-chan struct{}) {
	t.Helper()
	select {
	case _, open := <-changes:
		require.True(t, open)
	case <-time.After(within):
		require.Fail(t, "no change")
	}
}

func TestALayerRunsOnce(t *testing.T) {
	s := newServer(t, says("a", "stays"))
	rules, err := declarative.New(nil)
	require.NoError(t, err)
	l, err := live.New(s, rules, follow.WithPatience(0))
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	chain := ready(t, l)
	stop()
	require.NoError(t, <-ended)
	require.ErrorContains(t, l.Run(t.Context()), "runs once")
	assert.Equal(t, "stays", by(chain))
	require.ErrorContains(t, l.Ready(), "following has ended")
}

func TestOptionsAreChecked(t *testing.T) {
	rules, err := declarative.New(nil)
	require.NoError(t, err)
	_, err = live.New(nil, rules)
	require.ErrorContains(t, err, "the client is nil")
	_, err = live.New(newServer(t), nil)
	require.ErrorContains(t, err, "the layer is nil")
	_, err = live.New(newServer(t), rules, follow.WithPatience(-1))
	require.ErrorContains(t, err, "patience must not be negative")
}

func TestLayersMayShareARegisterer(t *testing.T) {
	registry := prometheus.NewRegistry()
	for range 2 {
		ready(t, start(t, newServer(t), follow.WithRegisterer(registry)))
	}
	eventually(t, func(c *assert.CollectT) {
		assert.InDelta(c, 2, gauge(t, registry, "interpret_configuration_changes_total"), 0)
	})
}

// lockedBuffer is a buffer that a log may be written to while a test reads it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
