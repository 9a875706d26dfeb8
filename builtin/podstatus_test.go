package builtin

import (
	"fmt"
	"strings"

	"github.com/kubeinterpret/interpret/interpreter"
)

// Statuses of one container, in the list that %s names.
const (
	waits   = "%s: [{name: c, state: {waiting: {}}}]"
	runs    = "%s: [{name: c, state: {running: {}}, lastState: {terminated: {exitCode: 0}}}]"
	done    = "%s: [{name: c, state: {terminated: {exitCode: 0}}}]"
	crashed = "%s: [{name: c, state: {terminated: {exitCode: 1}}}]"
)

// Specs by what comes of the container c, and the lists that tell of it.
var (
	restarted = []string{
		"containerStatuses {containers: [{name: c}]}",
		"containerStatuses {restartPolicy: Always, containers: [{name: other}, {name: c}]}",
		"containerStatuses {restartPolicy: Never, containers: [{name: c, restartPolicy: Always}]}",
		"containerStatuses {restartPolicy: Never, containers: [{name: c, restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [7]}}, {action: Restart, exitCodes: {operator: NotIn, values: [9]}}]}]}",
		"containerStatuses {restartPolicy: Never, containers: [{name: c}], initContainers: [{name: i, restartPolicyRules: [{action: RestartAllContainers}]}]}",
		"initContainerStatuses {restartPolicy: Never, containers: [{name: o, restartPolicyRules: [{action: RestartAllContainers}]}]}",
		"initContainerStatuses {initContainers: [{name: c}]}",
		"initContainerStatuses {restartPolicy: Never, initContainers: [{name: c, restartPolicy: Always}]}",
	}
	restartedOnFailure = []string{
		"containerStatuses {restartPolicy: OnFailure, containers: [{name: c}]}",
		"initContainerStatuses {restartPolicy: OnFailure, initContainers: [{name: c}]}",
		"containerStatuses {restartPolicy: Always, containers: [{name: c, restartPolicy: OnFailure}]}",
		"containerStatuses {restartPolicy: Never, containers: [{name: c, restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [1, 2.0]}}]}]}",
	}
	neverRestarted = []string{
		"containerStatuses {restartPolicy: Never, containers: [{name: c}]}",
		"containerStatuses {restartPolicy: Always, containers: [{name: other}], initContainers: [{name: c}]}",
		"containerStatuses {containers: [{name: c, restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [7]}}]}]}",
		// Without a policy of its own a container's rules do not count.
		"containerStatuses {restartPolicy: Never, containers: [{name: c, restartPolicyRules: [{action: Restart, exitCodes: {operator: NotIn}}]}]}",
		"initContainerStatuses {restartPolicy: Never, initContainers: [{name: c}, {name: p, restartPolicy: Always}]}",
		"initContainerStatuses {}",
		"ephemeralContainerStatuses {restartPolicy: Always, containers: [{name: c}]}",
	}
)

// podEndExamples are what is listed of a container by its state in the template and in two members, for each way in
// which its end is final.
func podEndExamples() (list []example) {
	for _, t := range []struct {
		name           string
		specs          []string
		template, m, n string
		want           []string
	}{
		{"all goes on", restarted, done, crashed, runs, []string{crashed, runs}},
		{"runs again", restarted, crashed, waits, done, []string{waits, done}},
		{"runs again after a failure", restartedOnFailure, crashed, waits, runs, []string{waits, runs}},
		{"a failure is no end", restartedOnFailure, waits, crashed, done, []string{crashed}},
		{"all have ended", restartedOnFailure, waits, done, done, []string{done, done}},
		{"ended and ended again", restartedOnFailure, done, done, crashed, []string{crashed}},
		{"ended, then everywhere", restartedOnFailure, done, done, done, []string{done, done}},
		{"ended and runs again", restartedOnFailure, done, runs, crashed, []string{crashed}},
		{"one goes on", neverRestarted, runs, crashed, runs, []string{runs}},
		{"one waits", neverRestarted, "", waits, done, []string{waits}},
		{"both have ended", neverRestarted, runs, crashed, done, []string{crashed, done}},
		{"ended, and one more", neverRestarted, done, crashed, done, []string{crashed, done}},
		{"ended and runs again", neverRestarted, crashed, runs, waits, nil},
		{"ended here and runs there", neverRestarted, done, runs, done, nil},
		{"refused before", neverRestarted, "%s: [{name: c, state: {running: {}}}, {name: c, state: {terminated: {exitCode: 0}}}]", runs, done, nil},
		{"ended and gone", neverRestarted, done, "", "", nil},
		{"others do not matter", neverRestarted, "%s: [{name: d, state: {terminated: {exitCode: 0}}}, {name: c, state: {terminated: null}}]", waits, waits, []string{waits, waits}},
	} {
		for i, spec := range t.specs {
			statuses, spec, _ := strings.Cut(spec, " ")
			in := func(status string) string { return strings.ReplaceAll("{"+status+"}", "%s", statuses) }
			var items []string
			for _, w := range t.want {
				items = append(items, strings.TrimSuffix(strings.TrimPrefix(w, "%s: ["), "]"))
			}
			want := "{}"
			if items != nil {
				want = in("%s: [" + strings.Join(items, ", ") + "]")
			}
			list = append(list, example{name: fmt.Sprintf("%s, %s %d", t.name, statuses, i), op: interpreter.AggregateStatus,
				object: "{spec: " + spec + ", status: " + in(t.template) + "}", members: []string{in(t.m), in(t.n)}, want: want})
		}
	}
	return list
}

