package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/interpretertest"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
)

// within is how soon anything must have happened; what takes longer has failed.
const within = 30 * time.Second

// tick is how often it is looked at what nobody tells.
const tick = 5 * time.Millisecond

// transcript is what a command has written so far.
type transcript struct {
	mu      sync.Mutex
	text    bytes.Buffer
	written chan struct{}
}

func newTranscript() *transcript { return &transcript{written: make(chan struct{})} }

func (w *transcript) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.written)
	w.written = make(chan struct{})
	return w.text.Write(p)
}

func (w *transcript) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// await waits until a text has been written so many times.
func (w *transcript) await(t testing.TB, text string, times int) {
	t.Helper()
	late := time.After(within)
	for {
		w.mu.Lock()
		found, written := strings.Count(w.text.String(), text), w.written
		w.mu.Unlock()
		if found >= times {
			return
		}
		select {
		case <-written:
		case <-late:
			require.FailNow(t, "never written", "%q, of which there are %d of %d in:\n%s", text, found, times, w)
		}
	}
}

// served is interpret serve, running in this process until the test ends.
type served struct {
	t        testing.TB
	out, log *transcript
	stop     context.CancelFunc
	status   chan int

	url           string
	authority     []byte
	configuration *v1alpha1.ResourceInterpreterWebhookConfiguration
	admission     *admissionregistrationv1.ValidatingWebhookConfiguration
	http          *http.Client
}

// start runs interpret serve, on a port that is free, with a certificate of its own, until it serves.
func start(t testing.TB, args ...string) *served {
	t.Helper()
	s := background(t, append([]string{"serve", "--self-signed", "--print-config=all", "--listen", "127.0.0.1:0"}, args...)...)
	s.log.await(t, "msg=serving", 1)
	for _, doc := range strings.Split(s.out.String(), "---\n") {
		if strings.Contains(doc, "\nkind: ValidatingWebhookConfiguration\n") {
			require.NoError(t, yaml.UnmarshalStrict([]byte(doc), &s.admission))
		} else {
			require.NoError(t, yaml.UnmarshalStrict([]byte(doc), &s.configuration))
		}
	}
	require.NotNil(t, s.configuration)
	require.NotNil(t, s.admission)
	client := s.configuration.Webhooks[0].ClientConfig
	s.authority = client.CABundle
	s.http = trusting(t, s.authority)
	s.url = "https://" + s.address()
	return s
}

// background runs the command in this process until the test ends.
func background(t testing.TB, args ...string) *served {
	ctx, stop := context.WithCancel(context.Background())
	s := &served{t: t, out: newTranscript(), log: newTranscript(), stop: stop, status: make(chan int, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.status <- run(ctx, args, nil, s.out, s.log)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return s
}

func trusting(t testing.TB, bundle []byte) *http.Client {
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(bundle))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}
	return &http.Client{Transport: transport}
}

// chain asks the server by what it registers.
func (s *served) chain() *interpreter.Chain {
	layer, err := webhook.New([]*v1alpha1.ResourceInterpreterWebhookConfiguration{s.configuration})
	require.NoError(s.t, err)
	s.t.Cleanup(layer.Close)
	return interpreter.NewChain(layer)
}

// directly asks the server everything where it listens, also what it does not register.
func (s *served) directly() *interpreter.Chain {
	_, port, err := net.SplitHostPort(s.address())
	require.NoError(s.t, err)
	url := "https://127.0.0.1:" + port + "/interpret"
	layer, err := webhook.New([]*v1alpha1.ResourceInterpreterWebhookConfiguration{{
		ObjectMeta: metav1.ObjectMeta{Name: "all"},
		Webhooks: []v1alpha1.ResourceInterpreterWebhook{{
			Name:         "all.example.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: s.authority},
			Rules: []v1alpha1.RuleWithOperations{{
				Operations: []interpreter.Operation{"*"},
				Rule:       v1alpha1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Kinds: []string{"*"}},
			}},
			InterpreterContextVersions: []string{"v1alpha1"},
		}},
	}})
	require.NoError(s.t, err)
	s.t.Cleanup(layer.Close)
	return interpreter.NewChain(layer)
}

