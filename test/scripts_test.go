package test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/luakube"
)

// Scripts that pages show, in blocks fenced as "lua", are rules that run: on an object with spec and status, and
// on one without.
func TestScriptsInPagesRun(t *testing.T) {
	engine, err := luakube.New()
	require.NoError(t, err)
	ran := 0
	walkModule(t, func(file string, _ fs.DirEntry) {
		if path.Ext(file) != ".md" {
			return
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		for _, script := range scriptsIn(string(text)) {
			contract := contractOf(script)
			if !assert.NotNil(t, contract, "%s: the script defines no function of a rule:\n%s", file, script) {
				continue
			}
			ran++
			compiled, err := engine.Compile(file, script, contract.Function)
			if !assert.NoError(t, err) {
				continue
			}
			for _, fields := range []map[string]any{{}, {"spec": map[string]any{"replicas": int64(2)}, "status": map[string]any{"ready": int64(1)}}} {
				assert.NoError(t, runScript(t, compiled, contract, fields), script)
			}
		}
	})
	assert.NotZero(t, ran, "no page shows a script")
}

func scriptsIn(page string) []string {
	var scripts []string
	for i, block := range strings.Split(page, "```lua\n") {
		if i > 0 {
			script, _, _ := strings.Cut(block, "```")
			scripts = append(scripts, script)
		}
	}
	return scripts
}

func contractOf(script string) *interpreter.Contract {
	for _, c := range interpreter.Contracts() {
		if strings.Contains(script, "function "+c.Function+"(") {
			return c
		}
	}
	return nil
}

func runScript(t *testing.T, script *luakube.Script, contract *interpreter.Contract, fields map[string]any) error {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "demo.io/v1", "kind": "Widget", "metadata": map[string]any{"name": "w"}}}
	for k, v := range fields {
		object.Object[k] = v
	}
	n := int32(3)
	req := &interpreter.Request{Operation: contract.Operation, Object: object, Observed: object, Replicas: &n, Statuses: []interpreter.AggregatedStatusItem{
		{ClusterName: "m1"}, {ClusterName: "m2", Status: &runtime.RawExtension{Raw: []byte(`{"ready":1}`)}},
	}}
	call := &luakube.Call{}
	for _, in := range contract.In {
		call.Args = append(call.Args, in.Of(req))
	}
	for _, out := range contract.Out {
		call.Rets = append(call.Rets, luakube.Ret{Noun: out.Noun, Optional: out.Optional, Only: out.Only, Base: object.Object, Into: out.In(&interpreter.Result{})})
	}
	_, err := script.Call(t.Context(), call)
	return err
}
