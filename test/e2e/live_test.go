package e2e

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/declarative"
	declarativelive "github.com/kubeinterpret/interpret/declarative/live"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/follow"
	"github.com/kubeinterpret/interpret/luakube"
	"github.com/kubeinterpret/interpret/webhook"
	"github.com/kubeinterpret/interpret/webhook/admission"
	webhooklive "github.com/kubeinterpret/interpret/webhook/live"
)

const (
	// How soon a change must be in force. Of all changes more than half must be, since the machine has other
	// things to do.
	inForce = time.Second
	// How soon anything must have happened.
	inStep = 30 * time.Second
)

// ownPlane is a control plane of a test's own, whose API server can be stopped and started again.
type ownPlane struct {
	t          *testing.T
	env        *envtest.Environment
	kubeconfig string
}

func newOwnPlane(t *testing.T) *ownPlane {
	t.Helper()
	definitions, err := readDefinitions()
	require.NoError(t, err)
	p := &ownPlane{t: t, env: &envtest.Environment{
		CRDs: definitions, ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: time.Minute,
	}}
	// In a directory that the API server does not own, its certificates outlive it.
	p.env.ControlPlane.GetAPIServer().CertDir = t.TempDir()
	// Without this a server that is told to stop waits a minute for those who watch.
	p.env.ControlPlane.GetAPIServer().Configure().Set("shutdown-watch-termination-grace-period", "1s")
	t.Cleanup(func() { assert.NoError(t, p.env.Stop()) })
	_, err = p.env.Start()
	require.NoError(t, err)
	p.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(p.kubeconfig, p.env.KubeConfig, 0o600))
	return p
}

func (p *ownPlane) client() dynamic.Interface {
	client, err := dynamic.NewForConfig(p.env.Config)
	require.NoError(p.t, err)
	return client
}

// kubectl runs kubectl and gives all that it prints.
func (p *ownPlane) kubectl(stdin string, args ...string) (string, error) {
	command := exec.CommandContext(p.t.Context(), filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"),
		append([]string{"--kubeconfig", p.kubeconfig}, args...)...)
	command.Stdin = strings.NewReader(stdin)
	out, err := command.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// do runs kubectl, which must succeed.
func (p *ownPlane) do(stdin string, args ...string) string {
	p.t.Helper()
	out, err := p.kubectl(stdin, args...)
	require.NoError(p.t, err, out)
	return out
}

// rules is a layer without rules whose scripts may take their time: the machine has other things to do.
func rules(t *testing.T) *declarative.Layer {
	t.Helper()
	limits := luakube.DefaultLimits()
	limits.Time = inStep
	engine, err := luakube.New(luakube.WithLimits(limits))
	require.NoError(t, err)
	l, err := declarative.New(nil, declarative.WithEngine(engine))
	require.NoError(t, err)
	return l
}

// keepRunning runs something until the test ends.
func keepRunning(t *testing.T, what func(context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { assert.NoError(t, what(ctx)) })
	t.Cleanup(func() {
		stop()
		done.Wait()
	})
}

// customization reflects something as the status of a kind of demo.io/v1.
func customization(name, kind, script string) string {
	return fmt.Sprintf(`
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: %s}
spec:
  target: {apiVersion: demo.io/v1, kind: %s}
  customizations:
    statusReflection:
      luaScript: |
        %s
`, name, kind, strings.ReplaceAll(script, "\n", "\n        "))
}

func says(word string) string {
	return fmt.Sprintf("function ReflectStatus(o) return {says = %q} end", word)
}

// reflected is the word that answers for a kind: a rule's, or "nobody".
func reflected(chain *interpreter.Chain, kind string) (string, error) {
	status, err := interpreter.Reflected(context.Background(), chain, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "demo.io/v1", "kind": kind, "metadata": map[string]any{"name": "o"},
	}})
	switch {
	case interpreter.IsNoRule(err):
		return "nobody", nil
	case err != nil:
		return "", err
	}
	return status.(map[string]any)["says"].(string), nil
}

