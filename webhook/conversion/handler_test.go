package conversion_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/webhook"
	"github.com/kubeinterpret/interpret/webhook/conversion"
)

// far is longer than anything here takes.
const far = time.Minute

var (
	group = "sample.webhook.io"
	foo   = schema.GroupKind{Group: group, Kind: "Foo"}
	v1    = schema.GroupVersion{Group: group, Version: "v1"}
	v2    = schema.GroupVersion{Group: group, Version: "v2"}
)

// aliased moves the alias, which v2 has as a field, to and from an annotation.
func aliased(_ context.Context, obj *unstructured.Unstructured, desired schema.GroupVersion) (*unstructured.Unstructured, error) {
	const annotation = "sample.webhook.io/alias"
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	switch desired {
	case v1:
		if alias, found, err := unstructured.NestedString(obj.Object, "spec", "alias"); err != nil {
			return nil, err
		} else if found {
			annotations[annotation] = alias
			unstructured.RemoveNestedField(obj.Object, "spec", "alias")
		}
	case v2:
		if alias, found := annotations[annotation]; found {
			delete(annotations, annotation)
			if err := unstructured.SetNestedField(obj.Object, alias, "spec", "alias"); err != nil {
				return nil, err
			}
		}
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	obj.SetAnnotations(annotations)
	obj.SetAPIVersion(desired.String())
	return obj, nil
}

func set(t testing.TB, c conversion.Func) *conversion.Set {
	s, err := conversion.NewSet(conversion.Registration{Kind: foo, Versions: []string{"v1", "v2"}, Converter: c})
	require.NoError(t, err)
	return s
}

func handler(t testing.TB, c conversion.Func, options ...webhook.HandlerOption) *conversion.Handler {
	h, err := conversion.NewHandler(set(t, c), options...)
	require.NoError(t, err)
	return h
}

// review is the body of a question; objects are in YAML.
func review(t testing.TB, desired string, objects ...string) string {
	list := make([]string, len(objects))
	for i, o := range objects {
		text, err := yaml.YAMLToJSON([]byte(o))
		require.NoError(t, err)
		list[i] = string(text)
	}
	return fmt.Sprintf(`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u1","desiredAPIVersion":%q,"objects":[%s]}}`,
		desired, strings.Join(list, ","))
}

func converted(objects ...string) string {
	return fmt.Sprintf(`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"u1","convertedObjects":[%s],"result":{"metadata":{},"status":"Success"}}}`,
		strings.Join(objects, ","))
}

func failed(code int, reason, message string) string {
	text, _ := json.Marshal(message)
	return fmt.Sprintf(`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"u1","convertedObjects":[],"result":{"metadata":{},"status":"Failure","message":%s,"reason":%q,"code":%d}}}`,
		text, reason, code)
}

func post(h http.Handler, target, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, target, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	h.ServeHTTP(w, r)
	return w
}

const (
	web  = `{apiVersion: sample.webhook.io/v2, kind: Foo, metadata: {name: web, namespace: a, uid: u7, resourceVersion: "12", labels: {x: z}}, spec: {alias: w, size: 9007199254740993}}`
	web1 = `{apiVersion: sample.webhook.io/v1, kind: Foo, metadata: {name: web1, namespace: a}, spec: {}}`
)

func TestObjectsAreConverted(t *testing.T) {
	for name, c := range map[string]struct {
		desired string
		objects []string
		want    []string
	}{
		"no objects": {desired: "sample.webhook.io/v1"},
		"one": {"sample.webhook.io/v1", []string{web}, []string{
			`{"apiVersion":"sample.webhook.io/v1","kind":"Foo","metadata":{"annotations":{"sample.webhook.io/alias":"w"},"labels":{"x":"z"},"name":"web","namespace":"a","resourceVersion":"12","uid":"u7"},"spec":{"size":9007199254740993}}`}},
		"a list in its order, of which some pass as they are": {"sample.webhook.io/v1", []string{web1, web, web1}, []string{
			`{"apiVersion":"sample.webhook.io/v1","kind":"Foo","metadata":{"name":"web1","namespace":"a"},"spec":{}}`,
			`{"apiVersion":"sample.webhook.io/v1","kind":"Foo","metadata":{"annotations":{"sample.webhook.io/alias":"w"},"labels":{"x":"z"},"name":"web","namespace":"a","resourceVersion":"12","uid":"u7"},"spec":{"size":9007199254740993}}`,
			`{"apiVersion":"sample.webhook.io/v1","kind":"Foo","metadata":{"name":"web1","namespace":"a"},"spec":{}}`}},
		"back": {"sample.webhook.io/v2", []string{`{apiVersion: sample.webhook.io/v1, kind: Foo, metadata: {name: web, annotations: {sample.webhook.io/alias: w}}}`}, []string{
			`{"apiVersion":"sample.webhook.io/v2","kind":"Foo","metadata":{"name":"web"},"spec":{"alias":"w"}}`}},
	} {
		t.Run(name, func(t *testing.T) {
			got := post(handler(t, aliased), "/convert?timeout=30s", review(t, c.desired, c.objects...))
			assert.Equal(t, http.StatusOK, got.Code)
			assert.Equal(t, converted(c.want...), got.Body.String())
		})
	}
}

func TestObjectsThatCannotBeConverted(t *testing.T) {
	fails := func(_ context.Context, obj *unstructured.Unstructured, _ schema.GroupVersion) (*unstructured.Unstructured, error) {
		return nil, fmt.Errorf("spec of %s is odd", obj.GetName())
	}
	for name, c := range map[string]struct {
		converter conversion.Func
		desired   string
		objects   []string
		code      int
		reason    string
		want      string
	}{
		"one": {fails, "sample.webhook.io/v1", []string{web}, 422, "Invalid",
			"Foo a/web cannot be converted to sample.webhook.io/v1: spec of web is odd"},
		"some of a list, so none": {fails, "sample.webhook.io/v1", []string{web1, web, strings.ReplaceAll(web, "namespace: a, ", "")}, 422, "Invalid",
			"2 of 3 objects cannot be converted to sample.webhook.io/v1, so none is: objects[1] a/web: spec of web is odd; objects[2] web: spec of web is odd"},
		"an unknown version": {aliased, "sample.webhook.io/v3", []string{web}, 422, "Invalid",
			"Foo a/web cannot be converted to sample.webhook.io/v3: the converter of Foo.sample.webhook.io knows no version v3 (have v1, v2)"},
		"from an unknown version": {aliased, "sample.webhook.io/v1", []string{strings.ReplaceAll(web, "v2", "v1beta1")}, 422, "Invalid",
			"Foo a/web cannot be converted to sample.webhook.io/v1: the converter of Foo.sample.webhook.io knows no version v1beta1 (have v1, v2)"},
		"an unknown version on both sides": {aliased, "sample.webhook.io/v3", []string{strings.ReplaceAll(web, "v2", "v3")}, 422, "Invalid",
			"Foo a/web cannot be converted to sample.webhook.io/v3: the converter of Foo.sample.webhook.io knows no version v3 (have v1, v2)"},
		"an unknown kind": {aliased, "sample.webhook.io/v1", []string{strings.ReplaceAll(web, "Foo", "Fooo")}, 422, "Invalid",
			"Fooo a/web cannot be converted to sample.webhook.io/v1: there is no converter of Fooo.sample.webhook.io, did you mean Foo.sample.webhook.io? (have Foo.sample.webhook.io)"},
		"to another group": {aliased, "other.io/v1", []string{web}, 422, "Invalid",
			`Foo a/web cannot be converted to other.io/v1: a Foo.sample.webhook.io cannot become one of the group "other.io"`},
		"no version":         {aliased, "", []string{web}, 400, "BadRequest", `desiredAPIVersion: want group/version, got ""`},
		"no such version":    {aliased, "a/b/c", []string{web}, 400, "BadRequest", `desiredAPIVersion: want group/version, got "a/b/c"`},
		"null":               {aliased, "sample.webhook.io/v1", []string{"null"}, 422, "Invalid", "the object cannot be converted to sample.webhook.io/v1: no object: null"},
		"text":               {aliased, "sample.webhook.io/v1", []string{web, "text"}, 422, "Invalid", "1 of 2 objects cannot be converted to sample.webhook.io/v1, so none is: objects[1]: no object: json: cannot unmarshal string into Go value of type map[string]interface {}"},
		"without apiVersion": {aliased, "sample.webhook.io/v1", []string{"{kind: Foo, metadata: {name: web}}"}, 422, "Invalid", "Foo web cannot be converted to sample.webhook.io/v1: no object: it has no apiVersion or no kind"},
		"a panic": {func(context.Context, *unstructured.Unstructured, schema.GroupVersion) (*unstructured.Unstructured, error) {
			panic("oh")
		},
			"sample.webhook.io/v1", []string{web1, web}, 500, "InternalError",
			"1 of 2 objects cannot be converted to sample.webhook.io/v1, so none is: objects[1] a/web: internal error: panic: oh"},
		"no answer": {func(context.Context, *unstructured.Unstructured, schema.GroupVersion) (*unstructured.Unstructured, error) {
			return nil, nil
		}, "sample.webhook.io/v1", []string{web}, 422, "Invalid", "Foo a/web cannot be converted to sample.webhook.io/v1: the converter gave no object and no error"},
		"what JSON does not have": {func(ctx context.Context, obj *unstructured.Unstructured, desired schema.GroupVersion) (*unstructured.Unstructured, error) {
			obj.Object["spec"] = math.NaN()
			obj.SetAPIVersion(desired.String())
			return obj, nil
		}, "sample.webhook.io/v1", []string{web}, 422, "Invalid", "Foo a/web cannot be converted to sample.webhook.io/v1: it cannot be written as JSON: json: unsupported value: NaN"},
		"a code of its own": {func(context.Context, *unstructured.Unstructured, schema.GroupVersion) (*unstructured.Unstructured, error) {
			return nil, &webhook.StatusError{Code: 503, Message: "ask later"}
		}, "sample.webhook.io/v1", []string{web}, 503, "ServiceUnavailable", "Foo a/web cannot be converted to sample.webhook.io/v1: code 503: ask later"},
	} {
		t.Run(name, func(t *testing.T) {
			got := post(handler(t, c.converter), "/", review(t, c.desired, c.objects...))
			assert.Equal(t, http.StatusOK, got.Code)
			assert.Equal(t, failed(c.code, c.reason, c.want), got.Body.String())
		})
	}
}

// What the API server refuses, and what it puts back.
func TestRulesOfTheAPI(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(obj *unstructured.Unstructured)
		refused string
		kept    string
	}{
		"another name":      {change: func(o *unstructured.Unstructured) { o.SetName("b") }, refused: `metadata.name is "b", must be "web"`},
		"another namespace": {change: func(o *unstructured.Unstructured) { o.SetNamespace("") }, refused: `metadata.namespace is "", must be "a"`},
		"another uid":       {change: func(o *unstructured.Unstructured) { o.SetUID("u8") }, refused: `metadata.uid is "u8", must be "u7"`},
		"another kind":      {change: func(o *unstructured.Unstructured) { o.SetKind("Bar") }, refused: `kind is "Bar", must be "Foo"`},
		"the old version": {change: func(o *unstructured.Unstructured) { o.SetAPIVersion("sample.webhook.io/v2") },
			refused: `apiVersion is "sample.webhook.io/v2", must be "sample.webhook.io/v1"`},
		"all of that at once": {change: func(o *unstructured.Unstructured) { o.Object = map[string]any{} },
			refused: `apiVersion is "", must be "sample.webhook.io/v1", kind is "", must be "Foo", metadata.name is "", must be "web", metadata.namespace is "", must be "a", metadata.uid is "", must be "u7"`},
		"labels that are none": {change: func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"x": "not a label"}) },
			refused: `metadata.labels: Invalid value: "not a label"`},
		"annotations that are none": {change: func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{"not one": ""}) },
			refused: `metadata.annotations: Invalid value: "not one"`},
		"labels of another type": {change: func(o *unstructured.Unstructured) {
			o.Object["metadata"].(map[string]any)["labels"] = []any{}
		}, refused: "metadata.labels must be an object, got []interface {}"},
		"a label of another type": {change: func(o *unstructured.Unstructured) {
			o.Object["metadata"].(map[string]any)["labels"] = map[string]any{"x": int64(1)}
		}, refused: "metadata.labels[x] must be text, got int64"},
		"other labels and annotations": {change: func(o *unstructured.Unstructured) {
			o.SetLabels(map[string]string{"l": "1"})
			o.SetAnnotations(map[string]string{"a": "2"})
		}, kept: `"annotations":{"a":"2"},"labels":{"l":"1"},"name":"web","namespace":"a","resourceVersion":"12","uid":"u7"`},
		"labels are gone": {change: func(o *unstructured.Unstructured) { o.SetLabels(nil) },
			kept: `"name":"web","namespace":"a","resourceVersion":"12","uid":"u7"`},
		"the rest is put back": {change: func(o *unstructured.Unstructured) {
			o.SetResourceVersion("13")
			o.SetGeneration(4)
			o.SetFinalizers([]string{"x.io/y"})
		}, kept: `"labels":{"x":"z"},"name":"web","namespace":"a","resourceVersion":"12","uid":"u7"`},
	} {
		t.Run(name, func(t *testing.T) {
			h := handler(t, func(_ context.Context, obj *unstructured.Unstructured, desired schema.GroupVersion) (*unstructured.Unstructured, error) {
				obj.SetAPIVersion(desired.String())
				c.change(obj)
				return obj, nil
			})
			got := post(h, "/", review(t, "sample.webhook.io/v1", web)).Body.String()
			if c.refused != "" {
				assert.Contains(t, got, `"convertedObjects":[],"result":{"metadata":{},"status":"Failure"`)
				text, err := json.Marshal(c.refused)
				require.NoError(t, err)
				assert.Contains(t, got, strings.Trim(string(text), `"`))
				return
			}
			assert.Contains(t, got, `"metadata":{`+c.kept+`}`)
		})
	}
}

