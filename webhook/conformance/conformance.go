package conformance

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
)

// Hook is where a hook listens, and how it is reached: directly, whatever proxy the environment names.
type Hook struct {
	// URL has the scheme https, or, for a hook that somebody is still working on, http and a loopback host; Karmada
	// calls only the former.
	URL string
	// Address is the host:port that is connected to; empty means that of the URL.
	Address string
	// ServerName is the name that the certificate must have; empty means the URL's host.
	ServerName string
	// CABundle holds the certificates, in PEM, of the authorities that are trusted; empty means the system's.
	CABundle []byte
	// InsecureSkipVerify goes on whatever the certificate. The checks of trust are skipped.
	InsecureSkipVerify bool
	// Timeout bounds a call; 0 means webhook.DefaultTimeout.
	Timeout time.Duration
	// Configuration is the object that registers the hook, nil if there is none.
	Configuration *v1alpha1.ResourceInterpreterWebhookConfiguration
}

// HookOf says where a webhook of a configuration listens. The name of a Service is that which its DNS has inside the
// cluster; where it does not resolve, Address helps. The error says that there is no address in it.
func HookOf(c *v1alpha1.ResourceInterpreterWebhookConfiguration, w *v1alpha1.ResourceInterpreterWebhook) (Hook, error) {
	h := Hook{CABundle: w.ClientConfig.CABundle, Configuration: c}
	if w.TimeoutSeconds != nil {
		h.Timeout = time.Duration(*w.TimeoutSeconds) * time.Second
	}
	switch s := w.ClientConfig.Service; {
	case s != nil:
		port := int32(servicePort)
		if s.Port != nil {
			port = *s.Port
		}
		u := url.URL{Scheme: "https", Host: net.JoinHostPort(s.Name+"."+s.Namespace+".svc", strconv.Itoa(int(port))), Path: "/"}
		if s.Path != nil && *s.Path != "" {
			u.Path = *s.Path
		}
		h.URL = u.String()
	case w.ClientConfig.URL != nil:
		h.URL = *w.ClientConfig.URL
	default:
		return h, fmt.Errorf("webhook configuration %q: webhook %q: its clientConfig has neither url nor service", c.Name, w.Name)
	}
	return h, nil
}

// servicePort is the port of a Service reference that names none.
const servicePort = 443

// Severity says what it means that a rule is broken.
type Severity string

// The severities.
const (
	// Must is a rule without which Karmada's client fails the operation, or goes on with a wrong answer.
	Must Severity = "must"
	// Should is a rule that makes a hook pleasant to have.
	Should Severity = "should"
)

// Check is one rule, and how to find out whether a hook keeps it.
type Check struct {
	// ID is a short name that does not change.
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	// Section is the part of the protocol that the rule comes from.
	Section string `json:"section"`
	// Rule is what a hook must or should do, in a sentence.
	Rule string `json:"rule"`

	run func(ctx context.Context, s *session) outcome
}

// outcome is what a check has found: problems, or why it could not look. Neither means that all is well.
type outcome struct {
	problems []Problem
	skipped  string
}

// Verdict is what became of a check.
type Verdict string

// The verdicts. A rule that is broken gives Fail if it is a Must, and Warn if it is a Should.
const (
	Pass    Verdict = "pass"
	Fail    Verdict = "fail"
	Warn    Verdict = "warn"
	Skipped Verdict = "skipped"
)

// Result is a check and what became of it.
type Result struct {
	Check
	Verdict Verdict
	// Reason is why the check was skipped.
	Reason string
	// Problems are what was found. There may be one for each question; further ones are left out.
	Problems []Problem
}

// Problem is one place where a hook breaks a rule.
type Problem struct {
	// Operation and Object are what was asked about; empty if it was about nothing.
	Operation interpreter.Operation
	Object    string
	Expected  string
	Got       string
	// Exchange is what was sent and what came back; nil if nothing was.
	Exchange *Exchange
}

// Exchange is one request and what came back.
type Exchange struct {
	Method        string
	URL           string
	RequestHeader http.Header
	RequestBody   string

	// Status is the HTTP status, 0 if there was no answer.
	Status         int
	ResponseHeader http.Header
	ResponseBody   string
	// Err is why there was no whole answer.
	Err  error
	Took time.Duration
}

// Report is what a run has found, in the order of the checks.
type Report struct {
	Results []Result
}

