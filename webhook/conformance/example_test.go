package conformance_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook/conformance"
)

// A hook that forgot whom it answers: the kit says so, and nothing else.
func Example() {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"response": {"uid": "1", "successful": true, "healthy": true}}`)
	}))
	defer server.Close()

	rules := []v1alpha1.RuleWithOperations{{
		Operations: []interpreter.Operation{interpreter.InterpretHealth},
		Rule:       v1alpha1.Rule{APIGroups: []string{"workload.example.io"}, APIVersions: []string{"v1alpha1"}, Kinds: []string{"Workload"}},
	}}
	sample := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "workload.example.io/v1alpha1", "kind": "Workload", "metadata": map[string]any{"name": "web"},
	}}
	questions, err := conformance.Questions(rules, conformance.Samples{Observed: []*unstructured.Unstructured{sample}})
	if err != nil {
		log.Fatal(err)
	}
	kit, err := conformance.New(conformance.Hook{
		URL:      server.URL,
		CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}, questions, conformance.WithOnly("healthy", "patch-pair", "uid-success"))
	if err != nil {
		log.Fatal(err)
	}
	report, err := kit.Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range report.Results {
		fmt.Println(r.ID, r.Verdict)
	}
	// Output:
	// healthy pass
	// patch-pair skipped
	// uid-success fail
}
