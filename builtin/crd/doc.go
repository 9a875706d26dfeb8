// Package crd interprets custom resources by what their CRDs say about them. It knows no kind by its name.
//
// There are two layers. [New] answers from the declarations of a CRD: its subresources and its schema. [KStatus]
// answers one question, the health, for custom resources of every kind by the conventions about status. Both
// belong behind the layers that know kinds, New before KStatus, and each can be left out: without KStatus, "no rule"
// stays the answer to the health of a kind that nobody knows.
//
// # What is answered from what
//
//	declared                  operation             answer
//	scale subresource         InterpretReplica      the number at specReplicasPath, else the schema's default, else 1;
//	                                                requirements from the one pod template that the number is about
//	                          ReviseReplica         that number set, nothing else touched, missing parents made
//	                          Retain                that number, if the template has Karmada's label for it
//	no status subresource     Retain                the status, which is part of what is written then
//	status subresource        InterpretStatus       the whole status; beside an observed generation, the generations
//	                                                that AggregateStatus compares
//	status or scale           AggregateStatus       see below
//	pod templates in the      InterpretComponent    the pods of each template, if the schema has replicas beside one or
//	schema                                          the scale subresource counts them; 1 where a template has none
//	                          InterpretDependency   what the pods of all templates need; not for kinds outside
//	                                                namespaces, whose pods run somewhere else
//
// # Pod templates
//
// A field holds a pod template if its schema has metadata and a spec with containers that have a name and an image.
// The object as a whole is never taken for one: a spec with containers, as Prometheus has it, patches pods that the
// operator makes. Where the schema leaves a field open (x-kubernetes-preserve-unknown-fields), one whose name ends in
// template is looked at in each object, and is a pod template if all its containers have a name and an image; if no
// field of the object is, the next layer is asked.
//
// One number of replicas beside two templates counts neither of them: which pods there are is not known then.
//
// # How statuses are folded
//
// By the schema's types, or by those of the values where the schema says nothing. What the schema does not have is left
// out. A member that has not reported is silent: it adds nothing, and what is good is not good everywhere.
//
//	field                     folded
//	integer                   the sum, if the name is one of something countable and the schema has neither a choice of
//	                          values nor an upper bound; generations, codes, ports, times, shares, indexes and their like
//	                          are not countable. The field at statusReplicasPath always is. A sum that the schema does
//	                          not allow is an error. A counter that nobody reports any more is 0.
//	observedGeneration        the template's generation once all members are in sync with it, else what it was
//	conditions                the worst status of each type. Which one that is, the name says: False of Ready and its
//	                          like, True of Failed and its like. A missing or silent one counts as Unknown, but of
//	                          those that are bad when True only a silent one. Of a name that says nothing, Unknown
//	                          unless all are the same. Reason and message are from those that have the status.
//	phase, state              the worst of the words, if all are known; a good one only if it is so everywhere
//	boolean                   by its name as a condition: ready needs all, failed needs one; else the same everywhere
//	time                      the first of what begins, the last of what ends if it has ended everywhere, else the last
//	labelSelectorPath         the selector, if all members mean the same one: half of the pods is worse than none
//	other text, number        the same everywhere, or left out
//	list                      the entries of all members, equal ones once; of a list with keys, entries with equal keys
//	                          are folded. More entries than the schema allows are left out unless all are the same.
//	object, map               field by field; an atomic one as text
//	required, but left out    the first cluster's, so that an API server takes the whole; a phase keeps its old value
//
// # Questions
//
// Why are names looked at? Because "it is not possible to compute a generic summary" without them, as the API
// conventions say of conditions, and a schema tells types only. Who wants it otherwise for a kind writes a rule, which
// is asked first.
//
// Why is an answer of KStatus marked? Because it is an assumption: kstatus takes an object without conditions that it
// knows for current. Its reasons begin with [KStatusReason]. The one assumption that is not passed on is about
// objects without a status: these are Unknown, not healthy, unless their CRD says that they never have one. Where only
// true and false exist, that is false, and "no rule" may be taken for true; whoever acts on it, as by moving replicas
// elsewhere, decides whether KStatus belongs in the chain.
package crd