// becomes waits for an answer, and says for how long.
func becomes(t *testing.T, chain *interpreter.Chain, kind, want string) time.Duration {
	t.Helper()
	start := time.Now()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		got, err := reflected(chain, kind)
		assert.NoError(c, err)
		assert.Equal(c, want, got)
	}, inStep, 5*time.Millisecond)
	took := time.Since(start)
	t.Logf("%s says %s after %s", kind, want, took.Round(time.Millisecond))
	return took
}

// callers ask without end and keep account of what they are told.
type callers struct {
	calls, failed, wrong atomic.Int64
	first                sync.Once
}

// ask has 64 callers ask: what is steady must always say so, and what changes must never fail.
func (a *callers) ask(t *testing.T, chain *interpreter.Chain) {
	keepRunning(t, func(ctx context.Context) error {
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				// Together they leave time for the control plane on the same machine.
				for paced := time.Tick(20 * time.Millisecond); ctx.Err() == nil; <-paced {
					steady, err := reflected(chain, "Steady")
					_, err2 := reflected(chain, "Changing")
					a.calls.Add(2)
					if steady != "steady" && err == nil {
						a.wrong.Add(1)
					}
					for _, err := range []error{err, err2} {
						if err != nil {
							a.failed.Add(1)
							a.first.Do(func() { t.Log(err) })
						}
					}
				}
			})
		}
		all.Wait()
		return nil
	})
}

func TestLayersFollowAnAPIServer(t *testing.T) {
	p := newOwnPlane(t)
	p.do(customization("steady", "Steady", says("steady")), "apply", "-f", "-")
	l, err := declarativelive.New(p.client(), rules(t), follow.WithPatience(0))
	require.NoError(t, err)
	hooks, err := webhook.New(nil)
	require.NoError(t, err)
	defer hooks.Close()
	h, err := webhooklive.New(p.client(), hooks)
	require.NoError(t, err)
	chain := interpreter.NewChain(l, h)
	_, err = reflected(chain, "Steady")
	require.ErrorIs(t, err, interpreter.ErrNotReady)
	keepRunning(t, l.Run)
	keepRunning(t, h.Run)
	require.NoError(t, l.Wait(t.Context()))
	require.NoError(t, h.Wait(t.Context()))

	account := &callers{}
	defer func() {
		t.Logf("%d calls, %d failed, %d wrong", account.calls.Load(), account.failed.Load(), account.wrong.Load())
		assert.Positive(t, account.calls.Load())
		assert.Zero(t, account.failed.Load())
		assert.Zero(t, account.wrong.Load())
	}()
	account.ask(t, chain)

	var took []time.Duration
	apply := func(word string) {
		t.Helper()
		p.do(customization("changing", "Changing", says(word)), "apply", "-f", "-")
		took = append(took, becomes(t, chain, "Changing", word))
	}
	for round := range 3 {
		apply(fmt.Sprint("created", round))
		apply(fmt.Sprint("changed", round))
		p.do("", "delete", "ric", "changing")
		took = append(took, becomes(t, chain, "Changing", "nobody"))
	}

	// A broken version leaves the good one in force, and its author is told.
	apply("good")
	p.do(customization("changing", "Changing", "function ReflectStatus(o"), "apply", "-f", "-")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Contains(c, p.do("", "describe", "ric", "changing"),
			"changing/statusReflection:1: syntax error at the end of the script; the last good version stays in force")
	}, inStep, 100*time.Millisecond)
	becomes(t, chain, "Changing", "good")
	apply("repaired")

	// Without its server a layer goes on with what it has, and one that has nothing says so.
	require.NoError(t, p.env.ControlPlane.GetAPIServer().Stop())
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Error(c, l.Ready()) }, inStep, 10*time.Millisecond)
	becomes(t, chain, "Changing", "repaired")
	require.NotErrorIs(t, l.Ready(), interpreter.ErrNotReady)
	newcomer, err := declarativelive.New(p.client(), rules(t))
	require.NoError(t, err)
	keepRunning(t, newcomer.Run)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		_, err := reflected(interpreter.NewChain(newcomer), "Steady")
		assert.ErrorIs(c, err, interpreter.ErrNotReady)
		assert.ErrorContains(c, err, "connection refused")
	}, inStep, 10*time.Millisecond)

	require.NoError(t, p.env.ControlPlane.GetAPIServer().Start())
	start := time.Now()
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.NoError(c, l.Ready()) }, inStep, 10*time.Millisecond)
	t.Logf("in step %s after the API server was back", time.Since(start).Round(time.Millisecond))
	becomes(t, interpreter.NewChain(newcomer), "Steady", "steady")
	apply("afterwards")
	slices.Sort(took)
	assert.Less(t, took[len(took)/2], inForce)
}

