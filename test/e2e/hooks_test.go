package e2e

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/follow"
	"github.com/kubeinterpret/interpret/webhook"
	webhooklive "github.com/kubeinterpret/interpret/webhook/live"
)

// authority issues certificates.
type authority struct {
	t           *testing.T
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{t: t, certificate: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	var err error
	a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificate(rand.Reader, a.certificate, a.certificate, a.key.Public(), a.key)
	require.NoError(t, err)
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

// issue makes a certificate for a DNS name.
func (a *authority) issue(name string) *tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.certificate, key.Public(), a.key)
	require.NoError(a.t, err)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// bundle is a caBundle of authorities.
func bundle(list ...*authority) string {
	var all []byte
	for _, a := range list {
		all = append(all, a.pem...)
	}
	return base64.StdEncoding.EncodeToString(all)
}

// What a hook does with a question.
const (
	answers = iota
	hangs
	talksGarbage
	// answersAndLeaves is to answer, and to close the connection.
	answersAndLeaves
)

// hook reflects a word as the status of everything.
type hook struct {
	t           *testing.T
	address     string
	word        string
	behaviour   atomic.Int32
	certificate atomic.Pointer[tls.Certificate]
	calls       atomic.Int64

	server *http.Server
	done   sync.WaitGroup
}

// newHook starts one on an address that is not loopback, which no EndpointSlice may have.
func newHook(t *testing.T, word string, certificate *tls.Certificate) *hook {
	t.Helper()
	h := &hook{t: t, word: word, address: net.JoinHostPort(machineIP(t), "0")}
	h.certificate.Store(certificate)
	h.start()
	t.Cleanup(h.stop)
	return h
}

func machineIP(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	t.Fatal("this machine has no address but loopback")
	return ""
}

func (h *hook) port() string {
	_, port, err := net.SplitHostPort(h.address)
	require.NoError(h.t, err)
	return port
}

// start listens where it listened before.
func (h *hook) start() {
	h.t.Helper()
	listener, err := new(net.ListenConfig).Listen(h.t.Context(), "tcp", h.address)
	require.NoError(h.t, err)
	h.address = listener.Addr().String()
	handler, err := webhook.NewHandler(interpreter.Func(func(context.Context, *interpreter.Request) (*interpreter.Result, error) {
		return &interpreter.Result{Status: map[string]any{"says": h.word}}, nil
	}))
	require.NoError(h.t, err)
	h.server = &http.Server{
		ReadHeaderTimeout: inStep,
		ErrorLog:          log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return h.certificate.Load(), nil
		}},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n := h.calls.Add(1)
			switch h.behaviour.Load() {
			case hangs:
				_, _ = io.Copy(io.Discard, r.Body)
				<-r.Context().Done()
			case talksGarbage:
				garbage(w, r, n)
			case answersAndLeaves:
				w.Header().Set("Connection", "close")
				fallthrough
			default:
				handler.ServeHTTP(w, r)
			}
		}),
	}
	server := h.server
	h.done.Go(func() { _ = server.ServeTLS(listener, "", "") })
}

// stop dies: connections are cut, answers or not.
func (h *hook) stop() {
	_ = h.server.Close()
	h.done.Wait()
}

// garbage is what hooks answer that have gone wrong, one after the other.
func garbage(w http.ResponseWriter, r *http.Request, n int64) {
	body, _ := io.ReadAll(r.Body)
	_, after, _ := bytes.Cut(body, []byte(`"uid":"`))
	uid, _, _ := bytes.Cut(after, []byte(`"`))
	all := []string{
		"", "<html>Not Found</html>", "{}", "null", "[]", `{"response":{}}`,
		`{"response":{"uid":"another","successful":true,"rawStatus":{"says":"wrong"}}}`,
		fmt.Sprintf(`{"response":{"uid":%q,"successful":true}}`, uid),
		fmt.Sprintf(`{"response":{"uid":%q,"successful":true,"rawStatus":{"says":"wro`, uid),
		fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","response":{"uid":%q,"successful":true,"rawStatus":{"says":"wrong"}}}`, uid),
	}
	switch i := int(n) % (len(all) + 2); i {
	case len(all):
		http.Error(w, "wrong", http.StatusInternalServerError)
	case len(all) + 1:
		panic(http.ErrAbortHandler)
	default:
		_, _ = io.WriteString(w, all[i])
	}
}

