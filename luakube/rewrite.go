package luakube

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// Names under which rewritten scripts find the checked operations. No script can spell them as variables.
const (
	opConcat  = ".."
	opLess    = "<"
	opLessEq  = "<="
	opEqual   = "=="
	opTable   = "{}"
	opIndex   = "[]"
	opClosure = "function"
)

// reserved are those names: a script can spell them as keys of _G, but not set them.
var reserved = map[string]bool{opConcat: true, opLess: true, opLessEq: true, opEqual: true, opTable: true, opIndex: true, opClosure: true}

const (
	// maxNesting bounds how deep a script's text may nest: far beyond what people write, and shallow enough
	// for the recursive passes over it, ours and the engine's.
	maxNesting = 200
	// concatGroup is how many operands one checked concatenation takes; longer ones are nested, since a
	// function has 250 registers.
	concatGroup = 16
)

var errNesting = fmt.Errorf("the script nests deeper than %d levels", maxNesting)

// rewrite changes a parsed script so that what the engine would do unseen is done by checked functions:
// concatenating, making tables and functions, and comparing, where integers beyond 2^53 meet numbers. Lines
// stay where they are.
func rewrite(chunk []ast.Stmt) ([]ast.Stmt, error) {
	r := &rewriter{}
	chunk = r.block(chunk, false)
	return chunk, r.err
}

type rewriter struct {
	depth    int
	closures int // functions made by the statement at hand
	err      error
}

func (r *rewriter) enter() bool {
	r.depth++
	if r.depth > maxNesting && r.err == nil {
		r.err = errNesting
	}
	return r.err == nil
}

func (r *rewriter) leave() { r.depth-- }

// block rewrites statements. Where a statement that may run often makes functions, the charge for them is
// put before it.
func (r *rewriter) block(stmts []ast.Stmt, often bool) []ast.Stmt {
	if !r.enter() {
		return stmts
	}
	defer r.leave()
	out := make([]ast.Stmt, 0, len(stmts))
	outer := r.closures
	for _, s := range stmts {
		r.closures = 0
		r.stmt(s, often)
		if r.closures > 0 && often {
			out = append(out, charge(s, r.closures))
		}
		out = append(out, s)
	}
	r.closures = outer
	return out
}

func charge(at ast.Stmt, closures int) ast.Stmt {
	s := &ast.FuncCallStmt{Expr: call(at, opClosure, number(at, closures))}
	s.SetLine(at.Line())
	s.SetLastLine(at.Line())
	return s
}

func (r *rewriter) stmt(s ast.Stmt, often bool) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		r.exprs(s.Lhs)
		r.exprs(s.Rhs)
		if c, ok := s.Rhs[0].(*ast.FuncCallExpr); ok && len(s.Rhs) == 1 && len(s.Lhs) == 1 {
			// One variable takes one value anyway, and the engine loses it for p = (f()) where p is the last
			// parameter.
			c.AdjustRet = false
		}
	case *ast.LocalAssignStmt:
		r.exprs(s.Exprs)
	case *ast.FuncCallStmt:
		s.Expr = r.expr(s.Expr)
	case *ast.DoBlockStmt:
		s.Stmts = r.block(s.Stmts, often)
	case *ast.WhileStmt:
		s.Condition = r.expr(s.Condition)
		s.Stmts = r.loop(s, s.Stmts)
	case *ast.RepeatStmt:
		s.Condition = r.expr(s.Condition)
		s.Stmts = r.loop(s, s.Stmts)
	case *ast.IfStmt:
		s.Condition = r.expr(s.Condition)
		s.Then = r.block(s.Then, often)
		s.Else = r.otherwise(s.Else, often)
	case *ast.NumberForStmt:
		s.Init, s.Limit = r.expr(s.Init), r.expr(s.Limit)
		if s.Step != nil {
			s.Step = r.expr(s.Step)
		}
		s.Stmts = r.block(s.Stmts, true)
	case *ast.GenericForStmt:
		r.exprs(s.Exprs)
		s.Stmts = r.block(s.Stmts, true)
	case *ast.FuncDefStmt:
		if s.Name.Func != nil {
			s.Name.Func = r.expr(s.Name.Func)
		}
		if s.Name.Receiver != nil {
			s.Name.Receiver = r.expr(s.Name.Receiver)
		}
		r.function(s.Func)
	case *ast.ReturnStmt:
		r.exprs(s.Exprs)
	}
}

