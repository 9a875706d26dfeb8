package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
)

// Every line of an example in the help is a command that does what it says.
func TestExamplesInHelpRun(t *testing.T) {
	dir := t.TempDir()
	copyFile := func(from, to string) {
		data, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(from)))
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(to)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, to), data, 0o600))
	}
	copyFile("examples/customization/deployment.yaml", "customization.yaml")
	copyFile("examples/customization/web.yaml", "web.yaml")
	copyFile("examples/customization/observed.yaml", "observed.yaml")
	copyFile("examples/customization/deployment.yaml", "customizations/deployment.yaml")
	copyFile("examples/customization/deployment-test.yaml", "customizations/deployment-test.yaml")
	copyFile("builtin/crd/testdata/app/crd.yaml", "crds/app.yaml")
	// What the examples ask an API server for is there.
	f := fake(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/widgets/main") {
			fmt.Fprint(w, `{"apiVersion":"demo.io/v1","kind":"Widget","metadata":{"name":"main","namespace":"shop"}}`)
			return
		}
		fmt.Fprint(w, `{"kind":"List","items":[]}`)
	})
	t.Setenv("KUBECONFIG", f.kubeconfig(dir))
	t.Setenv("KUBECACHEDIR", t.TempDir())

	root := newRoot(newSession(nil, io.Discard, io.Discard))
	shown := 0
	for _, cmd := range append([]*cobra.Command{root}, root.Commands()...) {
		for line := range strings.Lines(cmd.Example) {
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			shown++
			if strings.HasPrefix(line, "interpret serve ") && !strings.Contains(line, "--print-config") {
				assertServes(t, dir, line)
				continue
			}
			run := exec.CommandContext(t.Context(), "sh", "-c", line)
			run.Dir = dir
			output, err := run.CombinedOutput()
			assert.NoError(t, err, "$ %s\n%s", line, output)
		}
	}
	assert.Greater(t, shown, 5)
}

// assertServes runs an example that goes on until it is interrupted. Others may use the port that it has.
func assertServes(t *testing.T, dir, line string) {
	run := exec.CommandContext(t.Context(), "sh", "-c", "exec "+strings.Replace(line, "serve ", "serve --listen 127.0.0.1:0 ", 1))
	run.Dir = dir
	log := newTranscript()
	run.Stderr = log
	require.NoError(t, run.Start())
	log.await(t, "msg=serving", 1)
	require.NoError(t, run.Process.Signal(os.Interrupt))
	assert.NoError(t, run.Wait(), "$ %s\n%s", line, log)
}

// Somebody who waits at a terminal can leave.
func TestInterruptedWhileReadingStandardInput(t *testing.T) {
	stdin, writer := io.Pipe()
	defer writer.Close()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	var stdout, stderr bytes.Buffer
	status := run(ctx, []string{"--operation", "Prune", "--desired-file", "-", "-o", "json"}, stdin, &stdout, &stderr)
	assert.Equal(t, statusUnusable, status)
	assert.Contains(t, stdout.String(), `"cause": "canceled"`)
	assert.Equal(t, "error: <stdin>: interrupted: context canceled\n", stderr.String())
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestAnAnswerThatCannotBeWrittenIsAnError(t *testing.T) {
	var stderr bytes.Buffer
	status := run(t.Context(), []string{"version"}, nil, brokenPipe{}, &stderr)
	assert.Equal(t, statusUnusable, status)
	assert.Equal(t, "error: broken pipe\n", stderr.String())
}

// Whatever is in a file: it ends in an answer or in an error, and an object that can be asked about comes back
// from a rule that changes nothing as it was.
func FuzzObjects(f *testing.F) {
	for _, seed := range []string{
		"", "null", "a: [", "\xff\xfe", "apiVersion: v1\nkind: Pod\n", "{}\n---\n{}\n",
		`{"apiVersion": "v1", "kind": "List", "items": [1, {"apiVersion": "a/b", "kind": "C", "metadata": null}]}`,
		"apiVersion: v1\nkind: Pod\nmetadata: &a {name: x}\nspec: {a: *a, n: 9007199254740993, f: 1e400, e: [], t: 2020-01-01}\n",
		// JSON that is no YAML.
		`{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "a/b", "kind": "C", "metadata": {"name": "\ud83d\ude00"}}, 1]}`,
		"- clusterName: m\n- null\n- [1]\n", "items: [{status: {a: 1}}]\n",
	} {
		f.Add([]byte(seed))
	}
	list, err := declarative.Parse("identity.yaml", []byte(`
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: identity}
spec:
  target: {apiVersion: "*", kind: "*"}
  customizations:
    pruning: {luaScript: function Prune(o) return o end}
`))
	require.NoError(f, err)
	rules, err := newRules(list, nil)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := newSession(nil, io.Discard, io.Discard)
		docs := s.split(input{"fuzz.yaml", data})
		for i := range docs {
			// Either may be an error; neither may be a panic.
			_, _ = s.itemsOf(&docs[i])
			objects, err := objectsOf(&docs[i])
			if err != nil {
				s.report(err)
				continue
			}
			for _, o := range objects {
				before := o.DeepCopy()
				res, err := rules.Interpret(t.Context(), &interpreter.Request{Operation: interpreter.Prune, Object: o.Unstructured})
				if err != nil {
					s.report(locate(err, rules.customizations))
				} else if !reflect.DeepEqual(before, res.Object) {
					t.Errorf("%v came back as %v", before, res.Object)
				}
			}
		}
	})
}

// A person, or a loop in a shell, should not notice the time the command takes to start.
func BenchmarkCommand(b *testing.B) {
	example := filepath.Join("..", "..", "examples", "customization")
	var cpu time.Duration
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), "interpret", "-f", filepath.Join(example, "deployment.yaml"),
			"--operation", "InterpretHealth", "--observed-file", filepath.Join(example, "web.yaml"))
		output, err := cmd.CombinedOutput()
		require.NoError(b, err, "%s", output)
		cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	b.ReportMetric(float64(cpu.Milliseconds())/float64(b.N), "cpu-ms/op")
}
