// Command embed shows a program that interprets resources: the rules of its own users first, then those that
// come with the library.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/builtin"
	"github.com/kubeinterpret/interpret/builtin/thirdparty"
	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/luakube"
)

//go:embed widget.yaml
var widgetRules []byte

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// team is a Go module of this program's, which scripts get by require("team").
var team = map[string]any{
	"owner": func(namespace string) string { return "team-" + strings.TrimPrefix(namespace, "ns-") },
}

// newChain puts the layers in order, nearest first.
func newChain() (*interpreter.Chain, error) {
	engine, err := luakube.New(luakube.WithModule("team", team))
	if err != nil {
		return nil, err
	}
	rules, err := declarative.Parse("widget.yaml", widgetRules)
	if err != nil {
		return nil, err
	}
	customizations, err := declarative.New(rules, declarative.WithEngine(engine))
	if err != nil {
		return nil, err
	}
	return interpreter.NewChain(
		customizations,
		thirdparty.Layer(), thirdparty.Extra(),
		builtin.Extra(), builtin.Layer(), builtin.Fallback(),
	), nil
}

func run(ctx context.Context, out io.Writer) error {
	chain, err := newChain()
	if err != nil {
		return err
	}
	for _, object := range []*unstructured.Unstructured{widget, deployment} {
		health, err := interpreter.HealthOf(ctx, chain, object)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %s %s\n", object.GetName(), health.Status, health.Message)

		dependencies, err := interpreter.Dependencies(ctx, chain, object)
		switch {
		case interpreter.IsNoRule(err):
			fmt.Fprintln(out, "  nobody knows what it depends on")
		case err != nil:
			return err
		}
		for _, d := range dependencies {
			fmt.Fprintf(out, "  needs %s %s/%s\n", d.Kind, d.Namespace, d.Name)
		}
	}

	replicas, requirements, err := interpreter.Replicas(ctx, chain, deployment)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d replicas of %s cpu each\n", replicas, requirements.ResourceRequest.Cpu())

	// An error says who was answering and where, and what the cause is can be asked.
	_, err = interpreter.Reflected(ctx, chain, widget)
	var script *luakube.ScriptError
	if errors.As(err, &script) {
		fmt.Fprintf(out, "%v\n(line %d)\n", err, script.Line)
	}
	return nil
}

var widget = &unstructured.Unstructured{Object: map[string]any{
	"apiVersion": "demo.io/v1", "kind": "Widget",
	"metadata": map[string]any{"name": "w", "namespace": "ns-shop"},
	"spec":     map[string]any{"secret": "key"},
}}

var deployment = &unstructured.Unstructured{Object: map[string]any{
	"apiVersion": "apps/v1", "kind": "Deployment",
	"metadata": map[string]any{"name": "web", "namespace": "ns-shop", "generation": int64(2)},
	"spec": map[string]any{"replicas": int64(3), "template": map[string]any{"spec": map[string]any{
		"serviceAccountName": "robot",
		"containers": []any{map[string]any{
			"name": "web", "resources": map[string]any{"requests": map[string]any{"cpu": "250m"}},
		}},
	}}},
	"status": map[string]any{"observedGeneration": int64(1)},
}}
