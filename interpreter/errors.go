package interpreter

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The causes that callers tell apart with errors.Is. A deadline is context.DeadlineExceeded.
var (
	// ErrInvalidRequest means that the caller left out or garbled an input.
	ErrInvalidRequest = errors.New("invalid request")
	// ErrNoRule means that no layer answers this kind and operation.
	ErrNoRule = errors.New("no rule")
	// ErrInvalidResult means that a rule gave an answer of the wrong shape.
	ErrInvalidResult = errors.New("invalid result")
	// ErrNotReady means that a layer cannot say yet which rules it has. It is not "no rule".
	ErrNotReady = errors.New("not ready")
)

// Error says which question failed, who was answering, and why. A Chain makes every error it returns one
// of these.
type Error struct {
	Operation       Operation
	Kind            schema.GroupVersionKind
	Namespace, Name string
	// Source is who was answering; empty when nobody was.
	Source Source
	// Err is the cause.
	Err error
}

func newError(req *Request, source Source, err error) *Error {
	e := &Error{Operation: req.Operation, Kind: req.Kind(), Source: source, Err: err}
	if req.Object != nil {
		e.Namespace, e.Name = req.Object.GetNamespace(), req.Object.GetName()
	}
	return e
}

// Error is the whole story in a line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(string(e.Operation))
	if object := e.Object(); object != "" {
		fmt.Fprintf(&b, " of %s", object)
	}
	if e.Source != (Source{}) {
		fmt.Fprintf(&b, " by %s", e.Source)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	return b.String()
}

// Object names the object asked about: apiVersion, kind, and namespace/name. It is empty when there was none.
func (e *Error) Object() string {
	if e.Kind.Empty() {
		return ""
	}
	name := e.Name
	if e.Namespace != "" {
		name = e.Namespace + "/" + name
	}
	return strings.TrimSpace(KindString(e.Kind) + " " + name)
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindString writes a kind as people do: "apps/v1 Deployment".
func KindString(k schema.GroupVersionKind) string { return k.GroupVersion().String() + " " + k.Kind }
