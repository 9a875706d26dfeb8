package builtin

import (
	"testing"

	"github.com/kubeinterpret/interpret/interpreter"
)

var persistentVolumeClaimExamples = []example{
	{name: "the binding", op: interpreter.Retain,
		object: "spec: {volumeName: other, accessModes: [ReadWriteOnce]}",
		observed: "{metadata: {annotations: {volume.kubernetes.io/selected-node: n1, pv.kubernetes.io/bind-completed: 'yes', other: o}}, " +
			"spec: {volumeName: pv-1, accessModes: [ReadOnlyMany]}}",
		want: "{metadata: {annotations: {volume.kubernetes.io/selected-node: n1, pv.kubernetes.io/bind-completed: 'yes'}}, " +
			"spec: {volumeName: pv-1, accessModes: [ReadWriteOnce]}}"},
	{name: "defaults of the member", op: interpreter.Retain,
		object:   "spec: {storageClassName: null, accessModes: [ReadWriteOnce]}",
		observed: "spec: {storageClassName: std, volumeMode: Filesystem}",
		want:     "spec: {storageClassName: std, volumeMode: Filesystem, accessModes: [ReadWriteOnce]}"},
	{name: "no class, and the template's mode", op: interpreter.Retain,
		object:   "spec: {storageClassName: '', volumeMode: Block}",
		observed: "spec: {storageClassName: std, volumeMode: Filesystem}",
		want:     "spec: {storageClassName: '', volumeMode: Block}"},
	{name: "no class in the member", op: interpreter.Retain, object: "spec: {}", observed: "spec: {storageClassName: ''}", want: "spec: {storageClassName: ''}"},
	{name: "a class of a wrong type", op: interpreter.Retain, observed: "spec: {storageClassName: 1}", wantErr: "spec.storageClassName must be text, got 1"},
	{name: "a desired mode of a wrong type", op: interpreter.Retain, object: "spec: {volumeMode: 1}", wantErr: "spec.volumeMode must be text, got 1"},
	{name: "not bound", op: interpreter.Retain, object: "spec: {volumeName: a}", observed: "spec: {volumeName: ''}", want: "spec: {volumeName: a}"},
	{name: "a volume of a wrong type", op: interpreter.Retain, observed: "spec: {volumeName: {}}", wantErr: "spec.volumeName must be text, got an object"},
	{name: "annotations of a wrong type", op: interpreter.Retain, observed: "metadata: {annotations: {pv.kubernetes.io/bind-completed: 1}}", wantErr: "must be text, got 1"},
	{name: "a desired spec of a wrong type", op: interpreter.Retain, object: "spec: x", observed: "spec: {volumeName: a}", wantErr: "spec must be an object"},

	{name: "lost before all", op: interpreter.AggregateStatus, members: []string{"phase: Bound", "phase: Lost", "phase: Pending", ""}, want: "phase: Lost"},
	{name: "pending before bound", op: interpreter.AggregateStatus, members: []string{"{phase: Bound, capacity: {storage: 1Gi}}", "phase: Pending"}, want: "phase: Pending"},
	{name: "all bound", op: interpreter.AggregateStatus, members: []string{"phase: Bound", "phase: Bound"}, want: "phase: Bound"},
	{name: "not reported is pending", op: interpreter.AggregateStatus, members: []string{"phase: Bound", ""}, want: "phase: Pending"},
	{name: "no phase is pending", op: interpreter.AggregateStatus, members: []string{"phase: Bound", "{}"}, want: "phase: Pending"},
	{name: "an unknown phase is pending", op: interpreter.AggregateStatus, members: []string{"phase: Weird"}, want: "phase: Pending"},
	{name: "the whole of a single member", op: interpreter.AggregateStatus,
		object:  "status: {phase: Pending, accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, conditions: []}",
		members: []string{"{phase: Bound, capacity: {storage: 2Gi}, future: [1], none: null}"},
		want:    "{phase: Bound, accessModes: [ReadWriteOnce], capacity: {storage: 2Gi}, future: [1]}"},
	{name: "nobody", op: interpreter.AggregateStatus, object: "status: {phase: Bound, conditions: []}", want: "{phase: Bound, conditions: []}"},
	{name: "nobody and nothing", op: interpreter.AggregateStatus, want: "null"},
	{name: "a status of a wrong type", op: interpreter.AggregateStatus, object: "status: x", members: []string{""}, wantErr: "status must be an object"},
	{name: "a member's phase of a wrong type", op: interpreter.AggregateStatus, members: []string{"phase: 1", ""}, wantErr: `cluster "m0": status.phase must be text, got 1`},

	{name: "bound", op: interpreter.InterpretHealth, object: "status: {phase: Bound}", want: "Healthy Bound"},
	{name: "lost", op: interpreter.InterpretHealth, object: "status: {phase: Lost}", want: "Degraded Lost"},
	{name: "pending", op: interpreter.InterpretHealth, object: "status: {phase: Pending}", want: "Progressing NotBound"},
	{name: "no status", op: interpreter.InterpretHealth, want: "Progressing NotBound"},
	{name: "a phase of a wrong type", op: interpreter.InterpretHealth, object: "status: {phase: 1}", wantErr: "status.phase must be text"},

	{name: "the control plane's node goes", op: interpreter.Prune,
		object: "{metadata: {annotations: {volume.kubernetes.io/selected-node: n1}}, spec: {volumeName: a}}",
		want:   "{metadata: {annotations: {}}, spec: {volumeName: a}}"},
	{name: "no annotations", op: interpreter.Prune, object: "{metadata: {annotations: null}}", want: "{metadata: {annotations: null}}"},
}

