package luakube

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeinterpret/interpret/interpreter/podtemplate"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

const kubeModule = "kube"

// Function documents one function of the kube module.
type Function struct {
	// Name is the function's name.
	Name string
	// Signature is how it is called and what it gives.
	Signature string
	// Doc says what it does, in a sentence or two.
	Doc string
	// Example is an expression, and Gives what tostring makes of its value.
	Example, Gives string

	call func(m *vm, l *lua.LState) int
}

// kubeFunctions is the kube module. Its first four functions are Karmada's.
var kubeFunctions = []Function{
	{"resourceAdd", "resourceAdd(quantity, ...) -> quantity",
		"The sum of quantities, in the format of the first that is not zero. nil counts as zero.",
		`kube.resourceAdd("1Gi", "512Mi")`, "1536Mi", kubeResourceAdd},
	{"getResourceQuantity", "getResourceQuantity(quantity) -> number",
		"The quantity as a number, rounded where a number cannot hold it; nil is 0. A negative quantity is an error.",
		`kube.getResourceQuantity("1500m")`, "1.5", kubeResourceQuantity},
	{"accuratePodRequirements", "accuratePodRequirements(template) -> requirements",
		"What one pod made from the pod template needs, by Kubernetes' own arithmetic: sidecars, init containers, overhead and limits without requests count. nil when it needs nothing.",
		`kube.accuratePodRequirements({spec = {containers = {{name = "c", resources = {requests = {cpu = "1"}}}}}}).resourceRequest.cpu`, "1", kubePodRequirements},
	{"getPodDependencies", "getPodDependencies(template, namespace) -> dependencies",
		"The ConfigMaps, Secrets, ServiceAccount and PersistentVolumeClaims that the pod template refers to, as a list that may be empty. Without a namespace it is \"default\", for an empty one the references have none.",
		`kube.getPodDependencies({spec = {serviceAccountName = "robot"}}, "shop")[1].name`, "robot", kubePodDependencies},
	{"resourceSub", "resourceSub(quantity, quantity) -> quantity",
		"The first quantity less the second; the result may be negative. nil counts as zero.",
		`kube.resourceSub("1Gi", "256Mi")`, "768Mi", kubeResourceSub},
	{"resourceMul", "resourceMul(quantity, number) -> quantity",
		"The quantity times a number, which may have a fraction; the result is rounded up to a thousandth of the smallest unit that is written.",
		`kube.resourceMul("250m", 4)`, "1", kubeResourceMul},
	{"resourceCompare", "resourceCompare(quantity, quantity) -> number",
		"-1, 0 or 1: whether the first quantity is less than, equal to or greater than the second. nil counts as zero.",
		`kube.resourceCompare("1Gi", "1G")`, "1", kubeResourceCompare},
	{"get", "get(object, path, default) -> value",
		"The value at a path such as \"spec.template.spec.containers[1].name\", or the default, nil if not given, where any step is missing. Lists count from 1; a key with dots is quoted: metadata.labels[\"app.kubernetes.io/name\"].",
		`kube.get({spec = {ports = {{port = 80}}}}, "spec.ports[1].port", 0)`, "80", kubeGet},
	{"condition", "condition(object, type) -> condition",
		"The entry of status.conditions of that type, nil where there is none yet. An object without status has none.",
		`kube.condition({status = {conditions = {{type = "Ready", status = "True"}}}}, "Ready").status`, "True", kubeCondition},
	{"array", "array(...) -> list",
		"A list of the arguments, which stays a list where it is empty.",
		`#kube.array("a", "b")`, "2", kubeArray},
	{"object", "object() -> table",
		"A table that is an object where it is empty. So is every empty table that is not known to be a list.",
		`next(kube.object())`, "nil", kubeObject},
	{"next", "next(...) -> results",
		"The answer of the layers below to the same operation: called without arguments for what the rule was given, else for the arguments given. It gives what the rule's own function would return; for InterpretHealth a boolean, then a table with status, reason and message. Where no layer below has a rule it is an error.",
		`type(kube.next)`, "function", kubeNext},
}

// kubeNull documents the one member of the module that is no function.
const kubeNull = "null"

// Functions documents the kube module, in the order of its reference page. The slice is the caller's.
func Functions() []Function { return append([]Function(nil), kubeFunctions...) }

func (m *vm) addKube() {
	functions := make([]goFunction, len(kubeFunctions))
	for i, f := range kubeFunctions {
		functions[i] = goFunction{name: f.Name, call: f.call}
	}
	m.addLibrary(kubeModule, functions, map[string]lua.LValue{kubeNull: m.null})
}

// templateType tells the encoder which empty tables are lists.
var templateType = reflect.TypeFor[corev1.PodTemplateSpec]()

