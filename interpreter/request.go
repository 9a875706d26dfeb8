package interpreter

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

// The values that requests and results are made of.
type (
	AggregatedStatusItem     = v1alpha1.AggregatedStatusItem
	ReplicaRequirements      = v1alpha1.ReplicaRequirements
	Component                = v1alpha1.Component
	DependentObjectReference = v1alpha1.DependentObjectReference
)

// Interpreter answers questions about resources.
//
// Interpret never modifies the request, and the result shares nothing with it. It may be called by many
// goroutines at once.
type Interpreter interface {
	Interpret(ctx context.Context, req *Request) (*Result, error)
}

// Func is a function that is an Interpreter.
type Func func(ctx context.Context, req *Request) (*Result, error)

// Interpret calls f.
func (f Func) Interpret(ctx context.Context, req *Request) (*Result, error) { return f(ctx, req) }

// Request is one question. It is read-only to whoever answers it.
type Request struct {
	Operation Operation
	// Object is the object asked about; where there are two, the desired one.
	Object *unstructured.Unstructured
	// Observed is the object as a member cluster reports it, for Retain.
	Observed *unstructured.Unstructured
	// Replicas is the number asked for by ReviseReplica; zero is a real answer, nil is "not given".
	Replicas *int32
	// Statuses are the status items, for AggregateStatus; nil and empty are the same.
	Statuses []AggregatedStatusItem

	next Interpreter
}

// Kind is the kind of the object asked about.
func (r *Request) Kind() schema.GroupVersionKind {
	if r.Object == nil {
		return schema.GroupVersionKind{}
	}
	return r.Object.GroupVersionKind()
}

// Next answers a request from the layers below the rule that was given r. Outside a Chain, or when
// nothing below has a rule, the error is ErrNoRule.
func (r *Request) Next(ctx context.Context, req *Request) (*Result, error) {
	if r.next == nil {
		return nil, fmt.Errorf("%w below this one", ErrNoRule)
	}
	return r.next.Interpret(ctx, req)
}

// WithNext is a copy of the request whose Next asks another interpreter. It is for who stands between a rule and its
// layer, and has the rule asked about something else than was asked.
func (r *Request) WithNext(next Interpreter) *Request {
	asked := *r
	asked.next = next
	return &asked
}

// check says what is missing or garbled.
func (r *Request) check(c *Contract) error {
	if r.Object == nil || r.Object.Object == nil {
		return fmt.Errorf("%w: no object", ErrInvalidRequest)
	}
	if err := checkObject(r.Object, "object"); err != nil {
		return err
	}
	for _, in := range c.In {
		if in.Of(r) == nil {
			return fmt.Errorf("%w: no %s", ErrInvalidRequest, in.Name)
		}
	}
	if r.Observed != nil {
		if err := checkObject(r.Observed, "observed object"); err != nil {
			return err
		}
	}
	if r.Replicas != nil && *r.Replicas < 0 {
		return fmt.Errorf("%w: replicas must not be negative, got %d", ErrInvalidRequest, *r.Replicas)
	}
	return nil
}

func checkObject(o *unstructured.Unstructured, what string) error {
	for _, field := range []string{"apiVersion", "kind"} {
		switch v := o.Object[field].(type) {
		case string:
			if v == "" {
				return fmt.Errorf("%w: the %s has an empty %s", ErrInvalidRequest, what, field)
			}
		case nil:
			return fmt.Errorf("%w: the %s has no %s", ErrInvalidRequest, what, field)
		default:
			return fmt.Errorf("%w: the %s's %s must be text, got %T", ErrInvalidRequest, what, field, v)
		}
	}
	if _, err := schema.ParseGroupVersion(o.GetAPIVersion()); err != nil {
		return fmt.Errorf("%w: the %s's apiVersion: %w", ErrInvalidRequest, what, err)
	}
	return nil
}

// objectOf is the object's content, and an untyped nil where there is none.
func objectOf(o *unstructured.Unstructured) any {
	if o == nil || o.Object == nil {
		return nil
	}
	return o.Object
}

func asObject(v any) (*unstructured.Unstructured, error) {
	object, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%w: an object expected, got %T", ErrInvalidRequest, v)
	}
	return &unstructured.Unstructured{Object: object}, nil
}

func setObject(r *Request, v any) (err error) {
	r.Object, err = asObject(v)
	return err
}

func setObserved(r *Request, v any) (err error) {
	r.Observed, err = asObject(v)
	return err
}

func setReplicas(r *Request, v any) error {
	n, ok := v.(int64)
	if !ok || n < math.MinInt32 || n > math.MaxInt32 {
		return fmt.Errorf("%w: replicas must be a whole number of 32 bits, got %v", ErrInvalidRequest, v)
	}
	replicas := int32(n)
	r.Replicas = &replicas
	return nil
}

func setStatuses(r *Request, v any) error {
	r.Statuses = nil
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &r.Statuses)
	}
	if err != nil {
		return fmt.Errorf("%w: status items: %w", ErrInvalidRequest, err)
	}
	return nil
}
