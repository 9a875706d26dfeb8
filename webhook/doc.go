// Package webhook speaks the interpreter webhook protocol of config.karmada.io/v1alpha1 at both ends.
//
// A [Layer] asks hooks: it is made of webhook configurations and takes its place in an [interpreter.Chain].
// A [Handler] answers as a hook: it puts any [interpreter.Interpreter] behind HTTP, and a [Server] gives it
// TLS, probes, metrics and an orderly end. Who writes a hook in Go needs a [Hook], a Handler and a Server.
//
// What is not peculiar to this protocol serves other hooks as well: an [Endpoint] is the HTTP around any answer, with
// its limits, log and metrics, and [Callers] make what calls any hook. Reviews of admission and conversion go
// through them.
//
// # What Karmada's client does not do, and this one does
//
// A hook written for Karmada can be called unchanged, and Karmada can call what this package serves. What is
// added does not show on the wire: a timeout of ten seconds where the configuration names none, a limit on
// the size of answers and on calls in flight, a circuit breaker for each hook, one retry of a connection that
// failed, the same request spread over all endpoints of a service, and what happens when a hook fails.
//
// # When a hook fails
//
// The annotation [FailurePolicyAnnotation] of a configuration says so, since Karmada's schema has no field for
// it; Karmada ignores it. Fail, the default, makes the failure the answer. Ignore asks the layers below
// instead. Its value is one of the two for all hooks of the configuration, or a list in which single hooks
// have their own:
//
//	metadata:
//	  annotations:
//	    webhook.kubeinterpret.io/failure-policy: Ignore, replicas.example.com=Fail
//
// Only a hook that gave no usable answer has failed: one that cannot be reached, is out of time, answers
// garbage, or has failed so often that it is not asked for the moment. "No" is an answer, and never ignored.
//
// # Questions that go round in a circle
//
// A server whose layer has a hook that leads back to the server would ask itself for ever. A Handler names
// itself to the hooks that are asked on behalf of its questions, in the header Via, and refuses a question that
// bears its name with the code 508. To leave a server's own hook out altogether there is [WithSkip].
//
// # Rationale
//
// Why is only the first of several matching hooks a rule? Because Karmada calls that one alone, also for
// dependencies, whose rules a chain would otherwise join.
//
// Why HTTP/1.1? One HTTP/2 connection would carry all calls to one endpoint for as long as it lives.
// Several HTTP/1.1 connections, renewed from time to time, spread over whatever balances connections.
//
// Why may a call be repeated at all? Interpreting changes nothing, so asking twice is harmless.
//
// Why does an empty status stand for no status? The wire cannot say that there is nothing to report: a null
// rawStatus fails the operation in Karmada, which would then ask forever.
package webhook
