package luakube

import (
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// scope is a block with the local names declared in it so far.
type scope struct {
	names []string
	// function is how many functions the block is inside of; the chunk is none.
	function int
	outer    *scope
}

// home is in how many functions the local of a name was declared, -1 if the name is a global.
func (s *scope) home(name string) int {
	for ; s != nil; s = s.outer {
		if slices.Contains(s.names, name) {
			return s.function
		}
	}
	return -1
}

// scopeWalker follows the uses of variables through a chunk, in the order in which locals come into being.
type scopeWalker struct {
	// read and assigned are told about variables by name; either may be nil.
	read     func(n *ast.IdentExpr, s *scope)
	assigned func(name string, s *scope)
}

// block walks statements in a scope of their own, which it gives.
func (w *scopeWalker) block(stmts []ast.Stmt, outer *scope, names ...string) *scope {
	s := &scope{names: names, outer: outer}
	if outer != nil {
		s.function = outer.function
	}
	for _, stmt := range stmts {
		w.stmt(stmt, s)
	}
	return s
}

func (w *scopeWalker) stmt(stmt ast.Stmt, s *scope) {
	switch n := stmt.(type) {
	case *ast.LocalAssignStmt:
		if len(n.Names) == 1 && len(n.Exprs) == 1 {
			if _, function := n.Exprs[0].(*ast.FunctionExpr); function {
				// A local function sees itself.
				s.names = append(s.names, n.Names...)
				w.exprs(s, n.Exprs...)
				return
			}
		}
		w.exprs(s, n.Exprs...)
		s.names = append(s.names, n.Names...)
	case *ast.AssignStmt:
		for _, l := range n.Lhs {
			w.target(l, s)
		}
		w.exprs(s, n.Rhs...)
	case *ast.FuncDefStmt:
		if n.Name.Func != nil {
			w.target(n.Name.Func, s)
		}
		w.exprs(s, n.Name.Receiver)
		if n.Name.Receiver != nil {
			w.function(n.Func, s, "self")
		} else {
			w.function(n.Func, s)
		}
	case *ast.DoBlockStmt:
		w.block(n.Stmts, s)
	case *ast.WhileStmt:
		w.exprs(s, n.Condition)
		w.block(n.Stmts, s)
	case *ast.RepeatStmt:
		// The condition sees the locals of the body.
		w.exprs(w.block(n.Stmts, s), n.Condition)
	case *ast.IfStmt:
		w.exprs(s, n.Condition)
		w.block(n.Then, s)
		w.block(n.Else, s)
	case *ast.NumberForStmt:
		w.exprs(s, n.Init, n.Limit, n.Step)
		w.block(n.Stmts, s, n.Name)
	case *ast.GenericForStmt:
		w.exprs(s, n.Exprs...)
		w.block(n.Stmts, s, slices.Clone(n.Names)...)
	default:
		w.below(stmt, s)
	}
}

// target is what is assigned to: a variable, or a field, whose table is read.
func (w *scopeWalker) target(e ast.Expr, s *scope) {
	n, variable := e.(*ast.IdentExpr)
	switch {
	case !variable:
		w.exprs(s, e)
	case w.assigned != nil:
		w.assigned(n.Value, s)
	}
}

func (w *scopeWalker) exprs(s *scope, list ...ast.Expr) {
	for _, e := range list {
		switch n := e.(type) {
		case nil:
		case *ast.IdentExpr:
			if w.read != nil {
				w.read(n, s)
			}
		case *ast.FunctionExpr:
			w.function(n, s)
		default:
			w.below(e, s)
		}
	}
}

func (w *scopeWalker) function(f *ast.FunctionExpr, s *scope, names ...string) {
	names = append(names, f.ParList.Names...)
	if f.ParList.HasVargs {
		names = append(names, "arg")
	}
	w.block(f.Stmts, &scope{names: names, function: s.function + 1, outer: s})
}

func (w *scopeWalker) below(n any, s *scope) {
	for _, c := range children(n) {
		if e, ok := c.(ast.Expr); ok {
			w.exprs(s, e)
		}
	}
}
