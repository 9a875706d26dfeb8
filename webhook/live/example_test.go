package live_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/webhook"
	"github.com/kubeinterpret/interpret/webhook/live"
)

// The hooks that an API server has, at the Services that it has. A program makes its client with
// dynamic.NewForConfig.
func Example() {
	var client dynamic.Interface = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		configurations: "ResourceInterpreterWebhookConfigurationList", services: "ServiceList", events: "EventList",
	}, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"namespace": "hooks", "name": "web"},
		"spec": map[string]any{"clusterIP": "10.0.0.7", "ports": []any{map[string]any{"port": int64(443)}}},
	}})

	resolver, err := live.NewResolver(client)
	if err != nil {
		log.Fatal(err)
	}
	hooks, err := webhook.New(nil, webhook.WithResolver(resolver))
	if err != nil {
		log.Fatal(err)
	}
	defer hooks.Close()
	layer, err := live.New(client, hooks)
	if err != nil {
		log.Fatal(err)
	}
	chain := interpreter.NewChain(layer) // with others before and after it

	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = resolver.Run(ctx) })
	running.Go(func() { _ = layer.Run(ctx) })
	defer running.Wait()
	defer stop()
	if err := layer.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(chain.Handles(schema.GroupVersionKind{Group: "demo.io", Version: "v1", Kind: "Widget"}, interpreter.InterpretHealth))
	// Output: false
}