// hookService is a Service, and a slice with the endpoints of hooks at each of their ports.
func hookService(namespace, name string, hooks ...*hook) string {
	text := fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %s, namespace: %s}
spec: {ports: [{name: https, port: 443, targetPort: hook}]}
`, name, namespace)
	for i, h := range hooks {
		text += "---" + slice(namespace, name, i, h, true)
	}
	return text
}

func slice(namespace, service string, number int, h *hook, ready bool) string {
	return fmt.Sprintf(`
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[1]s-%[2]d, namespace: %[3]s, labels: {kubernetes.io/service-name: %[1]s}}
addressType: IPv4
ports: [{name: https, port: %[4]s}]
endpoints: [{addresses: [%[5]s], conditions: {ready: %[6]t}}]
`, service, number, namespace, h.port(), machineIP(h.t), ready)
}

// hookConfiguration registers a hook for the status of one kind of demo.io/v1.
func hookConfiguration(name, kind, policy, client string) string {
	seconds := 1
	if policy == "Fail" && kind != "Failing" {
		// Nothing goes wrong with this hook, but the machine has other things to do.
		seconds = 30
	}
	return fmt.Sprintf(`
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterWebhookConfiguration
metadata: {name: %s, annotations: {webhook.kubeinterpret.io/failure-policy: %s}}
webhooks:
- name: w.example.com
  clientConfig: %s
  rules: [{operations: [InterpretStatus], apiGroups: [demo.io], apiVersions: [v1], kinds: [%s]}]
  timeoutSeconds: %d
  interpreterContextVersions: [v1alpha1]
