// Package interpretertest runs cases against any [interpreter.Interpreter]: what goes in, and exactly what
// must come out. It is to interpreters what httptest is to HTTP handlers.
//
// Cases are read in two formats. [Parse] reads the YAML in which Karmada keeps the tests of its
// customizations, several documents a file; [ParseRecorded] reads answers that were recorded from a running
// implementation, one JSON object a line. [Case.Run] runs either against an interpreter, [Test] runs many
// inside a Go test.
//
// # How answers are compared
//
// By value, not by bytes:
//
//   - A key that is null is the same as a missing one, at any depth. In a list a null is an entry.
//   - 3 and 3.0 are the same number; integers are compared to the last digit.
//   - Everything under a resourceRequest is a quantity: 1, "1" and "1000m" are the same.
//   - The text "<now>" stands for the time of the run, in RFC 3339 with whole seconds.
//   - Dependencies and components may come in any order. All other lists keep theirs.
//   - A result that the case does not name must be null, but of healthy and health one is enough, and of
//     health only the fields that the case gives count.
//
// A recorded case adds its own degree of precision, see [Compare]. Its requirements may also lack a namespace
// or a priority class that the answer has.
//
// # Questions
//
// Why must every case say what it expects? A case that expects nothing passes whatever happens, and looks
// like proof. Why is the request compared before and after? Because an interpreter that changes its input
// gives right answers in every test that runs it only once.
package interpretertest

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

// Case is one question and the answer it must get.
type Case struct {
	// File and Line say where the case begins. Line counts from 1.
	File string
	Line int
	// Name tells the cases of a file apart.
	Name string
	// Description is for people.
	Description string

	// Operation is what is asked.
	Operation interpreter.Operation
	// Object is the object asked about; where there are two, the desired one.
	Object *unstructured.Unstructured
	// Observed is the object as a member cluster reports it, for Retain.
	Observed *unstructured.Unstructured
	// Replicas is the number asked for. It is wider than a request's, since what does not fit is a case too.
	Replicas *int64
	// Statuses are the status items, for AggregateStatus.
	Statuses []interpreter.AggregatedStatusItem

	// Output holds the wanted results under the names that interpreter.Named uses; nil means that none are
	// given.
	Output map[string]any
	// Fails wants an error that comes from a rule, so "no rule" does not count.
	Fails bool
	// WantError wants an error whose text contains this.
	WantError string
	// NoRule wants interpreter.ErrNoRule.
	NoRule bool
	// Compare says how Output is compared.
	Compare Compare

	// Recorded is what only recorded cases carry, nil for the others.
	Recorded *Recorded

	// document is the number of the case's document in the file, for Update.
	document int
}

// Recorded is what a recorded case says about itself.
type Recorded struct {
	// Level is the set of rules that the case is about: native, thirdparty or declarative.
	Level string
	// Customizations are the rules of a case at the declarative level.
	Customizations []*v1alpha1.ResourceInterpreterCustomization
	// Features are the feature gates that were switched on at the recording.
	Features []string
	// Quirks are labels of odd behaviour that the answer shows.
	Quirks []string
	// Decision is "follow" for an answer as it was recorded, "ours" for one that was corrected.
	Decision string
	// Why is the reason for the correction.
	Why string
}

// Compare says which differences between two answers count. By all of them null is the same as a missing
// key, numbers and resource quantities compare by value, and dependencies and components in any order.
type Compare string

// The ways to compare.
const (
	// Exact ignores nothing else; an empty object or list is a value.
	Exact Compare = "exact"
	// Loose takes an empty object or list in an object for a missing one.
	Loose Compare = "loose"
	// Status looks only at the status of the answered object, loosely.
	Status Compare = "status"
)

// String is where the case is and what it is called.
func (c Case) String() string {
	if c.File == "" {
		return c.Name
	}
	return fmt.Sprintf("%s:%d: %s", c.File, c.Line, c.Name)
}

// Request makes the question. Every call gives new objects. The error is interpreter.ErrInvalidRequest for a
// number of replicas that no request can carry.
func (c Case) Request() (*interpreter.Request, error) {
	req := &interpreter.Request{Operation: c.Operation}
	if c.Object != nil {
		req.Object = c.Object.DeepCopy()
	}
	if c.Observed != nil {
		req.Observed = c.Observed.DeepCopy()
	}
	if c.Replicas != nil {
		if *c.Replicas < math.MinInt32 || *c.Replicas > math.MaxInt32 {
			return nil, fmt.Errorf("%w: replicas must fit into 32 bits, got %d", interpreter.ErrInvalidRequest, *c.Replicas)
		}
		n := int32(*c.Replicas)
		req.Replicas = &n
	}
	for i := range c.Statuses {
		req.Statuses = append(req.Statuses, *c.Statuses[i].DeepCopy())
	}
	return req, nil
}
