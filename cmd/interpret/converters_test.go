package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// converter is one of Foos that leaves a word.
func converter(word string) string {
	return `apiVersion: kubeinterpret.io/v1alpha1
kind: Converter
metadata: {name: foo}
spec:
  target: {group: sample.webhook.io, kind: Foo, versions: [v1, v2]}
  luaScript: |
    function Convert(obj, desiredAPIVersion)
      obj.apiVersion = desiredAPIVersion
      obj.spec = {word = "` + word + `"}
      return obj
    end
`
}

// converted sends a Foo of v1 to be one of v2, and gives its word.
func (s *served) converted() (string, metav1.Status) {
	s.t.Helper()
	body, err := json.Marshal(&apiextensionsv1.ConversionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "ConversionReview"},
		Request: &apiextensionsv1.ConversionRequest{
			UID: "u1", DesiredAPIVersion: "sample.webhook.io/v2",
			Objects: []runtime.RawExtension{{Raw: []byte(`{"apiVersion":"sample.webhook.io/v1","kind":"Foo","metadata":{"name":"f","uid":"u"}}`)}},
		},
	})
	require.NoError(s.t, err)
	response, err := s.http.Post(s.url+"/convert", "application/json", bytes.NewReader(body))
	require.NoError(s.t, err)
	defer response.Body.Close()
	var review apiextensionsv1.ConversionReview
	require.NoError(s.t, json.NewDecoder(response.Body).Decode(&review))
	if len(review.Response.ConvertedObjects) == 0 {
		return "", review.Response.Result
	}
	var foo struct{ Spec struct{ Word string } }
	require.NoError(s.t, json.Unmarshal(review.Response.ConvertedObjects[0].Raw, &foo))
	return foo.Spec.Word, review.Response.Result
}

func TestConvertersAreServedAndReadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "foo.yaml")
	write(t, file, converter("one"))
	s := start(t, "--converters", dir)
	word, result := s.converted()
	assert.Equal(t, metav1.StatusSuccess, result.Status)
	assert.Equal(t, "one", word)
	write(t, file, converter("two"))
	require.Eventually(t, func() bool { word, _ := s.converted(); return word == "two" }, within, tick)

	write(t, file, strings.Replace(converter("three"), "function Convert", "function Konvert", 1))
	s.metric(`interpret_files_in_step{content="converters"} 0`)
	s.log.await(t, "the script defines no function Convert", 1)
	word, _ = s.converted()
	assert.Equal(t, "two", word)
	write(t, filepath.Join(dir, "more.yaml"), converter("four"))
	write(t, file, converter("three"))
	s.log.await(t, "there are two converters of Foo.sample.webhook.io", 1)
	s.metric(`interpret_files_in_step{content="rules"} 1`)
}

func TestConversionIsRegisteredByAPatch(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "foo.yaml")
	write(t, file, converter("one"))
	var out bytes.Buffer
	require.Equal(t, statusFine, run(t.Context(), []string{
		"serve", "--converters", file, "--print-config=conversion", "--service", "a/b:8443",
	}, nil, &out, io.Discard))
	assert.Contains(t, out.String(), "# For the CustomResourceDefinitions of Foo.sample.webhook.io:\n")
	var patch apiextensionsv1.CustomResourceDefinition
	require.NoError(t, yaml.UnmarshalStrict(out.Bytes(), &patch))
	assert.Equal(t, &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ConversionReviewVersions: []string{"v1"},
			ClientConfig: &apiextensionsv1.WebhookClientConfig{
				Service: &apiextensionsv1.ServiceReference{Namespace: "a", Name: "b", Path: new("/convert"), Port: new(int32(8443))},
			},
		},
	}, patch.Spec.Conversion)
}

func TestWithoutConvertersNothingIsConverted(t *testing.T) {
	t.Parallel()
	s := start(t)
	status, body := s.get("/convert")
	assert.Equal(t, http.StatusNotFound, status)
	assert.Contains(t, body, "there is no /convert")
	var log bytes.Buffer
	assert.Equal(t, statusUnusable, run(t.Context(), []string{"serve", "--print-config=conversion", "--service", "a/b"}, nil, io.Discard, &log))
	assert.Equal(t, "error: --print-config=conversion goes with --converters\n", log.String())
	log.Reset()
	file := filepath.Join(t.TempDir(), "foo.yaml")
	write(t, file, strings.Replace(converter("x"), "versions: [v1, v2]", "versions: [v1]", 1))
	assert.Equal(t, statusUnusable, run(t.Context(), []string{"serve", "--self-signed", "--listen", "127.0.0.1:0", "--converters", file}, nil, io.Discard, &log))
	assert.Contains(t, log.String(), "foo.yaml:5:")
	assert.Contains(t, log.String(), "a conversion is between two versions or more")
}
