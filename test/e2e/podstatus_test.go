package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubeinterpret/interpret/interpreter"
)

// The containers of the pods here, by the list that tells of them: one of each kind that a template has, one that a
// member's admission has injected, and one for debugging.
var podContainers = map[string][]string{
	"containerStatuses":          {"main", "injected"},
	"initContainerStatuses":      {"prepare", "proxy"},
	"ephemeralContainerStatuses": {"debug"},
}

// podEnds are the ends that are final, by sample and container. A container that a sample does not have is not named
// here: all its ends are final, unless it says otherwise.
var podEnds = map[string]map[string][]string{
	"Pod":                              {"main": nil, "prepare": nil},
	"Pod, restarted on failure":        {"main": {"done"}, "prepare": {"done"}, "proxy": nil},
	"Pod, never restarted":             {"main": {"done", "crashed"}, "prepare": {"done", "crashed"}, "proxy": nil},
	"Pod, restarted as containers say": {"main": {"crashed"}, "prepare": {"done", "crashed"}, "proxy": nil},
	"Pod, restarted as a whole":        {"main": nil, "prepare": nil, "proxy": nil, "injected": nil},
}

// containerStates are what a container does, by a word. A container that is not known of has no state.
var containerStates = map[string]any{
	"waits":   map[string]any{"waiting": map[string]any{"reason": "CrashLoopBackOff"}},
	"runs":    map[string]any{"running": map[string]any{"startedAt": "2024-05-01T10:00:00Z"}},
	"done":    map[string]any{"terminated": map[string]any{"exitCode": int64(0), "startedAt": nil, "finishedAt": nil}},
	"crashed": map[string]any{"terminated": map[string]any{"exitCode": int64(1), "startedAt": nil, "finishedAt": nil}},
}

// podStatus is the status of a pod all of whose containers do the same, or of several pods in one. If a container is
// named it tells of no other.
func podStatus(only string, states ...string) map[string]any {
	status := map[string]any{"phase": "Running"}
	for list, names := range podContainers {
		var items []any
		for _, state := range states {
			for _, name := range names {
				if state != "" && (only == "" || only == name) {
					items = append(items, map[string]any{"name": name, "image": "i", "imageID": "d", "ready": state == "runs",
						"restartCount": int64(0), "lastState": nil, "state": containerStates[state]})
				}
			}
		}
		if items != nil {
			status[list] = items
		}
	}
	return status
}

// podEnd says whether a state is a final end of a container.
func podEnd(sample, container, state string) bool {
	final, told := podEnds[sample][container]
	if !told {
		final = []string{"done", "crashed"}
	}
	return slices.Contains(final, state)
}

// states are what a template says of a container, in order.
func states(t *testing.T, template *unstructured.Unstructured, list, container string) (words []string) {
	t.Helper()
	items, _, err := unstructured.NestedSlice(template.Object, "status", list)
	must(t, err)
	for _, item := range items {
		if fields := item.(map[string]any); fields["name"] == container {
			for word, state := range containerStates {
				if same(fields["state"], state) {
					words = append(words, word)
				}
			}
		}
	}
	return words
}

// goingOn are the states of a container that are no final end, or all of them if there are no others.
func goingOn(sample, container string, states []string) []string {
	var all, goesOn []string
	for _, state := range states {
		if state == "" {
			continue
		}
		all = append(all, state)
		if !podEnd(sample, container, state) {
			goesOn = append(goesOn, state)
		}
	}
	if goesOn != nil {
		return goesOn
	}
	return all
}

func requireGoingOn(t *testing.T, sample string, template *unstructured.Unstructured, members []string) {
	t.Helper()
	for list, names := range podContainers {
		for _, name := range names {
			require.Equal(t, goingOn(sample, name, members), states(t, template, list, name), "%s of a pod in %q", name, members)
		}
	}
}

// podItems are what members report whose containers do what is said, nothing at all for "silent".
func podItems(t *testing.T, members []string) (items []interpreter.AggregatedStatusItem) {
	t.Helper()
	for i, state := range members {
		obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod"}}
		if state != "silent" {
			obj.Object["status"] = podStatus("", state)
		}
		items = append(items, reported(t, fmt.Sprintf("m%d", i), obj))
	}
	return items
}

