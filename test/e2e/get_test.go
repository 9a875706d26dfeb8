package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// builtIn is the directory of the command, empty as long as it is not built. It goes when all tests have run.
var builtIn string

// built is the command, built once.
var built = sync.OnceValues(func() (bin string, err error) {
	if builtIn, err = os.MkdirTemp("", "interpret-e2e"); err != nil {
		return "", err
	}
	bin = filepath.Join(builtIn, "interpret")
	build := exec.Command("go", "build", "-o", bin, "./cmd/interpret")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return bin, nil
})

// shops is a CRD whose objects have pods, a scale subresource, printer columns, a short name and a category.
const shops = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.demo.io}
spec:
  group: demo.io
  names: {kind: Shop, plural: shops, shortNames: [sh], categories: [all]}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size, labelSelectorPath: .status.selector}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    - {name: Owner, type: string, jsonPath: .spec.owner, priority: 1}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, default: 2}
              owner: {type: string}
              template:
                type: object
                properties:
                  metadata: {type: object, x-kubernetes-preserve-unknown-fields: true}
                  spec:
                    type: object
                    x-kubernetes-preserve-unknown-fields: true
                    properties:
                      containers:
                        type: array
                        items:
                          type: object
                          x-kubernetes-preserve-unknown-fields: true
                          properties: {name: {type: string}, image: {type: string}}
          status:
            type: object
            properties:
              size: {type: integer}
              selector: {type: string}
              observedGeneration: {type: integer}
              conditions:
                type: array
                items:
                  type: object
                  required: [type, status]
                  properties: {type: {type: string}, status: {type: string}, reason: {type: string}, message: {type: string}}
`

// shopsThere are objects of it, and what they depend on.
const shopsThere = `
apiVersion: v1
kind: Namespace
metadata: {name: high-street}
---
apiVersion: v1
kind: Secret
metadata: {name: till, namespace: high-street}
---
apiVersion: demo.io/v1
kind: Shop
metadata: {name: bakery, namespace: high-street, labels: {sells: bread}}
spec:
  owner: ann
  size: 3
  template:
    spec:
      serviceAccountName: baker
      nodeSelector: {oven: "true"}
      containers:
      - {name: c, image: i, resources: {requests: {cpu: 250m, memory: 64Mi}}, envFrom: [{secretRef: {name: till}}]}