func TestStoredLabelsThatAreNoneDoNotMatter(t *testing.T) {
	odd := strings.ReplaceAll(web, "x: y", `x: "not a label"`)
	assert.Contains(t, post(handler(t, aliased), "/", review(t, "sample.webhook.io/v1", odd)).Body.String(), `"status":"Success"`)
}

func TestAMessageIsBounded(t *testing.T) {
	objects := make([]string, 150)
	for i := range objects {
		objects[i] = web
	}
	h := handler(t, func(context.Context, *unstructured.Unstructured, schema.GroupVersion) (*unstructured.Unstructured, error) {
		return nil, errors.New("no")
	})
	got := post(h, "/", review(t, "sample.webhook.io/v1", objects...)).Body.String()
	assert.Contains(t, got, "objects[99] a/web: no; and 50 more")
	assert.NotContains(t, got, "objects[100]")
}

func TestWhatIsNoReview(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		code int
		uid  string
		says string
	}{
		"nothing":          {"", 400, "", "the body is no ConversionReview: unexpected end of JSON input"},
		"garbage":          {`{"request":{"uid":"u1","objects":`, 400, "u1", "the body is no ConversionReview: unexpected end of JSON input"},
		"another kind":     {`{"apiVersion":"v1","kind":"Pod"}`, 400, "", `the body must be a ConversionReview of apiextensions.k8s.io/v1, got "Pod" of "v1"`},
		"another version":  {`{"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"ConversionReview","request":{"uid":"u1"}}`, 400, "u1", "apiextensions.k8s.io/v1beta1"},
		"without question": {`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}`, 400, "", "the ConversionReview has no request"},
		"too long":         {`{"request":{"uid":"u1","objects":["` + strings.Repeat("x", 2000) + `"]}}`, 413, "u1", "the body has more than 1000 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			w := post(handler(t, aliased, webhook.WithBodyLimit(1000)), "/", c.body)
			assert.Equal(t, c.code, w.Code)
			var got struct {
				Kind, Message string
				Response      struct {
					UID    string
					Result struct{ Status, Message string }
				}
			}
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
			assert.Equal(t, "Status", got.Kind)
			assert.Equal(t, c.uid, got.Response.UID)
			assert.Equal(t, "Failure", got.Response.Result.Status)
			assert.Contains(t, got.Message, c.says)
			assert.Equal(t, got.Message, got.Response.Result.Message)
		})
	}
}

