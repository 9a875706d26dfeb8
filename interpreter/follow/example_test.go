package follow_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/kubeinterpret/interpret/interpreter/follow"
)

// What follows a resource keeps what is made of its objects in step with the server. A program makes its client
// with dynamic.NewForConfig.
func ExampleNew() {
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{notes: "NoteList"}, newNote("hello", "1", "good morning"))

	follower, err := follow.New(client, follow.Source[note]{
		Resource: notes,
		Replace: func(list []*note) []follow.Problem {
			for _, n := range list {
				fmt.Println(n.Name, "says", n.Text)
			}
			return nil
		},
	}, follow.WithoutEvents())
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = follower.Run(ctx) })
	if err := follower.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	stop()
	running.Wait()
	// Output: hello says good morning
}
