package e2e

import (
	"encoding/base64"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubeinterpret/interpret/interpreter"
)

// retention is an object in a member that its control plane keeps in step.
type retention struct {
	sample string
	// admit is what the member's admission does to a new object.
	admit func(*unstructured.Unstructured)
	// lives is what controllers of the member write afterwards.
	lives func(*testing.T, *unstructured.Unstructured) *unstructured.Unstructured
	// change is what the user does to the template then.
	change func(*unstructured.Unstructured)
	// without is why an update without Retain is refused, empty if it is not.
	without string
	// kept are fields that are the member's.
	kept [][]string
	// onlyFull marks what the plain rules do not cover.
	onlyFull bool
	// asWritten marks templates that no control plane is to have touched.
	asWritten bool
}

// put makes a change that sets a field.
func put(v any, path ...string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(obj.Object, v, path...); err != nil {
			panic(err)
		}
	}
}

// written is what a controller does that sets fields.
func written(changes ...func(*unstructured.Unstructured)) func(*testing.T, *unstructured.Unstructured) *unstructured.Unstructured {
	return func(t *testing.T, obj *unstructured.Unstructured) *unstructured.Unstructured {
		t.Helper()
		obj = obj.DeepCopy()
		for _, change := range changes {
			change(obj)
		}
		return update(t, obj)
	}
}

// first is the first of a list of objects.
func first(obj *unstructured.Unstructured, path ...string) map[string]any {
	list, _, err := unstructured.NestedFieldNoCopy(obj.Object, path...)
	if err != nil {
		panic(err)
	}
	return list.([]any)[0].(map[string]any)
}

func bind(t *testing.T, obj *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	binding := object(t, "{apiVersion: v1, kind: Binding, target: {kind: Node, name: n1}}")
	binding.SetName(obj.GetName())
	must(t, server.SubResource("binding").Create(t.Context(), obj, binding))
	obj = obj.DeepCopy()
	must(t, server.Get(t.Context(), client.ObjectKeyFromObject(obj), obj))
	return obj
}

func labelled(name, value string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		labels := obj.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[name] = value
		obj.SetLabels(labels)
	}
}

func all(changes ...func(*unstructured.Unstructured)) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		for _, change := range changes {
			change(obj)
		}
	}
}

func nothing(*unstructured.Unstructured) {}

// inject is what a service mesh does to a pod.
func inject(obj *unstructured.Unstructured) {
	spec := obj.Object["spec"].(map[string]any)
	proxy := map[string]any{"name": "mesh", "image": "example.com/mesh:1", "restartPolicy": "Always"}
	before, _ := spec["initContainers"].([]any)
	spec["initContainers"] = append([]any{proxy}, before...)
	spec["containers"] = append(spec["containers"].([]any), map[string]any{"name": "injected", "image": "example.com/injected:1"})
	spec["schedulerName"] = "other"
	spec["tolerations"] = []any{map[string]any{"key": "mesh", "operator": "Exists"}}
}