func TestAReviewIsOutOfTime(t *testing.T) {
	release := make(chan struct{})
	minds := func(ctx context.Context, _ *unstructured.Unstructured, _ schema.GroupVersion) (*unstructured.Unstructured, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	doesNot := func(context.Context, *unstructured.Unstructured, schema.GroupVersion) (*unstructured.Unstructured, error) {
		<-release
		return nil, nil
	}
	body := review(t, "sample.webhook.io/v1", web1, web, web)
	require.Eventually(t, func() bool { // On a busy machine its words may come too late.
		got := post(handler(t, minds), "/?timeout=100ms", body).Body.String()
		return got == failed(504, "Timeout", "context deadline exceeded after 2 of 3 objects")
	}, far, time.Millisecond)
	got := post(handler(t, doesNot), "/?timeout=100ms", body).Body.String()
	assert.Equal(t, failed(504, "Timeout", "context deadline exceeded, and the conversion goes on"), got)
	close(release)
}

func TestConvertersAreReplaced(t *testing.T) {
	h := handler(t, aliased)
	none, err := conversion.NewSet()
	require.NoError(t, err)
	h.Replace(none)
	assert.Contains(t, post(h, "/", review(t, "sample.webhook.io/v1", web)).Body.String(), "there is no converter of Foo.sample.webhook.io (have none)")
	h.Replace(set(t, aliased))
	assert.Contains(t, post(h, "/", review(t, "sample.webhook.io/v1", web)).Body.String(), `"status":"Success"`)
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func TestLinesAndMetrics(t *testing.T) {
	var lines bytes.Buffer
	registry := prometheus.NewPedanticRegistry()
	logger := slog.New(slog.NewTextHandler(lockedWriter{&sync.Mutex{}, &lines}, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key {
		case slog.TimeKey, "took", "from", "stack", "received", "sent":
			return slog.Attr{}
		}
		return a
	}}))
	h := handler(t, func(ctx context.Context, obj *unstructured.Unstructured, desired schema.GroupVersion) (*unstructured.Unstructured, error) {
		if obj.GetName() == "bad" {
			panic("oh")
		}
		return aliased(ctx, obj, desired)
	}, webhook.WithLogger(logger), webhook.WithHandlerRegisterer(registry))
	post(h, "/", review(t, "sample.webhook.io/v1", web))
	post(h, "/", review(t, "sample.webhook.io/v1", strings.ReplaceAll(web, "name: web", "name: bad")))
	post(h, "/", review(t, "sample.webhook.io/v1", strings.ReplaceAll(web, "Foo", "Bar")))
	post(h, "/", "{")
	assert.Equal(t, strings.Join([]string{
		"level=INFO msg=convert uid=u1 kind=Foo.sample.webhook.io desired=sample.webhook.io/v1 objects=1 status=200 code=200",
		"level=ERROR msg=panic kind=Foo.sample.webhook.io desired=sample.webhook.io/v1 objects=1 object=a/bad panic=oh",
		`level=ERROR msg=convert uid=u1 kind=Foo.sample.webhook.io desired=sample.webhook.io/v1 objects=1 status=200 code=500 error="Foo a/bad cannot be converted to sample.webhook.io/v1: internal error: panic: oh"`,
		`level=INFO msg=convert uid=u1 kind=Bar.sample.webhook.io desired=sample.webhook.io/v1 objects=1 status=200 code=422 error="Bar a/web cannot be converted to sample.webhook.io/v1: there is no converter of Bar.sample.webhook.io, did you mean Foo.sample.webhook.io? (have Foo.sample.webhook.io)"`,
		`level=INFO msg=convert uid="" status=400 code=400 error="the body is no ConversionReview: unexpected end of JSON input"`,
		"",
	}, "\n"), lines.String())
	families, err := registry.Gather()
	require.NoError(t, err)
	counts := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			key := f.GetName()
			for _, l := range m.GetLabel() {
				key += " " + l.GetName() + "=" + l.GetValue()
			}
			counts[key] = m.GetCounter().GetValue()
		}
	}
	for _, key := range []string{"code=200 kind=Foo.sample.webhook.io", "code=500 kind=Foo.sample.webhook.io", "code=422 kind=", "code=400 kind="} {
		assert.InDelta(t, 1, counts["interpret_conversion_requests_total "+key], 0, key)
	}
	assert.Contains(t, counts, "interpret_conversion_request_duration_seconds kind=Foo.sample.webhook.io")
	assert.Contains(t, counts, "interpret_conversion_requests_in_flight")
}

