package webhook_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kubeinterpret/interpret/interpreter/manifest"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
)

const hooksHeader = "apiVersion: config.karmada.io/v1alpha1\nkind: ResourceInterpreterWebhookConfiguration"

// parsed reads the configurations of a stream, and the texts of the errors.
func parsed(text string) (list []*webhook.Configuration, errs []string) {
	docs := manifest.Split("hooks.yaml", []byte(text))
	for i := range docs {
		found, err := webhook.FromDocument(&docs[i])
		list = append(list, found...)
		if err != nil {
			errs = append(errs, strings.Split(err.Error(), "\n")...)
		}
	}
	return list, errs
}

// problems are what Check says, each on a line; warnings begin so.
func problems(list []*webhook.Configuration) []string {
	var texts []string
	for _, p := range webhook.Check(list) {
		text := p.String()
		if p.Warning {
			text = "warning: " + text
		}
		if p.Fatal {
			text = "fatal: " + text
		}
		texts = append(texts, text)
	}
	return texts
}

func TestConfigurationsAreReadFromFiles(t *testing.T) {
	document := hooksHeader + validConfiguration
	list, errs := parsed(document + "---\n---\n" + hooksHeader + "List\nitems:\n- " +
		strings.ReplaceAll(document, "\n", "\n  "))
	assert.Empty(t, errs)
	// Not all JSON is YAML.
	more, errs := parsed(`{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterWebhookConfiguration", "metadata": {"name": "\ud83d\ude00"}}, 1]}`)
	assert.Equal(t, []string{"hooks.yaml:1:1: not a ResourceInterpreterWebhookConfiguration: not an object"}, errs)
	require.Len(t, more, 1)
	assert.Equal(t, "\U0001F600", more[0].Name)
	require.Len(t, list, 2)
	for _, c := range list {
		assert.Equal(t, configuration(t, document), c.ResourceInterpreterWebhookConfiguration)
		// The second hook has no rules.
		assert.Len(t, problems([]*webhook.Configuration{c}), 1)
	}
	file, line, column := list[1].Place("webhooks[1].clientConfig.service.port")
	assert.Equal(t, "hooks.yaml:30:20", fmt.Sprintf("%s:%d:%d", file, line, column))
}

func TestConfigurationsThatCannotBeRead(t *testing.T) {
	for _, c := range []struct {
		old, new string
		want     []string
	}{
		{"config.karmada.io/v1alpha1", "config.karmada.io/v1", []string{`1:1: a ResourceInterpreterWebhookConfiguration must be config.karmada.io/v1alpha1, got "config.karmada.io/v1"`}},
		{hooksHeader, "apiVersion: v1\nkind: Pod", []string{"1:1: not a ResourceInterpreterWebhookConfiguration, got v1 Pod"}},
		{hooksHeader, "a: b", []string{"1:1: not a ResourceInterpreterWebhookConfiguration, got an object without apiVersion and kind"}},
		{"timeoutSeconds: 3", "timeoutSeconds: 3s", []string{"9:3: webhooks[0].timeoutSeconds: must be a number, got a string"}},
		{"timeoutSeconds: 3", "timeoutSeconds: 2.5", []string{"9:3: webhooks[0].timeoutSeconds: must be a whole number, got 2.5"}},
		{"timeoutSeconds: 3", "timeoutSeconds: 9999999999", []string{"9:3: webhooks[0].timeoutSeconds: is out of range, got 9999999999"}},
		{"[InterpretHealth]", "InterpretHealth", []string{"8:6: webhooks[0].rules[0].operations: must be an array, got a string"}},
		{"[Pod]", "[true, {}]", []string{
			"8:81: webhooks[0].rules[0].kinds[0]: must be a string, got true or false",
			"8:87: webhooks[0].rules[0].kinds[1]: must be a string, got an object"}},
		{"{service: {namespace: hooks, name: everything}}", "[]", []string{"12:3: webhooks[1].clientConfig: must be an object, got an array"}},
		{"name: everything}", `name: everything}, caBundle: "?", url: 1`, []string{
			"12:65: webhooks[1].clientConfig.caBundle: must be PEM in base64: illegal base64 data at input byte 0",
			"12:80: webhooks[1].clientConfig.url: must be a string, got a number"}},
		{"name: everything}", `name: everything}, caBundle: "-----BEGIN CERTIFICATE-----"`, []string{
			"12:65: webhooks[1].clientConfig.caBundle: must be PEM in base64, got PEM as it is"}},
		{"name: everything}", `name: everything}, caBundle: [1]`, []string{
			"12:65: webhooks[1].clientConfig.caBundle: must be a string, got an array"}},
		{"name: hooks", "name: hooks, labels: {a: 1}, annotations: []", []string{
			"3:41: metadata.annotations: must be an object, got an array", "3:34: metadata.labels[a]: must be a string, got a number"}},
		{"name: hooks", "name: hooks, creationTimestamp: yesterday", []string{"1:1: parsing time"}},
		{"webhooks:", "webhooks: [", []string{"4: not YAML: "}},
	} {
		t.Run(c.new, func(t *testing.T) {
			document := hooksHeader + validConfiguration
			require.Contains(t, document, c.old)
			list, errs := parsed(strings.Replace(document, c.old, c.new, 1))
			assert.Empty(t, list)
			require.Len(t, errs, len(c.want), "%q", errs)
			for i, want := range c.want {
				assert.Contains(t, errs[i], want)
			}
		})
	}
}

