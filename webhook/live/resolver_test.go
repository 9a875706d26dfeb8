package live_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/webhook"
	"github.com/kubeinterpret/interpret/webhook/live"
)

var (
	services       = corev1.SchemeGroupVersion.WithResource("services")
	endpointSlices = discoveryv1.SchemeGroupVersion.WithResource("endpointslices")
)

var _ webhook.Resolver = (*live.Resolver)(nil)

// cluster is an API server with Services, which can be out of order.
type cluster struct {
	*dynamicfake.FakeDynamicClient
	t      testing.TB
	broken atomic.Pointer[error]

	mu      sync.Mutex
	watches []watch.Interface
	// asked are the selectors of lists, by resource.
	asked []string
}

func newCluster(t testing.TB, objects ...string) *cluster {
	var list []runtime.Object
	for _, text := range objects {
		list = append(list, parse(t, text))
	}
	c := &cluster{t: t, FakeDynamicClient: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{services: "ServiceList", endpointSlices: "EndpointSliceList"}, list...)}
	c.PrependReactor("list", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		restrictions := a.(clienttesting.ListAction).GetListRestrictions()
		c.mu.Lock()
		c.asked = append(c.asked, fmt.Sprintf("%s %s %s%s", a.GetResource().Resource, a.GetNamespace(), restrictions.Fields, restrictions.Labels))
		c.mu.Unlock()
		err := c.err()
		return err != nil, nil, err
	})
	c.PrependWatchReactor("*", func(a clienttesting.Action) (bool, watch.Interface, error) {
		if err := c.err(); err != nil {
			return true, nil, err
		}
		w, err := c.Tracker().Watch(a.GetResource(), a.GetNamespace())
		c.mu.Lock()
		defer c.mu.Unlock()
		c.watches = append(c.watches, w)
		return true, w, err
	})
	return c
}

func (c *cluster) err() error {
	if err := c.broken.Load(); err != nil {
		return *err
	}
	return nil
}

func (c *cluster) fail(err error) {
	c.broken.Store(&err)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.watches {
		w.Stop()
	}
	c.watches = nil
}

// watched waits for a number of watches: between a list and a watch, this server forgets.
func (c *cluster) watched(n int) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.watches) == n
	}, within, time.Millisecond)
}

func (c *cluster) lists() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.asked
	c.asked = nil
	return list
}

func (c *cluster) put(resource schema.GroupVersionResource, text string) {
	c.t.Helper()
	o := parse(c.t, text)
	in := c.Resource(resource).Namespace(o.GetNamespace())
	_, err := in.Update(c.t.Context(), o, metav1.UpdateOptions{})
	require.NoError(c.t, err)
}

func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	o := &unstructured.Unstructured{}
	require.NoError(t, o.UnmarshalJSON(data))
	return o
}

// atService is the Service hooks/web with this spec.
func atService(spec string) string {
	return "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: hooks}, spec: " + spec + "}"
}

// slice is an EndpointSlice of hooks/web.
func slice(name, content string) string {
	return "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: " + name +
		", namespace: hooks, labels: {kubernetes.io/service-name: web}}, " + content + "}"
}

func resolving(t testing.TB, c *cluster, options ...live.ResolverOption) *live.Resolver {
	t.Helper()
	r, err := live.NewResolver(c, options...)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { assert.NoError(t, r.Run(ctx)) })
	t.Cleanup(func() {
		stop()
		done.Wait()
	})
	// Until it runs, nothing is found.
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		_, err := r.Resolve(t.Context(), "hooks", "other", 1)
		assert.NoError(c, err)
	}, within, time.Millisecond)
	return r
}

// resolved is what Resolve gives for a port of hooks/web, as text.
func resolved(r *live.Resolver, port int32) string {
	addresses, err := r.Resolve(context.Background(), "hooks", "web", port)
	if err != nil {
		return err.Error()
	}
	return strings.Join(addresses, " ")
}

func resolves(t testing.TB, r *live.Resolver, port int32, want string) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Equal(c, want, resolved(r, port)) }, within, 5*time.Millisecond)
}

const web = "{type: ClusterIP, clusterIP: 10.0.0.7, ports: [{name: https, port: 443, targetPort: hook}, {name: dns, port: 53, protocol: UDP}, {name: metrics, port: 9090}]}"

