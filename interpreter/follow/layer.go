package follow

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kubeinterpret/interpret/interpreter"
)

// Layer is a layer whose rules are made of the objects that it follows.
type Layer struct {
	*Follower
	layer    interpreter.Layer
	notReady []*interpreter.Rule
}

// NewLayer makes a layer that follows a source, whose Replace changes the layer that is given. That one answers once
// the objects have been read. Nothing is read until Run.
func NewLayer[T any](client dynamic.Interface, layer interpreter.Layer, source Source[T], options ...Option) (*Layer, error) {
	f, err := New(client, source, options...)
	if err != nil {
		return nil, err
	}
	l := &Layer{Follower: f, layer: layer}
	l.notReady = []*interpreter.Rule{{Interpreter: interpreter.Func(
		func(context.Context, *interpreter.Request) (*interpreter.Result, error) {
			if err := f.Unread(); err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("%w: %s have been read just now; ask again", interpreter.ErrNotReady, f.resource.Resource)
		})}}
	return l, nil
}

// Name is the name of the layer that answers.
func (l *Layer) Name() string { return l.layer.Name() }

// Rules are those of the layer that answers, or one that fails with interpreter.ErrNotReady.
func (l *Layer) Rules(kind schema.GroupVersionKind, op interpreter.Operation) []*interpreter.Rule {
	if !l.isRead.Load() {
		return l.notReady
	}
	return l.layer.Rules(kind, op)
}

// Entries lists the rules of the layer that answers; there are none before they have been read.
func (l *Layer) Entries() []interpreter.Entry {
	if lister, ok := l.layer.(interpreter.Lister); ok && l.isRead.Load() {
		return lister.Entries()
	}
	return nil
}
