package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ReplicaRequirements is what one replica needs to be scheduled.
type ReplicaRequirements struct {
	// NodeClaim says which nodes will do; nil means any.
	// +optional
	NodeClaim *NodeClaim `json:"nodeClaim,omitempty"`
	// ResourceRequest is what one replica asks of a node.
	// +optional
	ResourceRequest corev1.ResourceList `json:"resourceRequest,omitempty"`
	// Namespace is where the replica runs, for quotas.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// PriorityClassName is the replica's priority class, for quotas.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// NodeClaim says which nodes a replica accepts.
type NodeClaim struct {
	// HardNodeAffinity is the required node affinity.
	// +optional
	HardNodeAffinity *corev1.NodeSelector `json:"hardNodeAffinity,omitempty"`
	// NodeSelector are labels the node must have.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Tolerations are the taints the replica tolerates.
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}

// Component is a separately scaled part of one resource.
type Component struct {
	// Name tells the components of one resource apart.
	Name string `json:"name"`
	// Replicas is how many of it there are.
	Replicas int32 `json:"replicas"`
	// ReplicaRequirements is what one replica of it needs; nil means nothing is known.
	// +optional
	ReplicaRequirements *ComponentReplicaRequirements `json:"replicaRequirements,omitempty"`
}

// ComponentReplicaRequirements is what one replica of a component needs. The namespace is that of the resource.
type ComponentReplicaRequirements struct {
	// NodeClaim says which nodes will do; nil means any.
	// +optional
	NodeClaim *NodeClaim `json:"nodeClaim,omitempty"`
	// ResourceRequest is what one replica asks of a node.
	// +optional
	ResourceRequest corev1.ResourceList `json:"resourceRequest,omitempty"`
	// PriorityClassName is the replica's priority class, for quotas.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// AggregatedStatusItem is what one member cluster reports about a resource.
type AggregatedStatusItem struct {
	// ClusterName is the member cluster.
	// +required
	ClusterName string `json:"clusterName"`
	// Status is the reported status as JSON; nil or empty means that the cluster has not reported.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Status *runtime.RawExtension `json:"status,omitempty"`
	// Applied says whether the resource was applied in the cluster.
	// +optional
	Applied bool `json:"applied,omitempty"`
	// AppliedMessage says why it was not.
	// +optional
	AppliedMessage string `json:"appliedMessage,omitempty"`
	// Health is the resource's health in the cluster.
	// +optional
	Health ResourceHealth `json:"health,omitempty"`
}

// ResourceHealth is a member cluster's view of a resource's health.
type ResourceHealth string

// The health values of a status item.
const (
	ResourceHealthy   ResourceHealth = "Healthy"
	ResourceUnhealthy ResourceHealth = "Unhealthy"
	ResourceUnknown   ResourceHealth = "Unknown"
)

// DependentObjectReference points at objects that a resource needs to run: one by name, or several by
// label.
type DependentObjectReference struct {
	// APIVersion is the group and version of the dependency.
	// +required
	APIVersion string `json:"apiVersion"`
	// Kind is the kind of the dependency.
	// +required
	Kind string `json:"kind"`
	// Namespace is where the dependency lives, empty for cluster-scoped ones.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name is the dependency's name.
	// +optional
	Name string `json:"name,omitempty"`
	// LabelSelector picks dependencies whose names are not known.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}
