package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	jsonutil "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
)

// level says how good an answer is. A question in an unusual form must not get a worse one than in the usual form.
type level int

const (
	// unusable is no answer, or one that a client cannot use.
	unusable level = iota
	// refused is a "no" that a client understands, though it may lack its reason.
	refused
	// answered is all that the operation promises.
	answered
)

// flaw is a rule that an answer breaks.
type flaw struct {
	check         string
	expected, got string
}

func (a *answer) blame(check, expected, format string, args ...any) {
	a.flaws = append(a.flaws, flaw{check, expected, fmt.Sprintf(format, args...)})
}

// maxShown is how much of a text from a hook is shown in a line.
const maxShown = 120

// shown is a text in quotes, not all of it if it is long.
func shown[T ~string | ~[]byte](text T) string {
	if len(text) > maxShown {
		return fmt.Sprintf("%q and %d bytes more", string(text[:maxShown]), len(text)-maxShown)
	}
	return fmt.Sprintf("%q", string(text))
}

// judge reads an answer and finds its flaws: for each mistake one, and none that only follows from another.
//
// Severities are those of the checks by their IDs: an answer is good enough if it breaks no Must.
func (a *answer) judge(severities map[string]Severity) {
	a.unreadable = map[string]bool{}
	switch {
	case errors.Is(a.Err, context.DeadlineExceeded):
		a.blame("deadline", "an answer before the caller stops waiting", "none within %s", a.Took.Round(1e6))
		return
	case a.Err != nil:
		a.blame("connection-kept", "an answer", "%v", a.Err)
		return
	case a.Status < http.StatusOK || a.Status > http.StatusPartialContent:
		a.blame("http-status", "an HTTP status from 200 to 206, also with a failure", "%s", a.summary())
		return
	case len(a.ResponseBody) > webhook.DefaultAnswerLimit:
		a.blame("answer-size", fmt.Sprintf("at most %d bytes", webhook.DefaultAnswerLimit), "more")
		return
	case a.ResponseBody == "":
		a.blame("body-present", "a body", "none")
		return
	}
	if text := a.ResponseHeader.Get("Content-Type"); text != "" {
		if _, _, err := mime.ParseMediaType(text); err != nil {
			a.blame("content-type", "application/json, or at least a media type", "%q: %v", text, err)
		}
	}
	a.readEnvelope()
	if a.response == nil {
		return
	}
	// Whether the UID is right, and whether a failure has a status, is no part of this: every answer is asked that at
	// the end, and a hook that gets only that wrong can be judged by the rest of what it says.
	switch {
	case a.unreadable["successful"]:
		return
	case !a.response.Successful:
		a.level = refused
	case a.asked == nil:
		// Nobody knows what the answer should be, only that there is one.
		a.level = answered
	default:
		a.judgeAnswer()
		if !slices.ContainsFunc(a.flaws, func(f flaw) bool { return severities[f.check] == Must && f.check != "content-type" }) {
			a.level = answered
		}
	}
}

// readEnvelope finds the response in the body, and reads it field by field. Decoding it whole, as a client does, would
// stop at the first field of a wrong type, and all that comes after it would seem to be missing.
func (a *answer) readEnvelope() {
	const object = "one JSON object with a response, and nothing behind it"
	var envelope map[string]json.RawMessage
	if err := jsonutil.Unmarshal([]byte(a.ResponseBody), &envelope); err != nil {
		a.blame("body-json", object, "%s: %v", shown(a.ResponseBody), err)
		return
	}
	if envelope == nil {
		a.blame("body-json", object, "null")
		return
	}
	for name, want := range map[string]string{
		"apiVersion": v1alpha1.GroupVersion.String(),
		"kind":       v1alpha1.KindResourceInterpreterContext,
	} {
		var got string
		if raw, ok := envelope[name]; !ok {
			continue
		} else if err := jsonutil.Unmarshal(raw, &got); err != nil {
			a.blame("field-types", name+" as text", "%s", shown(raw))
			return
		}
		if got != want && got != "" {
			a.blame("envelope", fmt.Sprintf("%s %q, or none", name, want), "%q", got)
		}
	}
	raw := envelope["response"]
	var fields map[string]json.RawMessage
	switch err := jsonutil.Unmarshal(raw, &fields); {
	case len(raw) == 0, err == nil && fields == nil:
		a.blame("response", "a response in the envelope", "%s", shown(a.ResponseBody))
		return
	case err != nil:
		a.blame("field-types", "response as an object", "%s", shown(raw))
		return
	}
	if slices.ContainsFunc(a.flaws, func(f flaw) bool { return f.check == "envelope" }) {
		return // The client has given up.
	}
	a.response = &v1alpha1.ResourceInterpreterResponse{}
	for _, f := range responseFields(a.response) {
		raw, ok := fields[f.name]
		if !ok {
			continue
		}
		err := jsonutil.Unmarshal(raw, f.into)
		if err == nil {
			continue
		}
		a.unreadable[f.name] = true
		if f.name == "patch" {
			a.blame("patch-base64", "patch as base64 text", "%s: %v", shown(raw), err)
		} else {
			a.blame("field-types", fmt.Sprintf("%s as %s", f.name, describe(f.into)), "%s: %v", shown(raw), err)
		}
	}
}

