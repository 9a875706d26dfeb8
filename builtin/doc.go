// Package builtin interprets Kubernetes' own kinds, in Go. One file holds what is known about one kind, and
// the index in builtin.go lists them.
//
// There are three layers. [Layer] answers what Karmada's built-in rules answer. [Extra] answers more: the
// health of a Job, the backends of an Ingress, the certificate authorities that a member injects. [Fallback]
// answers two operations for every kind. A chain has them in the order Extra, Layer, Fallback, or without
// Extra where Karmada's answers are wanted to the letter.
//
// # Rationale
//
// Why are rules written on unstructured objects? Because a Go type forgets the fields that it does not know,
// and an object that is newer than this module would come back poorer. A rule reads the few fields it needs
// with the getters of fields.go and changes those it names.
//
// Why is a wrong type an error rather than a missing value? Because "no replicas" and "replicas: many" ask
// for different things, and the second one for a person. Fields that a rule does not read may hold anything.
//
// Why are member statuses not decoded? Hundreds of clusters report whenever anything changes, and a fold
// reads five numbers of each status. The raw type of raw.go finds those in the bytes.
//
// Why does nothing depend on the order of members? Clusters report when they like. An aggregated status
// that followed them would be written, and seen as a change by everybody who watches, again and again.
//
// Why does a member that has not reported count as not ready? Silence is what a cluster that is cut off
// sends too. It is never taken for a good state: generations are not observed, claims are not bound.
//
// What is retained? What a member's own controllers and API server have decided, and only they can: bindings,
// allocated addresses, credentials, certificate authorities. Where the API lets the template decide as well,
// the template wins, and only what it leaves open is kept.
//
// What is pruned? What an API server or controller of the control plane has written about its own copy: it
// would be wrong in every member, and often refused there.
package builtin