// Count says how many checks have a verdict.
func (r *Report) Count(v Verdict) int {
	n := 0
	for i := range r.Results {
		if r.Results[i].Verdict == v {
			n++
		}
	}
	return n
}

// Kit is a hook and what it is to be asked. It may be run several times, one after the other.
type Kit struct {
	hook       Hook
	url        *url.URL
	questions  []Question
	only, skip []string
}

// Option changes a Kit that is being made.
type Option func(*Kit) error

// WithOnly selects checks by their IDs. What others need to be run is looked at all the same, and told if it fails.
func WithOnly(ids ...string) Option {
	return func(k *Kit) error {
		k.only = append(k.only, ids...)
		return known(ids)
	}
}

// WithSkip leaves out checks by their IDs.
func WithSkip(ids ...string) Option {
	return func(k *Kit) error {
		k.skip = append(k.skip, ids...)
		return known(ids)
	}
}

// known refuses IDs that no check has.
func known(ids []string) error {
	var have []string
	for i := range checks {
		have = append(have, checks[i].ID)
	}
	for _, id := range ids {
		if slices.Contains(have, id) {
			continue
		}
		hint := ""
		if near := interpreter.Nearest(id, have); near != "" {
			hint = fmt.Sprintf(", did you mean %s?", near)
		}
		return fmt.Errorf("there is no check %q%s", id, hint)
	}
	return nil
}

// Checks lists the checks in the order in which they are run.
func Checks() []Check { return slices.Clone(checks) }

// New makes a kit. There must be a question, and each must be sound.
func New(hook Hook, questions []Question, options ...Option) (*Kit, error) {
	k := &Kit{hook: hook, questions: slices.Clone(questions)}
	if k.hook.Timeout == 0 {
		k.hook.Timeout = webhook.DefaultTimeout
	}
	if k.hook.Timeout < 0 {
		return nil, fmt.Errorf("the timeout must be positive, got %s", k.hook.Timeout)
	}
	var err error
	if k.url, err = parseURL(hook.URL); err != nil {
		return nil, err
	}
	if k.hook.ServerName == "" {
		k.hook.ServerName = k.url.Hostname()
	}
	if k.hook.Address == "" {
		k.hook.Address = k.url.Host
		if k.url.Port() == "" {
			k.hook.Address = net.JoinHostPort(k.url.Hostname(), k.url.Scheme)
		}
	}
	if len(questions) == 0 {
		return nil, errors.New("there is no question to ask")
	}
	for i, q := range questions {
		if q.Request == nil {
			return nil, fmt.Errorf("question %d has no request", i)
		}
		if _, err := webhook.ContextOf("", q.Request); err != nil {
			return nil, fmt.Errorf("question %d: %w", i, err)
		}
	}
	for _, o := range options {
		if err := o(k); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// parseURL refuses what no hook could be called by, and unencrypted ways to other machines.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, err
	case u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("%q is not the URL of a hook, which looks like https://host:port/path", text)
	case u.User != nil || u.Fragment != "" || u.RawQuery != "":
		return nil, fmt.Errorf("%q: a hook's URL has no user, query or fragment", text)
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, fmt.Errorf("%q: objects do not travel unencrypted; http is for a hook on a loopback address", text)
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return u, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// Run plays the checks. A hook that breaks rules is no error; the error is the context's.
func (k *Kit) Run(ctx context.Context) (*Report, error) {
	s := newSession(k)
	defer s.close()
	report := &Report{}
	for _, c := range checks {
		selected := (len(k.only) == 0 || slices.Contains(k.only, c.ID)) && !slices.Contains(k.skip, c.ID)
		if !selected && !foundation(c.ID) {
			continue
		}
		r := Result{Check: c}
		o := outcome{skipped: s.broken}
		if s.broken == "" || foundation(c.ID) {
			o = c.run(ctx, s)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		switch {
		case len(o.problems) > 0 && c.Severity == Must:
			r.Verdict = Fail
		case len(o.problems) > 0:
			r.Verdict = Warn
		case o.skipped != "":
			r.Verdict, r.Reason = Skipped, o.skipped
		default:
			r.Verdict = Pass
		}
		r.Problems = o.problems[:min(len(o.problems), maxProblems)]
		if selected || r.Verdict == Fail {
			report.Results = append(report.Results, r)
		}
	}
	return report, nil
}

// maxProblems bounds how often one check tells of the same mistake.
const maxProblems = 10
