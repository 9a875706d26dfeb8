// Package conformance finds out whether a hook keeps the interpreter webhook protocol of
// config.karmada.io/v1alpha1. It is a client that asks a running hook good questions and bad ones, and says of
// every rule of the protocol whether the hook keeps it.
//
// A [Kit] is made of a [Hook], which says where the hook listens, and of questions that the hook should be able to
// answer; [Questions] makes them of a webhook configuration's rules and of sample objects. [Kit.Run] plays the checks
// that [Checks] lists, and gives a [Report]. Interpreting changes nothing, so a hook in production may be asked.
//
// # What counts as a mistake
//
// A rule that is a [Must] is one without which Karmada's client fails the operation, or goes on with an answer that
// is wrong. A [Should] is what users want beyond that: that the cause of a failure can be seen, that large
// objects are not cut, that connections are reused.
//
// "No" is an answer. A hook may refuse an object that it cannot do anything with; then only the form of the failure is
// looked at. A question about an object that was made up, since there was no sample, proves less for this reason: what
// could not be tried is skipped, and the reason is told.
//
// # Rationale
//
// Why is every mistake blamed on one rule only? Because a report with twenty lines about one missing field is a report
// that nobody reads. An answer is read field by field, a question in an unusual form is compared with
// the answer to the same question in the usual one, and what cannot be judged is skipped.
//
// Why is nothing sent after a certificate that is not trusted? Objects are confidential, and who listens there may be
// anybody.
//
// Why does the kit not simply use the client of package webhook? It does for what an answer means, such as applying a
// patch. But that client forgives what the protocol forgives, gives up at the first mistake, and never asks a question
// that is not one.
package conformance
