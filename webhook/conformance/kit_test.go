package conformance_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook/conformance"
)

func TestChecksAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range conformance.Checks() {
		assert.Regexp(t, `^[a-z0-9]+(-[a-z0-9]+)*$`, c.ID)
		assert.False(t, seen[c.ID], "%s is there twice", c.ID)
		seen[c.ID] = true
		assert.Contains(t, []conformance.Severity{conformance.Must, conformance.Should}, c.Severity, c.ID)
		assert.Regexp(t, `^\d+ [a-z ]+$`, c.Section, c.ID)
		assert.Regexp(t, `^[A-Za-z0-9].*\.$`, c.Rule, c.ID)
		assert.LessOrEqual(t, len(c.Rule), 100, "%s must fit a line", c.ID)
	}
}

func TestAHookWithoutTLSOnLoopbackIsVerifiedButForItsTLS(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(handlerOf(t, workloadHook(t)))
	t.Cleanup(s.Close)
	report := run(t, conformance.Hook{URL: s.URL}, workloadQuestions(t))
	assert.Empty(t, slices.Concat(verdicts(report, conformance.Fail), verdicts(report, conformance.Warn)), story(report))
	skipped := verdicts(report, conformance.Skipped)
	require.Len(t, skipped, 8)
	assert.Equal(t, "configuration", skipped[0])
	for _, id := range skipped[1:] {
		assert.Contains(t, id+".", "tls")
	}
}

func TestTrust(t *testing.T) {
	t.Parallel()
	other := newAuthority(t).bundle
	handler := handlerOf(t, workloadHook(t))
	var asked atomic.Int32
	hook := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		handler.ServeHTTP(w, r)
	}), workloadRules(), nil)
	hook.CABundle = other
	only := conformance.WithOnly("healthy")
	report := run(t, hook, workloadQuestions(t), only)
	// The check that was not selected is told, since it keeps the other from being run.
	assert.Equal(t, []string{"tls-chain"}, verdicts(report, conformance.Fail))
	assert.Equal(t, "healthy skipped: tls-chain failed\n", story(&conformance.Report{Results: report.Results[1:]}))
	assert.Zero(t, asked.Load(), "objects were sent to who knows whom")

	hook.InsecureSkipVerify = true
	report = run(t, hook, workloadQuestions(t), only)
	assert.Equal(t, []string{"healthy"}, verdicts(report, conformance.Pass))
	assert.Len(t, report.Results, 1)
	report = run(t, hook, workloadQuestions(t), conformance.WithOnly("tls-name"), conformance.WithOnly("reachable"))
	assert.Equal(t, "tls-name skipped: certificates are not verified, as was asked for\n", story(report))
}

// The server's name and its address may be others than the URL says, as behind kubectl port-forward.
func TestAServiceIsReachedAtAnotherAddress(t *testing.T) {
	t.Parallel()
	hook := served(t, handlerOf(t, workloadHook(t)), workloadRules(), nil)
	port := int32(8443)
	path := "/interpret"
	c := hook.Configuration
	c.Webhooks[0].ClientConfig = admissionregistrationv1.WebhookClientConfig{
		CABundle: hook.CABundle,
		Service:  &admissionregistrationv1.ServiceReference{Namespace: "demo", Name: "hook", Port: &port, Path: &path},
	}
	seconds := int32(7)
	c.Webhooks[0].TimeoutSeconds = &seconds
	service, err := conformance.HookOf(c, &c.Webhooks[0])
	require.NoError(t, err)
	assert.Equal(t, "https://hook.demo.svc:8443/interpret", service.URL)
	assert.Equal(t, 7*time.Second, service.Timeout)

	service.Address = strings.TrimPrefix(hook.URL, "https://")
	only := conformance.WithOnly("tls-name", "healthy")
	assert.Equal(t, []string{"tls-name"}, verdicts(run(t, service, workloadQuestions(t), only), conformance.Fail))
	service.ServerName = "127.0.0.1"
	assert.Equal(t, []string{"tls-name", "healthy"}, verdicts(run(t, service, workloadQuestions(t), only), conformance.Pass))
}

