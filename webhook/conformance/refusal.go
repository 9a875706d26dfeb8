package conformance

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
)

// nonsense are the questions that no hook can answer, by the check that asks them. Those in which a hook may get stuck
// before it has read the UID are early.
var nonsense = map[string]probe{
	// Who reads operations as one of a list finds it while reading the question.
	"unknown-operation": {early: true, wrap: func(c *v1alpha1.ResourceInterpreterContext) any {
		c.Request.Operation = "InterpretWeather"
		return c
	}},
	"object-missing": {early: true, wrap: func(c *v1alpha1.ResourceInterpreterContext) any {
		c.Request.Object = runtime.RawExtension{}
		return c
	}},
	"request-missing": {early: true, wrap: func(c *v1alpha1.ResourceInterpreterContext) any {
		c.Request = nil
		return c
	}},
	"garbage-body":       {early: true, body: func([]byte) []byte { return []byte("\x16\x03\x01 this is no JSON {") }},
	"truncated-body":     {early: true, body: func(question []byte) []byte { return question[:len(question)-len(question)/4] }},
	"empty-body":         {early: true, body: func([]byte) []byte { return []byte{} }},
	"wrong-content-type": {early: true, header: headerWith("Content-Type", "text/plain")},
	"get":                {early: true, method: http.MethodGet, body: func([]byte) []byte { return nil }},
}

// provoke asks a question that no hook can answer, once.
func (s *session) provoke(ctx context.Context, id string) *answer {
	if a := s.provoked[id]; a != nil {
		return a
	}
	p := nonsense[id]
	p.question = &s.kit.questions[0]
	if sound := s.sound(ctx); len(sound) > 0 {
		p.question = sound[0].question
	}
	s.provoked[id] = s.hear(s.ask(ctx, p))
	return s.provoked[id]
}

// refuses is a check that wants a question refused, in a way that a client understands: a failure in the body, or
// an HTTP status that means one.
func refuses(id string) func(context.Context, *session) outcome {
	return func(ctx context.Context, s *session) outcome {
		if len(s.sound(ctx)) == 0 {
			return outcome{skipped: noneSound}
		}
		if a := s.provoke(ctx, id); !a.refuses() {
			return outcome{problems: []Problem{a.problem("a failure with its reason, or an HTTP status from 400", a.summary())}}
		}
		return outcome{}
	}
}

// refuses says whether a client understands that there is no answer. Of an HTTP status it understands little more.
func (a *answer) refuses() bool {
	return a.level == refused || a.Err == nil && a.Status >= http.StatusBadRequest
}

// checkUnregistered asks known kinds for operations that the hook is not registered for. It may answer, but then in
// full.
func checkUnregistered(ctx context.Context, s *session) outcome {
	var o outcome
	asked := false
	for _, usual := range s.sound(ctx) {
		for _, c := range interpreter.Contracts() {
			if s.registered(usual.question.Kind(), c.Operation) {
				continue
			}
			asked = true
			samples := Samples{Desired: []*unstructured.Unstructured{usual.question.Object}}
			q := samples.questions(c, usual.question.Kind())[0]
			o.problems = append(o.problems, s.refusedOrAnswered(ctx, &q)...)
		}
		break // Other kinds are handled by the same code.
	}
	if !asked {
		o.skipped = "the hook is asked every operation"
		if len(s.sound(ctx)) == 0 {
			o.skipped = noneSound
		}
	}
	return o
}

// registered says whether there is a question about a kind and an operation.
func (s *session) registered(kind schema.GroupVersionKind, op interpreter.Operation) bool {
	for _, q := range s.kit.questions {
		if q.Kind() == kind && q.Operation == op {
			return true
		}
	}
	return s.hook.registered(kind, op)
}

// registered says whether any webhook of the configuration has registered for a kind and an operation.
func (h *Hook) registered(kind schema.GroupVersionKind, op interpreter.Operation) bool {
	if h.Configuration == nil {
		return false
	}
	for i := range h.Configuration.Webhooks {
		if webhook.Matches(h.Configuration.Webhooks[i].Rules, kind, op) {
			return true
		}
	}
	return false
}

// unknownKind is of a group where there is nothing.
var unknownKind = schema.GroupVersionKind{Group: "conformance.kubeinterpret.io", Version: "v1", Kind: "NobodyKnowsThisKind"}

