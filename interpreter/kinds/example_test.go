package kinds_test

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
	"github.com/kubeinterpret/interpret/interpreter/kinds"
)

const users = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: users.auth.example.com}
spec:
  group: auth.example.com
  scope: Cluster
  names: {kind: User, plural: users, shortNames: [us], categories: [all]}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
  - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
`

func newKinds() *kinds.Kinds {
	list, err := definition.Parse("users.yaml", []byte(users))
	if err != nil {
		panic(err)
	}
	set, err := definition.NewSet(list...)
	if err != nil {
		panic(err)
	}
	return kinds.New(kinds.Standard(), kinds.Definitions(set))
}

// A name is found as kubectl finds it, in the CRDs that are given and among the kinds of Kubernetes.
func ExampleKinds_One() {
	k := newKinds()
	for _, name := range []string{"deploy", "us", "User.v1beta1.auth.example.com", "usrs"} {
		r, err := k.One(context.Background(), name)
		var noMatch *kinds.NoMatchError
		if errors.As(err, &noMatch) {
			fmt.Println(err)
			continue
		}
		fmt.Println(r, r.Kind.Kind, r.Namespaced)
	}
	// Output:
	// deployments.v1.apps Deployment true
	// users.v1.auth.example.com User false
	// users.v1beta1.auth.example.com User false
	// there is no resource or kind "usrs", did you mean users?
}

// Kinds are a mapper for whatever of apimachinery and client-go wants one.
func ExampleKinds_RESTMapping() {
	m, err := newKinds().RESTMapping(schema.GroupKind{Group: "auth.example.com", Kind: "User"})
	fmt.Println(m.Resource, m.Scope.Name(), err)
	// Output: auth.example.com/v1, Resource=users root <nil>
}

func ExampleKinds_CheckDependencies() {
	problems, err := newKinds().CheckDependencies(context.Background(), nil, []interpreter.DependentObjectReference{
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"},
		{APIVersion: "v1", Kind: "ConfigMap", Name: "settings"},
		{APIVersion: "auth.example.com/v1", Kind: "Usr", Name: "joe"},
		{APIVersion: "elsewhere.io/v1", Kind: "Thing", Name: "nobody told about it"},
	})
	for _, p := range problems {
		fmt.Println(p.Certain, p)
	}
	fmt.Println(err)
	// Output:
	// true dependencies[1] v1 ConfigMap settings: the namespace is missing; v1 ConfigMap is in namespaces
	// false dependencies[2] auth.example.com/v1 Usr joe: there is no resource or kind "auth.example.com/v1 Usr", did you mean auth.example.com/v1 User? It may come from another CRD
	// <nil>
}
