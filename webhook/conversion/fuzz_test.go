package conversion_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/webhook"
)

// Whatever comes, there is an answer: all objects or none, with the UID of the question.
func FuzzReview(f *testing.F) {
	for _, body := range []string{
		review(f, "sample.webhook.io/v1", web, web1), review(f, "sample.webhook.io/v2", web), review(f, "a/b", web), review(f, "sample.webhook.io/v1", "null", "1"),
		`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u","desiredAPIVersion":"sample.webhook.io/v1","objects":[{"apiVersion":"sample.webhook.io/v2","kind":"Foo","metadata":{"labels":{"a":1},"annotations":[]},"spec":1}]}}`,
		`{"request":{"uid":"u","objects":[`, "[]", "",
	} {
		f.Add([]byte(body))
	}
	h := handler(f, aliased)
	f.Fuzz(func(t *testing.T, body []byte) {
		w := post(h, "/", string(body))
		if w.Code != http.StatusOK {
			var refused struct {
				metav1.Status
				Response apiextensionsv1.ConversionResponse
			}
			if err := json.Unmarshal(w.Body.Bytes(), &refused); err != nil || refused.Message == "" || len(refused.Response.ConvertedObjects) > 0 {
				t.Fatalf("status %d: %v: %s", w.Code, err, w.Body)
			}
			return
		}
		var asked, answered apiextensionsv1.ConversionReview
		if err := json.Unmarshal(body, &asked); err != nil || asked.Request == nil {
			t.Fatalf("answered what is no question: %v", err)
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answered); err != nil {
			t.Fatal(err)
		}
		r := answered.Response
		if r.UID != asked.Request.UID {
			t.Fatalf("uid %q became %q", asked.Request.UID, r.UID)
		}
		want := len(asked.Request.Objects)
		if r.Result.Status != metav1.StatusSuccess {
			want = 0
			if r.Result.Message == "" {
				t.Fatal("a failure without a message")
			}
		}
		if len(r.ConvertedObjects) != want {
			t.Fatalf("%d objects, want %d", len(r.ConvertedObjects), want)
		}
		for i, o := range r.ConvertedObjects {
			var before, after metav1.PartialObjectMetadata
			if json.Unmarshal(asked.Request.Objects[i].Raw, &before) != nil {
				continue // Objects that pass as they are need not be ones that Go's types can read.
			}
			if err := json.Unmarshal(o.Raw, &after); err != nil {
				t.Fatal(err)
			}
			if after.APIVersion != asked.Request.DesiredAPIVersion || after.Kind != before.Kind || after.Name != before.Name || after.Namespace != before.Namespace || after.UID != before.UID {
				t.Fatalf("%s became %s", asked.Request.Objects[i].Raw, o.Raw)
			}
		}
	})
}

// saying answers every request with a body, in which $UID stands for that of the question.
type saying struct{ body []byte }

func (s *saying) RoundTrip(r *http.Request) (*http.Response, error) {
	var review apiextensionsv1.ConversionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		return nil, err
	}
	body := bytes.ReplaceAll(s.body, []byte("$UID"), []byte(review.Request.UID))
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r}, nil
}

// Whatever a hook says, an object that comes back is the one that was sent, in the version that was asked for.
func FuzzAnswer(f *testing.F) {
	const right = `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"$UID","convertedObjects":[{"apiVersion":"sample.webhook.io/v1","kind":"Foo","metadata":{"name":"web","namespace":"a","uid":"u7","labels":{"l":"m"}},"spec":[1]}],"result":{"status":"Success"}}}`
	for _, body := range []string{
		right, `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"$UID","result":{"status":"Failure","message":"no"}}}`,
		`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"$UID","convertedObjects":[null],"result":{"status":"Success"}}}`, "{}", "",
	} {
		f.Add([]byte(body))
	}
	says := &saying{}
	c := client(f, webhook.WithBreaker(1<<31, time.Minute), webhook.WithTransportWrapper(func(http.RoundTripper) http.RoundTripper { return says }))
	url := "https://localhost"
	d := crd(f, calling(apiextensionsv1.WebhookClientConfig{URL: &url}))
	in := []*unstructured.Unstructured{object(f, web)}
	says.body = []byte(right)
	out, err := c.Convert(f.Context(), d, in, "v1")
	require.NoError(f, err)
	require.Equal(f, map[string]string{"l": "m"}, out[0].GetLabels())
	f.Fuzz(func(t *testing.T, body []byte) {
		says.body = body
		out, err := c.Convert(t.Context(), d, in, "v1")
		if err != nil {
			if out != nil {
				t.Fatal("half an answer")
			}
			return
		}
		o := out[0]
		if len(out) != 1 || o.GetAPIVersion() != "sample.webhook.io/v1" || o.GetKind() != "Foo" || o.GetName() != "web" || o.GetNamespace() != "a" || o.GetUID() != "u7" || o.GetResourceVersion() != "12" {
			t.Fatalf("it became %v", out)
		}
	})
}