// responseField is a field of a response, by its name in JSON, and where it belongs.
type responseField struct {
	name string
	into any
}

// responseFields are all that there are.
func responseFields(r *v1alpha1.ResourceInterpreterResponse) []responseField {
	return []responseField{
		{"uid", &r.UID}, {"successful", &r.Successful}, {"status", &r.Status},
		{"patch", &r.Patch}, {"patchType", &r.PatchType},
		{"replicas", &r.Replicas}, {"replicaRequirements", &r.ReplicaRequirements}, {"components", &r.Components},
		{"dependencies", &r.Dependencies}, {"rawStatus", &r.RawStatus}, {"healthy", &r.Healthy},
	}
}

// describe says what a field's value must be.
func describe(into any) string {
	t := reflect.TypeOf(into).Elem()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int32:
		return "a whole number of 32 bits"
	case reflect.Slice:
		return "a list of objects with fields of their types"
	}
	return "an object with fields of their types"
}

// judgeAnswer looks for what the operation promises in an answer that claims success.
func (a *answer) judgeAnswer() {
	contract, _ := interpreter.ContractOf(a.asked.Operation) // It was decoded.
	for _, out := range contract.Out {
		switch out.In(&interpreter.Result{}).(type) {
		case *int32:
			switch n := a.response.Replicas; {
			case n == nil && !a.unreadable["replicas"]:
				a.blame("replicas", "replicas, 0 if there are none", "no replicas")
			case n != nil && *n < 0:
				a.blame("replicas-not-negative", "replicas from 0", "%d", *n)
			}
		case *[]interpreter.Component:
			a.judgeComponents()
		case *[]interpreter.DependentObjectReference:
			a.judgeDependencies()
		case *any:
			if a.response.RawStatus == nil && !a.unreadable["rawStatus"] {
				a.blame("raw-status", "rawStatus, {} if there is nothing to report", "no rawStatus")
			}
		case *interpreter.Health:
			if a.response.Healthy == nil && !a.unreadable["healthy"] {
				a.blame("healthy", "healthy, true or false", "no healthy")
			}
		case **unstructured.Unstructured:
			a.judgePatch(out.Only)
		}
	}
}

// judgeComponents knows no Must: Karmada's client takes any list. But schedulers tell components apart by their names.
func (a *answer) judgeComponents() {
	seen := map[string]bool{}
	for i, c := range a.response.Components {
		switch {
		case c.Name == "":
			a.blame("component-names", "a name for every component", "components[%d] has none", i)
		case seen[c.Name]:
			a.blame("component-names", "a name of its own for every component", "components[%d] is %q, too", i, c.Name)
		}
		seen[c.Name] = true
		if c.Replicas < 0 {
			a.blame("replicas-not-negative", "replicas from 0", "components[%d] has %d", i, c.Replicas)
		}
	}
}

// judgeDependencies looks at each item by itself. One bad item makes Karmada's client reject all.
func (a *answer) judgeDependencies() {
	for i := range a.response.Dependencies {
		d := &a.response.Dependencies[i]
		if d.APIVersion == "" || d.Kind == "" || d.Name == "" && d.LabelSelector == nil {
			text, _ := json.Marshal(d) // It was decoded.
			a.blame("dependencies", "apiVersion, kind, and name or labelSelector in each", "dependencies[%d] is %s", i, text)
			continue
		}
		errs := validation.ValidateLabelSelector(d.LabelSelector, validation.LabelSelectorValidationOptions{}, field.NewPath("dependencies").Index(i).Child("labelSelector"))
		if len(errs) > 0 {
			a.blame("dependency-selector", "a label selector by the rules of Kubernetes", "%v", errs.ToAggregate())
		}
		for j := range i {
			if equality.Semantic.DeepEqual(d, &a.response.Dependencies[j]) {
				a.blame("dependencies-once", "each dependency once", "dependencies[%d] is that of dependencies[%d]", i, j)
				break
			}
		}
	}
}

