package luakube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"sync"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// Engine compiles scripts and runs them. It is safe for many goroutines; Lua states are pooled, and what a
// script does to its globals and libraries is gone when its call ends.
type Engine struct {
	limits  Limits
	now     func() time.Time
	log     *slog.Logger
	values  map[string]any
	scripts map[string]*module
	pool    sync.Pool
}

// Option changes an Engine that is being made.
type Option func(*Engine) error

// WithLimits bounds every call. All limits must be positive.
func WithLimits(l Limits) Option {
	return func(e *Engine) error {
		if l.Instructions <= 0 || l.Memory <= 0 || l.Time <= 0 {
			return fmt.Errorf("limits must be positive, got %s", l)
		}
		e.limits = l
		return nil
	}
}

// WithClock sets what scripts take for the time. Without it that is the wall clock.
func WithClock(now func() time.Time) Option {
	return func(e *Engine) error {
		if now == nil {
			return errors.New("the clock is nil")
		}
		e.now = now
		return nil
	}
}

// WithLog sets where print goes, one record a call at level Info with the script's name. Without it, or with
// nil, print says nothing.
func WithLog(log *slog.Logger) Option {
	return func(e *Engine) error {
		if log != nil {
			e.log = log
		}
		return nil
	}
}

var moduleName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

func (e *Engine) newModule(name string) error {
	switch {
	case !moduleName.MatchString(name):
		return fmt.Errorf("module name %q: want letters, digits, _, . and -", name)
	case isLibrary(name) || name == kubeModule:
		return fmt.Errorf("module %q: the name is taken by a library", name)
	case e.values[name] != nil || e.scripts[name] != nil:
		return fmt.Errorf("module %q is there already", name)
	}
	return nil
}

// WithModule lets scripts require a Go value: a function, a struct with methods, or a map of such. It is
// shared by all scripts at once, so it must be safe for concurrent use and must not block. An object handed
// to it arrives as plain Go maps and slices; a Go error arrives in the script as text, in an extra result.
func WithModule(name string, value any) Option {
	return func(e *Engine) error {
		if err := e.newModule(name); err != nil {
			return err
		}
		if value == nil {
			return fmt.Errorf("module %q is nil", name)
		}
		e.values[name] = value
		return nil
	}
}

// WithScriptModule lets scripts require a Lua chunk, which returns the module's value. It is run in globals of its
// own, and what it makes is read-only from then on: tables that the module returns or its functions use cannot
// be changed. It may serve many calls, which are each charged for loading it. A module whose functions assign to
// the chunk's locals or to globals has state; it is run afresh for every call.
func WithScriptModule(name, source string) Option {
	return func(e *Engine) error {
		if err := e.newModule(name); err != nil {
			return err
		}
		proto, err := compile(name, source)
		if err != nil {
			return err
		}
		chunk, err := parseSource(name, source)
		if err != nil {
			return err
		}
		e.scripts[name] = &module{proto: proto, lines: newHints(name, source), stateful: keepsState(chunk)}
		return nil
	}
}

type module struct {
	proto *lua.FunctionProto
	lines *hints
	// stateful modules keep something between the calls of their functions.
	stateful bool
}

// New makes an engine.
func New(options ...Option) (*Engine, error) {
	e := &Engine{
		limits:  DefaultLimits(),
		now:     time.Now,
		log:     slog.New(slog.DiscardHandler),
		values:  map[string]any{},
		scripts: map[string]*module{},
	}
	for _, o := range options {
		if err := o(e); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// Limits are the limits of every call.
func (e *Engine) Limits() Limits { return e.limits }

func (e *Engine) get() *vm {
	if m, ok := e.pool.Get().(*vm); ok {
		return m
	}
	return newVM(e)
}

func (e *Engine) put(m *vm) {
	if m.reset() {
		e.pool.Put(m)
	}
}

// Call is one call of a script's function.
type Call struct {
	// Args are JSON values, objects as map[string]any, or the typed values that requests and results are made
	// of. They are never modified.
	Args []any
	// Rets say where the results go.
	Rets []Ret
	// Next asks the layers below; nil where there are none. It is given the arguments that the script passed,
	// none of them if it passed none, and gives the results as a script would see them.
	Next func(ctx context.Context, args []any) ([]any, error)
}

// Ret is the destination of one result.
type Ret struct {
	// Noun is what messages call the result.
	Noun string
	// Optional allows nil, which leaves the destination as it is.
	Optional bool
	// Only, if not nil, takes just these fields from an object; the others are copied from Base.
	Only []string
	Base map[string]any
	// Into points at the destination, or is an Unmarshaler.
	Into any
}

// Usage is what a call used of its limits. For the same script and input it is the same in every run.
type Usage struct {
	Instructions int64
	Memory       int64
}
