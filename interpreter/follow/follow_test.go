package follow_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/follow"
)

func TestMain(m *testing.M) {
	// One of them makes whoever has an error wait since the last one, by a clock that all tests would share.
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}

var (
	notes  = schema.GroupVersionResource{Group: "demo.io", Version: "v1", Resource: "notes"}
	events = corev1.SchemeGroupVersion.WithResource("events")
)

// note is what is followed in these tests.
type note struct {
	metav1.ObjectMeta `json:"metadata"`
	Text              string `json:"text"`
}

// broken is the text of a note that cannot be put in force.
const broken = "broken"

func newNote(name string, uid types.UID, text any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "demo.io/v1", "kind": "Note", "text": text}}
	o.SetName(name)
	o.SetUID(uid)
	return o
}

// server is an API server that can be out of order.
type server struct {
	*dynamicfake.FakeDynamicClient
	t       testing.TB
	broken  atomic.Pointer[error]
	mu      sync.Mutex
	watches []watch.Interface
	// asked is how the notes were listed, and when.
	asked []list
}

type list struct {
	how  string
	when time.Time
}

func newServer(t testing.TB, objects ...runtime.Object) *server {
	s := &server{t: t, FakeDynamicClient: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{notes: "NoteList", events: "EventList"}, objects...)}
	s.PrependReactor("list", notes.Resource, func(a clienttesting.Action) (bool, runtime.Object, error) {
		r := a.(clienttesting.ListAction).GetListRestrictions()
		s.mu.Lock()
		s.asked = append(s.asked, list{fmt.Sprintf("in %q with labels %q and fields %q", a.GetNamespace(), r.Labels, r.Fields), time.Now()})
		s.mu.Unlock()
		err := s.err()
		return err != nil, nil, err
	})
	s.PrependWatchReactor(notes.Resource, func(a clienttesting.Action) (bool, watch.Interface, error) {
		if err := s.err(); err != nil {
			return true, nil, err
		}
		w, err := s.Tracker().Watch(notes, a.GetNamespace())
		s.mu.Lock()
		defer s.mu.Unlock()
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
func (s *server) fail(text string) {
	err := errors.New(text)
	s.broken.Store(&err)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watches {
		w.Stop()
	}
	s.watches = nil
}

// lists is how the notes were listed, and when.
func (s *server) lists() []list {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func (s *server) heal() { s.broken.Store(nil) }

func (s *server) create(o *unstructured.Unstructured) {
	_, err := s.Resource(notes).Create(s.t.Context(), o, metav1.CreateOptions{})
	require.NoError(s.t, err)
}

func (s *server) update(o *unstructured.Unstructured) {
	_, err := s.Resource(notes).Update(s.t.Context(), o, metav1.UpdateOptions{})
	require.NoError(s.t, err)
}

func (s *server) remove(name string) {
	require.NoError(s.t, s.Resource(notes).Delete(s.t.Context(), name, metav1.DeleteOptions{}))
}

// said are the events, as "namespace reason name: message".
func (s *server) said() []string {
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

// board is where notes are in force. Its methods are for one goroutine at a time, as Replace is.
type board struct {
	mu    sync.Mutex
	notes map[string]*note
	// replaced is how often others were put there.
	replaced int
}

func (b *board) replace(list []*note) []follow.Problem {
	b.mu.Lock()
	defer b.mu.Unlock()
	fresh := map[string]*note{}
	var problems []follow.Problem
	for _, n := range list {
		switch n.Text {
		case broken:
			problems = append(problems, follow.Problem{Name: n.Name, Reason: follow.ReasonInvalid, Message: "the text is broken", Broken: true})
			if last := b.notes[n.Name]; last != nil && last.UID == n.UID {
				fresh[n.Name] = last
			}
			continue
		case "odd":
			problems = append(problems, follow.Problem{Name: n.Name, Reason: "Odd", Message: strings.Repeat("odd ", 500)})
		}
		fresh[n.Name] = n
	}
	b.notes = fresh
	b.replaced++
	return problems
}

// String is what is in force.
func (b *board) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []string
	for name, n := range b.notes {
		list = append(list, name+"="+n.Text)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func (b *board) source() follow.Source[note] {
	return follow.Source[note]{Resource: notes, Replace: b.replace}
}

// following runs a test in which time passes when nothing else happens, beside a follower of a server.
func following(t *testing.T, s func(t testing.TB) *server, options []follow.Option, test func(t *testing.T, s *server, b *board, f *follow.Follower)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server, b := s(t), &board{}
		f, err := follow.New(server, b.source(), options...)
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() { assert.NoError(t, f.Run(ctx)) })
		synctest.Wait()
		test(t, server, b, f)
		stop()
		done.Wait()
	})
}

func having(objects ...*unstructured.Unstructured) func(testing.TB) *server {
	return func(t testing.TB) *server {
		s := newServer(t)
		for _, o := range objects {
			s.create(o)
		}
		return s
	}
}

// settled lets pass the time after which a change is in force.
func settled() {
	time.Sleep(50 * time.Millisecond)
	synctest.Wait()
}

func TestObjectsAreFollowed(t *testing.T) {
	following(t, having(newNote("a", "1", "one")), nil, func(t *testing.T, s *server, b *board, f *follow.Follower) {
		require.NoError(t, f.Wait(t.Context()))
		require.NoError(t, f.Unread())
		require.NoError(t, f.Tried(t.Context()))
		require.NoError(t, f.Ready())
		assert.Equal(t, "a=one", b.String())
		// Changes that come together are put in force together, soon.
		s.update(newNote("a", "1", "two"))
		time.Sleep(40 * time.Millisecond)
		s.create(newNote("b", "2", "three"))
		synctest.Wait()
		assert.Equal(t, "a=one", b.String())
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		assert.Equal(t, "a=two b=three", b.String())
		assert.Equal(t, 2, b.replaced)
		s.remove("a")
		settled()
		assert.Equal(t, "b=three", b.String())
		require.EqualError(t, f.Run(t.Context()), "what follows a resource runs once")
	})
}

func TestNoObjectsAreRead(t *testing.T) {
	following(t, having(), nil, func(t *testing.T, _ *server, b *board, f *follow.Follower) {
		require.NoError(t, f.Wait(t.Context()))
		assert.Equal(t, 1, b.replaced)
		assert.Empty(t, b.String())
	})
}

func TestSomeObjectsOfAResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := newServer(t), &board{}
		mine := newNote("a", "1", "one")
		mine.SetNamespace("here")
		_, err := s.Resource(notes).Namespace("here").Create(t.Context(), mine, metav1.CreateOptions{})
		require.NoError(t, err)
		source := b.source()
		source.Namespace, source.LabelSelector, source.FieldSelector = "here", "a!=b", "metadata.name=a"
		f, err := follow.New(s, source)
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() { assert.NoError(t, f.Run(ctx)) })
		synctest.Wait()
		assert.Equal(t, "a=one", b.String())
		if lists := s.lists(); assert.Len(t, lists, 1) {
			assert.Equal(t, `in "here" with labels "a!=b" and fields "metadata.name=a"`, lists[0].how)
		}
		stop()
		done.Wait()
	})
}