// quantity is an argument that must be a quantity as text; nil is zero.
func (m *vm) quantity(n int) resource.Quantity {
	v := m.state.Get(n)
	if v == lua.LNil {
		return resource.Quantity{Format: resource.DecimalSI}
	}
	s, ok := v.(lua.LString)
	if !ok {
		m.state.ArgError(n, fmt.Sprintf("quantity as text expected, got %s", m.typeName(v)))
	}
	q, err := podtemplate.Quantity(string(s))
	if err != nil {
		m.state.ArgError(n, err.Error())
	}
	return q
}

func (m *vm) arguments(l *lua.LState, n int) {
	if l.GetTop() != n {
		l.RaiseError("want %d argument%s, got %d", n, map[bool]string{true: "", false: "s"}[n == 1], l.GetTop())
	}
}

func kubeResourceAdd(m *vm, l *lua.LState) int {
	sum := resource.Quantity{Format: resource.DecimalSI}
	for i := 1; i <= l.GetTop(); i++ {
		sum.Add(m.quantity(i))
	}
	l.Push(m.text(sum.String()))
	return 1
}

func kubeResourceSub(m *vm, l *lua.LState) int {
	m.arguments(l, 2)
	a := m.quantity(1)
	a.Sub(m.quantity(2))
	l.Push(m.text(a.String()))
	return 1
}

func kubeResourceMul(m *vm, l *lua.LState) int {
	m.arguments(l, 2)
	q := m.quantity(1)
	factor, ok := new(big.Rat).SetString(strconv.FormatFloat(m.num(2), 'g', -1, 64))
	if !ok {
		l.ArgError(2, "a finite number expected")
	}
	product, _ := new(big.Rat).SetString(q.AsDec().String())
	product.Mul(product, factor)
	// Milli is the finest unit that every part of Kubernetes keeps; rounding up never asks for too little.
	text := ceilMilli(product)
	r, err := podtemplate.Quantity(text)
	m.must(err)
	r.Format = q.Format
	l.Push(m.text(r.String()))
	return 1
}

// ceilMilli writes a number in thousandths, rounded up.
func ceilMilli(x *big.Rat) string {
	milli := new(big.Rat).Mul(x, big.NewRat(1000, 1))
	n, rest := new(big.Int).QuoRem(milli.Num(), milli.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		n.Add(n, big.NewInt(1))
	}
	return n.String() + "m"
}

func kubeResourceCompare(m *vm, l *lua.LState) int {
	m.arguments(l, 2)
	a := m.quantity(1)
	l.Push(lua.LNumber(a.Cmp(m.quantity(2))))
	return 1
}

func kubeResourceQuantity(m *vm, l *lua.LState) int {
	m.arguments(l, 1)
	q := m.quantity(1)
	if q.Sign() < 0 {
		l.ArgError(1, "a quantity that is not negative expected, got "+q.String())
	}
	l.Push(lua.LNumber(q.AsApproximateFloat64()))
	return 1
}

// template is an argument that must be a pod template, as Go values.
func (m *vm) template(n int) map[string]any {
	t := m.state.CheckTable(n)
	if v := m.viewOf(t); v != nil && !v.filled && len(v.kids) == 0 && !v.isList && v.typed == nil {
		// Nobody has touched it, so what stands behind it will do, without a copy.
		return v.object
	}
	x, err := m.encoder().value(t, nil, templateType)
	m.must(err)
	object, ok := x.(map[string]any)
	if !ok {
		m.state.ArgError(n, "pod template expected, got a list")
	}
	return object
}

func kubePodRequirements(m *vm, l *lua.LState) int {
	m.arguments(l, 1)
	requirements, err := podtemplate.Requirements(m.template(1))
	m.must(err)
	m.must(m.meter.alloc(weight(requirements)))
	v, err := m.toLua(requirements)
	m.must(err)
	l.Push(v)
	return 1
}

func kubePodDependencies(m *vm, l *lua.LState) int {
	m.arguments(l, 2)
	namespace := "default"
	if l.Get(2) != lua.LNil {
		namespace = m.str(2)
	}
	template := m.template(1)
	dependencies, err := podtemplate.Dependencies(template, namespace)
	m.must(err)
	m.must(m.meter.alloc(weight(dependencies)))
	v, err := m.toLua(dependencies)
	m.must(err)
	l.Push(v)
	return 1
}

// kubeGet walks a path. Every step that cannot be taken gives the default.
func kubeGet(m *vm, l *lua.LState) int {
	path := m.str(2)
	m.must(m.meter.steps(len(path)))
	steps, err := parsePath(path)
	if err != nil {
		l.ArgError(2, err.Error())
	}
	v := l.Get(1)
	for _, step := range steps {
		t, ok := v.(*lua.LTable)
		if !ok {
			v = lua.LNil
			break
		}
		v, err = m.get(t, step)
		m.must(err)
	}
	if v == lua.LNil || v == m.null {
		v = l.Get(3)
	}
	l.Push(v)
	return 1
}

