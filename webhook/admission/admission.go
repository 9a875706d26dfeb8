package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
)

// DefaultBodyLimit is how many bytes a review may have. An update carries two objects of at most 1.5 MiB
// each, where etcd has its defaults, and strings may take more bytes in JSON than in etcd.
const DefaultBodyLimit = 8 << 20

// Stored knows the customizations that are stored already. A declarative/live Layer does.
type Stored interface {
	// Customizations lists them in any order. They are not modified.
	Customizations(context.Context) ([]*v1alpha1.ResourceInterpreterCustomization, error)
}

// Handler answers the AdmissionReviews (admission.k8s.io/v1) of customizations and of webhook configurations,
// on whatever path.
//
// A refusal is an answer, with the HTTP status 200. Another status means that there was no review to answer:
// 400 for what is none, and those of every [webhook.Endpoint].
type Handler struct {
	*webhook.Endpoint
	stored   Stored
	layer    []declarative.Option
	fields   func(schema.GroupKind) map[string]declarative.Fields
	endpoint []webhook.HandlerOption
	reviews  *prometheus.CounterVec
}

// Option changes a Handler that is being made.
type Option func(*Handler) error

// WithLayerOptions sets the options of the layer that the customizations are for, such as its engine.
func WithLayerOptions(options ...declarative.Option) Option {
	return func(h *Handler) error {
		h.layer = options
		return nil
	}
}

// WithFields has scripts compared with the fields of the kinds that they are for; versions gives what is known of a
// kind, as for declarative.CheckFields. A field that is not there is warned of: the kind may get it later.
func WithFields(versions func(schema.GroupKind) map[string]declarative.Fields) Option {
	return func(h *Handler) error {
		h.fields = versions
		return nil
	}
}

// WithBodyLimit bounds the bytes of a review. Without it that is DefaultBodyLimit.
func WithBodyLimit(bytes int64) Option { return withEndpoint(webhook.WithBodyLimit(bytes)) }

// WithLogger has a line logged for every review. Without it nothing is.
func WithLogger(l *slog.Logger) Option { return withEndpoint(webhook.WithLogger(l)) }

func withEndpoint(o webhook.HandlerOption) Option {
	return func(h *Handler) error {
		h.endpoint = append(h.endpoint, o)
		return nil
	}
}

// WithRegisterer registers a metric of the reviews. Without it nothing is counted.
func WithRegisterer(r prometheus.Registerer) Option {
	return func(h *Handler) error {
		reviews := prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "interpret_admission_reviews_total",
			Help: "Reviews of objects by outcome: allowed, warned (and allowed), refused, or failed (and not allowed).",
		}, []string{"resource", "outcome"})
		err := r.Register(reviews)
		var twice prometheus.AlreadyRegisteredError
		if errors.As(err, &twice) {
			if same, ok := twice.ExistingCollector.(*prometheus.CounterVec); ok {
				reviews, err = same, nil
			}
		}
		h.reviews = reviews
		return err
	}
}

// New makes a handler. Without stored, which may be nil, customizations are not compared with others.
func New(stored Stored, options ...Option) (*Handler, error) {
	h := &Handler{stored: stored}
	for _, o := range options {
		if err := o(h); err != nil {
			return nil, err
		}
	}
	// Options of the layer that are wrong are told now, not to everybody who stores something.
	if _, err := declarative.New(nil, h.layer...); err != nil {
		return nil, err
	}
	var err error
	h.Endpoint, err = webhook.NewEndpoint(webhook.Protocol{
		Name:      "review",
		BodyLimit: DefaultBodyLimit,
		Answer:    h.answer,
		Failure: func(uid types.UID, code int32, message string) any {
			answer := fails(code, message)
			answer.UID = uid
			return answer
		},
		Envelop: func(response any) any {
			return &admissionv1.AdmissionReview{TypeMeta: envelope, Response: response.(*admissionv1.AdmissionResponse)}
		},
	}, h.endpoint...)
	return h, err
}

