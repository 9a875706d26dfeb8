package interpretertest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/interpretertest"
)

const thing = "{apiVersion: v1, kind: Thing}"

func TestParse(t *testing.T) {
	t.Parallel()
	cases, err := interpretertest.ReadFile("testdata/thing.yaml")
	require.NoError(t, err)
	require.Len(t, cases, 4)
	assert.Equal(t, "testdata/thing.yaml:3: ready is healthy", cases[0].String())
	assert.Equal(t, interpreter.InterpretHealth, cases[1].Operation, "in any letter case")
	assert.Equal(t, 13, cases[1].Line)
	assert.Equal(t, ".status.phase", cases[2].WantError)
	assert.Equal(t, int64(3), cases[3].Object.Object["spec"].(map[string]any)["size"])
}

func TestParseReadsEveryInput(t *testing.T) {
	t.Parallel()
	cases, err := interpretertest.Parse("", []byte(`
operation: AggregateStatus
description: for people
observedObj: {apiVersion: v1, kind: Thing}
statusItems:
- {clusterName: one, applied: true, health: Healthy, status: {sum: 1}, someday: known}
- {clusterName: two}
output: {aggregatedStatus: {apiVersion: v1, kind: Thing}}
---
operation: ReviseReplica
desiredObj: {apiVersion: v1, kind: Thing, since: 2020-01-01T00:00:00Z, mode: 0644, on: yes}
inputReplicas: 0
--- {operation: Retain, desiredObj: {a: 1}, observedObj: {b: 2}}
`))
	require.NoError(t, err)
	require.Len(t, cases, 3)

	req, err := cases[0].Request()
	require.NoError(t, err)
	assert.Equal(t, "case 1", cases[0].Name)
	assert.Equal(t, "Thing", req.Object.GetKind(), "the one object, wherever it is")
	require.Len(t, req.Statuses, 2)
	assert.JSONEq(t, `{"sum": 1}`, string(req.Statuses[0].Status.Raw))
	assert.Nil(t, req.Statuses[1].Status)

	req, err = cases[1].Request()
	require.NoError(t, err)
	assert.Equal(t, int32(0), *req.Replicas)
	assert.Equal(t, "2020-01-01T00:00:00Z", req.Object.Object["since"])
	assert.Equal(t, true, req.Object.Object["true"], "as Kubernetes reads YAML")

	req, err = cases[2].Request()
	require.NoError(t, err)
	assert.Equal(t, int64(2), req.Observed.Object["b"])
}

func TestParseSaysWhatIsWrongAndWhere(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", "# nothing\n---\n", []string{"f.yaml: no cases"}},
		{"unknown key", "operation: Prune\ndesiredObject: {}\ndesiredObj: " + thing, []string{`f.yaml:2:1: unknown key "desiredObject", did you mean desiredObj? (have name, `}},
		{"unknown result", "operation: InterpretReplica\ndesiredObj: " + thing + "\noutput:\n  replicas: 3\n", []string{`f.yaml:4:3: output: unknown key "replicas", did you mean replica? (have replica, requires)`}},
		{"the object itself as output", "operation: ReviseReplica\ninputReplicas: 1\ndesiredObj: " + thing + "\noutput: " + thing, []string{`f.yaml:4:10: output: unknown key "apiVersion" (have revised)`, `unknown key "kind"`}},
		{"unknown part of the health", "operation: InterpretHealth\nobservedObj: " + thing + "\noutput:\n  health:\n    state: Healthy\n", []string{`f.yaml:5:5: output.health: unknown key "state", did you mean status?`}},
		{"no operation", "name: it\ndesiredObj: " + thing, []string{"f.yaml:1:1: operation is required (have Retain, "}},
		{"unknown operation", "name: it\n\noperation: Interprethealthy\n", []string{`f.yaml:3:1: invalid request: unknown operation "Interprethealthy", did you mean InterpretHealth?`}},
		{"no object", "operation: Prune", []string{"f.yaml:1:1: Prune needs desiredObj or observedObj"}},
		{"two objects", "operation: Prune\ndesiredObj: " + thing + "\nobservedObj: " + thing, []string{"f.yaml:3:1: Prune takes one object, got both"}},
		{"one object of two", "operation: Retain\ndesiredObj: " + thing, []string{"f.yaml:1:1: Retain needs both desiredObj and observedObj"}},
		{"an input too many", "operation: Prune\ndesiredObj: " + thing + "\ninputReplicas: 3", []string{"f.yaml:3:1: inputReplicas is no input of Prune"}},
		{"items too many", "operation: Prune\ndesiredObj: " + thing + "\nstatusItems: []", []string{"f.yaml:3:1: statusItems is no input of Prune"}},
		{"output and error", "operation: Prune\ndesiredObj: " + thing + "\nwantError: x\noutput: {pruned: {}}", []string{"f.yaml:3:1: output and wantError exclude each other"}},
		{"wrong types", "operation: AggregateStatus\nname: 7\ndesiredObj: []\nstatusItems: {}\noutput: 3\nwantError: {}", []string{"f.yaml:2:1: name must be text, got 7", "f.yaml:3:1: desiredObj must be an object", "f.yaml:4:1: statusItems must be a list", "f.yaml:5:1: output must be an object", "f.yaml:6:1: wantError must be text"}},
		{"a fraction of a replica", "operation: ReviseReplica\ndesiredObj: " + thing + "\ninputReplicas: 2.5", []string{"f.yaml:3:1: inputReplicas must be a whole number, got 2.5"}},
		{"an item that is none", "operation: AggregateStatus\ndesiredObj: " + thing + "\nstatusItems: [{}, 3]", []string{"f.yaml:3:1: statusItems[1]: "}},
		{"no object at all", "- operation: Prune", []string{"f.yaml:1:1: a case is an object"}},
		{"no YAML", "name: it\n---\nname: it\n  operation: [\n", []string{"f.yaml:4: not YAML: "}},
		{"a key twice", "name: it\nname: it\noperation: Prune", []string{`"name" already`}},
		{"a document without a marker", "name: it\n...\nname: it\n", []string{"documents must be separated by ---"}},
		{"every document counts", "operation: Prune\n---\noperation: Prun\n", []string{"f.yaml:1:1: Prune needs", "f.yaml:3:1: invalid request"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := interpretertest.Parse("f.yaml", []byte(tt.text))
			for _, want := range tt.want {
				assert.ErrorContains(t, err, want)
			}
		})
	}
}

