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
)

// The limits that apply where no option says otherwise.
const (
	// DefaultBodyLimit is how many bytes a question may have. Two objects, for Retain, of the largest size that
	// etcd stores by default make 3 MiB; the rest is for the status items of many clusters.
	DefaultBodyLimit = 8 << 20
	// DefaultMaxInFlight is how many questions are worked on at a time.
	DefaultMaxInFlight = 256
	// DefaultMaxTime bounds the work on a question that does not say itself how much time there is. It is the
	// longest timeout that a webhook configuration may have, and what an API server gives a conversion.
	DefaultMaxTime = maxTimeoutSeconds * time.Second
)

const (
	// A UID, which must be echoed even from a body that is not read to its end, stands near its beginning.
	uidPrefix = 4 << 10
	// How long it may take to arrive when all are busy.
	prefixTime = time.Second
	// How long before the caller stops waiting the failure to answer in time is sent, so that it arrives.
	replyMargin = 50 * time.Millisecond
	// How long work that is out of time may take to say so in its own words.
	lastWords = 20 * time.Millisecond
	// How long it may take to send an answer, over a slow line.
	sendTime = 30 * time.Second
	// When a caller who came when all were busy may try again, in seconds.
	retryAfter = 1
	// The largest buffer that is kept for the next question; most objects are much smaller.
	keptBuffer = 64 << 10
)

// Protocol is what an Endpoint must know of the questions it answers. They are JSON objects with the UID of the
// question at request.uid.
type Protocol struct {
	// Name stands for a question in the log.
	Name string
	// Metrics is what the names of the metrics begin with, and Label the label that tells questions apart.
	Metrics, Label string
	// BodyLimit and MaxInFlight apply where no option says otherwise; 0 is DefaultBodyLimit and DefaultMaxInFlight.
	BodyLimit   int64
	MaxInFlight int
	// Answer gives the response to the question in a body, which it must not keep. It says in the exchange whose UID
	// it was, and what is known of it. An error is answered with Failure, or is a *TurnAway.
	Answer func(ctx context.Context, x *Exchange, body []byte) (response any, err error)
	// Failure is the response that says why there is no answer; the code is that of Code.
	Failure func(uid types.UID, code int32, message string) (response any)
	// Envelop puts a response into the body of an answer with the status 200.
	Envelop func(response any) (body any)
}

// Exchange is one question and what becomes of it.
type Exchange struct {
	// UID is the question's. Answer sets it; from a body that it cannot decode the endpoint takes it.
	UID types.UID
	// Subject is the value of the label that the protocol's metrics have, one of few.
	Subject string
	// About, if not nil, gives what the log says of the question.
	About func() []slog.Attr
	// Code and Message are what the log and the metrics say of the answer. An error of Answer sets them; a response
	// that says no for itself must.
	Code    int32
	Message string

	endpoint *Endpoint
	request  *http.Request
	start    time.Time
	status   int
	size     int
	// left is closed by the work that was left behind, nil if there is none.
	left <-chan struct{}
}

// Header is the header of the HTTP request.
func (x *Exchange) Header() http.Header { return x.request.Header }

// TurnAway is the error of a question that is not one, or was not looked at: it is answered with an HTTP status other
// than 200.
type TurnAway struct {
	Status  int
	Message string
}

func (t *TurnAway) Error() string { return t.Message }

// Endpoint is the HTTP around an answer: the limits of size, number and time, panics that stay contained, a line in
// the log and the metrics of every question. A Handler is one for questions about resources.
//
// An answer has the HTTP status 200 even if it says that there is none; only a question that was not looked
// at gets another: 413 when it is too long, 408 when its end does not come, 429 when there are too many.
type Endpoint struct {
	protocol   Protocol
	bodyLimit  int64
	maxTime    time.Duration
	slots      chan struct{}
	logger     *slog.Logger
	registerer prometheus.Registerer
	metrics    *serverMetrics
	buffers    sync.Pool
}

// HandlerOption changes an Endpoint, such as that of a Handler, that is being made.
type HandlerOption func(*Endpoint) error

// WithBodyLimit bounds the bytes of a question. Without it that is DefaultBodyLimit.
func WithBodyLimit(bytes int64) HandlerOption {
	return func(e *Endpoint) error {
		e.bodyLimit = bytes
		return positive("body limit", bytes)
	}
}

// WithMaxInFlight bounds the questions that are worked on; further ones are turned away. Without it that is
// DefaultMaxInFlight.
func WithMaxInFlight(questions int) HandlerOption {
	return func(e *Endpoint) error {
		if err := positive("number of questions in flight", questions); err != nil {
			return err
		}
		e.slots = make(chan struct{}, questions)
		return nil
	}
}

// WithMaxTime bounds the work on a question, also if its caller would wait for longer. Without it that is
// DefaultMaxTime.
func WithMaxTime(d time.Duration) HandlerOption {
	return func(e *Endpoint) error {
		e.maxTime = d
		return positive("time", d)
	}
}

// WithLogger has a line logged for every question. Without it nothing is.
func WithLogger(l *slog.Logger) HandlerOption {
	return func(e *Endpoint) error {
		e.logger = l
		return nil
	}
}

