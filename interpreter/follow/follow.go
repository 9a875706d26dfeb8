package follow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kubeinterpret/interpret/interpreter"
)

const (
	// DefaultPatience is for how long Ready bears that the server cannot be read. An API server that is
	// restarted is back within seconds, and answers from the last good state are right as long as nobody could
	// have changed it.
	DefaultPatience = 10 * time.Second
	// Changes that come within this time are put in force together: short beside the second in which a change
	// must be in force, long beside the time between the objects of one kubectl apply.
	settleTime = 50 * time.Millisecond
)

// Follower follows the objects of one resource on an API server. Run does the following.
type Follower struct {
	client   dynamic.Interface
	resource schema.GroupVersionResource
	// namespace, labels and fields say which of the resource's objects.
	namespace, labels, fields string
	// decode makes the value of an object.
	decode func(object) (any, error)
	// replace puts objects in force and gives what is wrong with them.
	replace func([]*item) []Problem

	logger     *slog.Logger
	registerer prometheus.Registerer
	metrics    *metrics
	events     bool
	patience   time.Duration

	running atomic.Bool
	// read is closed when the objects have been read and put in force for the first time.
	read   chan struct{}
	isRead atomic.Bool
	// asked is closed when the server has been asked once.
	asked     chan struct{}
	askedOnce sync.Once
	contact   contact

	mu          sync.Mutex
	subscribers map[chan struct{}]struct{}
}

// Source is what is followed, with the Go type of its objects.
type Source[T any] struct {
	Resource schema.GroupVersionResource
	// Namespace is where the objects are, empty if the resource is cluster-scoped.
	Namespace string
	// LabelSelector and FieldSelector choose among them, as lists do. Empty is all.
	LabelSelector, FieldSelector string
	// Decode makes what is kept of an object, which must not be changed; nothing else of it stays in memory, and an
	// object that has not changed is not decoded again. Nil decodes all of the object by its JSON fields.
	Decode func(*unstructured.Unstructured) (*T, error)
	// Replace puts objects in the place of the present ones, keeping the last good version of those that are
	// broken, and gives what is wrong with any of them. Objects are not in any order, and must not be changed.
	// One goroutine calls it.
	Replace func([]*T) []Problem
}

// Problem is something to tell the author of an object.
type Problem struct {
	// Name is the object's.
	Name string
	// Reason is a word in CamelCase for the kind of problem, as Events have it.
	Reason  string
	Message string
	// Broken says that this version of the object is not in force.
	Broken bool
}

// ReasonInvalid is the reason of a problem with an object that is not in force as it is.
const ReasonInvalid = "Invalid"

// Option changes a Follower that is being made.
type Option func(*Follower) error

// WithLogger has broken objects, and losing and finding the server, logged. Without it nothing is.
func WithLogger(l *slog.Logger) Option {
	return func(f *Follower) error {
		f.logger = l
		return nil
	}
}

// WithRegisterer registers metrics of what is followed. Without it nothing is counted. Followers that share a
// Registerer share the metrics, in which they differ by resource.
func WithRegisterer(r prometheus.Registerer) Option {
	return func(f *Follower) error {
		f.registerer = r
		return nil
	}
}

// WithoutEvents keeps Events about broken objects from being created, for accounts that may only read.
func WithoutEvents() Option {
	return func(f *Follower) error {
		f.events = false
		return nil
	}
}

// WithPatience sets for how long Ready bears that the server cannot be read, which may be not at all. Without
// it that is DefaultPatience.
func WithPatience(d time.Duration) Option {
	return func(f *Follower) error {
		if d < 0 {
			return fmt.Errorf("patience must not be negative, got %v", d)
		}
		f.patience = d
		return nil
	}
}

