package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

func TestGetTakesArgumentsApart(t *testing.T) {
	t.Parallel()
	for args, want := range map[string][]parsedArgs{
		"deploy":                   {{"deploy", ""}},
		"deploy web api":           {{"deploy", "web"}, {"deploy", "api"}},
		"deploy,sts":               {{"deploy", ""}, {"sts", ""}},
		"deploy,sts web":           {{"deploy", "web"}, {"sts", "web"}},
		"deploy.v1.apps/web po/db": {{"deploy.v1.apps", "web"}, {"po", "db"}},
	} {
		got, err := parseArgs(strings.Fields(args))
		require.NoError(t, err, args)
		assert.Equal(t, want, got, args)
	}
	for args, want := range map[string]string{
		"":               "get what?",
		"deploy/web api": "do not go together",
		"deploy/":        `"deploy/" is no TYPE/NAME`,
		"/web":           `"/web" is no TYPE/NAME`,
		"a/b/c":          `"a/b/c" is no TYPE/NAME`,
		"a,b/c":          `"a,b/c" is no TYPE/NAME`,
		"deploy,":        `"deploy," has an empty type`,
	} {
		_, err := parseArgs(strings.Fields(args))
		require.ErrorIs(t, err, errUsage, args)
		assert.ErrorContains(t, err, want, args)
	}
}

func TestGetCells(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	assert.Equal(t, "1/4 missing Secret/a unknown Secret/b,EndpointSlice/app=x", dependencyCell(&gotDependencies{Items: []gotDependency{
		{Kind: "Secret", Name: "a", Exists: &no}, {Kind: "Secret", Name: "b"}, {Kind: "ConfigMap", Name: "c", Exists: &yes},
		{Kind: "EndpointSlice", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}},
	}}))
	assert.Equal(t, "0/0", dependencyCell(&gotDependencies{}))
	assert.Empty(t, dependencyCell(nil))

	replicas, needs, nodes := replicaCells(&gotObject{Components: &gotComponents{Items: []interpreter.Component{
		{Name: "head", Replicas: 1, ReplicaRequirements: &v1alpha1.ComponentReplicaRequirements{
			ResourceRequest: corev1.ResourceList{"memory": resource.MustParse("1Gi"), "cpu": resource.MustParse("500m")},
			NodeClaim: &v1alpha1.NodeClaim{
				NodeSelector: map[string]string{"b": "2", "a": "1"}, Tolerations: make([]corev1.Toleration, 2), HardNodeAffinity: &corev1.NodeSelector{},
			},
		}},
		{Name: "worker", Replicas: 4},
	}}})
	assert.Equal(t, []string{"head:1 worker:4", "head:cpu=500m,memory=1Gi", "head:a=1,b=2,affinity,tolerations:2"}, []string{replicas, needs, nodes})

	// What an object says neither breaks the table nor steers the terminal.
	assert.Equal(t, "a [31mb c d?", oneLine("a\x1b[31mb\tc\nd\xff"))
	assert.Equal(t, strings.Repeat("ö", maxCell-3)+"...", oneLine(strings.Repeat("ö", maxCell+1)))
}

// fakeServer is an API server with one resource, widgets, whose answers a test makes.
type fakeServer struct {
	t   *testing.T
	url string

	mu sync.Mutex
	// requests are those for widgets, as "path?query".
	requests []string
}

