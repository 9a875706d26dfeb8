package interpreter

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The functions that follow come in pairs, one per operation: one asks any Interpreter, the other makes
// an Interpreter of a plain function. Asking needs no Request, answering needs no Result.

// Replicas asks how many replicas obj wants, and what one needs. Nil requirements mean that nothing is known.
func Replicas(ctx context.Context, in Interpreter, obj *unstructured.Unstructured) (int32, *ReplicaRequirements, error) {
	res, err := in.Interpret(ctx, &Request{Operation: InterpretReplica, Object: obj})
	if err != nil {
		return 0, nil, err
	}
	return res.Replicas, res.Requirements, nil
}

// ReplicaFunc answers InterpretReplica.
func ReplicaFunc(fn func(obj *unstructured.Unstructured) (int32, *ReplicaRequirements, error)) Interpreter {
	return Func(func(_ context.Context, req *Request) (*Result, error) {
		n, requirements, err := fn(req.Object)
		if err != nil {
			return nil, err
		}
		return &Result{Replicas: n, Requirements: requirements}, nil
	})
}

// Components asks for the separately scaled parts of obj.
func Components(ctx context.Context, in Interpreter, obj *unstructured.Unstructured) ([]Component, error) {
	res, err := in.Interpret(ctx, &Request{Operation: InterpretComponent, Object: obj})
	if err != nil {
		return nil, err
	}
	return res.Components, nil
}

// ComponentFunc answers InterpretComponent.
func ComponentFunc(fn func(obj *unstructured.Unstructured) ([]Component, error)) Interpreter {
	return Func(func(_ context.Context, req *Request) (*Result, error) {
		components, err := fn(req.Object)
		if err != nil {
			return nil, err
		}
		return &Result{Components: components}, nil
	})
}

// Revised asks for obj with n replicas. The answer is a new object.
func Revised(ctx context.Context, in Interpreter, obj *unstructured.Unstructured, n int32) (*unstructured.Unstructured, error) {
	return object(in.Interpret(ctx, &Request{Operation: ReviseReplica, Object: obj, Replicas: &n}))
}

// ReviseFunc answers ReviseReplica. The function is given a copy, which it changes.
func ReviseFunc(fn func(obj *unstructured.Unstructured, n int32) error) Interpreter {
	return change(func(obj *unstructured.Unstructured, req *Request) error { return fn(obj, *req.Replicas) })
}

// Retained asks for desired with the values that the member cluster owns, taken from observed. The answer
// is a new object.
func Retained(ctx context.Context, in Interpreter, desired, observed *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return object(in.Interpret(ctx, &Request{Operation: Retain, Object: desired, Observed: observed}))
}

// RetainFunc answers Retain. The function is given a copy of the desired object, which it changes, and the
// observed one, which it must neither change nor share with the desired one.
func RetainFunc(fn func(desired, observed *unstructured.Unstructured) error) Interpreter {
	return change(func(obj *unstructured.Unstructured, req *Request) error { return fn(obj, req.Observed) })
}

// Aggregated asks for obj with its status folded from items. The answer is a new object.
func Aggregated(ctx context.Context, in Interpreter, obj *unstructured.Unstructured, items []AggregatedStatusItem) (*unstructured.Unstructured, error) {
	return object(in.Interpret(ctx, &Request{Operation: AggregateStatus, Object: obj, Statuses: items}))
}

// AggregateFunc answers AggregateStatus. The function is given a copy, whose status it changes.
func AggregateFunc(fn func(obj *unstructured.Unstructured, items []AggregatedStatusItem) error) Interpreter {
	return change(func(obj *unstructured.Unstructured, req *Request) error { return fn(obj, req.Statuses) })
}

// Reflected asks for the part of obj's status worth sending up; nil means nothing to report.
func Reflected(ctx context.Context, in Interpreter, obj *unstructured.Unstructured) (any, error) {
	res, err := in.Interpret(ctx, &Request{Operation: InterpretStatus, Object: obj})
	if err != nil {
		return nil, err
	}
	return res.Status, nil
}

// StatusFunc answers InterpretStatus. The function's answer must share nothing with obj.
func StatusFunc(fn func(obj *unstructured.Unstructured) (any, error)) Interpreter {
	return Func(func(_ context.Context, req *Request) (*Result, error) {
		status, err := fn(req.Object)
		if err != nil {
			return nil, err
		}
		return &Result{Status: status}, nil
	})
}

// HealthOf asks how obj fares.
func HealthOf(ctx context.Context, in Interpreter, obj *unstructured.Unstructured) (Health, error) {
	res, err := in.Interpret(ctx, &Request{Operation: InterpretHealth, Object: obj})
	if err != nil {
		return Health{Status: Unknown}, err
	}
	return res.Health, nil
}

// IsHealthy asks whether obj is healthy; see Health.IsHealthy for what counts.
func IsHealthy(ctx context.Context, in Interpreter, obj *unstructured.Unstructured) (bool, error) {
	health, err := HealthOf(ctx, in, obj)
	return health.IsHealthy(), err
}

// HealthFunc answers InterpretHealth.
func HealthFunc(fn func(obj *unstructured.Unstructured) (Health, error)) Interpreter {
	return Func(func(_ context.Context, req *Request) (*Result, error) {
		health, err := fn(req.Object)
		if err != nil {
			return nil, err
		}
		return &Result{Health: health}, nil
	})
}

// Dependencies asks which other objects obj needs to run. An empty list is an answer.
func Dependencies(ctx context.Context, in Interpreter, obj *unstructured.Unstructured) ([]DependentObjectReference, error) {
	res, err := in.Interpret(ctx, &Request{Operation: InterpretDependency, Object: obj})
	if err != nil {
		return nil, err
	}
	return res.Dependencies, nil
}

// DependencyFunc answers InterpretDependency. Order and repeats do not matter.
func DependencyFunc(fn func(obj *unstructured.Unstructured) ([]DependentObjectReference, error)) Interpreter {
	return Func(func(_ context.Context, req *Request) (*Result, error) {
		dependencies, err := fn(req.Object)
		if err != nil {
			return nil, err
		}
		return &Result{Dependencies: dependencies}, nil
	})
}

// Pruned asks for obj without the fields that must not travel to member clusters. The answer is a new object.
func Pruned(ctx context.Context, in Interpreter, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return object(in.Interpret(ctx, &Request{Operation: Prune, Object: obj}))
}

// PruneFunc answers Prune. The function is given a copy, which it changes.
func PruneFunc(fn func(obj *unstructured.Unstructured) error) Interpreter {
	return change(func(obj *unstructured.Unstructured, _ *Request) error { return fn(obj) })
}

func object(res *Result, err error) (*unstructured.Unstructured, error) {
	if err != nil {
		return nil, err
	}
	return res.Object, nil
}

// change answers with a changed copy of the object.
func change(fn func(obj *unstructured.Unstructured, req *Request) error) Interpreter {
	return Func(func(_ context.Context, req *Request) (*Result, error) {
		obj := Clone(req.Object)
		if err := fn(obj, req); err != nil {
			return nil, err
		}
		return &Result{Object: obj}, nil
	})
}
