package conformance_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/builtin"
	"github.com/kubeinterpret/interpret/builtin/thirdparty"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
	"github.com/kubeinterpret/interpret/webhook/conformance"
)

var workloadKind = schema.GroupVersionKind{Group: "workload.example.io", Version: "v1alpha1", Kind: "Workload"}

func object(t testing.TB, text string) *unstructured.Unstructured {
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	o := &unstructured.Unstructured{}
	require.NoError(t, o.UnmarshalJSON(data))
	return o
}

func workload(t testing.TB) *unstructured.Unstructured {
	return object(t, `{apiVersion: workload.example.io/v1alpha1, kind: Workload, metadata: {name: web, namespace: demo}, spec: {replicas: 3, config: settings}, status: {readyReplicas: 3}}`)
}

// operations are all that a hook can be registered for.
func operations() []interpreter.Operation {
	return slices.DeleteFunc(interpreter.Operations(), func(o interpreter.Operation) bool { return o == interpreter.Prune })
}

// workloadRules are for all operations on Workloads but one, so that there is one the hook is not registered for.
func workloadRules() []v1alpha1.RuleWithOperations {
	return []v1alpha1.RuleWithOperations{{
		Operations: operations(),
		Rule:       v1alpha1.Rule{APIGroups: []string{workloadKind.Group}, APIVersions: []string{workloadKind.Version}, Kinds: []string{workloadKind.Kind}},
	}}
}

// workloadQuestions are about a sample, for all operations.
func workloadQuestions(t testing.TB) []conformance.Question {
	questions, err := conformance.Questions(workloadRules(), conformance.Samples{
		Desired: []*unstructured.Unstructured{workload(t)}, Observed: []*unstructured.Unstructured{workload(t)},
	})
	require.NoError(t, err)
	require.Len(t, questions, len(operations()))
	return questions
}

// workloadHook is a hook written with the SDK.
func workloadHook(t testing.TB) *webhook.Hook {
	hook, err := webhook.NewHook(webhook.Functions{workloadKind: {
		interpreter.InterpretReplica: interpreter.ReplicaFunc(func(o *unstructured.Unstructured) (int32, *interpreter.ReplicaRequirements, error) {
			n, _, err := unstructured.NestedInt64(o.Object, "spec", "replicas")
			return int32(n), &interpreter.ReplicaRequirements{ResourceRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}}, err
		}),
		interpreter.InterpretComponent: interpreter.ComponentFunc(func(*unstructured.Unstructured) ([]interpreter.Component, error) {
			return []interpreter.Component{{Name: "main", Replicas: 1}, {Name: "helper", Replicas: 2}}, nil
		}),
		interpreter.ReviseReplica: interpreter.ReviseFunc(func(o *unstructured.Unstructured, n int32) error {
			return unstructured.SetNestedField(o.Object, int64(n), "spec", "replicas")
		}),
		interpreter.Retain: interpreter.RetainFunc(func(desired, _ *unstructured.Unstructured) error {
			return unstructured.SetNestedField(desired.Object, true, "spec", "kept")
		}),
		interpreter.AggregateStatus: interpreter.AggregateFunc(func(o *unstructured.Unstructured, items []interpreter.AggregatedStatusItem) error {
			return unstructured.SetNestedField(o.Object, int64(len(items)), "status", "clusters")
		}),
		interpreter.InterpretStatus: interpreter.StatusFunc(func(o *unstructured.Unstructured) (any, error) { return o.Object["status"], nil }),
		interpreter.InterpretHealth: interpreter.HealthFunc(func(*unstructured.Unstructured) (interpreter.Health, error) {
			return interpreter.Health{Status: interpreter.Degraded, Message: "no leader"}, nil
		}),
		interpreter.InterpretDependency: interpreter.DependencyFunc(func(o *unstructured.Unstructured) ([]interpreter.DependentObjectReference, error) {
			return []interpreter.DependentObjectReference{
				{APIVersion: "v1", Kind: "ConfigMap", Namespace: o.GetNamespace(), Name: "settings"},
				{APIVersion: "v1", Kind: "Secret", Namespace: o.GetNamespace(), Name: "keys"},
			}, nil
		}),
	}})
	require.NoError(t, err)
	return hook
}

func handlerOf(t testing.TB, in interpreter.Interpreter) http.Handler {
	h, err := webhook.NewHandler(in)
	require.NoError(t, err)
	return h
}

// authority signs certificates.
type authority struct {
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	bundle []byte
}

