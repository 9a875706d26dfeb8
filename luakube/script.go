package luakube

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

// MaxSource is how long a script may be, in bytes. It is many times what people write, and little enough for
// the parser, which takes hundreds of bytes for each bracket that is open.
const MaxSource = 256 << 10

// maxCode is how long a function may be, in instructions of the engine: its jumps reach no farther.
const maxCode = 1<<17 - 1

// Script is a compiled script with the one function it is there for. It is immutable, and safe for many
// goroutines.
type Script struct {
	engine   *Engine
	name     string
	function string
	proto    *lua.FunctionProto
	lines    *hints
	// What loading found the function to be.
	line, parameters int
	variadic         bool
}

// Compile compiles a script and runs its top level once, to see that it defines the function. The name
// stands for the script in messages. Every error is a *ScriptError.
func (e *Engine) Compile(name, source, function string) (*Script, error) {
	proto, err := compile(name, source)
	if err != nil {
		return nil, err
	}
	s := &Script{engine: e, name: name, function: function, proto: proto, lines: newHints(name, source)}
	m := e.get()
	defer e.put(m)
	m.begin(context.Background(), s, nil)
	fn, err := s.load(m)
	if err != nil {
		return nil, err
	}
	if !fn.IsG {
		s.line, s.parameters, s.variadic = fn.Proto.LineDefined, int(fn.Proto.NumParameters), fn.Proto.IsVarArg != 0
	}
	return s, nil
}

// compile turns source into bytecode in which the checked operations stand for the engine's own.
func compile(name, source string) (proto *lua.FunctionProto, err error) {
	chunk, err := parseSource(name, source)
	if err != nil {
		return nil, err
	}
	defer func() {
		// The engine's compiler panics on some of what it cannot compile.
		if r := recover(); r != nil {
			proto, err = nil, &ScriptError{Script: name, Message: fmt.Sprintf("cannot be compiled: %v", r)}
		}
	}()
	if chunk, err = rewrite(chunk); err != nil {
		return nil, &ScriptError{Script: name, Message: err.Error()}
	}
	proto, err = lua.Compile(chunk, name)
	if err != nil {
		var ce *lua.CompileError
		if errors.As(err, &ce) {
			return nil, &ScriptError{Script: name, Line: ce.Line, Message: ce.Message}
		}
		return nil, &ScriptError{Script: name, Message: err.Error()}
	}
	if line := tooLong(proto); line > 0 {
		return nil, &ScriptError{Script: name, Line: line, Message: fmt.Sprintf("the function is too long: it has more than %d instructions", maxCode)}
	}
	plainCalls(proto)
	trim(proto)
	return proto, nil
}

// tooLong is the line of a function that is longer than the engine's jumps, 0 if there is none.
func tooLong(p *lua.FunctionProto) int {
	if len(p.Code) > maxCode {
		return max(p.LineDefined, 1)
	}
	for _, inner := range p.FunctionPrototypes {
		if line := tooLong(inner); line > 0 {
			return line
		}
	}
	return 0
}

// plainCalls makes tail calls ordinary ones. The engine counts tail calls to list each in the trace of an error,
// which takes hundreds of megabytes after a few million; calls that nest are bounded by the call depth.
func plainCalls(p *lua.FunctionProto) {
	const opcode = 26 // the bits below it are the operands, the same for both
	for i, inst := range p.Code {
		if int(inst>>opcode) == lua.OP_TAILCALL {
			p.Code[i] = inst&(1<<opcode-1) | uint32(lua.OP_CALL)<<opcode
		}
	}
	for _, inner := range p.FunctionPrototypes {
		plainCalls(inner)
	}
}

// trim gives back the room that the compiler kept for more: twelve kilobytes a function, most of it unused.
func trim(p *lua.FunctionProto) {
	p.Code = append([]uint32(nil), p.Code...)
	p.Constants = append([]lua.LValue(nil), p.Constants...)
	p.FunctionPrototypes = append([]*lua.FunctionProto(nil), p.FunctionPrototypes...)
	p.DbgSourcePositions = append([]int(nil), p.DbgSourcePositions...)
	p.DbgLocals = append([]*lua.DbgLocalInfo(nil), p.DbgLocals...)
	p.DbgCalls = append([]lua.DbgCall(nil), p.DbgCalls...)
	p.DbgUpvalues = append([]string(nil), p.DbgUpvalues...)
	for _, inner := range p.FunctionPrototypes {
		trim(inner)
	}
}

