package conformance

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

const (
	// What etcd stores by default, and so the largest object that there is.
	largestObject = 3 << 19
	// More than any sensible limit on a question lets pass; two of the largest objects fit three times.
	tooLarge = 12 << 20
	// As many member clusters as a large installation has.
	manyClusters = 100
	// How often the same question is asked again.
	repetitions = 2
)

// noneSound is why a question is not asked in another form.
const noneSound = "no question got a usable answer in the usual form"

func noneOf(op interpreter.Operation) string {
	return fmt.Sprintf("%s got no usable answer in the usual form", op)
}

// compare asks every sound question in other forms, and tells of those that fare worse than in the usual one. A form
// has the probes that it takes, none if it does not concern the question.
func compare(form func(*answer) []probe) func(context.Context, *session) outcome {
	return func(ctx context.Context, s *session) outcome {
		var o outcome
		asked := false
		for _, usual := range s.sound(ctx) {
			for _, p := range form(usual) {
				asked = true
				p.question = usual.question
				a := s.ask(ctx, p)
				if a.level < usual.level {
					o.problems = append(o.problems, a.problem(usual.summary()+", as in the usual form", a.summary()))
				} else {
					s.hear(a)
				}
			}
		}
		if !asked {
			o.skipped = noneSound
		}
		return o
	}
}

// of limits a form to one operation, of which there may be no sound question.
func of(op interpreter.Operation, form func(*answer) []probe) func(context.Context, *session) outcome {
	limited := compare(func(a *answer) []probe {
		if a.question.Operation != op {
			return nil
		}
		return form(a)
	})
	return func(ctx context.Context, s *session) outcome {
		if s.soundOf(ctx, op) == nil {
			return outcome{skipped: noneOf(op)}
		}
		return limited(ctx, s)
	}
}

// checkTimeoutQuery looks at the one parameter that every question has.
func checkTimeoutQuery(ctx context.Context, s *session) outcome {
	firsts := s.firsts(ctx)
	if s.withoutQuery {
		a := s.ask(ctx, probe{question: firsts[0].question, timeout: "10s"})
		return outcome{problems: []Problem{a.problem("an answer, as without timeout in the query", a.summary())}}
	}
	return compare(func(*answer) []probe { return []probe{{timeout: "30s"}, {timeout: "29s"}} })(ctx, s)
}

// withoutEnvelope leaves out what says the same in every question. Karmada always sends it; people who try a hook by
// hand do not.
func withoutEnvelope(*answer) []probe {
	return []probe{{wrap: func(c *v1alpha1.ResourceInterpreterContext) any {
		return &v1alpha1.ResourceInterpreterContext{Request: c.Request}
	}}}
}

// withUnknownFields asks as a later version of Karmada might, at all levels but the object, whose fields are its own.
func withUnknownFields(*answer) []probe {
	type request struct {
		*v1alpha1.ResourceInterpreterRequest
		Later map[string]any `json:"fieldOfALaterVersion"`
	}
	later := map[string]any{"a": []any{int64(1), nil, "b"}}
	return []probe{{wrap: func(c *v1alpha1.ResourceInterpreterContext) any {
		return map[string]any{
			"apiVersion": c.APIVersion, "kind": c.Kind, "fieldOfALaterVersion": later,
			"request": request{c.Request, later},
		}
	}}}
}

// withNulls has null where Go leaves out what is empty. Clients in other languages write it.
func withNulls(*answer) []probe {
	// Fields of the outer type hide those of the same name that would be left out when they are empty.
	type request struct {
		*v1alpha1.ResourceInterpreterRequest
		ObservedObject   *runtime.RawExtension           `json:"observedObject"`
		AggregatedStatus []v1alpha1.AggregatedStatusItem `json:"aggregatedStatus"`
	}
	return []probe{{wrap: func(c *v1alpha1.ResourceInterpreterContext) any {
		return map[string]any{
			"apiVersion": c.APIVersion, "kind": c.Kind, "response": nil,
			"request": request{c.Request, c.Request.ObservedObject, c.Request.AggregatedStatus},
		}
	}}}
}

// withCharset says what is true of all JSON. Karmada does not say it, and its own server refuses it.
func withCharset(*answer) []probe {
	return []probe{{header: headerWith("Content-Type", "application/json; charset=utf-8"), early: true}}
}

func headerWith(name, value string) http.Header {
	h := usualHeader()
	h[name] = []string{value}
	return h
}

// withOtherCase writes the names of headers as HTTP/2 does, and as nobody does.
func withOtherCase(*answer) []probe {
	var probes []probe
	for _, change := range []func(string) string{strings.ToLower, strings.ToUpper} {
		h := http.Header{}
		for name, values := range usualHeader() {
			h[change(name)] = values
		}
		probes = append(probes, probe{header: h})
	}
	return probes
}