// loop rewrites the body of a loop whose condition was rewritten just before: functions that the condition
// makes are made once a turn, so the body pays for them.
func (r *rewriter) loop(s ast.Stmt, body []ast.Stmt) []ast.Stmt {
	made := r.closures
	r.closures = 0
	body = r.block(body, true)
	if made > 0 {
		body = append([]ast.Stmt{charge(s, made)}, body...)
	}
	return body
}

// otherwise rewrites an else branch. A chain of elseif is nested in the tree though not on the page, so it
// does not count as depth.
func (r *rewriter) otherwise(stmts []ast.Stmt, often bool) []ast.Stmt {
	if len(stmts) == 1 {
		if _, chained := stmts[0].(*ast.IfStmt); chained {
			r.depth--
			defer func() { r.depth++ }()
		}
	}
	return r.block(stmts, often)
}

func (r *rewriter) exprs(list []ast.Expr) {
	for i := range list {
		list[i] = r.expr(list[i])
	}
}

func (r *rewriter) function(f *ast.FunctionExpr) {
	r.closures++
	made := r.closures
	needsArg := f.ParList.HasVargs && !usesDots(f.Stmts)
	f.Stmts = r.block(f.Stmts, true)
	r.closures = made
	if needsArg {
		// The engine fills the old-style variable arg with a table of its own making.
		arg := &ast.IdentExpr{Value: "arg"}
		s := &ast.AssignStmt{Lhs: []ast.Expr{arg}, Rhs: []ast.Expr{call(f, opTable, ident(f, "arg"), number(f, 0))}}
		for _, n := range []ast.PositionHolder{arg, s} {
			n.SetLine(f.Line())
			n.SetLastLine(f.Line())
		}
		f.Stmts = append([]ast.Stmt{s}, f.Stmts...)
	}
}

func (r *rewriter) expr(e ast.Expr) ast.Expr {
	if !r.enter() {
		return e
	}
	defer r.leave()
	switch e := e.(type) {
	case *ast.AttrGetExpr:
		e.Object, e.Key = r.expr(e.Object), r.expr(e.Key)
	case *ast.TableExpr:
		return r.table(e)
	case *ast.FuncCallExpr:
		if e.Func != nil {
			e.Func = r.expr(e.Func)
		}
		if e.Receiver != nil {
			e.Receiver = r.expr(e.Receiver)
		}
		r.exprs(e.Args)
	case *ast.LogicalOpExpr:
		e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
	case *ast.RelationalOpExpr:
		return r.compare(e)
	case *ast.StringConcatOpExpr:
		return r.concat(e)
	case *ast.ArithmeticOpExpr:
		e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
	case *ast.UnaryMinusOpExpr:
		e.Expr = r.expr(e.Expr)
	case *ast.UnaryNotOpExpr:
		e.Expr = r.expr(e.Expr)
	case *ast.UnaryLenOpExpr:
		e.Expr = r.expr(e.Expr)
	case *ast.FunctionExpr:
		r.function(e)
	}
	return e
}

func (r *rewriter) table(e *ast.TableExpr) ast.Expr {
	for _, f := range e.Fields {
		if f.Key != nil {
			_, constant := f.Key.(*ast.StringExpr)
			f.Key = r.expr(f.Key)
			if !constant {
				f.Key = call(e, opIndex, f.Key)
			}
		}
		f.Value = r.expr(f.Value)
	}
	return call(e, opTable, e, number(e, len(e.Fields)))
}