// Whatever a Pod's status was before, and whatever two members report, the server takes what it adds up to. A list of
// all that is reported it refuses where it must, and only there, so that the rules here are those of the server.
func TestPodStatusesAreAcceptedAfterAnyOther(t *testing.T) {
	var pairs [][]string
	words := []string{"", "runs", "done", "crashed"}
	for i, one := range words {
		for _, other := range words[i:] {
			pairs = append(pairs, []string{one, other})
		}
	}
	for sample := range podEnds {
		t.Run(sample, func(t *testing.T) {
			template := create(t, placed(t, object(t, samples[sample]), newNamespace(t)))
			refused := 0
			for _, before := range pairs {
				for _, members := range pairs {
					template = withStatus(t, withStatus(t, template, podStatus("")), podStatus("", before...))
					for _, name := range slices.Concat(slices.Collect(maps.Values(podContainers))...) {
						if !mayBeRefused(before, members) {
							continue
						}
						naive := template.DeepCopy()
						naive.Object["status"] = podStatus(name, members...)
						err := server.Status().Update(t.Context(), naive, client.DryRunAll)
						if slices.ContainsFunc(before, func(state string) bool { return podEnd(sample, name, state) }) {
							mustBeRefused(t, err, "may not be transitioned to non-terminated state")
							refused++
						} else {
							must(t, err)
						}
					}
					template = aggregated(t, template, podItems(t, members))
					requireGoingOn(t, sample, template, members)
				}
			}
			t.Logf("%d lists of all that is reported would have been refused", refused)
		})
	}
}

// mayBeRefused says whether a container has ended and does something else in the next status.
func mayBeRefused(before, after []string) bool {
	ended := slices.Contains(before, "done") || slices.Contains(before, "crashed")
	return ended && slices.Contains(after, "runs")
}

// Three members go through all states, leave, fall silent and come back.
func TestPodStatusesWalk(t *testing.T) {
	const steps = 50
	words := []string{"", "waits", "runs", "runs", "done", "crashed", "silent"}
	for sample := range podEnds {
		t.Run(sample, func(t *testing.T) {
			r := rand.New(rand.NewPCG(2024, uint64(len(sample))))
			template := create(t, placed(t, object(t, samples[sample]), newNamespace(t)))
			members := []string{"waits", "waits", "waits"}
			for range steps {
				members[r.IntN(len(members))] = words[r.IntN(len(words))]
				template = aggregated(t, template, podItems(t, members))
				heard := slices.DeleteFunc(slices.Clone(members), func(state string) bool { return state == "silent" })
				requireGoingOn(t, sample, template, heard)
			}
		})
	}
}

// Devices that only a member's pod asks for are not the template's.
func TestPodDevicesAreThoseOfTheTemplate(t *testing.T) {
	manifest := strings.Replace(samples["Pod"], "image: example.com/main:1", "image: example.com/main:1, resources: {limits: {example.com/gpu: 1}}", 1)
	template := create(t, placed(t, object(t, manifest), newNamespace(t)))
	items := podItems(t, []string{"runs"})
	devices := `[{"name":"example.com/gpu","resources":[{"resourceID":"gpu-1","health":"Healthy"}]}]`
	more := strings.Replace(devices, "[", `[{"name":"claim:made-for-it/gpu","resources":[{"resourceID":"gpu-2","health":"Healthy"}]},`, 1)
	items[0].Status.Raw = []byte(strings.Replace(string(items[0].Status.Raw), `"name":"main"`, `"name":"main","allocatedResourcesStatus":`+more, 1))
	template = aggregated(t, template, items)
	require.Contains(t, statusText(template), `"allocatedResourcesStatus":`+strings.ReplaceAll(devices, `"name":"example.com/gpu","resources":[{"resourceID":"gpu-1","health":"Healthy"}]`, `"name":"example.com/gpu","resources":[{"health":"Healthy","resourceID":"gpu-1"}]`))

	naive := template.DeepCopy()
	put([]any{map[string]any{"name": "claim:made-for-it/gpu"}}, "allocatedResourcesStatus")(&unstructured.Unstructured{Object: first(naive, "status", "containerStatuses")})
	mustBeRefused(t, server.Status().Update(t.Context(), naive, client.DryRunAll), "must match one of the container's resource claims")
}
