package webhook_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
)

// far is a time that a test must not take; it stands for "for ever".
const far = 30 * time.Second

var workloadKind = schema.GroupVersionKind{Group: "workload.example.io", Version: "v1alpha1", Kind: "Workload"}

func workload() *unstructured.Unstructured {
	return object(`{apiVersion: workload.example.io/v1alpha1, kind: Workload, metadata: {name: web, namespace: demo}, spec: {replicas: 1, paused: false}}`)
}

func object(text string) *unstructured.Unstructured {
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		panic(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(data); err != nil {
		panic(err)
	}
	return o
}

func healthRequest() *interpreter.Request {
	return &interpreter.Request{Operation: interpreter.InterpretHealth, Object: workload()}
}

// authority signs certificates for a test.
type authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	// bundle is the authority's certificate in PEM.
	bundle []byte
}

func newAuthority(t testing.TB, name string) *authority {
	a := &authority{t: t}
	a.key = newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	require.NoError(t, err)
	a.cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	a.bundle = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}

// issue makes a certificate, with its key, for names and addresses.
func (a *authority) issue(serial int64, notAfter time.Time, names ...string) (certificate, key []byte) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: names[0]},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: notAfter,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	k := newKey(a.t)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, k.Public(), a.key)
	require.NoError(a.t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(k)
	require.NoError(a.t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

// pair is a valid certificate for names and addresses.
func (a *authority) pair(names ...string) tls.Certificate {
	return a.pairUntil(time.Now().Add(time.Hour), names...)
}

func (a *authority) pairUntil(notAfter time.Time, names ...string) tls.Certificate {
	c, err := tls.X509KeyPair(a.issue(2, notAfter, names...))
	require.NoError(a.t, err)
	return c
}

// serve serves over TLS on a loopback address until the test ends.
func serve(t testing.TB, c tls.Certificate, h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{c}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// configured is the configuration "hooks" with one webhook, "w.example.com", for everything.
func configured(url string, bundle []byte) *v1alpha1.ResourceInterpreterWebhookConfiguration {
	return &v1alpha1.ResourceInterpreterWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "hooks"},
		Webhooks: []v1alpha1.ResourceInterpreterWebhook{{
			Name:                       "w.example.com",
			ClientConfig:               admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: bundle},
			Rules:                      []v1alpha1.RuleWithOperations{everything},
			InterpreterContextVersions: []string{"v1alpha1"},
		}},
	}
}

var everything = v1alpha1.RuleWithOperations{
	Operations: []interpreter.Operation{v1alpha1.InterpreterOperationAll},
	Rule:       v1alpha1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Kinds: []string{"*"}},
}

func newLayer(t testing.TB, c *v1alpha1.ResourceInterpreterWebhookConfiguration, options ...webhook.Option) *webhook.Layer {
	l, err := webhook.New([]*v1alpha1.ResourceInterpreterWebhookConfiguration{c}, options...)
	require.NoError(t, err)
	t.Cleanup(l.Close)
	return l
}

// hookOf is a chain whose only layer asks a hook that answers with a function of net/http.
func hookOf(t testing.TB, h http.HandlerFunc, options ...webhook.Option) (*interpreter.Chain, *httptest.Server) {
	a := newAuthority(t, "test")
	s := serve(t, a.pair("127.0.0.1"), h)
	return interpreter.NewChain(newLayer(t, configured(s.URL, a.bundle), options...)), s
}

// read reads the envelope of a question.
func read(t testing.TB, r *http.Request) *v1alpha1.ResourceInterpreterRequest {
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	var c v1alpha1.ResourceInterpreterContext
	require.NoError(t, json.Unmarshal(body, &c))
	require.NotNil(t, c.Request)
	return c.Request
}

// healthy answers that all is well, as a hook by somebody else would: no envelope type, no Content-Type.
func healthy(t testing.TB) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, err := io.WriteString(w, `{"response":{"uid":"`+string(read(t, r).UID)+`","successful":true,"healthy":true}}`)
		require.NoError(t, err)
	}
}
