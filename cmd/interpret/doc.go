// Command interpret answers questions about Kubernetes resources: how many replicas, how healthy, which
// status, which dependencies. The answers come from customizations in files and from the rules that are built
// in.
//
// This room reads files and flags, and writes answers and an exit status. What an answer is, it does not know:
// which operations there are, what they take and what they give, it reads from the contracts.
//
// # Where to look
//
// A request's way through the files: main.go has the exit status, root.go the flags and the choice of the mode,
// source.go gets bytes from wherever a flag points, objects.go makes objects of them, rules.go customizations and
// the chain of layers, execute.go asks, print.go writes the answer, errors.go sorts what went wrong. Each further
// mode and subcommand has a file of its own: check.go, explain.go, edit.go (with sheet.go, what the editor shows,
// and rewrite.go, how a change gets into the file), test.go (with testreport.go), kinds.go, bundled.go, version.go.
//
// resources.go has interpret resources, and the names of resources for whoever else takes one.
//
// interpret serve is in serve.go; cluster.go finds its API server, reload.go watches its files, converters.go has those
// that convert, registration.go prints what registers it, selfsigned.go makes a certificate for a first try.
//
// # What programs read
//
// With -o json or -o yaml an operation prints one document:
//
//	operation   the operation's name
//	object      apiVersion, kind, namespace and name of the object; null if it could not be read
//	layer, rule who answered or failed; empty if nobody did
//	passedOver  with --explain, the rules that would have answered next, as layer and rule
//	results     the results under the names of the text output, and health beside healthy
//	error       in the place of results: message, cause, and file and line where they are known
//
// The cause is one of these words:
//
//	invalidRequest        an input is missing or wrong
//	unreadableInput       a file cannot be read, or is not what it should be
//	invalidCustomization  a customization was read, and makes no sense
//	noRule                no layer answers this operation for this kind
//	scriptError           a script does not load, or raised an error
//	invalidResult         a rule gave an answer of the wrong shape
//	limit, deadline       a script used too much, or took too long
//	canceled              somebody interrupted the command
//	notReady              a layer cannot say yet which rules it has
//	ruleError             a rule that is no script failed
//
// Why are there two statuses for failure? A pipeline that runs cases must tell "the rule is wrong" from "I was
// called wrongly": the first is news for the author of the rule, the second for whoever wrote the pipeline. Where
// both happen, the second wins, since nothing is known about what was not read.
//
// Why are files read here, and not by kubectl's libraries? Messages need the line of every field, which those
// throw away once they have the object.
package main