func TestSets(t *testing.T) {
	good := conversion.Registration{Kind: foo, Versions: []string{"v1", "v2"}, Converter: conversion.Func(aliased)}
	for says, list := range map[string][]conversion.Registration{
		"there are two converters of Foo.sample.webhook.io":      {good, good},
		`a converter needs a group and a kind, got "" and "K"`:   {{Kind: schema.GroupKind{Kind: "K"}, Versions: good.Versions, Converter: good.Converter}},
		"the converter of Foo.sample.webhook.io has no versions": {{Kind: foo, Converter: good.Converter}},
		"the converter of Foo.sample.webhook.io is nil":          {{Kind: foo, Versions: good.Versions}},
	} {
		_, err := conversion.NewSet(list...)
		require.EqualError(t, err, says)
	}
	s, err := conversion.NewSet(good)
	require.NoError(t, err)
	assert.Equal(t, []schema.GroupKind{foo}, s.Kinds())
	assert.True(t, s.Has(foo))
	assert.False(t, s.Has(schema.GroupKind{Group: group, Kind: "Bar"}))

	_, err = conversion.NewHandler(nil)
	require.EqualError(t, err, "the set of converters is nil")
}

func object(t testing.TB, text string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	require.NoError(t, o.UnmarshalJSON(raw))
	return o
}

