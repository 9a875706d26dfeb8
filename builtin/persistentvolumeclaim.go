package builtin

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

// persistentVolumeClaim asks for storage. Binding happens once, in each member for itself.
var persistentVolumeClaim = kind{
	gvk: corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"),
	rules: rules{
		interpreter.Retain:          interpreter.RetainFunc(retainClaim),
		interpreter.AggregateStatus: interpreter.AggregateFunc(aggregateClaim),
		interpreter.InterpretHealth: interpreter.HealthFunc(claimHealth),
		interpreter.Prune:           pruneFunc(pruneClaim),
	},
	extra: rules{
		interpreter.Retain: interpreter.RetainFunc(retainClaimDefaults),
	},
}

// selectedNode is the annotation by which the scheduler tells the provisioner where the volume is needed.
const selectedNode = "volume.kubernetes.io/selected-node"

// What the volume binder and the provisioner write on a claim or volume about its binding, see
// https://kubernetes.io/docs/reference/labels-annotations-taints.
const (
	bindCompleted      = "pv.kubernetes.io/bind-completed"
	boundByController  = "pv.kubernetes.io/bound-by-controller"
	storageProvisioner = "volume.kubernetes.io/storage-provisioner"
)

// retainClaim keeps the binding, which is made in the member and cannot be changed. Its annotations belong to it:
// by them the binder knows that it has done its work, and which bindings it may undo.
func retainClaim(desired, observed *unstructured.Unstructured) error {
	if err := keep(textAt, desired, observed, "spec", "volumeName"); err != nil {
		return err
	}
	return retainAnnotations(desired, observed, selectedNode, bindCompleted, boundByController, storageProvisioner)
}

// retainClaimDefaults adds what the API server of the member has filled in where the template leaves it open: the
// default storage class, also later than at creation, and the volume mode. The spec is immutable, so that an update
// without them is refused; see https://kubernetes.io/docs/concepts/storage/persistent-volumes/#class-1 and
// https://kubernetes.io/docs/concepts/storage/persistent-volumes/#retroactive-default-storageclass-assignment. A class
// that is empty text is not open: it asks for a volume without class.
func retainClaimDefaults(desired, observed *unstructured.Unstructured) error {
	if err := retainClaim(desired, observed); err != nil {
		return err
	}
	for _, name := range []string{"storageClassName", "volumeMode"} {
		if _, err := textAt(desired.Object, "spec", name); err != nil {
			return err
		}
		wanted, err := valueAt(desired.Object, "spec", name)
		if err == nil && wanted == nil {
			err = replace(textAt, desired.Object, observed.Object, "spec", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// retainAnnotations keeps annotations that controllers of the member write, whatever the template has.
func retainAnnotations(desired, observed *unstructured.Unstructured, names ...string) error {
	for _, name := range names {
		if err := keep(textAt, desired, observed, "metadata", "annotations", name); err != nil {
			return err
		}
	}
	return nil
}

// aggregateClaim takes over the status of a single member, since there is nothing to fold. Of several members
// only the phase is told: their capacities are not one. Capacity and access modes, which are those of a
// volume once bound, outlast a member that does not repeat them.
func aggregateClaim(obj *unstructured.Unstructured, items []interpreter.AggregatedStatusItem) error {
	if len(items) == 0 {
		return nil
	}
	old, err := mapAt(obj.Object, "status")
	if err != nil {
		return err
	}
	status := map[string]any{}
	for _, name := range []string{"accessModes", "capacity"} {
		if v := old[name]; v != nil {
			status[name] = v
		}
	}
	if len(items) == 1 {
		_, err := eachReported(items, func(_ string, member raw) error {
			return member.entries(func(name string, value raw) error {
				v, err := value.value()
				if v != nil {
					status[name] = v
				}
				return err
			})
		})
		if err != nil {
			return err
		}
	}
	order := []corev1.PersistentVolumeClaimPhase{corev1.ClaimLost, corev1.ClaimPending, corev1.ClaimBound}
	if status["phase"], err = aggregatePhase(items, texts(order)); err != nil {
		return err
	}
	return set(obj.Object, status, "status")
}

// claimHealth takes a claim without volume for progressing, however long it waits: with a storage class that
// binds late it waits for the first pod that uses it.
func claimHealth(obj *unstructured.Unstructured) (interpreter.Health, error) {
	phase, err := textAt(obj.Object, "status", "phase")
	if err != nil {
		return interpreter.Health{}, err
	}
	switch corev1.PersistentVolumeClaimPhase(phase) {
	case corev1.ClaimBound:
		return verdict(interpreter.Healthy, phase, "the claim is bound to a volume"), nil
	case corev1.ClaimLost:
		return verdict(interpreter.Degraded, phase, "the volume of the claim is gone"), nil
	}
	return verdict(interpreter.Progressing, "NotBound", "waiting for a volume"), nil
}

// pruneClaim takes away the choice of a node that only the control plane has.
func pruneClaim(obj map[string]any) error {
	remove(obj, "metadata", "annotations", selectedNode)
	return nil
}
