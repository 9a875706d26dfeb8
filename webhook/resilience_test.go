package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/webhook"
)

// hanging is a hook that does not answer before the test ends, or its caller goes.
func hanging(headers bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // Only then does net/http see the caller go.
		if headers {
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	}
}

func TestTheTimeoutOfAHook(t *testing.T) {
	for name, headers := range map[string]bool{"no answer": false, "headers, and no body": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chain, _ := hookOf(t, hanging(headers), webhook.WithTimeout(100*time.Millisecond))
			start := time.Now()
			_, err := chain.Interpret(t.Context(), healthRequest())
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, "no answer within the webhook's 100ms")
			assert.Less(t, time.Since(start), far)
		})
	}
}

func TestTimeoutSecondsOfAConfiguration(t *testing.T) {
	a := newAuthority(t, "test")
	var query string
	s := serve(t, a.pair("127.0.0.1"), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.RawQuery
		healthy(t)(w, r)
	}))
	c := configured(s.URL, a.bundle)
	c.Webhooks[0].TimeoutSeconds = ptr(int32(3))
	chain := interpreter.NewChain(newLayer(t, c))
	_, err := chain.Interpret(t.Context(), healthRequest())
	require.NoError(t, err)
	assert.Equal(t, "timeout=3s", query)

	// The caller's time counts too, rounded up.
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	_, err = chain.Interpret(ctx, healthRequest())
	require.NoError(t, err)
	assert.Equal(t, "timeout=2s", query)
}

func TestTheCallersContext(t *testing.T) {
	arrived := make(chan struct{}, 9)
	chain, _ := hookOf(t, func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		hanging(false)(w, r)
	}, webhook.WithBreaker(1, far))

	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	_, err := chain.Interpret(ctx, healthRequest())
	require.ErrorIs(t, err, context.Canceled)

	reason := errors.New("the queue is closed")
	ctx, stop := context.WithCancelCause(t.Context())
	go func() { <-arrived; stop(reason) }()
	_, err = chain.Interpret(ctx, healthRequest())
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, reason)

	expired, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	_, err = chain.Interpret(expired, healthRequest())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, webhook.ErrUnavailable, "callers that give up do not open the breaker")
}

func TestAConnectionThatFailsIsTriedOnceMore(t *testing.T) {
	for times, works := range map[int]bool{1: true, 2: false} {
		uids := make(chan string, 9)
		chain, _ := hookOf(t, func(w http.ResponseWriter, r *http.Request) {
			uid := string(read(t, r).UID)
			uids <- uid
			if len(uids) <= times {
				reset(w, r)
				return
			}
			fmt.Fprintf(w, `{"response":{"uid":%q,"successful":true,"healthy":true}}`, uid)
		})
		_, err := chain.Interpret(t.Context(), healthRequest())
		assert.Equal(t, works, err == nil, "%v", err)
		assert.Equal(t, !works, errors.Is(err, webhook.ErrUnreachable))
		require.Len(t, uids, 2)
		assert.Equal(t, <-uids, <-uids, "it is the same question")
	}
}

func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		name, after string
		status      int
		calls       int
		works       bool
	}{
		{"429", "0", 429, 3, true},
		{"503", "0", 503, 3, true},
		{"too often", "0", 503, 11, false},
		{"without the header", "", 503, 1, false},
		{"a date", "Wed, 21 Oct 2015 07:28:00 GMT", 503, 1, false},
		{"later than there is time", "60", 503, 1, false},
		{"another status", "0", 404, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var uids []string
			chain, _ := hookOf(t, func(w http.ResponseWriter, r *http.Request) {
				uids = append(uids, string(read(t, r).UID))
				if c.works && len(uids) == c.calls {
					fmt.Fprintf(w, `{"response":{"uid":%q,"successful":true,"healthy":true}}`, uids[0])
					return
				}
				if c.after != "" {
					w.Header().Set("Retry-After", c.after)
				}
				w.WriteHeader(c.status)
			})
			_, err := chain.Interpret(t.Context(), healthRequest())
			assert.Equal(t, c.works, err == nil, "%v", err)
			assert.Len(t, uids, c.calls)
			for _, uid := range uids {
				assert.Equal(t, uids[0], uid)
			}
		})
	}
}

func TestTheBreaker(t *testing.T) {
	var broken atomic.Bool
	var calls atomic.Int32
	broken.Store(true)
	const pause = 200 * time.Millisecond
	chain, _ := hookOf(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		if broken.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		healthy(t)(w, r)
	}, webhook.WithBreaker(3, pause))
	ask := func() error {
		_, err := chain.Interpret(t.Context(), healthRequest())
		return err
	}
	for range 3 {
		require.ErrorContains(t, ask(), "HTTP status 500")
	}
	opened := time.Now()
	err := ask()
	if time.Since(opened) < pause { // Else the machine was asleep.
		require.ErrorIs(t, err, webhook.ErrUnavailable)
		require.ErrorContains(t, err, "hook unavailable: the last 3 calls or more failed, one is tried every 200ms")
		assert.EqualValues(t, 3, calls.Load())
	}

	// One call tries; it fails, and the breaker is open again.
	require.Eventually(t, func() bool { return !errors.Is(ask(), webhook.ErrUnavailable) }, far, pause/10)
	before := calls.Load()
	opened = time.Now()
	err = ask()
	if time.Since(opened) < pause {
		require.ErrorIs(t, err, webhook.ErrUnavailable)
		assert.Equal(t, before, calls.Load())
	}

	broken.Store(false)
	require.Eventually(t, func() bool { return ask() == nil }, far, pause/10)
	for range 5 {
		require.NoError(t, ask())
	}
}