var podStatusExamples = []example{
	{name: "devices of the template", op: interpreter.AggregateStatus,
		object: "spec: {containers: [{name: a, resources: {requests: {g/pu: '1'}, limits: {t/pu: '1'}, claims: [{name: x}, {name: z, request: r}]}}, {name: b}]}",
		members: []string{"{containerStatuses: [{name: a, allocatedResourcesStatus: [{name: g/pu, resources: [{resourceID: '1'}]}, {name: t/pu}, {name: 'claim:x'}, {name: 'claim:z/r'}, {name: 'claim:z'}]}, " +
			"{name: b, allocatedResourcesStatus: [{name: g/pu}]}, {name: injected, allocatedResourcesStatus: [{name: g/pu}]}], ephemeralContainerStatuses: [{name: a, allocatedResourcesStatus: [{name: g/pu}]}]}"},
		want: "{containerStatuses: [{name: a, allocatedResourcesStatus: [{name: g/pu, resources: [{resourceID: '1'}]}, {name: t/pu}, {name: 'claim:x'}, {name: 'claim:z/r'}]}, " +
			"{name: b}, {name: injected, allocatedResourcesStatus: [{name: g/pu}]}], ephemeralContainerStatuses: [{name: a}]}"},
	{name: "a container that is null", op: interpreter.AggregateStatus, members: []string{"containerStatuses: [null]"}, want: "containerStatuses: [null]"},
	{name: "a name of a wrong type", op: interpreter.AggregateStatus, members: []string{"containerStatuses: [{name: 1}]"}, wantErr: `cluster "m0": status.containerStatuses[0].name must be text, got 1`},
	{name: "a state of a wrong type", op: interpreter.AggregateStatus, members: []string{"containerStatuses: [{state: 1}]"}, wantErr: "status.containerStatuses[0].state must be an object"},
	{name: "an exit code of a wrong type", op: interpreter.AggregateStatus, members: []string{"containerStatuses: [{state: {terminated: {exitCode: x}}}]"}, wantErr: "status.containerStatuses[0].state.terminated.exitCode must be a whole number"},
	{name: "a template's name of a wrong type", op: interpreter.AggregateStatus, object: "status: {containerStatuses: [{name: 1}]}", members: []string{"{}"}, wantErr: "status.containerStatuses[0].name must be text"},
	{name: "a template's state of a wrong type", op: interpreter.AggregateStatus, object: "status: {containerStatuses: [{state: 1}]}", members: []string{"{}"}, wantErr: "status.containerStatuses[0].state must be an object"},
	{name: "a template's exit code of a wrong type", op: interpreter.AggregateStatus, object: "status: {containerStatuses: [{state: {terminated: {exitCode: x}}}]}", members: []string{"{}"}, wantErr: "status.containerStatuses[0].state.terminated.exitCode must be a whole number"},
	{name: "containers of a wrong type", op: interpreter.AggregateStatus, object: "spec: {containers: x}", members: []string{fmt.Sprintf(done, "containerStatuses")}, wantErr: "spec.containers must be a list"},
	{name: "a container's name of a wrong type", op: interpreter.AggregateStatus, object: "spec: {containers: [{name: 1}]}", members: []string{fmt.Sprintf(done, "containerStatuses")}, wantErr: "spec.containers[0].name must be text"},
	{name: "a policy of a wrong type", op: interpreter.AggregateStatus, object: "spec: {restartPolicy: 1, containers: [{name: c}]}", members: []string{fmt.Sprintf(done, "containerStatuses")}, wantErr: "spec.restartPolicy must be text"},
	{name: "an own policy of a wrong type", op: interpreter.AggregateStatus, object: "spec: {containers: [{name: c, restartPolicy: 1}]}", members: []string{fmt.Sprintf(done, "containerStatuses")}, wantErr: "restartPolicy must be text"},
	{name: "an action of a wrong type", op: interpreter.AggregateStatus, object: "spec: {containers: [{restartPolicyRules: [{action: 1}]}]}", members: []string{fmt.Sprintf(done, "containerStatuses")}, wantErr: "spec.containers[0].restartPolicyRules[0].action must be text"},
	{name: "an operator of a wrong type", op: interpreter.AggregateStatus, object: "spec: {containers: [{name: c, restartPolicy: Never, restartPolicyRules: [{exitCodes: {operator: 1}}]}]}", members: []string{fmt.Sprintf(done, "containerStatuses")}, wantErr: "restartPolicyRules[0].exitCodes.operator must be text"},
	{name: "codes of a wrong type", op: interpreter.AggregateStatus, object: "spec: {containers: [{name: c, restartPolicy: Never, restartPolicyRules: [{exitCodes: {values: [1, x]}}]}]}", members: []string{fmt.Sprintf(done, "containerStatuses")}, wantErr: "restartPolicyRules[0].exitCodes.values must hold whole numbers, got the text \"x\" at 1"},
	{name: "devices of a wrong type", op: interpreter.AggregateStatus, object: "spec: {containers: [{name: c}]}", members: []string{"containerStatuses: [{name: c, allocatedResourcesStatus: [{name: 1}]}]"}, wantErr: "allocatedResourcesStatus[0].name must be text"},
	{name: "requests of a wrong type", op: interpreter.AggregateStatus, object: "spec: {containers: [{name: c, resources: {requests: 1}}]}", members: []string{"containerStatuses: [{name: c, allocatedResourcesStatus: []}]"}, wantErr: "resources.requests must be an object"},
	{name: "a claim of a wrong type", op: interpreter.AggregateStatus, object: "spec: {containers: [{name: c, resources: {claims: [{name: 1}]}}]}", members: []string{"containerStatuses: [{name: c, allocatedResourcesStatus: []}]"}, wantErr: "resources.claims[0].name must be text"},
}
