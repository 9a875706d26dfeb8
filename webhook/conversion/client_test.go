package conversion_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
	"github.com/kubeinterpret/interpret/webhook"
	"github.com/kubeinterpret/interpret/webhook/conversion"
)

// crd is Foo with the versions v1 and v2; a nil conversion is the strategy None.
func crd(t testing.TB, c *apiextensionsv1.CustomResourceConversion) *definition.Definition {
	keeps := &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}}
	d, err := definition.New(&apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "foos.sample.webhook.io"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped, Conversion: c,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "foos", Kind: "Foo"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				{Name: "v1", Served: true, Schema: keeps}, {Name: "v2", Served: true, Storage: true, Schema: keeps},
			},
		},
	})
	require.NoError(t, err)
	return d
}

func calling(config apiextensionsv1.WebhookClientConfig, versions ...string) *apiextensionsv1.CustomResourceConversion {
	if len(versions) == 0 {
		versions = []string{"v1"}
	}
	return &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook:  &apiextensionsv1.WebhookConversion{ClientConfig: &config, ConversionReviewVersions: versions},
	}
}

// serve serves a handler over TLS, and gives the configuration that leads to it.
func serve(t testing.TB, h http.Handler) apiextensionsv1.WebhookClientConfig {
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	return apiextensionsv1.WebhookClientConfig{
		URL:      new(s.URL + "/convert"),
		CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
	}
}

func client(t testing.TB, options ...webhook.Option) *conversion.Client {
	c, err := conversion.NewClient(options...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestTheClientAndTheServer(t *testing.T) {
	for name, h := range map[string]http.Handler{
		"Go":  handler(t, aliased),
		"Lua": func() http.Handler { h, _ := conversion.NewHandler(compiled(t, converter)); return h }(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := crd(t, calling(serve(t, h)))
			c := client(t)
			in := []*unstructured.Unstructured{object(t, web1), object(t, web), object(t, web1)}
			out, err := c.Convert(t.Context(), d, in, "v1")
			require.NoError(t, err)
			require.Len(t, out, 3)
			assert.Same(t, in[0], out[0], "what is in that version already passes as it is")
			assert.Same(t, in[2], out[2])
			assert.Equal(t, object(t, `{apiVersion: sample.webhook.io/v1, kind: Foo, metadata: {name: web, namespace: a, uid: u7, resourceVersion: "12", labels: {x: z}, annotations: {sample.webhook.io/alias: w}}, spec: {size: 9007199254740993}}`), out[1])
			assert.Equal(t, object(t, web), in[1], "what is asked is not modified")
			back, err := c.Convert(t.Context(), d, out[1:2], "v2")
			require.NoError(t, err)
			assert.Equal(t, in[1], back[0])
		})
	}
}

func TestTheStrategyNoneChangesTheVersionOnly(t *testing.T) {
	t.Parallel()
	in := object(t, web)
	out, err := client(t).Convert(t.Context(), crd(t, nil), []*unstructured.Unstructured{in, object(t, web1)}, "v1")
	require.NoError(t, err)
	want := object(t, web)
	want.SetAPIVersion("sample.webhook.io/v1")
	assert.Equal(t, want, out[0])
	assert.Equal(t, object(t, web), in)
	none, err := client(t).Convert(t.Context(), crd(t, nil), nil, "v1")
	require.NoError(t, err)
	assert.Empty(t, none)
}

// script answers a review with what a function makes of the answer that would be right.
func script(t testing.TB, change func(*apiextensionsv1.ConversionReview)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review apiextensionsv1.ConversionReview
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&review))
		review.Response = &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
		for _, o := range review.Request.Objects {
			obj := &unstructured.Unstructured{}
			assert.NoError(t, obj.UnmarshalJSON(o.Raw))
			obj.SetAPIVersion(review.Request.DesiredAPIVersion)
			raw, err := json.Marshal(obj.Object)
			assert.NoError(t, err)
			review.Response.ConvertedObjects = append(review.Response.ConvertedObjects, runtime.RawExtension{Raw: raw})
		}
		review.Request = nil
		change(&review)
		w.Header().Set("Content-Type", "application/json")
		assert.NoError(t, json.NewEncoder(w).Encode(&review))
	})
}

// replacing changes the text of the second object that comes back.
func replacing(old, new string) func(*apiextensionsv1.ConversionReview) {
	return func(r *apiextensionsv1.ConversionReview) {
		o := &r.Response.ConvertedObjects[1]
		o.Raw = []byte(strings.Replace(string(o.Raw), old, new, 1))
	}
}