func TestAHalfOpenBreakerLetsOneThrough(t *testing.T) {
	var calls atomic.Int32
	release := make(chan struct{})
	chain, _ := hookOf(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		<-release
		healthy(t)(w, r)
	}, webhook.WithBreaker(1, time.Millisecond))
	_, err := chain.Interpret(t.Context(), healthRequest())
	require.Error(t, err)
	trial := make(chan error)
	go func() {
		for {
			_, err := chain.Interpret(t.Context(), healthRequest())
			if !errors.Is(err, webhook.ErrUnavailable) {
				trial <- err
				return
			}
		}
	}()
	require.Eventually(t, func() bool { return calls.Load() == 2 }, far, time.Millisecond)
	for range 5 {
		_, err := chain.Interpret(t.Context(), healthRequest())
		require.ErrorIs(t, err, webhook.ErrUnavailable)
	}
	assert.EqualValues(t, 2, calls.Load())
	close(release)
	require.NoError(t, <-trial)
	_, err = chain.Interpret(t.Context(), healthRequest())
	require.NoError(t, err)
}

func TestAHookThatSaysNoDoesNotOpenTheBreaker(t *testing.T) {
	chain, _ := hookOf(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"response":{"uid":%q,"status":{"code":422}}}`, read(t, r).UID)
	}, webhook.WithBreaker(1, far))
	for range 3 {
		_, err := chain.Interpret(t.Context(), healthRequest())
		require.ErrorContains(t, err, "code 422")
	}
}

func TestCallsOfOneHookAreLimited(t *testing.T) {
	var now, most atomic.Int32
	chain, _ := hookOf(t, func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		healthy(t)(w, r)
	}, webhook.WithConcurrency(3))
	var callers sync.WaitGroup
	for range 30 {
		callers.Go(func() {
			_, err := chain.Interpret(t.Context(), healthRequest())
			assert.NoError(t, err)
		})
	}
	callers.Wait()
	assert.LessOrEqual(t, most.Load(), int32(3))

	arrived := make(chan struct{})
	chain, _ = hookOf(t, func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		hanging(false)(w, r)
	}, webhook.WithConcurrency(1))
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		_, err := chain.Interpret(ctx, healthRequest())
		first <- err
	}()
	<-arrived
	short, done := context.WithTimeout(t.Context(), time.Millisecond)
	defer done()
	_, err := chain.Interpret(short, healthRequest())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	cancel()
	require.ErrorIs(t, <-first, context.Canceled)
}

// below is a layer that says that all is well.
type below struct{}

func (below) Name() string { return "below" }

func (below) Rules(_ schema.GroupVersionKind, op interpreter.Operation) []*interpreter.Rule {
	if op != interpreter.InterpretHealth {
		return nil
	}
	return []*interpreter.Rule{{Name: "all", Interpreter: interpreter.HealthFunc(func(*unstructured.Unstructured) (interpreter.Health, error) {
		return interpreter.Health{Status: interpreter.Progressing}, nil
	})}}
}

func TestTheFailurePolicy(t *testing.T) {
	a := newAuthority(t, "test")
	chainWith := func(policy string, hook http.HandlerFunc, options ...webhook.Option) *interpreter.Chain {
		c := configured(serve(t, a.pair("127.0.0.1"), hook).URL, a.bundle)
		if policy != "" {
			c.Annotations = map[string]string{webhook.FailurePolicyAnnotation: policy}
		}
		return interpreter.NewChain(newLayer(t, c, options...), below{})
	}
	for name, c := range failing {
		if strings.HasPrefix(name, "10 MB") {
			continue // They take their time, six times over.
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, policy := range []string{"Ignore", "Fail, w.example.com=Ignore"} {
				res, err := chainWith(policy, c.hook).Interpret(t.Context(), healthRequest())
				require.NoError(t, err)
				assert.Equal(t, interpreter.Progressing, res.Health.Status)
			}
			for _, policy := range []string{"", "Fail", "w.example.com=Fail,Ignore"} {
				_, err := chainWith(policy, c.hook).Interpret(t.Context(), healthRequest())
				require.ErrorContains(t, err, c.says)
			}
		})
	}

	no := func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"response":{"uid":%q,"status":{"code":422,"message":"no"}}}`, read(t, r).UID)
	}
	_, err := chainWith("Ignore", no).Interpret(t.Context(), healthRequest())
	require.ErrorContains(t, err, "code 422: no", "no is an answer")

	res, err := chainWith("Ignore", hanging(false), webhook.WithTimeout(50*time.Millisecond)).Interpret(t.Context(), healthRequest())
	require.NoError(t, err)
	assert.Equal(t, interpreter.Progressing, res.Health.Status)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = chainWith("Ignore", hanging(false)).Interpret(ctx, healthRequest())
	require.ErrorIs(t, err, context.DeadlineExceeded, "nobody is asked when the caller has gone")

	// Where nobody else has a rule, the failure is the error, and not that there is no rule.
	_, err = interpreter.Dependencies(t.Context(), chainWith("Ignore", text(500, "oops")), workload())
	require.ErrorContains(t, err, "HTTP status 500")
	assert.False(t, interpreter.IsNoRule(err))
}

func TestAFailingHookRecoversAtOnceWithoutABreaker(t *testing.T) {
	// InterpretStatus that fails once and then works: every error reaches the caller, and nothing sticks.
	var calls atomic.Int32
	chain, _ := hookOf(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		fmt.Fprintf(w, `{"response":{"uid":%q,"successful":true,"rawStatus":{"ready":2}}}`, read(t, r).UID)
	})
	_, err := interpreter.Reflected(t.Context(), chain, workload())
	require.Error(t, err)
	status, err := interpreter.Reflected(t.Context(), chain, workload())
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"ready": int64(2)}, status)
}
