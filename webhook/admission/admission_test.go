package admission_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook/admission"
)

// stored are customizations, or why they cannot be read.
type stored struct {
	list []*v1alpha1.ResourceInterpreterCustomization
	err  error
}

func (s stored) Customizations(context.Context) ([]*v1alpha1.ResourceInterpreterCustomization, error) {
	return s.list, s.err
}

// custom reads a customization for demo.io/v1 Widget; rules are "key: script" in YAML.
func custom(t testing.TB, name, rules string) *v1alpha1.ResourceInterpreterCustomization {
	t.Helper()
	scripts := map[string]string{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(rules), &scripts))
	customizations := map[string]any{}
	for key, script := range scripts {
		customizations[key] = map[string]any{"luaScript": script}
	}
	c := &v1alpha1.ResourceInterpreterCustomization{}
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": v1alpha1.KindResourceInterpreterCustomization,
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"target":         map[string]any{"apiVersion": "demo.io/v1", "kind": "Widget"},
			"customizations": customizations,
		},
	}, c))
	return c
}

const (
	status = `statusReflection: function ReflectStatus(o) return o.status end`
	broken = "statusReflection: |\n  function ReflectStatus(o)\n    return = o\n  end\n"
)

// ask is a review of an object, and of the one before if there is one.
func ask(t testing.TB, operation admissionv1.Operation, object, old any) *admissionv1.AdmissionReview {
	t.Helper()
	raw := func(v any) (r runtime.RawExtension) {
		if v != nil {
			var err error
			r.Raw, err = json.Marshal(v)
			require.NoError(t, err)
		}
		return r
	}
	kind, resource := v1alpha1.KindResourceInterpreterCustomization, "resourceinterpretercustomizations"
	if _, is := object.(*v1alpha1.ResourceInterpreterWebhookConfiguration); is {
		kind, resource = v1alpha1.KindResourceInterpreterWebhookConfiguration, "resourceinterpreterwebhookconfigurations"
	}
	return &admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "u1", Name: "a", Operation: operation, Object: raw(object), OldObject: raw(old),
			Kind:     metav1.GroupVersionKind{Group: v1alpha1.GroupName, Version: "v1alpha1", Kind: kind},
			Resource: metav1.GroupVersionResource{Group: v1alpha1.GroupName, Version: "v1alpha1", Resource: resource},
		},
	}
}

func handler(t testing.TB, s admission.Stored, options ...admission.Option) *admission.Handler {
	t.Helper()
	h, err := admission.New(s, options...)
	require.NoError(t, err)
	return h
}

// post sends a body and gives what comes back.
func post(h http.Handler, body []byte) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/validate", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	h.ServeHTTP(w, r)
	return w
}

// review asks, and expects an answer.
func review(t testing.TB, h http.Handler, question *admissionv1.AdmissionReview) *admissionv1.AdmissionResponse {
	t.Helper()
	body, err := json.Marshal(question)
	require.NoError(t, err)
	w := post(h, body)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	var answer admissionv1.AdmissionReview
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
	assert.Equal(t, question.TypeMeta, answer.TypeMeta)
	assert.Nil(t, answer.Request)
	require.NotNil(t, answer.Response)
	assert.Equal(t, question.Request.UID, answer.Response.UID)
	if !answer.Response.Allowed {
		require.NotNil(t, answer.Response.Result)
	}
	return answer.Response
}

// message is why an object was refused, empty if it was not.
func message(a *admissionv1.AdmissionResponse) string {
	if a.Allowed {
		return ""
	}
	return a.Result.Message
}