func TestKitsThatCannotBe(t *testing.T) {
	questions := workloadQuestions(t)
	url := "https://hook.example.com"
	for name, c := range map[string]struct {
		hook      conformance.Hook
		questions []conformance.Question
		option    conformance.Option
		want      string
	}{
		"no URL":          {conformance.Hook{}, questions, nil, "is not the URL of a hook"},
		"no scheme":       {conformance.Hook{URL: "hook.example.com:443"}, questions, nil, "is not the URL of a hook"},
		"a broken URL":    {conformance.Hook{URL: "https://%"}, questions, nil, "invalid URL escape"},
		"a query":         {conformance.Hook{URL: url + "?a=b"}, questions, nil, "no user, query or fragment"},
		"unencrypted":     {conformance.Hook{URL: "http://hook.example.com"}, questions, nil, "objects do not travel unencrypted"},
		"a timeout":       {conformance.Hook{URL: url, Timeout: -1}, questions, nil, "the timeout must be positive"},
		"no question":     {conformance.Hook{URL: url}, nil, nil, "there is no question"},
		"no request":      {conformance.Hook{URL: url}, []conformance.Question{{}}, nil, "question 0 has no request"},
		"half a request":  {conformance.Hook{URL: url}, []conformance.Question{{Request: &interpreter.Request{Operation: interpreter.Retain, Object: workload(t)}}}, nil, "question 0: invalid request: no observed"},
		"no such check":   {conformance.Hook{URL: url}, questions, conformance.WithOnly("uid-sucess"), `there is no check "uid-sucess", did you mean uid-success?`},
		"nothing to skip": {conformance.Hook{URL: url}, questions, conformance.WithSkip("weather"), `there is no check "weather"`},
	} {
		t.Run(name, func(t *testing.T) {
			var options []conformance.Option
			if c.option != nil {
				options = append(options, c.option)
			}
			_, err := conformance.New(c.hook, c.questions, options...)
			require.ErrorContains(t, err, c.want)
		})
	}
	w := &v1alpha1.ResourceInterpreterWebhook{Name: "w.example.com"}
	_, err := conformance.HookOf(&v1alpha1.ResourceInterpreterWebhookConfiguration{}, w)
	require.ErrorContains(t, err, "neither url nor service")
}

