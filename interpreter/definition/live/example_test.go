package live_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"k8s.io/client-go/dynamic"

	"github.com/kubeinterpret/interpret/builtin"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
	"github.com/kubeinterpret/interpret/interpreter/definition/live"
)

// Answers are checked against the CRDs that an API server has. A program makes its client with dynamic.NewForConfig.
func Example() {
	var client dynamic.Interface = newClient(crd("foos", "Foo", true, "v1", "v1beta1"))

	definitions, err := live.New(client)
	if err != nil {
		log.Fatal(err)
	}
	chain := interpreter.NewChain(builtin.Layer()).WithChecks(definition.Guard(definitions))

	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = definitions.Run(ctx) })
	defer running.Wait()
	defer stop()
	if err := definitions.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	found, err := definitions.Definition(foo)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(chain.Layers()), found.Name(), found.Storage().Name)
	// Output: 1 foos.demo.io v1
}
