package conversion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeinterpret/interpret/webhook"
)

// The limits that apply where no option says otherwise.
const (
	// DefaultBodyLimit is how many bytes a review may have. An API server sends the objects of a list in one review,
	// in chunks of 500 if the client asks for chunks as kubectl does; that leaves 128 KiB for each of them.
	DefaultBodyLimit = 64 << 20
	// DefaultMaxInFlight is how many reviews are worked on at a time. They may be large.
	DefaultMaxInFlight = 64
)

// Handler answers ConversionReviews (apiextensions.k8s.io/v1) with a set of converters, on whatever path. A body that
// is no review is answered with the HTTP status 400; the rest is as for every [webhook.Endpoint].
type Handler struct {
	*webhook.Endpoint
	converters atomic.Pointer[Set]
}

// NewHandler makes a handler. Its default limits are DefaultBodyLimit, DefaultMaxInFlight and
// [webhook.DefaultMaxTime], which is what an API server gives a conversion.
func NewHandler(converters *Set, options ...webhook.HandlerOption) (*Handler, error) {
	if converters == nil {
		return nil, errors.New("the set of converters is nil")
	}
	h := &Handler{}
	h.converters.Store(converters)
	var err error
	h.Endpoint, err = webhook.NewEndpoint(webhook.Protocol{
		Name:        "convert",
		Metrics:     "interpret_conversion",
		Label:       "kind",
		BodyLimit:   DefaultBodyLimit,
		MaxInFlight: DefaultMaxInFlight,
		Answer:      h.answer,
		Failure: func(uid types.UID, code int32, message string) any {
			// The API has no failure with some objects.
			return &apiextensionsv1.ConversionResponse{
				UID: uid, ConvertedObjects: []runtime.RawExtension{}, Result: webhook.FailureStatus(code, message),
			}
		},
		Envelop: func(response any) any {
			return &apiextensionsv1.ConversionReview{TypeMeta: envelope, Response: response.(*apiextensionsv1.ConversionResponse)}
		},
	}, options...)
	return h, err
}

// Replace puts other converters in the place of the present ones, at once for all reviews that come afterwards.
func (h *Handler) Replace(converters *Set) { h.converters.Store(converters) }

// Converters are those that are in force.
func (h *Handler) Converters() *Set { return h.converters.Load() }

const reviewKind = "ConversionReview"

var envelope = metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: reviewKind}

// decodeReview reads a review that asks something.
func decodeReview(body []byte) (*apiextensionsv1.ConversionRequest, error) {
	var review apiextensionsv1.ConversionReview
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, fmt.Errorf("the body is no %s: %w", reviewKind, err)
	}
	if review.TypeMeta != envelope {
		return nil, fmt.Errorf("the body must be a %s of %s, got %q of %q", reviewKind, envelope.APIVersion, review.Kind, review.APIVersion)
	}
	if review.Request == nil {
		return nil, fmt.Errorf("the %s has no request", reviewKind)
	}
	return review.Request, nil
}

// answer answers the review in a body.
func (h *Handler) answer(ctx context.Context, x *webhook.Exchange, body []byte) (any, error) {
	req, err := decodeReview(body)
	if err != nil {
		return nil, &webhook.TurnAway{Status: http.StatusBadRequest, Message: err.Error()}
	}
	x.UID = req.UID
	q := &question{set: h.converters.Load(), exchange: x, request: req}
	x.About = q.about
	desired, err := schema.ParseGroupVersion(req.DesiredAPIVersion)
	if err != nil || desired.Empty() {
		return nil, &webhook.StatusError{Code: http.StatusBadRequest, Message: fmt.Sprintf("desiredAPIVersion: want group/version, got %q", req.DesiredAPIVersion)}
	}
	var converted []runtime.RawExtension
	x.Subject = q.subject()
	err = x.Run(ctx, "the conversion", func() (err error) {
		converted, err = q.convert(ctx, desired)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &apiextensionsv1.ConversionResponse{
		UID: req.UID, ConvertedObjects: converted, Result: metav1.Status{Status: metav1.StatusSuccess},
	}, nil
}

// question is a review that is being answered.
type question struct {
	set      *Set
	exchange *webhook.Exchange
	request  *apiextensionsv1.ConversionRequest
}

// kind is that of the first object; an API server sends those of one kind. Only what is registered is a subject.
func (q *question) kind() schema.GroupVersionKind {
	if len(q.request.Objects) == 0 {
		return schema.GroupVersionKind{}
	}
	var t metav1.TypeMeta
	_ = json.Unmarshal(q.request.Objects[0].Raw, &t) // The conversion says what is wrong with it.
	return t.GroupVersionKind()
}

func (q *question) subject() string {
	if kind := q.kind().GroupKind(); q.set.Has(kind) {
		return kind.String()
	}
	return ""
}

func (q *question) about() []slog.Attr {
	return []slog.Attr{
		slog.String("kind", q.kind().GroupKind().String()), slog.String("desired", q.request.DesiredAPIVersion),
		slog.Int("objects", len(q.request.Objects)),
	}
}

// convert converts all objects, or none.
func (q *question) convert(ctx context.Context, desired schema.GroupVersion) ([]runtime.RawExtension, error) {
	converted := make([]runtime.RawExtension, len(q.request.Objects))
	err := q.set.each(ctx, len(converted), desired, func(i int) (*unstructured.Unstructured, error) {
		obj, raw, err := q.one(ctx, q.request.Objects[i].Raw, desired)
		converted[i].Raw = raw
		return obj, err
	})
	if err != nil {
		return nil, err
	}
	return converted, nil
}

// one converts one object, and gives what names it. One that is in the desired version passes as it is.
func (q *question) one(ctx context.Context, raw []byte, desired schema.GroupVersion) (name *unstructured.Unstructured, out []byte, err error) {
	obj, err := decodeObject(raw)
	name = identityOf(obj)
	if err != nil {
		return name, nil, err
	}
	converter, err := q.set.find(obj, desired)
	if err != nil || converter == nil {
		return name, raw, err
	}
	defer func() {
		if v := recover(); v != nil {
			err = q.exchange.Panicked(ctx, v, slog.String("object", objectName(name.GetNamespace(), name.GetName())))
		}
	}()
	converted, err := convert(ctx, converter, obj, desired)
	if err != nil {
		return name, nil, err
	}
	out, err = encodeObject(converted)
	return name, out, err
}

// identityOf is what names an object, also when the object has become something else.
func identityOf(obj *unstructured.Unstructured) *unstructured.Unstructured {
	name := &unstructured.Unstructured{}
	name.SetGroupVersionKind(obj.GroupVersionKind())
	name.SetNamespace(obj.GetNamespace())
	name.SetName(obj.GetName())
	return name
}
