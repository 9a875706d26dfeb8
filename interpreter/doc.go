// Package interpreter is the vocabulary and the dispatch of resource interpretation: what can be asked
// about a Kubernetes object, and who is asked first.
//
// A [Request] asks one [Operation] of one object. A [Chain] finds the nearest [Layer] that has a [Rule] for
// the object's kind and returns that rule's [Result]. Embedders need neither: [Replicas], [HealthOf],
// [Dependencies] and their like ask, [ReplicaFunc], [HealthFunc], [DependencyFunc] and theirs answer.
//
// Why are looking up and answering two steps? "There is no rule" must never be confused with "the rule
// failed" or "the rule says none": callers delete dependants, evict replicas and overwrite status on the
// strength of an answer.
//
// Why is a failing rule final? Because the next layer's answer would be another one, and which one a
// caller gets would depend on the moment.
package interpreter