func (s *served) get(path string) (int, string) {
	s.t.Helper()
	response, err := s.http.Get(s.url + path)
	require.NoError(s.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return response.StatusCode, string(body)
}

// metric awaits that a metric has a value.
func (s *served) metric(want string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		_, page := s.get("/metrics")
		return strings.Contains(page, "\n"+want+"\n")
	}, within, tick, "no %s among the metrics", want)
}

// write writes a file at once, as whoever changes it under a running server should.
func write(t testing.TB, file, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file+".new", []byte(text), 0o600))
	require.NoError(t, os.Rename(file+".new", file))
}

// says is a customization whose health message of a Widget is a text.
func says(name, text string) string {
	return fmt.Sprintf(`apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: %s}
spec:
  target: {apiVersion: demo.io/v1, kind: Widget}
  customizations:
    statusReflection: {luaScript: 'function ReflectStatus(o) return {says = %q} end'}
`, name, text)
}

func widget() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "demo.io/v1", "kind": "Widget", "metadata": map[string]any{"name": "w", "namespace": "ns"},
	}}
}

// said is the answer of the rule that says makes.
func said(t testing.TB, in interpreter.Interpreter) string {
	t.Helper()
	res, err := in.Interpret(t.Context(), &interpreter.Request{Operation: interpreter.InterpretStatus, Object: widget()})
	require.NoError(t, err)
	status, ok := res.Status.(map[string]any)
	require.True(t, ok, "%v", res.Status)
	return fmt.Sprint(status["says"])
}

// Whoever loads what is printed asks this server, and gets the answers that the rules give.
func TestWhatIsPrintedAsksTheServer(t *testing.T) {
	t.Parallel()
	example := filepath.Join("..", "..", "examples", "customization")
	s := start(t, "-f", filepath.Join(example, "deployment.yaml"))
	assert.Empty(t, webhook.Validate(s.configuration))
	chain := s.chain()
	cases, err := interpretertest.ReadFile(filepath.Join(example, "deployment-test.yaml"))
	require.NoError(t, err)
	asked := map[interpreter.Operation]bool{}
	for _, c := range cases {
		// The wire has no word for "no status", and an API server takes no rule with Prune.
		if c.Operation == interpreter.Prune || c.Name == "nothing to reflect without status" {
			continue
		}
		asked[c.Operation] = true
		o := c.Run(t.Context(), chain)
		assert.True(t, o.Passed, "%s\n%s", c, o)
	}
	assert.Len(t, asked, len(interpreter.Operations())-1, "all operations but Prune")
	s.stop()
	assert.Equal(t, statusFine, <-s.status)
	assert.Contains(t, s.log.String(), "msg=stopped")
}