`, name, policy, client, kind, seconds)
}

// atService is the client configuration of a hook behind a Service.
func atService(namespace, name, bundle string) string {
	return fmt.Sprintf("{service: {namespace: %s, name: %s}, caBundle: %s}", namespace, name, bundle)
}

// asked is what came of the questions about a kind.
type asked struct {
	calls, failed, wrong, unnamed atomic.Int64
	firstWrong, firstUnnamed      atomic.Value
	// errors are their texts.
	errors sync.Map
}

// failedWith says whether an error with this text has been seen.
func (k *asked) failedWith(text string) (found bool) {
	k.errors.Range(func(said, _ any) bool {
		found = strings.Contains(said.(string), text)
		return !found
	})
	return found
}

// hookCallers ask without end.
type hookCallers map[string]*asked

// ask has 64 callers ask about kinds. Words has all answers that may ever be given; an error must name the hook.
func (a hookCallers) ask(t *testing.T, chain *interpreter.Chain, words map[string][]string) {
	for kind := range words {
		a[kind] = &asked{}
	}
	keepRunning(t, func(ctx context.Context) error {
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				// Together they leave time for the control plane on the same machine.
				for paced := time.Tick(100 * time.Millisecond); ctx.Err() == nil; <-paced {
					for kind, right := range words {
						word, err := reflected(chain, kind)
						a[kind].note(kind, word, err, right)
					}
				}
			})
		}
		all.Wait()
		return nil
	})
}

func (k *asked) note(kind, word string, err error, right []string) {
	k.calls.Add(1)
	if err == nil {
		if !slices.Contains(right, word) {
			k.wrong.Add(1)
			k.firstWrong.CompareAndSwap(nil, word)
		}
		return
	}
	k.failed.Add(1)
	k.errors.Store(err.Error(), nil)
	var call *webhook.CallError
	var failed *interpreter.Error
	hook := strings.ToLower(kind) + "/w.example.com"
	if !errors.As(err, &call) || call.Configuration+"/"+call.Hook != hook || call.Host == "" || call.Name != "o" ||
		!errors.As(err, &failed) || failed.Source.Rule != hook || !strings.Contains(err.Error(), "InterpretStatus of demo.io/v1 "+kind+" o by webhook "+hook) {
		k.unnamed.Add(1)
		k.firstUnnamed.CompareAndSwap(nil, err.Error())
	}
}

func TestHooksFollowAnAPIServer(t *testing.T) {
	p := newOwnPlane(t)
	p.do("", "create", "namespace", "hooks")
	first, second := newAuthority(t, "first authority"), newAuthority(t, "second authority")
	certificate := func(a *authority, service string) *tls.Certificate { return a.issue(service + ".hooks.svc") }

	steady := []*hook{newHook(t, "steady", certificate(first, "steady")), newHook(t, "steady", certificate(first, "steady"))}
	failing, ignored := newHook(t, "failing", certificate(first, "failing")), newHook(t, "ignored", certificate(first, "ignored"))
	late := newHook(t, "late", certificate(first, "late"))
	p.do(hookService("hooks", "steady", steady...), "apply", "-f", "-")
	p.do(hookService("hooks", "failing", failing), "apply", "-f", "-")
	p.do(hookService("hooks", "ignored", ignored), "apply", "-f", "-")
	p.do(hookService("hooks", "late", late), "apply", "-f", "-")
	p.do(hookConfiguration("steady", "Steady", "Fail", atService("hooks", "steady", bundle(first))), "apply", "-f", "-")
	p.do(hookConfiguration("failing", "Failing", "Fail", atService("hooks", "failing", bundle(first))), "apply", "-f", "-")
	p.do(hookConfiguration("ignored", "Ignored", "Ignore", atService("hooks", "ignored", bundle(first))), "apply", "-f", "-")
	p.do(hookConfiguration("late", "Late", "Fail", atService("hooks", "late", bundle(first))), "apply", "-f", "-")

	resolver, err := webhooklive.NewResolver(p.client(), webhooklive.WithEndpoints())
	require.NoError(t, err)
	hooks, err := webhook.New(nil, webhook.WithResolver(resolver))
	require.NoError(t, err)
	t.Cleanup(hooks.Close)
	l, err := webhooklive.New(p.client(), hooks, follow.WithPatience(0))
	require.NoError(t, err)
	// The layer below has an answer for all of them, which only the one with the policy Ignore may ever give.
	below := rules(t)
	var customizations []*declarative.Customization
	for _, kind := range []string{"Steady", "Failing", "Ignored", "Late"} {
		list, err := declarative.Parse("below.yaml", []byte(customization(strings.ToLower(kind), kind, says("below"))))
		require.NoError(t, err)
		customizations = append(customizations, list...)
	}
	require.NoError(t, below.Replace(customizations))
	chain := interpreter.NewChain(l, below)
	_, err = reflected(chain, "Steady")
	require.ErrorIs(t, err, interpreter.ErrNotReady)
	keepRunning(t, resolver.Run)
	keepRunning(t, l.Run)
	require.NoError(t, l.Wait(t.Context()))
	changes := l.Changes(t.Context())
	// applied waits until a configuration is in force.
	applied := func(configuration string) {
		t.Helper()
		select {
		case <-changes:
		default:
		}
		p.do(configuration, "apply", "-f", "-")
		select {
		case <-changes:
		case <-time.After(inStep):
			t.Fatal("the change is not in force")
		}
	}

	account := hookCallers{}
	defer func() {
		for kind, k := range account {
			t.Logf("%s: %d calls, %d failed, %d wrong, %d errors that do not name the hook", kind, k.calls.Load(), k.failed.Load(), k.wrong.Load(), k.unnamed.Load())
			k.errors.Range(func(text, _ any) bool {
				t.Logf("  %s", text)
				return true
			})
			assert.Positive(t, k.calls.Load())
			assert.Zero(t, k.wrong.Load(), "%s answered %v", kind, k.firstWrong.Load())
			assert.Zero(t, k.unnamed.Load(), "%s failed with %v", kind, k.firstUnnamed.Load())
		}
		for _, kind := range []string{"Steady", "Changing", "Ignored"} {
			assert.Zero(t, account[kind].failed.Load(), kind)
		}
		assert.Positive(t, account["Failing"].failed.Load())
	}()
	words := []string{"nobody"}
	for i := range 6 {
		words = append(words, fmt.Sprint("word", i))
	}
	account.ask(t, chain, map[string][]string{
		"Steady": {"steady"}, "Changing": words, "Failing": {"failing"}, "Ignored": {"ignored", "below"},
	})
	becomes(t, chain, "Steady", "steady")

	t.Log("configurations are created, changed and deleted")
	var took []time.Duration
	for round := range 3 {
		for i := range 2 {
			word := words[1+2*round+i]
			// A hook behind the name that a Service stands for.
			h := newHook(t, word, certificate(first, word))
			listenOnLoopback(t, h)
			p.do(fmt.Sprintf("{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: hooks}, spec: {type: ExternalName, externalName: localhost}}", word), "apply", "-f", "-")
			p.do(hookConfiguration("changing", "Changing", "Fail",
				fmt.Sprintf("{service: {namespace: hooks, name: %s, port: %s}, caBundle: %s}", word, h.port(), bundle(first))), "apply", "-f", "-")
			took = append(took, becomes(t, chain, "Changing", word))
		}
		p.do("", "delete", "resourceinterpreterwebhookconfigurations", "changing")
		took = append(took, becomes(t, chain, "Changing", "nobody"))
	}

	// disturbed says what goes wrong with both hooks, and what the one with the policy Fail says about it.
	disturbed := func(what string, begin, end func(h *hook), message ...string) {
		t.Helper()
		t.Log("the hooks " + what)
		begin(failing)
		begin(ignored)
		becomes(t, chain, "Ignored", "below")
		for _, text := range message {
			require.Eventually(t, func() bool { return account["Failing"].failedWith(text) }, inStep, tick, text)
		}
		end(failing)
		end(ignored)
		becomes(t, chain, "Failing", "failing")
		becomes(t, chain, "Ignored", "ignored")
	}
	behave := func(how int32) func(*hook) { return func(h *hook) { h.behaviour.Store(how) } }
	disturbed("die", (*hook).stop, (*hook).start, "connection refused", "hook unavailable: the last 5 calls or more failed")
	disturbed("hang", behave(hangs), behave(answers), "no answer within the webhook's 1s", "hook unavailable")
	disturbed("talk garbage", behave(talksGarbage), behave(answers), "invalid result")

	t.Log("the hooks have certificates of an authority that nobody knows")
	for h, service := range map[*hook]string{failing: "failing", ignored: "ignored"} {
		h.certificate.Store(certificate(second, service))
		h.behaviour.Store(answersAndLeaves)
	}
	becomes(t, chain, "Ignored", "below")
	require.Eventually(t, func() bool {
		return account["Failing"].failedWith(`expected a certificate for "failing.hooks.svc", signed by the caBundle, CN=first authority`)
	}, inStep, tick)
	applied(hookConfiguration("failing", "Failing", "Fail", atService("hooks", "failing", bundle(second))))
	applied(hookConfiguration("ignored", "Ignored", "Ignore", atService("hooks", "ignored", bundle(second))))
	becomes(t, chain, "Failing", "failing")
	becomes(t, chain, "Ignored", "ignored")

	t.Log("an authority is replaced in order, and nobody notices")
	applied(hookConfiguration("steady", "Steady", "Fail", atService("hooks", "steady", bundle(first, second))))
	for _, h := range steady {
		h.certificate.Store(certificate(second, "steady"))
		h.behaviour.Store(answersAndLeaves)
	}
	before := steady[0].calls.Load() + steady[1].calls.Load()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Greater(c, steady[0].calls.Load()+steady[1].calls.Load(), before+500)
	}, inStep, 10*time.Millisecond)
	for _, h := range steady {
		h.behaviour.Store(answers)
	}
	applied(hookConfiguration("steady", "Steady", "Fail", atService("hooks", "steady", bundle(second))))

	t.Log("an endpoint leaves, and comes back")
	p.do(slice("hooks", "steady", 1, steady[1], false), "apply", "-f", "-")
	idle := func(h *hook) {
		t.Helper()
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			before := h.calls.Load()
			time.Sleep(500 * time.Millisecond)
			assert.Equal(c, before, h.calls.Load())
		}, inStep, time.Millisecond)
	}
	idle(steady[1])
	steady[1].stop()
	becomes(t, chain, "Steady", "steady")
	steady[1].start()
	p.do(slice("hooks", "steady", 1, steady[1], true), "apply", "-f", "-")
	before = steady[1].calls.Load()
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Greater(c, steady[1].calls.Load(), before) }, inStep, 5*time.Millisecond)

	t.Log("the API server is stopped, and started again")
	require.NoError(t, p.env.ControlPlane.GetAPIServer().Stop())
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Error(c, l.Ready()) }, inStep, 10*time.Millisecond)
	becomes(t, chain, "Failing", "failing")
	// A Service that nobody has asked for before cannot be found now. That is neither its DNS name nor no address.
	_, err = reflected(chain, "Late")
	require.ErrorIs(t, err, interpreter.ErrNotReady)
	require.ErrorContains(t, err, "by webhook late/w.example.com: https://late.hooks.svc:443: hook unreachable: service hooks/late: not ready: ")
	require.ErrorContains(t, err, "connection refused")
	t.Log(err)
	disturbed("die, without the API server", (*hook).stop, (*hook).start)
	require.NoError(t, p.env.ControlPlane.GetAPIServer().Start())
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.NoError(c, l.Ready()) }, inStep, 10*time.Millisecond)
	becomes(t, chain, "Late", "late")
	p.do("", "delete", "resourceinterpreterwebhookconfigurations", "late")
	took = append(took, becomes(t, chain, "Late", "below"))
	slices.Sort(took)
	assert.Less(t, took[len(took)/2], inForce)
	for _, h := range steady {
		t.Logf("%d calls at an endpoint of the steady hook", h.calls.Load())
		assert.Positive(t, h.calls.Load())
	}
}

// listenOnLoopback has a hook answer at its port on loopback as well, which is where localhost leads.
func listenOnLoopback(t *testing.T, h *hook) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort("localhost", h.port()))
	require.NoError(t, err)
	server := h.server
	h.done.Go(func() { _ = server.ServeTLS(listener, "", "") })
}

func TestAdmissionRefusesHooksThatCouldNotWork(t *testing.T) {
	p := newOwnPlane(t)
	p.reviewed(nil)
	const sound = "{url: \"https://hook.example.com/\"}"
	configuration := func(client string) string { return hookConfiguration("widget", "Widget", "Fail", client) }
	for _, c := range []struct{ object, says string }{
		{configuration("{}"), "webhooks[0].clientConfig: Required value: exactly one of url and service is required"},
		{configuration(`{url: "https://a/", service: {namespace: a, name: b}}`), "webhooks[0].clientConfig: Invalid value"},
		{configuration(`{url: "http://hook.example.com/"}`), `webhooks[0].clientConfig.url: Invalid value: "http://hook.example.com/": the scheme must be https`},
		{configuration(`{service: {namespace: a, name: b, port: 99999}}`), "webhooks[0].clientConfig.service.port: Invalid value: 99999: must be between 1 and 65535, inclusive"},
		{strings.Replace(configuration(sound), "timeoutSeconds: 30", "timeoutSeconds: 0", 1), "webhooks[0].timeoutSeconds: Invalid value: 0: must be from 1 to 30"},
		{strings.Replace(configuration(sound), "InterpretStatus", "interpretStatus", 1), `webhooks[0].rules[0].operations[0]: Unsupported value: "interpretStatus"`},
		{strings.Replace(configuration(sound), "kinds: [Widget]", `kinds: [Widget, "*"]`, 1), `webhooks[0].rules[0].kinds: Invalid value: ["Widget","*"]: "*" must stand alone`},
		{strings.Replace(configuration(sound), "[v1alpha1]", "[v2]", 1), "webhooks[0].interpreterContextVersions: Invalid value"},
		{strings.Replace(configuration(sound), "policy: Fail", "policy: Retry", 1), `metadata.annotations[webhook.kubeinterpret.io/failure-policy]: Invalid value: "Retry": a policy must be Fail or Ignore, got "Retry"`},
		{configuration(sound) + "- {name: w.example.com, clientConfig: " + sound + ", interpreterContextVersions: [v1alpha1]}\n", `webhooks[1].name: Duplicate value: "w.example.com"`},
	} {
		p.refused(c.object, `The ResourceInterpreterWebhookConfiguration "widget" is invalid`, c.says)
	}
	out := p.do(strings.Replace(configuration(`{url: "https://hook.example.com/", caBundle: bm9uZQ==}`), "rules: ", "# ", 1), "apply", "-f", "-")
	assert.Contains(t, out, "Warning: webhooks[0].rules: there are none, so the hook is never asked")
	assert.Contains(t, out, "Warning: webhooks[0].clientConfig.caBundle: it holds no certificate in PEM, so no connection will be trusted")
}

func TestServicesAreFound(t *testing.T) {
	namespace := newNamespace(t)
	resolver := func(config *rest.Config, options ...webhooklive.ResolverOption) *webhooklive.Resolver {
		t.Helper()
		asking, err := dynamic.NewForConfig(config)
		require.NoError(t, err)
		r, err := webhooklive.NewResolver(asking, options...)
		require.NoError(t, err)
		keepRunning(t, r.Run)
		return r
	}
	a := newAuthority(t, "authority")
	h := newHook(t, "found", a.issue("web."+namespace+".svc"))
	for _, text := range strings.Split(hookService(namespace, "web", h), "---") {
		create(t, object(t, text))
	}
	create(t, object(t, "{apiVersion: v1, kind: Service, metadata: {name: headless, namespace: "+namespace+"}, spec: {clusterIP: None, ports: [{port: 443}]}}"))
	web := object(t, "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: "+namespace+"}}")
	must(t, server.Get(t.Context(), client.ObjectKeyFromObject(web), web))

	clusterIP, endpoints := resolver(server.config), resolver(server.config, webhooklive.WithEndpoints())
	// Run has begun at some time.
	found := func(r *webhooklive.Resolver, name string, port int32) (string, error) {
		t.Helper()
		var list []string
		var err error
		require.Eventually(t, func() bool {
			list, err = r.Resolve(t.Context(), namespace, name, port)
			return err == nil || !strings.Contains(err.Error(), "not being followed")
		}, inStep, tick)
		return strings.Join(list, " "), err
	}
	for _, c := range []struct {
		resolver *webhooklive.Resolver
		name     string
		port     int32
		want     string
		err      string
	}{
		{clusterIP, "web", 443, net.JoinHostPort(nested(t, web, "spec", "clusterIP").(string), "443"), ""},
		{clusterIP, "web", 8443, "", "it has no port 8443 (have 443 https)"},
		{clusterIP, "headless", 443, "", "it has no cluster IP, being headless"},
		{clusterIP, "missing", 443, "", ""},
		{endpoints, "web", 443, h.address, ""},
		{endpoints, "headless", 443, "", "its port 443 has no endpoints"},
		{endpoints, "missing", 443, "", ""},
	} {
		got, err := found(c.resolver, c.name, c.port)
		assert.Equal(t, c.want, got)
		if c.err == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, c.err)
		}
	}

	// An account that may read one Service, by its name, can find that one and is told what it may not.
	for _, text := range []string{
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: web, namespace: NS},
		  rules: [{apiGroups: [""], resources: [services], resourceNames: [web], verbs: [list, watch]}]}`,
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: web, namespace: NS},
		  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: resolver}]}`,
	} {
		create(t, object(t, strings.ReplaceAll(text, "NS", namespace)))
	}
	restricted := rest.CopyConfig(server.config)
	restricted.Impersonate.UserName = "resolver"
	r := resolver(restricted)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		list, err := r.Resolve(t.Context(), namespace, "web", 443)
		assert.NoError(c, err)
		assert.Len(c, list, 1)
	}, inStep, tick)
	_, err := r.Resolve(t.Context(), namespace, "headless", 443)
	require.ErrorIs(t, err, interpreter.ErrNotReady)
	require.ErrorContains(t, err, `services "headless" is forbidden: User "resolver" cannot `)
}