func parseSource(name, source string) (chunk []ast.Stmt, err error) {
	if len(source) > MaxSource {
		return nil, &ScriptError{Script: name, Message: fmt.Sprintf("the script has %d bytes, at most %d are allowed", len(source), MaxSource)}
	}
	defer func() {
		if r := recover(); r != nil {
			chunk, err = nil, &ScriptError{Script: name, Message: fmt.Sprintf("cannot be parsed: %v", r)}
		}
	}()
	chunk, err = parse.Parse(strings.NewReader(source), name)
	if err != nil {
		return nil, syntaxError(name, source, err)
	}
	return chunk, nil
}

func syntaxError(name, source string, err error) error {
	var pe *parse.Error
	if !errors.As(err, &pe) {
		return &ScriptError{Script: name, Message: err.Error()}
	}
	e := &ScriptError{Script: name, Line: pe.Pos.Line, Column: pe.Pos.Column, Message: pe.Message}
	if e.Line == parse.EOF {
		// The last line with text is where somebody looks for the missing end.
		e.Line, e.Column = strings.Count(strings.TrimRight(source, " \t\r\n"), "\n")+1, 0
		e.Message += " at the end of the script"
	} else if pe.Token != "" {
		e.Message += fmt.Sprintf(" near %q", shorten(pe.Token))
	}
	return e
}

// Name is the name the script was compiled under.
func (s *Script) Name() string { return s.name }

// Blame makes an error about the function's answer one of the script's, at the line where the function begins.
func (s *Script) Blame(err error) error {
	return &ScriptError{Script: s.name, Line: s.line, Message: s.function + ": " + err.Error(), Err: err}
}

// BlameField is Blame for an error about one field of the answer: at the line that sets the field or what is nearest to
// it, if that can be told from the script's text. An item's step is its index, from 0.
func (s *Script) BlameField(err error, path ...string) error {
	e := &ScriptError{Script: s.name, Line: s.line, Message: s.function + ": " + err.Error(), Err: err}
	best := 0
	for _, use := range Fields(s.lines.source, s.function) {
		if near := nearness(use.Path, path); use.Written && near >= max(best, 1) {
			e.Line, e.Column, best = use.Line, use.Column, near
		}
	}
	return e
}

// nearness is how many steps two paths have in common if one leads to the other, 0 if it does not.
func nearness(a, b []string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] && !(a[i] == "" && isIndex(b[i])) {
			return 0
		}
	}
	return n
}

func isIndex(step string) bool { return step != "" && strings.Trim(step, "0123456789") == "" }

// load runs the script's top level in fresh globals and gives the function.
func (s *Script) load(m *vm) (*lua.LFunction, error) {
	chunk := m.state.NewFunctionFromProto(s.proto)
	chunk.Env = m.env
	m.state.Push(chunk)
	if err := m.state.PCall(0, 0, nil); err != nil {
		return nil, s.failed(m, err)
	}
	switch f := m.env.RawGetString(s.function).(type) {
	case *lua.LFunction:
		return f, nil
	case *lua.LNilType:
		return nil, &ScriptError{Script: s.name, Message: s.noFunction(m)}
	default:
		return nil, &ScriptError{Script: s.name, Message: fmt.Sprintf("%s is a %s, not a function", s.function, f.Type())}
	}
}

func (s *Script) noFunction(m *vm) string {
	var have []string
	for k, v := m.env.Next(lua.LNil); k != lua.LNil; k, v = m.env.Next(k) {
		if name, ok := k.(lua.LString); ok && v.Type() == lua.LTFunction {
			have = append(have, string(name))
		}
	}
	message := "the script defines no function " + s.function
	if near := interpreter.Nearest(s.function, have); near != "" {
		return fmt.Sprintf("%s; is %s meant to be it?", message, near)
	}
	if len(have) > 0 {
		have = have[:min(len(have), 10)]
		return fmt.Sprintf("%s (it defines %s)", message, strings.Join(have, ", "))
	}
	return message
}

