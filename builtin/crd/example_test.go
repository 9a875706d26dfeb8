package crd_test

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/builtin"
	"github.com/kubeinterpret/interpret/builtin/crd"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
)

func Example() {
	list, err := definition.Parse("widgets.yaml", []byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.demo.io}
spec:
  group: demo.io
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer, default: 2}}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	definitions, err := definition.NewSet(list...)
	if err != nil {
		fmt.Println(err)
		return
	}
	// What a CRD says counts where nobody knows the kind by its name. Leave KStatus out to have no verdict where
	// there is no rule.
	chain := interpreter.NewChain(builtin.Layer(), crd.New(definitions), crd.KStatus(definitions), builtin.Fallback())

	ctx := context.Background()
	w := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "demo.io/v1", "kind": "Widget"}}
	n, _, err := interpreter.Replicas(ctx, chain, w)
	fmt.Println("replicas:", n, err)
	w, err = interpreter.Revised(ctx, chain, w, 5)
	fmt.Println("revised:", w.Object["spec"], err)
	res, err := chain.Interpret(ctx, &interpreter.Request{Operation: interpreter.InterpretHealth, Object: w})
	fmt.Println("health:", res.Health.Status, res.Health.Reason, "by", res.Source, err)
	// Output:
	// replicas: 2 <nil>
	// revised: map[size:5] <nil>
	// health: Healthy KStatusCurrent by kstatus any custom resource <nil>
}
