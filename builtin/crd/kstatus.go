package crd

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
)

// KStatusName is the name of the layer of KStatus.
const KStatusName = "kstatus"

// KStatusReason begins the reason of every health that comes from kstatus, so that it can be told from a rule's after
// the layer's name is lost. What follows is the status in its words, or NoStatus.
const KStatusReason = "KStatus"

type kstatus struct {
	definitions definition.Definitions
	onlyDefined bool
	rules       []*interpreter.Rule
}

// KStatusOption changes what KStatus answers.
type KStatusOption func(*kstatus)

// OnlyDefined has KStatus answer for kinds that the definitions have, rather than for all that may be custom resources.
// Of others there is no rule then, as without the layer.
func OnlyDefined() KStatusOption { return func(k *kstatus) { k.onlyDefined = true } }

// KStatus answers InterpretHealth for custom resources of every kind by what the conventions about status say, as
// kstatus of sigs.k8s.io/cli-utils computes it. It belongs behind every layer that knows kinds. It implements
// interpreter.Lister.
//
// An object that has no status yet is Unknown, unless its CRD says that it will never have one. The definitions are
// asked for nothing else, and may be nil.
func KStatus(definitions definition.Definitions, options ...KStatusOption) interpreter.Layer {
	k := &kstatus{definitions: definitions}
	for _, o := range options {
		o(k)
	}
	name := "any custom resource"
	if k.onlyDefined {
		name = "any kind with a CRD"
	}
	k.rules = []*interpreter.Rule{{Name: name, Interpreter: interpreter.HealthFunc(k.health)}}
	return k
}

func (k *kstatus) Name() string { return KStatusName }

func (k *kstatus) Rules(kind schema.GroupVersionKind, op interpreter.Operation) []*interpreter.Rule {
	if op != interpreter.InterpretHealth || kind.Group != anything && !isCustom(kind.Group) {
		return nil
	}
	if !k.onlyDefined || kind.Group == anything {
		return k.rules
	}
	if k.definitions == nil {
		return nil
	}
	d, err := k.definitions.Definition(kind.GroupKind())
	switch {
	case err != nil:
		return failing(kind.GroupKind(), err)
	case d == nil || d.Version(kind.Version) == nil:
		return nil
	}
	return k.rules
}

// anything stands for every group, version and kind.
const anything = "*"

// Entries lists the rule as one for all kinds, since that is how it answers, and how often: what registers rules by
// their kinds leaves such rules to whoever decides about them.
func (k *kstatus) Entries() []interpreter.Entry {
	kind := schema.GroupVersionKind{Group: anything, Version: anything, Kind: anything}
	return []interpreter.Entry{{Kind: kind, Operation: interpreter.InterpretHealth, Rule: k.rules[0].Name}}
}

// health asks kstatus about no more than it looks at, in the types it wants. What has another shape than the
// conventions give it is no mistake of the object's, but nothing can be told from it.
func (k *kstatus) health(obj *unstructured.Unstructured) (interpreter.Health, error) {
	slim, err := slimmed(obj)
	if err != nil {
		return kstatusHealth(status.UnknownStatus, err.Error()), nil
	}
	result, err := status.Compute(slim)
	if err != nil {
		return kstatusHealth(status.UnknownStatus, err.Error()), nil
	}
	if result.Status != status.CurrentStatus || hasStatus(obj) {
		message := result.Message
		if len(result.Conditions) > 0 {
			message = strings.TrimSuffix(strings.TrimPrefix(result.Conditions[0].Reason+": "+message, ": "), ": ")
		}
		return kstatusHealth(result.Status, message), nil
	}
	never, err := k.neverHasStatus(obj)
	if err != nil {
		return interpreter.Health{}, err
	}
	if never {
		return kstatusHealth(result.Status, "the kind has no status"), nil
	}
	return interpreter.Health{Status: interpreter.Unknown, Reason: KStatusReason + "NoStatus", Message: "no status has been reported"}, nil
}

// kstatusHealth is a status of kstatus in our words. What is being deleted is on its way, and so is it for built-in
// kinds.
func kstatusHealth(s status.Status, message string) interpreter.Health {
	h := interpreter.Health{Status: interpreter.Unknown, Reason: KStatusReason + string(s), Message: message}
	switch s {
	case status.CurrentStatus:
		h.Status = interpreter.Healthy
	case status.InProgressStatus, status.TerminatingStatus:
		h.Status = interpreter.Progressing
	case status.FailedStatus:
		h.Status = interpreter.Degraded
	}
	return h
}

func hasStatus(obj *unstructured.Unstructured) bool {
	status, _ := obj.Object["status"].(map[string]any)
	return len(status) > 0
}

// neverHasStatus says whether the CRD neither has the subresource nor declares the field.
func (k *kstatus) neverHasStatus(obj *unstructured.Unstructured) (bool, error) {
	if k.definitions == nil {
		return false, nil
	}
	kind := obj.GroupVersionKind()
	d, err := k.definitions.Definition(kind.GroupKind())
	if d == nil || err != nil {
		return false, err
	}
	v := d.Version(kind.Version)
	if v == nil || v.HasStatus {
		return false, nil
	}
	root, err := v.Schema()
	if err != nil {
		return false, err
	}
	return statusSchema(root) == nil && !root.XPreserveUnknownFields, nil
}

// slimmed is the part of an object that kstatus reads: when it is deleted, its generations and its conditions.
func slimmed(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	metadata, status := map[string]any{}, map[string]any{}
	slim := map[string]any{"apiVersion": obj.GetAPIVersion(), "kind": obj.GetKind(), "metadata": metadata, "status": status}
	deleted, err := textAt(obj.Object, "metadata", "deletionTimestamp")
	if err != nil {
		return nil, err
	}
	if deleted != "" {
		metadata["deletionTimestamp"] = deleted
	}
	for _, f := range []struct {
		to   map[string]any
		path []string
	}{{metadata, []string{"metadata", generation}}, {status, []string{"status", observedGeneration}}} {
		n, found, err := intAt(obj.Object, f.path...)
		if err != nil {
			return nil, err
		}
		if found {
			f.to[f.path[1]] = n
		}
	}
	v, err := valueAt(obj.Object, "status", "conditions")
	if v == nil || err != nil {
		return &unstructured.Unstructured{Object: slim}, err
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fault([]string{"status", "conditions"}, "must be a list, got %s", describe(v))
	}
	var conditions []any
	for _, v := range list {
		c, ok := v.(map[string]any)
		if !ok {
			return nil, fault([]string{"status", "conditions"}, "must hold objects, got %s", describe(v))
		}
		condition := map[string]any{}
		for _, field := range [...]string{"type", "status", "reason", "message"} {
			text, err := textAt(c, field)
			if err != nil {
				return nil, within("status.conditions", err)
			}
			condition[field] = text
		}
		conditions = append(conditions, condition)
	}
	status["conditions"] = conditions
	return &unstructured.Unstructured{Object: slim}, nil
}