// Call calls the script's function. Every error is a *ScriptError, but for what Next returned, which comes
// back as it was if the script did not catch it.
func (s *Script) Call(ctx context.Context, c *Call) (Usage, error) {
	m := s.engine.get()
	defer s.engine.put(m)
	m.begin(ctx, s, c)
	err := s.call(m, c)
	return Usage{Instructions: m.meter.instructions, Memory: m.meter.memory}, err
}

func (s *Script) call(m *vm, c *Call) error {
	fn, err := s.load(m)
	if err != nil {
		return err
	}
	m.state.Push(fn)
	for _, a := range c.Args {
		v, err := m.toLua(a)
		if err != nil {
			return m.stop(&ScriptError{Script: s.name, Message: err.Error(), Err: err})
		}
		m.state.Push(v)
	}
	if err := m.state.PCall(len(c.Args), len(c.Rets), nil); err != nil {
		return s.failed(m, err)
	}
	e := m.encoder()
	for i := range c.Rets {
		if err := e.result(m.state.Get(i+1), &c.Rets[i]); err != nil {
			return m.stop(s.badResult(m, i, &c.Rets[i], err))
		}
	}
	return nil
}

func (s *Script) badResult(m *vm, i int, r *Ret, err error) error {
	e := &ScriptError{Script: s.name, Err: err}
	if m.meter.stopped != nil {
		e.Message = err.Error()
		return e
	}
	e.Err = fmt.Errorf("%w: %w", interpreter.ErrInvalidResult, err)
	e.Line = s.line
	sep := " "
	if _, inside := err.(*fieldError); inside {
		sep = ": "
	}
	e.Message = fmt.Sprintf("%s: %s result (%s)%s%s", s.function, ordinal(i), r.Noun, sep, err)
	return e
}

func ordinal(i int) string {
	return [...]string{"first", "second", "third"}[min(i, 2)]
}

// failed makes an error of what the engine reports.
func (s *Script) failed(m *vm, err error) error {
	m.broken = true
	if m.nextErr != nil && m.meter.stopped == nil {
		var api *lua.ApiError
		if errors.As(err, &api) && api.Object == m.nextErrValue {
			return m.nextErr
		}
	}
	e := &ScriptError{Script: s.name, Message: err.Error()}
	var api *lua.ApiError
	if errors.As(err, &api) {
		e.Message = m.errorText(api.Object)
		if api.Type == lua.ApiErrorPanic {
			e.Message = "internal error: " + e.Message
		}
		e.Stack = api.StackTrace
	}
	if len(e.Message) > longestMessage {
		e.Message = strings.ToValidUTF8(e.Message[:longestMessage], "") + "..."
	}
	hints := s.lines
	e.Line, e.Message = place(s.name, e.Message)
	if e.Line == 0 {
		for name, mod := range m.engine.scripts {
			if line, message := place(name, e.Message); line > 0 {
				e.Script, e.Line, e.Message, hints = name, line, message, mod.lines
			}
		}
	}
	if stopped := m.meter.stopped; stopped != nil {
		e.Message, e.Err = stopped.Error(), stopped
		return e
	}
	switch {
	case strings.HasSuffix(e.Message, "stack overflow"):
		e.Err = &LimitError{Limit: limitDepth, Max: fmt.Sprintf("a call depth of %d", callDepth), All: m.meter.limits}
		e.Message = e.Err.Error()
	case strings.HasSuffix(e.Message, "registry overflow"):
		e.Err = &LimitError{Limit: limitSlots, Max: fmt.Sprintf("%d values on the stack", stackSlots), All: m.meter.limits}
		e.Message = e.Err.Error()
	default:
		e.Message = hints.explain(e.Line, e.Message)
	}
	return e
}

