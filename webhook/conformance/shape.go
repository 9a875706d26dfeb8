package conformance

import (
	"context"
	"fmt"
	"time"

	"github.com/kubeinterpret/interpret/interpreter"
)

const (
	// From here on, Karmada's client logs a call as slow.
	slowCall = 500 * time.Millisecond
	// How often a question is asked before its hook is called slow: the first call may find it asleep.
	slowTries = 3
)

// shaped is a check of the form of the first answers: it tells of the flaws that they were found to have under its name.
// Relevant says which answers it is about, nil that it is about all; none is the reason for skipping it without any.
func shaped(id string, relevant func(*answer) bool, none string) func(context.Context, *session) outcome {
	return func(ctx context.Context, s *session) outcome {
		var o outcome
		looked := false
		for _, a := range s.firsts(ctx) {
			looked = looked || relevant == nil || relevant(a)
			for _, f := range a.flaws {
				if f.check == id {
					o.problems = append(o.problems, a.problem(f.expected, f.got))
				}
			}
		}
		if !looked {
			o.skipped = none
		}
		return o
	}
}

// whole says that an HTTP answer came.
func whole(a *answer) bool { return a.Err == nil }

// readable says that a response came.
func readable(a *answer) bool { return a.response != nil }

const (
	noneWhole    = "no question got an HTTP answer"
	noneReadable = "no question got an answer that can be read"
)

// promised is a check of what operations with a certain kind of output promise.
func promised(id string, output func(interpreter.Output) bool) func(context.Context, *session) outcome {
	return shaped(id, func(a *answer) bool {
		return a.response != nil && a.response.Successful && gives(a.question.Operation, output)
	}, "no such operation was answered with success")
}

// gives says whether an operation has an output of some kind.
func gives(op interpreter.Operation, output func(interpreter.Output) bool) bool {
	contract, _ := interpreter.ContractOf(op) // New has seen to it.
	for _, out := range contract.Out {
		if output(out) {
			return true
		}
	}
	return false
}

// gave says whether an output is of a type.
func gave[T any](out interpreter.Output) bool {
	_, ok := out.In(&interpreter.Result{}).(T)
	return ok
}

// limited is an output that may change some fields only.
func limited(out interpreter.Output) bool { return out.Only != nil }

// checkLatency asks those questions again that were answered slowly. The best time counts: what was slow once may have
// been the network, or this machine.
func checkLatency(ctx context.Context, s *session) outcome {
	var o outcome
	asked := false
	for _, a := range s.firsts(ctx) {
		if a.Err != nil {
			continue
		}
		asked = true
		fastest := a
		for tries := 1; fastest.Took > slowCall && tries < slowTries; tries++ {
			if again := s.ask(ctx, probe{question: a.question}); again.Err == nil && again.Took < fastest.Took {
				fastest = again
			}
		}
		if fastest.Took > slowCall {
			o.problems = append(o.problems, a.problem(fmt.Sprintf("an answer within %s", slowCall),
				fmt.Sprintf("%s at the best of %d tries", fastest.Took.Round(time.Millisecond), slowTries)))
		}
	}
	if !asked {
		o.skipped = noneWhole
	}
	return o
}

// checkAnswered insists on an answer where there is a sample for the very operation. Without it, a hook that says no to
// everything would keep all the rules.
func checkAnswered(ctx context.Context, s *session) outcome {
	var o outcome
	samples := 0
	for _, a := range s.firsts(ctx) {
		if a.question.Made || a.response == nil {
			continue
		}
		samples++
		if a.level == refused {
			o.problems = append(o.problems, a.problem("success, since the object is no made-up one", a.summary()))
		}
	}
	if samples == 0 {
		o.skipped = "no sample was given for what the hook is asked"
	}
	return o
}