var retentions = map[string]retention{
	"replicas of an autoscaler": {sample: "Deployment", admit: nothing,
		lives: written(put(int64(7), "spec", "replicas")), change: labelled("resourcetemplate.karmada.io/retain-replicas", "true"),
		kept: [][]string{{"spec", "replicas"}}},
	"replicas of a set": {sample: "ReplicaSet", admit: nothing, onlyFull: true,
		lives: written(put(int64(7), "spec", "replicas")), change: labelled("resourcetemplate.karmada.io/retain-replicas", "true"),
		kept: [][]string{{"spec", "replicas"}}},
	"replicas of a database": {sample: "StatefulSet", admit: nothing, onlyFull: true,
		lives: written(put(int64(7), "spec", "replicas")), change: labelled("resourcetemplate.karmada.io/retain-replicas", "true"),
		kept: [][]string{{"spec", "replicas"}}},
	"replicas of a controller": {sample: "ReplicationController", admit: nothing, onlyFull: true,
		lives: written(put(int64(7), "spec", "replicas")), change: labelled("resourcetemplate.karmada.io/retain-replicas", "true"),
		kept: [][]string{{"spec", "replicas"}, {"spec", "selector"}}},
	"a pod with a token, on a node": {sample: "Pod", admit: nothing, lives: bind, asWritten: true,
		change: func(obj *unstructured.Unstructured) {
			first(obj, "spec", "containers")["image"] = "example.com/main:2"
		},
		without: "pod updates may not change fields other than",
		kept:    [][]string{{"spec", "nodeName"}, {"spec", "volumes"}, {"spec", "tolerations"}, {"spec", "serviceAccountName"}}},
	"a pod with a sidecar": {sample: "Pod, never restarted", admit: inject, lives: bind, asWritten: true, onlyFull: true,
		change: func(obj *unstructured.Unstructured) {
			first(obj, "spec", "containers")["image"] = "example.com/main:2"
			first(obj, "spec", "initContainers")["image"] = "example.com/prepare:2"
			put([]any{map[string]any{"key": "more", "operator": "Exists"}}, "spec", "tolerations")(obj)
			put(int64(60), "spec", "activeDeadlineSeconds")(obj)
		},
		without: "pod updates may not add or remove containers",
		kept:    [][]string{{"spec", "nodeName"}, {"spec", "schedulerName"}}},
	"an address": {sample: "Service", admit: nothing, lives: written(), change: func(obj *unstructured.Unstructured) { first(obj, "spec", "ports")["targetPort"] = "http" },
		kept: [][]string{{"spec", "clusterIP"}, {"spec", "clusterIPs"}, {"spec", "ipFamilies"}}},
	"no address": {sample: "Service, headless", admit: nothing, lives: written(), change: labelled("a", "b"), kept: [][]string{{"spec", "clusterIP"}}},
	"node ports": {sample: "Service, node port", admit: nothing, lives: written(),
		change: func(obj *unstructured.Unstructured) { first(obj, "spec", "ports")["port"] = int64(8080) },
		kept:   [][]string{{"spec", "clusterIP"}}},
	"a balancer's ports": {sample: "Service, load balancer", admit: nothing,
		lives: written(put("example.com/class", "metadata", "annotations", "balancer")), change: labelled("a", "b"),
		kept: [][]string{{"spec", "clusterIP"}, {"spec", "ports"}, {"spec", "healthCheckNodePort"}}},
	"a balancer no more": {sample: "Service, load balancer", admit: nothing, lives: written(),
		change: all(put("ClusterIP", "spec", "type"), func(obj *unstructured.Unstructured) {
			unstructured.RemoveNestedField(obj.Object, "spec", "externalTrafficPolicy")
			unstructured.RemoveNestedField(obj.Object, "spec", "allocateLoadBalancerNodePorts")
		}),
		kept: [][]string{{"spec", "clusterIP"}}},
	"a name elsewhere": {sample: "Service, external name", admit: nothing, lives: written(), change: put("other.example.com", "spec", "externalName")},
	"an address becomes a name": {sample: "Service", admit: nothing, lives: written(), change: func(obj *unstructured.Unstructured) {
		obj.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "db.example.com"}
	}},
	"an account's secrets": {sample: "ServiceAccount", admit: nothing,
		lives: written(put([]any{map[string]any{"name": "registry"}, map[string]any{"name": "platform"}}, "imagePullSecrets"),
			put([]any{map[string]any{"name": "mine"}, map[string]any{"name": "robot-dockercfg-1"}}, "secrets")),
		change: labelled("a", "b"), kept: [][]string{{"secrets"}, {"imagePullSecrets"}}},
	"an account's token": {sample: "Secret, token", admit: nothing,
		lives:  written(put(map[string]any{"token": "dG9rZW4=", "namespace": "bnM="}, "data"), put("u-i-d", "metadata", "annotations", "kubernetes.io/service-account.uid")),
		change: labelled("a", "b"), kept: [][]string{{"data"}}},
	"a bound claim": {sample: "PersistentVolumeClaim", admit: nothing,
		lives: written(put("pv1", "spec", "volumeName"), put("yes", "metadata", "annotations", "pv.kubernetes.io/bind-completed")), change: labelled("a", "b"),
		without: "spec is immutable after creation", kept: [][]string{{"spec", "volumeName"}}},
	"a claim of the default class": {sample: "PersistentVolumeClaim", admit: put("standard", "spec", "storageClassName"), onlyFull: true,
		lives: written(put("pv1", "spec", "volumeName")), change: labelled("a", "b"),
		without: "spec is immutable after creation", kept: [][]string{{"spec", "volumeName"}, {"spec", "storageClassName"}}},
	"a bound volume": {sample: "PersistentVolume", admit: nothing,
		lives:  written(put(map[string]any{"namespace": "shop", "name": "data", "uid": "u-i-d"}, "spec", "claimRef"), put("yes", "metadata", "annotations", "pv.kubernetes.io/bound-by-controller")),
		change: put("Delete", "spec", "persistentVolumeReclaimPolicy"), kept: [][]string{{"spec", "claimRef"}}},
	"a job's selector": {sample: "Job", admit: nothing, lives: written(), change: put(int64(3), "spec", "parallelism"),
		without: "field is immutable", kept: [][]string{{"spec", "selector"}, {"spec", "template", "metadata", "labels"}}},
	"a bare job's selector": {sample: "Job, bare", admit: nothing, lives: written(), change: put(true, "spec", "suspend"),
		without: "field is immutable", kept: [][]string{{"spec", "selector"}}},
	"a job with a selector": {sample: "Job, manual selector", admit: nothing, lives: written(), change: labelled("a", "b"), kept: [][]string{{"spec", "selector"}}},
	"a namespace's labels": {sample: "Namespace", admit: nothing, lives: written(labelled("mesh", "on")), change: labelled("team", "other"), onlyFull: true,
		kept: [][]string{{"spec", "finalizers"}}},
	"a webhook's CA": {sample: "ValidatingWebhookConfiguration", admit: nothing, onlyFull: true,
		lives: written(func(obj *unstructured.Unstructured) {
			put("Q0E=", "clientConfig", "caBundle")(&unstructured.Unstructured{Object: first(obj, "webhooks")})
		}),
		change: labelled("a", "b"), kept: [][]string{{"webhooks"}}},
	"the CAs of several webhooks": {sample: "MutatingWebhookConfiguration", admit: nothing, onlyFull: true,
		lives: written(func(obj *unstructured.Unstructured) {
			for i, hook := range obj.Object["webhooks"].([]any) {
				put([]string{"Q0E=", "TmV3"}[i], "clientConfig", "caBundle")(&unstructured.Unstructured{Object: hook.(map[string]any)})
			}
		}),
		change: labelled("a", "b"), kept: [][]string{{"webhooks"}}},
	"a converter's CA": {sample: "CustomResourceDefinition", admit: nothing, onlyFull: true,
		lives:  trusted("True", "Established", "spec", "conversion", "webhook", "clientConfig", "caBundle"),
		change: labelled("a", "b"), kept: [][]string{{"spec", "conversion"}}},
	"an extension's CA": {sample: "APIService", admit: nothing, onlyFull: true,
		lives:  trusted("False", "Available", "spec", "caBundle"),
		change: put(int64(200), "spec", "versionPriority"), kept: [][]string{{"spec", "caBundle"}}},
}

