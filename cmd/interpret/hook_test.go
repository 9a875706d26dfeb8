package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The examples of commands that need a hook have flags that there are.
func TestExamplesOfHookCommandsAreRight(t *testing.T) {
	root := newRoot(newSession(nil, io.Discard, io.Discard))
	hook, _, err := root.Find([]string{"hook"})
	require.NoError(t, err)
	shown := 0
	for _, cmd := range hook.Commands() {
		assert.NotEmpty(t, cmd.Example, cmd.Name())
		for line := range strings.Lines(strings.ReplaceAll(cmd.Example, "\\\n", "")) {
			args := strings.Fields(line)
			if len(args) == 0 || args[0] == "#" {
				continue
			}
			shown++
			require.Equal(t, "interpret", args[0], line)
			found, rest, err := root.Find(args[1:])
			require.NoError(t, err, line)
			assert.Same(t, cmd, found, line)
			require.NoError(t, found.ParseFlags(rest), line)
			require.NoError(t, cobra.MaximumNArgs(1)(found, found.Flags().Args()), line)
		}
	}
	assert.GreaterOrEqual(t, shown, 5)
}

// callHook runs interpret hook call against a handler, and gives the exit status and both outputs.
func callHook(t *testing.T, h http.HandlerFunc, args ...string) (status int, stdout, stderr string) {
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	web := filepath.Join("..", "..", "examples", "customization", "web.yaml")
	args = append([]string{"hook", "call", s.URL, "--insecure-skip-tls-verify", "--operation", "InterpretHealth", "--observed-file", web}, args...)
	var out, errs bytes.Buffer
	status = run(t.Context(), args, nil, &out, &errs)
	return status, out.String(), errs.String()
}

func TestAnAnswerThatBreaksOffIsShownAsFarAsItCame(t *testing.T) {
	status, stdout, stderr := callHook(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"response":`)
	}, "--raw", "-v")
	assert.Equal(t, statusFailed, status)
	assert.Equal(t, `{"response":`, stdout)
	assert.Contains(t, stderr, "\n< {\"response\":\n< unexpected EOF\n")
	assert.Contains(t, stderr, "hook unreachable: in the middle of the answer: unexpected EOF\n")
}

func TestAnAnswerThatIsTooLargeIsNotReadToItsEnd(t *testing.T) {
	status, stdout, stderr := callHook(t, func(w http.ResponseWriter, _ *http.Request) {
		chunk := bytes.Repeat([]byte{' '}, 1<<20)
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	assert.Equal(t, statusFailed, status)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "the body has more than 8388608 bytes")
}

// Of a question that is sent again, each time is shown, and the last answer counts.
func TestAQuestionThatIsSentAgainIsShownEachTime(t *testing.T) {
	var calls atomic.Int32
	status, stdout, stderr := callHook(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.Header().Set("Retry-After", "0")
			http.Error(w, "busy", http.StatusTooManyRequests)
			return
		}
		_, _ = io.WriteString(w, "later")
	}, "--raw", "-v")
	assert.Equal(t, statusFailed, status)
	assert.Equal(t, "later", stdout)
	assert.Equal(t, 2, strings.Count(stderr, "\n> {"), stderr)
	assert.Contains(t, stderr, "\n< 429 Too Many Requests\n")
}

// Somebody who has seen enough can leave.
func TestVerifyingAHookCanBeInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	var stdout, stderr bytes.Buffer
	status := run(ctx, []string{"hook", "verify", s.URL, "--kind", "v1/Pod"}, nil, &stdout, &stderr)
	assert.Equal(t, statusUnusable, status)
	assert.Empty(t, stdout.String())
	assert.Contains(t, stderr.String(), "error: "+s.URL+": interrupted: context canceled\n")
}

// A warning is told, and is no failure: to scripts, and to what reads JUnit.
func TestWarningsAreNoFailures(t *testing.T) {
	forgetful := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, after, _ := strings.Cut(string(body), `"uid":"`)
		uid, _, _ := strings.Cut(after, `"`)
		_, _ = io.WriteString(w, `{"response":{"uid":"`+uid+`","successful":false,"status":{"code":200,"message":"no"}}}`)
	})
	s := httptest.NewServer(forgetful)
	t.Cleanup(s.Close)
	verify := func(args ...string) (int, string) {
		var stdout, stderr bytes.Buffer
		status := run(t.Context(), append([]string{"hook", "verify", s.URL, "--kind", "v1/Pod", "--operation", "InterpretHealth", "--only", "failure-code"}, args...), nil, &stdout, &stderr)
		return status, stdout.String()
	}
	status, text := verify()
	assert.Equal(t, statusFine, status)
	assert.Contains(t, text, "\nwarn     failure-code            The code of a failure is from 400. (should, 6 status codes)\n")
	assert.Contains(t, text, "\n           expected: a code from 400\n           got:      a failure with code 200: \"no\"\n")
	assert.True(t, strings.HasSuffix(text, "\n0 passed, 0 failed, 1 with warnings, 0 skipped\n"), text)
	status, text = verify("-o", "junit")
	assert.Equal(t, statusFine, status)
	assert.Contains(t, text, `tests="1" failures="0"`)
	assert.Contains(t, text, "<system-out>warning: The code of a failure is from 400.")
}
