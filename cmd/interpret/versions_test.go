package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

const fooInVersions = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.sample.webhook.io}
spec:
  group: sample.webhook.io
  names: {plural: foos, kind: Foo}
  scope: Namespaced
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://127.0.0.1:1/convert"}}
  versions:
  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

const fooInV1 = `apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: web}
spec:
  target: {apiVersion: sample.webhook.io/v1, kind: Foo}
  customizations:
    healthInterpretation:
      luaScript: function InterpretHealth(obj) return true, obj.apiVersion .. " " .. obj.spec.word end
`

// A server answers about v2 with a customization for v1, and converts with what it serves itself. All of it is read
// again when it changes.
func TestAServerAnswersAboutOtherVersions(t *testing.T) {
	t.Parallel()
	dir, converters := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "rules.yaml"), fooInV1)
	write(t, filepath.Join(dir, "foo.yaml"), fooInVersions)
	write(t, filepath.Join(converters, "convert.yaml"), converter("one"))
	s := start(t, "-f", dir, "--converters", converters)
	chain := s.chain()
	says := func() string {
		h, err := interpreter.HealthOf(t.Context(), chain, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "sample.webhook.io/v2", "kind": "Foo", "metadata": map[string]any{"name": "web"}, "spec": map[string]any{},
		}})
		if err != nil {
			return err.Error()
		}
		return h.Message
	}
	assert.Equal(t, "sample.webhook.io/v1 one", says())
	write(t, filepath.Join(converters, "convert.yaml"), converter("two"))
	require.Eventually(t, func() bool { return says() == "sample.webhook.io/v1 two" }, within, tick)

	// Without a converter the hook of the CRD is asked, and nobody is there.
	require.NoError(t, os.Remove(filepath.Join(converters, "convert.yaml")))
	require.Eventually(t, func() bool {
		return strings.Contains(says(), "by customization web (sample.webhook.io/v1): the question: "+
			"CustomResourceDefinition foos.sample.webhook.io: Foo web from v2 to v1: https://127.0.0.1:1: ")
	}, within, tick)
	s.metric(`interpret_webhook_calls_in_flight{hook="foos.sample.webhook.io",operation="Convert"} 0`)

	// Without the CRD nothing is known of other versions, and the question is left to the layers below.
	require.NoError(t, os.Remove(filepath.Join(dir, "foo.yaml")))
	require.Eventually(t, func() bool { return !strings.Contains(says(), "by customization web") }, within, tick)
	assert.NotContains(t, says(), "Foo web from v2 to v1")
}

func TestAServerLeavesOtherVersionsAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "rules.yaml"), fooInV1)
	write(t, filepath.Join(dir, "foo.yaml"), fooInVersions)
	s := start(t, "-f", dir, "--convert-versions=false")
	for _, rule := range s.configuration.Webhooks[0].Rules {
		if rule.APIGroups[0] == "sample.webhook.io" && slices.Contains(rule.Operations, interpreter.InterpretHealth) {
			assert.Equal(t, []string{"v1"}, rule.APIVersions)
		}
	}
}