// WithHandlerRegisterer registers the metrics of the questions. Without it nothing is counted.
func WithHandlerRegisterer(r prometheus.Registerer) HandlerOption {
	return func(e *Endpoint) error {
		e.registerer = r
		return nil
	}
}

// NewEndpoint makes the endpoint of a protocol.
func NewEndpoint(p Protocol, options ...HandlerOption) (*Endpoint, error) {
	e := &Endpoint{
		protocol:  p,
		bodyLimit: DefaultBodyLimit,
		maxTime:   DefaultMaxTime,
		slots:     make(chan struct{}, DefaultMaxInFlight),
		logger:    slog.New(slog.DiscardHandler),
		buffers:   sync.Pool{New: func() any { return new(bytes.Buffer) }},
	}
	if p.BodyLimit > 0 {
		e.bodyLimit = p.BodyLimit
	}
	if p.MaxInFlight > 0 {
		e.slots = make(chan struct{}, p.MaxInFlight)
	}
	for _, o := range options {
		if err := o(e); err != nil {
			return nil, err
		}
	}
	var err error
	e.metrics, err = newServerMetrics(e.registerer, p.Metrics, p.Label)
	return e, err
}

// ServeHTTP answers one question, by whatever method and on whatever path.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &Exchange{endpoint: e, request: r, start: time.Now(), status: http.StatusOK, Code: http.StatusOK}
	e.metrics.begin()
	defer func() {
		e.metrics.end(x)
		e.log(x)
	}()
	select {
	case e.slots <- struct{}{}:
	default:
		_ = http.NewResponseController(w).SetReadDeadline(x.start.Add(prefixTime))
		x.UID = prefixUID(r.Body)
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
		e.turnAway(w, x, &TurnAway{http.StatusTooManyRequests, fmt.Sprintf("%d questions are being worked on, come back in %d s", cap(e.slots), retryAfter)})
		return
	}
	defer e.done(x)
	limit := e.timeOf(r)
	ctx, cancel := context.WithDeadline(r.Context(), x.start.Add(limit))
	defer cancel()

	// A body that does not come to its end must not hold its place for longer than an answer may.
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(x.start.Add(limit)) // Not every ResponseWriter has deadlines.
	if e.maxTime > DefaultMaxTime {
		// The server around it may allow for less, as Server does, and would cut the answer off.
		_ = connection.SetWriteDeadline(x.start.Add(limit + sendTime))
	}
	buffer := e.buffers.Get().(*bytes.Buffer)
	defer e.release(buffer)
	if r.ContentLength > 0 && r.ContentLength <= e.bodyLimit {
		buffer.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	_, err := buffer.ReadFrom(http.MaxBytesReader(w, r.Body, e.bodyLimit))
	if err == nil {
		// Else it stays, since net/http reads on after an answer.
		_ = connection.SetReadDeadline(time.Time{})
		err = checkMedia(r.Header)
	} else {
		err = e.unread(w, err, limit)
	}
	if err != nil {
		x.UID = findUID(buffer.Bytes())
		e.fail(w, x, err)
		return
	}
	response, err := e.protocol.Answer(ctx, x, buffer.Bytes())
	if err != nil {
		if x.UID == "" {
			x.UID = findUID(buffer.Bytes())
		}
		e.fail(w, x, err)
		return
	}
	e.write(w, x, response)
}

// unread is why a body could not be read to its end.
func (e *Endpoint) unread(w http.ResponseWriter, err error, limit time.Duration) error {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return &TurnAway{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes", tooLarge.Limit)}
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		return &TurnAway{http.StatusRequestTimeout, fmt.Sprintf("the body did not come to its end within %s", limit)}
	}
	return fmt.Errorf("%w: the body: %w", interpreter.ErrInvalidRequest, err)
}

func checkMedia(h http.Header) error {
	if media, _, bad := mime.ParseMediaType(h.Get("Content-Type")); bad != nil || media != "application/json" {
		return &StatusError{
			Code:    http.StatusUnsupportedMediaType,
			Message: fmt.Sprintf("the Content-Type must be application/json, got %q", h.Get("Content-Type")),
		}
	}
	return nil
}

// done gives the place in flight back when both the exchange and the work on it are done.
func (e *Endpoint) done(x *Exchange) {
	if x.left == nil {
		<-e.slots
		return
	}
	go func() {
		<-x.left
		<-e.slots
	}()
}

// release gives a buffer back, unless it is so large that keeping it would cost more than making another. What
// was decoded from it shares nothing with it.
func (e *Endpoint) release(b *bytes.Buffer) {
	if b.Cap() <= keptBuffer {
		b.Reset()
		e.buffers.Put(b)
	}
}

// timeOf is how long the work on a question may take: what the query says, in the text of a Go duration, less
// what it takes to send an answer.
func (e *Endpoint) timeOf(r *http.Request) time.Duration {
	limit := e.maxTime
	if r.URL.RawQuery != "" {
		// One that makes no sense is not worth refusing the question for.
		if d, err := time.ParseDuration(r.URL.Query().Get("timeout")); err == nil && d > 0 {
			limit = min(limit, d)
		}
	}
	return limit - min(replyMargin, limit/10)
}