// judgePatch looks at a patch from the outside in, up to the first mistake. Only are the fields that it may change,
// nil if it may change all.
func (a *answer) judgePatch(only []string) {
	r := a.response
	if a.unreadable["patch"] || a.unreadable["patchType"] {
		return
	}
	const pair = "patch and patchType, or neither of them if nothing changes"
	switch {
	case len(r.Patch) == 0 && r.PatchType == nil:
		return
	case len(r.Patch) == 0:
		a.blame("patch-pair", pair, "a patchType without patch")
		return
	case r.PatchType == nil || *r.PatchType == "":
		a.blame("patch-pair", pair, "a patch without patchType")
		return
	case *r.PatchType != v1alpha1.PatchTypeJSONPatch:
		a.blame("patch-type", fmt.Sprintf("patchType %q", v1alpha1.PatchTypeJSONPatch), "%s", shown(string(*r.PatchType)))
		return
	}
	if err := checkPatch(r.Patch); err != nil {
		a.blame("patch-form", "a list of operations by RFC 6902", "%s: %v", shown(r.Patch), err)
		return
	}
	// Pruning may change everything, so that the whole patched object comes back.
	res, err := webhook.ResultOf(&interpreter.Request{Operation: interpreter.Prune, Object: a.asked.Object}, r)
	switch {
	case errors.Is(err, webhook.ErrOtherObject):
		a.blame("patch-identity", "an object of the same kind, namespace and name", "%v", err)
		return
	case err != nil:
		a.blame("patch-applies", "a patch that can be applied to the object of the request", "%v", err)
		return
	}
	if only == nil {
		return
	}
	// The client drops what else has changed, so nothing breaks; but the hook's author believes that it is written.
	was, is := interpreter.Clone(a.asked.Object).Object, res.Object.Object
	for _, name := range only {
		delete(was, name)
		delete(is, name)
	}
	if !equality.Semantic.DeepEqual(was, is) {
		a.blame("patch-only-status", "a change of "+strings.Join(only, ", ")+" only, since the caller writes nothing else", "%s", shown(r.Patch))
	}
}

// patchOperations are those of RFC 6902, with the fields that each needs beside path.
var patchOperations = map[string]string{"add": "value", "remove": "", "replace": "value", "move": "from", "copy": "from", "test": "value"}

// checkPatch says what keeps a text from being a patch, whatever it is applied to. Libraries find out only while they
// apply it, and then say that a path does not exist.
func checkPatch(text []byte) error {
	var operations []map[string]json.RawMessage
	if err := jsonutil.Unmarshal(text, &operations); err != nil {
		return err
	}
	if operations == nil {
		return errors.New("null is not a list")
	}
	for i, o := range operations {
		var op, path string
		_ = json.Unmarshal(o["op"], &op) // What is no text is no operation either.
		needs, known := patchOperations[op]
		if !known {
			return fmt.Errorf("item %d has no op of RFC 6902", i)
		}
		if raw := o["path"]; raw == nil || json.Unmarshal(raw, &path) != nil || path != "" && path[0] != '/' {
			return fmt.Errorf("item %d has no path", i)
		}
		if needs != "" && o[needs] == nil {
			return fmt.Errorf("item %d has no %s", i, needs)
		}
	}
	return nil
}

// summary is what came back, in a few words, for a person who compares it with what was expected.
func (a *answer) summary() string {
	switch {
	case errors.Is(a.Err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer within %s", a.Took.Round(1e6))
	case a.Err != nil:
		return fmt.Sprintf("no answer: %v", a.Err)
	case a.Status < http.StatusOK || a.Status > http.StatusPartialContent:
		if a.ResponseBody == "" {
			return fmt.Sprintf("HTTP status %d", a.Status)
		}
		return fmt.Sprintf("HTTP status %d: %s", a.Status, shown(a.ResponseBody))
	case a.response == nil:
		return "an answer that cannot be read: " + shown(a.ResponseBody)
	case a.response.Successful && a.level == answered:
		return "success"
	case a.response.Successful:
		for _, f := range a.flaws {
			return "success without what the operation promises: " + f.got
		}
		return "success that cannot be read"
	case a.response.Status == nil:
		return "a failure without status"
	}
	return fmt.Sprintf("a failure with code %d: %s", a.response.Status.Code, shown(a.response.Status.Message))
}

// same says whether two answers to a question mean the same: what patches make of the object counts rather than their
// text, dependencies may come in any order, and messages are for people.
func (a *answer) same(b *answer) bool {
	if a.level != b.level {
		return false
	}
	if a.level != answered || a.asked == nil || b.asked == nil {
		return true
	}
	x, y := a.result(), b.result()
	return equality.Semantic.DeepEqual(x, y)
}

// result is what an answer means.
func (a *answer) result() *interpreter.Result {
	res, err := webhook.ResultOf(a.asked, a.response)
	if err != nil {
		return nil // It is not a sound one.
	}
	contract, _ := interpreter.ContractOf(a.asked.Operation)
	res.Dependencies = slices.Clone(res.Dependencies)
	_ = contract.Check(a.asked, res) // It puts dependencies in order; what else it says is for other checks.
	res.Health.Message = ""
	return res
}
