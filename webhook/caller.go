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
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubeinterpret/interpret/interpreter"
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

// Caller calls one hook: over connections that are kept and spread over its endpoints, within its time, not more
// often at once than it may, and not at all for a while when it keeps failing. A Layer has one for each of its
// hooks. It is safe for many goroutines.
type Caller struct {
	settings
	name    string
	client  *admissionregistrationv1.WebhookClientConfig
	timeout time.Duration
	url     *url.URL
	// serverName and authority are what TLS expects, for people.
	serverName, authority string

	lanes *lanes
	// slots hold an item for each call in flight.
	slots   chan struct{}
	breaker *gobreaker.CircuitBreaker[struct{}]
	// gone callers are not counted any more.
	gone atomic.Bool
}

// Callers makes Callers that share options.
type Callers struct{ settings }

// NewCallers makes what makes callers. Options that are about a layer as a whole change nothing; WithTimeout is the
// time of a call.
func NewCallers(list ...Option) (*Callers, error) {
	o, err := newOptions(list)
	if err != nil {
		return nil, err
	}
	return &Callers{o.settings}, nil
}

// New makes a caller of the hook that a client configuration leads to, and calls nothing. The name is the hook's in
// metrics. The error of a configuration that leads nowhere is a field.ErrorList as an aggregate, with clientConfig
// as the root of its paths.
func (c *Callers) New(name string, client *admissionregistrationv1.WebhookClientConfig) (*Caller, error) {
	if err := validateClient(client, field.NewPath("clientConfig")).ToAggregate(); err != nil {
		return nil, err
	}
	return newCaller(c.settings, name, client.DeepCopy(), c.timeout), nil
}

// newCaller makes a caller of a configuration that validateClient has nothing against.
func newCaller(s settings, name string, client *admissionregistrationv1.WebhookClientConfig, timeout time.Duration) *Caller {
	c := &Caller{
		settings: s,
		name:     name,
		client:   client,
		timeout:  timeout,
		slots:    make(chan struct{}, s.concurrency),
	}
	c.connect()
	c.metrics.breaker(name, gobreaker.StateClosed)
	c.breaker = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name:        name,
		Timeout:     s.breakerPause,
		ReadyToTrip: func(counts gobreaker.Counts) bool { return counts.ConsecutiveFailures >= s.breakerFailures },
		// A hook that says no is in good health.
		IsSuccessful: func(err error) bool { return err == nil || answered(err) },
		// A caller that gives up, or asks nonsense, says nothing about the hook.
		IsExcluded: func(err error) bool {
			var gone *callerError
			return errors.As(err, &gone)
		},
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if !c.gone.Load() {
				c.metrics.breaker(name, to)
			}
		},
	})
	return c
}

// Host is the host of the hook's URL, with its port if it has one.
func (c *Caller) Host() string { return c.url.Host }

// Close closes the connections that are not in use, and forgets what the metrics say of the hook. Calls in flight
// go on.
func (c *Caller) Close() { c.close(true) }

// close closes the connections. What the metrics say is kept for a caller of the same name that comes after.
func (c *Caller) close(forget bool) {
	c.lanes.close()
	c.gone.Store(true)
	if forget {
		c.metrics.forget(c.name)
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

// Call sends a body and has the answer's body read. The operation is for the metrics. An error of read is one of the
// call: a *StatusError if the answer is that the hook says no, everything else makes the hook one that failed. What
// kept the answer away is ErrUnavailable, ErrUnreachable, or that of the context; an answer that is none is
// interpreter.ErrInvalidResult.
func (c *Caller) Call(ctx context.Context, operation string, body []byte, read func(answer []byte) error) error {
	start := time.Now()
	flight := c.metrics.start(c.name, operation)
	err := c.ask(ctx, body, read)
	flight.end(time.Since(start), err, c.gone.Load())
	return err
}

// ask makes one call within the limits of the hook: its time, its places, its breaker. The time includes
// waiting for a place and asking again.
func (c *Caller) ask(caller context.Context, body []byte, read func([]byte) error) error {
	ctx, cancel := context.WithTimeoutCause(caller, c.timeout, fmt.Errorf("no answer within the webhook's %s: %w", c.timeout, context.DeadlineExceeded))
	defer cancel()
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		if caller.Err() != nil {
			return gaveUp(caller)
		}
		return fmt.Errorf("%w: %d calls in flight: %w", ErrUnavailable, cap(c.slots), context.Cause(ctx))
	}
	_, err := c.breaker.Execute(func() (struct{}, error) {
		err := c.exchange(ctx, body, read)
		if err != nil && caller.Err() != nil {
			// The transport's error is often a consequence of the caller's.
			err = gaveUp(caller)
		}
		return struct{}{}, err
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return fmt.Errorf("%w: the last %d calls or more failed, one is tried every %s", ErrUnavailable, c.breakerFailures, c.breakerPause)
	}
	return err
}

// exchange sends a request until there is an answer, or no point in going on.
func (c *Caller) exchange(ctx context.Context, body []byte, read func([]byte) error) error {
	reconnected := false
	for sent := 1; ; sent++ {
		answer, err := c.post(ctx, body)
		if err == nil {
			return read(answer)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w (%w)", context.Cause(ctx), ErrUnreachable)
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
			return err
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= pause {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
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
func (c *Caller) post(ctx context.Context, body []byte) ([]byte, error) {
	lane, err := c.lanes.pick(ctx)
	if err != nil {
		return nil, err
	}
	u := *c.url
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
			c.lanes.failed(lane)
		}
		return nil, c.tlsError(fmt.Errorf("%w: %w", ErrUnreachable, err))
	}
	defer response.Body.Close()
	answer, err := readAnswer(response, c.answerLimit)
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
func (c *Caller) connect() {
	var resolve func(context.Context) ([]string, error)
	if s := c.client.Service; s != nil {
		port := int32(defaultPort)
		if s.Port != nil {
			port = *s.Port
		}
		c.url = &url.URL{
			Scheme: "https",
			Host:   net.JoinHostPort(s.Name+"."+s.Namespace+".svc", strconv.Itoa(int(port))),
			Path:   "/",
		}
		if s.Path != nil && *s.Path != "" {
			c.url.Path = *s.Path
		}
		if c.resolver != nil {
			resolve = func(ctx context.Context) ([]string, error) {
				return c.resolver.Resolve(ctx, s.Namespace, s.Name, port)
			}
		}
	} else {
		c.url, _ = url.Parse(*c.client.URL) // validateClient has looked.
		if c.url.Path == "" {
			c.url.Path = "/"
		}
	}
	c.serverName = c.url.Hostname()
	c.lanes = newLanes(c, resolve)
}