// Run does the work on an answer, and goes on without it when time is up. It runs in a goroutine of its own, because
// nothing can make work stop that does not mind its context; its place in flight stays taken until it returns, so
// such work cannot pile up. What it writes to must not be read unless Run returns what it returned. A panic becomes
// an error. The name is the work's in messages.
func (x *Exchange) Run(ctx context.Context, name string, work func() error) error {
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				err = x.Panicked(ctx, v)
			}
		}()
		err = work()
	}()
	select {
	case <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case <-done:
		return err
	case <-time.After(lastWords):
		x.left = done
		return fmt.Errorf("%w, and %s goes on", ctx.Err(), name)
	}
}

// Panicked logs what was recovered from a panic, with the stack of the goroutine, and gives the error that it is for
// the caller.
func (x *Exchange) Panicked(ctx context.Context, v any, about ...slog.Attr) error {
	attrs := append(x.about(), about...)
	attrs = append(attrs, slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
	x.endpoint.logger.LogAttrs(ctx, slog.LevelError, "panic", attrs...)
	return fmt.Errorf("%w: panic: %v", errInternal, v)
}

func (x *Exchange) about() []slog.Attr {
	if x.About == nil {
		return nil
	}
	return x.About()
}

// fail answers that there is no answer.
func (e *Endpoint) fail(w http.ResponseWriter, x *Exchange, err error) {
	var away *TurnAway
	if errors.As(err, &away) {
		e.turnAway(w, x, away)
		return
	}
	x.Code, x.Message = Code(err), failureMessage(err)
	e.write(w, x, e.protocol.Failure(x.UID, x.Code, x.Message))
}

// failureMessage is the text of an error beside its code.
func failureMessage(err error) string {
	if status, ok := err.(*StatusError); ok {
		return status.Message
	}
	return err.Error()
}

// write sends a response, or says that it cannot be encoded.
func (e *Endpoint) write(w http.ResponseWriter, x *Exchange, response any) {
	body, err := json.Marshal(e.protocol.Envelop(response))
	if err != nil {
		err = fmt.Errorf("%w: %w", errInternal, err)
		x.Code, x.Message = Code(err), err.Error()
		body, _ = json.Marshal(e.protocol.Envelop(e.protocol.Failure(x.UID, x.Code, x.Message)))
	}
	e.send(w, x, body)
}

// reasons are the words that the Kubernetes API has for codes.
var reasons = map[int32]metav1.StatusReason{
	http.StatusBadRequest:            metav1.StatusReasonBadRequest,
	http.StatusNotFound:              metav1.StatusReasonNotFound,
	http.StatusRequestTimeout:        metav1.StatusReasonTimeout,
	http.StatusRequestEntityTooLarge: metav1.StatusReasonRequestEntityTooLarge,
	http.StatusUnsupportedMediaType:  metav1.StatusReasonUnsupportedMediaType,
	http.StatusUnprocessableEntity:   metav1.StatusReasonInvalid,
	http.StatusTooManyRequests:       metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError:   metav1.StatusReasonInternalError,
	http.StatusServiceUnavailable:    metav1.StatusReasonServiceUnavailable,
	http.StatusGatewayTimeout:        metav1.StatusReasonTimeout,
}

// FailureStatus is the Status of a failure with a code, for the protocols whose responses hold one.
func FailureStatus(code int32, message string) metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reasons[code], Message: message}
}

// refusal is the body of an HTTP status other than 200: what Kubernetes clients show the message of, and
// beside it the response that the protocol has.
type refusal struct {
	metav1.Status `json:",inline"`
	Response      any `json:"response"`
}

// turnAway refuses a question with an HTTP status.
func (e *Endpoint) turnAway(w http.ResponseWriter, x *Exchange, t *TurnAway) {
	x.status, x.Code, x.Message = t.Status, int32(t.Status), t.Message
	status := FailureStatus(x.Code, t.Message)
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	body, err := json.Marshal(&refusal{Response: e.protocol.Failure(x.UID, x.Code, x.Message), Status: status})
	if err != nil {
		http.Error(w, t.Message, t.Status)
		return
	}
	e.send(w, x, body)
}

func (e *Endpoint) send(w http.ResponseWriter, x *Exchange, body []byte) {
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
func (e *Endpoint) log(x *Exchange) {
	level := slog.LevelInfo
	if x.Code >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	ctx := x.request.Context()
	if !e.logger.Enabled(ctx, level) {
		return
	}
	attrs := append(make([]slog.Attr, 0, 12), slog.String("uid", string(x.UID)))
	attrs = append(attrs, x.about()...)
	attrs = append(attrs,
		slog.Int("status", x.status), slog.Int("code", int(x.Code)), slog.Duration("took", time.Since(x.start)),
		slog.Int64("received", x.request.ContentLength), slog.Int("sent", x.size), slog.String("from", x.request.RemoteAddr))
	if x.Code != http.StatusOK {
		attrs = append(attrs, slog.String("error", x.Message))
	}
	e.logger.LogAttrs(ctx, level, e.protocol.Name, attrs...)
}
