// Package live keeps a layer of customizations in step with an API server.
//
// See package follow for what is answered before the customizations have been read, while they cannot be
// read, and from those that are broken.
package live

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"k8s.io/client-go/dynamic"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/follow"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

// Resource is the resource of customizations.
const Resource = "resourceinterpretercustomizations"

// ReasonConflict is the reason of Events on a customization with a rule that never answers, because another
// customization for the same target comes first.
const ReasonConflict = "Conflict"

// Layer is a layer of the customizations on an API server.
type Layer struct {
	*follow.Layer
	rules  *declarative.Layer
	stored atomic.Pointer[[]*v1alpha1.ResourceInterpreterCustomization]
}

// New makes a layer of the customizations that a server has; layer is what runs them, and must not be
// replaced by anybody else. Nothing is read until Run.
func New(client dynamic.Interface, layer *declarative.Layer, options ...follow.Option) (*Layer, error) {
	if layer == nil {
		return nil, errors.New("the layer is nil")
	}
	l := &Layer{rules: layer}
	var err error
	l.Layer, err = follow.NewLayer(client, layer, follow.Source[v1alpha1.ResourceInterpreterCustomization]{
		Resource: v1alpha1.GroupVersion.WithResource(Resource),
		Replace:  l.replace,
	}, options...)
	return l, err
}

func (l *Layer) replace(list []*v1alpha1.ResourceInterpreterCustomization) []follow.Problem {
	customizations := make([]*declarative.Customization, 0, len(list))
	for _, c := range list {
		customizations = append(customizations, declarative.From(c))
	}
	var problems []follow.Problem
	for _, err := range follow.Split(l.rules.Replace(customizations)) {
		var broken *declarative.LoadError
		if errors.As(err, &broken) {
			problems = append(problems, follow.Problem{Name: broken.Name, Reason: follow.ReasonInvalid, Message: broken.Error(), Broken: true})
		}
	}
	for _, c := range l.rules.Conflicts() {
		problems = append(problems, follow.Problem{Name: c.Second.Name, Reason: ReasonConflict, Message: c.Error()})
	}
	l.stored.Store(&list)
	return problems
}

// Customizations lists the customizations on the server as they were read last, broken ones included, in no
// order. They must not be changed. Before they have been read, the error is interpreter.ErrNotReady.
func (l *Layer) Customizations(context.Context) ([]*v1alpha1.ResourceInterpreterCustomization, error) {
	stored := l.stored.Load()
	if stored == nil {
		return nil, fmt.Errorf("%w: %s have not been read yet", interpreter.ErrNotReady, Resource)
	}
	return *stored, nil
}
