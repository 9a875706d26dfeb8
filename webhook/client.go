package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

// DefaultName is the name of a layer of webhooks.
const DefaultName = "webhook"

// The limits that apply where no option says otherwise.
const (
	// DefaultTimeout bounds a call of a hook without timeoutSeconds. The API documents it.
	DefaultTimeout = 10 * time.Second
	// DefaultAnswerLimit is how many bytes of an answer are read. A patch may replace a whole object, of at
	// most 1.5 MiB where etcd has its defaults, and is encoded in base64; that leaves room.
	DefaultAnswerLimit = 8 << 20
	// DefaultConcurrency is how many calls of one hook are in flight at a time.
	DefaultConcurrency = 128
	// DefaultBreakerFailures is after how many failures in a row a hook is not asked for a while.
	DefaultBreakerFailures = 5
	// DefaultBreakerPause is for how long.
	DefaultBreakerPause = 5 * time.Second
)

// Resolver finds where a Service of the control plane is served.
type Resolver interface {
	// Resolve gives the addresses, as host:port, that serve a port of a Service and are ready, in any order.
	// None and no error means that the Service's DNS name is as good. It is called for every call of a hook,
	// by many goroutines, so it should answer from memory.
	Resolve(ctx context.Context, namespace, name string, port int32) ([]string, error)
}

// Layer asks hooks. It is safe for many goroutines, also while it is replaced.
type Layer struct {
	options
	// The hooks in force. A call goes on with those it started with.
	hooks atomic.Pointer[hookSet]
	// One replacement at a time.
	replacing sync.Mutex
}

// settings are what all hooks of a layer share.
type settings struct {
	resolver        Resolver
	certificate     func() (*tls.Certificate, error)
	adaptTLS        func(*tls.Config)
	wrapTransport   func(http.RoundTripper) http.RoundTripper
	timeout         time.Duration
	answerLimit     int64
	concurrency     int
	breakerFailures uint32
	breakerPause    time.Duration
	registerer      prometheus.Registerer
	metrics         *clientMetrics
}

// options are what a layer is made with.
type options struct {
	settings
	name string
	// skip says which hooks are left out, nil if none are.
	skip func(configuration string, w *v1alpha1.ResourceInterpreterWebhook) bool
}

// Option changes a Layer, or Callers, that are being made.
type Option func(*options) error

// WithName sets the layer's name in messages. Without it that is DefaultName.
func WithName(name string) Option {
	return func(o *options) error {
		if name == "" {
			return errors.New("the layer's name is empty")
		}
		o.name = name
		return nil
	}
}

// WithResolver sets where Services are looked up. Without it their DNS names are used, which only resolve
// inside the cluster.
func WithResolver(r Resolver) Option {
	return func(o *options) error {
		o.resolver = r
		return nil
	}
}

// WithClientCertificate sets what proves to hooks who asks; the function is called for every new connection.
// Karmada never sends a certificate, so a hook that insists on one can only be called by this client.
func WithClientCertificate(certificate func() (*tls.Certificate, error)) Option {
	return func(o *options) error {
		o.certificate = certificate
		return nil
	}
}

// WithTLSConfig has a function change the TLS configuration of every hook after all that the webhook
// configuration says is in it, the CA bundle included. It is for tools that people try hooks with.
func WithTLSConfig(change func(*tls.Config)) Option {
	return func(o *options) error {
		o.adaptTLS = change
		return nil
	}
}

// WithTransportWrapper puts something around each of the transports that calls go through, such as what traces
// or shows them. It sees a request once for every time it is sent.
func WithTransportWrapper(wrap func(http.RoundTripper) http.RoundTripper) Option {
	return func(o *options) error {
		o.wrapTransport = wrap
		return nil
	}
}

// WithTimeout bounds the calls of hooks without timeoutSeconds. Without it that is DefaultTimeout.
func WithTimeout(d time.Duration) Option {
	return func(o *options) error {
		o.timeout = d
		return positive("timeout", d)
	}
}

// WithAnswerLimit bounds the bytes of an answer. Without it that is DefaultAnswerLimit.
func WithAnswerLimit(bytes int64) Option {
	return func(o *options) error {
		o.answerLimit = bytes
		return positive("answer limit", bytes)
	}
}