// checkUnknownKind asks about a kind that does not exist. Hooks for all kinds may answer, but then in full.
func checkUnknownKind(ctx context.Context, s *session) outcome {
	if len(s.sound(ctx)) == 0 {
		return outcome{skipped: noneSound}
	}
	return outcome{problems: s.askUnknown(ctx)}
}

// askUnknown asks about a kind that does not exist for the operations that are answered otherwise, once.
func (s *session) askUnknown(ctx context.Context) []Problem {
	if s.unknown != nil {
		return *s.unknown
	}
	var problems []Problem
	for _, usual := range s.sound(ctx) {
		contract, _ := interpreter.ContractOf(usual.question.Operation) // New has seen to it.
		q := (&Samples{}).questions(contract, unknownKind)[0]
		problems = append(problems, s.refusedOrAnswered(ctx, &q)...)
	}
	s.unknown = &problems
	return problems
}

// refusedOrAnswered asks a question that a hook need not answer.
func (s *session) refusedOrAnswered(ctx context.Context, q *Question) []Problem {
	a := s.ask(ctx, probe{question: q})
	if a.refuses() || a.level == answered {
		s.hear(a)
		return nil
	}
	return []Problem{a.problem("a failure with its reason, or all that the operation promises", a.summary())}
}

// checkSurvives asks every sound question once more, after all that the hook has been through.
func checkSurvives(ctx context.Context, s *session) outcome {
	if len(s.sound(ctx)) == 0 {
		return outcome{skipped: noneSound}
	}
	for id := range nonsense {
		s.provoke(ctx, id)
	}
	return compare(func(*answer) []probe { return []probe{{}} })(ctx, s)
}

// uidIsRight says whether an answer carries its question's UID. What could not be read is not wrong.
func (a *answer) uidIsRight() bool {
	return a.response != nil && (a.unreadable["uid"] || a.response.UID == a.uid)
}

// checkHeard looks at all answers of some sort that have been read so far. Those to questions about an unknown kind are
// always among them, and those to the provocations: without, a good hook gives no failure to look at.
func checkHeard(provocations []string, sort func(*answer) bool, none string, right func(*answer) bool, expected, got func(*answer) string) func(context.Context, *session) outcome {
	return func(ctx context.Context, s *session) outcome {
		// Who answers nothing that can be used is not provoked.
		if len(s.sound(ctx)) > 0 {
			s.askUnknown(ctx)
			for _, id := range provocations {
				s.provoke(ctx, id)
			}
		}
		o := outcome{skipped: none}
		for _, a := range s.heard {
			if a.unreadable["successful"] || !sort(a) {
				continue
			}
			o.skipped = ""
			if !right(a) {
				o.problems = append(o.problems, a.problem(expected(a), got(a)))
			}
		}
		return o
	}
}

// The sorts of answers.
func success(a *answer) bool { return a.response.Successful && !a.early }
func failure(a *answer) bool { return !a.response.Successful }
func later(a *answer) bool   { return failure(a) && !a.early }

// identified is a failure of a question whose UID could have been read.
func identified(a *answer) bool {
	return failure(a) && a.early && a.asksWithUID()
}

// asksWithUID says whether the UID stands in what was sent.
func (a *answer) asksWithUID() bool {
	uid, _, _ := webhook.DecodeRequest([]byte(a.RequestBody))
	return uid == a.uid
}

// wantUID and gotUID are the two halves of a problem with a UID.
func wantUID(a *answer) string { return fmt.Sprintf("uid %q, that of the request", a.uid) }

func gotUID(a *answer) string {
	if a.response.UID == "" {
		return "no uid, with " + a.summary()
	}
	return fmt.Sprintf("uid %q, with %s", a.response.UID, a.summary())
}

// statusIsThere says whether a failure has a status that could be read, or one that could not.
func statusIsThere(a *answer) bool { return a.response.Status != nil || a.unreadable["status"] }

// explained is a failure whose reason can be looked at.
func explained(a *answer) bool { return failure(a) && a.response.Status != nil }

// constant expects the same of all answers.
func constant(text string) func(*answer) string { return func(*answer) string { return text } }

// noFailure is a reason that does not arise, since failures are provoked; but a hook may turn all of them away by
// HTTP status.
const noFailure = "the hook gave no failure in a body"