func TestParseGivesSoundCasesBesideErrors(t *testing.T) {
	t.Parallel()
	cases, err := interpretertest.Parse("f.yaml", []byte("operation: Prun\n---\nname: good\noperation: Prune\ndesiredObj: "+thing))
	require.Error(t, err)
	require.Len(t, cases, 1)
	assert.Equal(t, "f.yaml:3: good", cases[0].String())
}

func TestParseRecordedSaysWhatIsWrongAndWhere(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "\n\n", "f.jsonl: no cases"},
		{"no JSON", "\n{", "f.jsonl:2: unexpected EOF"},
		{"unknown key", `{"objekt": {}}`, `f.jsonl:1: json: unknown field "objekt"`},
		{"unknown operation", `{"operation": "Prunes"}`, "did you mean Prune?"},
		{"unknown comparison", `{"operation": "Prune", "compare": "fuzzy"}`, `unknown comparison "fuzzy"`},
		{"unknown result", `{"operation": "Prune", "compare": "exact", "expect": {"objects": {}}}`, `expect: unknown key "objects", did you mean object?`},
		{"items that are none", `{"operation": "AggregateStatus", "compare": "exact", "items": 3}`, "items: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := interpretertest.ParseRecorded("f.jsonl", []byte(tt.text))
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

func TestReadFileNeedsAFile(t *testing.T) {
	t.Parallel()
	_, err := interpretertest.ReadFile(filepath.Join(t.TempDir(), "none.yaml"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func FuzzParse(f *testing.F) {
	for _, file := range []string{"testdata/thing.yaml", "testdata/update.yaml"} {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		// One by one, for the fuzzer tries to shorten what it finds and takes long about long texts.
		for doc := range strings.SplitSeq(string(data), "---\n") {
			f.Add(doc)
		}
	}
	f.Add("--- {operation: Prune, desiredObj: {}}\n---\n...\n")
	f.Add("operation: Retain\ndesiredObj: &o {a: [1, .5, ~]}\nobservedObj: *o\noutput: {retained: *o}\n")
	f.Fuzz(func(t *testing.T, text string) {
		cases, err := interpretertest.Parse("f.yaml", []byte(text))
		if err != nil {
			assert.NotEmpty(t, strings.TrimPrefix(err.Error(), "f.yaml:"))
		}
		outcomes := make([]interpretertest.Outcome, len(cases))
		for i, c := range cases {
			_, _ = c.Request()
			outcomes[i] = c.Run(t.Context(), things())
		}
		if err != nil {
			return
		}
		updated, err := interpretertest.Update([]byte(text), cases, outcomes)
		require.NoError(t, err)
		again, err := interpretertest.Parse("f.yaml", updated)
		require.NoError(t, err, "%s", updated)
		require.Len(t, again, len(cases))
		for i, c := range again {
			assert.Equal(t, cases[i].Object, c.Object)
			assert.Equal(t, cases[i].Observed, c.Observed)
		}
	})
}