// fake starts a server. Answer answers what is not about which resources there are.
func fake(t *testing.T, answer func(w http.ResponseWriter, r *http.Request)) *fakeServer {
	t.Helper()
	f := &fakeServer{t: t}
	discovery := map[string]any{
		"/api": metav1.APIVersions{Versions: []string{"v1"}},
		"/apis": metav1.APIGroupList{Groups: []metav1.APIGroup{
			{Name: "apps", Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "apps/v1", Version: "v1"}}},
			{Name: "demo.io", Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "demo.io/v1", Version: "v1"}}},
		}},
		"/api/v1": metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "secrets", SingularName: "secret", Kind: "Secret", Namespaced: true, Verbs: metav1.Verbs{"get", "list"}},
		}},
		"/apis/apps/v1": metav1.APIResourceList{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{
			{Name: "deployments", SingularName: "deployment", Kind: "Deployment", Namespaced: true, ShortNames: []string{"deploy"},
				Categories: []string{"all"}, Verbs: metav1.Verbs{"get", "list", "watch"}},
		}},
		"/apis/demo.io/v1": metav1.APIResourceList{GroupVersion: "demo.io/v1", APIResources: []metav1.APIResource{
			{Name: "widgets", SingularName: "widget", Kind: "Widget", Namespaced: true, ShortNames: []string{"wi"},
				Categories: []string{"all"}, Verbs: metav1.Verbs{"get", "list", "watch"}},
		}},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if doc, ok := discovery[r.URL.Path]; ok {
			assert.NoError(t, json.NewEncoder(w).Encode(doc))
			return
		}
		if strings.Contains(r.URL.Path, "customresourcedefinitions") {
			refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
			return
		}
		f.mu.Lock()
		f.requests = append(f.requests, r.URL.Path+"?"+r.URL.RawQuery)
		f.mu.Unlock()
		answer(w, r)
	}))
	f.url = server.URL
	t.Cleanup(server.Close)
	return f
}

func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: string(reason),
	})
}

// kubeconfig writes one for the server into a directory.
func (f *fakeServer) kubeconfig(dir string) string {
	file := filepath.Join(dir, "kubeconfig")
	require.NoError(f.t, os.WriteFile(file, fmt.Appendf(nil, `
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q}}]
contexts: [{name: c, context: {cluster: c, namespace: shop}}]
current-context: c
`, f.url), 0o600))
	return file
}

// get runs interpret get against the server.
func (f *fakeServer) get(ctx context.Context, out io.Writer, args ...string) (stderr string, status int) {
	f.t.Helper()
	dir := f.t.TempDir()
	var errs bytes.Buffer
	status = run(ctx, append([]string{"get", "--kubeconfig", f.kubeconfig(dir), "--cache-dir", filepath.Join(dir, "cache")}, args...), nil, out, &errs)
	return errs.String(), status
}