// oddText has what JSON must escape, what takes several bytes, and what some languages take for the end of a line.
const oddText = "\x00\x1f\"\\/\u2028é漢字\U0001F642</script>"

// withOddText puts the text where any object may have some.
func withOddText(a *answer) []probe {
	return []probe{{request: annotated(a.question.Request, oddText)}}
}

// annotated is a request about an object with one annotation more.
func annotated(req *interpreter.Request, value string) *interpreter.Request {
	other := *req
	other.Object = interpreter.Clone(req.Object)
	annotations := maps.Clone(other.Object.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations["conformance.kubeinterpret.io/text"] = value
	other.Object.SetAnnotations(annotations)
	return &other
}

// named is a request about an object of another name.
func named(req *interpreter.Request, name string) *interpreter.Request {
	other := *req
	other.Object = interpreter.Clone(req.Object)
	other.Object.SetName(name)
	if req.Observed != nil {
		other.Observed = interpreter.Clone(req.Observed)
		other.Observed.SetName(name)
	}
	return &other
}

// withoutName asks about an object that is yet to get one.
func withoutName(a *answer) []probe { return []probe{{request: named(a.question.Request, "")}} }

// withReplicas asks for another number. Zero is one: a hook that takes it for a missing one scales to something else.
func withReplicas(n int32) func(*answer) []probe {
	return func(a *answer) []probe {
		other := *a.question.Request
		other.Replicas = &n
		return []probe{{request: &other}}
	}
}

// withItems replaces the status items.
func withItems(items func(*interpreter.Request) []interpreter.AggregatedStatusItem) func(*answer) []probe {
	return func(a *answer) []probe {
		other := *a.question.Request
		other.Statuses = items(a.question.Request)
		return []probe{{request: &other}}
	}
}

// noItems is what Karmada has before the first cluster reports. The field is not sent then.
func noItems(*interpreter.Request) []interpreter.AggregatedStatusItem { return nil }

// partialItems are what clusters report that have not got so far.
func partialItems(req *interpreter.Request) []interpreter.AggregatedStatusItem {
	return append(statuses(1, req.Object),
		interpreter.AggregatedStatusItem{ClusterName: "not-applied", AppliedMessage: "no such kind"},
		interpreter.AggregatedStatusItem{ClusterName: "not-reported", Applied: true},
		interpreter.AggregatedStatusItem{ClusterName: "empty", Applied: true, Status: &runtime.RawExtension{Raw: []byte(`{}`)}, Health: v1alpha1.ResourceUnhealthy},
	)
}

// manyItems repeat what the question has already.
func manyItems(req *interpreter.Request) []interpreter.AggregatedStatusItem {
	items := make([]interpreter.AggregatedStatusItem, manyClusters)
	for i := range items {
		if len(req.Statuses) > 0 {
			items[i] = req.Statuses[i%len(req.Statuses)]
		}
		items[i].ClusterName = fmt.Sprintf("member%d", i+1)
	}
	return items
}

// understood asks in other forms that a hook may refuse; it must only do so in a way that can be understood.
func understood(op interpreter.Operation, form func(*answer) []probe) func(context.Context, *session) outcome {
	return func(ctx context.Context, s *session) outcome {
		var o outcome
		asked := false
		for _, usual := range s.sound(ctx) {
			if op != "" && usual.question.Operation != op {
				continue
			}
			for _, p := range form(usual) {
				asked = true
				p.question = usual.question
				if a := s.ask(ctx, p); a.level == unusable {
					o.problems = append(o.problems, a.problem("an answer, or a failure with its reason", a.summary()))
				} else {
					s.hear(a)
				}
			}
		}
		switch {
		case !asked && op != "":
			o.skipped = noneOf(op)
		case !asked:
			o.skipped = noneSound
		}
		return o
	}
}

// withOddName has a name that no API server would store for most kinds, and some would for others.
func withOddName(a *answer) []probe {
	return []probe{{request: named(a.question.Request, "système:контроллер\x01%2F\U0001F642")}}
}

// withoutObserved asks for Retain with half of what it takes.
func withoutObserved(*answer) []probe {
	return []probe{{wrap: func(c *v1alpha1.ResourceInterpreterContext) any {
		c.Request.ObservedObject = nil
		return c
	}}}
}

// checkLargeObject asks about the largest object that an API server stores.
func checkLargeObject(ctx context.Context, s *session) outcome {
	for _, usual := range s.sound(ctx) {
		if usual.level != answered {
			continue
		}
		a := s.ask(ctx, probe{question: usual.question, request: annotated(usual.question.Request, strings.Repeat("x", largestObject)), raw: true, early: true})
		s.hear(a)
		if a.level < usual.level {
			return outcome{problems: []Problem{a.problem(fmt.Sprintf("%s, also about an object of %d bytes", usual.summary(), largestObject), a.summary())}}
		}
		return outcome{}
	}
	return outcome{skipped: "no question was answered with success"}
}

// checkTooLarge asks what is too much to ask. A hook without a limit may answer. One that cuts the question off will
// say that it is no JSON, and its caller will look for the mistake in the wrong place.
func checkTooLarge(ctx context.Context, s *session) outcome {
	sound := s.sound(ctx)
	if len(sound) == 0 {
		return outcome{skipped: noneSound}
	}
	q := sound[0].question
	a := s.hear(s.ask(ctx, probe{question: q, body: padded, raw: true, early: true}))
	switch {
	case a.level == answered, a.Err == nil && a.Status == http.StatusRequestEntityTooLarge:
		return outcome{}
	case a.level == refused && a.response.Status != nil && a.response.Status.Code == http.StatusRequestEntityTooLarge:
		return outcome{}
	}
	return outcome{problems: []Problem{a.problem(fmt.Sprintf("HTTP status 413, or an answer, to a question of %d bytes", tooLarge), a.summary())}}
}

// padded is a question that means the same with a lot of white space before its end.
func padded(question []byte) []byte {
	end := len(question) - 1
	return slices.Concat(question[:end], bytes.Repeat([]byte{' '}, tooLarge), question[end:])
}

// checkResent sends questions once more with the same UID, as a client does that was told to come back.
func checkResent(ctx context.Context, s *session) outcome {
	return compare(func(usual *answer) []probe {
		uid := uuid.NewUUID()
		return []probe{{uid: uid}, {uid: uid}}
	})(ctx, s)
}

// checkIdempotence asks the same question again, and wants the same answer. Controllers ask whenever an object is looked
// at, and act on every difference. Answers that differ are no reason for other checks to complain as well.
func checkIdempotence(ctx context.Context, s *session) outcome {
	var o outcome
	sound := s.sound(ctx)
	for _, usual := range sound {
		for range repetitions {
			a := s.hear(s.ask(ctx, probe{question: usual.question}))
			if !a.same(usual) {
				o.problems = append(o.problems, a.problem("the answer that the same question got before: "+shown(usual.ResponseBody), shown(a.ResponseBody)))
				usual.unstable = true
				break
			}
		}
	}
	if len(sound) == 0 {
		o.skipped = noneSound
	}
	return o
}

// checkKeepAlive asks twice in a row, and wants the second question to find the first one's connection. A hook that
// closes it works, at the price of a TLS handshake for each question.
func checkKeepAlive(ctx context.Context, s *session) outcome {
	sound := s.sound(ctx)
	if len(sound) == 0 {
		return outcome{skipped: noneSound}
	}
	s.ask(ctx, probe{question: sound[0].question})
	a := s.ask(ctx, probe{question: sound[0].question})
	if !a.reused {
		return outcome{problems: []Problem{a.problem("a connection that is kept for the next question", "a new connection for each")}}
	}
	return outcome{}
}

// checkConcurrency asks many questions at the same time. Their answers must be their own, by the UID and by what
// they say.
func checkConcurrency(ctx context.Context, s *session) outcome {
	var sound []*answer
	for _, a := range s.sound(ctx) {
		// Who mixes up UIDs even when asked one question at a time is found out by others.
		if !slices.ContainsFunc(s.heard, func(h *answer) bool { return h.question == a.question && !h.uidIsRight() }) {
			sound = append(sound, a)
		}
	}
	if len(sound) == 0 {
		return outcome{skipped: noneSound}
	}
	answers := make([]*answer, parallel)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = s.ask(ctx, probe{question: sound[i%len(sound)].question}) })
	}
	all.Wait()
	var o outcome
	for i, a := range answers {
		usual := sound[i%len(sound)]
		switch {
		case a.level < usual.level:
			o.problems = append(o.problems, a.problem(usual.summary()+", as when asked alone", a.summary()))
		case !a.uidIsRight():
			o.problems = append(o.problems, a.problem(fmt.Sprintf("the answer to %q", a.uid), fmt.Sprintf("that to %q", a.response.UID)))
		case !usual.unstable && !a.same(usual):
			o.problems = append(o.problems, a.problem("the answer that the question gets alone: "+shown(usual.ResponseBody), shown(a.ResponseBody)))
		}
	}
	return o
}
