package podtemplate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubeinterpret/interpret/interpreter"
)

// The kinds that a pod refers to, all of v1 and in the pod's namespace.
const (
	configMap      = "ConfigMap"
	secret         = "Secret"
	serviceAccount = "ServiceAccount"
	claim          = "PersistentVolumeClaim"
)

// Dependencies are the objects that must be there for a pod made from a template to start, sorted and each
// once; a Pod is a template too. Optional references are included: where the object exists, the pod uses it.
//
// Generic ephemeral volumes give none, since their claims are made along with the pod. The ServiceAccount
// "default" gives none either: every namespace has one. Neither do priority and runtime classes, which belong
// to the cluster, nor resource claims.
//
// The namespace is written into the references as it is, empty included. No two references are equal, and
// the order depends on the references alone, so two answers can be compared as they are.
func Dependencies(template map[string]any, namespace string) ([]interpreter.DependentObjectReference, error) {
	spec, err := object(template, "spec")
	if spec == nil || err != nil {
		return nil, err
	}
	c := collector{namespace: namespace}
	if err := c.pod(spec); err != nil {
		return nil, within("spec", err)
	}
	slices.SortFunc(c.found, func(a, b interpreter.DependentObjectReference) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	return slices.Compact(c.found), nil
}

// collector gathers references as it walks through a pod spec. What it passes on the way costs nothing: an
// environment of plain values allocates not a byte.
type collector struct {
	namespace string
	found     []interpreter.DependentObjectReference
}

// pod walks through all of a pod spec that can refer to something.
func (c *collector) pod(spec map[string]any) error {
	account, err := text(spec, "serviceAccountName")
	if err != nil {
		return err
	}
	if account == "" {
		// The field's old name counts only where the new one is empty.
		if account, err = text(spec, "serviceAccount"); err != nil {
			return err
		}
	}
	if account != "default" {
		c.add(serviceAccount, account)
	}
	if err := c.pullSecrets(spec); err != nil {
		return err
	}
	for _, field := range [...]string{"containers", "initContainers", "ephemeralContainers"} {
		if err := c.containers(spec, field); err != nil {
			return err
		}
	}
	return c.volumes(spec)
}

// pullSecrets adds the credentials for registries. An entry without a name refers to nothing.
func (c *collector) pullSecrets(spec map[string]any) error {
	const field = "imagePullSecrets"
	l, err := list(spec, field)
	if err != nil {
		return err
	}
	for i, v := range l {
		m, err := element(field, i, v)
		if err != nil {
			return err
		}
		if err := c.named(secret, m, "name"); err != nil {
			return withinIndex(field, i, err)
		}
	}
	return nil
}

// containers walks through one of the three lists of containers. Ephemeral ones are in it although templates
// cannot have them: a Pod can.
func (c *collector) containers(spec map[string]any, field string) error {
	l, err := list(spec, field)
	if err != nil {
		return err
	}
	for i, v := range l {
		m, err := element(field, i, v)
		if err == nil {
			if err = c.container(m); err != nil {
				err = withinIndex(field, i, err)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// container adds what the environment is made of: whole objects (envFrom) and single keys (env).
func (c *collector) container(m map[string]any) error {
	from, err := list(m, "envFrom")
	if err != nil {
		return err
	}
	for i, v := range from {
		source, err := element("envFrom", i, v)
		if err != nil {
			return err
		}
		if err := c.either(source, "configMapRef", "secretRef"); err != nil {
			return withinIndex("envFrom", i, err)
		}
	}
	env, err := list(m, "env")
	if err != nil {
		return err
	}
	for i, v := range env {
		variable, err := element("env", i, v)
		if err != nil {
			return err
		}
		from, err := object(variable, "valueFrom")
		if err != nil {
			return withinIndex("env", i, err)
		}
		if from == nil {
			continue
		}
		if err := c.either(from, "configMapKeyRef", "secretKeyRef"); err != nil {
			return withinIndex("env", i, within("valueFrom", err))
		}
	}
	return nil
}

// volumeSources are the volume sources that refer to an object by name, where they do: in a field of the
// source, or in one of an object inside the source. Projected volumes, which have sources of their own, and
// sources that name nothing in the namespace are not among them (API reference: Volume).
var volumeSources = []struct{ source, ref, name, kind string }{
	{source: "configMap", name: "name", kind: configMap},
	{source: "secret", name: "secretName", kind: secret},
	{source: "persistentVolumeClaim", name: "claimName", kind: claim},
	{source: "csi", ref: "nodePublishSecretRef", name: "name", kind: secret},
	{source: "azureFile", name: "secretName", kind: secret},
	{source: "cephfs", ref: "secretRef", name: "name", kind: secret},
	{source: "cinder", ref: "secretRef", name: "name", kind: secret},
	{source: "flexVolume", ref: "secretRef", name: "name", kind: secret},
	{source: "iscsi", ref: "secretRef", name: "name", kind: secret},
	{source: "rbd", ref: "secretRef", name: "name", kind: secret},
	{source: "scaleIO", ref: "secretRef", name: "name", kind: secret},
	{source: "storageos", ref: "secretRef", name: "name", kind: secret},
}

// volumes walks through the volumes of the pod. Which containers mount them does not matter: the kubelet
// mounts all before any container starts.
func (c *collector) volumes(spec map[string]any) error {
	const field = "volumes"
	l, err := list(spec, field)
	if err != nil {
		return err
	}
	for i, v := range l {
		m, err := element(field, i, v)
		if err == nil {
			if err = c.volume(m); err != nil {
				err = withinIndex(field, i, err)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// volume adds what all sources of a volume refer to. The API allows one source, but a template that has not
// been through an API server may have several, and which of them survives is not known here.
func (c *collector) volume(m map[string]any) error {
	for i := range volumeSources {
		s := &volumeSources[i]
		source, err := object(m, s.source)
		if err != nil {
			return err
		}
		if source == nil {
			continue
		}
		if s.ref == "" {
			err = c.named(s.kind, source, s.name)
		} else {
			err = c.referred(s.kind, source, s.ref)
		}
		if err != nil {
			return within(s.source, err)
		}
	}
	projected, err := object(m, "projected")
	if err != nil {
		return err
	}
	sources, err := list(projected, "sources")
	if err != nil {
		return within("projected", err)
	}
	for i, v := range sources {
		source, err := element("sources", i, v)
		if err == nil {
			if err = c.either(source, "configMap", "secret"); err != nil {
				err = withinIndex("sources", i, err)
			}
		}
		if err != nil {
			return within("projected", err)
		}
	}
	return nil
}

// either adds the ConfigMap that one field of m names and the Secret that another does.
func (c *collector) either(m map[string]any, configMapRef, secretRef string) error {
	if err := c.referred(configMap, m, configMapRef); err != nil {
		return err
	}
	return c.referred(secret, m, secretRef)
}

// referred adds what the object in a field names.
func (c *collector) referred(kind string, m map[string]any, field string) error {
	ref, err := object(m, field)
	if ref == nil || err != nil {
		return err
	}
	if err := c.named(kind, ref, "name"); err != nil {
		return within(field, err)
	}
	return nil
}

// named adds what a field names.
func (c *collector) named(kind string, m map[string]any, field string) error {
	name, err := text(m, field)
	if err != nil {
		return err
	}
	c.add(kind, name)
	return nil
}

// add adds a reference unless the name is empty. Repeats are joined at the end, once, by sorting.
func (c *collector) add(kind, name string) {
	if name != "" {
		c.found = append(c.found, interpreter.DependentObjectReference{
			APIVersion: "v1", Kind: kind, Namespace: c.namespace, Name: name,
		})
	}
}
