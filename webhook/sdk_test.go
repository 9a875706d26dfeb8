package webhook_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
)

func workloadHook(t testing.TB) *webhook.Hook {
	h, err := webhook.NewHook(webhook.Functions{
		workloadKind: {
			interpreter.InterpretHealth: interpreter.HealthFunc(func(obj *unstructured.Unstructured) (interpreter.Health, error) {
				paused, _, err := unstructured.NestedBool(obj.Object, "spec", "paused")
				return interpreter.HealthOfBool(!paused), err
			}),
			interpreter.ReviseReplica: interpreter.ReviseFunc(func(obj *unstructured.Unstructured, n int32) error {
				return unstructured.SetNestedField(obj.Object, int64(n), "spec", "replicas")
			}),
			interpreter.Prune: interpreter.PruneFunc(func(obj *unstructured.Unstructured) error {
				obj.SetName("other")
				return nil
			}),
		},
		{Version: "v1", Kind: "Pod"}: {interpreter.InterpretHealth: answers(nil)},
	})
	require.NoError(t, err)
	return h
}

func TestAHookMadeOfFunctions(t *testing.T) {
	s := serving(t, workloadHook(t))
	assert.Equal(t, answering(`,"healthy":true`), post(t, s.URL, with("InterpretHealth", "", 0, "")).body)
	assert.Equal(t, answering(patching(`[{"op":"replace","path":"/spec/replicas","value":3}]`)), post(t, s.URL, with("ReviseReplica", "", 3, "")).body)
	assert.Equal(t, answering(""), post(t, s.URL, with("ReviseReplica", "", 1, "")).body)
	assert.Equal(t, failure("u1", 400, "ReviseReplica of workload.example.io/v1alpha1 Workload demo/web: invalid request: replicas must not be negative, got -1"),
		post(t, s.URL, with("ReviseReplica", "", -1, "")).body)
	assert.Equal(t, failure("u1", 404, "InterpretReplica of workload.example.io/v1alpha1 Workload demo/web: no rule for workload.example.io/v1alpha1 Workload; have rules for InterpretHealth, Prune, ReviseReplica"),
		post(t, s.URL, with("InterpretReplica", "", 0, "")).body)
	assert.Contains(t, post(t, s.URL, with("Prune", "", 0, "")).body, `the answer is another object: metadata.name is \"other\", was \"web\"`)
}

func TestFunctionsAreChecked(t *testing.T) {
	_, err := webhook.NewHook(webhook.Functions{
		{Group: "g"}: {"Delete": answers(nil)},
		workloadKind: {interpreter.InterpretHealth: nil},
	})
	require.ErrorContains(t, err, `a kind needs a version and a kind, got "" and ""`)
	require.ErrorContains(t, err, `unknown operation "Delete"`)
	require.ErrorContains(t, err, "workload.example.io/v1alpha1 Workload: InterpretHealth has no function")
}

// entries lists what a test says.
type entries []interpreter.Entry

func (e entries) Entries() []interpreter.Entry { return e }

func TestRulesThatRegisterALayer(t *testing.T) {
	rules := webhook.RulesOf(workloadHook(t))
	assert.JSONEq(t, `[
		{"operations":["InterpretHealth"],"apiGroups":[""],"apiVersions":["v1"],"kinds":["Pod"]},
		{"operations":["InterpretHealth","ReviseReplica"],"apiGroups":["workload.example.io"],"apiVersions":["v1alpha1"],"kinds":["Workload"]}
	]`, string(must(json.Marshal(rules))))
	c := configured("https://127.0.0.1", nil)
	c.Webhooks[0].Rules = rules
	assert.Empty(t, webhook.Validate(c))

	assert.Empty(t, webhook.RulesOf(entries{{Kind: schema.GroupVersionKind{Group: "*.demo.io", Version: "*", Kind: "*"}, Operation: "Retain"}}))
	all := schema.GroupVersionKind{Group: "*", Version: "*", Kind: "*"}
	assert.Equal(t, []v1alpha1.RuleWithOperations{{Operations: []interpreter.Operation{"Retain"}, Rule: everything.Rule}},
		webhook.RulesOf(entries{{Kind: all, Operation: "Retain"}, {Kind: all, Operation: "Retain"}}))
}

func TestObjectsAsGoTypes(t *testing.T) {
	d, err := webhook.As[appsv1.Deployment](object(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2}}`))
	require.NoError(t, err)
	assert.EqualValues(t, 2, *d.Spec.Replicas)
	_, err = webhook.As[appsv1.Deployment](object(`{apiVersion: apps/v1, kind: Deployment, spec: {replicas: many}}`))
	require.ErrorIs(t, err, interpreter.ErrInvalidRequest)
	assert.True(t, strings.Contains(err.Error(), "replicas"), "%v", err)
}