func TestCustomizations(t *testing.T) {
	for name, c := range map[string]struct {
		rules, refused, warned string
		change                 func(*v1alpha1.ResourceInterpreterCustomization)
	}{
		"sound": {rules: status},
		"syntax": {rules: broken,
			refused: `spec.customizations.statusReflection.luaScript: line 2, column 10: syntax error near "="`},
		"no function": {rules: "healthInterpretation: x = 1",
			refused: "spec.customizations.healthInterpretation.luaScript: the script defines no function InterpretHealth"},
		"two mistakes": {rules: "healthInterpretation: x = 1\nretention: y = 1",
			refused: "spec.customizations.retention.luaScript: the script defines no function Retain\n" +
				"spec.customizations.healthInterpretation.luaScript: the script defines no function InterpretHealth"},
		"a likely mistake": {rules: "statusReflection: function ReflectStatus(o) return observed end",
			warned: "spec.customizations.statusReflection.luaScript: line 1, column 34: the global observed is read and never set"},
		"a mistake and a likely one": {rules: broken + "healthInterpretation: function InterpretHealth(o) return obj.ok end",
			refused: `spec.customizations.statusReflection.luaScript: line 2, column 10: syntax error near "="`,
			warned:  "spec.customizations.healthInterpretation.luaScript: line 1, column 36: the global obj is read and never set"},
		"an empty script": {rules: `statusReflection: ""`,
			warned: "spec.customizations.statusReflection.luaScript: the script is empty, so the operation is left to the layers below; leave the rule out"},
		"no target kind": {rules: status, change: func(c *v1alpha1.ResourceInterpreterCustomization) { c.Spec.Target.Kind = "" },
			refused: "spec.target.kind: is required"},
		"a target that cannot be": {rules: status, change: func(c *v1alpha1.ResourceInterpreterCustomization) { c.Spec.Target.APIVersion = "a*b/v1" },
			refused: `spec.target.apiVersion: "a*b/v1": a group is a name, "*" or "*.suffix"`},
	} {
		t.Run(name, func(t *testing.T) {
			object := custom(t, "a", c.rules)
			if c.change != nil {
				c.change(object)
			}
			for _, operation := range []admissionv1.Operation{admissionv1.Create, admissionv1.Update} {
				var old any
				if operation == admissionv1.Update {
					old = custom(t, "a", "pruning: function Prune(o) return o end")
				}
				got := review(t, handler(t, stored{}), ask(t, operation, object, old))
				assert.Equal(t, c.refused, message(got))
				assert.Equal(t, c.warned, strings.Join(got.Warnings, "\n"))
			}
		})
	}
}

func TestARefusalSaysMoreThanItsMessage(t *testing.T) {
	got := review(t, handler(t, stored{}), ask(t, admissionv1.Create, custom(t, "a", broken), nil))
	assert.Equal(t, &metav1.Status{
		Status: "Failure", Code: 422, Reason: metav1.StatusReasonInvalid,
		Message: `spec.customizations.statusReflection.luaScript: line 2, column 10: syntax error near "="`,
		Details: &metav1.StatusDetails{
			Group: "config.karmada.io", Kind: "ResourceInterpreterCustomization", Name: "a",
			Causes: []metav1.StatusCause{{
				Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.customizations.statusReflection.luaScript",
				Message: `line 2, column 10: syntax error near "="`,
			}},
		},
	}, got.Result)
}

func TestNoRulesAreAWarning(t *testing.T) {
	got := review(t, handler(t, stored{}), ask(t, admissionv1.Create, custom(t, "a", "{}"), nil))
	assert.True(t, got.Allowed)
	require.Len(t, got.Warnings, 1)
	assert.Contains(t, got.Warnings[0], "there are no rules")
}

// paths are the fields of a kind.
type paths []string

func (p paths) HasField(path ...string) (bool, int, string) {
	for i := range path {
		if !slices.Contains(p, strings.Join(path[:i+1], ".")) {
			return false, i, "status"
		}
	}
	return true, 0, ""
}

func TestFieldsThatAreNotThereAreWarnedOf(t *testing.T) {
	known := func(kind schema.GroupKind) map[string]declarative.Fields {
		assert.Equal(t, schema.GroupKind{Group: "demo.io", Kind: "Widget"}, kind)
		return map[string]declarative.Fields{"v1": paths{"status"}}
	}
	h := handler(t, stored{}, admission.WithFields(known))
	got := review(t, h, ask(t, admissionv1.Create, custom(t, "a", "statusReflection: function ReflectStatus(o) return o.sttus end"), nil))
	assert.True(t, got.Allowed)
	assert.Equal(t, []string{"spec.customizations.statusReflection.luaScript: line 1, column 36: Widget has no field sttus, did you mean status?"}, got.Warnings)
	got = review(t, h, ask(t, admissionv1.Create, custom(t, "a", status), nil))
	assert.True(t, got.Allowed)
	assert.Empty(t, got.Warnings)
}