// widgetJSON is a widget as an item of a list.
func widgetJSON(name, version, ready string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"shop","resourceVersion":%q},"status":{"conditions":[{"type":"Ready","status":%q}]}}`, name, version, ready)
}

// A server that knows nothing of tables gives lists whose items leave out what they are.
func TestGetFromAServerWithoutTables(t *testing.T) {
	t.Parallel()
	f := fake(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/w") {
			fmt.Fprint(w, `{"apiVersion":"demo.io/v1","kind":"Widget",`+strings.TrimPrefix(widgetJSON("w", "1", "True"), "{"))
			return
		}
		fmt.Fprintf(w, `{"apiVersion":"demo.io/v1","kind":"WidgetList","metadata":{"resourceVersion":"7"},"items":[%s,%s]}`,
			widgetJSON("w", "1", "True"), widgetJSON("v", "2", "False"))
	})
	var out bytes.Buffer
	stderr, status := f.get(t.Context(), &out, "wi", "-o", "wide")
	require.Zero(t, status, stderr)
	assert.Equal(t, `NAME   HEALTH        REASON              REPLICAS   NEEDS   DEPENDENCIES   BY                                      NODES   MESSAGE
w      Healthy       KStatusCurrent      -          -       -              kstatus any custom resource / - / -   -       Resource is Ready
v      Progressing   KStatusInProgress   -          -       -              kstatus any custom resource / - / -   -       -
`, strings.ReplaceAll(out.String(), "BY                                    NODES", "BY                                      NODES"))
	out.Reset()
	stderr, status = f.get(t.Context(), &out, "widget/w", "-o", "name")
	require.Zero(t, status, stderr)
	assert.Equal(t, "widget.demo.io/w\n", out.String())
}

// A list that has got too old on the way is begun anew, and nothing is shown twice.
func TestGetBeginsAnExpiredListAnew(t *testing.T) {
	t.Parallel()
	f := fake(t, func(w http.ResponseWriter, r *http.Request) {
		switch q := r.URL.Query(); {
		case q.Get("continue") == "more":
			refuse(w, http.StatusGone, metav1.StatusReasonExpired)
		case q.Get("limit") == "":
			fmt.Fprintf(w, `{"kind":"WidgetList","metadata":{},"items":[%s,%s]}`, widgetJSON("a", "1", "True"), widgetJSON("b", "2", "True"))
		default:
			fmt.Fprintf(w, `{"kind":"WidgetList","metadata":{"continue":"more"},"items":[%s]}`, widgetJSON("a", "1", "True"))
		}
	})
	var out bytes.Buffer
	stderr, status := f.get(t.Context(), &out, "wi", "-o", "name", "--chunk-size", "1")
	require.Zero(t, status, stderr)
	assert.Equal(t, "widget.demo.io/a\nwidget.demo.io/b\n", out.String())
}

func TestGetFromAServerThatMakesNoSense(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`<html>`:                                      "error: widgets.demo.io: the answer of the server: ",
		`{"kind":"Table","rows":[]`:                   "error: widgets.demo.io: the answer of the server: ",
		`{"kind":"List","items":[1]}`:                 "error: widgets.demo.io: the answer of the server: ",
		`{"kind":"List","items":[{"kind":"Gadget"}]}`: "has no objects of the kind Widget",
		`{"apiVersion":"meta.k8s.io/v1","kind":"Table","rows":[{"cells":[1],"object":{"kind":"PartialObjectMetadata"}}]}`: "has no objects of the kind Widget",
		`{"apiVersion":"meta.k8s.io/v1","kind":"Table","rows":[{"cells":[1]}]}`:                                           "has no objects of the kind Widget",
	} {
		f := fake(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) })
		var out bytes.Buffer
		stderr, status := f.get(t.Context(), &out, "wi")
		assert.Equal(t, statusUnusable, status, answer)
		assert.Contains(t, stderr, want, answer)
		assert.Empty(t, out.String(), answer)
	}
	f := fake(t, func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusUnauthorized, metav1.StatusReasonUnauthorized)
	})
	stderr, status := f.get(t.Context(), io.Discard, "wi")
	assert.Equal(t, statusUnusable, status)
	assert.Contains(t, stderr, "error: the server does not know who asks")
}

// A watch goes on after the server has ended it, begins anew after the server has forgotten where it was, and shows
// nothing twice.
func TestGetWatchesThroughInterruptions(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	watches, lists := 0, 0
	event := func(typ, object string) string {
		return fmt.Sprintf(`{"type":%q,"object":{"apiVersion":"demo.io/v1","kind":"Widget",%s}`+"\n", typ, strings.TrimPrefix(object, "{"))
	}
	f := fake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "" {
			lists++
			rows := widgetJSON("a", "1", "True") + "," + widgetJSON("b", "2", "True")
			if lists > 1 {
				rows = widgetJSON("b", "2", "True") + "," + widgetJSON("c", "9", "True")
			}
			fmt.Fprintf(w, `{"kind":"WidgetList","metadata":{"resourceVersion":"5"},"items":[%s]}`, rows)
			return
		}
		watches++
		switch watches {
		case 1:
			fmt.Fprint(w, event("MODIFIED", widgetJSON("b", "6", "False")), event("BOOKMARK", `{"metadata":{"resourceVersion":"7"}}`), `{"type":"MOD`)
		case 2:
			assert.Equal(t, "7", r.URL.Query().Get("resourceVersion"))
			fmt.Fprint(w, event("DELETED", widgetJSON("a", "8", "True")))
			fmt.Fprint(w, `{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","status":"Failure"}}`+"\n")
		default:
			fmt.Fprint(w, event("ADDED", widgetJSON("d", "10", "True")))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	})
	out := newTranscript()
	done := make(chan int, 1)
	var stderr string
	go func() {
		text, status := f.get(ctx, out, "wi", "--watch", "-o", "json")
		stderr = text
		done <- status
	}()
	out.await(t, `"name": "d"`, 1)
	end()
	select {
	case status := <-done:
		assert.Zero(t, status, stderr)
	case <-time.After(time.Minute):
		t.Fatal("the watch does not end")
	}
	var got []string
	decoder := json.NewDecoder(strings.NewReader(out.String()))
	for {
		var o gotObject
		err := decoder.Decode(&o)
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		got = append(got, fmt.Sprintf("%s %s %v", o.Name, o.Health.Status, o.Deleted))
	}
	assert.Equal(t, []string{
		"a Healthy false", "b Healthy false", "b Progressing false", "a Healthy true", "b Healthy false", "c Healthy false", "d Healthy false",
	}, got)
}