// Whatever is wrong with an answer, the error names CRD, versions and object, and nothing is converted.
func TestAnswersThatAreNone(t *testing.T) {
	first, second := " Foo a/web and 1 more from v2 to v1: ", " Foo a/two from v2 to v1: "
	for name, c := range map[string]struct {
		change func(*apiextensionsv1.ConversionReview)
		about  string
		want   string
	}{
		"too few": {func(r *apiextensionsv1.ConversionReview) {
			r.Response.ConvertedObjects = r.Response.ConvertedObjects[:1]
		}, first, "invalid result: 2 objects were to be converted, 1 came back"},
		"none": {func(r *apiextensionsv1.ConversionReview) { r.Response.ConvertedObjects = nil }, first, "invalid result: 2 objects were to be converted, 0 came back"},
		"too many": {func(r *apiextensionsv1.ConversionReview) {
			r.Response.ConvertedObjects = append(r.Response.ConvertedObjects, r.Response.ConvertedObjects...)
		}, first, "invalid result: 2 objects were to be converted, 4 came back"},
		"another order":   {func(r *apiextensionsv1.ConversionReview) { o := r.Response.ConvertedObjects; o[0], o[1] = o[1], o[0] }, " Foo a/web from v2 to v1: ", `invalid result: convertedObjects[0]: the converted object is wrong: metadata.name is "two", must be "web"`},
		"another name":    {replacing(`"name":"two"`, `"name":"three"`), second, `invalid result: convertedObjects[1]: the converted object is wrong: metadata.name is "three", must be "two"`},
		"no uid":          {replacing(`,"uid":"u7"`, ``), second, `convertedObjects[1]: the converted object is wrong: metadata.uid is "", must be "u7"`},
		"no namespace":    {replacing(`"namespace":"a",`, ``), second, `convertedObjects[1]: the converted object is wrong: metadata.namespace is "", must be "a"`},
		"another kind":    {replacing(`"Foo"`, `"Bar"`), second, `convertedObjects[1]: the converted object is wrong: kind is "Bar", must be "Foo"`},
		"the old version": {replacing(`io/v1"`, `io/v2"`), second, `convertedObjects[1]: the converted object is wrong: apiVersion is "sample.webhook.io/v2", must be "sample.webhook.io/v1"`},
		"odd labels":      {replacing(`"x":"z"`, `"x":"?"`), second, "convertedObjects[1]: metadata.labels: Invalid value"},
		"null":            {func(r *apiextensionsv1.ConversionReview) { r.Response.ConvertedObjects[1].Raw = nil }, second, "convertedObjects[1]: no object: null"},
		"a list":          {func(r *apiextensionsv1.ConversionReview) { r.Response.ConvertedObjects[1].Raw = []byte("[]") }, second, "convertedObjects[1]: no object: json: "},
		"another uid":     {func(r *apiextensionsv1.ConversionReview) { r.Response.UID = "other" }, first, `invalid result: the uid is "other", it must be the request's, "`},
		"no response":     {func(r *apiextensionsv1.ConversionReview) { r.Response = nil }, first, "invalid result: no response in the body"},
		"another review":  {func(r *apiextensionsv1.ConversionReview) { r.APIVersion = "apiextensions.k8s.io/v1beta1" }, first, `invalid result: the body must be a ConversionReview of apiextensions.k8s.io/v1, got "ConversionReview" of "apiextensions.k8s.io/v1beta1"`},
		"no verdict":      {func(r *apiextensionsv1.ConversionReview) { r.Response.Result = metav1.Status{} }, first, `invalid result: result.status must be Success or Failure, got ""`},
		"no": {func(r *apiextensionsv1.ConversionReview) {
			r.Response.Result = metav1.Status{Status: "Failure", Message: "not today"}
		}, first, "code 422: not today"},
		"no without why": {func(r *apiextensionsv1.ConversionReview) {
			r.Response.Result = metav1.Status{Status: "Failure", Code: 500}
		}, first, "code 500: it does not say why"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := crd(t, calling(serve(t, script(t, c.change))))
			in := []*unstructured.Unstructured{object(t, web), object(t, strings.ReplaceAll(web, "name: web", "name: two"))}
			out, err := client(t).Convert(t.Context(), d, in, "v1")
			assert.Nil(t, out)
			require.ErrorContains(t, err, "CustomResourceDefinition foos.sample.webhook.io:"+c.about+"https://127.0.0.1:")
			require.ErrorContains(t, err, c.want)
			var failed *conversion.ConvertError
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, "v1", failed.Version)
			assert.Equal(t, object(t, web), in[0])
		})
	}
}

