package builtin

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/interpreter"
)

// example is one question about a kind, in YAML, and its answer. ApiVersion, kind, name "x" and namespace
// "ns1" are filled in where they are missing.
type example struct {
	name             string
	op               interpreter.Operation
	object, observed string
	// members are the statuses of clusters m0, m1, ...; an empty one has not reported.
	members []string
	// replicas is the number that ReviseReplica asks for.
	replicas int32
	// want is the object after Retain and Prune, the status of AggregateStatus and InterpretStatus ("null" is
	// nothing to report), status and reason of a health, one dependency a line, or the results of the other
	// operations by the names they have in the output of the command.
	want    string
	wantErr string
}

type suite struct {
	kind     kind
	examples []example
}

// suites are all examples. They are also what the fuzz test starts from.
var suites = []suite{
	{deployment, deploymentExamples},
	{replicaSet, replicaSetExamples},
	{replicationController, replicaSetExamples},
	{statefulSet, statefulSetExamples},
	{daemonSet, daemonSetExamples},
	{job, jobExamples},
	{cronJob, cronJobExamples},
	{pod, slices.Concat(podExamples, podStatusExamples, podEndExamples())},
	{service, serviceExamples},
	{ingress, ingressExamples},
	{secret, secretExamples},
	{serviceAccount, serviceAccountExamples},
	{persistentVolume, persistentVolumeExamples},
	{persistentVolumeClaim, persistentVolumeClaimExamples},
	{podDisruptionBudget, podDisruptionBudgetExamples},
	{horizontalPodAutoscaler, horizontalPodAutoscalerExamples},
	{serviceImport, serviceImportExamples},
	{namespace, namespaceExamples},
	{customResourceDefinition, customResourceDefinitionExamples},
	{apiService, apiServiceExamples},
	{mutatingWebhookConfiguration, webhookExamples},
	{validatingWebhookConfiguration, webhookExamples},
	{roleBinding, roleBindingExamples},
	{clusterRoleBinding, clusterRoleBindingExamples},
	{networkPolicy, networkPolicyExamples},
	{httpRoute, routeExamples},
	{grpcRoute, routeExamples},
	{tlsRoute, routeExamples},
	{tcpRoute, routeExamples},
	{udpRoute, routeExamples},
	{gateway, gatewayExamples},
	{listenerSet, gatewayExamples},
	{widget, widgetExamples},
}

func TestExamples(t *testing.T) {
	t.Parallel()
	chain := interpreter.NewChain(Extra(), Layer(), Fallback())
	for _, s := range suites {
		for _, e := range s.examples {
			t.Run(fmt.Sprintf("%s/%s/%s", s.kind.gvk.Kind, e.op, e.name), func(t *testing.T) {
				t.Parallel()
				checkExample(t, chain, s.kind, e)
			})
		}
	}
}

func TestEveryRuleHasExamples(t *testing.T) {
	t.Parallel()
	for _, s := range suites {
		for _, rules := range []rules{s.kind.rules, s.kind.extra} {
			for op := range rules {
				assert.True(t, slices.ContainsFunc(s.examples, func(e example) bool { return e.op == op }), "%s %s", s.kind.gvk.Kind, op)
			}
		}
	}
}

func checkExample(t *testing.T, in interpreter.Interpreter, k kind, e example) {
	t.Helper()
	req := e.request(t, k)
	object, observed := req.Object.DeepCopy(), req.Observed.DeepCopy()
	res, err := in.Interpret(t.Context(), req)
	require.Equal(t, object, req.Object, "the request was modified")
	require.Equal(t, observed, req.Observed, "the request was modified")
	if e.wantErr != "" {
		require.ErrorContains(t, err, e.wantErr)
		return
	}
	require.NoError(t, err)
	switch e.op {
	case interpreter.InterpretHealth:
		assert.Equal(t, e.want, fmt.Sprintf("%s %s", res.Health.Status, res.Health.Reason))
		assert.NotEmpty(t, res.Health.Message)
	case interpreter.InterpretDependency:
		assert.Equal(t, strings.TrimSpace(e.want), strings.Join(dependencyLines(res.Dependencies), "\n"))
	case interpreter.InterpretStatus:
		assertYAML(t, e.want, res.Status)
	case interpreter.InterpretReplica:
		assertYAML(t, e.want, map[string]any{"replica": res.Replicas, "requires": res.Requirements})
	case interpreter.InterpretComponent:
		assertYAML(t, e.want, res.Components)
	case interpreter.AggregateStatus:
		assertYAML(t, e.want, res.Object.Object["status"])
		back := *req
		back.Statuses = slices.Clone(req.Statuses)
		slices.Reverse(back.Statuses)
		again, err := in.Interpret(t.Context(), &back)
		require.NoError(t, err)
		assert.Equal(t, res.Object, again.Object, "the order of members matters")
	default:
		assert.Equal(t, complete(t, k, e.want), res.Object)
		twice := *req
		twice.Object = res.Object
		again, err := in.Interpret(t.Context(), &twice)
		require.NoError(t, err)
		assert.Equal(t, res.Object, again.Object, "twice is not the same as once")
	}
}