// parsePath splits a path into keys and positions.
func parsePath(path string) ([]lua.LValue, error) {
	var steps []lua.LValue
	rest := path
	for rest != "" {
		if rest[0] == '.' && len(steps) > 0 {
			rest = rest[1:]
			if rest == "" || rest[0] == '.' || rest[0] == '[' {
				return nil, fmt.Errorf("path %q: a name is missing after a dot", shorten(path))
			}
		}
		if rest[0] != '[' {
			end := strings.IndexAny(rest, ".[")
			if end == 0 {
				return nil, fmt.Errorf("path %q: a name is missing", shorten(path))
			}
			if end < 0 {
				end = len(rest)
			}
			steps = append(steps, lua.LString(rest[:end]))
			rest = rest[end:]
			continue
		}
		step, after, err := bracket(rest[1:])
		if err != nil {
			return nil, fmt.Errorf("path %q: %w", shorten(path), err)
		}
		steps, rest = append(steps, step), after
	}
	return steps, nil
}

// bracket reads what stands between [ and ]: a position, or a key in quotes.
func bracket(s string) (lua.LValue, string, error) {
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		end := strings.IndexByte(s[1:], s[0])
		if end < 0 || !strings.HasPrefix(s[end+2:], "]") {
			return nil, "", errors.New("a quoted key does not end")
		}
		return lua.LString(s[1 : end+1]), s[end+3:], nil
	}
	number, after, found := strings.Cut(s, "]")
	n, err := strconv.Atoi(number)
	if !found || err != nil {
		return nil, "", errors.New("want [1], or [\"key\"]")
	}
	return lua.LNumber(n), after, nil
}

func kubeCondition(m *vm, l *lua.LState) int {
	kind := m.str(2)
	object, ok := l.Get(1).(*lua.LTable)
	if !ok {
		l.ArgError(1, fmt.Sprintf("object expected, got %s", m.typeName(l.Get(1))))
	}
	for _, step := range []lua.LValue{lua.LString("status"), lua.LString("conditions")} {
		v, err := m.get(object, step)
		m.must(err)
		if object, ok = v.(*lua.LTable); !ok {
			l.Push(lua.LNil)
			return 1
		}
	}
	for i := 1; ; i++ {
		v, err := m.get(object, lua.LNumber(i))
		m.must(err)
		if v == lua.LNil {
			l.Push(lua.LNil)
			return 1
		}
		if condition, ok := v.(*lua.LTable); ok {
			name, err := m.get(condition, lua.LString("type"))
			m.must(err)
			if name == lua.LString(kind) {
				l.Push(condition)
				return 1
			}
		}
	}
}

func kubeArray(m *vm, l *lua.LState) int {
	n := l.GetTop()
	t := m.newTable(n, 0)
	t.Metatable = m.mt.list
	for i := 1; i <= n; i++ {
		t.RawSetInt(i, l.Get(i))
	}
	l.Push(t)
	return 1
}

func kubeObject(m *vm, l *lua.LState) int {
	t := m.newTable(0, 0)
	t.Metatable = m.mt.object
	l.Push(t)
	return 1
}

// weight is about what a Go value that a script is given takes, in bytes.
func weight(v any) int {
	n := priceNode
	switch v := v.(type) {
	case string:
		n += len(v)
	case map[string]any:
		n += priceMap
		for k, e := range v {
			n += len(k) + weight(e)
		}
	case []any:
		for _, e := range v {
			n += weight(e)
		}
	case []v1alpha1.DependentObjectReference:
		n += len(v) * priceMap
	case []v1alpha1.Component:
		n += len(v) * 4 * priceMap
	case *v1alpha1.ReplicaRequirements:
		n += 4 * priceMap
	}
	return n
}

// kubeNext asks the layers below. What they take is theirs to bound, but for the wall time, which goes on.
func kubeNext(m *vm, l *lua.LState) int {
	if m.call == nil || m.call.Next == nil {
		l.RaiseError("there is no layer below to ask")
	}
	e := m.encoder()
	var args []any
	for i := 1; i <= l.GetTop(); i++ {
		x, err := e.value(l.Get(i), nil, nil)
		m.must(err)
		args = append(args, x)
	}
	ctx, cancel := context.WithDeadline(m.ctx, m.meter.start.Add(m.meter.limits.Time))
	defer cancel()
	results, err := m.call.Next(ctx, args)
	m.meter.waited = true
	m.must(m.meter.look())
	if err != nil {
		m.nextErr, m.nextErrValue = err, lua.LString(err.Error())
		l.Error(m.nextErrValue, 0)
	}
	for _, r := range results {
		m.must(m.meter.alloc(weight(r)))
		v, err := m.toLua(r)
		m.must(err)
		l.Push(v)
	}
	return len(results)
}
