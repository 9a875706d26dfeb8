package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ResourceInterpreterCustomization declares Lua rules for one target.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=resourceinterpretercustomizations,scope=Cluster,shortName=ric,categories=karmada-io
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="TARGET-API-VERSION",type=string,JSONPath=`.spec.target.apiVersion`
// +kubebuilder:printcolumn:name="TARGET-KIND",type=string,JSONPath=`.spec.target.kind`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type ResourceInterpreterCustomization struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says which kind the rules are for, and holds them.
	// +required
	Spec ResourceInterpreterCustomizationSpec `json:"spec"`
}

// ResourceInterpreterCustomizationList is a list of customizations.
//
// +kubebuilder:object:root=true
type ResourceInterpreterCustomizationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []ResourceInterpreterCustomization `json:"items"`
}

// ResourceInterpreterCustomizationSpec is the wish of a customization's author.
type ResourceInterpreterCustomizationSpec struct {
	// Target is the kind, or the pattern of kinds, that the rules are for.
	// +required
	Target CustomizationTarget `json:"target"`
	// Customizations are the rules.
	// +required
	Customizations CustomizationRules `json:"customizations"`
}

// CustomizationTarget says which objects a customization is for.
type CustomizationTarget struct {
	// APIVersion is the target's group and version, "apps/v1", or just the version for the core group.
	// Beyond Karmada, the group may be "*" or "*.suffix" and the version "*"; a lone "*" is any group and
	// any version.
	// +required
	APIVersion string `json:"apiVersion"`
	// Kind is the target's kind. Beyond Karmada, "*" is any kind.
	// +required
	Kind string `json:"kind"`
	// LabelSelector narrows the target to objects whose labels match. Absent means every object.
	// Not known to Karmada, which applies the rules to every object of the kind.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// CustomizationRules holds one rule per operation; an absent one, or one with an empty script, leaves
// the operation to the layers below.
type CustomizationRules struct {
	// Retention answers Retain with: function Retain(desiredObj, observedObj) return retainedObj end
	// +optional
	Retention *LuaRule `json:"retention,omitempty"`
	// ReplicaResource answers InterpretReplica with: function GetReplicas(obj) return replica, requires end
	// +optional
	ReplicaResource *LuaRule `json:"replicaResource,omitempty"`
	// ComponentResource answers InterpretComponent with: function GetComponents(obj) return components end
	// +optional
	ComponentResource *LuaRule `json:"componentResource,omitempty"`
	// ReplicaRevision answers ReviseReplica with: function ReviseReplica(obj, replica) return revisedObj end
	// +optional
	ReplicaRevision *LuaRule `json:"replicaRevision,omitempty"`
	// StatusReflection answers InterpretStatus with: function ReflectStatus(obj) return status end
	// +optional
	StatusReflection *LuaRule `json:"statusReflection,omitempty"`
	// StatusAggregation answers AggregateStatus with: function AggregateStatus(obj, items) return obj end
	// +optional
	StatusAggregation *LuaRule `json:"statusAggregation,omitempty"`
	// HealthInterpretation answers InterpretHealth with: function InterpretHealth(obj) return healthy end
	// +optional
	HealthInterpretation *LuaRule `json:"healthInterpretation,omitempty"`
	// DependencyInterpretation answers InterpretDependency with: function GetDependencies(obj) return dependencies end
	// +optional
	DependencyInterpretation *LuaRule `json:"dependencyInterpretation,omitempty"`
	// Pruning answers Prune with: function Prune(obj) return prunedObj end
	// Not known to Karmada, which ignores it.
	// +optional
	Pruning *LuaRule `json:"pruning,omitempty"`
}

// LuaRule is one rule written in Lua.
type LuaRule struct {
	// LuaScript is the source of a chunk that defines the operation's function as a global.
	// +required
	LuaScript string `json:"luaScript"`
}
