// Package podtemplate reads pod templates: what one pod asks of a node, and which other objects it needs.
//
// Templates are read as they lie in an unstructured object, and only the fields that count are: a container
// with a thousand environment variables costs [Requirements] what one with two does. Null is the same as
// missing everywhere. A field that is read and has the wrong type is a [*FieldError]; one that is not read
// may hold anything.
//
// Why is there no conversion to a corev1.PodTemplateSpec? Because it would read everything: it costs more
// than all the rest, and refuses a template for a field that plays no part in the answer.
package podtemplate
