package live

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/follow"
)

const (
	// firstRead is how long calls wait for a Service that nobody has asked for before. Reading it takes
	// milliseconds; a server that takes longer is out of order, which a caller should hear soon.
	firstRead = 2 * time.Second
	// forgetAfter is how long a Service is followed that nobody asks for. Hooks that are in use are asked more often,
	// and reading it again costs one of their calls some milliseconds.
	forgetAfter = 10 * time.Minute
	// How many endpoints or ports an error names.
	maxTold = 5
)

// Resolver finds Services on an API server, for webhook.WithResolver. It follows each Service from when it is first
// asked for, and only those, since a control plane has thousands that are no hooks; so it answers from memory. A
// Service that cannot be read any more is answered as it was. It is safe for many goroutines.
//
// An account needs the right to list and watch services, which may be restricted by name, and with WithEndpoints
// endpointslices in the namespaces of the hooks.
type Resolver struct {
	client    dynamic.Interface
	logger    *slog.Logger
	endpoints bool

	mu sync.RWMutex
	// running ends with Run; it is nil before.
	running  context.Context
	beside   sync.WaitGroup
	services map[types.NamespacedName]*service
}

// ResolverOption changes a Resolver that is being made.
type ResolverOption func(*Resolver) error

// WithEndpoints has calls spread over all endpoints of a Service that are ready, rather than sent to its cluster IP
// as Karmada does. It is for programs that can reach pods, and finds headless Services as well.
func WithEndpoints() ResolverOption {
	return func(r *Resolver) error {
		r.endpoints = true
		return nil
	}
}

// WithResolverLogger has losing and finding the server logged. Without it nothing is.
func WithResolverLogger(l *slog.Logger) ResolverOption {
	return func(r *Resolver) error {
		r.logger = l
		return nil
	}
}

// WithResolverRegisterer registers a metric of the Services that are followed.
func WithResolverRegisterer(registerer prometheus.Registerer) ResolverOption {
	return func(r *Resolver) error { return registerer.Register(serviceCount{r}) }
}

// NewResolver makes a resolver. Nothing is read until Run, and until then no Service is found.
func NewResolver(client dynamic.Interface, options ...ResolverOption) (*Resolver, error) {
	if client == nil {
		return nil, errors.New("the client is nil")
	}
	r := &Resolver{client: client, logger: slog.New(slog.DiscardHandler), services: map[types.NamespacedName]*service{}}
	for _, o := range options {
		if err := o(r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Run follows the Services that are asked for until the context ends. It runs once. What was read is answered
// afterwards, too.
func (r *Resolver) Run(ctx context.Context) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	defer r.beside.Wait()
	tick := time.NewTicker(forgetAfter / 10)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			// Nobody starts to follow anything from here on: whoever does looks at the context under the lock.
			r.mu.Lock()
			defer r.mu.Unlock()
			return nil
		case now := <-tick.C:
			r.forget(now)
		}
	}
}

func (r *Resolver) begin(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running != nil {
		return errors.New("a resolver runs once")
	}
	r.running = ctx
	return nil
}

// forget lets go of the Services that nobody asks for.
func (r *Resolver) forget(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, s := range r.services {
		if now.UnixNano()-s.asked.Load() > int64(forgetAfter) {
			s.stop()
			delete(r.services, name)
		}
	}
}

// Resolve gives the addresses of a port of a Service, as host:port: its cluster IP, the name that an ExternalName
// stands for, or with WithEndpoints all endpoints that are ready. A Service that does not exist has none, and is left
// to its DNS name. Everything else that gives no address is an error: interpreter.ErrNotReady if the Service has not
// been read yet.
func (r *Resolver) Resolve(ctx context.Context, namespace, name string, port int32) ([]string, error) {
	addresses, err := r.resolve(ctx, types.NamespacedName{Namespace: namespace, Name: name}, port)
	if err != nil {
		return nil, fmt.Errorf("service %s/%s: %w", namespace, name, err)
	}
	return addresses, nil
}

func (r *Resolver) resolve(ctx context.Context, name types.NamespacedName, port int32) ([]string, error) {
	s, err := r.service(name)
	if err != nil {
		return nil, err
	}
	s.asked.Store(time.Now().UnixNano())
	if s.state.Load() == nil {
		if err := s.wait(ctx); err != nil {
			return nil, err
		}
	}
	return s.state.Load().addresses(port)
}