func TestBeforeTheFirstRead(t *testing.T) {
	unreachable := func(t testing.TB) *server {
		s := newServer(t, newNote("a", "1", "one"))
		s.fail("no route to host")
		return s
	}
	following(t, unreachable, nil, func(t *testing.T, s *server, b *board, f *follow.Follower) {
		const says = "not ready: notes have not been read yet: no route to host"
		require.ErrorIs(t, f.Unread(), interpreter.ErrNotReady)
		require.EqualError(t, f.Unread(), says)
		require.EqualError(t, f.Ready(), says)
		require.EqualError(t, f.Tried(t.Context()), "no route to host")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := f.Wait(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, interpreter.ErrNotReady)
		assert.Zero(t, b.replaced)
		// The server is asked again and again, and not too often.
		lists := s.lists()
		assert.InDelta(t, 60, len(lists), 25)
		for i := 1; i < len(lists); i++ {
			assert.LessOrEqual(t, lists[i].when.Sub(lists[i-1].when), 1500*time.Millisecond)
		}
		s.heal()
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		require.NoError(t, f.Ready())
		assert.Equal(t, "a=one", b.String())
	})
}

func TestBeforeRun(t *testing.T) {
	f, err := follow.New(newServer(t), (&board{}).source())
	require.NoError(t, err)
	require.EqualError(t, f.Ready(), "not ready: notes have not been read yet: nobody has tried")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, f.Tried(ctx), context.Canceled)
	require.ErrorIs(t, f.Wait(ctx), context.Canceled)
}