// Without the extra layer only the binding is retained, as Karmada does.
func TestClaimDefaultsAreExtra(t *testing.T) {
	t.Parallel()
	checkExample(t, interpreter.NewChain(Layer()), persistentVolumeClaim, example{
		op: interpreter.Retain, observed: "spec: {volumeName: pv-1, storageClassName: std}", want: "spec: {volumeName: pv-1}",
	})
}

var persistentVolumeExamples = []example{
	{name: "the claim", op: interpreter.Retain,
		object:   "spec: {claimRef: {name: mine}, hostPath: {path: /x}}",
		observed: "{metadata: {annotations: {pv.kubernetes.io/bound-by-controller: 'yes', other: o}}, spec: {claimRef: {name: c, uid: u}}}",
		want:     "{metadata: {annotations: {pv.kubernetes.io/bound-by-controller: 'yes'}}, spec: {claimRef: {name: c, uid: u}, hostPath: {path: /x}}}"},
	{name: "no claim", op: interpreter.Retain, object: "spec: {claimRef: {name: mine}}", observed: "spec: {claimRef: null}", want: "spec: {claimRef: {name: mine}}"},
	{name: "a claim of a wrong type", op: interpreter.Retain, observed: "spec: {claimRef: x}", wantErr: "spec.claimRef must be an object"},
	{name: "an observed spec of a wrong type", op: interpreter.Retain, observed: "spec: x", wantErr: "spec must be an object"},

	{name: "failed before all", op: interpreter.AggregateStatus, members: []string{"", "phase: Available", "phase: Failed"}, want: "phase: Failed"},
	{name: "not reported is pending", op: interpreter.AggregateStatus, members: []string{"phase: Available", ""}, want: "phase: Pending"},
	{name: "an unknown phase is pending", op: interpreter.AggregateStatus, members: []string{"phase: Available", "phase: Weird"}, want: "phase: Pending"},
	{name: "available before bound", op: interpreter.AggregateStatus, members: []string{"phase: Bound", "phase: Available"}, want: "phase: Available"},
	{name: "bound before released", op: interpreter.AggregateStatus, members: []string{"phase: Released", "phase: Bound"}, want: "phase: Bound"},
	{name: "released, and only the phase", op: interpreter.AggregateStatus, object: "status: {message: old}", members: []string{"{phase: Released, message: m}"}, want: "phase: Released"},
	{name: "nobody", op: interpreter.AggregateStatus, object: "status: {phase: Bound}", want: "phase: Bound"},
	{name: "the same phase since", op: interpreter.AggregateStatus, object: "status: {phase: Bound, lastPhaseTransitionTime: '2024-05-01T10:00:00Z'}",
		members: []string{"{phase: Bound, lastPhaseTransitionTime: '2024-05-01T11:00:00Z'}"}, want: "{phase: Bound, lastPhaseTransitionTime: '2024-05-01T10:00:00Z'}"},
	{name: "another phase", op: interpreter.AggregateStatus, object: "status: {phase: Bound, lastPhaseTransitionTime: '2024-05-01T10:00:00Z'}", members: []string{"phase: Released"}, want: "phase: Released"},
	{name: "a status of a wrong type", op: interpreter.AggregateStatus, object: "status: x", members: []string{""}, wantErr: "status must be an object"},
	{name: "a member's phase of a wrong type", op: interpreter.AggregateStatus, members: []string{"phase: {}"}, wantErr: "status.phase must be text, got an object"},

	{name: "bound", op: interpreter.InterpretHealth, object: "status: {phase: Bound}", want: "Healthy Bound"},
	{name: "available", op: interpreter.InterpretHealth, object: "status: {phase: Available}", want: "Healthy Available"},
	{name: "released for good", op: interpreter.InterpretHealth, object: "{spec: {persistentVolumeReclaimPolicy: Retain}, status: {phase: Released}}", want: "Degraded Released"},
	{name: "released and about to go", op: interpreter.InterpretHealth, object: "{spec: {persistentVolumeReclaimPolicy: Delete}, status: {phase: Released}}", want: "Progressing Released"},
	{name: "failed", op: interpreter.InterpretHealth, object: "status: {phase: Failed, message: m}", want: "Degraded Failed"},
	{name: "no status", op: interpreter.InterpretHealth, want: "Progressing NotAvailable"},
	{name: "a phase of a wrong type", op: interpreter.InterpretHealth, object: "status: {phase: 1}", wantErr: "status.phase must be text"},
	{name: "a message of a wrong type", op: interpreter.InterpretHealth, object: "status: {message: 1}", wantErr: "status.message must be text"},
	{name: "a policy of a wrong type", op: interpreter.InterpretHealth, object: "{spec: {persistentVolumeReclaimPolicy: 1}, status: {phase: Released}}", wantErr: "spec.persistentVolumeReclaimPolicy must be text"},
}
