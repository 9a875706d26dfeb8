package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
)

// The resources that are looked at.
const (
	customizations = "resourceinterpretercustomizations"
	configurations = "resourceinterpreterwebhookconfigurations"
)

// checks finds what is wrong with the object of a request, by its resource.
var checks = map[string]func(context.Context, *Handler, *admissionv1.AdmissionRequest) (*findings, error){
	customizations: checkCustomization,
	configurations: checkConfiguration,
}

func resources() []string { return slices.Sorted(maps.Keys(checks)) }

var errUndecodable = errors.New("the object cannot be decoded")

// findings are what is wrong with an object.
type findings struct {
	refused, warned []metav1.StatusCause
}

func (f *findings) refuse(cause metav1.CauseType, field, format string, args ...any) {
	f.refused = append(f.refused, metav1.StatusCause{Type: cause, Field: field, Message: fmt.Sprintf(format, args...)})
}

func (f *findings) warn(field, format string, args ...any) {
	f.warned = append(f.warned, metav1.StatusCause{Field: field, Message: fmt.Sprintf(format, args...)})
}

// answer refuses, or allows and warns.
func (f *findings) answer(req *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	answer := &admissionv1.AdmissionResponse{Allowed: len(f.refused) == 0, Warnings: lines(f.warned)}
	if answer.Allowed {
		return answer
	}
	answer.Result = &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Message: strings.Join(lines(f.refused), "\n"),
		// kubectl shows the causes, and other clients the message.
		Details: &metav1.StatusDetails{Group: req.Kind.Group, Kind: req.Kind.Kind, Name: req.Name, Causes: f.refused},
	}
	return answer
}

func lines(causes []metav1.StatusCause) []string {
	var list []string
	for _, c := range causes {
		list = append(list, strings.TrimPrefix(c.Field+": "+c.Message, ": "))
	}
	return list
}

// decodeObjects reads the object of a request and, of an update, the one before. Settled says that there is
// nothing to refuse, because the object is about to be gone or same says that nothing has changed.
func decodeObjects[T any, P interface {
	*T
	metav1.Object
}](req *admissionv1.AdmissionRequest, same func(a, b P) bool) (object P, settled bool, err error) {
	object = new(T)
	if err := json.Unmarshal(req.Object.Raw, object); err != nil {
		return nil, false, fmt.Errorf("%w as a %s of %s: %w", errUndecodable, req.Kind.Kind, v1alpha1.GroupVersion, err)
	}
	settled = object.GetDeletionTimestamp() != nil
	if old := P(new(T)); req.Operation == admissionv1.Update && json.Unmarshal(req.OldObject.Raw, old) == nil {
		settled = settled || same(object, old)
	}
	return object, settled, nil
}

// settle makes warnings of what would have been refused.
func (f *findings) settle() *findings {
	return &findings{warned: append(f.refused, f.warned...)}
}

func checkCustomization(ctx context.Context, h *Handler, req *admissionv1.AdmissionRequest) (*findings, error) {
	c, settled, err := decodeObjects(req, func(a, b *v1alpha1.ResourceInterpreterCustomization) bool {
		return equality.Semantic.DeepEqual(a.Spec, b.Spec)
	})
	if err != nil {
		return nil, err
	}
	subject := declarative.From(c)
	problems, err := declarative.Check([]*declarative.Customization{subject}, h.layer...)
	if err != nil {
		return nil, err
	}
	if h.fields != nil {
		problems = append(problems, declarative.CheckFields([]*declarative.Customization{subject}, h.fields)...)
	}
	f := &findings{}
	for _, p := range problems {
		field, message := fieldOf(p)
		if p.Fatal {
			f.refuse(metav1.CauseTypeFieldValueInvalid, field, "%s", message)
		} else {
			f.warn(field, "%s", message)
		}
	}
	if settled {
		return f.settle(), nil
	}
	conflicts, err := h.conflicts(ctx, subject)
	for _, conflict := range conflicts {
		contract, _ := interpreter.ContractOf(conflict.Operation)
		f.refuse(metav1.CauseTypeFieldValueDuplicate, "spec.customizations."+contract.Rule, "conflict: %v", conflict)
	}
	return f, err
}

// fieldOf is the path of the field that a problem is in, and what is wrong there.
func fieldOf(p declarative.Problem) (field, message string) {
	if p.Rule == "" {
		// What is wrong with a target, or with all rules, names its field itself.
		if path, rest, ok := strings.Cut(p.Message, ": "); ok && strings.HasPrefix(path, "spec.") && !strings.Contains(path, " ") {
			return path, rest
		}
		return "", p.Message
	}
	at := ""
	switch {
	case p.Line > 0 && p.Column > 0:
		at = fmt.Sprintf("line %d, column %d: ", p.Line, p.Column)
	case p.Line > 0:
		at = fmt.Sprintf("line %d: ", p.Line)
	}
	return "spec.customizations." + p.Rule + ".luaScript", at + p.Message
}

// conflicts finds the rules that would never answer if a customization were stored beside the others.
func (h *Handler) conflicts(ctx context.Context, c *declarative.Customization) ([]declarative.Conflict, error) {
	if h.stored == nil {
		return nil, nil
	}
	stored, err := h.stored.Customizations(ctx)
	if err != nil {
		return nil, fmt.Errorf("whether other customizations have a rule for the same cannot be told: %w", err)
	}
	together := []*declarative.Customization{c}
	for _, other := range stored {
		// Only these can be in conflict, and the rest need not be compiled.
		if other.Name != c.Name && other.Spec.Target.APIVersion == c.Spec.Target.APIVersion && other.Spec.Target.Kind == c.Spec.Target.Kind {
			together = append(together, declarative.From(other))
		}
	}
	if len(together) == 1 {
		return nil, nil
	}
	layer, err := declarative.New(nil, h.layer...)
	if err != nil {
		return nil, err
	}
	_ = layer.Replace(together) // What is broken has been told, or was when it was stored.
	return slices.DeleteFunc(layer.Conflicts(), func(conflict declarative.Conflict) bool {
		return conflict.First != c && conflict.Second != c
	}), nil
}

func checkConfiguration(_ context.Context, _ *Handler, req *admissionv1.AdmissionRequest) (*findings, error) {
	c, settled, err := decodeObjects(req, func(a, b *v1alpha1.ResourceInterpreterWebhookConfiguration) bool {
		return equality.Semantic.DeepEqual(a.Webhooks, b.Webhooks) &&
			a.Annotations[webhook.FailurePolicyAnnotation] == b.Annotations[webhook.FailurePolicyAnnotation]
	})
	if err != nil {
		return nil, err
	}
	f := &findings{}
	for _, p := range webhook.Check([]*webhook.Configuration{{ResourceInterpreterWebhookConfiguration: c}}) {
		if p.Fatal {
			f.refuse(metav1.CauseType(p.Cause), p.Field, "%s", p.Message)
		} else {
			f.warn(p.Field, "%s", p.Message)
		}
	}
	if settled {
		return f.settle(), nil
	}
	return f, nil
}
