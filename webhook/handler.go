package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

// The limits that apply where no option says otherwise.
const (
	// DefaultBodyLimit is how many bytes a question may have. Two objects, for Retain, of the largest size that
	// etcd stores by default make 3 MiB; the rest is for the status items of many clusters.
	DefaultBodyLimit = 8 << 20
	// DefaultMaxInFlight is how many questions are worked on at a time.
	DefaultMaxInFlight = 256
	// DefaultMaxTime bounds the work on a question that does not say itself how much time there is. It is the
	// longest timeout that a webhook configuration may have.
	DefaultMaxTime = maxTimeoutSeconds * time.Second
)

const (
	// A UID, which must be echoed even from a body that is not read to its end, stands near its beginning.
	uidPrefix = 4 << 10
	// How long it may take to arrive when all are busy.
	prefixTime = time.Second
	// How long before the caller stops waiting the failure to answer in time is sent, so that it arrives.
	replyMargin = 50 * time.Millisecond
	// How long an interpreter that is out of time may take to say so in its own words.
	lastWords = 20 * time.Millisecond
	// When a caller who came when all were busy may try again, in seconds.
	retryAfter = 1
	// The largest buffer that is kept for the next question; most objects are much smaller.
	keptBuffer = 64 << 10
)

// Handler answers questions over HTTP, by whatever method and on whatever path, as a hook for Karmada does.
//
// An answer has the HTTP status 200 even if it says that there is none; only a question that was not looked
// at gets another: 413 when it is too long, 408 when its end does not come, 429 when there are too many.
type Handler struct {
	interpreter interpreter.Interpreter
	bodyLimit   int64
	maxTime     time.Duration
	slots       chan struct{}
	logger      *slog.Logger
	registerer  prometheus.Registerer
	metrics     *serverMetrics
	buffers     sync.Pool
	// via is the handler's name among those that pass questions on.
	via string
}

// HandlerOption changes a Handler that is being made.
type HandlerOption func(*Handler) error

// WithBodyLimit bounds the bytes of a question. Without it that is DefaultBodyLimit.
func WithBodyLimit(bytes int64) HandlerOption {
	return func(h *Handler) error {
		h.bodyLimit = bytes
		return positive("body limit", bytes)
	}
}

// WithMaxInFlight bounds the questions that are worked on; further ones are turned away. Without it that is
// DefaultMaxInFlight.
func WithMaxInFlight(questions int) HandlerOption {
	return func(h *Handler) error {
		if err := positive("number of questions in flight", questions); err != nil {
			return err
		}
		h.slots = make(chan struct{}, questions)
		return nil
	}
}

// WithMaxTime bounds the work on a question, also if its caller would wait for longer. Without it that is
// DefaultMaxTime.
func WithMaxTime(d time.Duration) HandlerOption {
	return func(h *Handler) error {
		h.maxTime = d
		return positive("time", d)
	}
}

// WithLogger has a line logged for every question. Without it nothing is.
func WithLogger(l *slog.Logger) HandlerOption {
	return func(h *Handler) error {
		h.logger = l
		return nil
	}
}

// WithHandlerRegisterer registers the metrics of the questions. Without it nothing is counted.
func WithHandlerRegisterer(r prometheus.Registerer) HandlerOption {
	return func(h *Handler) error {
		h.registerer = r
		return nil
	}
}

// NewHandler makes a handler that answers with an interpreter.
func NewHandler(in interpreter.Interpreter, options ...HandlerOption) (*Handler, error) {
	if in == nil {
		return nil, errors.New("the interpreter is nil")
	}
	h := &Handler{
		interpreter: in,
		bodyLimit:   DefaultBodyLimit,
		maxTime:     DefaultMaxTime,
		slots:       make(chan struct{}, DefaultMaxInFlight),
		logger:      slog.New(slog.DiscardHandler),
		buffers:     sync.Pool{New: func() any { return new(bytes.Buffer) }},
		via:         newVia(),
	}
	for _, o := range options {
		if err := o(h); err != nil {
			return nil, err
		}
	}
	var err error
	h.metrics, err = newServerMetrics(h.registerer)
	return h, err
}

// exchange is one question and what became of it.
type exchange struct {
	start time.Time
	uid   types.UID
	req   *interpreter.Request
	// status is the HTTP status, code the one in the body.
	status  int
	code    int32
	message string
	size    int
}