func (r *rewriter) compare(e *ast.RelationalOpExpr) ast.Expr {
	e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
	switch e.Operator {
	case "<":
		return call(e, opLess, e.Lhs, e.Rhs)
	case "<=":
		return call(e, opLessEq, e.Lhs, e.Rhs)
	case ">", ">=":
		// The operands change sides, but must not be evaluated in another order.
		op := opLess
		if e.Operator == ">=" {
			op = opLessEq
		}
		if constant(e.Lhs) || constant(e.Rhs) || !calls(e.Lhs) && !calls(e.Rhs) {
			return call(e, op, e.Rhs, e.Lhs)
		}
		return call(e, op, e.Lhs, e.Rhs, &ast.TrueExpr{})
	case "==", "~=":
		// Only integers beyond 2^53 compare otherwise than the engine thinks, and none of them equals a constant
		// that is no large number.
		if small(e.Lhs) || small(e.Rhs) {
			return e
		}
		equal := call(e, opEqual, e.Lhs, e.Rhs)
		if e.Operator == "==" {
			return equal
		}
		not := &ast.UnaryNotOpExpr{Expr: equal}
		not.SetLine(e.Line())
		not.SetLastLine(e.LastLine())
		return not
	}
	return e
}

func constant(e ast.Expr) bool {
	_, number := e.(*ast.NumberExpr)
	return number || small(e)
}

// small constants equal no integer beyond 2^53.
func small(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.StringExpr, *ast.NilExpr, *ast.TrueExpr, *ast.FalseExpr:
		return true
	case *ast.NumberExpr:
		n, err := strconv.ParseFloat(e.Value, 64)
		return err == nil && n < maxExact
	}
	return false
}

// calls says whether evaluating an expression may call a function of the script.
func calls(e ast.Expr) bool {
	return walkNode(e, func(n any) error {
		if _, is := n.(*ast.FuncCallExpr); is {
			return errFound
		}
		return nil
	}) != nil
}

// concat flattens a chain of concatenations, which nests to the right, into one call.
func (r *rewriter) concat(e *ast.StringConcatOpExpr) ast.Expr {
	var operands []ast.Expr
	var rest ast.Expr = e
	for {
		c, ok := rest.(*ast.StringConcatOpExpr)
		if !ok {
			operands = append(operands, r.expr(rest))
			break
		}
		operands = append(operands, r.expr(c.Lhs))
		rest = c.Rhs
	}
	for len(operands) > concatGroup {
		groups := make([]ast.Expr, 0, len(operands)/concatGroup+1)
		for group := range slices.Chunk(operands, concatGroup) {
			groups = append(groups, call(e, opConcat, group...))
		}
		operands = groups
	}
	return call(e, opConcat, operands...)
}

func call(at ast.PositionHolder, name string, args ...ast.Expr) *ast.FuncCallExpr {
	for _, a := range args {
		// An operand is one value, also where its expression has several.
		switch a := a.(type) {
		case *ast.FuncCallExpr:
			a.AdjustRet = true
		case *ast.Comma3Expr:
			a.AdjustRet = true
		}
	}
	c := &ast.FuncCallExpr{Func: ident(at, name), Args: args}
	c.SetLine(at.Line())
	c.SetLastLine(at.LastLine())
	return c
}

func ident(at ast.PositionHolder, name string) *ast.IdentExpr {
	i := &ast.IdentExpr{Value: name}
	i.SetLine(at.Line())
	i.SetLastLine(at.Line())
	return i
}

func number(at ast.PositionHolder, n int) *ast.NumberExpr {
	e := &ast.NumberExpr{Value: strconv.Itoa(n)}
	e.SetLine(at.Line())
	e.SetLastLine(at.Line())
	return e
}

var errFound = errors.New("found")

// usesDots says whether a function's own body, not that of functions inside it, uses its extra arguments.
func usesDots(stmts []ast.Stmt) bool {
	return walk(stmts, func(n any) error {
		if _, dots := n.(*ast.Comma3Expr); dots {
			return errFound
		}
		if _, inner := n.(*ast.FunctionExpr); inner {
			return errSkip
		}
		return nil
	}) != nil
}