func TestCheckTellsPlaces(t *testing.T) {
	document := hooksHeader + validConfiguration
	list, errs := parsed(strings.NewReplacer(
		"name: hooks", "name: hooks, anotations: {}, annotations: {webhook.kubeinterpret.io/failurePolicy: Ignore}",
		"timeoutSeconds: 3", "timeoutSeconds: 31",
		"https://127", "http://127",
		"apiVersions: [v1]", "ApiVersions: [v1]",
		"name: everything", "name: everything, Port: 1, frobnicate: 2",
	).Replace(document))
	require.Empty(t, errs)
	const hooks = `: webhook configuration "hooks": `
	assert.Equal(t, []string{
		"hooks.yaml:3:25" + hooks + "metadata.anotations: unknown field, did you mean annotations?",
		"hooks.yaml:3:55" + hooks + "metadata.annotations[webhook.kubeinterpret.io/failurePolicy]: unknown annotation, did you mean webhook.kubeinterpret.io/failure-policy?",
		`fatal: hooks.yaml:6:18` + hooks + `webhooks[0].clientConfig.url: Invalid value: "http://127.0.0.1:8443/interpret": the scheme must be https`,
		"fatal: hooks.yaml:8:5" + hooks + "webhooks[0].rules[0].apiVersions: Required value",
		"hooks.yaml:8:54" + hooks + "webhooks[0].rules[0].ApiVersions: unknown field, did you mean apiVersions?",
		"fatal: hooks.yaml:9:3" + hooks + "webhooks[0].timeoutSeconds: Invalid value: 31: must be from 1 to 30",
		"hooks.yaml:11:3" + hooks + "webhooks[1].rules: there are none, so the hook is never asked",
		"hooks.yaml:12:64" + hooks + "webhooks[1].clientConfig.service.Port: unknown field, did you mean port?",
		"hooks.yaml:12:73" + hooks + "webhooks[1].clientConfig.service.frobnicate: unknown field (have name, namespace, path, port)",
	}, problems(list))
	for i, want := range []int{-1, -1, 0} {
		assert.Equal(t, want, webhook.Check(list)[i].Webhook)
	}
}