func TestALostServerLeavesTheLastGoodState(t *testing.T) {
	registry := prometheus.NewRegistry()
	var log buffer
	options := []follow.Option{follow.WithRegisterer(registry), follow.WithPatience(time.Minute), follow.WithLogger(slog.New(slog.NewTextHandler(&log, nil)))}
	following(t, having(newNote("a", "1", "before")), options, func(t *testing.T, s *server, b *board, f *follow.Follower) {
		assert.Equal(t, map[string]float64{"in_step": 1, "objects invalid": 0, "objects valid": 1, "changes_total": 1, "read_failures_total": 0}, metrics(t, registry))
		s.fail("connection refused")
		time.Sleep(59 * time.Second)
		synctest.Wait()
		// A probe bears it for a while.
		require.NoError(t, f.Ready())
		assert.Equal(t, "a=before", b.String())
		now := metrics(t, registry)
		assert.Zero(t, now["in_step"])
		assert.Greater(t, now["read_failures_total"], 20.0)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.EqualError(t, f.Ready(), "notes have not been read for 1m1s, and are as they were then: connection refused")
		require.NotErrorIs(t, f.Ready(), interpreter.ErrNotReady, "there is something to answer from")
		require.NoError(t, f.Unread())
		assert.Equal(t, 1, strings.Count(log.String(), "the server cannot be read, the last good state stays in force"))

		s.update(newNote("a", "1", "after"))
		s.heal()
		time.Sleep(1500 * time.Millisecond)
		settled()
		require.NoError(t, f.Ready())
		assert.Equal(t, "a=after", b.String())
		assert.InDelta(t, 1, metrics(t, registry)["in_step"], 0)
		assert.Contains(t, log.String(), "the server can be read again")
	})
}

// A server that has forgotten the past says so in a watch that had begun well.
func TestAWatchThatEndsInAnErrorIsALostOne(t *testing.T) {
	registry := prometheus.NewRegistry()
	following(t, having(newNote("a", "1", "before")), []follow.Option{follow.WithRegisterer(registry)}, func(t *testing.T, s *server, b *board, _ *follow.Follower) {
		s.mu.Lock()
		for _, w := range s.watches {
			w.(*watch.RaceFreeFakeWatcher).Error(&metav1.Status{Status: metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonExpired})
		}
		s.mu.Unlock()
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		assert.InDelta(t, 1, metrics(t, registry)["read_failures_total"], 0)
		assert.InDelta(t, 1, metrics(t, registry)["in_step"], 0)
		s.update(newNote("a", "1", "after"))
		settled()
		assert.Equal(t, "a=after", b.String())
	})
}

func TestABrokenObjectDisturbsNoOther(t *testing.T) {
	registry := prometheus.NewRegistry()
	var log buffer
	options := []follow.Option{follow.WithRegisterer(registry), follow.WithLogger(slog.New(slog.NewTextHandler(&log, nil)))}
	following(t, having(newNote("a", "1", "one"), newNote("b", "2", broken)), options, func(t *testing.T, s *server, b *board, f *follow.Follower) {
		const invalid = "default Invalid b: the text is broken"
		assert.Equal(t, "a=one", b.String())
		require.NoError(t, f.Ready(), "who writes a broken object must not make everybody unready")
		assert.Equal(t, []string{invalid}, s.said())
		assert.InDelta(t, 1, metrics(t, registry)["objects invalid"], 0)
		assert.InDelta(t, 1, metrics(t, registry)["objects valid"], 0)
		// What has been said is not said again when something else changes.
		s.update(newNote("a", "1", "two"))
		settled()
		assert.Equal(t, "a=two", b.String())
		assert.Len(t, s.said(), 1)
		assert.Equal(t, 1, strings.Count(log.String(), "a problem with an object"))

		s.update(newNote("b", "2", "good"))
		settled()
		assert.Equal(t, "a=two b=good", b.String())
		assert.InDelta(t, 0, metrics(t, registry)["objects invalid"], 0)
		assert.Contains(t, log.String(), "nothing is wrong any more")
		s.update(newNote("b", "2", broken))
		settled()
		assert.Equal(t, "a=two b=good", b.String())
		assert.ElementsMatch(t, []string{invalid, invalid + "; the last good version stays in force"}, s.said())
	})
}

