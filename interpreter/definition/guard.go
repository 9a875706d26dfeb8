package definition

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/manifest"
)

// Guard checks the answers of rules against the schemas of CRDs, for interpreter.Chain.WithChecks:
//
//	chain = chain.WithChecks(definition.Guard(definitions))
//
// An object that a rule gives is first made what the schema means: empty tables become lists or objects, and whole
// numbers integers. Then it is judged as an API server would judge it. What was wrong in the objects that the rule was
// given is not the rule's mistake, and not told. The answers are those to
//
//   - ReviseReplica: an object that is created.
//   - Retain: an update of the observed object.
//   - AggregateStatus: an update of the object.
//   - Prune: as ReviseReplica, but what is missing is not told, nor are CEL rules run, since to take away what the
//     member's own webhooks put there is what pruning is for.
//   - InterpretStatus: in the same way, and only the status, which may be a part of it. At the top of the status the
//     fields generation and resourceTemplateGeneration are allowed, by which aggregation tells what a status is about.
//
// Kinds without a CRD are not checked, nor are versions that the CRD does not have. Definitions that are not known
// yet, and a schema without structure, are errors of the answer, since unchecked is not checked.
func Guard(definitions Definitions) interpreter.Check {
	return func(ctx context.Context, req *interpreter.Request, res *interpreter.Result) []error {
		read, ok := guarded[req.Operation]
		if !ok {
			return nil
		}
		kind := req.Kind()
		d, err := definitions.Definition(kind.GroupKind())
		if err != nil {
			return []error{err}
		}
		if d == nil {
			return nil
		}
		v := d.Version(kind.Version)
		if v == nil {
			return nil
		}
		s, err := v.schemas()
		if err != nil {
			return []error{err}
		}
		return v.guard(ctx, s, read(req, res))
	}
}

// answer is an answer of a rule in terms of objects.
type answer struct {
	object *unstructured.Unstructured
	// old is what the object is an update of, nil if it is created.
	old *unstructured.Unstructured
	// given are the objects that the rule was given.
	given []*unstructured.Unstructured
	// part means that the object may lack what the schema requires.
	part bool
	// ignore says of which fields nothing is told; it may be nil.
	ignore func(path string) bool
	// coerced takes what became of the object; it may be nil.
	coerced func()
}

// guarded are the operations whose answers are objects, or parts of them.
var guarded = map[interpreter.Operation]func(*interpreter.Request, *interpreter.Result) answer{
	interpreter.ReviseReplica: func(req *interpreter.Request, res *interpreter.Result) answer {
		return answer{object: res.Object, given: []*unstructured.Unstructured{req.Object}}
	},
	interpreter.Retain: func(req *interpreter.Request, res *interpreter.Result) answer {
		a := answer{object: res.Object, given: []*unstructured.Unstructured{req.Object, req.Observed}}
		if req.Observed.GroupVersionKind() == req.Kind() {
			a.old = req.Observed
		}
		return a
	},
	interpreter.AggregateStatus: func(req *interpreter.Request, res *interpreter.Result) answer {
		return answer{object: res.Object, old: req.Object, given: []*unstructured.Unstructured{req.Object}}
	},
	interpreter.Prune: func(req *interpreter.Request, res *interpreter.Result) answer {
		return answer{object: res.Object, given: []*unstructured.Unstructured{req.Object}, part: true}
	},
	interpreter.InterpretStatus: func(req *interpreter.Request, res *interpreter.Result) answer {
		if res.Status == nil {
			return answer{}
		}
		a := answer{object: onlyStatus(req.Object, res.Status), part: true}
		a.given = []*unstructured.Unstructured{onlyStatus(req.Object, req.Object.Object["status"])}
		a.ignore = func(path string) bool {
			inside := path == "status" || strings.HasPrefix(path, "status.") || strings.HasPrefix(path, "status[")
			return !inside || path == "status.generation" || path == "status.resourceTemplateGeneration"
		}
		a.coerced = func() { res.Status = a.object.Object["status"] }
		return a
	},
}

// onlyStatus is an object that has nothing but a status.
func onlyStatus(o *unstructured.Unstructured, status any) *unstructured.Unstructured {
	content := map[string]any{"apiVersion": o.Object["apiVersion"], "kind": o.Object["kind"]}
	if status != nil {
		content["status"] = status
	}
	return &unstructured.Unstructured{Object: content}
}

// maxTold is how many mistakes of one answer are told. Who makes more than these has a list of them.
const maxTold = 10

func (v *Version) guard(ctx context.Context, s *schemas, a answer) []error {
	if a.object == nil {
		return nil
	}
	if _, changed := s.check.coerce(a.object.Object); changed && a.coerced != nil {
		a.coerced()
	}
	if a.part {
		s = s.parts()
	}
	judge := func(o, old *unstructured.Unstructured) (field.ErrorList, error) {
		found, err := v.validate(ctx, s, o, old)
		return slices.DeleteFunc(found, func(e *field.Error) bool {
			return a.part && e.Type == field.ErrorTypeRequired || a.ignore != nil && a.ignore(e.Field)
		}), err
	}
	wrong, err := judge(a.object, a.old)
	if err != nil {
		return []error{err}
	}
	for _, o := range a.given {
		if len(wrong) == 0 {
			break
		}
		before, err := judge(o, a.old)
		if err != nil {
			return []error{err}
		}
		wrong = unlike(wrong, before)
	}
	var errs []error
	for i, e := range wrong {
		if i == maxTold {
			errs = append(errs, fmt.Errorf("%w: %d more", interpreter.ErrInvalidResult, len(wrong)-maxTold))
			break
		}
		errs = append(errs, fmt.Errorf("%w: %w", interpreter.ErrInvalidResult, e))
	}
	return errs
}

// ofParts makes the schema without what only a whole object can fulfil. What is required stays in the validator, whose
// errors of that type are not told.
func (s *schemas) ofParts() *schemas {
	parts := *s
	parts.rules, parts.check = nil, s.check.withoutRequired()
	return &parts
}

// withoutRequired copies a check, in which nothing has to be there.
func (c *check) withoutRequired() *check {
	if c == nil || c == anything {
		return c
	}
	loose := *c
	loose.required, loose.more, loose.items = nil, c.more.withoutRequired(), c.items.withoutRequired()
	loose.properties = make(map[string]*check, len(c.properties))
	for name, p := range c.properties {
		loose.properties[name] = p.withoutRequired()
	}
	return &loose
}

// unlike are the errors of a list that are not in another one. Items may have moved: an error in an item is in the other
// list if that has as many in items of the same list.
func unlike(list, known field.ErrorList) field.ErrorList {
	if len(known) == 0 {
		return list
	}
	left := map[string]int{}
	exact := map[string]bool{}
	for _, e := range known {
		left[somewhere(e)]++
		exact[e.Field+somewhere(e)] = true
	}
	var found field.ErrorList
	// Those at the very place come first, so that the rest are not taken for them.
	for _, e := range list {
		key := somewhere(e)
		if exact[e.Field+key] {
			left[key]--
			continue
		}
		found = append(found, e)
	}
	return slices.DeleteFunc(found, func(e *field.Error) bool {
		key := somewhere(e)
		left[key]--
		return left[key] >= 0
	})
}

// somewhere is what an error says, whichever item it is about.
func somewhere(e *field.Error) string {
	var b strings.Builder
	for _, step := range manifest.Steps(e.Field) {
		if strings.Trim(step, "0123456789") == "" {
			step = ""
		}
		b.WriteString("/" + step)
	}
	return fmt.Sprintf("%s %s %v %s", e.Type, b.String(), e.BadValue, e.Detail)
}
