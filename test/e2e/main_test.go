// Package e2e proves on a real API server what the rest of the repository claims about one: that it takes what
// the interpreter gives. make e2e runs it.
//
// No controllers run, so nothing changes by itself: tests write what controllers would have written.
package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/go-logr/logr"

	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

// server is the control plane that all tests of the package share. Each test works in namespaces of its own.
var server *controlPlane

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// run starts the control plane, runs the tests, and says what was asked of the server.
func run(m *testing.M) (code int, err error) {
	start := time.Now()
	if server, err = startControlPlane(); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, server.stop(), os.RemoveAll(builtIn)) }()
	fmt.Printf("control plane up after %.1fs\n", time.Since(start).Seconds())
	code = m.Run()
	fmt.Printf("%d writes, %d refused, of which %d had to be\n", server.writes.Load(), server.refused.Load(), server.expected.Load())
	return code, nil
}

// controlPlane is etcd and an API server on the loopback interface, with our definitions installed.
type controlPlane struct {
	client.Client
	config *rest.Config
	env    *envtest.Environment

	// What was written, what of it was refused, and how often a test asked for a refusal.
	writes, refused, expected atomic.Int64
}

// startControlPlane starts one from the binaries in KUBEBUILDER_ASSETS. All default admission plugins are on,
// that for service accounts included, which envtest leaves out: what it does to pods is to be tested.
func startControlPlane() (*controlPlane, error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return nil, errors.New("KUBEBUILDER_ASSETS does not name the binaries of a control plane: run make e2e")
	}
	definitions, err := readDefinitions()
	if err != nil {
		return nil, err
	}
	p := &controlPlane{env: &envtest.Environment{CRDs: definitions, ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: time.Minute}}
	p.env.ControlPlane.GetAPIServer().Configure().Disable("disable-admission-plugins")
	if p.config, err = p.env.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the control plane: %w", err), p.env.Stop())
	}
	p.config.QPS = -1
	p.config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counted{p, next} })
	// Unknown and repeated fields are mistakes in a test, and in what the interpreter gives.
	options := client.Options{FieldValidation: metav1.FieldValidationStrict}
	if p.Client, err = client.New(p.config, options); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

func (p *controlPlane) stop() error {
	if err := p.env.Stop(); err != nil {
		return fmt.Errorf("stopping the control plane: %w", err)
	}
	return nil
}

// readDefinitions reads the manifests that come with the API's package.
func readDefinitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	entries, err := v1alpha1.CRDs.ReadDir("crds")
	if err != nil {
		return nil, err
	}
	var list []*apiextensionsv1.CustomResourceDefinition
	for _, entry := range entries {
		text, err := v1alpha1.CRDs.ReadFile(filepath.Join("crds", entry.Name()))
		if err != nil {
			return nil, err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			return nil, fmt.Errorf("%s: %w", entry.Name(), err)
		}
		list = append(list, crd)
	}
	return list, nil
}

// counted counts what goes through it.
type counted struct {
	plane *controlPlane
	next  http.RoundTripper
}

func (c counted) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(req)
	if req.Method != http.MethodGet {
		c.plane.writes.Add(1)
		if err == nil && resp.StatusCode >= http.StatusBadRequest {
			c.plane.refused.Add(1)
		}
	}
	return resp, err
}

var namespaces atomic.Int64

// newNamespace makes a namespace with the account that a controller would give it, without which no pod is let in.
func newNamespace(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("ns%d", namespaces.Add(1))
	must(t, server.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	must(t, server.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: name}}))
	return name
}
