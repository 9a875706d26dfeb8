package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/manifest"
	"github.com/kubeinterpret/interpret/luakube"
)

// failure is an error of a rule, a check or a case, as opposed to one of usage or input.
type failure struct{ err error }

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

// errTold means that everything has been said already.
var errTold = errors.New("told")

// errUsage means that the command line is wrong.
var errUsage = errors.New("wrong usage")

// usage makes an error about the command line.
func usage(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// usageError is an error of usage whose text is only what the user needs to read.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() []error { return []error{errUsage, e.err} }

// statusOf is the exit status for an error. What could not be read weighs more than what failed: nothing is
// known about it.
func statusOf(err error) int {
	for _, e := range each(err) {
		var failed *failure
		if !errors.As(e, &failed) {
			return statusUnusable
		}
	}
	return statusFailed
}

// answerError sorts an error of a rule: what nobody was asked for lack of a sound request is the caller's.
func answerError(err error) error {
	var asked *interpreter.Error
	if errors.As(err, &asked) && asked.Source == (interpreter.Source{}) && errors.Is(asked.Err, interpreter.ErrInvalidRequest) {
		return err
	}
	return &failure{err}
}

// causeOf is a stable word for the class of an error, for programs.
func causeOf(err error) string {
	var asked *interpreter.Error
	var script *luakube.ScriptError
	var load *declarative.LoadError
	answering := errors.As(err, &asked) && asked.Source != (interpreter.Source{})
	isScript := errors.As(err, &script)
	switch {
	case errors.Is(err, errUsage):
		return "invalidRequest"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline"
	case errors.Is(err, luakube.ErrLimit):
		return "limit"
	case errors.Is(err, interpreter.ErrNoRule):
		return "noRule"
	case errors.Is(err, interpreter.ErrNotReady):
		return "notReady"
	case errors.Is(err, interpreter.ErrInvalidResult):
		return "invalidResult"
	case isScript:
		return "scriptError"
	case errors.As(err, &load) || errors.Is(err, declarative.ErrOtherKind):
		return "invalidCustomization"
	case answering:
		return "ruleError"
	case asked != nil || errors.Is(err, interpreter.ErrInvalidRequest):
		return "invalidRequest"
	}
	return "unreadableInput"
}

// located is an error whose text names the place in a file.
type located struct {
	place declarative.Place
	text  string
	err   error
}

func (l *located) Error() string { return l.text }

func (l *located) Unwrap() error { return l.err }

// locate finds the place of an error. In its text, the place in a file stands for the place in a script. An answer with
// several mistakes becomes an error for each.
func locate(err error, customizations *declarative.Layer) error {
	var asked *interpreter.Error
	if errors.As(err, &asked) {
		if mistakes := each(asked.Err); len(mistakes) > 1 {
			var errs []error
			for _, mistake := range mistakes {
				one := *asked
				one.Err = mistake
				errs = append(errs, locate(answerError(&one), customizations))
			}
			return errors.Join(errs...)
		}
	}
	var script *luakube.ScriptError
	if customizations == nil || !errors.As(err, &script) {
		return err
	}
	name, rule, ok := cutLast(script.Script, "/")
	if !ok {
		return err
	}
	c := customizations.Customization(name)
	if c == nil {
		return err
	}
	place := c.ScriptPlace(rule, script.Line, script.Column)
	if place.File == "" {
		return err
	}
	text := strings.Replace(err.Error(), script.Error(), place.String()+": "+script.Message, 1)
	return &located{place, text, err}
}

// cutLast cuts a text at the last place of a separator.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// placeOf is the place an error is about, empty if it is about none.
func placeOf(err error) declarative.Place {
	var at *located
	var load *declarative.LoadError
	var read *manifest.Error
	switch {
	case errors.As(err, &at):
		return at.place
	case errors.As(err, &load):
		return load.Place
	case errors.As(err, &read):
		return declarative.Place{File: read.File, Line: read.Line, Column: read.Column}
	}
	return declarative.Place{}
}

// each takes joined errors apart.
func each(err error) []error {
	if err == nil {
		return nil
	}
	switch joined := err.(type) {
	case *failure:
		var list []error
		for _, e := range each(joined.err) {
			list = append(list, &failure{e})
		}
		return list
	case *usageError, *located:
		return []error{err}
	case interface{ Unwrap() []error }:
		// An error that wraps several without joining them has more to say than they.
		parts := joined.Unwrap()
		if err.Error() != errors.Join(parts...).Error() {
			return []error{err}
		}
		var list []error
		for _, e := range parts {
			list = append(list, each(e)...)
		}
		return list
	}
	return []error{err}
}

// report tells of an error on standard error: a line for each that is joined in it, with the line of the file
// that it is about.
func (s *session) report(err error) {
	for _, e := range each(err) {
		if errors.Is(e, errTold) {
			continue
		}
		fmt.Fprintf(s.stderr, "error: %v\n", message(e))
		place := placeOf(e)
		fmt.Fprint(s.stderr, s.excerpt(place.File, place.Line, place.Column, "  "))
	}
}

// message is an error's text, in which the place in a file stands for the place in a script that did not load.
func message(err error) string {
	var load *declarative.LoadError
	var script *luakube.ScriptError
	if errors.As(err, &load) && load.Place.File != "" && errors.As(err, &script) {
		return fmt.Sprintf("%s: customization %q: %s: %s", load.Place, load.Name, load.Rule, script.Message)
	}
	return err.Error()
}