func (e example) request(t testing.TB, k kind) *interpreter.Request {
	req := &interpreter.Request{Operation: e.op, Object: complete(t, k, e.object)}
	if e.op == interpreter.ReviseReplica {
		req.Replicas = &e.replicas
	}
	if e.op == interpreter.Retain {
		req.Observed = complete(t, k, e.observed)
	}
	for i, status := range e.members {
		if status != "" {
			data, err := yaml.YAMLToJSON([]byte(status))
			require.NoError(t, err)
			status = string(data)
		}
		req.Statuses = append(req.Statuses, item(fmt.Sprintf("m%d", i), status))
	}
	return req
}

func complete(t testing.TB, k kind, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	require.NoError(t, yaml.Unmarshal([]byte(text), &obj.Object))
	if obj.Object == nil {
		obj.Object = map[string]any{}
	}
	obj.SetGroupVersionKind(k.gvk)
	if obj.GetName() == "" {
		obj.SetName("x")
	}
	if obj.GetNamespace() == "" && !clusterScoped[k.gvk.Kind] {
		obj.SetNamespace("ns1")
	}
	// Numbers as an unstructured object from a cluster has them.
	data, err := obj.MarshalJSON()
	require.NoError(t, err)
	require.NoError(t, obj.UnmarshalJSON(data))
	return obj
}

var clusterScoped = map[string]bool{"Namespace": true, "PersistentVolume": true, "ClusterRoleBinding": true}

func assertYAML(t *testing.T, want string, got any) {
	t.Helper()
	data, err := yaml.Marshal(got)
	require.NoError(t, err)
	assert.YAMLEq(t, want, string(data))
}

func dependencyLines(list []interpreter.DependentObjectReference) []string {
	lines := make([]string, len(list))
	for i, d := range list {
		lines[i] = fmt.Sprintf("%s %s %s/%s", d.APIVersion, d.Kind, d.Namespace, d.Name)
		if d.LabelSelector != nil {
			lines[i] += fmt.Sprint(d.LabelSelector.MatchLabels)
		}
	}
	return lines
}

// widget is a kind that is not in the index.
var widget = func() kind {
	k := kind{gvk: anyKind.gvk}
	k.gvk.Group, k.gvk.Version, k.gvk.Kind = "demo.io", "v1", "Widget"
	return k
}()

var widgetExamples = []example{
	{name: "the whole status", op: interpreter.InterpretStatus, object: "status: {a: {b: [1, {}]}}", want: "{a: {b: [1, {}]}}"},
	{name: "an empty status", op: interpreter.InterpretStatus, object: "status: {}", want: "{}"},
	{name: "a null status", op: interpreter.InterpretStatus, object: "status: null", want: "null"},
	{name: "no status", op: interpreter.InterpretStatus, want: "null"},
	{name: "status of a wrong type", op: interpreter.InterpretStatus, object: "status: Ready", wantErr: `status must be an object, got the text "Ready"`},
	{name: "what the control plane owns goes", op: interpreter.Prune, object: `
metadata:
  creationTimestamp: "2024-05-01T10:00:00Z"
  deletionGracePeriodSeconds: 30
  deletionTimestamp: "2024-05-01T11:00:00Z"
  finalizers: [a/b]
  generation: 4
  managedFields: []
  ownerReferences: []
  resourceVersion: "9"
  selfLink: /x
  uid: u
  generateName: x-
  labels: {uid: l}
  annotations: {}
spec: {status: {}, metadata: {uid: inner}}
status: {}`, want: `
metadata: {generateName: x-, labels: {uid: l}, annotations: {}}
spec: {status: {}, metadata: {uid: inner}}`},
	{name: "no health", op: interpreter.InterpretHealth, wantErr: "no rule for demo.io/v1 Widget"},
}