---
apiVersion: demo.io/v1
kind: Shop
metadata: {name: florist, namespace: high-street, labels: {sells: flowers}}
spec: {owner: bob}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: high-street, labels: {sells: bread}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: i}]}
`

// getting runs interpret get, and gives standard output and standard error.
type getting struct {
	t          *testing.T
	bin        string
	kubeconfig string
}

func (g *getting) run(args ...string) (stdout, stderr string, status int) {
	g.t.Helper()
	cmd := exec.CommandContext(g.t.Context(), g.bin, append([]string{"get", "--kubeconfig", g.kubeconfig, "--cache-dir", g.t.TempDir()}, args...)...)
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	_ = cmd.Run()
	return out.String(), err.String(), cmd.ProcessState.ExitCode()
}

// do is run for what must succeed, and say nothing on the way.
func (g *getting) do(args ...string) string {
	g.t.Helper()
	stdout, stderr, status := g.run(args...)
	require.Zero(g.t, status, "%s\n%s%s", strings.Join(args, " "), stdout, stderr)
	require.Empty(g.t, stderr, strings.Join(args, " "))
	return stdout
}

// gaps are what is between the columns of a table.
var gaps = regexp.MustCompile(` {2,}`)

// cells are the cells of a table without its header, by the name of the row, and those of the header.
func cells(t *testing.T, table string) (rows map[string]string, header string) {
	t.Helper()
	rows = map[string]string{}
	for i, line := range strings.Split(strings.TrimSuffix(table, "\n"), "\n") {
		line = gaps.ReplaceAllString(strings.TrimSpace(line), "|")
		if i == 0 {
			header = line
			continue
		}
		name, rest, _ := strings.Cut(line, "|")
		rows[name] = rest
	}
	return rows, header
}

func TestGetBesideKubectl(t *testing.T) {
	bin, err := built()
	require.NoError(t, err)
	p := newOwnPlane(t)
	p.do(shops, "apply", "-f", "-")
	p.do("", "wait", "--for=condition=Established", "crd/shops.demo.io")
	p.do(shopsThere, "apply", "-f", "-")
	p.do("", "patch", "shop", "florist", "-n", "high-street", "--subresource=status", "--type=merge",
		"-p", `{"status":{"observedGeneration":1,"size":2,"conditions":[{"type":"Ready","status":"False","reason":"Closed","message":"opens at nine"}]}}`)
	g := &getting{t, bin, p.kubeconfig}

	// What is shown of each, and who says so.
	rows, header := cells(t, g.do("sh", "-n", "high-street"))
	assert.Equal(t, "NAME|HEALTH|REASON|REPLICAS|NEEDS|DEPENDENCIES|BY", header)
	assert.Equal(t, map[string]string{
		"bakery":  "Unknown|KStatusNoStatus|3|cpu=250m,memory=64Mi|1/2 missing ServiceAccount/baker|kstatus / crd / crd",
		"florist": "Progressing|KStatusInProgress|2|-|0/0|kstatus / crd / crd",
	}, rows)
	rows, header = cells(t, g.do("shops.demo.io/florist", "-n", "high-street", "-o", "wide"))
	assert.Equal(t, "NAME|HEALTH|REASON|REPLICAS|NEEDS|DEPENDENCIES|BY|NODES|SIZE|OWNER|MESSAGE", header)
	assert.Equal(t, "Progressing|KStatusInProgress|2|-|0/0|kstatus any custom resource / crd shops.demo.io v1 / crd shops.demo.io v1|-|2|bob|Closed: opens at nine",
		rows["florist"])

	// As a document.
	var doc struct {
		Items []struct {
			Name, Namespace string
			Health          struct{ Status, Reason, Message, Layer, Rule string }
			Replicas        struct {
				Replica  int
				Requires struct {
					Namespace       string
					ResourceRequest map[string]string
					NodeClaim       struct{ NodeSelector map[string]string }
				}
			}
			Dependencies struct {
				Layer string
				Items []struct {
					Kind, Name string
					Exists     *bool
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(g.do("shop/bakery", "-n", "high-street", "-o", "json")), &doc))
	require.Len(t, doc.Items, 1)
	bakery := doc.Items[0]
	assert.Equal(t, "kstatus", bakery.Health.Layer)
	assert.Equal(t, "Unknown", bakery.Health.Status)
	assert.Equal(t, 3, bakery.Replicas.Replica)
	assert.Equal(t, map[string]string{"cpu": "250m", "memory": "64Mi"}, bakery.Replicas.Requires.ResourceRequest)
	assert.Equal(t, map[string]string{"oven": "true"}, bakery.Replicas.Requires.NodeClaim.NodeSelector)
	assert.Equal(t, "high-street", bakery.Replicas.Requires.Namespace)
	require.Len(t, bakery.Dependencies.Items, 2)
	for _, d := range bakery.Dependencies.Items {
		require.NotNil(t, d.Exists, d.Name)
		assert.Equal(t, d.Kind == "Secret", *d.Exists, d.Name)
	}

	// Names, as kubectl prints them.
	for _, args := range [][]string{
		{"shops", "-n", "high-street"},
		{"sh,deploy", "-n", "high-street"},
		{"sh", "florist", "bakery", "-n", "high-street"},
		{"shops.v1.demo.io/florist", "deployment.apps/web", "-n", "high-street"},
		{"all", "-n", "high-street"},
		{"all", "-A", "-l", "sells=bread"},
		{"shops", "-A", "--field-selector", "metadata.name=florist"},
		{"secrets,ns", "-A"},
		{"crd"},
		{"ns", "high-street"},
		{"cm", "-A", "--chunk-size", "1"},
	} {
		args = append(args, "-o", "name")
		assert.Equal(t, p.do("", append([]string{"get"}, args...)...), strings.TrimSpace(g.do(args...)), args)
	}

	// The server's own columns are those of kubectl.
	want, columns := cells(t, p.do("", "get", "deploy", "-n", "high-street", "-o", "wide"))
	rows, header = cells(t, g.do("deploy", "-n", "high-street", "-o", "wide"))
	assert.Contains(t, header, strings.TrimPrefix(columns, "NAME|"))
	age := strings.Split(want["web"], "|")
	assert.Contains(t, rows["web"], strings.Join(age[:3], "|"))

	// A customization on the server answers before what the CRD says; one that is given instead does so too.
	p.do(`
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: shops}
spec:
  target: {apiVersion: demo.io/v1, kind: Shop}
  customizations:
    healthInterpretation:
      luaScript: function InterpretHealth(o) return o.spec.owner == "ann", "it is the owner" end