func TestConflictsWithWhatIsStored(t *testing.T) {
	const dependencies = "dependencyInterpretation: function GetDependencies(o) return {} end"
	both := custom(t, "b", status+"\n"+dependencies)
	other := custom(t, "c", status)
	other.Spec.Target.Kind = "Gadget"
	selected := custom(t, "d", status)
	selected.Spec.Target.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	h := handler(t, stored{list: []*v1alpha1.ResourceInterpreterCustomization{
		both, other, selected, custom(t, "e", broken), custom(t, "own", "retention: function Retain(d, o) return d end"),
	}})
	for name, c := range map[string]struct{ name, rules, refused string }{
		"the same operation": {"z", status,
			`spec.customizations.statusReflection: conflict: InterpretStatus of demo.io/v1 Widget: customizations "b" and "z" both have a rule; "b" answers, being first by name`},
		"the same operation, first by name": {"a", status,
			`spec.customizations.statusReflection: conflict: InterpretStatus of demo.io/v1 Widget: customizations "a" and "b" both have a rule; "a" answers, being first by name`},
		"another operation":              {"z", "pruning: function Prune(o) return o end", ""},
		"dependencies, which are joined": {"z", dependencies, ""},
		"itself":                         {"own", "retention: function Retain(d, o) return o end", ""},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.refused, message(review(t, h, ask(t, admissionv1.Create, custom(t, c.name, c.rules), nil))))
		})
	}
}

func TestWhatCannotBeToldIsNoYes(t *testing.T) {
	got := review(t, handler(t, stored{err: interpreter.ErrNotReady}), ask(t, admissionv1.Create, custom(t, "a", status), nil))
	assert.False(t, got.Allowed)
	assert.Equal(t, int32(http.StatusInternalServerError), got.Result.Code)
	assert.Equal(t, "whether other customizations have a rule for the same cannot be told: not ready", got.Result.Message)
	assert.True(t, review(t, handler(t, nil), ask(t, admissionv1.Create, custom(t, "a", status), nil)).Allowed)
}

func TestWhatIsLetThrough(t *testing.T) {
	h := handler(t, stored{list: []*v1alpha1.ResourceInterpreterCustomization{custom(t, "0", status)}})
	labelled := custom(t, "a", broken)
	labelled.Labels = map[string]string{"a": "b"}
	deleted := custom(t, "a", broken)
	deleted.DeletionTimestamp = new(metav1.Now())
	for name, c := range map[string]struct {
		review   *admissionv1.AdmissionReview
		warnings int
	}{
		"deleting":                        {ask(t, admissionv1.Delete, nil, custom(t, "a", broken)), 0},
		"connecting":                      {ask(t, admissionv1.Connect, custom(t, "a", broken), nil), 0},
		"labels of a broken object":       {ask(t, admissionv1.Update, labelled, custom(t, "a", broken)), 1},
		"finalizers of one that is going": {ask(t, admissionv1.Update, deleted, custom(t, "a", status)), 1},
		"labels of one in conflict":       {ask(t, admissionv1.Update, custom(t, "a", status), custom(t, "a", status)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := review(t, h, c.review)
			assert.Empty(t, message(got))
			assert.Len(t, got.Warnings, c.warnings)
		})
	}
}

func TestOtherResourcesAreNotLookedAt(t *testing.T) {
	pods := ask(t, admissionv1.Create, map[string]any{"kind": "Pod"}, nil)
	pods.Request.Resource = metav1.GroupVersionResource{Version: "v1", Resource: "pods"}
	got := review(t, handler(t, stored{}), pods)
	assert.True(t, got.Allowed)
	assert.Equal(t, []string{"pods was not looked at: the webhook configuration sends it to where only " +
		"resourceinterpretercustomizations and resourceinterpreterwebhookconfigurations of config.karmada.io are known"}, got.Warnings)
}