// What is registered is answered, and what is answered is registered.
func TestExactlyWhatIsAnsweredIsRegistered(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "rules.yaml")
	write(t, file, strings.Replace(says("some", "x"), "apiVersion: demo.io/v1", "apiVersion: '*.demo.io/v1'", 1)+"---\n"+
		strings.Replace(says("labelled", "y"), "kind: Widget}", "kind: Gadget, labelSelector: {matchLabels: {a: b}}}", 1)+"---\n"+says("w", "z"))
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	list, err := declarative.Parse(file, data)
	require.NoError(t, err)
	rules, err := newRules(list, nil)
	require.NoError(t, err)

	var out bytes.Buffer
	require.Equal(t, statusFine, run(t.Context(), []string{"serve", "-f", file, "--print-config", "--url", "https://i.example.com/base/"}, nil, &out, io.Discard))
	configuration := &v1alpha1.ResourceInterpreterWebhookConfiguration{}
	require.NoError(t, yaml.UnmarshalStrict(out.Bytes(), configuration))
	assert.Equal(t, "https://i.example.com/base/interpret", *configuration.Webhooks[0].ClientConfig.URL)
	layer, err := webhook.New([]*v1alpha1.ResourceInterpreterWebhookConfiguration{configuration})
	require.NoError(t, err)
	defer layer.Close()

	registered := 0
	for _, k := range kindsOf(rules.Chain) {
		if strings.Contains(k.APIVersion+k.Kind, "*") {
			continue
		}
		gvk := (&unstructured.Unstructured{Object: map[string]any{"apiVersion": k.APIVersion, "kind": k.Kind}}).GroupVersionKind()
		for _, op := range interpreter.Operations() {
			specific := false
			for _, l := range rules.Layers() {
				specific = specific || l.Name() != "fallback" && len(l.Rules(gvk, op)) > 0
			}
			want := specific && op != interpreter.Prune && !strings.HasSuffix(gvk.Group, ".istio.io") && !strings.HasSuffix(gvk.Group, ".crossplane.io")
			assert.Equal(t, want, len(layer.Rules(gvk, op)) > 0, "%s of %s", op, gvk)
			if want {
				registered++
			}
		}
	}
	assert.Greater(t, registered, 300)
	text := out.String()
	assert.Contains(t, text, "# Prune is answered, and not registered")
	assert.Contains(t, text, "#   *.demo.io/v1 Widget by customization some: InterpretStatus\n")
	assert.Contains(t, text, "#   */* * by fallback any kind: InterpretStatus\n")
	// The whole status of a Gadget is reflected where the label is missing; so this is no rule to warn of.
	assert.NotContains(t, text, "certain labels")

	out.Reset()
	require.Equal(t, statusFine, run(t.Context(), []string{"serve", "--include-all-kinds", "--print-config", "--service", "a/b:8443"}, nil, &out, io.Discard))
	configuration = &v1alpha1.ResourceInterpreterWebhookConfiguration{}
	require.NoError(t, yaml.UnmarshalStrict(out.Bytes(), configuration))
	assert.EqualValues(t, 8443, *configuration.Webhooks[0].ClientConfig.Service.Port)
	all, err := webhook.New([]*v1alpha1.ResourceInterpreterWebhookConfiguration{configuration})
	require.NoError(t, err)
	defer all.Close()
	assert.NotEmpty(t, all.Rules(widget().GroupVersionKind(), interpreter.InterpretStatus))
	assert.Empty(t, layer.Rules(widget().GroupVersionKind(), interpreter.InterpretHealth))
}

func TestRulesForLabelledObjectsAreTold(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "rules.yaml")
	write(t, file, `apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: labelled}
spec:
  target: {apiVersion: demo.io/v1, kind: Widget, labelSelector: {matchLabels: {a: b}}}
  customizations:
    healthInterpretation: {luaScript: 'function InterpretHealth(o) return true end'}
`)
	var out bytes.Buffer
	require.Equal(t, statusFine, run(t.Context(), []string{"serve", "-f", file, "--print-config", "--service", "a/b"}, nil, &out, io.Discard))
	assert.Contains(t, out.String(), "certain labels; for others the question fails, for no other rule answers it:\n#   demo.io/v1 Widget by customization labelled: InterpretHealth\n")
}

func TestPagesOfServe(t *testing.T) {
	t.Parallel()
	s := start(t)
	for path, want := range map[string]string{
		"/healthz": "ok\n",
		"/readyz":  "ok\n",
		"/metrics": "interpret_rules{layer=\"built-in\"}",
	} {
		status, body := s.get(path)
		assert.Equal(t, http.StatusOK, status, path)
		assert.Contains(t, body, want)
	}
	status, body := s.get("/convertt")
	assert.Equal(t, http.StatusNotFound, status)
	assert.Equal(t, "there is no /convertt; questions go to /interpret, reviews to /validate\n", body)

	// A Service reference without a path leads to the root.
	root := s.configuration.DeepCopy()
	root.Webhooks[0].ClientConfig.URL = &s.url
	layer, err := webhook.New([]*v1alpha1.ResourceInterpreterWebhookConfiguration{root})
	require.NoError(t, err)
	defer layer.Close()
	healthy, err := interpreter.IsHealthy(t.Context(), interpreter.NewChain(layer), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "p"},
		"status": map[string]any{"phase": "Succeeded"},
	}})
	require.NoError(t, err)
	assert.True(t, healthy)
	s.log.await(t, `msg=interpret uid=`, 1)
}

