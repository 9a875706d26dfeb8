package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
	"github.com/kubeinterpret/interpret/interpreter/interpretertest"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
)

// cases are what run.sh does not ask.
const cases = `
name: a Workload without replicas is one pod that asks for nothing
operation: InterpretReplica
desiredObj: {apiVersion: workload.example.io/v1alpha1, kind: Workload, metadata: {name: web}, spec: {template: {}}}
output: {replica: 1, requires: null}
---
name: all are ready
operation: InterpretHealth
observedObj: {apiVersion: workload.example.io/v1alpha1, kind: Workload, metadata: {name: web}, status: {readyReplicas: 1}}
output: {healthy: true}
---
name: nothing is reported yet
operation: InterpretStatus
observedObj: {apiVersion: workload.example.io/v1alpha1, kind: Workload, metadata: {name: web}}
output: {status: {readyReplicas: 0}}
---
name: the member does not say whether it is paused
operation: Retain
desiredObj: {apiVersion: workload.example.io/v1alpha1, kind: Workload, metadata: {name: web}, spec: {paused: true}}
observedObj: {apiVersion: workload.example.io/v1alpha1, kind: Workload, metadata: {name: web}}
output:
  retained: {apiVersion: workload.example.io/v1alpha1, kind: Workload, metadata: {name: web}, spec: {paused: true}}
`

func TestCases(t *testing.T) {
	t.Parallel()
	hook, err := newHook()
	require.NoError(t, err)
	list, err := interpretertest.Parse("cases", []byte(cases))
	require.NoError(t, err)
	interpretertest.Test(t, hook, list)
}

// What members have is not ours: it may be anything.
func TestWrongTypesAreErrors(t *testing.T) {
	t.Parallel()
	hook, err := newHook()
	require.NoError(t, err)
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "workload.example.io/v1alpha1", "kind": "Workload", "metadata": map[string]any{"name": "web"},
		"spec": "x", "status": map[string]any{"readyReplicas": "many"},
	}}
	replicas := int32(2)
	items := []interpreter.AggregatedStatusItem{{ClusterName: "m", Status: &runtime.RawExtension{Raw: []byte(`{"readyReplicas":"many"}`)}}}
	for _, e := range hook.Entries() {
		_, err := hook.Interpret(t.Context(), &interpreter.Request{Operation: e.Operation, Object: obj, Observed: obj, Replicas: &replicas, Statuses: items})
		require.Error(t, err, e.Operation)
	}
}

func TestConfigurationRegistersWhatTheHookAnswers(t *testing.T) {
	t.Parallel()
	hook, err := newHook()
	require.NoError(t, err)
	text, err := os.ReadFile("configuration.yaml")
	require.NoError(t, err)
	configuration := &v1alpha1.ResourceInterpreterWebhookConfiguration{}
	require.NoError(t, yaml.UnmarshalStrict(text, configuration))
	assert.Empty(t, webhook.Validate(configuration))
	assert.Equal(t, webhook.RulesOf(hook), configuration.Webhooks[0].Rules)
}

func TestSampleIsWhatItsDefinitionSays(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("workload-crd.yaml")
	require.NoError(t, err)
	definitions, err := definition.Parse("workload-crd.yaml", text)
	require.NoError(t, err)
	require.Empty(t, definitions[0].Problems(t.Context()))

	text, err = os.ReadFile("workload.yaml")
	require.NoError(t, err)
	sample := &unstructured.Unstructured{}
	require.NoError(t, yaml.UnmarshalStrict(text, &sample.Object))
	mistakes, err := definitions[0].Version("v1alpha1").Validate(t.Context(), sample, nil)
	require.NoError(t, err)
	assert.Empty(t, mistakes)
}
