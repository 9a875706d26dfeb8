// Package declarative turns ResourceInterpreterCustomizations into a layer of an interpreter chain.
//
// # Which rule answers
//
// A target may be a pattern. Of the rules whose target matches an object, the most specific is asked first:
// by group (a whole group, then "*.suffix" by the length of the suffix, then "*"), then by kind (a kind, then
// "*"), then by version (a version, then "*"), then one with a label selector before one without, then by the
// customization's name as text. For one operation the first rule answers; the others are asked by a rule that
// calls kube.next. Dependencies are the exception: every matching rule runs, and the lists are joined.
//
// # What happens to a broken customization
//
// [New] insists that everything compiles. [Layer.Replace] does not: a customization that does not compile is
// reported, and its last good version, if there was one, goes on answering; the others are not disturbed.
package declarative