func TestQuestions(t *testing.T) {
	rule := func(group, version, kind string, operations ...interpreter.Operation) v1alpha1.RuleWithOperations {
		return v1alpha1.RuleWithOperations{Operations: operations, Rule: v1alpha1.Rule{APIGroups: []string{group}, APIVersions: []string{version}, Kinds: []string{kind}}}
	}
	sample := conformance.Samples{Desired: []*unstructured.Unstructured{workload(t)}}
	for name, c := range map[string]struct {
		rules   []v1alpha1.RuleWithOperations
		samples conformance.Samples
		want    []string
		fails   string
	}{
		"a kind without a sample": {rules: []v1alpha1.RuleWithOperations{rule("apps", "v1", "Deployment", interpreter.InterpretHealth)},
			want: []string{"InterpretHealth apps/v1 Deployment default/conformance made"}},
		"a kind of the core group": {rules: []v1alpha1.RuleWithOperations{rule("", "v1", "Pod", interpreter.InterpretHealth)},
			want: []string{"InterpretHealth v1 Pod default/conformance made"}},
		"any version": {rules: []v1alpha1.RuleWithOperations{rule("apps", "*", "Deployment", interpreter.InterpretHealth)},
			want: []string{"InterpretHealth apps/v1 Deployment default/conformance made"}},
		"any version with a sample": {rules: []v1alpha1.RuleWithOperations{rule(workloadKind.Group, "*", "Workload", interpreter.InterpretReplica)}, samples: sample,
			want: []string{"InterpretReplica workload.example.io/v1alpha1 Workload demo/web"}},
		"a sample of the other sort": {rules: []v1alpha1.RuleWithOperations{rule(workloadKind.Group, "v1alpha1", "Workload", interpreter.InterpretHealth, interpreter.Retain)}, samples: sample,
			want: []string{"Retain workload.example.io/v1alpha1 Workload demo/web made", "InterpretHealth workload.example.io/v1alpha1 Workload demo/web made"}},
		"any kind with a sample": {rules: []v1alpha1.RuleWithOperations{rule("*", "*", "*", interpreter.InterpretReplica)}, samples: sample,
			want: []string{"InterpretReplica workload.example.io/v1alpha1 Workload demo/web"}},
		"every operation but Prune": {rules: []v1alpha1.RuleWithOperations{rule("", "v1", "Pod", "*")},
			want: []string{"Retain", "InterpretReplica", "InterpretComponent", "ReviseReplica", "InterpretStatus", "AggregateStatus", "InterpretHealth", "InterpretDependency"}},
		"Prune by name":    {rules: []v1alpha1.RuleWithOperations{rule("", "v1", "Pod", interpreter.Prune)}, want: []string{"Prune v1 Pod default/conformance made"}},
		"any kind":         {rules: []v1alpha1.RuleWithOperations{rule("*", "*", "*", "*")}, fails: "give a sample object"},
		"another kind":     {rules: []v1alpha1.RuleWithOperations{rule("*", "v9", "*", "*")}, samples: sample, fails: "no rule is for workload.example.io/v1alpha1 Workload"},
		"no rules":         {samples: sample, fails: "there are no rules"},
		"no rules, no one": {fails: "there are no rules"},
	} {
		t.Run(name, func(t *testing.T) {
			questions, err := conformance.Questions(c.rules, c.samples)
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
				return
			}
			require.NoError(t, err)
			require.Len(t, questions, len(c.want))
			for i, q := range questions {
				text := string(q.Operation)
				if strings.Contains(c.want[i], " ") {
					text += " " + (&interpreter.Error{Kind: q.Kind(), Namespace: q.Object.GetNamespace(), Name: q.Object.GetName()}).Object()
					if q.Made {
						text += " made"
					}
				}
				assert.Equal(t, c.want[i], text)
			}
		})
	}
}

func TestSamplesFindTheirUse(t *testing.T) {
	observed := workload(t)
	observed.SetLabels(map[string]string{"from": "member"})
	stranger := workload(t)
	stranger.SetName("other")
	n := int32(0)
	questions, err := conformance.Questions(workloadRules(), conformance.Samples{
		Desired: []*unstructured.Unstructured{workload(t)}, Observed: []*unstructured.Unstructured{stranger, observed},
		Statuses: []interpreter.AggregatedStatusItem{{ClusterName: "m"}}, Replicas: &n,
	})
	require.NoError(t, err)
	require.Len(t, questions, 10, "two objects for each of two operations about observed ones")
	for _, q := range questions {
		assert.False(t, q.Made, q.Operation)
		switch q.Operation {
		case interpreter.Retain:
			assert.Same(t, observed, q.Observed)
		case interpreter.ReviseReplica:
			assert.Zero(t, *q.Replicas)
		case interpreter.AggregateStatus:
			assert.Equal(t, "m", q.Statuses[0].ClusterName)
		}
	}
}

