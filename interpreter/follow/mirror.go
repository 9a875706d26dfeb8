package follow

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

// How long to wait before the server is tried again: soon at first, and never so long that a change made
// after an outage is late by more than it takes people to notice that the server is back.
var retries = wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 4, Cap: time.Second}

// object is an object as it was read. Its contents are never changed; a new version is a new object.
type object = *unstructured.Unstructured

// item is what is kept of an object.
type item struct {
	object // without its content
	// value is the last version that could be decoded, nil if there was none; err is about the present one.
	value any
	err   error
}

// mirror holds the objects as they are on the server; it is the store of a reflector.
type mirror struct {
	changed chan struct{}
	decode  func(object) (any, error)
	mu      sync.Mutex
	byName  map[string]*item
}

func newMirror(decode func(object) (any, error)) *mirror {
	return &mirror{changed: make(chan struct{}, 1), decode: decode, byName: map[string]*item{}}
}

func (m *mirror) items() []*item {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]*item, 0, len(m.byName))
	for _, it := range m.byName {
		list = append(list, it)
	}
	return list
}

// Add is called for a new object.
func (m *mirror) Add(o any) error { return m.set(o, true) }

// Update is called for a new version of an object.
func (m *mirror) Update(o any) error { return m.set(o, true) }

// Delete is called for an object that is gone.
func (m *mirror) Delete(o any) error { return m.set(o, false) }

func (m *mirror) set(v any, there bool) error {
	o, ok := v.(object)
	if !ok {
		return fmt.Errorf("not an object: %T", v)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if there {
		m.byName[o.GetName()] = m.item(o)
	} else {
		delete(m.byName, o.GetName())
	}
	signal(m.changed)
	return nil
}

// Replace is called with all objects, first of all and whenever the watch could not go on where it was.
func (m *mirror) Replace(list []any, _ string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	byName := make(map[string]*item, len(list))
	for _, v := range list {
		o, ok := v.(object)
		if !ok {
			return fmt.Errorf("not an object: %T", v)
		}
		byName[o.GetName()] = m.item(o)
	}
	m.byName = byName
	signal(m.changed)
	return nil
}

// item decodes an object, unless it is the version that is there.
func (m *mirror) item(o object) *item {
	last := m.byName[o.GetName()]
	same := last != nil && last.GetUID() == o.GetUID()
	if version := o.GetResourceVersion(); same && version != "" && version == last.GetResourceVersion() {
		return last
	}
	it := &item{object: withoutContent(o)}
	it.value, it.err = m.decode(o)
	if it.err != nil {
		it.value = nil
		if same {
			it.value = last.value
		}
	}
	return it
}

// withoutContent is what messages about an object need of it.
func withoutContent(o object) object {
	bare := &unstructured.Unstructured{Object: map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind()}}
	bare.SetNamespace(o.GetNamespace())
	bare.SetName(o.GetName())
	bare.SetUID(o.GetUID())
	bare.SetResourceVersion(o.GetResourceVersion())
	bare.SetGeneration(o.GetGeneration())
	return bare
}

// Resync has nothing to do: what is in force is what was read.
func (m *mirror) Resync() error { return nil }

// reflect keeps a mirror in step until the context ends.
func (f *Follower) reflect(ctx context.Context, m *mirror) {
	var resource dynamic.ResourceInterface = f.client.Resource(f.resource)
	if f.namespace != "" {
		resource = f.client.Resource(f.resource).Namespace(f.namespace)
	}
	lw := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector, o.FieldSelector = f.labels, f.fields
			list, err := resource.List(ctx, o)
			f.tried(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector, o.FieldSelector = f.labels, f.fields
			w, err := resource.Watch(ctx, o)
			f.tried(ctx, err)
			if err != nil {
				return nil, err
			}
			// A server that has forgotten the past says so in a watch that had begun well.
			return newNoticing(w, func(status runtime.Object) { f.tried(ctx, apierrors.FromObject(status)) }), nil
		},
	}, f.client)
	logger := logr.FromSlogHandler(f.logger.Handler())
	backoff := retries
	r := cache.NewReflectorWithOptions(lw, &unstructured.Unstructured{}, m, cache.ReflectorOptions{
		Logger:          &logger,
		Name:            "interpret",
		TypeDescription: f.resource.Resource,
		Backoff:         &backoff,
	})
	r.RunWithContext(logr.NewContext(ctx, logger))
}

// noticing is a watch of which errors are noticed. Unlike watch.Filter it ends when it is stopped, also if there is an
// event that nobody takes.
type noticing struct {
	watch.Interface
	events chan watch.Event
	done   chan struct{}
	stop   sync.Once
}

func newNoticing(inner watch.Interface, notice func(status runtime.Object)) *noticing {
	n := &noticing{Interface: inner, events: make(chan watch.Event), done: make(chan struct{})}
	go func() {
		defer close(n.events)
		for e := range inner.ResultChan() {
			if e.Type == watch.Error {
				notice(e.Object)
			}
			select {
			case n.events <- e:
			case <-n.done:
				return
			}
		}
	}()
	return n
}

// ResultChan gives the events.
func (n *noticing) ResultChan() <-chan watch.Event { return n.events }

// Stop ends the watch.
func (n *noticing) Stop() {
	n.stop.Do(func() { close(n.done) })
	n.Interface.Stop()
}

// tried keeps account of whether the server could be read.
func (f *Follower) tried(ctx context.Context, err error) {
	switch {
	case err == nil:
		if out, found := f.contact.find(time.Now()); found && f.isRead.Load() {
			f.logger.Info("the server can be read again", "resource", f.resource.Resource, "after", out)
		}
		f.metrics.inStep(true)
	case ctx.Err() == nil:
		if f.contact.lose(err, time.Now()) && f.isRead.Load() {
			f.logger.Warn("the server cannot be read, the last good state stays in force", "resource", f.resource.Resource, "error", err)
		}
		f.metrics.failure()
		f.metrics.inStep(false)
	default:
		return
	}
	f.askedOnce.Do(func() { close(f.asked) })
}

// contact is whether the server can be read.
type contact struct {
	mu    sync.Mutex
	err   error // nil if it can
	since time.Time
}

// lose notes why the server cannot be read, and says whether it could before.
func (c *contact) lose(err error, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	could := c.err == nil
	if could {
		c.since = now
	}
	c.err = err
	return could
}

// find notes that the server can be read. It says whether it could not before, and for how long.
func (c *contact) find(now time.Time) (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	could := c.err == nil
	c.err = nil
	return now.Sub(c.since), !could
}

// lost is since when and why the server cannot be read; the error is nil if it can.
func (c *contact) lost() (time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.since, c.err
}
