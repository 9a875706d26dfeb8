package interpreter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

// Operation names a question about a resource.
type Operation = v1alpha1.InterpreterOperation

// The operations.
const (
	InterpretReplica    = v1alpha1.InterpreterOperationInterpretReplica
	InterpretComponent  = v1alpha1.InterpreterOperationInterpretComponent
	ReviseReplica       = v1alpha1.InterpreterOperationReviseReplica
	Retain              = v1alpha1.InterpreterOperationRetain
	AggregateStatus     = v1alpha1.InterpreterOperationAggregateStatus
	InterpretStatus     = v1alpha1.InterpreterOperationInterpretStatus
	InterpretHealth     = v1alpha1.InterpreterOperationInterpretHealth
	InterpretDependency = v1alpha1.InterpreterOperationInterpretDependency
	Prune               = v1alpha1.InterpreterOperationPrune
)

// Contract says what an operation takes, what it gives, and what it is called in a customization and in
// a script. The contracts are the only place that knows; loading, checking, scripts, the command line and
// the wire loop over them.
type Contract struct {
	Operation Operation
	// Rule is the key of the operation's rule under spec.customizations.
	Rule string
	// Script gives the rule of that key, nil when it is absent.
	Script func(*v1alpha1.CustomizationRules) *v1alpha1.LuaRule
	// Function is the name of the function a script defines.
	Function string
	// Summary is what the operation answers, in a line.
	Summary string
	// None is what a script's nil, and its empty table, mean.
	None string
	// In are the function's arguments, in order.
	In []Input
	// Out are the function's results, in order.
	Out []Output
	// Union means that every matching rule of the layer that answers is run and the lists are joined.
	Union bool

	checkResult func(*Request, *Result) error
}

// Input is one argument, read from a Request.
type Input struct {
	// Name is the parameter's name in documentation.
	Name string
	// Of reads the argument; nil means "not given".
	Of func(*Request) any
	// Set puts a value, as a script gives it, in the argument's place in a request that is being made.
	Set func(*Request, any) error
	// Observed says that the argument is an object as a member cluster reports it rather than a template.
	Observed bool
}

// Output is one result, written through a pointer into a Result.
type Output struct {
	// Name is the result's name in the output of the command and in case files.
	Name string
	// Noun is what messages call the result.
	Noun string
	// Optional allows nil.
	Optional bool
	// Only names the top-level fields of the object that the answer may change; nil means all of them.
	Only []string
	// In points at the place in a Result that the value belongs to.
	In func(*Result) any
	// Of is the value as a script sees it, nil if there is none.
	Of func(*Result) any
}

// Check insists that an answer keeps what the contract promises, and puts dependencies in order. A Chain does so
// with every answer; a layer that can say where a bad one comes from does so before. The error is ErrInvalidResult.
func (c *Contract) Check(req *Request, res *Result) error {
	if c.checkResult == nil {
		return nil
	}
	if err := c.checkResult(req, res); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidResult, err)
	}
	return nil
}

// String is the function's signature, as documentation shows it.
func (c *Contract) String() string {
	var in, out []string
	for _, i := range c.In {
		in = append(in, i.Name)
	}
	for _, o := range c.Out {
		name := o.Name
		if o.Optional {
			name = "[" + name + "]"
		}
		out = append(out, name)
	}
	return fmt.Sprintf("%s(%s) -> %s", c.Function, strings.Join(in, ", "), strings.Join(out, ", "))
}

