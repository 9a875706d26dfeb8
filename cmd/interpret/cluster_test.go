package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/interpreter"
)

// apiServer answers lists and watches of any resource, and takes whatever else is sent to it.
type apiServer struct {
	t   testing.TB
	url string
	mu  sync.Mutex
	// events are all changes; the resource version of an object is its event's place here.
	events  []apiEvent
	changed chan struct{}
}

type apiEvent struct {
	Type     string         `json:"type"`
	Object   map[string]any `json:"object"`
	resource string
}

func newAPIServer(t testing.TB) *apiServer {
	a := &apiServer{t: t, changed: make(chan struct{})}
	a.url = newTestServerOf(t, a.serve)
	return a
}

// kubeconfig writes one that names the server.
func (a *apiServer) kubeconfig() string {
	file := filepath.Join(a.t.TempDir(), "kubeconfig")
	write(a.t, file, fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: here, user: ""}}]
clusters: [{name: here, cluster: {server: %q}}]
`, a.url))
	return file
}

// set has an object added, modified or deleted.
func (a *apiServer) set(kind, resource, text string) {
	var object map[string]any
	require.NoError(a.t, yaml.Unmarshal([]byte(text), &object))
	a.mu.Lock()
	defer a.mu.Unlock()
	o := &unstructured.Unstructured{Object: object}
	o.SetResourceVersion(strconv.Itoa(len(a.events) + 1))
	a.events = append(a.events, apiEvent{kind, object, resource})
	close(a.changed)
	a.changed = make(chan struct{})
}

// since are the events of a resource after a version, and what to wait for for more.
func (a *apiServer) since(resource string, version int) ([]apiEvent, int, <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var list []apiEvent
	for _, e := range a.events[version:] {
		if e.resource == resource {
			list = append(list, e)
		}
	}
	return list, len(a.events), a.changed
}

func (a *apiServer) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	resource := path.Base(r.URL.Path)
	query := r.URL.Query()
	if r.Method != http.MethodGet {
		_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "v1", "kind": "Event", "metadata": map[string]any{"name": "e"}})
		return
	}
	if query.Get("watch") == "" {
		items := []any{}
		events, version, _ := a.since(resource, 0)
		for _, e := range events {
			items = append(items, e.Object)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": strconv.Itoa(version)}, "items": items,
		})
		return
	}
	version, _ := strconv.Atoi(query.Get("resourceVersion"))
	initial := query.Get("sendInitialEvents") == "true"
	for {
		events, last, changed := a.since(resource, version)
		version = last
		if initial {
			initial = false
			events = append(events, apiEvent{Type: "BOOKMARK", Object: map[string]any{
				"apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization",
				"metadata": map[string]any{"resourceVersion": strconv.Itoa(last), "annotations": map[string]any{"k8s.io/initial-events-end": "true"}},
			}})
		}
		for _, e := range events {
			_ = json.NewEncoder(w).Encode(e)
		}
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// at is a hook at a URL.
func at(url string, bundle []byte) admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: bundle}
}

// hookFor is a webhook configuration for an operation of Widgets.
func hookFor(name, operation string, client admissionregistrationv1.WebhookClientConfig) string {
	text, err := json.Marshal(map[string]any{
		"apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterWebhookConfiguration", "metadata": map[string]any{"name": name},
		"webhooks": []any{map[string]any{
			"name": "w.example.com", "clientConfig": client,
			"rules": []any{map[string]any{
				"operations": []string{operation}, "apiGroups": []string{"demo.io"}, "apiVersions": []string{"v1"}, "kinds": []string{"Widget"},
			}},
			"interpreterContextVersions": []string{"v1alpha1"},
		}},
	})
	if err != nil {
		panic(err)
	}
	return string(text)
}

const (
	storedCustomizations = "resourceinterpretercustomizations"
	storedConfigurations = "resourceinterpreterwebhookconfigurations"
)

func TestRulesFromAnAPIServer(t *testing.T) {
	t.Parallel()
	api := newAPIServer(t)
	api.set("ADDED", storedCustomizations, says("a", "v1"))
	// A hook of somebody else: its Widgets are healthy.
	dir := t.TempDir()
	write(t, filepath.Join(dir, "healthy.yaml"), `apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: healthy}
spec:
  target: {apiVersion: demo.io/v1, kind: Widget}
  customizations:
    healthInterpretation: {luaScript: 'function InterpretHealth(o) return true end'}
