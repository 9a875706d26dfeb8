package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

const (
	// Karmada's client calls itself so, and hooks or what stands before them may know it by that.
	userAgent = "kube-apiserver-admission"
	// How often a request is sent again to a hook that asks for it with Retry-After, as Karmada's client does.
	maxRetryAfter = 10
	// A connection that failed is tried once more after a part of this: enough for a restarting endpoint to
	// be gone, little next to the shortest timeout, and not the same for all callers.
	connectionPause = 100 * time.Millisecond
	// How much of a failure's body that is no Status is shown.
	maxExcerpt = 200
)

// hook is one webhook of a configuration, ready to be asked.
type hook struct {
	settings
	configuration string
	webhook       *v1alpha1.ResourceInterpreterWebhook
	identity      string
	policy        failurePolicy
	timeout       time.Duration
	url           *url.URL
	// serverName and authority are what TLS expects, for people.
	serverName, authority string

	rules []*interpreter.Rule
	lanes *lanes
	// slots hold an item for each call in flight.
	slots   chan struct{}
	breaker *gobreaker.CircuitBreaker[*interpreter.Result]
	// gone hooks are not counted any more.
	gone atomic.Bool
}

// newHook makes a hook of a webhook that Validate has nothing against.
func newHook(s settings, configuration string, w *v1alpha1.ResourceInterpreterWebhook, policy failurePolicy) *hook {
	h := &hook{
		settings:      s,
		configuration: configuration,
		webhook:       w.DeepCopy(),
		identity:      configuration + "/" + w.Name,
		policy:        policy,
		timeout:       s.timeout,
		slots:         make(chan struct{}, s.concurrency),
	}
	if w.TimeoutSeconds != nil {
		h.timeout = time.Duration(*w.TimeoutSeconds) * time.Second
	}
	h.connect()
	h.rules = []*interpreter.Rule{{Name: h.identity, Interpreter: h}}
	h.metrics.breaker(h.identity, gobreaker.StateClosed)
	h.breaker = gobreaker.NewCircuitBreaker[*interpreter.Result](gobreaker.Settings{
		Name:        h.identity,
		Timeout:     s.breakerPause,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= s.breakerFailures },
		// A hook that says no is in good health.
		IsSuccessful: func(err error) bool { return err == nil || answered(err) },
		// A caller that gives up, or asks nonsense, says nothing about the hook.
		IsExcluded: func(err error) bool {
			var gone *callerError
			return errors.As(err, &gone)
		},
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if !h.gone.Load() {
				h.metrics.breaker(h.identity, to)
			}
		},
	})
	return h
}

// retire lets go of what the hook holds. Calls in flight go on.
func (h *hook) retire(replaced bool) {
	h.lanes.close()
	h.gone.Store(true)
	if !replaced {
		h.metrics.forget(h.identity)
	}
}

// callerError is a failure that is the caller's doing.
type callerError struct{ err error }

