// Package live keeps a layer of webhooks in step with an API server.
//
// See package follow for what is answered before the webhook configurations have been read, while they
// cannot be read, and from those that are broken. A [Resolver] finds the Services that they name.
package live

import (
	"errors"

	"k8s.io/client-go/dynamic"

	"github.com/kubeinterpret/interpret/interpreter/follow"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
)

// Resource is the resource of webhook configurations.
const Resource = "resourceinterpreterwebhookconfigurations"

// New makes a layer of the webhook configurations that a server has; layer is what calls the hooks, and must
// not be replaced by anybody else. Nothing is read until Run. Closing the layer is left to its owner, who may
// do so once Run has returned.
func New(client dynamic.Interface, layer *webhook.Layer, options ...follow.Option) (*follow.Layer, error) {
	if layer == nil {
		return nil, errors.New("the layer is nil")
	}
	return follow.NewLayer(client, layer, follow.Source[v1alpha1.ResourceInterpreterWebhookConfiguration]{
		Resource: v1alpha1.GroupVersion.WithResource(Resource),
		Replace: func(list []*v1alpha1.ResourceInterpreterWebhookConfiguration) []follow.Problem {
			return replace(layer, list)
		},
	}, options...)
}

func replace(layer *webhook.Layer, list []*v1alpha1.ResourceInterpreterWebhookConfiguration) []follow.Problem {
	var problems []follow.Problem
	for _, err := range follow.Split(layer.Replace(list)) {
		var broken *webhook.ConfigurationError
		if errors.As(err, &broken) {
			problems = append(problems, follow.Problem{Name: broken.Name, Reason: follow.ReasonInvalid, Message: broken.Error(), Broken: true})
		}
	}
	return problems
}