func TestAServiceIsAtItsClusterIP(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec string
		port int32
		want string
	}{
		"cluster IP":    {web, 443, "10.0.0.7:443"},
		"another port":  {web, 9090, "10.0.0.7:9090"},
		"IPv6":          {"{clusterIP: 'fd00::7', ports: [{port: 443}]}", 443, "[fd00::7]:443"},
		"node port":     {"{type: NodePort, clusterIP: 10.0.0.7, ports: [{port: 443, nodePort: 30443}]}", 443, "10.0.0.7:443"},
		"load balancer": {"{type: LoadBalancer, clusterIP: 10.0.0.7, ports: [{port: 443}]}", 443, "10.0.0.7:443"},
		"external name": {"{type: ExternalName, externalName: hooks.example.com}", 8443, "hooks.example.com:8443"},
		"no name":       {"{type: ExternalName}", 8443, "service hooks/web: its externalName is empty"},
		"no such port":  {web, 8443, "service hooks/web: it has no port 8443 (have 443 https, 53 dns UDP, 9090 metrics)"},
		"UDP":           {web, 53, "service hooks/web: it has no port 53 (have 443 https, 53 dns UDP, 9090 metrics)"},
		"no ports":      {"{clusterIP: 10.0.0.7}", 443, "service hooks/web: it has no port 443 (have none)"},
		"headless":      {"{clusterIP: None, ports: [{port: 443}]}", 443, "service hooks/web: it has no cluster IP, being headless; a Service for a hook must have one"},
		"too early":     {"{type: LoadBalancer, ports: [{port: 443}]}", 443, "service hooks/web: it has no cluster IP yet"},
		"unknown type":  {"{type: Teapot, clusterIP: 10.0.0.7, ports: [{port: 443}]}", 443, "service hooks/web: its type Teapot is unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := resolving(t, newCluster(t, atService(c.spec)))
			assert.Equal(t, c.want, resolved(r, c.port))
			assert.Equal(t, c.want, resolved(r, c.port)) // From memory.
		})
	}
}

func TestOnlyServicesThatAreAskedForAreFollowed(t *testing.T) {
	t.Parallel()
	c := newCluster(t, atService(web), "{apiVersion: v1, kind: Service, metadata: {name: other, namespace: hooks}, spec: {clusterIP: 10.0.0.8, ports: [{port: 443}]}}")
	r, err := live.NewResolver(c)
	require.NoError(t, err)
	_, err = r.Resolve(t.Context(), "hooks", "web", 443)
	require.ErrorIs(t, err, interpreter.ErrNotReady)
	require.EqualError(t, err, "service hooks/web: not ready: Services are not being followed")
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { assert.NoError(t, r.Run(ctx)) })
	resolves(t, r, 443, "10.0.0.7:443")
	assert.Equal(t, []string{"services hooks metadata.name=web"}, c.lists())
	require.ErrorContains(t, r.Run(t.Context()), "a resolver runs once")
	stop()
	done.Wait()
	// What is known stays so.
	assert.Equal(t, "10.0.0.7:443", resolved(r, 443))
	_, err = r.Resolve(t.Context(), "hooks", "other", 443)
	require.ErrorIs(t, err, interpreter.ErrNotReady)
	assert.Empty(t, c.lists())
}

func TestAServiceThatDoesNotExistIsLeftToItsDNSName(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	r := resolving(t, c)
	addresses, err := r.Resolve(t.Context(), "hooks", "web", 443)
	require.NoError(t, err)
	assert.Empty(t, addresses)
	c.watched(2)
	_, err = c.Resource(services).Namespace("hooks").Create(t.Context(), parse(t, atService(web)), metav1.CreateOptions{})
	require.NoError(t, err)
	resolves(t, r, 443, "10.0.0.7:443")
	c.put(services, atService("{clusterIP: 10.0.0.9, ports: [{port: 443}]}"))
	resolves(t, r, 443, "10.0.0.9:443")
	require.NoError(t, c.Resource(services).Namespace("hooks").Delete(t.Context(), "web", metav1.DeleteOptions{}))
	resolves(t, r, 443, "")
}