// WithConcurrency bounds the calls of one hook that are in flight; further ones wait, at the expense of
// their time. Without it that is DefaultConcurrency.
func WithConcurrency(calls int) Option {
	return func(o *options) error {
		o.concurrency = calls
		return positive("concurrency", calls)
	}
}

// WithBreaker sets after how many failures in a row a hook is not asked for a while, and for how long; then
// a single call is let through, whose outcome decides. Without it that is DefaultBreakerFailures and
// DefaultBreakerPause.
func WithBreaker(failures uint32, pause time.Duration) Option {
	return func(o *options) error {
		o.breakerFailures, o.breakerPause = failures, pause
		return errors.Join(positive("number of failures", failures), positive("pause", pause))
	}
}

// WithSkip leaves out the hooks that a function says yes to, as if their configurations did not have them. A
// server that is registered as a hook itself, and follows the configurations, leaves itself out. The function is
// called for every valid hook whenever the layer is replaced.
func WithSkip(skip func(configuration string, w *v1alpha1.ResourceInterpreterWebhook) bool) Option {
	return func(o *options) error {
		o.skip = skip
		return nil
	}
}

// WithRegisterer registers the metrics of the calls. Without it nothing is counted. Layers that share a
// Registerer share the metrics.
func WithRegisterer(r prometheus.Registerer) Option {
	return func(o *options) error {
		o.registerer = r
		return nil
	}
}

func positive[T int | int64 | uint32 | time.Duration](what string, v T) error {
	if v <= 0 {
		return fmt.Errorf("the %s must be positive, got %v", what, v)
	}
	return nil
}

// newOptions are the defaults as a list of options changes them, with the metrics registered.
func newOptions(list []Option) (options, error) {
	o := options{name: DefaultName, settings: settings{
		timeout:         DefaultTimeout,
		answerLimit:     DefaultAnswerLimit,
		concurrency:     DefaultConcurrency,
		breakerFailures: DefaultBreakerFailures,
		breakerPause:    DefaultBreakerPause,
	}}
	for _, option := range list {
		if err := option(&o); err != nil {
			return o, err
		}
	}
	var err error
	o.metrics, err = newClientMetrics(o.registerer)
	return o, err
}

