package definition_test

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
)

const users = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: users.auth.example.com}
spec:
  group: auth.example.com
  names: {kind: User, plural: users}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [groups]
            properties:
              userID: {type: integer, minimum: 1, maximum: 65535}
              groups: {type: array, items: {type: string}}
              replicas: {type: integer}
`

// An object is judged as an API server would judge it.
func Example() {
	list, err := definition.Parse("users.yaml", []byte(users))
	if err != nil {
		fmt.Println(err)
		return
	}
	user := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "auth.example.com/v1", "kind": "User",
		"metadata": map[string]any{"name": "ann"},
		"spec":     map[string]any{"userID": int64(70000), "group": "admins"},
	}}
	problems, err := list[0].Version("v1").Validate(context.Background(), user, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range problems {
		fmt.Println(p.Type, p.Field)
	}
	// Output:
	// Forbidden spec.group
	// Required value spec.groups
	// Invalid value spec.userID
}

// A guard keeps rules from giving what an API server would refuse, or lose.
func ExampleGuard() {
	list, err := definition.Parse("users.yaml", []byte(users))
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := definition.NewSet(list...)
	if err != nil {
		fmt.Println(err)
		return
	}
	replicas := int32(3)
	misspelt := answers{interpreter.Result{Object: &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "auth.example.com/v1", "kind": "User", "metadata": map[string]any{"name": "ann"},
		"spec": map[string]any{"groups": []any{"admins"}, "replcas": int64(replicas)},
	}}}}
	chain := interpreter.NewChain(misspelt).WithChecks(definition.Guard(set))
	_, err = chain.Interpret(context.Background(), &interpreter.Request{
		Operation: interpreter.ReviseReplica, Replicas: &replicas,
		Object: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "auth.example.com/v1", "kind": "User", "metadata": map[string]any{"name": "ann"},
			"spec": map[string]any{"groups": []any{"admins"}},
		}},
	})
	fmt.Println(err)
	// Output:
	// ReviseReplica of auth.example.com/v1 User ann by test rule: invalid result: spec.replcas: Forbidden: the schema has no such field, did you mean replicas?
}
