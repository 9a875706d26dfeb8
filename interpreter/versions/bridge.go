package versions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonutil "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
)

// bridge is a rule that answers about another version than its own.
type bridge struct {
	rule interpreter.Interpreter
	// to leads from the version that is asked about to the rule's, back the other way.
	to, back passage
}

// Interpret asks the rule. What the rule asks the layers below goes the other way.
func (b *bridge) Interpret(ctx context.Context, req *interpreter.Request) (*interpreter.Result, error) {
	next := interpreter.Func(func(ctx context.Context, below *interpreter.Request) (*interpreter.Result, error) {
		return b.back.ask(ctx, below, req.Next)
	})
	return b.to.ask(ctx, req, func(ctx context.Context, asked *interpreter.Request) (*interpreter.Result, error) {
		return b.rule.Interpret(ctx, asked.WithNext(next))
	})
}

// Blame has the rule say where a mistake in its answer comes from. The field is named as in the version that was asked
// about, which is near enough to find the line.
func (b *bridge) Blame(err error) error {
	if blamer, ok := b.rule.(interpreter.Blamer); ok {
		return blamer.Blame(err)
	}
	return err
}

// passage leads from one version of a kind to another.
type passage struct {
	definition *definition.Definition
	converter  Converter
	from, to   string
}

// ask puts a question about the one version as one about the other, and gives the answer as if there had only been the
// one. A question about something else is put as it is.
func (p *passage) ask(ctx context.Context, req *interpreter.Request, put func(context.Context, *interpreter.Request) (*interpreter.Result, error)) (*interpreter.Result, error) {
	contract, ok := interpreter.ContractOf(req.Operation)
	if !ok || req.Object == nil || req.Kind() != p.kind(p.from) {
		return put(ctx, req)
	}
	asked, err := p.question(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("the question: %w", err)
	}
	res, err := put(ctx, asked)
	if err != nil || res == nil {
		return res, err
	}
	if err := p.answer(ctx, contract, req, asked, res); err != nil {
		return nil, fmt.Errorf("the answer: %w", err)
	}
	return res, nil
}

func (p *passage) kind(version string) schema.GroupVersionKind {
	return p.definition.GroupKind().WithVersion(version)
}

// none says whether versions differ by name only. A status is then the same in all of them.
func (p *passage) none() bool {
	return p.definition.Conversion().Strategy == apiextensionsv1.NoneConverter
}

// question is a request in the other version. It shares what does not change with the one that it is made of.
func (p *passage) question(ctx context.Context, req *interpreter.Request) (*interpreter.Request, error) {
	objects := []*unstructured.Unstructured{req.Object}
	observed := req.Observed != nil && req.Observed.GroupVersionKind().GroupKind() == p.definition.GroupKind()
	if observed {
		objects = append(objects, req.Observed)
	}
	first := len(objects)
	var reported []int // the items that have a status
	for i := range req.Statuses {
		if p.none() {
			break
		}
		status, err := statusOf(&req.Statuses[i])
		if err != nil {
			return nil, fmt.Errorf("the status of cluster %q: %w", req.Statuses[i].ClusterName, err)
		}
		if status != nil {
			objects = append(objects, withStatus(req.Object, status))
			reported = append(reported, i)
		}
	}
	converted, err := p.convert(ctx, objects, p.to)
	if err != nil {
		return nil, err
	}
	asked := *req
	asked.Object = converted[0]
	if observed {
		asked.Observed = converted[1]
	}
	if len(reported) > 0 {
		asked.Statuses = make([]interpreter.AggregatedStatusItem, len(req.Statuses))
		copy(asked.Statuses, req.Statuses)
		for n, i := range reported {
			if err := setStatus(&asked.Statuses[i], converted[first+n].Object["status"]); err != nil {
				return nil, fmt.Errorf("the status of cluster %q: %w", asked.Statuses[i].ClusterName, err)
			}
		}
	}
	return &asked, nil
}

// answer converts in place what an answer holds of the other version.
func (p *passage) answer(ctx context.Context, contract *interpreter.Contract, req, asked *interpreter.Request, res *interpreter.Result) error {
	for _, out := range contract.Out {
		switch v := out.In(res).(type) {
		case **unstructured.Unstructured:
			if *v == nil || (*v).GroupVersionKind() != p.kind(p.to) {
				continue // The chain says what is wrong with it.
			}
			converted, err := p.convert(ctx, []*unstructured.Unstructured{*v}, p.from)
			if err != nil {
				return err
			}
			*v = converted[0]
			if out.Only != nil && !p.none() {
				*v = only(out.Only, converted[0], req.Object)
			}
		case *any:
			if *v == nil || p.none() {
				continue
			}
			status, ok := (*v).(map[string]any)
			if !ok {
				return fmt.Errorf("%w: a %s that is no object cannot be converted, got %T", interpreter.ErrInvalidResult, out.Noun, *v)
			}
			converted, err := p.convert(ctx, []*unstructured.Unstructured{withStatus(asked.Object, status)}, p.from)
			if err != nil {
				return err
			}
			*v = interpreter.CloneValue(converted[0].Object["status"])
		}
	}
	return nil
}

// only is the original with some fields as they came out of a conversion.
func only(fields []string, converted, original *unstructured.Unstructured) *unstructured.Unstructured {
	obj := interpreter.Clone(original)
	for _, f := range fields {
		if v, ok := converted.Object[f]; ok {
			obj.Object[f] = v
		} else {
			delete(obj.Object, f)
		}
	}
	return obj
}

// convert gives objects in a version, all or none.
func (p *passage) convert(ctx context.Context, objects []*unstructured.Unstructured, version string) ([]*unstructured.Unstructured, error) {
	if p.none() {
		converted := make([]*unstructured.Unstructured, len(objects))
		for i, o := range objects {
			converted[i] = &unstructured.Unstructured{Object: maps.Clone(o.Object)}
			converted[i].SetAPIVersion(p.kind(version).GroupVersion().String())
		}
		return converted, nil
	}
	if p.converter == nil {
		return nil, fmt.Errorf("%s %s has a conversion webhook, and there is nothing to call it with", definition.Kind, p.definition.Name())
	}
	converted, err := p.converter.Convert(ctx, p.definition, objects, version)
	if err != nil {
		return nil, err
	}
	if len(converted) != len(objects) {
		return nil, fmt.Errorf("%w: %d objects were to be converted to %s, %d came back", interpreter.ErrInvalidResult, len(objects), p.kind(version).GroupVersion(), len(converted))
	}
	return converted, nil
}

// withStatus is the object with another status, for a conversion. It shares the rest with the object.
func withStatus(obj *unstructured.Unstructured, status map[string]any) *unstructured.Unstructured {
	other := &unstructured.Unstructured{Object: maps.Clone(obj.Object)}
	other.Object["status"] = status
	return other
}

var errNoObject = errors.New("it is no object, so it cannot be converted")

// statusOf reads what a member cluster reports, nil if it has not reported.
func statusOf(item *interpreter.AggregatedStatusItem) (map[string]any, error) {
	if item.Status == nil {
		return nil, nil
	}
	raw, err := item.Status.MarshalJSON() // As it is, or of a typed status.
	if err != nil {
		return nil, err
	}
	var status map[string]any
	if err := jsonutil.Unmarshal(raw, &status); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoObject, err)
	}
	return status, nil
}

func setStatus(item *interpreter.AggregatedStatusItem, status any) error {
	if status == nil {
		item.Status = nil
		return nil
	}
	raw, err := json.Marshal(status)
	if err != nil {
		return err
	}
	item.Status = &runtime.RawExtension{Raw: raw}
	return nil
}