// ServeHTTP answers one question.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{start: time.Now(), status: http.StatusOK}
	h.metrics.begin()
	defer func() {
		h.metrics.end(x)
		h.log(r, x)
	}()
	select {
	case h.slots <- struct{}{}:
	default:
		_ = http.NewResponseController(w).SetReadDeadline(x.start.Add(prefixTime))
		x.uid = prefixUID(r.Body)
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
		h.turnAway(w, x, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests,
			fmt.Sprintf("%d questions are being worked on, come back in %d s", cap(h.slots), retryAfter))
		return
	}
	work := &work{handler: h}
	defer work.done()
	limit := h.timeOf(r)
	ctx, cancel := context.WithDeadline(r.Context(), x.start.Add(limit))
	defer cancel()

	// A body that does not come to its end must not hold its place for longer than an answer may.
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(x.start.Add(limit)) // Not every ResponseWriter has deadlines.
	buffer := h.buffers.Get().(*bytes.Buffer)
	defer h.release(buffer)
	if r.ContentLength > 0 && r.ContentLength <= h.bodyLimit {
		buffer.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	_, err := buffer.ReadFrom(http.MaxBytesReader(w, r.Body, h.bodyLimit))
	if err == nil {
		// Else it stays, since net/http reads on after an answer.
		_ = connection.SetReadDeadline(time.Time{})
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		x.uid = findUID(buffer.Bytes())
		h.turnAway(w, x, http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge,
			fmt.Sprintf("the body has more than %d bytes", tooLarge.Limit))
		return
	case errors.Is(err, os.ErrDeadlineExceeded):
		x.uid = findUID(buffer.Bytes())
		w.Header().Set("Connection", "close")
		h.turnAway(w, x, http.StatusRequestTimeout, metav1.StatusReasonTimeout,
			fmt.Sprintf("the body did not come to its end within %s", limit))
		return
	}
	var response *v1alpha1.ResourceInterpreterResponse
	if err != nil {
		x.uid = findUID(buffer.Bytes())
		response = FailureOf(fmt.Errorf("%w: the body: %w", interpreter.ErrInvalidRequest, err))
	} else {
		response = h.respond(ctx, r, x, buffer.Bytes(), work)
	}
	h.write(w, x, response)
}

// work holds a place among the questions in flight until both the exchange and the interpreter are done.
type work struct {
	handler *Handler
	// left is closed by the interpreter that was left behind, nil if there is none.
	left <-chan struct{}
}

func (k *work) done() {
	if k.left == nil {
		<-k.handler.slots
		return
	}
	go func() {
		<-k.left
		<-k.handler.slots
	}()
}

// release gives a buffer back, unless it is so large that keeping it would cost more than making another. What
// was decoded from it shares nothing with it.
func (h *Handler) release(b *bytes.Buffer) {
	if b.Cap() <= keptBuffer {
		b.Reset()
		h.buffers.Put(b)
	}
}

// timeOf is how long the work on a question may take: what the query says, in the text of a Go duration, less
// what it takes to send an answer.
func (h *Handler) timeOf(r *http.Request) time.Duration {
	limit := h.maxTime
	if r.URL.RawQuery != "" {
		// One that makes no sense is not worth refusing the question for.
		if d, err := time.ParseDuration(r.URL.Query().Get("timeout")); err == nil && d > 0 {
			limit = min(limit, d)
		}
	}
	return limit - min(replyMargin, limit/10)
}

// respond answers the question in a body. The UID is not in the response yet.
func (h *Handler) respond(ctx context.Context, r *http.Request, x *exchange, body []byte, work *work) *v1alpha1.ResourceInterpreterResponse {
	uid, req, err := DecodeRequest(body)
	x.uid, x.req = uid, req
	if media, _, bad := mime.ParseMediaType(r.Header.Get("Content-Type")); bad != nil || media != "application/json" {
		return FailureOf(&StatusError{
			Code:    http.StatusUnsupportedMediaType,
			Message: fmt.Sprintf("the Content-Type must be application/json, got %q", r.Header.Get("Content-Type")),
		})
	}
	if err != nil {
		return FailureOf(err)
	}
	ctx, err = h.withVia(ctx, r.Header)
	if err != nil {
		return FailureOf(err)
	}
	res, err := h.interpret(ctx, req, work)
	if err == nil {
		var response *v1alpha1.ResourceInterpreterResponse
		if response, err = ResponseOf(req, res); err == nil {
			return response
		}
	}
	return FailureOf(err)
}