func TestAnObjectOfAnotherShape(t *testing.T) {
	following(t, having(newNote("a", "1", "one"), newNote("b", "2", []any{})), nil, func(t *testing.T, s *server, b *board, _ *follow.Follower) {
		assert.Equal(t, "a=one", b.String())
		if said := s.said(); assert.Len(t, said, 1) {
			assert.Contains(t, said[0], "default Invalid b: the object has not the shape of a Note: ")
		}
		s.update(newNote("a", "1", map[string]any{}))
		settled()
		assert.Equal(t, "a=one", b.String())
		if said := s.said(); assert.Len(t, said, 2) {
			assert.Contains(t, strings.Join(said, "\n"), "; the last good version stays in force")
		}
	})
}

// Another object of the same name is another object, also if nobody has seen that there was none in between.
func TestAnObjectMadeAnewHasNoLastGoodVersion(t *testing.T) {
	for name, text := range map[string]any{"broken": broken, "of another shape": int64(1)} {
		t.Run(name, func(t *testing.T) {
			following(t, having(newNote("a", "1", "one"), newNote("b", "2", "two")), nil, func(t *testing.T, s *server, b *board, _ *follow.Follower) {
				assert.Equal(t, "a=one b=two", b.String())
				s.remove("a")
				s.create(newNote("a", "3", text))
				settled()
				assert.Equal(t, 2, b.replaced)
				assert.Equal(t, "b=two", b.String())
				if said := s.said(); assert.Len(t, said, 1) {
					assert.NotContains(t, said[0], "last good version")
				}
				s.update(newNote("a", "3", "three"))
				settled()
				s.update(newNote("a", "3", text))
				settled()
				assert.Equal(t, "a=three b=two", b.String())
				assert.Contains(t, strings.Join(s.said(), "\n"), "the last good version stays in force")
			})
		})
	}
}

func TestEventsAreOfALengthThatServersTake(t *testing.T) {
	following(t, having(newNote("a", "1", "odd")), nil, func(t *testing.T, s *server, b *board, _ *follow.Follower) {
		assert.Equal(t, "a=odd", b.String(), "it is in force all the same")
		if said := s.said(); assert.Len(t, said, 1) {
			message, ok := strings.CutPrefix(said[0], "default Odd a: ")
			assert.True(t, ok)
			assert.Len(t, message, 1024)
			assert.True(t, strings.HasSuffix(message, "odd o..."))
		}
	})
}

func TestWithoutEventsNoneAreMade(t *testing.T) {
	following(t, having(newNote("a", "1", broken)), []follow.Option{follow.WithoutEvents()}, func(t *testing.T, s *server, b *board, _ *follow.Follower) {
		assert.Equal(t, 1, b.replaced)
		assert.Empty(t, s.said())
	})
}

// What an object is made into is up to the source, and is made once for each version.
func TestDecode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := newServer(t), &board{}
		first, second := newNote("a", "1", "one"), newNote("b", "2", "two")
		first.SetResourceVersion("1")
		second.SetResourceVersion("2")
		s.create(first)
		s.create(second)
		decoded := map[string]int{}
		source := b.source()
		source.Decode = func(o *unstructured.Unstructured) (*note, error) {
			decoded[o.GetName()]++
			if o.GetName() == "b" {
				return nil, errors.New("nobody can read this")
			}
			return &note{ObjectMeta: metav1.ObjectMeta{Name: o.GetName()}, Text: "short"}, nil
		}
		f, err := follow.New(s, source)
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() { assert.NoError(t, f.Run(ctx)) })
		synctest.Wait()
		assert.Equal(t, "a=short", b.String())
		assert.Equal(t, []string{"default Invalid b: nobody can read this"}, s.said())
		// Reading all again changes nothing.
		s.fail("connection refused")
		time.Sleep(time.Second)
		s.heal()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		assert.Greater(t, len(s.lists()), 1)
		assert.Equal(t, map[string]int{"a": 1, "b": 1}, decoded)
		stop()
		done.Wait()
	})
}