func newAuthority(t testing.TB) *authority {
	a := &authority{}
	var err error
	a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"},
		NotBefore: time.Now().Add(-100 * 24 * time.Hour), NotAfter: time.Now().Add(100 * 24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	require.NoError(t, err)
	a.cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	a.bundle = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

// issue makes a certificate, valid for a month, that may be changed before it is signed.
func (a *authority) issue(t testing.TB, change func(*x509.Certificate)) tls.Certificate {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "127.0.0.1"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(30 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	if change != nil {
		change(template)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// served is a hook on a loopback address until the test ends, as a configuration registers it. The server may be
// changed before it starts.
func served(t testing.TB, h http.Handler, rules []v1alpha1.RuleWithOperations, change func(*httptest.Server, *authority)) conformance.Hook {
	a := newAuthority(t)
	s := httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{a.issue(t, nil)}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if change != nil {
		change(s, a)
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	c := configured(s.URL, a.bundle, rules)
	hook, err := conformance.HookOf(c, &c.Webhooks[0])
	require.NoError(t, err)
	return hook
}

func configured(url string, bundle []byte, rules []v1alpha1.RuleWithOperations) *v1alpha1.ResourceInterpreterWebhookConfiguration {
	c := &v1alpha1.ResourceInterpreterWebhookConfiguration{}
	c.Name = "hooks"
	c.Webhooks = []v1alpha1.ResourceInterpreterWebhook{{
		Name:                       "w.example.com",
		ClientConfig:               admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: bundle},
		Rules:                      rules,
		InterpreterContextVersions: []string{"v1alpha1"},
		// As long as there may be, for slow machines.
		TimeoutSeconds: new(int32(30)),
	}}
	return c
}

// run leaves out the one check whose verdict depends on what else the machine has to do.
func run(t testing.TB, hook conformance.Hook, questions []conformance.Question, options ...conformance.Option) *conformance.Report {
	return runTimed(t, hook, questions, append(options, conformance.WithSkip("latency"))...)
}

func runTimed(t testing.TB, hook conformance.Hook, questions []conformance.Question, options ...conformance.Option) *conformance.Report {
	kit, err := conformance.New(hook, questions, options...)
	require.NoError(t, err)
	report, err := kit.Run(t.Context())
	require.NoError(t, err)
	return report
}

// verdicts lists the checks with a verdict.
func verdicts(r *conformance.Report, v conformance.Verdict) []string {
	var ids []string
	for _, result := range r.Results {
		if result.Verdict == v {
			ids = append(ids, result.ID)
		}
	}
	return ids
}

// story is all that a report has against a hook.
func story(r *conformance.Report) string {
	var b strings.Builder
	for _, result := range r.Results {
		if result.Verdict == conformance.Skipped {
			fmt.Fprintf(&b, "%s skipped: %s\n", result.ID, result.Reason)
		}
		for _, p := range result.Problems {
			fmt.Fprintf(&b, "%s %s: %s %s: expected %s, got %s\n", result.Verdict, result.ID, p.Operation, p.Object, p.Expected, p.Got)
		}
	}
	return b.String()
}

func TestAHookWrittenWithTheSDKPassesEverything(t *testing.T) {
	t.Parallel()
	report := run(t, served(t, handlerOf(t, workloadHook(t)), workloadRules(), nil), workloadQuestions(t))
	assert.Len(t, verdicts(report, conformance.Pass), len(conformance.Checks())-1, story(report))
}

// The chain of all built-in rules, asked about Deployments for all operations but one.
func TestTheProjectsOwnServerPassesEverything(t *testing.T) {
	t.Parallel()
	bundle := thirdparty.New()
	chain := interpreter.NewChain(bundle.Layer(), bundle.Extra(), builtin.Extra(), builtin.Layer(), builtin.Fallback())
	deployment := object(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, generation: 1}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: web, envFrom: [{configMapRef: {name: settings}}], resources: {requests: {cpu: 100m}}}]
status: {observedGeneration: 1, replicas: 3, readyReplicas: 3, availableReplicas: 3, updatedReplicas: 3}
`)
	var rules []v1alpha1.RuleWithOperations
	for _, op := range operations() {
		if chain.Handles(deployment.GroupVersionKind(), op) {
			rules = append(rules, v1alpha1.RuleWithOperations{
				Operations: []interpreter.Operation{op},
				Rule:       v1alpha1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Kinds: []string{"Deployment"}},
			})
		}
	}
	questions, err := conformance.Questions(rules, conformance.Samples{
		Desired: []*unstructured.Unstructured{deployment}, Observed: []*unstructured.Unstructured{deployment},
	})
	require.NoError(t, err)
	report := run(t, served(t, handlerOf(t, chain), rules, nil), questions)
	assert.Len(t, verdicts(report, conformance.Pass), len(conformance.Checks())-1, story(report))
}