// An API server that is told by what is printed asks before it stores a customization.
func TestReviewsByServe(t *testing.T) {
	t.Parallel()
	s := start(t)
	for script, allowed := range map[string]bool{"function ReflectStatus(o) return o.status end": true, "function Wrong() end": false} {
		object, err := yaml.YAMLToJSON([]byte(strings.Replace(says("a", "x"), `'function ReflectStatus(o) return {says = "x"} end'`, "'"+script+"'", 1)))
		require.NoError(t, err)
		review := &admissionv1.AdmissionReview{
			TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
			Request: &admissionv1.AdmissionRequest{
				UID: "u1", Operation: admissionv1.Create,
				Resource: metav1.GroupVersionResource{Group: v1alpha1.GroupName, Version: "v1alpha1", Resource: "resourceinterpretercustomizations"},
			},
		}
		review.Request.Object.Raw = object
		body, err := json.Marshal(review)
		require.NoError(t, err)
		client := s.admission.Webhooks[0].ClientConfig
		response, err := trusting(t, client.CABundle).Post(*client.URL, "application/json", bytes.NewReader(body))
		require.NoError(t, err)
		answer := &admissionv1.AdmissionReview{}
		require.NoError(t, json.NewDecoder(response.Body).Decode(answer))
		require.NoError(t, response.Body.Close())
		assert.Equal(t, allowed, answer.Response.Allowed, script)
	}
}

// Rules change under callers, none of whom notices anything but new answers.
func TestFilesAreReadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "a.yaml")
	write(t, file, says("a", "v0"))
	s := start(t, "-f", dir, "-R")
	chain := s.chain()
	assert.Equal(t, "v0", said(t, chain))

	stop := make(chan struct{})
	var callers sync.WaitGroup
	var calls, failures atomic.Int64
	for range 4 {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				calls.Add(1)
				res, err := chain.Interpret(context.Background(), &interpreter.Request{Operation: interpreter.InterpretStatus, Object: widget()})
				if err != nil || !strings.HasPrefix(fmt.Sprint(res.Status), "map[says:v") {
					failures.Add(1)
				}
			}
		})
	}
	eventually := func(want string) {
		t.Helper()
		require.Eventually(t, func() bool { return said(t, chain) == want }, within, tick)
	}
	for version := 1; version <= 5; version++ {
		write(t, file, says("a", fmt.Sprintf("v%d", version)))
		eventually(fmt.Sprintf("v%d", version))
	}

	// What is broken changes nothing, also not of what is sound beside it.
	write(t, filepath.Join(dir, "a.yaml"), says("a", "v6"))
	eventually("v6")
	write(t, filepath.Join(dir, "bad.yaml"), strings.Replace(says("b", "x"), "ReflectStatus", "Reflect", 1))
	s.metric("interpret_files_in_step{content=\"rules\"} 0")
	s.log.await(t, "the script defines no function ReflectStatus", 1)
	write(t, file, says("a", "v7"))
	s.metric("interpret_files_in_step{content=\"rules\"} 0")
	assert.Equal(t, "v6", said(t, chain))
	require.NoError(t, os.Remove(filepath.Join(dir, "bad.yaml")))
	eventually("v7")
	s.metric("interpret_files_in_step{content=\"rules\"} 1")

	// A directory below that comes later is seen, and one that goes with it.
	write(t, filepath.Join(dir, "below", "z.yaml"), strings.Replace(says("z", "z"), "Widget", "Gadget", 1))
	s.metric(`interpret_rules{layer="customization"} 2`)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "below")))
	s.metric(`interpret_rules{layer="customization"} 1`)

	// The whole directory goes away, which cannot be meant, and comes back.
	moved := filepath.Join(t.TempDir(), "moved")
	require.NoError(t, os.Rename(dir, moved))
	s.metric("interpret_files_in_step{content=\"rules\"} 0")
	assert.Equal(t, "v7", said(t, chain))
	require.NoError(t, os.Rename(moved, dir))
	s.metric("interpret_files_in_step{content=\"rules\"} 1")
	close(stop)
	callers.Wait()
	assert.Zero(t, failures.Load())
	assert.Greater(t, calls.Load(), int64(100))

	// Empty it is no mistake.
	require.NoError(t, os.Remove(file))
	s.metric(`interpret_rules{layer="customization"} 0`)
	write(t, file, says("a", "v8"))
	eventually("v8")
}

