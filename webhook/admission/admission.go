package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
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
// 400 for what is none, 413 for a body that is too long.
type Handler struct {
	stored    Stored
	layer     []declarative.Option
	bodyLimit int64
	logger    *slog.Logger
	reviews   *prometheus.CounterVec
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

// WithBodyLimit bounds the bytes of a review. Without it that is DefaultBodyLimit.
func WithBodyLimit(bytes int64) Option {
	return func(h *Handler) error {
		if bytes <= 0 {
			return fmt.Errorf("the body limit must be positive, got %d", bytes)
		}
		h.bodyLimit = bytes
		return nil
	}
}

// WithLogger has a line logged for every review. Without it nothing is.
func WithLogger(l *slog.Logger) Option {
	return func(h *Handler) error {
		h.logger = l
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
	h := &Handler{stored: stored, bodyLimit: DefaultBodyLimit, logger: slog.New(slog.DiscardHandler)}
	for _, o := range options {
		if err := o(h); err != nil {
			return nil, err
		}
	}
	// Options of the layer that are wrong are told now, not to everybody who stores something.
	_, err := declarative.New(nil, h.layer...)
	return h, err
}

// ServeHTTP answers one review.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.bodyLimit))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		h.turnAway(w, body, http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge,
			fmt.Sprintf("the review has more than %d bytes", tooLarge.Limit))
		return
	}
	review := &admissionv1.AdmissionReview{}
	if err == nil {
		err = decode(body, review)
	}
	if err != nil {
		h.turnAway(w, body, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return
	}
	answer := h.review(r.Context(), review.Request)
	outcome := outcomeOf(answer)
	if h.reviews != nil {
		h.reviews.WithLabelValues(resourceOf(review.Request), outcome).Inc()
	}
	h.log(r.Context(), review.Request, answer, outcome, time.Since(start))
	write(w, http.StatusOK, &admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: answer})
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

// review answers, whatever happens.
func (h *Handler) review(ctx context.Context, req *admissionv1.AdmissionRequest) (answer *admissionv1.AdmissionResponse) {
	answer = &admissionv1.AdmissionResponse{}
	defer func() {
		if v := recover(); v != nil {
			h.logger.LogAttrs(ctx, slog.LevelError, "panic", slog.String("uid", string(req.UID)), slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
			answer = fails(http.StatusInternalServerError, metav1.StatusReasonInternalError, fmt.Sprintf("panic: %v", v))
		}
		answer.UID = req.UID
	}()
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
		return fails(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
	case err != nil:
		return fails(http.StatusInternalServerError, metav1.StatusReasonInternalError, err.Error())
	}
	return f.answer(req)
}

// fails is the answer of a check that did not come to its end.
func fails(code int32, reason metav1.StatusReason, message string) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Result: &metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
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

func (h *Handler) log(ctx context.Context, req *admissionv1.AdmissionRequest, a *admissionv1.AdmissionResponse, outcome string, took time.Duration) {
	level := slog.LevelInfo
	if outcome == "failed" {
		level = slog.LevelError
	}
	attrs := []slog.Attr{
		slog.String("uid", string(req.UID)), slog.String("operation", string(req.Operation)), slog.String("resource", req.Resource.Resource),
		slog.String("name", req.Name), slog.String("user", req.UserInfo.Username), slog.String("outcome", outcome), slog.Duration("took", took),
	}
	if a.Result != nil {
		attrs = append(attrs, slog.String("error", a.Result.Message))
	}
	h.logger.LogAttrs(ctx, level, "review", attrs...)
}

// refusal is the body of an HTTP status other than 200: a Status, whose message an API server shows, and
// beside it the response that a review has.
type refusal struct {
	metav1.Status `json:",inline"`
	Response      *admissionv1.AdmissionResponse `json:"response"`
}

// firstUID finds the UID of a request in a body that cannot be decoded; it is the first field of the request.
var firstUID = regexp.MustCompile(`"uid"\s*:\s*"([^"\\]{1,64})"`)

func (h *Handler) turnAway(w http.ResponseWriter, body []byte, code int, reason metav1.StatusReason, message string) {
	answer := fails(int32(code), reason, message)
	if found := firstUID.FindSubmatch(body); found != nil {
		answer.UID = types.UID(found[1])
	}
	h.logger.Error("no review", "uid", answer.UID, "status", code, "error", message)
	status := *answer.Result
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	write(w, code, &refusal{status, answer})
}

func write(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // Who has gone does not read an error either.
}
