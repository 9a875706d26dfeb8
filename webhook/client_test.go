package webhook_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
)

func TestARequestIsWhatKarmadaSends(t *testing.T) {
	var got *http.Request
	var body []byte
	chain, _ := hookOf(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		healthy(t)(w, r)
	})
	req := healthRequest()
	res, err := chain.Interpret(t.Context(), req)
	require.NoError(t, err)
	assert.Equal(t, interpreter.Health{Status: interpreter.Healthy}, res.Health)
	assert.Equal(t, interpreter.Source{Layer: "webhook", Rule: "hooks/w.example.com"}, res.Source)
	assert.Equal(t, healthRequest(), req, "the request was modified")

	assert.Equal(t, "POST", got.Method)
	assert.Equal(t, "/?timeout=10s", got.URL.String())
	assert.Equal(t, "HTTP/1.1", got.Proto)
	assert.Equal(t, http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, */*"}, "User-Agent": {"kube-apiserver-admission"},
		"Content-Length": {fmt.Sprint(len(body))}, "Accept-Encoding": {"gzip"},
	}, got.Header)
	var sent v1alpha1.ResourceInterpreterContext
	require.NoError(t, json.Unmarshal(body, &sent))
	assert.Len(t, sent.Request.UID, 36)
	assert.Equal(t, with("InterpretHealth", "", 0, ""), strings.Replace(string(body), string(sent.Request.UID), "u1", 1))
}

func TestEveryCallHasItsUID(t *testing.T) {
	seen := map[string]bool{}
	chain, _ := hookOf(t, func(w http.ResponseWriter, r *http.Request) {
		uid := string(read(t, r).UID)
		seen[uid] = true
		fmt.Fprintf(w, `{"response":{"uid":%q,"successful":true,"healthy":false}}`, uid)
	})
	for range 3 {
		healthy, err := interpreter.IsHealthy(t.Context(), chain, workload())
		require.NoError(t, err)
		assert.False(t, healthy)
	}
	assert.Len(t, seen, 3)
}

// failing are hooks that do not keep to the protocol, and what is said about them.
var failing = map[string]struct {
	hook http.HandlerFunc
	says string
	is   error
}{
	"an empty body":     {func(http.ResponseWriter, *http.Request) {}, "the body is empty", interpreter.ErrInvalidResult},
	"an empty object":   {text(200, `{}`), "no response in the body", interpreter.ErrInvalidResult},
	"no response":       {text(200, `{"kind":"ResourceInterpreterContext","apiVersion":"config.karmada.io/v1alpha1"}`), "no response in the body", interpreter.ErrInvalidResult},
	"a wrong uid":       {text(200, `{"response":{"uid":"u","successful":true,"healthy":true}}`), `the uid is "u", it must be the request's`, interpreter.ErrInvalidResult},
	"a wrong kind":      {text(200, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{}}`), `it is a "AdmissionReview" of "admission.k8s.io/v1"`, interpreter.ErrInvalidResult},
	"HTML":              {text(200, `<!doctype html><title>Welcome</title>`), "invalid character '<'", interpreter.ErrInvalidResult},
	"truncated JSON":    {text(200, `{"response":{"uid":`), "unexpected end of JSON input", interpreter.ErrInvalidResult},
	"500":               {text(500, "oops"), `HTTP status 500 Internal Server Error: "oops"`, interpreter.ErrInvalidResult},
	"404 with a Status": {text(404, `{"kind":"Status","apiVersion":"v1","message":"no such page"}`), `HTTP status 404 Not Found: "no such page"`, interpreter.ErrInvalidResult},
	"a redirect": {func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}, "HTTP status 307 Temporary Redirect", interpreter.ErrInvalidResult},
	"10 MB": {text(200, strings.Repeat(" ", 10<<20)), "the body has more than 8388608 bytes", interpreter.ErrInvalidResult},
	"10 MB in chunks": {func(w http.ResponseWriter, _ *http.Request) {
		for range 10 {
			_, _ = io.WriteString(w, strings.Repeat(" ", 1<<20))
			w.(http.Flusher).Flush()
		}
	}, "the body has more than 8388608 bytes", interpreter.ErrInvalidResult},
	"a Content-Type that is none": {func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "a b")
		_, _ = io.WriteString(w, `{}`)
	}, `Content-Type "a b"`, interpreter.ErrInvalidResult},
	"a connection that is reset": {reset, "connection reset by peer", webhook.ErrUnreachable},
	"half a body": {func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "{")
	}, "in the middle of the answer: unexpected EOF", webhook.ErrUnreachable},
}

func text(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func reset(w http.ResponseWriter, _ *http.Request) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	tcp := c.(*tls.Conn).NetConn().(*net.TCPConn)
	_ = tcp.SetLinger(0)
	_ = tcp.Close()
}

func TestHooksThatDoNotKeepToTheProtocol(t *testing.T) {
	for name, c := range failing {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chain, s := hookOf(t, c.hook)
			host := strings.TrimPrefix(s.URL, "https://")
			res, err := chain.Interpret(t.Context(), healthRequest())
			require.Error(t, err)
			assert.Nil(t, res)
			assert.True(t, strings.HasPrefix(err.Error(),
				"InterpretHealth of workload.example.io/v1alpha1 Workload demo/web by webhook hooks/w.example.com: https://"+host+": "), "%v", err)
			assert.ErrorContains(t, err, c.says)
			assert.ErrorIs(t, err, c.is)
			assert.False(t, interpreter.IsNoRule(err))
			var call *webhook.CallError
			require.ErrorAs(t, err, &call)
			call.Err = nil
			assert.Equal(t, &webhook.CallError{
				Configuration: "hooks", Hook: "w.example.com", Host: host, Operation: "InterpretHealth",
				Kind: workloadKind, Namespace: "demo", Name: "web",
			}, call)
		})
	}
}

func TestAHookThatSaysNo(t *testing.T) {
	chain, _ := hookOf(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"response":{"uid":%q,"status":{"code":422,"message":"spec.mode is unknown"}}}`, read(t, r).UID)
	})
	_, err := chain.Interpret(t.Context(), healthRequest())
	var status *webhook.StatusError
	require.ErrorAs(t, err, &status)
	assert.Equal(t, &webhook.StatusError{Code: 422, Message: "spec.mode is unknown"}, status)
	assert.ErrorContains(t, err, "code 422: spec.mode is unknown")
}

func TestThePatchAndItsTypeBelongTogether(t *testing.T) {
	const patch, form = `,"patch":"W3sib3AiOiJyZXBsYWNlIiwicGF0aCI6Ii9zcGVjL3JlcGxpY2FzIiwidmFsdWUiOjN9XQ=="`, `,"patchType":"JSONPatch"`
	for _, c := range []struct {
		more, says string
		want       int64
	}{
		{"", "", 1},
		{patch + form, "", 3},
		{patch, "a patch without patchType", 0},
		{form, "a patchType without patch", 0},
	} {
		chain, _ := hookOf(t, func(w http.ResponseWriter, r *http.Request) {
			asked := read(t, r)
			assert.EqualValues(t, 3, asked.DesiredReplicas)
			fmt.Fprintf(w, `{"response":{"uid":%q,"successful":true%s}}`, asked.UID, c.more)
		})
		obj := workload()
		revised, err := interpreter.Revised(t.Context(), chain, obj, 3)
		assert.Equal(t, workload(), obj)
		if c.says != "" {
			require.ErrorContains(t, err, c.says)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, c.want, revised.Object["spec"].(map[string]any)["replicas"])
	}
}

func TestAHookIsFoundByItsRules(t *testing.T) {
	var configurations []*v1alpha1.ResourceInterpreterWebhookConfiguration
	add := func(configuration, hook string, rules ...v1alpha1.RuleWithOperations) {
		c := configured("https://127.0.0.1:1", nil)
		c.Name, c.Webhooks[0].Name, c.Webhooks[0].Rules = configuration, hook, rules
		configurations = append(configurations, c)
	}
	rule := func(op interpreter.Operation, group, version, kind string) v1alpha1.RuleWithOperations {
		return v1alpha1.RuleWithOperations{Operations: []interpreter.Operation{op}, Rule: v1alpha1.Rule{
			APIGroups: []string{group}, APIVersions: []string{version}, Kinds: []string{kind}}}
	}
	add("z", "all.example.com", everything)
	// In byte order "a-b/..." comes before "a/...", and "B" before "a".
	add("a", "a.example.com", rule("InterpretHealth", "apps", "v1", "Deployment"), rule("Retain", "", "v1", "*"))
	add("a-b", "z.example.com", rule("*", "apps", "v1", "Deployment"))
	add("b", "none.example.com")
	l, err := webhook.New(configurations, webhook.WithName("remote"))
	require.NoError(t, err)
	assert.Equal(t, "remote", l.Name())
	for _, c := range []struct {
		op   interpreter.Operation
		gvk  schema.GroupVersionKind
		want string
	}{
		{"InterpretHealth", schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, "a-b/z.example.com"},
		{"InterpretHealth", schema.GroupVersionKind{Group: "apps", Version: "v1beta1", Kind: "Deployment"}, "z/all.example.com"},
		{"Retain", schema.GroupVersionKind{Version: "v1", Kind: "Service"}, "a/a.example.com"},
		{"Prune", schema.GroupVersionKind{Version: "v1", Kind: "Service"}, "z/all.example.com"},
	} {
		rules := l.Rules(c.gvk, c.op)
		require.Len(t, rules, 1, "only one hook is asked, also where lists are joined")
		assert.Equal(t, c.want, rules[0].Name)
	}
	assert.Equal(t, interpreter.Entry{Kind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Operation: "*", Rule: "a-b/z.example.com"}, l.Entries()[0])
	assert.Len(t, l.Entries(), 4)
}

func TestReplaceKeepsTheLastGoodVersion(t *testing.T) {
	a := newAuthority(t, "test")
	s := serve(t, a.pair("127.0.0.1"), healthy(t))
	good, other, bad := configured(s.URL, a.bundle), configured(s.URL, a.bundle), configured("http://plain", nil)
	other.Name = "other"
	l := newLayer(t, good)
	before := l.Rules(workloadKind, interpreter.InterpretHealth)

	err := l.Replace([]*v1alpha1.ResourceInterpreterWebhookConfiguration{bad, other, other})
	require.ErrorContains(t, err, `webhook configuration "hooks": webhooks[0].clientConfig.url: Invalid value: "http://plain": the scheme must be https`)
	require.ErrorContains(t, err, `webhook configuration "other": there is another configuration of this name`)
	var c *webhook.ConfigurationError
	require.ErrorAs(t, err, &c)
	assert.Same(t, before[0], l.Rules(workloadKind, interpreter.InterpretHealth)[0], "the hook did not change")
	assert.Len(t, l.Entries(), 2)

	// One that was deleted and made anew is another, which has no last good version.
	anew := bad.DeepCopy()
	anew.UID = "another"
	require.Error(t, l.Replace([]*v1alpha1.ResourceInterpreterWebhookConfiguration{anew}))
	assert.Empty(t, l.Entries())

	require.NoError(t, l.Replace([]*v1alpha1.ResourceInterpreterWebhookConfiguration{good}))
	before = l.Rules(workloadKind, interpreter.InterpretHealth)
	require.NoError(t, l.Replace(nil))
	assert.Empty(t, l.Rules(workloadKind, interpreter.InterpretHealth))
	// Who was on its way goes on.
	res, err := before[0].Interpreter.Interpret(t.Context(), healthRequest())
	require.NoError(t, err)
	assert.True(t, res.Health.IsHealthy())

	_, err = webhook.New([]*v1alpha1.ResourceInterpreterWebhookConfiguration{bad})
	require.Error(t, err)
}

func TestReplaceWhileCallsAreMade(t *testing.T) {
	a := newAuthority(t, "test")
	s := serve(t, a.pair("127.0.0.1"), healthy(t))
	l := newLayer(t, configured(s.URL, a.bundle))
	chain := interpreter.NewChain(l)
	stop := make(chan struct{})
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_, err := chain.Interpret(t.Context(), healthRequest())
					assert.NoError(t, err)
				}
			}
		})
	}
	for i := range 50 {
		c := configured(s.URL, a.bundle)
		seconds := int32(20 + i%2)
		c.Webhooks[0].TimeoutSeconds = &seconds
		require.NoError(t, l.Replace([]*v1alpha1.ResourceInterpreterWebhookConfiguration{c}))
	}
	close(stop)
	callers.Wait()
}

func TestBadCertificates(t *testing.T) {
	known, unknown := newAuthority(t, "known"), newAuthority(t, "unknown")
	for name, c := range map[string]struct {
		pair   tls.Certificate
		bundle []byte
		says   []string
		as     any
	}{
		"another name": {known.pair("other.example.com"), known.bundle,
			[]string{"x509: cannot validate certificate for 127.0.0.1", `expected a certificate for "127.0.0.1", signed by the caBundle, CN=known`}, new(x509.HostnameError)},
		"expired": {known.pairUntil(time.Now().Add(-time.Minute), "127.0.0.1"), known.bundle,
			[]string{"expired", `for "127.0.0.1", signed by the caBundle, CN=known`}, new(x509.CertificateInvalidError)},
		"unknown authority": {unknown.pair("127.0.0.1"), known.bundle,
			[]string{"unknown authority", `signed by the caBundle, CN=known`}, new(x509.UnknownAuthorityError)},
		"no caBundle": {unknown.pair("127.0.0.1"), nil,
			[]string{"unknown authority", `signed by the system's roots, as there is no caBundle`}, new(x509.UnknownAuthorityError)},
		"a caBundle that is none": {known.pair("127.0.0.1"), []byte("CA"), []string{"there is no certificate in the caBundle"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			s := serve(t, c.pair, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
			chain := interpreter.NewChain(newLayer(t, configured(s.URL, c.bundle)))
			_, err := chain.Interpret(t.Context(), healthRequest())
			for _, says := range c.says {
				require.ErrorContains(t, err, says)
			}
			if c.as != nil {
				require.ErrorAs(t, err, c.as)
			}
			assert.ErrorIs(t, err, webhook.ErrUnreachable)
			assert.Zero(t, asked)
		})
	}
}

func TestAServerWithoutTLS(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &http.Server{Handler: healthy(t), ReadHeaderTimeout: far}
	go func() { _ = s.Serve(l) }()
	defer s.Close()
	chain := interpreter.NewChain(newLayer(t, configured("https://"+l.Addr().String(), nil)))
	_, err = chain.Interpret(t.Context(), healthRequest())
	require.ErrorContains(t, err, "first record does not look like a TLS handshake (expected a certificate for")
}

func TestAClientCertificate(t *testing.T) {
	a := newAuthority(t, "test")
	s := serve(t, a.pair("127.0.0.1"), healthy(t))
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(a.bundle))
	s.TLS.ClientAuth, s.TLS.ClientCAs = tls.RequireAndVerifyClientCert, pool

	chain := interpreter.NewChain(newLayer(t, configured(s.URL, a.bundle)))
	_, err := chain.Interpret(t.Context(), healthRequest())
	require.ErrorContains(t, err, "certificate required")

	own := a.pair("client")
	chain = interpreter.NewChain(newLayer(t, configured(s.URL, a.bundle), webhook.WithClientCertificate(func() (*tls.Certificate, error) { return &own, nil })))
	_, err = chain.Interpret(t.Context(), healthRequest())
	require.NoError(t, err)
}

func TestAHostThatIsNotThere(t *testing.T) {
	// The top-level domain "invalid" never resolves (RFC 6761).
	chain := interpreter.NewChain(newLayer(t, configured("https://hook.invalid/", nil)))
	res, err := chain.Interpret(t.Context(), healthRequest())
	require.ErrorIs(t, err, webhook.ErrUnreachable)
	require.ErrorContains(t, err, "hook.invalid")
	assert.Nil(t, res)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	chain = interpreter.NewChain(newLayer(t, configured("https://"+l.Addr().String(), nil)))
	_, err = chain.Interpret(t.Context(), healthRequest())
	require.ErrorContains(t, err, "connection refused")
}

// services resolve to fixed addresses.
type services map[string][]string

func (s services) Resolve(_ context.Context, namespace, name string, port int32) ([]string, error) {
	key := fmt.Sprintf("%s/%s:%d", namespace, name, port)
	if addresses, ok := s[key]; ok {
		return addresses, nil
	}
	return nil, fmt.Errorf("no service %s", key)
}

// atService is configured with a service in the place of the URL.
func atService(bundle []byte, s admissionregistrationv1.ServiceReference) *v1alpha1.ResourceInterpreterWebhookConfiguration {
	c := configured("", bundle)
	c.Webhooks[0].ClientConfig.URL, c.Webhooks[0].ClientConfig.Service = nil, &s
	return c
}

func TestAServiceIsCalledAtItsEndpoints(t *testing.T) {
	a := newAuthority(t, "test")
	pair := a.pair("everything.hooks.svc")
	var mu sync.Mutex
	calls := map[string]int{}
	connections := map[string]bool{}
	var addresses []string
	for range 3 {
		s := serve(t, pair, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			calls[r.Context().Value(http.LocalAddrContextKey).(net.Addr).String()]++
			connections[r.RemoteAddr] = true
			mu.Unlock()
			assert.Equal(t, "everything.hooks.svc:443", r.Host)
			assert.Equal(t, "everything.hooks.svc", r.TLS.ServerName)
			assert.Equal(t, "/interpret", r.URL.Path)
			healthy(t)(w, r)
		}))
		addresses = append(addresses, s.Listener.Addr().String())
	}
	// The first is there twice, and one is dead.
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, dead.Close())
	resolver := services{"hooks/everything:443": append(addresses, addresses[0], dead.Addr().String())}
	c := atService(a.bundle, admissionregistrationv1.ServiceReference{Namespace: "hooks", Name: "everything", Path: ptr("/interpret")})
	chain := interpreter.NewChain(newLayer(t, c, webhook.WithResolver(resolver)))
	const n = 60
	for range n {
		_, err := chain.Interpret(t.Context(), healthRequest())
		require.NoError(t, err)
	}
	total := 0
	for _, address := range addresses {
		assert.Greater(t, calls[address], n/6, "every endpoint gets a share: %v", calls)
		total += calls[address]
	}
	assert.Equal(t, n, total)
	assert.LessOrEqual(t, len(connections), 8, "connections are used again")
}

func TestAServiceThatIsNotThere(t *testing.T) {
	c := atService(nil, admissionregistrationv1.ServiceReference{Namespace: "hooks", Name: "gone", Port: ptr(int32(8443))})
	_, err := interpreter.NewChain(newLayer(t, c, webhook.WithResolver(services{}))).Interpret(t.Context(), healthRequest())
	require.ErrorContains(t, err, "https://gone.hooks.svc:8443: hook unreachable: no service hooks/gone:8443")

	// Without a resolver, and if it knows nothing, the name is looked up.
	for _, options := range [][]webhook.Option{nil, {webhook.WithResolver(services{"hooks/gone:8443": nil})}} {
		_, err = interpreter.NewChain(newLayer(t, c, options...)).Interpret(t.Context(), healthRequest())
		require.ErrorContains(t, err, "lookup gone.hooks.svc")
	}
}

func TestAURLWithoutAPath(t *testing.T) {
	chain, _ := hookOf(t, func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "/", r.URL.Path)
		healthy(t)(w, r)
	})
	_, err := chain.Interpret(t.Context(), healthRequest())
	require.NoError(t, err)
}

func TestMetricsOfCalls(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	a := newAuthority(t, "test")
	s := serve(t, a.pair("127.0.0.1"), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked := read(t, r); asked.Operation == interpreter.InterpretHealth {
			fmt.Fprintf(w, `{"response":{"uid":%q,"successful":true,"healthy":true}}`, asked.UID)
		}
	}))
	l := newLayer(t, configured(s.URL, a.bundle), webhook.WithRegisterer(registry), webhook.WithBreaker(2, far))
	newLayer(t, configured(s.URL, a.bundle), webhook.WithName("second"), webhook.WithRegisterer(registry))
	chain := interpreter.NewChain(l)
	_, err := chain.Interpret(t.Context(), healthRequest())
	require.NoError(t, err)
	for range 3 {
		_, err = interpreter.Dependencies(t.Context(), chain, workload())
		require.Error(t, err)
	}
	page := scrape(t, registry)
	for _, line := range []string{
		`interpret_webhook_calls_total{hook="hooks/w.example.com",operation="InterpretHealth",outcome="answered"} 1`,
		`interpret_webhook_calls_total{hook="hooks/w.example.com",operation="InterpretDependency",outcome="invalid"} 2`,
		`interpret_webhook_calls_total{hook="hooks/w.example.com",operation="InterpretDependency",outcome="unavailable"} 1`,
		`interpret_webhook_call_duration_seconds_count{hook="hooks/w.example.com",operation="InterpretHealth"} 1`,
		`interpret_webhook_calls_in_flight{hook="hooks/w.example.com",operation="InterpretHealth"} 0`,
		`interpret_webhook_breaker_state{hook="hooks/w.example.com"} 2`,
	} {
		assert.Contains(t, page, line+"\n")
	}
	require.NoError(t, l.Replace(nil))
	assert.NotContains(t, scrape(t, registry), "w.example.com")
}

func scrape(t testing.TB, g prometheus.Gatherer) string {
	w := httptest.NewRecorder()
	promhttp.HandlerFor(g, promhttp.HandlerOpts{}).ServeHTTP(w, must(http.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)))
	require.Equal(t, http.StatusOK, w.Code)
	return w.Body.String()
}

func TestOptionsAreChecked(t *testing.T) {
	for says, o := range map[string]webhook.Option{
		"the layer's name is empty":           webhook.WithName(""),
		"the timeout must be positive, got":   webhook.WithTimeout(0),
		"the answer limit must be positive":   webhook.WithAnswerLimit(-1),
		"the concurrency must be positive":    webhook.WithConcurrency(0),
		"the number of failures must be":      webhook.WithBreaker(0, time.Second),
		"the pause must be positive, got -1s": webhook.WithBreaker(1, -time.Second),
	} {
		_, err := webhook.New(nil, o)
		assert.ErrorContains(t, err, says)
	}
}

func TestQuestionsThatCannotBeAsked(t *testing.T) {
	asked := 0
	a := newAuthority(t, "test")
	s := serve(t, a.pair("127.0.0.1"), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	rule := newLayer(t, configured(s.URL, a.bundle)).Rules(workloadKind, interpreter.InterpretHealth)[0]
	for _, req := range []*interpreter.Request{
		{Operation: interpreter.InterpretHealth},
		{Operation: "Delete", Object: workload()},
		{Operation: interpreter.ReviseReplica, Object: workload()},
		{Operation: interpreter.Retain, Object: workload()},
	} {
		_, err := rule.Interpreter.Interpret(t.Context(), req)
		require.ErrorIs(t, err, interpreter.ErrInvalidRequest)
	}
	broken := workload()
	broken.Object["f"] = func() {}
	_, err := rule.Interpreter.Interpret(t.Context(), &interpreter.Request{Operation: interpreter.InterpretHealth, Object: broken})
	require.ErrorIs(t, err, interpreter.ErrInvalidRequest)
	assert.Zero(t, asked)
	_, err = rule.Interpreter.Interpret(t.Context(), healthRequest())
	require.False(t, errors.Is(err, webhook.ErrUnavailable), "what the caller does wrong does not open the breaker")
}