// New makes a layer of webhook configurations, all of which must be valid. For a layer that lives with
// broken ones, make it of none and call Replace.
func New(configurations []*v1alpha1.ResourceInterpreterWebhookConfiguration, list ...Option) (*Layer, error) {
	o, err := newOptions(list)
	if err != nil {
		return nil, err
	}
	l := &Layer{options: o}
	l.hooks.Store(&hookSet{})
	if err := l.Replace(configurations); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// ConfigurationError says what is wrong with a webhook configuration.
type ConfigurationError struct {
	// Name is the configuration's.
	Name string
	// Err is a field.ErrorList as an aggregate, unless the fields are not at fault.
	Err error
}

func (e *ConfigurationError) Error() string {
	return fmt.Sprintf("webhook configuration %q: %v", e.Name, e.Err)
}

func (e *ConfigurationError) Unwrap() error { return e.Err }

// hookSet is what Replace puts in place at once.
type hookSet struct {
	// sorted are the hooks by identity.
	sorted []*hook
	// valid are the configurations they come from, by name.
	valid map[string]*v1alpha1.ResourceInterpreterWebhookConfiguration
}

// Replace puts other configurations in the place of the present ones, at once for all that ask afterwards;
// they are not modified, and must not be afterwards. One that is invalid leaves its last good version, by
// name and UID, in force, or is left out if there is none. The error joins a *ConfigurationError for each; the valid
// ones are in force all the same. A hook that did not change keeps its connections and its breaker.
func (l *Layer) Replace(configurations []*v1alpha1.ResourceInterpreterWebhookConfiguration) error {
	l.replacing.Lock()
	defer l.replacing.Unlock()
	old := l.hooks.Load()
	fresh := &hookSet{valid: map[string]*v1alpha1.ResourceInterpreterWebhookConfiguration{}}
	seen := map[string]bool{}
	var errs []error
	for _, c := range configurations {
		var err error
		if seen[c.Name] {
			errs = append(errs, &ConfigurationError{c.Name, errors.New("there is another configuration of this name")})
			continue
		}
		seen[c.Name] = true
		if err = Validate(c).ToAggregate(); err != nil {
			errs = append(errs, &ConfigurationError{c.Name, err})
			uid := c.UID
			// Another object of the same name has no claim on the hooks of the one before it.
			if c = old.valid[c.Name]; c != nil && c.UID != uid {
				c = nil
			}
		}
		if c != nil {
			fresh.valid[c.Name] = c
		}
	}
	kept := map[*hook]bool{}
	for _, name := range slices.Sorted(maps.Keys(fresh.valid)) {
		c := fresh.valid[name]
		policies, _ := parsePolicies(c) // Validate has looked.
		for i := range c.Webhooks {
			if l.skip != nil && l.skip(name, &c.Webhooks[i]) {
				continue
			}
			h := old.find(name, &c.Webhooks[i], policies.of(c.Webhooks[i].Name))
			if h == nil {
				h = newHook(l.settings, name, &c.Webhooks[i], policies.of(c.Webhooks[i].Name))
			}
			kept[h] = true
			fresh.sorted = append(fresh.sorted, h)
		}
	}
	slices.SortFunc(fresh.sorted, func(a, b *hook) int { return strings.Compare(a.identity, b.identity) })
	l.hooks.Store(fresh)
	for _, h := range old.sorted {
		if !kept[h] {
			h.caller.close(!fresh.has(h.identity))
		}
	}
	return errors.Join(errs...)
}

// find gives the hook that was made of an equal webhook, nil if there is none.
func (s *hookSet) find(configuration string, w *v1alpha1.ResourceInterpreterWebhook, policy failurePolicy) *hook {
	for _, h := range s.sorted {
		if h.configuration == configuration && h.policy == policy && equality.Semantic.DeepEqual(h.webhook, w) {
			return h
		}
	}
	return nil
}

func (s *hookSet) has(identity string) bool {
	return slices.ContainsFunc(s.sorted, func(h *hook) bool { return h.identity == identity })
}

// Close closes the connections that no call is using. The layer has no hooks afterwards, until Replace.
func (l *Layer) Close() { _ = l.Replace(nil) }

// Name is the layer's name.
func (l *Layer) Name() string { return l.name }

// Rules gives the one hook that is asked: of those that match, the one with the smallest
// "<configuration>/<webhook>" in byte order.
func (l *Layer) Rules(kind schema.GroupVersionKind, op interpreter.Operation) []*interpreter.Rule {
	for _, h := range l.hooks.Load().sorted {
		if h.matches(kind, op) {
			return h.rules
		}
	}
	return nil
}

// Entries lists what hooks have registered for, also where another hook is asked first. The parts of a kind,
// and the operation, may be "*".
func (l *Layer) Entries() []interpreter.Entry {
	var list []interpreter.Entry
	for _, h := range l.hooks.Load().sorted {
		for i := range h.webhook.Rules {
			list = append(list, entries(&h.webhook.Rules[i], h.identity)...)
		}
	}
	return list
}

// entries are a rule's combinations.
func entries(r *v1alpha1.RuleWithOperations, name string) []interpreter.Entry {
	var list []interpreter.Entry
	for _, op := range r.Operations {
		for _, group := range r.APIGroups {
			for _, version := range r.APIVersions {
				for _, kind := range r.Kinds {
					gvk := schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
					list = append(list, interpreter.Entry{Kind: gvk, Operation: op, Rule: name})
				}
			}
		}
	}
	return list
}

func (h *hook) matches(kind schema.GroupVersionKind, op interpreter.Operation) bool {
	return Matches(h.webhook.Rules, kind, op)
}

// Matches says whether any of a webhook's rules has the operation, group, version and kind. No rules, no match.
func Matches(rules []v1alpha1.RuleWithOperations, kind schema.GroupVersionKind, op interpreter.Operation) bool {
	for i := range rules {
		r := &rules[i]
		if among(r.Operations, op) && among(r.APIGroups, kind.Group) && among(r.APIVersions, kind.Version) && among(r.Kinds, kind.Kind) {
			return true
		}
	}
	return false
}

func among[T ~string](list []T, v T) bool {
	return slices.Contains(list, v) || slices.Contains(list, wildcard)
}
