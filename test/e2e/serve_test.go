package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
)

// tick is how often it is looked at what nobody tells.
const tick = 10 * time.Millisecond

// deployed is the directory of the manifests that run interpret serve.
var deployed = filepath.Join("..", "..", "examples", "webhook", "deploy")

// output collects what a program writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *output) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *output) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// account gives a kubeconfig of the account that the manifests make.
func (p *ownPlane) account() string {
	token := p.do("", "-n", "interpret-system", "create", "token", "interpret")
	var config map[string]any
	require.NoError(p.t, yaml.Unmarshal(p.env.KubeConfig, &config))
	config["users"].([]any)[0].(map[string]any)["user"] = map[string]any{"token": token}
	text, err := yaml.Marshal(config)
	require.NoError(p.t, err)
	file := filepath.Join(p.t.TempDir(), "kubeconfig")
	require.NoError(p.t, os.WriteFile(file, text, 0o600))
	return file
}

// The server runs with no more rights than the manifests give it, and an API server that is told what it prints asks
// it before anything is stored.
func TestServeBesideAnAPIServer(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "interpret")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "./cmd/interpret")
	build.Dir = filepath.Join("..", "..")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	p := newOwnPlane(t)
	// The API server knows every field of the manifests, and nothing in them is against the restricted standard.
	out2 := p.do("", "apply", "--validate=strict", "-k", deployed)
	assert.NotContains(t, out2, "Warning")
	p.do(customization("steady", "Steady", says("steady")), "apply", "-f", "-")

	serve := exec.Command(bin, "serve", "--self-signed", "--print-config=all", "--listen", "127.0.0.1:0",
		"--kubeconfig", p.account(), "--limit-time", inStep.String(), "--log-level", "info")
	var printed, log output
	serve.Stdout, serve.Stderr = &printed, &log
	require.NoError(t, serve.Start())
	var ended sync.WaitGroup
	ended.Go(func() { assert.NoError(t, serve.Wait(), "%s", &log) })
	stop := sync.OnceFunc(func() {
		_ = serve.Process.Signal(syscall.SIGTERM)
		ended.Wait()
	})
	t.Cleanup(stop)
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Contains(c, log.String(), "msg=serving") }, inStep, tick)

	configuration := &v1alpha1.ResourceInterpreterWebhookConfiguration{}
	first, second, ok := strings.Cut(printed.String(), "---\n")
	require.True(t, ok, printed.String())
	require.NoError(t, yaml.UnmarshalStrict([]byte(first), configuration))
	assert.NotEmpty(t, matching(configuration, "Steady"))
	// As a client of the server asks it, also about kinds that have no rule yet.
	everything := configuration.DeepCopy()
	everything.Webhooks[0].Rules = []v1alpha1.RuleWithOperations{{
		Operations: []interpreter.Operation{"*"}, Rule: v1alpha1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Kinds: []string{"*"}},
	}}
	layer, err := webhook.New([]*v1alpha1.ResourceInterpreterWebhookConfiguration{everything})
	require.NoError(t, err)
	defer layer.Close()
	chain := interpreter.NewChain(layer)
	becomes(t, chain, "Steady", "steady")
	p.do(customization("steady", "Steady", says("changed")), "apply", "-f", "-")
	becomes(t, chain, "Steady", "changed")

	// Both registrations are accepted. The server finds its own hook and does not ask itself, so that what has no rule
	// is answered by the fallback.
	p.do(first, "apply", "-f", "-")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Contains(c, log.String(), "a hook leads to this server, and is not asked")
	}, inStep, tick)
	const broken = "function ReflectStatus(o)\n  return = 1\nend"
	// Broken before anybody looks at it: its author is told by an Event, for which the account has the right.
	p.do(customization("broken", "Broken", broken), "apply", "-f", "-")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Contains(c, p.do("", "describe", "ric", "broken"), "syntax error near")
	}, inStep, tick*10)
	p.do(second, "apply", "-f", "-")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		out, err := p.kubectl(customization("bad", "Bad", broken), "apply", "-f", "-")
		assert.Error(c, err, out)
		assert.Contains(c, out, `spec.customizations.statusReflection.luaScript: line 2, column 10: syntax error near "="`)
	}, inStep, tick*10)
	out3, err := p.kubectl(customization("rival", "Steady", says("rival")), "apply", "-f", "-")
	require.Error(t, err)
	assert.Contains(t, out3, "conflict: InterpretStatus of demo.io/v1 Steady")
	p.do(customization("good", "Good", says("good")), "apply", "-f", "-")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		// Until the rule is in force the fallback answers, which says nothing.
		status, err := interpreter.Reflected(t.Context(), chain, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "demo.io/v1", "kind": "Good", "metadata": map[string]any{"name": "o"},
		}})
		assert.NoError(c, err)
		assert.Equal(c, map[string]any{"says": "good"}, status)
	}, inStep, tick)

	// The account has all the rights that were needed. An API server that starts again refuses everybody for a moment.
	for line := range strings.Lines(log.String()) {
		assert.NotContains(t, line, "forbidden")
	}

	// The API server goes, and what was read stays.
	require.NoError(t, p.env.ControlPlane.GetAPIServer().Stop())
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Contains(c, log.String(), "the server cannot be read, the last good state stays in force")
	}, inStep, tick)
	got, err := reflected(chain, "Steady")
	require.NoError(t, err)
	assert.Equal(t, "changed", got)
	require.NoError(t, p.env.ControlPlane.GetAPIServer().Start())
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Contains(c, log.String(), "the server can be read again") }, inStep, tick)

	stop()
	assert.Contains(t, log.String(), "msg=stopped")
}

// matching are the rules of a configuration for a kind.
func matching(c *v1alpha1.ResourceInterpreterWebhookConfiguration, kind string) []string {
	var list []string
	for _, r := range c.Webhooks[0].Rules {
		if r.Kinds[0] == kind {
			list = append(list, fmt.Sprint(r))
		}
	}
	return list
}