// gaveUp is the error of a call whose caller is out of time or has lost interest.
func gaveUp(caller context.Context) error {
	err := caller.Err()
	if cause := context.Cause(caller); cause != err {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return &callerError{err}
}

func (e *callerError) Error() string { return e.err.Error() }

func (e *callerError) Unwrap() error { return e.err }

// Interpret asks the hook, and the layers below it if the hook fails and its failure policy says so.
func (h *hook) Interpret(ctx context.Context, req *interpreter.Request) (*interpreter.Result, error) {
	start := time.Now()
	flight := h.metrics.start(h.identity, req.Operation)
	res, err := h.ask(ctx, req)
	flight.end(time.Since(start), err, h.gone.Load())
	if err == nil {
		return res, nil
	}
	failure := &CallError{
		Configuration: h.configuration, Hook: h.webhook.Name, Host: h.url.Host,
		Operation: req.Operation, Kind: req.Kind(), Err: err,
	}
	if req.Object != nil {
		failure.Namespace, failure.Name = req.Object.GetNamespace(), req.Object.GetName()
	}
	var gone *callerError
	if h.policy == fail || answered(err) || errors.As(err, &gone) || ctx.Err() != nil {
		return nil, failure
	}
	res, err = req.Next(ctx, req)
	if interpreter.IsNoRule(err) {
		// Nobody else can answer, which is not to say that there is no rule.
		return nil, failure
	}
	return res, err
}

// ask makes one call within the limits of the hook: its time, its places, its breaker. The time includes
// waiting for a place and asking again.
func (h *hook) ask(caller context.Context, req *interpreter.Request) (*interpreter.Result, error) {
	uid := uuid.NewUUID()
	asked, err := ContextOf(uid, req)
	if err != nil {
		return nil, &callerError{err}
	}
	body, err := json.Marshal(asked)
	if err != nil {
		return nil, &callerError{fmt.Errorf("%w: %w", interpreter.ErrInvalidRequest, err)}
	}
	ctx, cancel := context.WithTimeoutCause(caller, h.timeout, fmt.Errorf("no answer within the webhook's %s: %w", h.timeout, context.DeadlineExceeded))
	defer cancel()
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-ctx.Done():
		if caller.Err() != nil {
			return nil, gaveUp(caller)
		}
		return nil, fmt.Errorf("%w: %d calls in flight: %w", ErrUnavailable, cap(h.slots), context.Cause(ctx))
	}
	res, err := h.breaker.Execute(func() (*interpreter.Result, error) {
		res, err := h.exchange(ctx, uid, body, req)
		if err != nil && caller.Err() != nil {
			// The transport's error is often a consequence of the caller's.
			return nil, gaveUp(caller)
		}
		return res, err
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return nil, fmt.Errorf("%w: the last %d calls or more failed, one is tried every %s", ErrUnavailable, h.breakerFailures, h.breakerPause)
	}
	return res, err
}

// exchange sends a request until there is an answer, or no point in going on.
func (h *hook) exchange(ctx context.Context, uid types.UID, body []byte, req *interpreter.Request) (*interpreter.Result, error) {
	reconnected := false
	for sent := 1; ; sent++ {
		answer, err := h.post(ctx, body)
		if err == nil {
			return DecodeResponse(answer, uid, req)
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w (%w)", context.Cause(ctx), ErrUnreachable)
		}
		var pause time.Duration
		var busy *busyError
		var handshake *handshakeError
		switch {
		case errors.As(err, &busy) && sent <= maxRetryAfter:
			pause = busy.after
		case errors.Is(err, ErrUnreachable) && !errors.As(err, &handshake) && !reconnected:
			reconnected = true
			pause = connectionPause/2 + rand.N(connectionPause/2)
		default:
			return nil, err
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= pause {
			return nil, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// busyError is a status that asks to come back later.
type busyError struct {
	err   error
	after time.Duration
}

func (e *busyError) Error() string { return fmt.Sprintf("%v (Retry-After: %s)", e.err, e.after) }

func (e *busyError) Unwrap() error { return e.err }

// post sends a request once and gives the body of a successful answer.
func (h *hook) post(ctx context.Context, body []byte) ([]byte, error) {
	lane, err := h.lanes.pick(ctx)
	if err != nil {
		return nil, err
	}
	u := *h.url
	if deadline, ok := ctx.Deadline(); ok {
		left := (time.Until(deadline) + time.Second - 1).Truncate(time.Second)
		u.RawQuery = "timeout=" + strconv.FormatInt(int64(max(left, time.Second)/time.Second), 10) + "s"
	}
	r := (&http.Request{
		Method: http.MethodPost,
		URL:    &u,
		Host:   u.Host,
		Header: http.Header{
			"Content-Type": {"application/json"},
			"Accept":       {"application/json, */*"},
			"User-Agent":   {userAgent},
		},
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
	}).WithContext(ctx)
	if via := viaOf(ctx); via != "" {
		r.Header[viaHeader] = []string{via}
	}
	// Not an http.Client: a hook that redirects would send the object somewhere else.
	response, err := lane.calls.RoundTrip(r)
	if err != nil {
		if ctx.Err() == nil {
			h.lanes.failed(lane)
		}
		return nil, h.tlsError(fmt.Errorf("%w: %w", ErrUnreachable, err))
	}
	defer response.Body.Close()
	answer, err := readAnswer(response, h.answerLimit)
	if err != nil {
		return nil, err
	}
	// The codes that client-go takes for success.
	if response.StatusCode < http.StatusOK || response.StatusCode > http.StatusPartialContent {
		return nil, statusFailure(response, answer)
	}
	if text := response.Header.Get("Content-Type"); text != "" {
		// What it says does not matter, Karmada's sample hook says text/plain, but it must say something.
		if _, _, err := mime.ParseMediaType(text); err != nil {
			return nil, fmt.Errorf("%w: Content-Type %q: %w", interpreter.ErrInvalidResult, text, err)
		}
	}
	if len(answer) == 0 {
		return nil, fmt.Errorf("%w: the body is empty", interpreter.ErrInvalidResult)
	}
	return answer, nil
}

// readAnswer reads a body to its end, unless that is too far away. The rest of one that is too long is not
// read, which costs the connection.
func readAnswer(response *http.Response, limit int64) ([]byte, error) {
	tooLarge := fmt.Errorf("%w: the body has more than %d bytes", interpreter.ErrInvalidResult, limit)
	if response.ContentLength > limit {
		return nil, tooLarge
	}
	var b bytes.Buffer
	if response.ContentLength > 0 {
		// ReadFrom wants room to see the end.
		b.Grow(int(response.ContentLength) + bytes.MinRead)
	}
	n, err := b.ReadFrom(io.LimitReader(response.Body, limit+1))
	if n > limit {
		return nil, tooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("%w: in the middle of the answer: %w", ErrUnreachable, err)
	}
	return b.Bytes(), nil
}

// statusFailure is the failure that an HTTP status means, with the message of a Kubernetes Status if the body
// is one. It is a *busyError where client-go would send the request again.
func statusFailure(response *http.Response, body []byte) error {
	message := ""
	var status metav1.Status
	if err := json.Unmarshal(body, &status); err == nil && status.Kind == "Status" {
		message = status.Message
	} else {
		message = string(body[:min(len(body), maxExcerpt)])
	}
	err := fmt.Errorf("%w: HTTP status %s: %q", interpreter.ErrInvalidResult, response.Status, message)
	busy := response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= http.StatusInternalServerError
	if seconds, bad := strconv.Atoi(response.Header.Get("Retry-After")); busy && bad == nil && seconds >= 0 {
		return &busyError{err, time.Duration(seconds) * time.Second}
	}
	return err
}

// connect prepares where the hook is called and how.
func (h *hook) connect() {
	c := &h.webhook.ClientConfig
	var resolve func(context.Context) ([]string, error)
	if s := c.Service; s != nil {
		port := int32(defaultPort)
		if s.Port != nil {
			port = *s.Port
		}
		h.url = &url.URL{
			Scheme: "https",
			Host:   net.JoinHostPort(s.Name+"."+s.Namespace+".svc", strconv.Itoa(int(port))),
			Path:   "/",
		}
		if s.Path != nil && *s.Path != "" {
			h.url.Path = *s.Path
		}
		if h.resolver != nil {
			resolve = func(ctx context.Context) ([]string, error) {
				return h.resolver.Resolve(ctx, s.Namespace, s.Name, port)
			}
		}
	} else {
		h.url, _ = url.Parse(*c.URL) // Validate has looked.
		if h.url.Path == "" {
			h.url.Path = "/"
		}
	}
	h.serverName = h.url.Hostname()
	h.lanes = newLanes(h, resolve)
}