// service finds a Service that is followed, or starts to follow it.
func (r *Resolver) service(name types.NamespacedName) (*service, error) {
	r.mu.RLock()
	s := r.services[name]
	r.mu.RUnlock()
	if s != nil {
		return s, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.services[name]; s != nil {
		return s, nil
	}
	if r.running == nil || r.running.Err() != nil {
		return nil, fmt.Errorf("%w: Services are not being followed", interpreter.ErrNotReady)
	}
	s, err := r.follow(name)
	if err == nil {
		r.services[name] = s
	}
	return s, err
}

// service is a Service that is followed.
type service struct {
	name      types.NamespacedName
	endpoints bool
	stop      context.CancelFunc
	followers []*follow.Follower
	started   time.Time
	// asked is when it was last asked for, in Unix nanoseconds.
	asked atomic.Int64
	// state is nil until all has been read; then read is closed.
	state atomic.Pointer[state]
	read  chan struct{}

	mu     sync.Mutex
	object *corev1.Service
	slices []*discoveryv1.EndpointSlice
	// haveObject and haveSlices say what has been read.
	haveObject, haveSlices bool
}

// follow starts to follow a Service.
func (r *Resolver) follow(name types.NamespacedName) (*service, error) {
	ctx, stop := context.WithCancel(r.running)
	s := &service{name: name, endpoints: r.endpoints, stop: stop, started: time.Now(), read: make(chan struct{})}
	s.asked.Store(s.started.UnixNano())
	options := []follow.Option{follow.WithoutEvents(), follow.WithPatience(0), follow.WithLogger(r.logger.With("service", name.String()))}
	object, err := follow.New(r.client, follow.Source[corev1.Service]{
		Resource:  corev1.SchemeGroupVersion.WithResource("services"),
		Namespace: name.Namespace, FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name.Name).String(),
		Replace: s.replace,
	}, options...)
	s.followers = []*follow.Follower{object}
	if err == nil && r.endpoints {
		var slices *follow.Follower
		slices, err = follow.New(r.client, follow.Source[discoveryv1.EndpointSlice]{
			Resource:  discoveryv1.SchemeGroupVersion.WithResource("endpointslices"),
			Namespace: name.Namespace, LabelSelector: labels.Set{discoveryv1.LabelServiceName: name.Name}.String(),
			Replace: s.replaceSlices,
		}, options...)
		s.followers = append(s.followers, slices)
	}
	if err != nil {
		stop()
		return nil, err
	}
	for _, f := range s.followers {
		r.beside.Go(func() { _ = f.Run(ctx) }) // It only fails where it runs already.
	}
	return s, nil
}

// wait waits until the Service has been read. It does not when the server cannot be read, and for firstRead at most
// from when it was first asked for.
func (s *service) wait(ctx context.Context) error {
	ctx, cancel := context.WithDeadline(ctx, s.started.Add(firstRead))
	defer cancel()
	for _, f := range s.followers {
		if f.Tried(ctx) != nil {
			return s.unread()
		}
	}
	select {
	case <-s.read:
		return nil
	case <-ctx.Done():
		return s.unread() // It may have been read in this moment.
	}
}

// unread is why the Service has not been read, nil if it has.
func (s *service) unread() error {
	for _, f := range s.followers {
		if err := f.Unread(); err != nil {
			return err
		}
	}
	<-s.read // It is being closed.
	return nil
}

func (s *service) replace(list []*corev1.Service) []follow.Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.object, s.haveObject = nil, true
	for _, o := range list {
		if o.Name == s.name.Name {
			s.object = o
		}
	}
	s.publish()
	return nil
}

func (s *service) replaceSlices(list []*discoveryv1.EndpointSlice) []follow.Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slices, s.haveSlices = list, true
	s.publish()
	return nil
}

// publish puts what has been read in force.
func (s *service) publish() {
	if !s.haveObject || s.endpoints && !s.haveSlices {
		return
	}
	first := s.state.Swap(&state{object: s.object, slices: s.slices, endpoints: s.endpoints}) == nil
	if first {
		close(s.read)
	}
}

// state is a Service as it was read, which does not change.
type state struct {
	// object is nil if there is none.
	object    *corev1.Service
	endpoints bool
	slices    []*discoveryv1.EndpointSlice
	// found are answers by port.
	found sync.Map
}

// answer is what was found out about a port.
type answer struct {
	addresses []string
	err       error
}

func (s *state) addresses(port int32) ([]string, error) {
	if known, ok := s.found.Load(port); ok {
		a := known.(answer)
		return a.addresses, a.err
	}
	addresses, err := s.find(port)
	s.found.Store(port, answer{addresses, err})
	return addresses, err
}

