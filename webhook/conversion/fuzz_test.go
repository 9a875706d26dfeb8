package conversion_test

import (
	"encoding/json"
	"net/http"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