`, "apply", "-f", "-")
	rows, _ = cells(t, g.do("sh", "-n", "high-street"))
	assert.Contains(t, rows["bakery"], "Healthy|it is the owner|")
	assert.Contains(t, rows["bakery"], "customization / crd / crd")
	assert.Contains(t, rows["florist"], "Degraded|it is the owner|")
	rows, _ = cells(t, g.do("sh", "-n", "high-street", "--from-cluster=false"))
	assert.Contains(t, rows["bakery"], "KStatusNoStatus")
	rows, _ = cells(t, g.do("sh", "-n", "high-street", "--from-cluster=false", "--kstatus=false"))
	assert.Contains(t, rows["bakery"], "-|-|3|")
	file := filepath.Join(t.TempDir(), "fail.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: fails}
spec:
  target: {apiVersion: demo.io/v1, kind: Shop}
  customizations:
    healthInterpretation:
      luaScript: function InterpretHealth(o) error("no bread") end
`), 0o600))
	stdout, stderr, status := g.run("sh", "bakery", "-n", "high-street", "-f", file)
	assert.Equal(t, 1, status, "a rule failed")
	rows, _ = cells(t, stdout)
	assert.Contains(t, rows["bakery"], "error|scriptError|3|")
	assert.Contains(t, stderr, "error: InterpretHealth of demo.io/v1 Shop high-street/bakery by customization fails: ")
	assert.Contains(t, stderr, "no bread")

	// What is not there.
	_, stderr, status = g.run("sh", "butcher", "bakery", "-n", "high-street")
	assert.Equal(t, 2, status)
	assert.Contains(t, stderr, `there is no shops.demo.io "butcher" in namespace high-street`)
	_, stderr, status = g.run("shopz")
	assert.Equal(t, 2, status)
	assert.Contains(t, stderr, `there is no resource or kind "shopz", did you mean`)
	stdout, stderr, status = g.run("sh")
	assert.Zero(t, status)
	assert.Empty(t, stdout)
	assert.Equal(t, "no such objects in namespace default\n", stderr)
}

// Whoever may not look is told what is missing, and gets the rest.
func TestGetWithFewPermissions(t *testing.T) {
	bin, err := built()
	require.NoError(t, err)
	p := newOwnPlane(t)
	p.do(shops, "apply", "-f", "-")
	p.do("", "wait", "--for=condition=Established", "crd/shops.demo.io")
	p.do(shopsThere, "apply", "-f", "-")
	user, err := p.env.AddUser(envtest.User{Name: "eve"}, nil)
	require.NoError(t, err)
	config, err := user.KubeConfig()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, config, 0o600))
	g := &getting{t, bin, file}
	grant := func(name, verbs, resource string) {
		p.do("", "create", "role", name, "-n", "high-street", "--verb="+verbs, "--resource="+resource)
		p.do("", "create", "rolebinding", name, "-n", "high-street", "--role="+name, "--user=eve")
	}

	// Rules that may be there and cannot be read are not passed over in silence.
	stdout, stderr, status := g.run("sh", "-n", "high-street")
	assert.Equal(t, 2, status)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "error: customizations on the server: no permission to list resourceinterpretercustomizations.config.karmada.io at cluster scope: ")
	assert.Contains(t, stderr, "--from-cluster=false")

	_, stderr, status = g.run("sh", "-n", "high-street", "--from-cluster=false")
	assert.Equal(t, 2, status)
	assert.Contains(t, stderr, "error: no permission to list shops.demo.io in namespace high-street: ")
	_, stderr, status = g.run("sh", "bakery", "-n", "high-street", "--from-cluster=false")
	assert.Equal(t, 2, status)
	assert.Contains(t, stderr, "error: no permission to get shops.demo.io in namespace high-street: ")
	_, stderr, status = g.run("sh", "-A", "--from-cluster=false")
	assert.Equal(t, 2, status)
	assert.Contains(t, stderr, "error: no permission to list shops.demo.io in all namespaces: ")

	grant("shops", "get,list", "shops.demo.io")
	_, stderr, status = g.run("sh", "-n", "high-street", "--from-cluster=false", "--watch")
	assert.Equal(t, 2, status)
	assert.Contains(t, stderr, "error: no permission to watch shops.demo.io in namespace high-street: ")

	// Without the CRD there is only what everybody knows.
	stdout, stderr, status = g.run("sh", "-n", "high-street", "--from-cluster=false")
	assert.Zero(t, status)
	assert.Equal(t, "warning: no permission to get customresourcedefinitions.apiextensions.k8s.io at cluster scope, so what CRDs say does not count\n", stderr)
	rows, _ := cells(t, stdout)
	assert.Equal(t, "Unknown|KStatusNoStatus|-|-|-|kstatus / - / -", rows["bakery"])

	p.do("", "create", "clusterrole", "crds", "--verb=get", "--resource=customresourcedefinitions")
	p.do("", "create", "clusterrolebinding", "crds", "--clusterrole=crds", "--user=eve")
	grant("accounts", "get", "serviceaccounts")
	stdout, stderr, status = g.run("sh", "-n", "high-street", "--from-cluster=false")
	assert.Zero(t, status)
	assert.Equal(t, "warning: no permission to get secrets in namespace high-street, so it is not known whether dependencies of this kind are there\n", stderr)
	rows, _ = cells(t, stdout)
	assert.Contains(t, rows["bakery"], "|0/2 missing ServiceAccount/baker unknown Secret/till|")

	_, stderr, status = g.run("sh", "--token", "wrong", "-n", "high-street")
	assert.Equal(t, 2, status)
	assert.NotEmpty(t, stderr)
}