// find looks for the addresses as Karmada does, but for endpoints.
func (s *state) find(port int32) ([]string, error) {
	if s.object == nil {
		return nil, nil
	}
	spec := &s.object.Spec
	switch spec.Type {
	case corev1.ServiceTypeExternalName:
		if spec.ExternalName == "" {
			return nil, errors.New("its externalName is empty")
		}
		return []string{address(spec.ExternalName, port)}, nil
	case "", corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer:
	default:
		return nil, fmt.Errorf("its type %s is unknown", spec.Type)
	}
	i := slices.IndexFunc(spec.Ports, func(p corev1.ServicePort) bool { return p.Port == port && isTCP(&p.Protocol) })
	if i < 0 {
		return nil, fmt.Errorf("it has no port %d (have %s)", port, portsOf(spec.Ports))
	}
	switch {
	case s.endpoints:
		return s.ready(&spec.Ports[i])
	case spec.ClusterIP == corev1.ClusterIPNone:
		return nil, errors.New("it has no cluster IP, being headless; a Service for a hook must have one")
	case spec.ClusterIP == "":
		return nil, errors.New("it has no cluster IP yet")
	}
	return []string{address(spec.ClusterIP, port)}, nil
}

// ready gives the endpoints of a port that are ready, of the Service's first address family that has any slices.
func (s *state) ready(port *corev1.ServicePort) ([]string, error) {
	families := []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6, discoveryv1.AddressTypeFQDN}
	if f := s.object.Spec.IPFamilies; len(f) > 0 && f[0] == corev1.IPv6Protocol {
		families[0], families[1] = families[1], families[0]
	}
	unready := map[string]bool{}
	for _, family := range families {
		found := map[string]bool{}
		for _, slice := range s.slices {
			if slice.AddressType != family {
				continue
			}
			for _, p := range slice.Ports {
				if p.Port == nil || !isTCP(p.Protocol) || p.Name == nil && port.Name != "" || p.Name != nil && *p.Name != port.Name {
					continue
				}
				for _, e := range slice.Endpoints {
					// All addresses of an endpoint lead to the same pod; the first is the one that everybody uses.
					if len(e.Addresses) == 0 {
						continue
					}
					if at := address(e.Addresses[0], *p.Port); isReady(&e.Conditions) {
						found[at] = true
					} else {
						unready[at] = true
					}
				}
			}
		}
		if len(found) > 0 {
			return sorted(found), nil
		}
	}
	if len(unready) > 0 {
		return nil, fmt.Errorf("no endpoint of its port %d is ready (%s)", port.Port, told(sorted(unready)))
	}
	return nil, fmt.Errorf("its port %d has no endpoints", port.Port)
}

// isReady is as the API has it: what is not said is ready. What is about to end may say so, too, where endpoints
// that are not ready are published.
func isReady(c *discoveryv1.EndpointConditions) bool {
	return (c.Ready == nil || *c.Ready) && (c.Terminating == nil || !*c.Terminating)
}

func isTCP(p *corev1.Protocol) bool { return p == nil || *p == "" || *p == corev1.ProtocolTCP }

func address(host string, port int32) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

func sorted(set map[string]bool) []string {
	list := make([]string, 0, len(set))
	for at := range set {
		list = append(list, at)
	}
	slices.Sort(list)
	return list
}

func portsOf(ports []corev1.ServicePort) string {
	var texts []string
	for _, p := range ports {
		text := strings.TrimSpace(fmt.Sprintf("%d %s", p.Port, p.Name))
		if !isTCP(&p.Protocol) {
			text += " " + string(p.Protocol)
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return "none"
	}
	return told(texts)
}

// told lists things, but not more than a person reads.
func told(list []string) string {
	if more := len(list) - maxTold; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:maxTold], ", "), more)
	}
	return strings.Join(list, ", ")
}

// serviceCount is a metric.
type serviceCount struct{ resolver *Resolver }

var servicesDesc = prometheus.NewDesc("interpret_webhook_services",
	"Services of hooks that are followed on the API server: in step, as they were when the server could be read last, or unread, so that their hooks cannot be called.",
	[]string{"state"}, nil)

// Describe names the metric.
func (c serviceCount) Describe(to chan<- *prometheus.Desc) { to <- servicesDesc }

// Collect counts.
func (c serviceCount) Collect(to chan<- prometheus.Metric) {
	count := map[string]int{"in_step": 0, "lost": 0, "unread": 0}
	c.resolver.mu.RLock()
	for _, s := range c.resolver.services {
		count[s.step()]++
	}
	c.resolver.mu.RUnlock()
	for state, n := range count {
		to <- prometheus.MustNewConstMetric(servicesDesc, prometheus.GaugeValue, float64(n), state)
	}
}

// step says how a Service stands to the server.
func (s *service) step() string {
	if s.state.Load() == nil {
		return "unread"
	}
	for _, f := range s.followers {
		if f.Ready() != nil {
			return "lost"
		}
	}
	return "in_step"
}
