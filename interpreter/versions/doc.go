// Package versions has rules for one version of a custom resource answer for its other versions, too.
//
// A [Layer] stands around another one, such as that of customizations, and looks kinds up in CRDs. Where the other
// layer has no rule for the kind that is asked about, and has one for another version that the CRD declares, the
// question is converted to that version, the rule asked, and the answer converted back. The storage version comes
// first, then the others as Kubernetes orders versions. The name of the version stands behind the name of the rule,
// in errors and wherever it is told who answers: web (demo.io/v1).
//
// # What is converted
//
// The object, and the observed one; the statuses of member clusters, each in the place of the object's own; back the
// object of the answer, and a reflected status in the place of that of the object asked about. Replicas, components,
// health and dependencies mean the same in every version. Of an aggregated status only the status is taken back, so
// that no other field of the object goes through two conversions.
//
// What a rule asks the layers below is converted back before they are asked, and their answer converted again: they
// are asked about the object as it is, and their own rules for its version answer.
//
// # How
//
// By the CRD's spec.conversion: the strategy None changes apiVersion only, and Webhook is left to a [Converter], such
// as webhook/conversion's client. A conversion that fails is the rule's failure.
//
// A rule's label selector is compared with the labels of the object as it was asked about.
package versions