// A kubelet swaps a link to a directory beside the links to its files.
func TestAMountedConfigMapChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	swap := func(version, text string) {
		write(t, filepath.Join(dir, version, "rules.yaml"), text)
		require.NoError(t, os.Symlink(version, filepath.Join(dir, "..data_tmp")))
		require.NoError(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	}
	swap("..2026_01", says("a", "v1"))
	require.NoError(t, os.Symlink(filepath.Join("..data", "rules.yaml"), filepath.Join(dir, "rules.yaml")))
	for name, args := range map[string][]string{
		"directory": {"-f", dir, "-R"},
		"file":      {"-f", filepath.Join(dir, "rules.yaml")},
	} {
		s := start(t, args...)
		chain := s.chain()
		swap("..2026_02_"+name, says("a", name))
		require.Eventually(t, func() bool { return said(t, chain) == name }, within, tick)
		s.metric("interpret_files_in_step{content=\"rules\"} 1")
		s.metric(`interpret_files_loads_total{content="rules",outcome="failed"} 0`)
	}
}

// What is not there yet may come; a directory without a file is none of the mistakes that a wrong name is.
func TestAnEmptyDirectoryIsFilledLater(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, "-f", dir)
	chain := s.directly()
	write(t, filepath.Join(dir, "a.yaml"), says("a", "v1"))
	require.Eventually(t, func() bool { return said(t, chain) == "v1" }, within, tick)
}

// Hooks in files are asked, too, and follow their files; one that leads here is left out.
func TestHooksInFiles(t *testing.T) {
	t.Parallel()
	theirs, ours := t.TempDir(), t.TempDir()
	write(t, filepath.Join(theirs, "a.yaml"), says("a", "theirs"))
	other := start(t, "-f", theirs)
	client := other.configuration.Webhooks[0].ClientConfig
	hook := hookFor("b-theirs", "InterpretStatus", client)
	s := start(t, "-f", ours, "--url", "https://own.example.com")
	chain := s.directly()
	own := hookFor("a-own", "InterpretStatus", at("https://own.example.com/interpret", nil))
	write(t, filepath.Join(ours, "hooks.yaml"), own+"\n---\n"+hook+"\n")
	require.Eventually(t, func() bool { return said(t, chain) == "theirs" }, within, tick)
	s.log.await(t, "a hook leads to this server, and is not asked", 1)
	assert.NotContains(t, s.out.String(), "- Widget", "what other hooks answer is not registered")

	write(t, filepath.Join(ours, "hooks.yaml"), strings.Replace(hook, "w.example.com", "w", 1))
	s.metric("interpret_files_in_step{content=\"rules\"} 0")
	s.log.await(t, "should be a domain with at least two segments", 1)
	assert.Equal(t, "theirs", said(t, chain))
	write(t, filepath.Join(ours, "hooks.yaml"), says("a", "ours")+"---\n"+hook)
	require.Eventually(t, func() bool { return said(t, chain) == "ours" }, within, tick)
}

// Nobody tells of what is behind a URL; it is looked at.
func TestWhatIsNotWatchedIsLookedAt(t *testing.T) {
	t.Parallel()
	var text atomic.Pointer[string]
	set := func(s string) { text.Store(&s) }
	set(says("a", "v1"))
	server := newTestServerOf(t, func(w http.ResponseWriter, _ *http.Request) {
		if *text.Load() == "" {
			http.Error(w, "gone", http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, *text.Load())
	})
	log := newTranscript()
	s := newSession(nil, io.Discard, log)
	rules, err := newRules(nil, nil)
	require.NoError(t, err)
	hooks, err := webhook.New(nil)
	require.NoError(t, err)
	logger := newLogger(s, logText, 0)
	files := &watchedFiles{
		what: "rules", names: []string{server}, parse: (&fileRules{customizations: rules.customizations, webhooks: hooks, logger: logger}).parse,
		logger: logger, metrics: newFileMetrics(newRegistry()), poll: time.Millisecond,
	}
	require.NoError(t, files.load(t.Context(), s))
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(t, files.run(ctx)) })
	defer running.Wait()
	defer stop()
	chain := rules.Chain
	set(says("a", "v2"))
	require.Eventually(t, func() bool { return said(t, chain) == "v2" }, within, time.Millisecond)
	set("")
	log.await(t, "the server answered 404 Not Found", 1)
	assert.Equal(t, "v2", said(t, chain))
	set(says("a", "v3"))
	require.Eventually(t, func() bool { return said(t, chain) == "v3" }, within, time.Millisecond)
	log.await(t, "nothing is wrong with the files any more", 1)
	assert.Equal(t, 1, strings.Count(log.String(), "404"), "a mistake is told once, though it is looked at again and again")
}