// reviewed has everything reviewed before it is stored.
func (p *ownPlane) reviewed(stored admission.Stored) {
	p.t.Helper()
	handler, err := admission.New(stored)
	require.NoError(p.t, err)
	server := httptest.NewTLSServer(handler)
	p.t.Cleanup(server.Close)
	url := server.URL + "/validate"
	registration, err := yaml.Marshal(admission.Registration("interpret", admissionregistrationv1.WebhookClientConfig{
		URL: &url, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}))
	require.NoError(p.t, err)
	p.do(string(bytes.TrimSpace(registration)), "apply", "-f", "-")
	// The API server reads its configuration from a watch of its own.
	require.EventuallyWithT(p.t, func(c *assert.CollectT) {
		out, err := p.kubectl(customization("probe", "Probe", "return = 1"), "apply", "--dry-run=server", "-f", "-")
		assert.Error(c, err, out)
	}, inStep, 100*time.Millisecond)
}

// refused wants kubectl to be told why an object is not stored.
func (p *ownPlane) refused(object string, says ...string) {
	p.t.Helper()
	out, err := p.kubectl(object, "apply", "-f", "-")
	require.Error(p.t, err, out)
	p.t.Log(out)
	for _, line := range says {
		assert.Contains(p.t, out, line)
	}
}

func TestAdmissionRefusesWhatCouldNotWork(t *testing.T) {
	p := newOwnPlane(t)
	const brokenScript = "function ReflectStatus(o)\n  return = 1\nend"
	// Stored before anybody looked.
	p.do(customization("old", "Old", brokenScript), "apply", "-f", "-")

	l, err := declarativelive.New(p.client(), rules(t))
	require.NoError(t, err)
	keepRunning(t, l.Run)
	require.NoError(t, l.Wait(t.Context()))
	p.reviewed(l)
	refused := p.refused
	refused(customization("bad", "Widget", brokenScript), `The ResourceInterpreterCustomization "bad" is invalid`,
		`spec.customizations.statusReflection.luaScript: line 2, column 10: syntax error near "="`)
	p.do(customization("good", "Widget", says("good")), "apply", "-f", "-")
	becomes(t, interpreter.NewChain(l), "Widget", "good")
	refused(customization("rival", "Widget", says("rival")),
		`spec.customizations.statusReflection: conflict: InterpretStatus of demo.io/v1 Widget: customizations "good" and "rival" both have a rule; "good" answers, being first by name`)
	refused(customization("good", "Widget", "x = 1"), "the script defines no function ReflectStatus")
	assert.Contains(t, p.do(customization("likely", "Likely", "function ReflectStatus(o) return observed end"), "apply", "-f", "-"),
		"Warning: spec.customizations.statusReflection.luaScript: line 1, column 34: the global observed is read and never set")
	assert.Contains(t, p.do("", "label", "ric", "old", "a=b"), "labeled")
	assert.Contains(t, p.do("", "delete", "ric", "old", "good"), "deleted")

	configuration := func(name string, seconds int) string {
		return fmt.Sprintf(`
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterWebhookConfiguration
metadata: {name: hooks}
webhooks:
- name: %s
  clientConfig: {url: "https://hook.example.com"}
  rules: [{operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], kinds: ["*"]}]
  timeoutSeconds: %d
  interpreterContextVersions: [v1alpha1]
`, name, seconds)
	}
	refused(configuration("w", 31), `The ResourceInterpreterWebhookConfiguration "hooks" is invalid`,
		`webhooks[0].name: Invalid value: "w": should be a domain with at least two segments separated by dots`,
		"webhooks[0].timeoutSeconds: Invalid value: 31: must be from 1 to 30")
	p.do(configuration("w.example.com", 30), "apply", "-f", "-")
	p.do("", "delete", "resourceinterpreterwebhookconfigurations", "hooks")
}
