package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// ResourceInterpreterContext is the envelope that travels to a webhook and back.
//
// +kubebuilder:object:root=true
// +kubebuilder:skip
type ResourceInterpreterContext struct {
	metav1.TypeMeta `json:",inline"`

	// Request is set on the way to the webhook.
	// +optional
	Request *ResourceInterpreterRequest `json:"request,omitempty"`
	// Response is set on the way back.
	// +optional
	Response *ResourceInterpreterResponse `json:"response,omitempty"`
}

// ResourceInterpreterRequest is one question.
type ResourceInterpreterRequest struct {
	// UID identifies the call; the response must carry it too.
	UID types.UID `json:"uid"`
	// Kind is the object's group, version and kind.
	Kind metav1.GroupVersionKind `json:"kind"`
	// Name is the object's name; it may be empty.
	Name string `json:"name"`
	// Namespace is the object's namespace, empty for cluster-scoped objects.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Operation is what is asked.
	Operation InterpreterOperation `json:"operation"`
	// Object is the object asked about; for Retain the desired one.
	// +optional
	Object runtime.RawExtension `json:"object,omitempty"`
	// ObservedObject is what a member cluster reports, for Retain only.
	// +optional
	ObservedObject *runtime.RawExtension `json:"observedObject,omitempty"`
	// DesiredReplicas is the number asked for by ReviseReplica; it is always sent, 0 for the others.
	DesiredReplicas int32 `json:"replicas"`
	// AggregatedStatus are the status items, for AggregateStatus only.
	// +optional
	AggregatedStatus []AggregatedStatusItem `json:"aggregatedStatus,omitempty"`
}

// ResourceInterpreterResponse is one answer.
type ResourceInterpreterResponse struct {
	// UID is the request's, also on failure.
	UID types.UID `json:"uid"`
	// Successful says whether the question was answered.
	Successful bool `json:"successful"`
	// Status says why it was not; it must be set when Successful is false.
	// +optional
	Status *RequestStatus `json:"status,omitempty"`
	// Patch is an RFC 6902 patch on the request's object, for operations that answer with an object.
	// Absent together with PatchType means no change.
	// +optional
	Patch []byte `json:"patch,omitempty"`
	// PatchType is the form of Patch.
	// +optional
	PatchType *PatchType `json:"patchType,omitempty"`
	// ReplicaRequirements answers InterpretReplica: what one replica needs.
	// +optional
	ReplicaRequirements *ReplicaRequirements `json:"replicaRequirements,omitempty"`
	// Replicas answers InterpretReplica: how many.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// Components answers InterpretComponent.
	// +optional
	Components []Component `json:"components,omitempty"`
	// Dependencies answers InterpretDependency.
	// +optional
	Dependencies []DependentObjectReference `json:"dependencies,omitempty"`
	// RawStatus answers InterpretStatus.
	// +optional
	RawStatus *runtime.RawExtension `json:"rawStatus,omitempty"`
	// Healthy answers InterpretHealth.
	// +optional
	Healthy *bool `json:"healthy,omitempty"`
}

// RequestStatus says why a question was not answered.
type RequestStatus struct {
	// Message is for people.
	// +optional
	Message string `json:"message,omitempty"`
	// Code has the meaning of an HTTP status code.
	// +optional
	Code int32 `json:"code,omitempty"`
}

// PatchType names the form of a patch.
type PatchType string

// PatchTypeJSONPatch is RFC 6902, the only form there is.
const PatchTypeJSONPatch PatchType = "JSONPatch"
