package luakube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrLimit is the cause of every error that ends a script for using too much. The error itself is a
// [*LimitError] that names the limit; out of wall time is context.DeadlineExceeded as well.
var ErrLimit = errors.New("limit exceeded")

// ScriptError says that a script could not be loaded, raised an error, was stopped, or gave an answer of
// the wrong shape.
type ScriptError struct {
	// Script is the name the script was compiled under.
	Script string
	// Line is the line of the script, counted from 1; 0 when no line is to blame.
	Line int
	// Column is the byte in that line, counted from 1; 0 when unknown. Syntax errors and errors about a field have one.
	Column int
	// Message is what went wrong, without the place.
	Message string
	// Stack is the Lua call stack, for logs; it may be empty.
	Stack string
	// Err is the cause; nil when the script itself is to blame.
	Err error
}

// Error is place and message in a line.
func (e *ScriptError) Error() string {
	if e.Line == 0 {
		return e.Script + ": " + e.Message
	}
	if e.Column == 0 {
		return fmt.Sprintf("%s:%d: %s", e.Script, e.Line, e.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.Script, e.Line, e.Column, e.Message)
}

// Unwrap is the cause.
func (e *ScriptError) Unwrap() error { return e.Err }

// LimitError says which limit a script ran into.
type LimitError struct {
	// Limit is the limit's name: "instructions", "memory", "time", "call depth", "stack slots" or "text".
	Limit string
	// Max is the limit that was exceeded, with its unit.
	Max string
	// All are the limits the script ran under, for people who wonder which to raise.
	All Limits
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("exceeded %s (limits: %s)", e.Max, e.All)
}

// Is makes every limit ErrLimit, and the one on wall time a deadline too.
func (e *LimitError) Is(target error) bool {
	return target == ErrLimit || e.Limit == limitTime && target == context.DeadlineExceeded
}

const (
	limitInstructions = "instructions"
	limitMemory       = "memory"
	limitTime         = "time"
	limitDepth        = "call depth"
	limitSlots        = "stack slots"
	limitText         = "text"
)

// Limits bound one call of a script. The first two are the same on a slow machine.
type Limits struct {
	// Instructions bounds what is executed: one for every instruction of the Lua machine, more for what
	// library functions do.
	Instructions int64
	// Memory bounds what is allocated over the call, in bytes by a fixed price list; what is garbage again
	// counts too.
	Memory int64
	// Time bounds the wall time, but for a script that has hardly begun: a short one is not failed by a machine that
	// has no CPU to spare.
	Time time.Duration
}

// DefaultLimits leave room for a rule that folds hundreds of members, and stop a runaway in about a second.
// One second is what Karmada gives a script.
func DefaultLimits() Limits {
	return Limits{Instructions: 20_000_000, Memory: 64 << 20, Time: time.Second}
}

func (l Limits) String() string {
	return fmt.Sprintf("%d instructions, %s of memory, %s", l.Instructions, bytesString(l.Memory), l.Time)
}

func bytesString(n int64) string {
	if n%(1<<20) == 0 {
		return fmt.Sprintf("%dMi", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// longestMessage is how many bytes of what a script raised are passed on.
const longestMessage = 4096

// place splits the "script:line: " that the engine puts before a message.
func place(script, message string) (line int, rest string) {
	rest, found := strings.CutPrefix(message, script+":")
	if !found {
		return 0, message
	}
	n, digits := 0, 0
	for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' && digits < 9 {
		n = n*10 + int(rest[digits]-'0')
		digits++
	}
	rest, found = strings.CutPrefix(rest[digits:], ":")
	if digits == 0 || !found {
		return 0, message
	}
	return n, strings.TrimPrefix(rest, " ")
}