var envelope = metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"}

// answer answers the review in a body.
func (h *Handler) answer(ctx context.Context, x *webhook.Exchange, body []byte) (any, error) {
	review := &admissionv1.AdmissionReview{}
	if err := decode(body, review); err != nil {
		return nil, &webhook.TurnAway{Status: http.StatusBadRequest, Message: err.Error()}
	}
	req := review.Request
	x.UID = req.UID
	outcome := "failed"
	x.About = func() []slog.Attr {
		return []slog.Attr{
			slog.String("operation", string(req.Operation)), slog.String("resource", req.Resource.Resource),
			slog.String("name", req.Name), slog.String("user", req.UserInfo.Username), slog.String("outcome", outcome),
		}
	}
	var answer *admissionv1.AdmissionResponse
	err := x.Run(ctx, "the review", func() error {
		answer = h.review(ctx, req)
		return nil
	})
	if err == nil {
		outcome = outcomeOf(answer)
	}
	if h.reviews != nil {
		h.reviews.WithLabelValues(resourceOf(req), outcome).Inc()
	}
	if err != nil {
		return nil, err
	}
	answer.UID = req.UID
	if answer.Result != nil {
		x.Code, x.Message = answer.Result.Code, answer.Result.Message
	}
	return answer, nil
}

// decode reads a review that asks something.
func decode(body []byte, review *admissionv1.AdmissionReview) error {
	if err := json.Unmarshal(body, review); err != nil {
		return fmt.Errorf("the body is no AdmissionReview: %w", err)
	}
	want := admissionv1.SchemeGroupVersion.WithKind("AdmissionReview")
	if got := review.GroupVersionKind(); got != want {
		return fmt.Errorf("the body must be an %s of %s, got %q of %q", want.Kind, want.GroupVersion(), got.Kind, got.GroupVersion())
	}
	if review.Request == nil {
		return errors.New("the AdmissionReview has no request")
	}
	return nil
}

// resourceOf is what a metric says the review is of: one of few words.
func resourceOf(req *admissionv1.AdmissionRequest) string {
	if check := checks[req.Resource.Resource]; check == nil || req.Resource.Group != v1alpha1.GroupName {
		return "other"
	}
	return req.Resource.Resource
}

// review answers. The UID is not in the response yet.
func (h *Handler) review(ctx context.Context, req *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	answer := &admissionv1.AdmissionResponse{}
	if req.Operation != admissionv1.Create && req.Operation != admissionv1.Update {
		answer.Allowed = true
		return answer
	}
	if resourceOf(req) == "other" || req.SubResource != "" {
		// Refusing what one knows nothing of could stop a whole cluster.
		answer.Allowed = true
		answer.Warnings = []string{fmt.Sprintf("%s was not looked at: the webhook configuration sends it to where only %s of %s are known",
			strings.TrimSuffix(req.Resource.Resource+"/"+req.SubResource, "/"), strings.Join(resources(), " and "), v1alpha1.GroupName)}
		return answer
	}
	f, err := checks[req.Resource.Resource](ctx, h, req)
	switch {
	case errors.Is(err, errUndecodable):
		return fails(http.StatusBadRequest, err.Error())
	case err != nil:
		return fails(http.StatusInternalServerError, err.Error())
	}
	return f.answer(req)
}

// fails is the answer of a check that did not come to its end.
func fails(code int32, message string) *admissionv1.AdmissionResponse {
	status := webhook.FailureStatus(code, message)
	return &admissionv1.AdmissionResponse{Result: &status}
}

func outcomeOf(a *admissionv1.AdmissionResponse) string {
	switch {
	case a.Allowed && len(a.Warnings) > 0:
		return "warned"
	case a.Allowed:
		return "allowed"
	case a.Result.Reason == metav1.StatusReasonInvalid:
		return "refused"
	}
	return "failed"
}