// trusted is what an injector of CAs does, once the server's own controllers have written their last condition. They
// would change the object beneath us.
func trusted(status, condition string, path ...string) func(*testing.T, *unstructured.Unstructured) *unstructured.Unstructured {
	return func(t *testing.T, obj *unstructured.Unstructured) *unstructured.Unstructured {
		t.Helper()
		obj = obj.DeepCopy()
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			if assert.NoError(c, server.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)) {
				assert.Contains(c, statusText(obj), `"status":"`+status+`","type":"`+condition+`"`)
			}
		}, inStep, tick)
		ca := base64.StdEncoding.EncodeToString(server.config.CAData)
		return written(put(ca, path...))(t, obj)
	}
}

// carried gives a retained object what whoever updates it adds from the observed one, whatever the kind.
func carried(retained, observed *unstructured.Unstructured) *unstructured.Unstructured {
	retained.SetResourceVersion(observed.GetResourceVersion())
	retained.SetFinalizers(observed.GetFinalizers())
	retained.SetOwnerReferences(observed.GetOwnerReferences())
	labels, annotations := maps.Clone(observed.GetLabels()), maps.Clone(observed.GetAnnotations())
	if labels != nil {
		maps.Copy(labels, retained.GetLabels())
		retained.SetLabels(labels)
	}
	if annotations != nil {
		maps.Copy(annotations, retained.GetAnnotations())
		retained.SetAnnotations(annotations)
	}
	return retained
}

// Templates that go on changing are accepted as updates of objects that live in a member, which keep what is
// theirs; and an update that changes nothing changes nothing.
func TestRetainedObjectsAreAcceptedAsUpdates(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(retentions)) {
		r := retentions[name]
		for chainName, chain := range chains {
			if r.onlyFull && chain == plain {
				continue
			}
			t.Run(name+"/"+chainName, func(t *testing.T) {
				template := object(t, samples[r.sample])
				if !r.asWritten {
					control := create(t, placed(t, template, newNamespace(t)))
					template = pruned(t, full, control)
				}
				member := newNamespace(t)
				desired := placed(t, template, member)
				admitted := desired.DeepCopy()
				r.admit(admitted)
				live := r.lives(t, create(t, admitted))

				r.change(desired)
				bare := carried(desired.DeepCopy(), live)
				err := server.Update(t.Context(), bare, client.DryRunAll)
				if r.without != "" {
					mustBeRefused(t, err, r.without)
				} else {
					must(t, err)
				}

				before := live
				for range 3 {
					retained, err := interpreter.Retained(t.Context(), chain, desired, live)
					must(t, err)
					again, err := interpreter.Retained(t.Context(), chain, retained, live)
					must(t, err)
					require.Equal(t, retained, again)
					next := update(t, carried(retained, live))
					if live != before {
						require.Equal(t, live.GetResourceVersion(), next.GetResourceVersion(), "nothing was to change\nfrom %v\nto %v", live, next)
					}
					live = next
				}
				if r.sample == "Service, node port" {
					require.Equal(t, nodePorts(t, before), nodePorts(t, live))
				}
				for _, path := range r.kept {
					require.Equal(t, nested(t, before, path...), nested(t, live, path...), path)
				}
			})
		}
	}
}
