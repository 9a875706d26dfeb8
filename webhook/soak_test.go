package webhook_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeobject "k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
)

const (
	soakClients = 64
	// How often customizations are read and certificates rotate in a long soak.
	soakReload, soakRotation = time.Second, time.Minute
	// A short one does both as fast as it can, and ends when it has seen enough.
	shortReload, shortRotations = 20 * time.Millisecond, 3
	// How much the heap may grow from its first to its last measurement in a long soak. No call is in flight then, but
	// idle connections have their buffers, and there are not always as many.
	heapSlack = 4 << 20
)

// Clients ask without a pause, through the layer of webhooks and over TLS, a server whose customizations are
// replaced and whose certificates and authorities rotate all the time. Not one call may fail, and no answer may be of
// customizations that were not in force while it was asked.
//
// SOAK=10m, or make soak, has it run for so long with the pace of real life.
func TestSoak(t *testing.T) {
	s := newSoak(t)
	long, reload := time.Duration(0), shortReload
	if text := os.Getenv("SOAK"); text != "" {
		var err error
		long, err = time.ParseDuration(text)
		require.NoError(t, err, "SOAK")
		reload = soakReload
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	for i := range soakClients {
		running.Go(func() { s.client(ctx, i) })
	}
	running.Go(func() {
		for ctx.Err() == nil {
			s.reload()
			time.Sleep(reload)
		}
	})
	s.settle()
	s.measure()
	begun := time.Now()
	if long > 0 {
		for next := begun.Add(soakRotation); next.Before(begun.Add(long)); next = next.Add(soakRotation) {
			time.Sleep(time.Until(next))
			s.rotate()
			s.settle()
			s.measure()
		}
		time.Sleep(time.Until(begun.Add(long)))
	} else {
		for range shortRotations {
			s.rotate()
			s.settle()
		}
	}
	took := time.Since(begun)
	s.measure()
	stop()
	running.Wait()

	first, last := s.heaps[0], s.heaps[len(s.heaps)-1]
	t.Logf("%d clients, %v: %d calls, %d failed, %.0f calls/s, p50 %v, p99 %v", soakClients, took.Round(time.Second/10),
		s.calls.Load(), s.failed.Load(), float64(s.calls.Load())/took.Seconds(), s.latencies.quantile(0.50), s.latencies.quantile(0.99))
	t.Logf("%d reloads, %d rotations; heap after GC: first %s, last %s, all %s; goroutines: first %d, last %d", s.installed.Load(), s.rotations,
		mebibytes(first.heap), mebibytes(last.heap), s.allHeaps(), first.goroutines, last.goroutines)
	require.Zero(t, s.failed.Load())
	assert.GreaterOrEqual(t, s.calls.Load(), int64(soakClients*2))
	if long > 0 {
		assert.LessOrEqual(t, last.heap, first.heap+heapSlack, "the heap grows")
	}
}

// soak is a server and the layer that asks it.
type soak struct {
	t              *testing.T
	customizations *declarative.Layer
	hooks          *webhook.Layer
	asked          *interpreter.Chain
	url            string

	// mounted is a directory with the server's certificate, such as the kubelet makes of a Secret.
	mounted   string
	authority *authority
	serial    int64
	rotations int

	// The version of the customizations that is surely in force, and the one that may be.
	installed, begun atomic.Int64

	// calling is held by clients while they ask, and locked for measuring.
	calling sync.RWMutex

	calls, failed atomic.Int64
	// done are the calls of each client.
	done      [soakClients]atomic.Int64
	latencies histogram
	heaps     []measurement
}

func newSoak(t *testing.T) *soak {
	s := &soak{t: t, mounted: t.TempDir(), authority: newAuthority(t, "authority 0")}
	var err error
	s.customizations, err = declarative.New(nil)
	require.NoError(t, err)
	s.reload()
	s.mount()
	r := run(t, handler(t, interpreter.NewChain(s.customizations)), webhook.WithShutdown(0, far),
		webhook.WithCertificateFiles(filepath.Join(s.mounted, "tls.crt"), filepath.Join(s.mounted, "tls.key")))
	s.url = r.url
	s.hooks = newLayer(t, s.registered(s.authority.bundle))
	s.asked = interpreter.NewChain(s.hooks)
	return s
}

// soakRules have their version in their answers.
const soakRules = `
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: workload}
spec:
  target: {apiVersion: workload.example.io/v1alpha1, kind: Workload}
  customizations:
    replicaResource: {luaScript: "function GetReplicas(o) return VERSION end"}
    replicaRevision: {luaScript: "function ReviseReplica(o, n) o.spec.replicas = n o.spec.version = VERSION return o end"}
    statusAggregation:
      luaScript: |
        function AggregateStatus(o, items)
          local ready = 0
          for _, item in ipairs(items) do ready = ready + item.status.ready end
          o.status = {ready = ready, version = VERSION}
          return o
        end
`

// reload puts the next version in force.
func (s *soak) reload() {
	version := s.begun.Add(1)
	list, err := declarative.Parse("rules.yaml", []byte(strings.ReplaceAll(soakRules, "VERSION", fmt.Sprint(version))))
	if err == nil {
		err = s.customizations.ReplaceAll(list)
	}
	assert.NoError(s.t, err)
	s.installed.Store(version)
}

// mount puts a new certificate of the authority in place, with the key: through a link, all at once.
func (s *soak) mount() {
	s.serial++
	fresh, link := fmt.Sprintf("..%d", s.serial), filepath.Join(s.mounted, "..data")
	dir := filepath.Join(s.mounted, fresh)
	require.NoError(s.t, os.Mkdir(dir, 0o700))
	certificate, key := s.authority.issue(s.serial, time.Now().Add(24*time.Hour), "127.0.0.1")
	require.NoError(s.t, os.WriteFile(filepath.Join(dir, "tls.crt"), certificate, 0o600))
	require.NoError(s.t, os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600))
	old, _ := os.Readlink(link)
	require.NoError(s.t, os.Symlink(fresh, link+"_tmp"))
	require.NoError(s.t, os.Rename(link+"_tmp", link))
	if old != "" {
		require.NoError(s.t, os.RemoveAll(filepath.Join(s.mounted, old)))
		return
	}
	for _, name := range []string{"tls.crt", "tls.key"} {
		require.NoError(s.t, os.Symlink(filepath.Join("..data", name), filepath.Join(s.mounted, name)))
	}
}