// New makes what follows a source. Nothing is read until Run.
func New[T any](client dynamic.Interface, source Source[T], options ...Option) (*Follower, error) {
	if client == nil {
		return nil, errors.New("the client is nil")
	}
	f := &Follower{
		client:      client,
		resource:    source.Resource,
		namespace:   source.Namespace,
		labels:      source.LabelSelector,
		fields:      source.FieldSelector,
		decode:      decoder(source.Decode),
		replace:     typed(source.Replace),
		logger:      slog.New(slog.DiscardHandler),
		events:      true,
		patience:    DefaultPatience,
		read:        make(chan struct{}),
		asked:       make(chan struct{}),
		subscribers: map[chan struct{}]struct{}{},
	}
	for _, o := range options {
		if err := o(f); err != nil {
			return nil, err
		}
	}
	f.contact.lose(errors.New("nobody has tried"), time.Now())
	var err error
	f.metrics, err = newMetrics(f.registerer, f.resource.Resource)
	return f, err
}

// Run reads and watches until the context ends; by then everything that it started has ended, but for Events
// that are on their way. It runs once. What was read stays in force afterwards.
func (f *Follower) Run(ctx context.Context) error {
	if f.running.Swap(true) {
		return errors.New("what follows a resource runs once")
	}
	var beside sync.WaitGroup
	defer beside.Wait()
	// What is beside ends with Run, whatever it ends for.
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	m := newMirror(f.decode)
	r := f.newReporter(ctx)
	defer r.close()
	beside.Go(func() { f.reflect(ctx, m) })
	for {
		select {
		case <-ctx.Done():
			f.contact.lose(errors.New("following has ended"), time.Now())
			f.metrics.inStep(false)
			return nil
		case <-m.changed:
		}
		if f.isRead.Load() && !pause(ctx, settleTime) {
			continue
		}
		f.apply(m.items(), r)
	}
}

// pause waits, and says whether the context has not ended meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

func (f *Follower) apply(items []*item, r *reporter) {
	problems := f.replace(items)
	if f.isRead.CompareAndSwap(false, true) {
		close(f.read)
		f.logger.Info("read", "resource", f.resource.Resource, "objects", len(items))
	}
	r.report(items, problems)
	f.metrics.change()
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.subscribers {
		signal(s)
	}
}

// signal wakes up whoever waits at a channel of capacity one; signals that nobody has taken yet are one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Changes gives a channel that gets a value whenever other objects have come into force, the first ones
// included. Several changes may be one value. The channel is closed when the context ends.
func (f *Follower) Changes(ctx context.Context) <-chan struct{} {
	c := make(chan struct{}, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subscribers[c] = struct{}{}
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.subscribers, c)
		close(c)
	})
	return c
}

// Wait waits until the objects have been read and are in force. When the context ends before, the error says
// what stood in the way.
func (f *Follower) Wait(ctx context.Context) error {
	select {
	case <-f.read:
		return nil
	case <-ctx.Done():
		if err := f.Unread(); err != nil {
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		}
		return nil
	}
}

// Tried waits until the server has been asked for the objects once. The error is why they cannot be read, or the
// context's if it ends before.
func (f *Follower) Tried(ctx context.Context) error {
	select {
	case <-f.asked:
		_, err := f.contact.lost()
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Ready is nil if the objects have been read and are in step with the server, or were until not longer ago than the
// patience. It is meant for readiness probes.
func (f *Follower) Ready() error {
	if err := f.Unread(); err != nil {
		return err
	}
	since, err := f.contact.lost()
	if out := time.Since(since); err != nil && out >= f.patience {
		return fmt.Errorf("%s have not been read for %s, and are as they were then: %w", f.resource.Resource, out.Round(time.Second), err)
	}
	return nil
}

// Unread says why the objects have not been read yet, which is interpreter.ErrNotReady; it is nil from when they have
// been read once.
func (f *Follower) Unread() error {
	if f.isRead.Load() {
		return nil
	}
	if _, err := f.contact.lost(); err != nil {
		return fmt.Errorf("%w: %s have not been read yet: %w", interpreter.ErrNotReady, f.resource.Resource, err)
	}
	return fmt.Errorf("%w: %s are being read", interpreter.ErrNotReady, f.resource.Resource)
}
