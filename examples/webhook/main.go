// Command webhook is a hook for Karmada that interprets one kind, the Workload of the group workload.example.io.
// run.sh tries it out; to make a hook for another kind, copy this file.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/podtemplate"
	"github.com/kubeinterpret/interpret/webhook"
)

// grace is how long the last questions may take once the hook was told to stop.
const grace = 10 * time.Second

func main() {
	listen := flag.String("listen", "localhost:8443", "the address to listen on")
	certificate := flag.String("tls-cert-file", "tls.crt", "the hook's certificate, in PEM; read again when it changes")
	key := flag.String("tls-private-key-file", "tls.key", "the key of the certificate, in PEM")
	drain := flag.Duration("drain", webhook.DefaultDrain, "how long to go on answering once told to stop, so that callers learn of it")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *listen, *certificate, *key, *drain); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// serve answers until the context ends.
func serve(ctx context.Context, address, certificate, key string, drain time.Duration) error {
	hook, err := newHook()
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	handler, err := webhook.NewHandler(hook, webhook.WithLogger(logger))
	if err != nil {
		return err
	}
	server, err := webhook.NewServer(handler,
		webhook.WithCertificateFiles(certificate, key),
		webhook.WithServerLogger(logger),
		webhook.WithShutdown(drain, grace),
	)
	if err != nil {
		return err
	}
	return server.ListenAndServe(ctx, address)
}

// newHook has a function for each operation that configuration.yaml registers. One that changes an object is given
// a copy, and what it changes becomes the patch. Prune is missing because Karmada does not ask hooks for it.
func newHook() (*webhook.Hook, error) {
	kind := schema.GroupVersionKind{Group: "workload.example.io", Version: "v1alpha1", Kind: "Workload"}
	return webhook.NewHook(webhook.Functions{kind: {
		interpreter.InterpretReplica:    interpreter.ReplicaFunc(replicas),
		interpreter.InterpretComponent:  interpreter.ComponentFunc(components),
		interpreter.ReviseReplica:       interpreter.ReviseFunc(revise),
		interpreter.Retain:              interpreter.RetainFunc(retain),
		interpreter.InterpretDependency: interpreter.DependencyFunc(dependencies),
		interpreter.InterpretStatus:     interpreter.StatusFunc(reflect),
		interpreter.AggregateStatus:     interpreter.AggregateFunc(aggregate),
		interpreter.InterpretHealth:     interpreter.HealthFunc(health),
	}})
}

// Workload is what this hook reads of one. The pod template stays as it came, for package podtemplate reads those.
type Workload struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Replicas *int32         `json:"replicas"`
		Template map[string]any `json:"template"`
	} `json:"spec"`
	Status Status `json:"status"`
}

// Status is what members report, and what the control plane has of all of them together.
type Status struct {
	ReadyReplicas int32 `json:"readyReplicas"`
}

// wanted is the number of replicas, by default one.
func (w *Workload) wanted() int32 {
	if w.Spec.Replicas == nil {
		return 1
	}
	return *w.Spec.Replicas
}

// replicas are how many pods there are to be, and what each of them needs.
func replicas(obj *unstructured.Unstructured) (int32, *interpreter.ReplicaRequirements, error) {
	w, err := webhook.As[Workload](obj)
	if err != nil {
		return 0, nil, err
	}
	needs, err := podtemplate.Requirements(w.Spec.Template)
	if needs != nil {
		needs.Namespace = w.Metadata.Namespace
	}
	return w.wanted(), needs, err
}

// components tells the same to schedulers that know kinds with several sorts of pods.
func components(obj *unstructured.Unstructured) ([]interpreter.Component, error) {
	n, needs, err := replicas(obj)
	if err != nil {
		return nil, err
	}
	return []interpreter.Component{{Name: obj.GetName(), Replicas: n, ReplicaRequirements: podtemplate.ForComponent(needs)}}, nil
}

// revise gives a member cluster its share of the replicas.
func revise(obj *unstructured.Unstructured, n int32) error {
	return unstructured.SetNestedField(obj.Object, int64(n), "spec", "replicas")
}

// retain leaves a Workload paused that somebody has paused in the member cluster.
func retain(desired, observed *unstructured.Unstructured) error {
	paused, found, err := unstructured.NestedBool(observed.Object, "spec", "paused")
	if !found || err != nil {
		return err
	}
	return unstructured.SetNestedField(desired.Object, paused, "spec", "paused")
}

// dependencies are the ConfigMaps, Secrets and others that the pods use, to be propagated with the Workload.
func dependencies(obj *unstructured.Unstructured) ([]interpreter.DependentObjectReference, error) {
	w, err := webhook.As[Workload](obj)
	if err != nil {
		return nil, err
	}
	return podtemplate.Dependencies(w.Spec.Template, w.Metadata.Namespace)
}

// reflect is what a member cluster reports.
func reflect(obj *unstructured.Unstructured) (any, error) {
	w, err := webhook.As[Workload](obj)
	if err != nil {
		return nil, err
	}
	return w.Status, nil
}

// aggregate adds up what the member clusters report. Some may not have reported yet.
func aggregate(obj *unstructured.Unstructured, items []interpreter.AggregatedStatusItem) error {
	var ready int64
	for _, item := range items {
		if item.Status == nil {
			continue
		}
		var status Status
		if err := json.Unmarshal(item.Status.Raw, &status); err != nil {
			return fmt.Errorf("status of cluster %s: %w", item.ClusterName, err)
		}
		ready += int64(status.ReadyReplicas)
	}
	return unstructured.SetNestedField(obj.Object, ready, "status", "readyReplicas")
}

// health compares what is ready with what is wanted. The message is for people; Karmada looks at the status.
func health(obj *unstructured.Unstructured) (interpreter.Health, error) {
	w, err := webhook.As[Workload](obj)
	if err != nil {
		return interpreter.Health{}, err
	}
	h := interpreter.Health{Status: interpreter.Healthy}
	if w.Status.ReadyReplicas < w.wanted() {
		h.Status = interpreter.Progressing
		h.Message = fmt.Sprintf("%d of %d replicas are ready", w.Status.ReadyReplicas, w.wanted())
	}
	return h, nil
}