// writeCertificate writes a certificate for 127.0.0.1 and its key, and gives the CA that signed it.
func writeCertificate(t testing.TB, certificate, key string) (authority []byte) {
	pair, authority, err := selfSigned([]string{"127.0.0.1"})
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	write(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
	write(t, certificate, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})))
	return authority
}

// certificateFiles writes a certificate into a directory, and gives the flags that name it and the CA.
func certificateFiles(t testing.TB, dir string) (args []string, authority []byte) {
	certificate, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	return []string{"--tls-cert-file", certificate, "--tls-private-key-file", key}, writeCertificate(t, certificate, key)
}

// address finds where a server listens that says so in its log.
func (s *served) address() string {
	s.t.Helper()
	s.log.await(s.t, "msg=serving address=", 1)
	_, rest, _ := strings.Cut(s.log.String(), "msg=serving address=")
	address, _, _ := strings.Cut(rest, "\n")
	return address
}

func TestCertificatesAreReadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args, authority := certificateFiles(t, dir)
	s := background(t, append([]string{"serve", "--listen", "127.0.0.1:0", "--drain", "0s"}, args...)...)
	url := "https://" + s.address() + "/healthz"
	response, err := trusting(t, authority).Get(url)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	_, next := certificateFiles(t, dir)
	require.Eventually(t, func() bool {
		response, err := trusting(t, next).Get(url)
		return err == nil && response.Body.Close() == nil
	}, within, tick)
	_, err = trusting(t, authority).Get(url)
	require.Error(t, err, "the certificate from before is not in use")
	assert.Empty(t, s.out.String())
}

// signalled starts interpret serve as a process of its own.
func signalled(t *testing.T, args ...string) (*exec.Cmd, *transcript, string) {
	cmd := exec.Command("interpret", append([]string{"serve", "--self-signed", "--listen", "127.0.0.1:0"}, args...)...)
	log := newTranscript()
	cmd.Stderr = log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, log, (&served{t: t, log: log}).address()
}

func TestASignalEndsTheServerInOrder(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		cmd, log, _ := signalled(t)
		require.NoError(t, cmd.Process.Signal(signal))
		require.NoError(t, cmd.Wait(), "exit status 0")
		assert.Contains(t, log.String(), "msg=stopped")
	}
}

func TestASecondSignalEndsTheServerAtOnce(t *testing.T) {
	t.Parallel()
	cmd, log, _ := signalled(t, "--drain", "1h")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	log.await(t, "msg=stopping drain=1h0m0s", 1)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	var exit *exec.ExitError
	require.True(t, errors.As(cmd.Wait(), &exit))
	assert.Equal(t, 128+int(syscall.SIGTERM), exit.ExitCode())
	assert.NotContains(t, log.String(), "msg=stopped")
}

func TestAddressesThatCannotBeHad(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	taken := l.Addr().String()
	s := background(t, "serve", "--self-signed", "--listen", taken)
	assert.Equal(t, statusUnusable, <-s.status)
	assert.Contains(t, s.log.String(), "error: --listen "+taken+": bind: address already in use\n")

	s = background(t, "serve", "--self-signed", "--listen", "127.0.0.1:0", "--pprof-address", taken)
	assert.Equal(t, statusUnusable, <-s.status)
	assert.Contains(t, s.log.String(), "address already in use")
}

func TestProfilesOfServe(t *testing.T) {
	t.Parallel()
	s := start(t, "--pprof-address", "127.0.0.1:0")
	_, rest, ok := strings.Cut(s.log.String(), "msg=profiles address=")
	require.True(t, ok)
	address, _, _ := strings.Cut(rest, "\n")
	response, err := http.Get("http://" + address + "/debug/pprof/cmdline")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusOK, response.StatusCode)
}

func TestLimitsOfServe(t *testing.T) {
	t.Parallel()
	s := start(t, "--limit-body", "1Ki", "--log-format", "text", "--log-level", "warn", "--log-level", "info")
	response, err := s.http.Post(s.url+"/interpret", "application/json", strings.NewReader(strings.Repeat("x", 2000)))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusRequestEntityTooLarge, response.StatusCode)
}