// rotate has a new authority sign a new certificate, in the order in which people do it: trust both, serve the
// new one, trust that alone. Every step opens new connections.
func (s *soak) rotate() {
	s.rotations++
	old := s.authority
	s.authority = newAuthority(s.t, fmt.Sprintf("authority %d", s.rotations))
	s.trust(old, s.authority)
	s.settle()
	s.mount()
	require.Eventually(s.t, func() bool { return s.served() == s.serial }, far, 5*time.Millisecond)
	s.trust(s.authority)
}

// trust registers the hook with the bundles of authorities.
func (s *soak) trust(authorities ...*authority) {
	var bundle []byte
	for _, a := range authorities {
		bundle = append(bundle, a.bundle...)
	}
	require.NoError(s.t, s.hooks.Replace([]*v1alpha1.ResourceInterpreterWebhookConfiguration{s.registered(bundle)}))
}

// registered leaves calls all the time that a configuration can: how busy the machine is says nothing about them.
func (s *soak) registered(bundle []byte) *v1alpha1.ResourceInterpreterWebhookConfiguration {
	c := configured(s.url, bundle)
	c.Webhooks[0].TimeoutSeconds = ptr(int32(30))
	return c
}

// served is the serial number of the certificate that a new connection is shown, 0 if it is not trusted.
func (s *soak) served() int64 {
	pool := x509.NewCertPool()
	pool.AddCert(s.authority.cert)
	c, err := tls.Dial("tcp", strings.TrimPrefix(s.url, "https://"), &tls.Config{RootCAs: pool})
	if err != nil {
		return 0
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

// settle waits until every client has begun and ended a call.
func (s *soak) settle() {
	var then [soakClients]int64
	for i := range then {
		then[i] = s.done[i].Load()
	}
	for i := range then {
		// The one that is under way does not count.
		require.Eventually(s.t, func() bool { return s.done[i].Load() > then[i]+1 }, far, time.Millisecond)
	}
}

// client asks one question after the other.
func (s *soak) client(ctx context.Context, i int) {
	questions := []func(context.Context) (version int64, err error){s.askReplicas, s.askRevised, s.askAggregated}
	for n := i; ctx.Err() == nil; n++ {
		s.calling.RLock()
		oldest, start := s.installed.Load(), time.Now()
		// Not with the context: a call that is given up proves nothing.
		version, err := questions[n%len(questions)](context.WithoutCancel(ctx))
		s.latencies.add(time.Since(start))
		s.calling.RUnlock()
		s.calls.Add(1)
		if newest := s.begun.Load(); err == nil && (version < oldest || version > newest) {
			err = fmt.Errorf("an answer of version %d, while %d to %d were in force", version, oldest, newest)
		}
		if err != nil && s.failed.Add(1) <= 10 {
			s.t.Log(time.Now().Format(time.TimeOnly), err)
		}
		s.done[i].Add(1)
	}
}

func (s *soak) askReplicas(ctx context.Context) (int64, error) {
	n, _, err := interpreter.Replicas(ctx, s.asked, workload())
	return int64(n), err
}

func (s *soak) askRevised(ctx context.Context) (int64, error) {
	o, err := interpreter.Revised(ctx, s.asked, workload(), 7)
	return s.fields(o, err, `{"paused":false,"replicas":7,"version":%d}`, "spec")
}

func (s *soak) askAggregated(ctx context.Context) (int64, error) {
	items := []interpreter.AggregatedStatusItem{
		{ClusterName: "a", Status: &runtimeobject.RawExtension{Raw: []byte(`{"ready":1}`)}},
		{ClusterName: "b", Status: &runtimeobject.RawExtension{Raw: []byte(`{"ready":2}`)}},
	}
	o, err := interpreter.Aggregated(ctx, s.asked, workload(), items)
	return s.fields(o, err, `{"ready":3,"version":%d}`, "status")
}

// fields looks at what an answer has under a name, and gives the version in it.
func (s *soak) fields(o *unstructured.Unstructured, err error, want, name string) (int64, error) {
	if err != nil {
		return 0, err
	}
	version, _, err := unstructured.NestedInt64(o.Object, name, "version")
	if err != nil {
		return 0, err
	}
	got, err := json.Marshal(o.Object[name])
	if want := fmt.Sprintf(want, version); err == nil && string(got) != want {
		err = fmt.Errorf("%s is %s, want %s", name, got, want)
	}
	return version, err
}

// measurement is what the process holds at a time.
type measurement struct {
	heap       uint64
	goroutines int
}

func (s *soak) measure() {
	s.calling.Lock()
	defer s.calling.Unlock()
	runtime.GC()
	runtime.GC() // What pools let go of in the first is collected in the second.
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.heaps = append(s.heaps, measurement{m.HeapAlloc, runtime.NumGoroutine()})
}

func (s *soak) allHeaps() string {
	var list []string
	for _, m := range s.heaps {
		list = append(list, mebibytes(m.heap))
	}
	return strings.Join(list, " ")
}

func mebibytes(n uint64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// histogram counts durations in classes that are a twentieth apart, in the same memory however many there are.
type histogram [400]atomic.Int64

const histogramStep = 1.05

func (h *histogram) add(d time.Duration) {
	class := int(math.Log(float64(max(d, 1)/time.Microsecond+1)) / math.Log(histogramStep))
	h[min(class, len(h)-1)].Add(1)
}

// quantile is the upper end of the class that a part of the durations do not exceed.
func (h *histogram) quantile(q float64) time.Duration {
	var total, seen int64
	for i := range h {
		total += h[i].Load()
	}
	for i := range h {
		if seen += h[i].Load(); float64(seen) >= q*float64(total) {
			return (time.Duration(math.Pow(histogramStep, float64(i+1))) * time.Microsecond).Round(time.Microsecond)
		}
	}
	return 0
}