func TestHooksThatFail(t *testing.T) {
	gone := httptest.NewTLSServer(http.NotFoundHandler())
	gone.Close()
	release := make(chan struct{})
	says := func(status int, body string) apiextensionsv1.WebhookClientConfig {
		return serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))
	}
	strange := serve(t, handler(t, aliased))
	strange.CABundle = nil
	cases := map[string]struct {
		config apiextensionsv1.WebhookClientConfig
		cause  error
		want   string
	}{
		"down": {apiextensionsv1.WebhookClientConfig{URL: &gone.URL}, webhook.ErrUnreachable, "connection refused"},
		"slow": {serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release })), context.DeadlineExceeded,
			"no answer within the webhook's 300ms"},
		"garbage":          {says(200, "Hello"), interpreter.ErrInvalidResult, "the body is no ConversionReview: invalid character"},
		"nothing":          {says(200, ""), interpreter.ErrInvalidResult, "the body is empty"},
		"too much":         {says(200, strings.Repeat(" ", 5000)), interpreter.ErrInvalidResult, "the body has more than 4000 bytes"},
		"another status":   {says(500, "oh"), interpreter.ErrInvalidResult, `HTTP status 500 Internal Server Error: "oh"`},
		"a status":         {says(400, `{"kind":"Status","message":"what?"}`), interpreter.ErrInvalidResult, `HTTP status 400 Bad Request: "what?"`},
		"not trusted":      {strange, webhook.ErrUnreachable, `(expected a certificate for "127.0.0.1", signed by the system's roots, as there is no caBundle)`},
		"leads nowhere":    {apiextensionsv1.WebhookClientConfig{}, nil, "spec.conversion.webhook: clientConfig: Required value: exactly one of url and service is required"},
		"without TLS":      {apiextensionsv1.WebhookClientConfig{URL: new("http://localhost")}, nil, "spec.conversion.webhook: clientConfig.url: Invalid value"},
		"a broken bundle":  {apiextensionsv1.WebhookClientConfig{URL: new("https://localhost"), CABundle: []byte("none")}, webhook.ErrUnreachable, "there is no certificate in the caBundle"},
		"an empty Service": {apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{}}, nil, "clientConfig.service.name: Required value"},
	}
	t.Cleanup(func() { close(release) }) // Before the servers close, which wait.
	for name, c := range cases {

		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c0 := client(t, webhook.WithTimeout(300*time.Millisecond), webhook.WithAnswerLimit(4000))
			if name != "slow" { // A busy machine is slow, too.
				c0 = client(t, webhook.WithTimeout(far), webhook.WithAnswerLimit(4000))
			}
			out, err := c0.Convert(t.Context(), crd(t, calling(c.config)), []*unstructured.Unstructured{object(t, web)}, "v1")
			assert.Nil(t, out)
			require.ErrorContains(t, err, "CustomResourceDefinition foos.sample.webhook.io: Foo a/web from v2 to v1: ")
			require.ErrorContains(t, err, c.want)
			if c.cause != nil {
				require.ErrorIs(t, err, c.cause)
			}
		})
	}
}