func TestConvertingWithoutHTTP(t *testing.T) {
	s := set(t, aliased)
	in := []*unstructured.Unstructured{object(t, web), object(t, web1)}
	out, err := s.Convert(t.Context(), in, v1)
	require.NoError(t, err)
	assert.Equal(t, object(t, web), in[0], "it is not modified")
	assert.Same(t, in[1], out[1])
	assert.Equal(t, map[string]string{"sample.webhook.io/alias": "w"}, out[0].GetAnnotations())
	back, err := s.Convert(t.Context(), out[:1], v2)
	require.NoError(t, err)
	assert.Equal(t, in[0], back[0])

	out, err = s.Convert(t.Context(), []*unstructured.Unstructured{object(t, web), object(t, strings.ReplaceAll(web, "Foo", "Bar"))}, v1)
	assert.Nil(t, out)
	var list *conversion.ListError
	require.ErrorAs(t, err, &list)
	require.Len(t, list.Objects, 1)
	assert.Equal(t, 1, list.Objects[0].Index)
	assert.Equal(t, "Bar", list.Objects[0].Kind.Kind)

	_, err = set(t, func(context.Context, *unstructured.Unstructured, schema.GroupVersion) (*unstructured.Unstructured, error) {
		panic("oh")
	}).
		Convert(t.Context(), in, v1)
	require.EqualError(t, err, "1 of 2 objects cannot be converted to sample.webhook.io/v1, so none is: objects[0] a/web: panic: oh")

	gone, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("nobody waits"))
	_, err = s.Convert(gone, in, v1)
	require.EqualError(t, err, "nobody waits after 0 of 2 objects")
}