func TestSubscribers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := newServer(t, newNote("a", "1", "one")), &board{}
		f, err := follow.New(s, b.source())
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		brief, leave := context.WithCancel(t.Context())
		stays, leaves := f.Changes(ctx), f.Changes(brief)
		var done sync.WaitGroup
		done.Go(func() { assert.NoError(t, f.Run(ctx)) })
		synctest.Wait()
		assert.Len(t, stays, 1, "the first read is a change")
		<-leaves
		leave()
		synctest.Wait()
		_, open := <-leaves
		assert.False(t, open)
		// Who does not look gets one signal for many changes.
		for _, text := range []string{"two", "three"} {
			s.update(newNote("a", "1", text))
			settled()
		}
		assert.Equal(t, 3, b.replaced)
		<-stays
		assert.Empty(t, stays)
		s.update(newNote("a", "1", "four"))
		settled()
		<-stays
		assert.Equal(t, "a=four", b.String())
		stop()
		done.Wait()
		synctest.Wait()
		_, open = <-stays
		assert.False(t, open)
	})
}

func TestTheEndOfTheContext(t *testing.T) {
	registry := prometheus.NewRegistry()
	synctest.Test(t, func(t *testing.T) {
		s, b := newServer(t, newNote("a", "1", "one")), &board{}
		f, err := follow.New(s, b.source(), follow.WithPatience(0), follow.WithRegisterer(registry))
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() { assert.NoError(t, f.Run(ctx)) })
		synctest.Wait()
		// Also in the moment in which a change settles.
		s.update(newNote("a", "1", "two"))
		stop()
		done.Wait()
		assert.Equal(t, "a=one", b.String())
		require.EqualError(t, f.Ready(), "notes have not been read for 0s, and are as they were then: following has ended")
		require.NoError(t, f.Unread())
		assert.Zero(t, metrics(t, registry)["in_step"])
		s.update(newNote("a", "1", "three"))
		settled()
		assert.Equal(t, 1, b.replaced)
		require.EqualError(t, f.Run(t.Context()), "what follows a resource runs once")
	})
}

func TestOptionsAreChecked(t *testing.T) {
	_, err := follow.New(nil, (&board{}).source())
	require.EqualError(t, err, "the client is nil")
	_, err = follow.New(newServer(t), (&board{}).source(), follow.WithPatience(-time.Second))
	require.EqualError(t, err, "patience must not be negative, got -1s")
	registry := prometheus.NewRegistry()
	require.NoError(t, registry.Register(prometheus.NewGauge(prometheus.GaugeOpts{Name: "interpret_configuration_in_step", Help: "somebody else's"})))
	_, err = follow.New(newServer(t), (&board{}).source(), follow.WithRegisterer(registry))
	require.ErrorContains(t, err, "interpret_configuration_in_step")
}

// Two that follow the same resource count together.
func TestFollowersShareARegisterer(t *testing.T) {
	registry := prometheus.NewRegistry()
	for range 2 {
		following(t, having(), []follow.Option{follow.WithRegisterer(registry)}, func(*testing.T, *server, *board, *follow.Follower) {})
	}
	assert.InDelta(t, 2, metrics(t, registry)["changes_total"], 0)
	require.Equal(t, 5, testutil.CollectAndCount(registry))
}

func TestSplit(t *testing.T) {
	a, b, c := errors.New("a"), errors.New("b"), errors.New("c")
	assert.Equal(t, []error{a, b, c}, follow.Split(errors.Join(a, errors.Join(b, errors.Join(c)))))
	assert.Equal(t, []error{a}, follow.Split(a))
	assert.Empty(t, follow.Split(nil))
}

// metrics are those of the notes.
func metrics(t testing.TB, g prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	require.NoError(t, err)
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := strings.TrimPrefix(f.GetName(), "interpret_configuration_")
			for _, l := range m.GetLabel() {
				if l.GetName() == "state" {
					name += " " + l.GetValue()
				} else {
					assert.Equal(t, "notes", l.GetValue())
				}
			}
			values[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return values
}

// buffer may be read while it is written to.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