`)
	other := start(t, "-f", dir)
	theirs := other.configuration.Webhooks[0].ClientConfig

	s := start(t, "--kubeconfig", api.kubeconfig())
	chain := s.chain()
	assert.Equal(t, "v1", said(t, chain))
	status, _ := s.get("/readyz")
	assert.Equal(t, http.StatusOK, status)
	api.set("MODIFIED", storedCustomizations, says("a", "v2"))
	require.Eventually(t, func() bool { return said(t, chain) == "v2" }, within, tick)

	// One that leads here, which comes first by name, is left out; then the other one is asked.
	api.set("ADDED", storedConfigurations, hookFor("a-own", "InterpretHealth", at(s.url+"/interpret", s.authority)))
	s.log.await(t, "a hook leads to this server, and is not asked", 1)
	api.set("ADDED", storedConfigurations, hookFor("b-theirs", "InterpretHealth", theirs))
	direct := s.directly()
	healthy := func() (bool, error) { return interpreter.IsHealthy(t.Context(), direct, widget()) }
	require.Eventually(t, func() bool { yes, err := healthy(); return err == nil && yes }, within, tick)

	// What is broken is told, and answers as before.
	api.set("MODIFIED", storedCustomizations, "{apiVersion: config.karmada.io/v1alpha1, kind: ResourceInterpreterCustomization, metadata: {name: a}, spec: {target: {apiVersion: demo.io/v1, kind: Widget}, customizations: {statusReflection: {luaScript: 'function Wrong() end'}}}}")
	s.log.await(t, "the last good version stays in force", 1)
	assert.Equal(t, "v2", said(t, chain))
	s.metric(`interpret_configuration_objects{resource="resourceinterpretercustomizations",state="invalid"} 1`)
}

// A Service is found on the API server; its DNS name, by which its certificate is, need not mean anything here.
func TestHooksBehindServices(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), says("a", "behind"))
	hook := start(t, "-f", dir, "--service", "demo/hook")
	client := hook.configuration.Webhooks[0].ClientConfig
	require.NotNil(t, client.Service)
	_, port, err := net.SplitHostPort(hook.address())
	require.NoError(t, err)
	number, err := strconv.ParseInt(port, 10, 32)
	require.NoError(t, err)
	client.Service.Port = new(int32(number))

	api := newAPIServer(t)
	api.set("ADDED", "services", `{apiVersion: v1, kind: Service, metadata: {name: hook, namespace: demo}, spec: {type: ClusterIP, clusterIP: 127.0.0.1, ports: [{port: `+port+`}]}}`)
	api.set("ADDED", storedConfigurations, hookFor("b", "InterpretStatus", client))
	s := start(t, "--kubeconfig", api.kubeconfig())
	chain := s.directly()
	require.Eventually(t, func() bool { return said(t, chain) == "behind" }, within, tick)
}

// One whose address the flags do not tell is found out when it is asked.
func TestAServerThatIsRegisteredByAnotherName(t *testing.T) {
	t.Parallel()
	api := newAPIServer(t)
	s := start(t, "--kubeconfig", api.kubeconfig(), "--url", "https://localhost:1")
	api.set("ADDED", storedConfigurations, hookFor("own", "InterpretHealth", at(s.url, s.authority)))
	direct := s.directly()
	require.Eventually(t, func() bool {
		_, err := interpreter.IsHealthy(t.Context(), direct, widget())
		return err != nil && strings.Contains(err.Error(), "goes round in a circle")
	}, within, tick)
}

// Whoever asks before anything could be read is told so.
func TestAnAPIServerThatIsDown(t *testing.T) {
	t.Parallel()
	down := &apiServer{t: t, url: "http://" + unusedAddress(t)}
	args, authority := certificateFiles(t, t.TempDir())
	s := background(t, append([]string{"serve", "--listen", "127.0.0.1:0", "--drain", "0s", "--kubeconfig", down.kubeconfig()}, args...)...)
	s.url, s.authority, s.http = "https://"+s.address(), authority, trusting(t, authority)
	status, body := s.get("/readyz")
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Contains(t, body, "resourceinterpretercustomizations have not been read yet")
	_, err := interpreter.IsHealthy(t.Context(), s.directly(), widget())
	require.ErrorContains(t, err, "code 503")
	s.stop()
	assert.Equal(t, statusFine, <-s.status)

	// What would be registered cannot be told either; nobody has to wait for it to the end.
	ctx, cancel := context.WithCancel(t.Context())
	log := newTranscript()
	done := make(chan int)
	go func() {
		done <- run(ctx, []string{"serve", "--print-config", "--url", "https://i.example.com", "--kubeconfig", down.kubeconfig()}, nil, newTranscript(), log)
	}()
	log.await(t, "msg=\"not ready\"", 1)
	cancel()
	assert.Equal(t, statusUnusable, <-done)
	assert.Contains(t, log.String(), "error: context canceled: ")
}

func TestWhichAPIServerIsMeant(t *testing.T) {
	dir := t.TempDir()
	config := func(server string) string {
		return (&apiServer{t: t, url: server}).kubeconfig()
	}
	t.Setenv("HOME", dir)
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("KUBECONFIG", "")
	_, _, err := (&clusterFlags{fromCluster: true}).config()
	require.ErrorContains(t, err, "no API server is known")
	t.Setenv("KUBECONFIG", config("http://from-environment"))
	got, inside, err := (&clusterFlags{fromCluster: true}).config()
	require.NoError(t, err)
	assert.Equal(t, "http://from-environment", got.Host)
	assert.False(t, inside)
	got, _, err = (&clusterFlags{kubeconfig: config("http://from-flag"), context: "here"}).config()
	require.NoError(t, err)
	assert.Equal(t, "http://from-flag", got.Host)
	_, _, err = (&clusterFlags{context: "there"}).config()
	require.ErrorContains(t, err, `context "there" does not exist`)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "broken"), []byte("a: ["), 0o600))
	_, _, err = (&clusterFlags{kubeconfig: filepath.Join(dir, "broken")}).config()
	require.ErrorContains(t, err, "broken")
	assert.False(t, (&clusterFlags{}).chosen(), "a kubeconfig that lies about is not meant")
}
