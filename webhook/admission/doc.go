// Package admission refuses customizations and webhook configurations that could not work, before an API
// server stores them.
//
// # What is refused, and what is warned of
//
// A customization is refused if it does not load, or if a rule of it, or of another for the same target,
// would never answer: that is broken, whatever its author meant. What is legal and seldom meant, such as a
// global that is read and never set, is a warning, which kubectl shows. A webhook configuration is refused
// for each of the mistakes that Karmada's admission refuses, all of which are named at once.
//
// # What is let through
//
// Objects that are being deleted, and changes that leave alone what is looked at, such as labels: an object
// that was stored before must not become impossible to label or to delete because the rules are stricter
// now. Everything but creating and updating is let through as well.
//
// Two conflicting customizations that are created in the same moment both get through, because neither is
// stored when the other is looked at. The layer then goes by name, and declarative/live reports the one that
// does not answer.
package admission
