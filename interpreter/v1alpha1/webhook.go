package v1alpha1

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ResourceInterpreterWebhookConfiguration registers webhooks that interpret resources remotely.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=resourceinterpreterwebhookconfigurations,scope=Cluster,categories=karmada-io
// +kubebuilder:storageversion
type ResourceInterpreterWebhookConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Webhooks are the hooks. Of all hooks that match a question, the one with the smallest
	// "<configuration name>/<webhook name>" in byte order is asked.
	// +required
	Webhooks []ResourceInterpreterWebhook `json:"webhooks"`
}

// ResourceInterpreterWebhookConfigurationList is a list of webhook configurations.
//
// +kubebuilder:object:root=true
type ResourceInterpreterWebhookConfigurationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ResourceInterpreterWebhookConfiguration `json:"items"`
}

// ResourceInterpreterWebhook is one hook: where it listens and what it answers.
type ResourceInterpreterWebhook struct {
	// Name is a fully qualified domain name, unique inside the configuration.
	// +required
	Name string `json:"name"`
	// ClientConfig says how to reach the hook: a URL, or a Service of the control plane.
	// +required
	ClientConfig admissionregistrationv1.WebhookClientConfig `json:"clientConfig"`
	// Rules say which questions the hook answers; it is asked when any of them matches, never without one.
	// +optional
	Rules []RuleWithOperations `json:"rules,omitempty"`
	// TimeoutSeconds bounds one call, from 1 to 30. Absent means 10.
	// +optional
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
	// InterpreterContextVersions are the envelope versions the hook understands, most preferred first.
	// +required
	InterpreterContextVersions []string `json:"interpreterContextVersions"`
}

// RuleWithOperations matches questions by operation and kind.
type RuleWithOperations struct {
	// Operations are the operations the hook answers, or "*" alone.
	// +required
	Operations []InterpreterOperation `json:"operations"`
	Rule       `json:",inline"`
}

// Rule matches kinds; in each list "*" alone matches everything.
type Rule struct {
	// APIGroups are the groups; the core group is the empty string.
	// +required
	APIGroups []string `json:"apiGroups"`
	// APIVersions are the versions.
	// +required
	APIVersions []string `json:"apiVersions"`
	// Kinds are the kinds.
	// +required
	Kinds []string `json:"kinds"`
}

// InterpreterOperation names a question about a resource.
type InterpreterOperation string

// The operations, and the wildcard that a webhook rule may use for all of them.
const (
	InterpreterOperationAll                 InterpreterOperation = "*"
	InterpreterOperationInterpretReplica    InterpreterOperation = "InterpretReplica"
	InterpreterOperationInterpretComponent  InterpreterOperation = "InterpretComponent"
	InterpreterOperationReviseReplica       InterpreterOperation = "ReviseReplica"
	InterpreterOperationRetain              InterpreterOperation = "Retain"
	InterpreterOperationAggregateStatus     InterpreterOperation = "AggregateStatus"
	InterpreterOperationInterpretStatus     InterpreterOperation = "InterpretStatus"
	InterpreterOperationInterpretHealth     InterpreterOperation = "InterpretHealth"
	InterpreterOperationInterpretDependency InterpreterOperation = "InterpretDependency"
	InterpreterOperationPrune               InterpreterOperation = "Prune"
)
