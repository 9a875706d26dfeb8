// Package follow keeps a layer, or anything else, in step with the objects of an API server.
//
// It is what declarative/live, webhook/live and definition/live have in common: reading and watching, putting what
// was read in force, and telling people and programs about it.
//
// # What is never said
//
// Until the objects have been read once, a [Layer] has a rule for every kind and operation, and it
// fails with [interpreter.ErrNotReady]. So "not read yet" is never taken for "no rule", and nobody concludes
// that an object has no dependencies from a server that could not be asked.
//
// # What stays in force
//
// When the server cannot be read any more, the rules that were in force stay so: what was true a moment ago
// is a better answer than none. [Follower.Ready] and the metrics say for how long that has been. An object that
// is broken does not disturb the others, and its own last good version goes on answering. It is reported
// where its author looks, as an Event on the object, and also in the log and the metrics.
//
// # What an account needs
//
// The right to list and watch the resource, and unless [WithoutEvents] is given to create and patch events in
// the namespace default, which is where events on cluster-scoped objects are kept.
package follow