var (
	inObject   = Input{Name: "obj", Of: func(r *Request) any { return objectOf(r.Object) }, Set: setObject}
	inReported = Input{Name: "obj", Of: func(r *Request) any { return objectOf(r.Object) }, Set: setObject, Observed: true}
	inDesired  = Input{Name: "desired", Of: func(r *Request) any { return objectOf(r.Object) }, Set: setObject}
	inObserved = Input{Name: "observed", Of: func(r *Request) any { return objectOf(r.Observed) }, Set: setObserved, Observed: true}
	inReplicas = Input{Name: "replica", Set: setReplicas, Of: func(r *Request) any {
		if r.Replicas == nil {
			return nil
		}
		return int64(*r.Replicas)
	}}
	// A list even when there are no items, so that a script can always take its length.
	inStatuses = Input{Name: "items", Set: setStatuses, Of: func(r *Request) any {
		if r.Statuses == nil {
			return []v1alpha1.AggregatedStatusItem{}
		}
		return r.Statuses
	}}

	outReplicas     = Output{Name: "replica", Noun: "replicas", In: func(r *Result) any { return &r.Replicas }, Of: func(r *Result) any { return int64(r.Replicas) }}
	outRequirements = Output{Name: "requires", Noun: "requirements", Optional: true, In: func(r *Result) any { return &r.Requirements }, Of: func(r *Result) any { return r.Requirements }}
	outComponents   = Output{Name: "components", Noun: "components", Optional: true, In: func(r *Result) any { return &r.Components }, Of: func(r *Result) any { return r.Components }}
	outRetained     = Output{Name: "retained", Noun: "retained object", In: objectIn, Of: resultObject}
	outRevised      = Output{Name: "revised", Noun: "revised object", In: objectIn, Of: resultObject}
	outPruned       = Output{Name: "pruned", Noun: "pruned object", In: objectIn, Of: resultObject}
	outAggregated   = Output{Name: "aggregatedStatus", Noun: "object with the aggregated status", Only: []string{"status"}, In: objectIn, Of: resultObject}
	outStatus       = Output{Name: "status", Noun: "status", Optional: true, In: func(r *Result) any { return &r.Status }, Of: func(r *Result) any { return r.Status }}
	outHealthy      = Output{Name: "healthy", Noun: "healthy", Optional: true, In: func(r *Result) any { return &r.Health }, Of: func(r *Result) any { return r.Health.IsHealthy() }}
	outMessage      = Output{Name: "message", Noun: "message", Optional: true, In: func(r *Result) any { return (*healthDetail)(&r.Health) }, Of: healthTable}
	outDependencies = Output{Name: "dependencies", Noun: "dependencies", In: func(r *Result) any { return &r.Dependencies }, Of: func(r *Result) any { return r.Dependencies }}
)

