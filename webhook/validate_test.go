package webhook_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
)

const validConfiguration = `
metadata: {name: hooks}
webhooks:
- name: w.example.com
  clientConfig: {url: "https://127.0.0.1:8443/interpret"}
  rules:
  - {operations: [InterpretHealth], apiGroups: [""], apiVersions: [v1], kinds: [Pod]}
  timeoutSeconds: 3
  interpreterContextVersions: [v1alpha1]
- name: service.example.com.
  clientConfig: {service: {namespace: hooks, name: everything}}
  interpreterContextVersions: [v2, v1alpha1]
`

func configuration(t testing.TB, text string) *v1alpha1.ResourceInterpreterWebhookConfiguration {
	c := &v1alpha1.ResourceInterpreterWebhookConfiguration{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), c))
	return c
}

func TestValidConfigurations(t *testing.T) {
	assert.Empty(t, webhook.Validate(configuration(t, validConfiguration)))
	for _, op := range append(interpreter.Operations(), "*") {
		c := configuration(t, validConfiguration)
		c.Webhooks[0].Rules[0].Operations = []interpreter.Operation{op}
		assert.Equal(t, op == interpreter.Prune, len(webhook.Validate(c)) > 0, op)
	}
}

func TestMistakesInConfigurations(t *testing.T) {
	const url = `{url: "https://127.0.0.1:8443/interpret"}`
	const service = "{service: {namespace: hooks, name: everything}}"
	for _, c := range []struct {
		old, new string
		want     []string
	}{
		{"w.example.com", "w", []string{`webhooks[0].name: Invalid value: "w": should be a domain with at least two segments separated by dots`}},
		{"w.example.com", "service.example.com.", []string{`webhooks[1].name: Duplicate value: "service.example.com."`}},
		{"[InterpretHealth]", "[]", []string{"webhooks[0].rules[0].operations: Required value"}},
		{"[InterpretHealth]", "['*', InterpretHealth]", []string{`webhooks[0].rules[0].operations: Invalid value: ["*","InterpretHealth"]: "*" must stand alone`}},
		{"[InterpretHealth]", "[interprethealth]", []string{`webhooks[0].rules[0].operations[0]: Unsupported value: "interprethealth": supported values: "*", "AggregateStatus", "InterpretComponent", "InterpretDependency", "InterpretHealth", "InterpretReplica", "InterpretStatus", "Retain", "ReviseReplica"`}},
		{`apiGroups: [""]`, "apiGroups: []", []string{"webhooks[0].rules[0].apiGroups: Required value"}},
		{`apiVersions: [v1]`, `apiVersions: [""]`, []string{"webhooks[0].rules[0].apiVersions[0]: Required value"}},
		{`kinds: [Pod]`, `kinds: ["", "*"]`, []string{`webhooks[0].rules[0].kinds: Invalid value: ["","*"]: "*" must stand alone`, "webhooks[0].rules[0].kinds[0]: Required value"}},
		{"timeoutSeconds: 3", "timeoutSeconds: 0", []string{"webhooks[0].timeoutSeconds: Invalid value: 0: must be from 1 to 30"}},
		{"timeoutSeconds: 3", "timeoutSeconds: 31", []string{"webhooks[0].timeoutSeconds: Invalid value: 31: must be from 1 to 30"}},
		{"[v1alpha1]", "[]", []string{"webhooks[0].interpreterContextVersions: Required value: must have v1alpha1"}},
		{"[v1alpha1]", "[v2]", []string{`webhooks[0].interpreterContextVersions: Invalid value: ["v2"]: must have v1alpha1, the only version there is`}},
		{"[v1alpha1]", "[v1alpha1, v1alpha1]", []string{`webhooks[0].interpreterContextVersions[1]: Duplicate value: "v1alpha1"`}},
		{"[v1alpha1]", "[v1alpha1, '2']", []string{`webhooks[0].interpreterContextVersions[1]: Invalid value: "2": a DNS-1035 label`}},
		{url, "{}", []string{"webhooks[0].clientConfig: Required value: exactly one of url and service is required"}},
		{url, `{url: "https://a", service: {namespace: a, name: b}}`, []string{`webhooks[0].clientConfig: Invalid value: "url and service": exactly one`}},
		{url, `{url: "http://a"}`, []string{`webhooks[0].clientConfig.url: Invalid value: "http://a": the scheme must be https`}},
		{url, `{url: "%"}`, []string{`webhooks[0].clientConfig.url: Invalid value: "%": parse`}},
		{url, `{url: "https://u@/p?q=1#f"}`, []string{"a host is required", "user information is not allowed", "a fragment is not allowed", "a query is not allowed"}},
		{service, "{service: {namespace: '', name: '', port: 0, path: x}}", []string{
			"webhooks[1].clientConfig.service.name: Required value", "webhooks[1].clientConfig.service.namespace: Required value",
			"webhooks[1].clientConfig.service.port: Invalid value: 0", `webhooks[1].clientConfig.service.path: Invalid value: "x": must start with /`}},
		{service, "{service: {namespace: a, name: b, port: 65536}}", []string{"webhooks[1].clientConfig.service.port: Invalid value: 65536"}},
		{service, "{service: {namespace: a, name: b, path: /ok/Not_ok/}}", []string{`webhooks[1].clientConfig.service.path: Invalid value: "/ok/Not_ok/": segment 2: `}},
		{service, "{service: {namespace: a, name: b, path: //}}", []string{`webhooks[1].clientConfig.service.path: Invalid value: "//": segment 1: `}},
		{"name: hooks}", "name: hooks, annotations: {webhook.kubeinterpret.io/failure-policy: Retry}}", []string{
			`metadata.annotations[webhook.kubeinterpret.io/failure-policy]: Invalid value: "Retry": a policy must be Fail or Ignore, got "Retry"`}},
		{"name: hooks}", `name: hooks, annotations: {webhook.kubeinterpret.io/failure-policy: "x.example.com=Fail"}}`, []string{`a policy for "x.example.com", and there is no such webhook`}},
		{"name: hooks}", `name: hooks, annotations: {webhook.kubeinterpret.io/failure-policy: "Fail,Ignore"}}`, []string{`two policies for the same hooks in "Fail,Ignore"`}},
		{"timeoutSeconds: 3\n  interpreterContextVersions: [v1alpha1]", "timeoutSeconds: 99\n  interpreterContextVersions: [v9]", []string{
			"webhooks[0].timeoutSeconds", "webhooks[0].interpreterContextVersions"}},
	} {
		t.Run(c.new, func(t *testing.T) {
			require.Contains(t, validConfiguration, c.old)
			errs := webhook.Validate(configuration(t, strings.Replace(validConfiguration, c.old, c.new, 1)))
			var got []string
			for _, err := range errs {
				got = append(got, err.Error())
			}
			require.Len(t, got, len(c.want), "%q", got)
			for i, want := range c.want {
				assert.Contains(t, got[i], want)
			}
		})
	}
}

func TestConfigurationsWithoutRulesNeverMatch(t *testing.T) {
	c := configuration(t, validConfiguration)
	c.Webhooks = slices.Delete(c.Webhooks, 0, 1)
	l, err := webhook.New([]*v1alpha1.ResourceInterpreterWebhookConfiguration{c})
	require.NoError(t, err)
	assert.Empty(t, l.Rules(workloadKind, interpreter.InterpretHealth))
	assert.Empty(t, l.Entries())
}