func TestWhatIsNotSent(t *testing.T) {
	t.Parallel()
	d := crd(t, calling(serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was sent") }))))
	c := client(t)
	for name, o := range map[string]struct{ object, version, want string }{
		"of another kind":          {strings.ReplaceAll(web, "Foo", "Bar"), "v1", "Bar a/web from v2 to v1: it is no Foo.sample.webhook.io"},
		"of another group":         {strings.ReplaceAll(web, "sample.", "other."), "v1", "it is no Foo.sample.webhook.io"},
		"of an undeclared version": {strings.ReplaceAll(web, "v2", "v3"), "v1", `Foo a/web from v3 to v1: there is no version "v3" (have v2, v1)`},
		"to an undeclared version": {web, "v3", `Foo a/web from v2 to v3: there is no version "v3" (have v2, v1)`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.Convert(t.Context(), d, []*unstructured.Unstructured{object(t, o.object)}, o.version)
			require.ErrorContains(t, err, "CustomResourceDefinition foos.sample.webhook.io: ")
			require.ErrorContains(t, err, o.want)
		})
	}
	out, err := c.Convert(t.Context(), d, []*unstructured.Unstructured{object(t, "{apiVersion: sample.webhook.io/v2, kind: Foo}"), object(t, web1)}, "v1")
	require.NoError(t, err)
	assert.Equal(t, "sample.webhook.io/v1", out[0].GetAPIVersion())
	_, err = c.Convert(t.Context(), d, []*unstructured.Unstructured{{Object: map[string]any{"apiVersion": v2.String(), "kind": "Foo", "x": func() {}}}}, "v1")
	require.ErrorContains(t, err, "it cannot be written as JSON")
}

func TestVersionsOfTheReview(t *testing.T) {
	t.Parallel()
	in := []*unstructured.Unstructured{object(t, web)}
	// Of v1beta1 an API server checks neither the type nor the UID.
	old := serve(t, script(t, func(r *apiextensionsv1.ConversionReview) {
		assert.Equal(t, "apiextensions.k8s.io/v1beta1", r.APIVersion)
		r.TypeMeta, r.Response.UID = metav1.TypeMeta{}, ""
	}))
	out, err := client(t).Convert(t.Context(), crd(t, calling(old, "v2", "v1beta1", "v1")), in, "v1")
	require.NoError(t, err)
	assert.Equal(t, "sample.webhook.io/v1", out[0].GetAPIVersion())
	_, err = client(t).Convert(t.Context(), crd(t, calling(old, "v2")), in, "v1")
	require.ErrorContains(t, err, `spec.conversion.webhook.conversionReviewVersions: none of ["v2"] is spoken here (have v1, v1beta1)`)
}

type services map[string][]string

func (s services) Resolve(_ context.Context, namespace, name string, port int32) ([]string, error) {
	key := fmt.Sprintf("%s/%s:%d", namespace, name, port)
	if addresses, ok := s[key]; ok {
		return addresses, nil
	}
	return nil, errors.New("there is no Service " + key)
}

func TestServices(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(handler(t, aliased)) // Its certificate is for example.com, too.
	defer s.Close()
	config := apiextensionsv1.WebhookClientConfig{
		Service:  &apiextensionsv1.ServiceReference{Namespace: "system", Name: "convert", Path: new("/convert")},
		CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
	}
	c := client(t, webhook.WithResolver(services{"system/convert:443": {s.Listener.Addr().String()}}))
	_, err := c.Convert(t.Context(), crd(t, calling(config)), []*unstructured.Unstructured{object(t, web)}, "v1")
	require.ErrorContains(t, err, `https://convert.system.svc:443: hook unreachable`)
	require.ErrorContains(t, err, `(expected a certificate for "convert.system.svc"`, "it was found, and is somebody else")
	config.Service.Port = new(int32(8443))
	_, err = c.Convert(t.Context(), crd(t, calling(config)), []*unstructured.Unstructured{object(t, web)}, "v1")
	require.ErrorContains(t, err, "there is no Service system/convert:8443", "the configuration that has changed is used")
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	var opened atomic.Int32
	s := httptest.NewUnstartedServer(handler(t, aliased))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.StartTLS()
	defer s.Close()
	d := crd(t, calling(apiextensionsv1.WebhookClientConfig{
		URL: &s.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
	}))
	c := client(t)
	for range 40 {
		_, err := c.Convert(t.Context(), d, []*unstructured.Unstructured{object(t, web)}, "v1")
		require.NoError(t, err)
	}
	assert.LessOrEqual(t, opened.Load(), int32(4), "as many as calls are spread over")
}

func TestMetricsAndBreaker(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	c := client(t, webhook.WithRegisterer(registry), webhook.WithBreaker(2, far))
	d := crd(t, calling(serve(t, script(t, func(r *apiextensionsv1.ConversionReview) {
		if strings.Contains(string(r.Response.ConvertedObjects[0].Raw), `"bad"`) {
			r.Response.ConvertedObjects = nil
		}
	}))))
	good, bad := []*unstructured.Unstructured{object(t, web)}, []*unstructured.Unstructured{object(t, strings.ReplaceAll(web, "name: web", "name: bad"))}
	_, err := c.Convert(t.Context(), d, good, "v1")
	require.NoError(t, err)
	for range 2 {
		_, err = c.Convert(t.Context(), d, bad, "v1")
		require.ErrorIs(t, err, interpreter.ErrInvalidResult)
	}
	_, err = c.Convert(t.Context(), d, good, "v1")
	require.ErrorIs(t, err, webhook.ErrUnavailable)

	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	for _, line := range []string{
		`interpret_webhook_calls_total{hook="foos.sample.webhook.io",operation="Convert",outcome="answered"} 1`,
		`interpret_webhook_calls_total{hook="foos.sample.webhook.io",operation="Convert",outcome="invalid"} 2`,
		`interpret_webhook_calls_total{hook="foos.sample.webhook.io",operation="Convert",outcome="unavailable"} 1`,
		`interpret_webhook_breaker_state{hook="foos.sample.webhook.io"} 2`,
		`interpret_webhook_calls_in_flight{hook="foos.sample.webhook.io",operation="Convert"} 0`,
	} {
		assert.Contains(t, w.Body.String(), line+"\n")
	}
	_, err = conversion.NewClient(webhook.WithTimeout(0))
	require.ErrorContains(t, err, "must be positive")
}
