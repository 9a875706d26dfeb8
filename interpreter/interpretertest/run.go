package interpretertest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeinterpret/interpret/interpreter"
)

// Outcome is what became of a case. Of a case that failed, either the interpreter misbehaved, or its answer or
// error was not the wanted one; Update can only help with the latter.
type Outcome struct {
	Passed bool
	// Problem says in a line why the case failed.
	Problem string
	// Misbehaved says that the interpreter panicked, changed the request, shares memory with it or gave neither
	// an answer nor an error: nothing that another expectation could mend.
	Misbehaved bool
	// Diff shows the answers as YAML, in the manner of a patch that turns the wanted one (-) into the one that
	// came (+). It is empty unless the answer was another one.
	Diff string
	// Err is the interpreter's error, wanted or not.
	Err error
	// Output is the answer as interpreter.Named gives it; nil if there was none.
	Output map[string]any
	// Duration is the time the interpreter took.
	Duration time.Duration
}

// String is empty for a case that passed, else the problem and the difference.
func (o Outcome) String() string {
	return strings.TrimSuffix(o.Problem+"\n"+o.Diff, "\n")
}

// Run puts the case to an interpreter, once. A panic is a failure, not the end of the run. The case is not
// changed, and may be run by many goroutines at once.
func (c Case) Run(ctx context.Context, in interpreter.Interpreter) Outcome {
	var o Outcome
	contract, ok := interpreter.ContractOf(c.Operation)
	if !ok {
		o.Problem = fmt.Sprintf("unknown operation %q", c.Operation)
		return o
	}
	began := time.Now()
	req, err := c.Request()
	if err == nil {
		var misbehaviour string
		o.Output, misbehaviour, err = ask(ctx, in, contract, req)
		o.Duration = time.Since(began)
		if misbehaviour != "" {
			return Outcome{Problem: misbehaviour, Misbehaved: true, Err: err, Duration: o.Duration}
		}
	}
	o.Err = err
	if err != nil {
		o.Problem = c.judgeError(err)
	} else {
		o.Problem, o.Diff = c.judge(contract, o.Output, began)
	}
	o.Passed = o.Problem == ""
	return o
}

// ask gives the answer by its names, and in words what the interpreter did that none may do.
func ask(ctx context.Context, in interpreter.Interpreter, contract *interpreter.Contract, req *interpreter.Request) (output map[string]any, misbehaviour string, err error) {
	before := copyOf(req)
	res, err := interpret(ctx, in, req)
	var panicked *panicError
	switch {
	case errors.As(err, &panicked):
		return nil, err.Error(), err
	case !same(before, req):
		return nil, "the interpreter changed the request", err
	case err != nil:
		return nil, "", err
	case res == nil:
		return nil, "neither an answer nor an error", nil
	}
	output, err = interpreter.Named(contract, res)
	scribble(res)
	if !same(before, req) {
		return nil, "the answer shares memory with the request", err
	}
	return output, "", err
}

// wants says in words which error the case wants, and is empty if it wants none.
func (c Case) wants() string {
	switch {
	case c.NoRule:
		return "that there is no rule"
	case c.WantError != "":
		return fmt.Sprintf("an error with %q", c.WantError)
	case c.Fails:
		return "an error"
	}
	return ""
}

// judgeError is empty if the error is the wanted one.
func (c Case) judgeError(err error) string {
	switch {
	case c.NoRule && interpreter.IsNoRule(err):
		return ""
	case c.WantError != "" && strings.Contains(err.Error(), c.WantError):
		return ""
	case c.Fails && !interpreter.IsNoRule(err):
		return ""
	}
	if wants := c.wants(); wants != "" {
		return fmt.Sprintf("want %s, got: %v", wants, err)
	}
	return err.Error()
}

// judge is empty if the answer is the wanted one. An answer that comes unexpected is shown whole, since it is
// likely to become the expectation.
func (c Case) judge(contract *interpreter.Contract, got map[string]any, began time.Time) (problem, diff string) {
	if wants := c.wants(); wants != "" {
		return "want " + wants + ", got an answer", differ(nil, got)
	}
	if len(c.Output) == 0 {
		return "the case has no expected output", differ(nil, got)
	}
	want, have := c.comparable(contract, got, began, time.Now())
	if !reflect.DeepEqual(want, have) {
		return "another answer than expected (- want, + got)", differ(want, have)
	}
	return "", ""
}

// panicError is a panic of an interpreter.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

// interpret turns a panic into an error. The stack goes along, for nobody else will print it.
func interpret(ctx context.Context, in interpreter.Interpreter, req *interpreter.Request) (res *interpreter.Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			res, err = nil, &panicError{v, debug.Stack()}
		}
	}()
	return in.Interpret(ctx, req)
}

// copyOf copies what a request is made of by the kind's own means, so that same finds copy and original equal.
func copyOf(req *interpreter.Request) *interpreter.Request {
	c := *req
	c.Object, c.Observed = c.Object.DeepCopy(), c.Observed.DeepCopy()
	if c.Replicas != nil {
		n := *c.Replicas
		c.Replicas = &n
	}
	c.Statuses = make([]interpreter.AggregatedStatusItem, len(req.Statuses))
	for i := range req.Statuses {
		c.Statuses[i] = *req.Statuses[i].DeepCopy()
	}
	return &c
}

// same says whether two requests ask the same; unlike the comparison of answers it counts every bit.
func same(a, b *interpreter.Request) bool {
	return reflect.DeepEqual(a.Object, b.Object) && reflect.DeepEqual(a.Observed, b.Observed) &&
		reflect.DeepEqual(a.Replicas, b.Replicas) && slices.EqualFunc(a.Statuses, b.Statuses,
		func(a, b interpreter.AggregatedStatusItem) bool { return reflect.DeepEqual(a, b) })
}

// scribble overwrites an answer, so that a request that shares memory with it shows the marks.
func scribble(res *interpreter.Result) {
	if res.Object != nil {
		scribbleOn(res.Object.Object)
	}
	scribbleOn(res.Status)
}

// scribbleOn goes to the leaves first; what it has overwritten it could not enter any more.
func scribbleOn(v any) {
	const mark = "the answer is the caller's to change"
	switch v := v.(type) {
	case map[string]any:
		for _, value := range v {
			scribbleOn(value)
		}
		if v != nil {
			v[mark] = mark
		}
	case []any:
		for i, value := range v {
			scribbleOn(value)
			v[i] = mark
		}
	}
}

// Test runs cases as subtests, named after their file and themselves. No cases at all is a failure: a path that
// has moved must not pass for a test.
func Test(t *testing.T, in interpreter.Interpreter, cases []Case) {
	t.Helper()
	if len(cases) == 0 {
		t.Error("no cases")
	}
	for _, c := range cases {
		name := c.Name
		if c.File != "" {
			name = filepath.Base(c.File) + "/" + name
		}
		t.Run(name, func(t *testing.T) {
			if o := c.Run(t.Context(), in); !o.Passed {
				t.Errorf("%s\n%s", c, o)
			}
		})
	}
}
