package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
)

// StatusError is a failure with the code that travels in the body of an answer. A Layer returns it when a
// hook says no; a hook's own functions may return it to choose the code.
type StatusError struct {
	// Code has the meaning of an HTTP status code, though the HTTP exchange itself succeeds with 200.
	Code int32
	// Message is for people.
	Message string
}

func (e *StatusError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("code %d", e.Code)
	}
	return fmt.Sprintf("code %d: %s", e.Code, e.Message)
}

// ErrOtherObject means that a hook's patch makes another object than the one asked about: of another kind,
// namespace or name.
var ErrOtherObject = errors.New("it makes another object")

// Code is the code with which an error travels in the body of an answer: that of a StatusError if there is
// one in it, else one by its cause. An error of no known cause is a rule's own, hence 422.
func Code(err error) int32 {
	var status *StatusError
	switch {
	case errors.As(err, &status) && status.Code != 0:
		return status.Code
	case errors.Is(err, interpreter.ErrInvalidRequest):
		return http.StatusBadRequest
	case errors.Is(err, interpreter.ErrNoRule):
		return http.StatusNotFound
	case errors.Is(err, interpreter.ErrNotReady):
		return http.StatusServiceUnavailable
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return http.StatusGatewayTimeout
	case errors.Is(err, ErrUnavailable):
		return http.StatusServiceUnavailable
	case errors.Is(err, ErrUnreachable):
		return http.StatusBadGateway
	case errors.Is(err, errInternal):
		return http.StatusInternalServerError
	}
	return http.StatusUnprocessableEntity
}

// errInternal marks faults that are neither the request's nor the rule's verdict, such as a panic.
var errInternal = errors.New("internal error")

// The ways in which a hook gives no answer, besides being out of time. One that cannot be understood is
// interpreter.ErrInvalidResult.
var (
	// ErrUnavailable means that a hook was not asked, because too many of the last calls failed or too many
	// are under way.
	ErrUnavailable = errors.New("hook unavailable")
	// ErrUnreachable means that a hook was to be asked and no answer came.
	ErrUnreachable = errors.New("hook unreachable")
)

// CallError says which call of a hook failed, and why. A Layer makes every error of a call one of these. Its
// text leaves out what an [interpreter.Error] says around it: the hook, the operation and the object.
type CallError struct {
	// Configuration and Hook are the names of the configuration object and of the webhook in it.
	Configuration, Hook string
	// Host is the host, with its port, of the hook's URL.
	Host string

	Operation       interpreter.Operation
	Kind            schema.GroupVersionKind
	Namespace, Name string

	// Err is the cause: a *StatusError when the hook said no.
	Err error
}

func (e *CallError) Error() string { return fmt.Sprintf("https://%s: %v", e.Host, e.Err) }

func (e *CallError) Unwrap() error { return e.Err }

// answered says whether an error is a hook's answer rather than the lack of one.
func answered(err error) bool {
	var status *StatusError
	return errors.As(err, &status)
}

// tlsError adds to an error of a TLS handshake what its text lacks: whose certificate was expected.
func (c *Caller) tlsError(err error) error {
	var verification *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &verification), errors.As(err, &record):
	case strings.Contains(err.Error(), "tls: "):
		// Alerts of the other side have no type to know them by.
	default:
		return err
	}
	return &handshakeError{fmt.Errorf("%w (expected a certificate for %q, signed by %s)", err, c.serverName, c.authority)}
}

// handshakeError is a failed TLS handshake, which repeating would not mend.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return e.err.Error() }

func (e *handshakeError) Unwrap() error { return e.err }
