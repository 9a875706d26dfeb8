package webhook_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/webhook"
)

// serving is a real server, without TLS so that a test can write to it by hand, over an interpreter.
func serving(t testing.TB, in interpreter.Interpreter, options ...webhook.HandlerOption) *httptest.Server {
	h, err := webhook.NewHandler(in, options...)
	require.NoError(t, err)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

type reply struct {
	status int
	header http.Header
	body   string
}

func post(t testing.TB, url, body string) reply {
	return do(t, http.MethodPost, url, "application/json", strings.NewReader(body))
}

func do(t testing.TB, method, url, contentType string, body io.Reader) reply {
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	require.NoError(t, err)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return reply{response.StatusCode, response.Header, string(text)}
}

// failure is a whole body that says no.
func failure(uid string, code int, message string) string {
	return fmt.Sprintf(`{"kind":"ResourceInterpreterContext","apiVersion":"config.karmada.io/v1alpha1","response":{"uid":%q,"successful":false,"status":{"message":%q,"code":%d}}}`, uid, message, code)
}

// turnedAway is a whole body of an HTTP status other than 200.
func turnedAway(uid string, code int, reason, message string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d,`+
		`"response":{"uid":%q,"successful":false,"status":{"message":%q,"code":%d}}}`, message, reason, code, uid, message, code)
}

func answers(err error) interpreter.Interpreter {
	return interpreter.Func(func(context.Context, *interpreter.Request) (*interpreter.Result, error) {
		return &interpreter.Result{Health: interpreter.Health{Status: interpreter.Healthy}}, err
	})
}

func TestAnAnswerThatMayTakeLongIsNotCutOffByTheServer(t *testing.T) {
	t.Parallel()
	late := interpreter.Func(func(ctx context.Context, req *interpreter.Request) (*interpreter.Result, error) {
		time.Sleep(20 * time.Millisecond) // Longer than the server allows for.
		return answers(nil).Interpret(ctx, req)
	})
	h, err := webhook.NewHandler(late, webhook.WithMaxTime(2*webhook.DefaultMaxTime))
	require.NoError(t, err)
	s := httptest.NewUnstartedServer(h)
	s.Config.WriteTimeout = time.Millisecond
	s.Start()
	t.Cleanup(s.Close)
	for range 2 { // Over one connection.
		got := post(t, s.URL, with("InterpretHealth", "", 0, ""))
		assert.Equal(t, http.StatusOK, got.status)
		assert.Contains(t, got.body, `"healthy":true`)
	}
}

func TestTheHandlerAnswers(t *testing.T) {
	good := with("InterpretHealth", "", 0, "")
	for name, c := range map[string]struct {
		in          interpreter.Interpreter
		contentType string
		body        string
		want        string
	}{
		"healthy":                {answers(nil), "application/json", good, answering(`,"healthy":true`)},
		"with a charset":         {answers(nil), "application/json; charset=utf-8", good, answering(`,"healthy":true`)},
		"another Content-Type":   {answers(nil), "text/plain", good, failure("u1", 415, `the Content-Type must be application/json, got "text/plain"`)},
		"no Content-Type":        {answers(nil), "", good, failure("u1", 415, `the Content-Type must be application/json, got ""`)},
		"an empty body":          {answers(nil), "application/json", "", failure("", 400, "invalid request: the body is not a ResourceInterpreterContext: unexpected end of JSON input")},
		"a truncated body":       {answers(nil), "application/json", good[:len(good)-9], failure("u1", 400, "invalid request: the body is not a ResourceInterpreterContext: unexpected end of JSON input")},
		"no rule":                {interpreter.NewChain(), "application/json", good, failure("u1", 404, "InterpretHealth of workload.example.io/v1alpha1 Workload demo/web: no rule for workload.example.io/v1alpha1 Workload")},
		"a rule that fails":      {answers(errors.New("spec.mode is unknown")), "application/json", good, failure("u1", 422, "spec.mode is unknown")},
		"a code of its own":      {answers(&webhook.StatusError{Code: 403, Message: "not you"}), "application/json", good, failure("u1", 403, "not you")},
		"not ready":              {answers(interpreter.ErrNotReady), "application/json", good, failure("u1", 503, "not ready")},
		"out of time":            {answers(context.DeadlineExceeded), "application/json", good, failure("u1", 504, "context deadline exceeded")},
		"a panic":                {interpreter.Func(func(context.Context, *interpreter.Request) (*interpreter.Result, error) { panic("oh") }), "application/json", good, failure("u1", 500, "internal error: panic: oh")},
		"no answer and no error": {interpreter.Func(func(context.Context, *interpreter.Request) (*interpreter.Result, error) { return nil, nil }), "application/json", good, failure("u1", 422, "invalid result: no answer and no error")},
		"no object":              {answers(nil), "application/json", with("Prune", "", 0, ""), failure("u1", 422, "invalid result: no pruned object")},
	} {
		t.Run(name, func(t *testing.T) {
			s := serving(t, c.in)
			got := do(t, http.MethodPut, s.URL+"/any/path", c.contentType, strings.NewReader(c.body))
			assert.Equal(t, http.StatusOK, got.status)
			assert.Equal(t, "application/json", got.header.Get("Content-Type"))
			assert.Equal(t, c.want, got.body)
			assert.Equal(t, answering(`,"healthy":true`), post(t, serving(t, answers(nil)).URL, good).body, "the next one is fine")
		})
	}
}

func TestABodyThatIsTooLong(t *testing.T) {
	s := serving(t, answers(nil), webhook.WithBodyLimit(1000))
	long := with("InterpretHealth", `,"more":"`+strings.Repeat("x", 1000)+`"`, 0, "")
	want := turnedAway("u1", 413, "RequestEntityTooLarge", "the body has more than 1000 bytes")
	for name, body := range map[string]io.Reader{
		"known":   strings.NewReader(long),
		"chunked": io.MultiReader(strings.NewReader(long)),
	} {
		t.Run(name, func(t *testing.T) {
			got := do(t, http.MethodPost, s.URL, "application/json", body)
			assert.Equal(t, 413, got.status)
			assert.Equal(t, want, got.body)
		})
	}
	assert.Equal(t, answering(`,"healthy":true`), post(t, s.URL, with("InterpretHealth", "", 0, "")).body)
}

// endless is a body that goes on for ever after its beginning.
type endless struct{ beginning io.Reader }

func (e endless) Read(p []byte) (int, error) {
	if n, err := e.beginning.Read(p); err == nil {
		return n, nil
	}
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestAnEndlessBody(t *testing.T) {
	s := serving(t, answers(nil))
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	go func() { // It ends when the server closes the connection.
		_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000000000\r\n\r\n")
		_, _ = io.Copy(c, endless{strings.NewReader(with("InterpretHealth", "", 0, ""))})
	}()
	answer := make([]byte, 1<<16)
	n, err := c.Read(answer)
	require.NoError(t, err)
	assert.Contains(t, string(answer[:n]), "HTTP/1.1 413 Request Entity Too Large")
	assert.Contains(t, string(answer[:n]), turnedAway("u1", 413, "RequestEntityTooLarge", "the body has more than 8388608 bytes"))
}

func TestABodyWhoseEndDoesNotCome(t *testing.T) {
	s := serving(t, answers(nil), webhook.WithMaxInFlight(1))
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	body := with("InterpretHealth", "", 0, "")
	_, err = fmt.Fprintf(c, "POST /?timeout=200ms HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body)+1, body)
	require.NoError(t, err)
	answer, err := io.ReadAll(c)
	require.NoError(t, err, "the server closes the connection")
	assert.Contains(t, string(answer), "HTTP/1.1 408 Request Timeout")
	assert.Contains(t, string(answer), turnedAway("u1", 408, "Timeout", "the body did not come to its end within 180ms"))
	assert.Equal(t, answering(`,"healthy":true`), post(t, s.URL, body).body, "its place is free again")
}

func TestTooManyQuestions(t *testing.T) {
	arrived, release := make(chan struct{}, 3), make(chan struct{})
	s := serving(t, interpreter.Func(func(ctx context.Context, _ *interpreter.Request) (*interpreter.Result, error) {
		arrived <- struct{}{}
		<-release
		return &interpreter.Result{}, nil
	}), webhook.WithMaxInFlight(2))
	body := with("InterpretHealth", "", 0, "")
	var callers sync.WaitGroup
	for range 2 {
		callers.Go(func() { assert.Equal(t, answering(`,"healthy":false`), post(t, s.URL, body).body) })
	}
	<-arrived
	<-arrived
	got := post(t, s.URL, body)
	assert.Equal(t, 429, got.status)
	assert.Equal(t, "1", got.header.Get("Retry-After"))
	assert.Equal(t, turnedAway("u1", 429, "TooManyRequests", "2 questions are being worked on, come back in 1 s"), got.body)
	close(release)
	callers.Wait()
	require.Eventually(t, func() bool { return post(t, s.URL, body).status == http.StatusOK }, far, time.Millisecond)
}

func TestTimeOfAQuestion(t *testing.T) {
	// One that minds the context speaks for itself; one that does not is left behind, and keeps its place.
	left := make(chan struct{})
	for name, c := range map[string]struct {
		in   interpreter.Func
		want string
	}{
		"minds": {func(ctx context.Context, _ *interpreter.Request) (*interpreter.Result, error) {
			<-ctx.Done()
			return nil, fmt.Errorf("in line 3: %w", ctx.Err())
		}, failure("u1", 504, "in line 3: context deadline exceeded")},
		"does not mind": {func(context.Context, *interpreter.Request) (*interpreter.Result, error) {
			<-left
			return &interpreter.Result{}, nil
		}, failure("u1", 504, "context deadline exceeded, and InterpretHealth goes on")},
	} {
		t.Run(name, func(t *testing.T) {
			s := serving(t, c.in, webhook.WithMaxInFlight(1))
			body := with("InterpretHealth", "", 0, "")
			if name == "minds" { // On a busy machine its words may come too late.
				require.Eventually(t, func() bool { return post(t, s.URL+"/?timeout=100ms", body).body == c.want }, far, time.Millisecond)
				return
			}
			assert.Equal(t, c.want, post(t, s.URL+"/?timeout=100ms", body).body)
			assert.Equal(t, 429, post(t, s.URL+"/?timeout=100ms", body).status)
			close(left)
			require.Eventually(t, func() bool { return post(t, s.URL, body).body == answering(`,"healthy":false`) }, far, time.Millisecond)
		})
	}
	s := serving(t, answers(nil), webhook.WithMaxTime(far))
	for _, timeout := range []string{"x", "-1s", "10s", "9999h"} {
		assert.Equal(t, answering(`,"healthy":true`), post(t, s.URL+"/?timeout="+timeout, with("InterpretHealth", "", 0, "")).body)
	}
}

func TestLinesAndMetrics(t *testing.T) {
	var mu sync.Mutex
	var lines bytes.Buffer
	logger := slog.New(slog.NewTextHandler(lockedWriter{&mu, &lines}, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key {
		case slog.TimeKey, "took", "from", "stack":
			return slog.Attr{}
		}
		return a
	}}))
	registry := prometheus.NewPedanticRegistry()
	in := interpreter.Func(func(_ context.Context, req *interpreter.Request) (*interpreter.Result, error) {
		if req.Operation == interpreter.Prune {
			panic("oh")
		}
		return &interpreter.Result{}, nil
	})
	s := serving(t, in, webhook.WithLogger(logger), webhook.WithHandlerRegisterer(registry))
	post(t, s.URL, with("InterpretHealth", "", 0, ""))
	post(t, s.URL, with("Prune", "", 0, ""))
	post(t, s.URL, "{")
	s.Close() // Lines are written after answers.
	mu.Lock()
	defer mu.Unlock()
	about := "kind=\"workload.example.io/v1alpha1 Workload\" namespace=demo name=web"
	assert.Equal(t, strings.Join([]string{
		"level=INFO msg=interpret uid=u1 operation=InterpretHealth " + about + " status=200 code=200 received=410 sent=159",
		"level=ERROR msg=panic operation=Prune " + about + " panic=oh",
		"level=ERROR msg=interpret uid=u1 operation=Prune " + about + ` status=200 code=500 received=400 sent=182 error="internal error: panic: oh"`,
		`level=INFO msg=interpret uid="" status=200 code=400 received=1 sent=246 error="invalid request: the body is not a ResourceInterpreterContext: unexpected end of JSON input"`,
		"",
	}, "\n"), lines.String())
	page := scrape(t, registry)
	for _, line := range []string{
		`interpret_webhook_requests_total{code="200",operation="InterpretHealth"} 1`,
		`interpret_webhook_requests_total{code="500",operation="Prune"} 1`,
		`interpret_webhook_requests_total{code="400",operation=""} 1`,
		`interpret_webhook_request_duration_seconds_count{operation="Prune"} 1`,
		`interpret_webhook_requests_in_flight 0`,
	} {
		assert.Contains(t, page, line+"\n")
	}
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

func TestHandlerOptionsAreChecked(t *testing.T) {
	_, err := webhook.NewHandler(nil)
	require.ErrorContains(t, err, "the interpreter is nil")
	for _, o := range []webhook.HandlerOption{webhook.WithBodyLimit(0), webhook.WithMaxInFlight(-1), webhook.WithMaxTime(0)} {
		_, err := webhook.NewHandler(answers(nil), o)
		require.ErrorContains(t, err, "must be positive")
	}
}
