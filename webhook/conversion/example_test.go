package conversion_test

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"log"
	"net/http/httptest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter/definition"
	"github.com/kubeinterpret/interpret/luakube"
	"github.com/kubeinterpret/interpret/webhook/conversion"
)

// A converter in Go, served and called over TLS. A program that stays serves the handler with a webhook.Server.
func Example() {
	converters, err := conversion.NewSet(conversion.Registration{
		Kind:     schema.GroupKind{Group: "sample.webhook.io", Kind: "Foo"},
		Versions: []string{"v1", "v2"},
		Converter: conversion.Func(func(_ context.Context, obj *unstructured.Unstructured, desired schema.GroupVersion) (*unstructured.Unstructured, error) {
			if desired.Version == "v2" {
				if err := unstructured.SetNestedField(obj.Object, obj.GetName(), "spec", "alias"); err != nil {
					return nil, err
				}
			} else {
				unstructured.RemoveNestedField(obj.Object, "spec", "alias")
			}
			obj.SetAPIVersion(desired.String())
			return obj, nil
		}),
	})
	if err != nil {
		log.Fatal(err)
	}
	handler, err := conversion.NewHandler(converters)
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewTLSServer(handler)
	defer server.Close()

	// What an API server reads from a CRD, and does with it.
	crds, err := definition.Parse("foo.yaml", fmt.Appendf(nil, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.sample.webhook.io}
spec:
  group: sample.webhook.io
  names: {plural: foos, kind: Foo}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {url: %q, caBundle: %s}
`, server.URL, base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))))
	if err != nil {
		log.Fatal(err)
	}
	client, err := conversion.NewClient()
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	v1 := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "sample.webhook.io/v1", "kind": "Foo",
		"metadata": map[string]any{"name": "web", "namespace": "demo"},
	}}
	v2, err := client.Convert(context.Background(), crds[0], []*unstructured.Unstructured{v1}, "v2")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v2[0].GetAPIVersion(), v2[0].Object["spec"])
	// Output:
	// sample.webhook.io/v2 map[alias:web]
}

// A converter in Lua.
func ExampleParse() {
	list, err := conversion.Parse("foo.yaml", []byte(`
apiVersion: kubeinterpret.io/v1alpha1
kind: Converter
metadata:
  name: foo
spec:
  target:
    group: sample.webhook.io
    kind: Foo
    versions: [v1, v2]
  luaScript: |
    function Convert(obj, desiredAPIVersion)
      obj.apiVersion = desiredAPIVersion
      if desiredAPIVersion == "sample.webhook.io/v1" then
        obj.spec.alias = nil
      end
      return obj
    end
`))
	if err != nil {
		log.Fatal(err)
	}
	engine, err := luakube.New()
	if err != nil {
		log.Fatal(err)
	}
	registration, err := list[0].Compile(engine)
	if err != nil {
		log.Fatal(err)
	}
	converters, err := conversion.NewSet(registration)
	if err != nil {
		log.Fatal(err)
	}
	converted, err := converters.Convert(context.Background(), []*unstructured.Unstructured{{Object: map[string]any{
		"apiVersion": "sample.webhook.io/v2", "kind": "Foo",
		"metadata": map[string]any{"name": "web"}, "spec": map[string]any{"alias": "w", "size": int64(3)},
	}}}, schema.GroupVersion{Group: "sample.webhook.io", Version: "v1"})
	fmt.Println(converted[0].Object["spec"], err)
	// Output:
	// map[size:3] <nil>
}
