package interpretertest_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kubeinterpret/interpret/interpreter/interpretertest"
)

func TestUpdateRewritesOnlyExpectations(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/update.yaml")
	require.NoError(t, err)
	cases, err := interpretertest.Parse("update.yaml", data)
	require.NoError(t, err)
	outcomes := make([]interpretertest.Outcome, len(cases))
	for i, c := range cases {
		outcomes[i] = c.Run(t.Context(), things())
	}
	updated, err := interpretertest.Update(data, cases, outcomes)
	require.NoError(t, err)
	assert.Equal(t, `# Everything but the expectations stays.

name: wrong   # the name
output:
  health:
    status: Degraded
  healthy: false
# What follows is another key.
operation: InterpretHealth
observedObj: {apiVersion: v1, kind: Thing, status: {phase: "Done"}}

# The end of the first.
---
name: right
operation: InterpretHealth
observedObj: {apiVersion: v1, kind: Thing}
output: {healthy: false} # stays
--- # the third
name: nothing expected
operation: InterpretReplica
desiredObj: {apiVersion: v1, kind: Thing, spec: {size: 3}}
output:
  replica: 3
  requires: null

---
name: no error
output:
  replica: 3
  requires: null

operation: InterpretReplica
desiredObj: {apiVersion: v1, kind: Thing, spec: {size: 3}}
---
name: another error
operation: InterpretReplica
desiredObj: {apiVersion: v1, kind: Thing, spec: {size: many}}
wantError: 'InterpretReplica of v1 Thing by test Thing: .spec.size accessor error:
  many is of the type string, expected int64'
---
name: an error out of the blue
operation: InterpretReplica
desiredObj: {apiVersion: v1, kind: Thing, spec: {size: many}}
output:
  replica: 3
---
{name: in braces, operation: InterpretReplica, desiredObj: {apiVersion: v1, kind: Thing}, "output": {"replica": 0, "requires": null}}
---
  name: indented
  operation: InterpretReplica
  desiredObj: {apiVersion: v1, kind: Thing}
  output:
    replica: 0
    requires: null
`, string(updated))

	again, err := interpretertest.Parse("update.yaml", updated)
	require.NoError(t, err)
	for _, c := range again {
		o := c.Run(t.Context(), things())
		assert.Equal(t, c.Name != "an error out of the blue", o.Passed, "%s: %s", c.Name, o)
	}
}

func TestUpdateRefuses(t *testing.T) {
	t.Parallel()
	recorded, err := interpretertest.ReadFile("testdata/thing.jsonl")
	require.NoError(t, err)
	_, err = interpretertest.Update(nil, recorded, make([]interpretertest.Outcome, len(recorded)))
	assert.ErrorContains(t, err, "recorded cases are not rewritten")

	_, err = interpretertest.Update(nil, recorded, nil)
	assert.ErrorContains(t, err, "3 cases, but 0 outcomes")

	cases, err := interpretertest.ReadFile("testdata/thing.yaml")
	require.NoError(t, err)
	_, err = interpretertest.Update([]byte("name: another file"), cases, make([]interpretertest.Outcome, len(cases)))
	assert.ErrorContains(t, err, "not in this file")
}