func TestCheckLooksAtConfigurationsTogether(t *testing.T) {
	list, errs := parsed(strings.ReplaceAll(`
HEADER
metadata: {name: b}
webhooks:
- name: all.example.com
  clientConfig: {url: "https://a"}
  rules: [{operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], kinds: ["*"]}]
  interpreterContextVersions: [v1alpha1]
- name: health.example.com
  clientConfig: {url: "https://a"}
  rules:
  - {operations: [Retain, InterpretHealth], apiGroups: [apps], apiVersions: [v1], kinds: [Deployment, StatefulSet]}
  interpreterContextVersions: [v1alpha1]
---
HEADER
metadata: {name: a}
webhooks:
- name: z.example.com
  clientConfig: {url: "https://a"}
  rules:
  - {operations: [InterpretHealth], apiGroups: ["", apps], apiVersions: ["*"], kinds: [Deployment, Pod]}
  - {operations: [InterpretStatus], apiGroups: [other], apiVersions: [v1], kinds: [Other]}
  interpreterContextVersions: [v1alpha1]
---
HEADER
metadata: {name: a}
webhooks: []
---
HEADER
metadata: {}
webhooks: []
`, "HEADER", hooksHeader))
	require.Empty(t, errs)
	assert.Equal(t, []string{
		`warning: hooks.yaml:8:11: webhook configuration "b": webhooks[0].rules[0]: InterpretHealth of * Deployment and 3 more: the hooks a/z.example.com and b/all.example.com both match; a/z.example.com is asked, being first by name (see hooks.yaml:23:5)`,
		`warning: hooks.yaml:13:5: webhook configuration "b": webhooks[1].rules[0]: InterpretHealth of apps/v1 Deployment: the hooks a/z.example.com and b/health.example.com both match; a/z.example.com is asked, being first by name (see hooks.yaml:23:5)`,
		`fatal: hooks.yaml:29:12: webhook configuration "a": metadata.name: there is another configuration of this name (see hooks.yaml:18:12)`,
		`hooks.yaml:30:1: webhook configuration "a": webhooks: there are none`,
		`fatal: hooks.yaml:34:1: webhook configuration "": metadata.name: is required`,
		`hooks.yaml:35:1: webhook configuration "": webhooks: there are none`,
	}, problems(list))
}

func TestCheckLooksIntoTheCABundle(t *testing.T) {
	a := newAuthority(t, "current")
	leaf, key := a.issue(2, time.Now().Add(-time.Minute), "late.example.com")
	for name, c := range map[string]struct {
		bundle string
		want   []string
	}{
		"sound":         {string(a.bundle), nil},
		"with comments": {"# ours\n" + string(a.bundle) + "# theirs\n" + string(a.bundle) + "\n", nil},
		"no PEM":        {"none", []string{"it holds no certificate in PEM, so no connection will be trusted"}},
		"cut":           {string(a.bundle) + string(a.bundle[:100]), []string{"its last block of PEM is not complete"}},
		"a key":         {string(a.bundle) + string(key), []string{"it holds a PRIVATE KEY, and should hold certificates alone"}},
		"no DER":        {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", []string{"certificate 1: x509: malformed certificate"}},
		"expired":       {string(leaf), []string{"warning: the certificate of CN=late.example.com expired at 20"}},
	} {
		t.Run(name, func(t *testing.T) {
			configuration := &webhook.Configuration{ResourceInterpreterWebhookConfiguration: configured("https://a", []byte(c.bundle))}
			got := problems([]*webhook.Configuration{configuration})
			require.Len(t, got, len(c.want), "%q", got)
			for i, want := range c.want {
				warning, isWarning := strings.CutPrefix(want, "warning: ")
				assert.Equal(t, isWarning, strings.HasPrefix(got[i], "warning: "))
				assert.Contains(t, got[i], `webhook configuration "hooks": webhooks[0].clientConfig.caBundle: `+warning)
			}
		})
	}
}

// Whatever is read ends in configurations or errors, and what Check finds has a place in the file. What it finds
// nothing fatal in, a layer takes.
func FuzzConfigurations(f *testing.F) {
	document := hooksHeader + validConfiguration
	f.Add(document)
	f.Add(strings.Replace(document, "url:", "caBundle: "+base64.StdEncoding.EncodeToString([]byte("-----BEGIN ")), 1))
	f.Add(hooksHeader + "\nwebhooks: [{rules: [{operations: ['*']}, null]}, null]\n")
	f.Add(`{"apiVersion": "v1", "kind": "List", "items": [{"kind": "ResourceInterpreterWebhookConfiguration"}, null, "\ud83d\ude00"]}`)
	f.Add(hooksHeader + "\nmetadata: &a {name: a}\nwebhooks: [{<<: *a}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, _ := parsed(text)
		fatal := false
		for _, p := range webhook.Check(list) {
			fatal = fatal || p.Fatal
			assert.NotZero(t, p.Line)
			assert.NotEmpty(t, p.Message)
			assert.Less(t, p.Webhook, len(p.Configuration.Webhooks))
		}
		l, err := webhook.New(webhook.Objects(list))
		if err == nil {
			l.Close()
		} else {
			assert.True(t, fatal, "%v", err)
		}
		for _, c := range list {
			text, err := json.Marshal(c)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(text, &v1alpha1.ResourceInterpreterWebhookConfiguration{}))
		}
	})
}