// configuration is a webhook configuration with nothing wrong, or one thing.
func configuration(change func(*v1alpha1.ResourceInterpreterWebhook)) *v1alpha1.ResourceInterpreterWebhookConfiguration {
	c := &v1alpha1.ResourceInterpreterWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "hooks"},
		Webhooks: []v1alpha1.ResourceInterpreterWebhook{{
			Name:         "w.example.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: new("https://hook.example.com/interpret")},
			Rules: []v1alpha1.RuleWithOperations{{
				Operations: []v1alpha1.InterpreterOperation{"*"},
				Rule:       v1alpha1.Rule{APIGroups: []string{"demo.io"}, APIVersions: []string{"v1"}, Kinds: []string{"Widget"}},
			}},
			InterpreterContextVersions: []string{"v1alpha1"},
		}},
	}
	change(&c.Webhooks[0])
	return c
}

func TestConfigurations(t *testing.T) {
	type hook = v1alpha1.ResourceInterpreterWebhook
	for name, c := range map[string]struct {
		change          func(*hook)
		refused, warned string
	}{
		"sound":     {change: func(*hook) {}},
		"no domain": {change: func(w *hook) { w.Name = "w" }, refused: `webhooks[0].name: Invalid value: "w": should be a domain with at least two segments separated by dots`},
		"wrong case": {change: func(w *hook) { w.Rules[0].Operations[0] = "retain" },
			refused: `webhooks[0].rules[0].operations[0]: Unsupported value: "retain": supported values: "*", "AggregateStatus", ` +
				`"InterpretComponent", "InterpretDependency", "InterpretHealth", "InterpretReplica", "InterpretStatus", "Retain", "ReviseReplica"`},
		"no time":       {change: func(w *hook) { w.TimeoutSeconds = new(int32(0)) }, refused: "webhooks[0].timeoutSeconds: Invalid value: 0: must be from 1 to 30"},
		"too much time": {change: func(w *hook) { w.TimeoutSeconds = new(int32(31)) }, refused: "webhooks[0].timeoutSeconds: Invalid value: 31: must be from 1 to 30"},
		"http": {change: func(w *hook) { w.ClientConfig.URL = new("http://hook.example.com") },
			refused: `webhooks[0].clientConfig.url: Invalid value: "http://hook.example.com": the scheme must be https`},
		"two mistakes": {change: func(w *hook) { w.TimeoutSeconds, w.InterpreterContextVersions = new(int32(31)), nil },
			refused: "webhooks[0].timeoutSeconds: Invalid value: 31: must be from 1 to 30\n" +
				"webhooks[0].interpreterContextVersions: Required value: must have v1alpha1"},
		"no rules": {change: func(w *hook) { w.Rules = nil }, warned: "webhooks[0].rules: there are none, so the hook is never asked"},
		"no certificate": {change: func(w *hook) { w.ClientConfig.CABundle = []byte("none") },
			warned: "webhooks[0].clientConfig.caBundle: it holds no certificate in PEM, so no connection will be trusted"},
	} {
		t.Run(name, func(t *testing.T) {
			h := handler(t, stored{err: errors.New("nobody asks")})
			got := review(t, h, ask(t, admissionv1.Create, configuration(c.change), nil))
			assert.Equal(t, c.refused, message(got))
			assert.Equal(t, c.warned, strings.Join(got.Warnings, "\n"))
			unchanged := review(t, h, ask(t, admissionv1.Update, configuration(c.change), configuration(c.change)))
			assert.True(t, unchanged.Allowed)
		})
	}
}