func TestGetWatches(t *testing.T) {
	bin, err := built()
	require.NoError(t, err)
	p := newOwnPlane(t)
	p.do(shops, "apply", "-f", "-")
	p.do("", "wait", "--for=condition=Established", "crd/shops.demo.io")
	p.do(shopsThere, "apply", "-f", "-")
	// start runs a watch until the test ends, and gives what it prints.
	start := func(args ...string) (*output, func() error) {
		cmd := exec.Command(bin, append([]string{"get", "--kubeconfig", p.kubeconfig, "--cache-dir", t.TempDir(), "-n", "high-street", "--watch"}, args...)...)
		out := &output{}
		cmd.Stdout, cmd.Stderr = out, out
		require.NoError(t, cmd.Start())
		wait := sync.OnceValue(cmd.Wait)
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = wait()
		})
		return out, func() error {
			_ = cmd.Process.Signal(syscall.SIGINT)
			return wait()
		}
	}
	shows := func(out *output, lines ...string) {
		t.Helper()
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			rest := out.String()
			for _, line := range lines {
				_, after, found := strings.Cut(rest, line)
				require.True(c, found, "%q is not in its place in\n%s", line, out)
				rest = after
			}
		}, inStep, tick)
	}
	table, endTable := start("sh")
	one, endOne := start("sh", "bakery", "-o", "json")
	shows(table, "NAME", "bakery", "florist")
	shows(one, `"name": "bakery"`)

	p.do("", "patch", "shop", "bakery", "-n", "high-street", "--subresource=status", "--type=merge",
		"-p", `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)
	p.do("", "create", "serviceaccount", "baker", "-n", "high-street")
	shows(table, "bakery", "florist", "bakery", "Healthy", "KStatusCurrent", "3", "1/2")
	p.do("", "scale", "shop/bakery", "--replicas=5", "-n", "high-street")
	// By then the account is there, too.
	shows(table, "Healthy", "bakery", "Healthy", "5", "2/2")
	shows(one, `"status": "Unknown"`, `"status": "Healthy"`, `"replica": 5`)
	p.do("", "delete", "shop", "florist", "-n", "high-street")
	shows(table, "2/2", "florist", "Deleted")
	p.do("", "delete", "shop", "bakery", "-n", "high-street")
	shows(one, `"replica": 5`, `"deleted": true`)
	require.NoError(t, endTable(), "interrupted, a watch ends well")
	require.NoError(t, endOne())
	assert.NotContains(t, one.String(), "florist")
}
