// Package v1alpha1 holds the objects of the API group config.karmada.io in version v1alpha1 that
// resource interpretation speaks: customizations, webhook configurations, the envelope a webhook
// exchanges, and the values that answers are made of.
//
// JSON names and meanings are Karmada's, so every manifest and hook written for it can be read and
// served unchanged. What is ours is a superset that Karmada ignores: the pruning rule and the target's
// label selector of a customization, and patterns in its target.
//
// +kubebuilder:object:generate=true
// +groupName=config.karmada.io
package v1alpha1