func TestEndpointsThatAreReady(t *testing.T) {
	t.Parallel()
	const ports = "ports: [{name: https, port: 8443, protocol: TCP}, {name: metrics, port: 9090}, {name: all}]"
	for name, c := range map[string]struct {
		spec   string
		port   int32
		slices []string
		want   string
	}{
		"several slices": {web, 443, []string{
			"addressType: IPv4, endpoints: [{addresses: [10.1.0.2]}, {addresses: [10.1.0.1, 10.1.0.9], conditions: {ready: true}}], " + ports,
			"addressType: IPv4, endpoints: [{addresses: [10.1.0.2]}, {addresses: []}], ports: [{name: https, port: 8444}]",
		}, "10.1.0.1:8443 10.1.0.2:8443 10.1.0.2:8444"},
		"not ready": {web, 443, []string{
			"addressType: IPv4, endpoints: [{addresses: [10.1.0.1], conditions: {ready: false}}, {addresses: [10.1.0.2], conditions: {ready: true, terminating: true}}, {addresses: [10.1.0.3]}], " + ports,
		}, "10.1.0.3:8443"},
		"none ready": {web, 443, []string{
			"addressType: IPv4, endpoints: [{addresses: [10.1.0.1], conditions: {ready: false}}, {addresses: [10.1.0.2], conditions: {ready: true, terminating: true}}], " + ports,
		}, "service hooks/web: no endpoint of its port 443 is ready (10.1.0.1:8443, 10.1.0.2:8443)"},
		"none":          {web, 443, nil, "service hooks/web: its port 443 has no endpoints"},
		"none for port": {web, 443, []string{"addressType: IPv4, endpoints: [{addresses: [10.1.0.1]}], ports: [{name: metrics, port: 9090}, {port: 1}]"}, "service hooks/web: its port 443 has no endpoints"},
		"a port without a name": {"{clusterIP: 10.0.0.7, ports: [{port: 443}]}", 443, []string{
			"addressType: IPv4, endpoints: [{addresses: [10.1.0.1]}], ports: [{port: 8443}, {name: other, port: 1}, {name: '', port: 8444}]"}, "10.1.0.1:8443 10.1.0.1:8444"},
		"both families": {"{clusterIP: 10.0.0.7, ipFamilies: [IPv4, IPv6], ports: [{name: https, port: 443}]}", 443, []string{
			"addressType: IPv6, endpoints: [{addresses: ['fd00::1']}], " + ports, "addressType: IPv4, endpoints: [{addresses: [10.1.0.1]}], " + ports}, "10.1.0.1:8443"},
		"IPv6 first": {"{clusterIP: 'fd00::7', ipFamilies: [IPv6, IPv4], ports: [{name: https, port: 443}]}", 443, []string{
			"addressType: IPv6, endpoints: [{addresses: ['fd00::1']}], " + ports, "addressType: IPv4, endpoints: [{addresses: [10.1.0.1]}], " + ports}, "[fd00::1]:8443"},
		"headless":      {"{clusterIP: None, ports: [{name: https, port: 443}]}", 443, []string{"addressType: FQDN, endpoints: [{addresses: [a.example.com]}], " + ports}, "a.example.com:8443"},
		"external name": {"{type: ExternalName, externalName: hooks.example.com}", 8443, nil, "hooks.example.com:8443"},
		"no such port":  {web, 8443, nil, "service hooks/web: it has no port 8443 (have 443 https, 53 dns UDP, 9090 metrics)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := []string{atService(c.spec), "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: x, namespace: hooks, labels: {kubernetes.io/service-name: x}}, addressType: IPv4, endpoints: [{addresses: [10.1.9.9]}], " + ports + "}"}
			for i, content := range c.slices {
				objects = append(objects, slice(fmt.Sprint("web-", i), content))
			}
			r := resolving(t, newCluster(t, objects...), live.WithEndpoints())
			assert.Equal(t, c.want, resolved(r, c.port))
		})
	}
}

func TestEndpointsComeAndGo(t *testing.T) {
	t.Parallel()
	const first = "addressType: IPv4, ports: [{name: https, port: 8443}], endpoints: [{addresses: [10.1.0.1]}"
	c := newCluster(t, atService(web), slice("a", first+"]"))
	r := resolving(t, c, live.WithEndpoints())
	assert.Equal(t, "10.1.0.1:8443", resolved(r, 443))
	c.watched(4)
	c.put(endpointSlices, slice("a", first+", {addresses: [10.1.0.2]}]"))
	resolves(t, r, 443, "10.1.0.1:8443 10.1.0.2:8443")
	require.NoError(t, c.Resource(endpointSlices).Namespace("hooks").Delete(t.Context(), "a", metav1.DeleteOptions{}))
	resolves(t, r, 443, "service hooks/web: its port 443 has no endpoints")
}

