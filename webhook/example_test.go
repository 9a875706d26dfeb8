package webhook_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
)

// A hook in Go: one function per operation. What a function changes becomes the patch.
func Example_hook() {
	hook, err := webhook.NewHook(webhook.Functions{
		schema.GroupVersionKind{Group: "workload.example.io", Version: "v1alpha1", Kind: "Workload"}: {
			interpreter.ReviseReplica: interpreter.ReviseFunc(func(obj *unstructured.Unstructured, n int32) error {
				return unstructured.SetNestedField(obj.Object, int64(n), "spec", "replicas")
			}),
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	handler, err := webhook.NewHandler(hook)
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()

	response, err := http.Post(server.URL, "application/json", strings.NewReader(`{"request": {"uid": "u1", "operation": "ReviseReplica", "replicas": 3,
		"object": {"apiVersion": "workload.example.io/v1alpha1", "kind": "Workload", "metadata": {"name": "web"}, "spec": {"replicas": 1}}}}`))
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(body))
	// Output:
	// {"kind":"ResourceInterpreterContext","apiVersion":"config.karmada.io/v1alpha1","response":{"uid":"u1","successful":true,"status":{"code":200},"patch":"W3sib3AiOiJyZXBsYWNlIiwicGF0aCI6Ii9zcGVjL3JlcGxpY2FzIiwidmFsdWUiOjN9XQ==","patchType":"JSONPatch"}}
}

// A layer asks the hooks of webhook configurations; a chain puts it before or behind others.
func ExampleNew() {
	hook := interpreter.HealthFunc(func(*unstructured.Unstructured) (interpreter.Health, error) {
		return interpreter.Health{Status: interpreter.Degraded, Message: "no leader"}, nil
	})
	handler, err := webhook.NewHandler(hook)
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewTLSServer(handler)
	defer server.Close()

	// The API server's webhook configurations; here, one made by hand.
	configuration := &v1alpha1.ResourceInterpreterWebhookConfiguration{}
	configuration.Name = "workloads"
	webhookOf := v1alpha1.ResourceInterpreterWebhook{
		Name: "workloads.example.com",
		Rules: []v1alpha1.RuleWithOperations{{
			Operations: []interpreter.Operation{interpreter.InterpretHealth},
			Rule:       v1alpha1.Rule{APIGroups: []string{"workload.example.io"}, APIVersions: []string{"*"}, Kinds: []string{"*"}},
		}},
		InterpreterContextVersions: []string{"v1alpha1"},
	}
	webhookOf.ClientConfig.URL = &server.URL
	webhookOf.ClientConfig.CABundle = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	configuration.Webhooks = append(configuration.Webhooks, webhookOf)

	layer, err := webhook.New([]*v1alpha1.ResourceInterpreterWebhookConfiguration{configuration})
	if err != nil {
		log.Fatal(err)
	}
	defer layer.Close()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "workload.example.io/v1alpha1", "kind": "Workload", "metadata": map[string]any{"name": "web"},
	}}
	res, err := interpreter.NewChain(layer).Interpret(context.Background(), &interpreter.Request{Operation: interpreter.InterpretHealth, Object: object})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Health.IsHealthy(), res.Health.Message, "- says", res.Source)
	// Output:
	// false no leader - says webhook workloads/workloads.example.com
}

// Validate checks what an admission webhook, or a check of files, wants to know.
func ExampleValidate() {
	configuration := &v1alpha1.ResourceInterpreterWebhookConfiguration{Webhooks: []v1alpha1.ResourceInterpreterWebhook{{Name: "w"}}}
	for _, mistake := range webhook.Validate(configuration) {
		fmt.Println(mistake)
	}
	// Output:
	// webhooks[0].name: Invalid value: "w": should be a domain with at least two segments separated by dots
	// webhooks[0].clientConfig: Required value: exactly one of url and service is required
	// webhooks[0].interpreterContextVersions: Required value: must have v1alpha1
}