// interpret asks the interpreter, and goes on without it when time is up. It runs in a goroutine of its own,
// because nothing can make an interpreter stop that does not mind its context; its place in flight stays
// taken until it returns, so such interpreters cannot pile up. A panic becomes an error.
func (h *Handler) interpret(ctx context.Context, req *interpreter.Request, work *work) (*interpreter.Result, error) {
	var res *interpreter.Result
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				h.logger.LogAttrs(ctx, slog.LevelError, "panic", append(about(req), slog.Any("panic", v), slog.String("stack", string(debug.Stack())))...)
				err = fmt.Errorf("%w: panic: %v", errInternal, v)
			}
		}()
		res, err = h.interpreter.Interpret(ctx, req)
	}()
	select {
	case <-done:
		return res, err
	case <-ctx.Done():
	}
	select {
	case <-done:
		return res, err
	case <-time.After(lastWords):
		work.left = done
		return nil, fmt.Errorf("%w, and %s goes on", ctx.Err(), req.Operation)
	}
}

// write sends an answer with the UID of the question, or says that it cannot be encoded.
func (h *Handler) write(w http.ResponseWriter, x *exchange, response *v1alpha1.ResourceInterpreterResponse) {
	response.UID = x.uid
	body, err := EncodeResponse(response)
	if err != nil {
		response = FailureOf(fmt.Errorf("%w: %w", errInternal, err))
		response.UID = x.uid
		body, _ = EncodeResponse(response)
	}
	x.code, x.message = response.Status.Code, response.Status.Message
	h.send(w, x, body)
}

// refusal is the body of an HTTP status other than 200: what Kubernetes clients show the message of, and
// beside it the response that the protocol has.
type refusal struct {
	metav1.Status `json:",inline"`
	Response      *v1alpha1.ResourceInterpreterResponse `json:"response"`
}

// turnAway refuses a question with an HTTP status.
func (h *Handler) turnAway(w http.ResponseWriter, x *exchange, status int, reason metav1.StatusReason, message string) {
	x.status, x.code, x.message = status, int32(status), message
	response := &v1alpha1.ResourceInterpreterResponse{
		UID:    x.uid,
		Status: &v1alpha1.RequestStatus{Code: x.code, Message: message},
	}
	body, err := json.Marshal(&refusal{Response: response, Status: metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: x.code, Reason: reason, Message: message,
	}})
	if err != nil {
		http.Error(w, message, status)
		return
	}
	h.send(w, x, body)
}

func (h *Handler) send(w http.ResponseWriter, x *exchange, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(x.status)
	x.size, _ = w.Write(body) // Who has gone does not read an error either.
}

// prefixUID looks for the UID in the beginning of a body.
func prefixUID(body io.Reader) types.UID {
	prefix, _ := io.ReadAll(io.LimitReader(body, uidPrefix)) // Half a prefix is as good.
	return findUID(prefix)
}

// log writes the line of an exchange: an error where the fault is not the caller's or the object's.
func (h *Handler) log(r *http.Request, x *exchange) {
	level := slog.LevelInfo
	if x.code >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	ctx := r.Context()
	if !h.logger.Enabled(ctx, level) {
		return
	}
	attrs := append(make([]slog.Attr, 0, 12), slog.String("uid", string(x.uid)))
	if x.req != nil {
		attrs = append(attrs, about(x.req)...)
	}
	attrs = append(attrs,
		slog.Int("status", x.status), slog.Int("code", int(x.code)), slog.Duration("took", time.Since(x.start)),
		slog.Int64("received", r.ContentLength), slog.Int("sent", x.size), slog.String("from", r.RemoteAddr))
	if x.code != http.StatusOK {
		attrs = append(attrs, slog.String("error", x.message))
	}
	h.logger.LogAttrs(ctx, level, "interpret", attrs...)
}

// about are the attributes that say what was asked.
func about(req *interpreter.Request) []slog.Attr {
	return []slog.Attr{
		slog.String("operation", string(req.Operation)), slog.String("kind", interpreter.KindString(req.Kind())),
		slog.String("namespace", req.Object.GetNamespace()), slog.String("name", req.Object.GetName()),
	}
}