// To say no to an object that was made up is no mistake, as long as it is said in the right form.
func TestAHookMayRefuseAMinimalObject(t *testing.T) {
	t.Parallel()
	questions, err := conformance.Questions(workloadRules(), conformance.Samples{})
	require.NoError(t, err)
	handler := when(func(q *question) bool { return q.request != nil }, refuses(422, "spec.mode is unknown"))(handlerOf(t, workloadHook(t)))
	report := run(t, served(t, handler, workloadRules(), nil), questions)
	assert.Empty(t, slices.Concat(verdicts(report, conformance.Fail), verdicts(report, conformance.Warn)), story(report))
	assert.Contains(t, verdicts(report, conformance.Skipped), "healthy")
	assert.Contains(t, verdicts(report, conformance.Skipped), "answered")
	assert.Contains(t, verdicts(report, conformance.Pass), "uid-failure")
}

// Who is told to come back comes back with the same question.
func TestAHookMayAskToComeBack(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	handler := handlerOf(t, workloadHook(t))
	report := run(t, served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1)%3 == 0 {
			w.Header().Set("Retry-After", "0")
			http.Error(w, "busy", http.StatusTooManyRequests)
			return
		}
		handler.ServeHTTP(w, r)
	}), workloadRules(), nil), workloadQuestions(t))
	assert.Empty(t, slices.Concat(verdicts(report, conformance.Fail), verdicts(report, conformance.Warn)), story(report))
}

// A hook that never answers does not keep its judge waiting for ever.
func TestAHookThatNeverAnswersIsLeftSoon(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	hook := served(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		q := readQuestion(r)
		<-q.Context().Done()
	}), workloadRules(), nil)
	hook.Timeout = 3 * time.Second
	report := run(t, hook, workloadQuestions(t))
	assert.Equal(t, []string{"deadline"}, verdicts(report, conformance.Fail), story(report))
	assert.LessOrEqual(t, asked.Load(), int32(6))
	assert.Contains(t, verdicts(report, conformance.Skipped), "uid-success")
}

func TestARunCanBeEnded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	hook := served(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		q := readQuestion(r)
		<-q.Context().Done()
	}), workloadRules(), nil)
	kit, err := conformance.New(hook, workloadQuestions(t))
	require.NoError(t, err)
	_, err = kit.Run(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

// What is sent can be sent again by hand, and what came back is there to be read.
func TestAProblemCanBeReproduced(t *testing.T) {
	t.Parallel()
	hook := served(t, tampered(interpreter.InterpretHealth, set("healthy", nil))(handlerOf(t, workloadHook(t))), workloadRules(), nil)
	report := run(t, hook, workloadQuestions(t), conformance.WithOnly("healthy"))
	require.Len(t, report.Results, 1)
	require.Len(t, report.Results[0].Problems, 1)
	p := report.Results[0].Problems[0]
	assert.Equal(t, interpreter.InterpretHealth, p.Operation)
	assert.Equal(t, "workload.example.io/v1alpha1 Workload demo/web", p.Object)
	assert.Equal(t, hook.URL+"/?timeout=30s", p.Exchange.URL)
	assert.Equal(t, "application/json", p.Exchange.RequestHeader.Get("Content-Type"))
	assert.Equal(t, 200, p.Exchange.Status)
	var sent, got v1alpha1.ResourceInterpreterContext
	require.NoError(t, json.Unmarshal([]byte(p.Exchange.RequestBody), &sent))
	require.NoError(t, json.Unmarshal([]byte(p.Exchange.ResponseBody), &got))
	assert.Equal(t, sent.Request.UID, got.Response.UID)
}

func TestTheSameMistakeIsToldAFewTimes(t *testing.T) {
	t.Parallel()
	var samples conformance.Samples
	for range 30 {
		samples.Observed = append(samples.Observed, workload(t))
	}
	rules := rulesFor(interpreter.InterpretHealth)
	questions, err := conformance.Questions(rules, samples)
	require.NoError(t, err)
	hook := served(t, tampered(interpreter.InterpretHealth, set("healthy", nil))(handlerOf(t, workloadHook(t))), rules, nil)
	report := run(t, hook, questions, conformance.WithOnly("healthy"))
	assert.Len(t, report.Results[0].Problems, 10)
	assert.Equal(t, 1, report.Count(conformance.Fail))
}