// In the order in which people meet the operations, which is also that of the command's help and of --check.
var contracts = []Contract{
	{Operation: Retain, Rule: "retention", Function: "Retain",
		Summary: "the desired object with the values that the member cluster owns",
		None:    "nil is an error; an empty table is an error, it is not the same object",
		Script:  func(r *v1alpha1.CustomizationRules) *v1alpha1.LuaRule { return r.Retention },
		In:      []Input{inDesired, inObserved}, Out: []Output{outRetained}, checkResult: sameObject},
	{Operation: InterpretReplica, Rule: "replicaResource", Function: "GetReplicas",
		Summary: "how many replicas the object asks for, and what one needs",
		None:    "nil replicas are an error; nil requirements mean that nothing is known, an empty table that nothing is needed",
		Script:  func(r *v1alpha1.CustomizationRules) *v1alpha1.LuaRule { return r.ReplicaResource },
		In:      []Input{inObject}, Out: []Output{outReplicas, outRequirements}, checkResult: checkReplicas},
	{Operation: InterpretComponent, Rule: "componentResource", Function: "GetComponents",
		Summary: "the separately scaled parts of the object, with replicas and requirements",
		None:    "nil and an empty table both mean no components; an empty table inside the list is skipped",
		Script:  func(r *v1alpha1.CustomizationRules) *v1alpha1.LuaRule { return r.ComponentResource },
		In:      []Input{inObject}, Out: []Output{outComponents}, checkResult: checkComponents},
	{Operation: ReviseReplica, Rule: "replicaRevision", Function: "ReviseReplica",
		Summary: "the object with the number of replicas set",
		None:    "nil is an error; an empty table is an error, it is not the same object",
		Script:  func(r *v1alpha1.CustomizationRules) *v1alpha1.LuaRule { return r.ReplicaRevision },
		In:      []Input{inObject, inReplicas}, Out: []Output{outRevised}, checkResult: sameObject},
	{Operation: InterpretStatus, Rule: "statusReflection", Function: "ReflectStatus",
		Summary: "the part of the observed status worth sending up",
		None:    "nil means nothing to report; an empty table is an empty status",
		Script:  func(r *v1alpha1.CustomizationRules) *v1alpha1.LuaRule { return r.StatusReflection },
		In:      []Input{inReported}, Out: []Output{outStatus}},
	{Operation: AggregateStatus, Rule: "statusAggregation", Function: "AggregateStatus",
		Summary: "the object with its status folded from the member clusters'",
		None:    "nil is an error; only the status of the object given back is taken, the rest stays as it was",
		Script:  func(r *v1alpha1.CustomizationRules) *v1alpha1.LuaRule { return r.StatusAggregation },
		In:      []Input{inObject, inStatuses}, Out: []Output{outAggregated}, checkResult: sameObject},
	{Operation: InterpretHealth, Rule: "healthInterpretation", Function: "InterpretHealth",
		Summary: "whether the observed object is healthy, and why not",
		None:    "nil and an empty table both mean Unknown, which is false where only true and false exist",
		Script:  func(r *v1alpha1.CustomizationRules) *v1alpha1.LuaRule { return r.HealthInterpretation },
		In:      []Input{inReported}, Out: []Output{outHealthy, outMessage}, checkResult: checkHealth},
	{Operation: InterpretDependency, Rule: "dependencyInterpretation", Function: "GetDependencies",
		Summary: "the other objects that this one needs to run",
		None:    "an empty table means no dependencies, an empty table inside the list is skipped; nil is an error, since a forgotten return must not look like no dependencies",
		Script:  func(r *v1alpha1.CustomizationRules) *v1alpha1.LuaRule { return r.DependencyInterpretation },
		In:      []Input{inObject}, Out: []Output{outDependencies}, Union: true, checkResult: checkDependencies},
	{Operation: Prune, Rule: "pruning", Function: "Prune",
		Summary: "the object without the fields that must not travel to member clusters",
		None:    "nil is an error; an empty table is an error, it is not the same object",
		Script:  func(r *v1alpha1.CustomizationRules) *v1alpha1.LuaRule { return r.Pruning },
		In:      []Input{inObject}, Out: []Output{outPruned}, checkResult: sameObject},
}

// Contracts lists every operation's contract. The order is fixed; the slice is the caller's.
func Contracts() []*Contract {
	list := make([]*Contract, len(contracts))
	for i := range contracts {
		list[i] = &contracts[i]
	}
	return list
}

// ContractOf finds the contract of an operation, and false if there is no such operation.
func ContractOf(op Operation) (*Contract, bool) {
	for i := range contracts {
		if contracts[i].Operation == op {
			return &contracts[i], true
		}
	}
	return nil, false
}

// Operations lists the operations in the order of their contracts. The slice is the caller's.
func Operations() []Operation {
	ops := make([]Operation, len(contracts))
	for i := range contracts {
		ops[i] = contracts[i].Operation
	}
	return ops
}

// ParseOperation finds an operation by name in any letter case. The error lists what there is and names
// the closest.
func ParseOperation(name string) (Operation, error) {
	var names []string
	for i := range contracts {
		if strings.EqualFold(string(contracts[i].Operation), name) {
			return contracts[i].Operation, nil
		}
		names = append(names, string(contracts[i].Operation))
	}
	hint := ""
	if near := Nearest(name, names); near != "" {
		hint = fmt.Sprintf(", did you mean %s?", near)
	}
	slices.Sort(names)
	return "", fmt.Errorf("%w: unknown operation %q%s (have %s)", ErrInvalidRequest, name, hint, strings.Join(names, ", "))
}
