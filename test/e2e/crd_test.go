package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/kubeinterpret/interpret/builtin/crd"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
	"github.com/kubeinterpret/interpret/interpreter/interpretertest"
)

// customKinds are the CRDs that the rules made of CRDs are tested with. They are installed, and answer.
func customKinds(t *testing.T) (*definition.Set, *interpreter.Chain) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "builtin", "crd", "testdata", "*", "crd.yaml"))
	must(t, err)
	require.NotEmpty(t, files)
	_, err = envtest.InstallCRDs(server.config, envtest.CRDInstallOptions{Paths: files})
	must(t, err)
	var list []*definition.Definition
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		found, err := definition.Parse(file, text)
		must(t, err)
		list = append(list, found...)
	}
	set, err := definition.NewSet(list...)
	must(t, err)
	return set, interpreter.NewChain(crd.New(set), crd.KStatus(set))
}

// What is folded of statuses by a schema is what a server stores, whatever was stored before; and folding what is
// stored once more changes nothing.
func TestStatusesFoldedBySchemasAreAccepted(t *testing.T) {
	set, chain := customKinds(t)
	files, err := filepath.Glob(filepath.Join("..", "..", "builtin", "crd", "testdata", "*", "*-test.yaml"))
	must(t, err)
	written := 0
	for _, file := range files {
		cases, err := interpretertest.ReadFile(file)
		must(t, err)
		for i, c := range cases {
			if c.Operation != interpreter.AggregateStatus || c.Output == nil || !hasStatus(t, set, c.Object) {
				continue
			}
			t.Run(filepath.Base(filepath.Dir(file))+"/"+c.Name, func(t *testing.T) {
				namespace := newNamespace(t)
				obj := placed(t, c.Object, namespace)
				obj.SetName(fmt.Sprint("x", i))
				status := obj.Object["status"]
				delete(obj.Object, "status")
				obj.SetGeneration(0)
				stored := create(t, obj)
				// The generation that the members have seen is that of the case.
				for stored.GetGeneration() < c.Object.GetGeneration() {
					must(t, unstructured.SetNestedField(stored.Object, stored.GetGeneration(), "spec", "size"))
					must(t, unstructured.SetNestedField(stored.Object, stored.GetGeneration(), "spec", "replicas"))
					before := stored.GetGeneration()
					stored = updateLoosely(t, stored)
					require.Greater(t, stored.GetGeneration(), before)
				}
				if status != nil {
					stored = withStatus(t, stored, status.(map[string]any))
				}
				folded, err := interpreter.Aggregated(t.Context(), chain, stored, c.Statuses)
				must(t, err)
				again := updateStatus(t, folded)
				require.True(t, holds(again.Object["status"], folded.Object["status"]), "%s\n%s", statusText(folded), statusText(again))
				folded, err = interpreter.Aggregated(t.Context(), chain, again, c.Statuses)
				must(t, err)
				require.True(t, same(folded.Object["status"], again.Object["status"]), "%s\n%s", statusText(folded), statusText(again))
				written++
			})
		}
	}
	require.Greater(t, written, 15)
}

func hasStatus(t *testing.T, set *definition.Set, obj *unstructured.Unstructured) bool {
	d, err := set.Definition(obj.GroupVersionKind().GroupKind())
	must(t, err)
	return d.Version(obj.GroupVersionKind().Version).HasStatus
}

// updateLoosely changes an object and lets the server drop what it does not know.
func updateLoosely(t *testing.T, obj *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	obj = obj.DeepCopy()
	must(t, server.Update(t.Context(), obj, client.FieldValidation("Ignore")))
	return obj
}

// kubectl scale does to an object what ReviseReplica does, and reads the number that InterpretReplica gives.
func TestKubectlScaleAndReviseReplicaAgree(t *testing.T) {
	_, chain := customKinds(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, os.WriteFile(kubeconfig, server.env.KubeConfig, 0o600))
	kubectl := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"),
			append([]string{"--kubeconfig", kubeconfig}, args...)...).CombinedOutput()
		return string(out), err
	}
	for _, manifest := range []string{
		"{apiVersion: demo.io/v1, kind: App, metadata: {name: x}, spec: {replicas: 1}}",
		"{apiVersion: demo.io/v1, kind: App, metadata: {name: x}, spec: {}}",
		"{apiVersion: demo.io/v1, kind: App, metadata: {name: x}, spec: {template: {spec: {containers: [{name: c, image: i}]}}}}",
		"{apiVersion: demo.io/v1, kind: Loose, metadata: {name: x}, spec: {size: 4, replicas: 1}}",
		"{apiVersion: demo.io/v1, kind: Store, metadata: {name: x}}",
		"{apiVersion: demo.io/v1, kind: Store, metadata: {name: x}, spec: {serviceAccountName: robot}}",
		"{apiVersion: demo.io/v1, kind: Pair, metadata: {name: x}, spec: {replicas: 9}}",
	} {
		t.Run(manifest, func(t *testing.T) {
			namespace := newNamespace(t)
			sent := placed(t, object(t, manifest), namespace)
			asked, _, err := interpreter.Replicas(t.Context(), chain, sent)
			must(t, err)
			stored := create(t, sent)
			read, err := kubectl("get", "-n", namespace, "--subresource=scale", stored.GetKind(), stored.GetName(), "-o", "jsonpath={.spec.replicas}")
			must(t, err)
			assert.Equal(t, read, fmt.Sprint(asked), "of what was sent")
			kept, _, err := interpreter.Replicas(t.Context(), chain, stored)
			must(t, err)
			assert.Equal(t, read, fmt.Sprint(kept), "of what is stored")

			out, err := kubectl("scale", "-n", namespace, stored.GetKind(), stored.GetName(), "--replicas=7")
			require.NoError(t, err, out)
			want := stored.DeepCopy()
			must(t, server.Get(t.Context(), client.ObjectKeyFromObject(stored), want))
			revised, err := interpreter.Revised(t.Context(), chain, stored, 7)
			must(t, err)
			assert.Equal(t, want.Object["spec"], revised.Object["spec"])
		})
	}
}