func TestAServerThatCannotBeRead(t *testing.T) {
	registry := prometheus.NewRegistry()
	metric := func(inStep, lost, unread int) string {
		return fmt.Sprintf(`
# HELP interpret_webhook_services Services of hooks that are followed on the API server: in step, as they were when the server could be read last, or unread, so that their hooks cannot be called.
# TYPE interpret_webhook_services gauge
interpret_webhook_services{state="in_step"} %d
interpret_webhook_services{state="lost"} %d
interpret_webhook_services{state="unread"} %d
`, inStep, lost, unread)
	}
	c := newCluster(t, atService(web))
	r := resolving(t, c, live.WithResolverRegisterer(registry))
	assert.Equal(t, "10.0.0.7:443", resolved(r, 443))
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(metric(2, 0, 0))))

	c.fail(errors.New("connection refused"))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.NoError(c, testutil.GatherAndCompare(registry, strings.NewReader(metric(0, 2, 0))))
	}, within, 5*time.Millisecond)
	// The last good state is a better answer than none, and what was never read is an error, not the DNS name.
	assert.Equal(t, "10.0.0.7:443", resolved(r, 443))
	_, err := r.Resolve(t.Context(), "hooks", "new", 443)
	require.ErrorIs(t, err, interpreter.ErrNotReady)
	require.EqualError(t, err, "service hooks/new: not ready: services have not been read yet: connection refused")
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(metric(0, 2, 1))))

	c.broken.Store(nil)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.NoError(c, testutil.GatherAndCompare(registry, strings.NewReader(metric(3, 0, 0))))
	}, within, 5*time.Millisecond)
	_, err = live.NewResolver(c, live.WithResolverRegisterer(registry))
	require.Error(t, err)
	_, err = live.NewResolver(nil)
	require.EqualError(t, err, "the client is nil")
}

// Nobody waits for ever, nor twice, for a server that does not answer.
func TestWaitingForTheFirstReadEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, atService(web))
		c.PrependReactor("list", "services", func(clienttesting.Action) (bool, runtime.Object, error) {
			time.Sleep(time.Minute)
			return false, nil, nil
		})
		r, err := live.NewResolver(c)
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() { assert.NoError(t, r.Run(ctx)) })
		synctest.Wait()
		hurry, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		for _, c := range []struct {
			ctx  context.Context
			wait time.Duration
		}{{hurry, 500 * time.Millisecond}, {t.Context(), 1500 * time.Millisecond}, {t.Context(), 0}} {
			start := time.Now()
			_, err := r.Resolve(c.ctx, "hooks", "web", 443)
			require.ErrorIs(t, err, interpreter.ErrNotReady)
			require.EqualError(t, err, "service hooks/web: not ready: services have not been read yet: nobody has tried")
			assert.Equal(t, c.wait, time.Since(start))
		}
		time.Sleep(time.Minute)
		assert.Equal(t, "10.0.0.7:443", resolved(r, 443))
		stop()
		done.Wait()
	})
}

func TestAServiceThatNobodyAsksForIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, atService(web))
		r, err := live.NewResolver(c)
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() { assert.NoError(t, r.Run(ctx)) })
		synctest.Wait()
		for range 6 {
			assert.Equal(t, "10.0.0.7:443", resolved(r, 443))
			time.Sleep(5 * time.Minute)
		}
		assert.Len(t, c.lists(), 1)
		time.Sleep(7 * time.Minute)
		assert.Equal(t, "10.0.0.7:443", resolved(r, 443))
		assert.Len(t, c.lists(), 1)
		stop()
		done.Wait()
	})
}

func TestManyAskForAServiceAtOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t, atService(web))
	r := resolving(t, c)
	c.lists()
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for range 100 {
				assert.Equal(t, "10.0.0.7:443", resolved(r, 443))
			}
		})
	}
	all.Wait()
	assert.Len(t, c.lists(), 1)
}

func BenchmarkResolve(b *testing.B) {
	r := resolving(b, newCluster(b, atService(web)))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := r.Resolve(b.Context(), "hooks", "web", 443); err != nil {
				b.Error(err)
			}
		}
	})
}
