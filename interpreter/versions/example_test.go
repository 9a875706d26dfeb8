package versions_test

import (
	"context"
	"fmt"
	"log"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
	"github.com/kubeinterpret/interpret/interpreter/versions"
)

// A customization for v1 answers about objects of v2, because the CRD says that both are versions of one kind.
func Example() {
	crds, err := definition.Parse("foo.yaml", []byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.demo.io}
spec:
  group: demo.io
  names: {plural: foos, kind: Foo}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`))
	if err != nil {
		log.Fatal(err)
	}
	set, err := definition.NewSet(crds...)
	if err != nil {
		log.Fatal(err)
	}
	list, err := declarative.Parse("web.yaml", []byte(`
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: web}
spec:
  target: {apiVersion: demo.io/v1, kind: Foo}
  customizations:
    replicaRevision:
      luaScript: |
        function ReviseReplica(obj, desiredReplica)
          obj.spec.size = desiredReplica
          return obj
        end
`))
	if err != nil {
		log.Fatal(err)
	}
	customizations, err := declarative.New(list)
	if err != nil {
		log.Fatal(err)
	}
	// The CRD has no conversion webhook, so nothing is needed to call one with.
	chain := interpreter.NewChain(versions.New(customizations, set, nil))

	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "demo.io/v2", "kind": "Foo",
		"metadata": map[string]any{"name": "web"}, "spec": map[string]any{"size": int64(1)},
	}}
	res, err := chain.Interpret(context.Background(), &interpreter.Request{
		Operation: interpreter.ReviseReplica, Object: obj, Replicas: new(int32(3)),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Object.GetAPIVersion(), res.Object.Object["spec"])
	fmt.Println("by", res.Source)
	// Output:
	// demo.io/v2 map[size:3]
	// by customization web (demo.io/v1)
}