// result decodes one result.
func (e *encoder) result(v lua.LValue, r *Ret) error {
	if u, ok := r.Into.(Unmarshaler); ok {
		x, err := e.value(v, nil, nil)
		if err != nil {
			return err
		}
		return u.UnmarshalValue(x)
	}
	dst := reflect.ValueOf(r.Into).Elem()
	want := dst.Type()
	if v == lua.LNil {
		if r.Optional {
			return nil
		}
		return fmt.Errorf("must be %s, got nil", wanted(want))
	}
	if object, ok := r.Into.(**unstructured.Unstructured); ok {
		content, err := e.wholeObject(v, r)
		if err != nil {
			return err
		}
		*object = &unstructured.Unstructured{Object: content}
		return nil
	}
	_, isTable := v.(*lua.LTable)
	if want.Kind() == reflect.Interface {
		want = nil
		if !isTable {
			return fmt.Errorf("must be a table, got %s", e.describe(v))
		}
	} else if isTable != (wantsList(want) || wantsObject(want)) {
		return fmt.Errorf("must be %s, got %s", wanted(want), e.describe(v))
	}
	x, err := e.value(v, nil, want)
	if err != nil {
		return err
	}
	if list, ok := x.([]any); ok && wantsList(want) {
		x = withoutEmpty(list)
	}
	return assign(dst, x)
}

// withoutEmpty leaves out the empty tables of a list of structs: an entry that says nothing.
func withoutEmpty(list []any) []any {
	out := list[:0]
	for _, x := range list {
		if m, ok := x.(map[string]any); !ok || len(m) > 0 {
			out = append(out, x)
		}
	}
	return out
}

func wanted(t reflect.Type) string {
	switch elem(t).Kind() {
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map, reflect.Interface:
		return "a table"
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "a boolean"
	}
	return "a number"
}

// wholeObject encodes an answer that is an object.
func (e *encoder) wholeObject(v lua.LValue, r *Ret) (map[string]any, error) {
	t, ok := v.(*lua.LTable)
	if !ok {
		return nil, fmt.Errorf("must be a table, got %s", e.describe(v))
	}
	if r.Only != nil {
		return e.someFields(t, r)
	}
	x, err := e.value(t, nil, reflect.TypeFor[map[string]any]())
	if err != nil {
		return nil, err
	}
	object, ok := x.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("must be an object, got a list")
	}
	return object, nil
}

// identity are the fields that make an object the one it is.
var identity = [][]string{{"apiVersion"}, {"kind"}, {"metadata", "namespace"}, {"metadata", "name"}}

// someFields takes some fields of the table and the rest of the object from the base, unless the table is
// another object.
func (e *encoder) someFields(t *lua.LTable, r *Ret) (map[string]any, error) {
	for _, path := range identity {
		got, err := e.text(t, path)
		if err != nil {
			return nil, err
		}
		was, _, _ := unstructured.NestedString(r.Base, path...)
		if got != was {
			return nil, fmt.Errorf("is another object: %s is %q, was %q", strings.Join(path, "."), got, was)
		}
	}
	out := make(map[string]any, len(r.Base)+1)
	for k, x := range r.Base {
		c, err := e.copy(x, nil)
		if err != nil {
			return nil, inField(err, keyStep(k))
		}
		out[k] = c
	}
	for _, k := range r.Only {
		v, err := e.get(t, lua.LString(k))
		if err != nil {
			return nil, inField(err, keyStep(k))
		}
		if v == lua.LNil {
			delete(out, k)
			continue
		}
		if out[k], err = e.value(v, nil, nil); err != nil {
			return nil, inField(err, keyStep(k))
		}
	}
	return out, nil
}

// text reads a text through nested tables; it is empty where there is none.
func (e *encoder) text(t *lua.LTable, path []string) (string, error) {
	for _, step := range path[:len(path)-1] {
		v, err := e.get(t, lua.LString(step))
		if err != nil {
			return "", err
		}
		inner, ok := v.(*lua.LTable)
		if !ok {
			return "", nil
		}
		t = inner
	}
	v, err := e.get(t, lua.LString(path[len(path)-1]))
	if s, ok := v.(lua.LString); ok {
		return string(s), err
	}
	return "", err
}