func TestWhatIsNoReviewIsTurnedAwayWithItsUID(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		code int
		uid  string
		says string
	}{
		"nothing":          {"", 400, "", "the body is no AdmissionReview"},
		"garbage":          {`{"request":{"uid":"u7","object":`, 400, "u7", "the body is no AdmissionReview"},
		"a wrong type":     {`{"request":{"uid":"u7","name":1}}`, 400, "u7", "the body is no AdmissionReview"},
		"another kind":     {`{"apiVersion":"v1","kind":"Pod"}`, 400, "", `the body must be an AdmissionReview of admission.k8s.io/v1, got "Pod" of "v1"`},
		"another version":  {`{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{"uid":"u7"}}`, 400, "u7", "admission.k8s.io/v1beta1"},
		"without question": {`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, 400, "", "has no request"},
		"too long":         {`{"request":{"uid":"u7","name":"` + strings.Repeat("x", 2000) + `"}}`, 413, "u7", "the body has more than 1000 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			w := post(handler(t, stored{}, admission.WithBodyLimit(1000)), []byte(c.body))
			assert.Equal(t, c.code, w.Code)
			var got struct {
				metav1.Status
				Response admissionv1.AdmissionResponse
			}
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
			assert.Equal(t, c.uid, string(got.Response.UID))
			assert.False(t, got.Response.Allowed)
			assert.Contains(t, got.Message, c.says)
			assert.Equal(t, "Status", got.Kind)
		})
	}
}

func TestAnObjectOfAnotherShapeIsRefused(t *testing.T) {
	question := ask(t, admissionv1.Create, map[string]any{"spec": "no"}, nil)
	got := review(t, handler(t, stored{}), question)
	assert.False(t, got.Allowed)
	assert.Equal(t, int32(http.StatusBadRequest), got.Result.Code)
	assert.Contains(t, got.Result.Message, "the object cannot be decoded as a ResourceInterpreterCustomization of config.karmada.io/v1alpha1")
}

// panics has no answer.
type panics struct{ admission.Stored }

func TestAPanicIsContained(t *testing.T) {
	var log bytes.Buffer
	h := handler(t, panics{}, admission.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	got := review(t, h, ask(t, admissionv1.Create, custom(t, "a", status), nil))
	assert.False(t, got.Allowed)
	assert.Contains(t, got.Result.Message, "panic: ")
	assert.Contains(t, log.String(), "stack=")
	assert.Contains(t, log.String(), "outcome=failed")
}

func TestReviewsAreCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	for range 2 {
		h := handler(t, stored{}, admission.WithRegisterer(registry))
		review(t, h, ask(t, admissionv1.Create, custom(t, "a", status), nil))
		review(t, h, ask(t, admissionv1.Create, custom(t, "a", broken), nil))
		review(t, h, ask(t, admissionv1.Create, custom(t, "a", "{}"), nil))
	}
	families, err := registry.Gather()
	require.NoError(t, err)
	require.Len(t, families, 1)
	counts := map[string]float64{}
	for _, m := range families[0].GetMetric() {
		key := ""
		for _, l := range m.GetLabel() {
			key += l.GetValue() + " "
		}
		counts[strings.TrimSpace(key)] = m.GetCounter().GetValue()
	}
	assert.Equal(t, map[string]float64{
		"allowed resourceinterpretercustomizations": 2,
		"refused resourceinterpretercustomizations": 2,
		"warned resourceinterpretercustomizations":  2,
	}, counts)
}

func TestOptionsAreChecked(t *testing.T) {
	_, err := admission.New(nil, admission.WithBodyLimit(0))
	require.ErrorContains(t, err, "the body limit must be positive, got 0")
	_, err = admission.New(nil, admission.WithLayerOptions(declarative.WithName("")))
	require.ErrorContains(t, err, "the layer's name is empty")
}

func TestRegistration(t *testing.T) {
	text, err := yaml.Marshal(admission.Registration("interpret", admissionregistrationv1.WebhookClientConfig{
		Service: &admissionregistrationv1.ServiceReference{Namespace: "system", Name: "interpret", Path: new("/validate")},
	}))
	require.NoError(t, err)
	webhook := func(resource string, seconds int) string {
		return fmt.Sprintf(`- admissionReviewVersions:
  - v1
  clientConfig:
    service:
      name: interpret
      namespace: system
      path: /validate
  failurePolicy: Fail
  matchPolicy: Equivalent
  name: %[1]s.admission.kubeinterpret.io
  rules:
  - apiGroups:
    - config.karmada.io
    apiVersions:
    - '*'
    operations:
    - CREATE
    - UPDATE
    resources:
    - %[1]s
    scope: Cluster
  sideEffects: None
  timeoutSeconds: %d
`, resource, seconds)
	}
	assert.Equal(t, "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata:\n  name: interpret\nwebhooks:\n"+
		webhook("resourceinterpretercustomizations", 10)+webhook("resourceinterpreterwebhookconfigurations", 3), string(text))
}
