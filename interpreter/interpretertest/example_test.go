package interpretertest_test

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/interpretertest"
)

func Example() {
	// The interpreter under test says that everything has one replica.
	in := interpreter.ReplicaFunc(func(*unstructured.Unstructured) (int32, *interpreter.ReplicaRequirements, error) {
		return 1, nil, nil
	})
	cases, err := interpretertest.Parse("thing.yaml", []byte(`
name: size is replicas
operation: InterpretReplica
desiredObj:
  apiVersion: v1
  kind: Thing
  spec: {size: 3}
output:
  replica: 3
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range cases {
		if o := c.Run(context.Background(), in); !o.Passed {
			fmt.Printf("%s\n%s", c, o)
		}
	}
	// Output:
	// thing.yaml:2: size is replicas
	// another answer than expected (- want, + got)
	// --- want
	// +++ got
	// @@ -1,1 +1,1 @@
	// -replica: 3
	// +replica: 1
}
