package luakube

import (
	"errors"

	"github.com/yuin/gopher-lua/ast"
)

// errSkip, returned by a visitor, leaves out what is below the node.
var errSkip = errors.New("skip")

// walk visits every statement and expression in the order of the text, parents first, until the visitor
// returns an error.
func walk(stmts []ast.Stmt, visit func(n any) error) error {
	for _, s := range stmts {
		if err := walkNode(s, visit); err != nil {
			return err
		}
	}
	return nil
}

func walkNode(n any, visit func(n any) error) error {
	if err := visit(n); err != nil {
		if errors.Is(err, errSkip) {
			return nil
		}
		return err
	}
	for _, c := range children(n) {
		if err := walkNode(c, visit); err != nil {
			return err
		}
	}
	return nil
}

// children are the statements and expressions directly below a node, in the order of the text.
func children(n any) []any {
	var list []any
	exprs := func(es ...ast.Expr) {
		for _, e := range es {
			if e != nil {
				list = append(list, e)
			}
		}
	}
	stmts := func(ss []ast.Stmt) {
		for _, s := range ss {
			list = append(list, s)
		}
	}
	switch n := n.(type) {
	case *ast.AssignStmt:
		exprs(n.Lhs...)
		exprs(n.Rhs...)
	case *ast.LocalAssignStmt:
		exprs(n.Exprs...)
	case *ast.FuncCallStmt:
		exprs(n.Expr)
	case *ast.DoBlockStmt:
		stmts(n.Stmts)
	case *ast.WhileStmt:
		exprs(n.Condition)
		stmts(n.Stmts)
	case *ast.RepeatStmt:
		stmts(n.Stmts)
		exprs(n.Condition)
	case *ast.IfStmt:
		exprs(n.Condition)
		stmts(n.Then)
		stmts(n.Else)
	case *ast.NumberForStmt:
		exprs(n.Init, n.Limit, n.Step)
		stmts(n.Stmts)
	case *ast.GenericForStmt:
		exprs(n.Exprs...)
		stmts(n.Stmts)
	case *ast.FuncDefStmt:
		exprs(n.Name.Func, n.Name.Receiver, n.Func)
	case *ast.ReturnStmt:
		exprs(n.Exprs...)
	case *ast.AttrGetExpr:
		exprs(n.Object, n.Key)
	case *ast.TableExpr:
		for _, f := range n.Fields {
			exprs(f.Key, f.Value)
		}
	case *ast.FuncCallExpr:
		exprs(n.Func, n.Receiver)
		exprs(n.Args...)
	case *ast.LogicalOpExpr:
		exprs(n.Lhs, n.Rhs)
	case *ast.RelationalOpExpr:
		exprs(n.Lhs, n.Rhs)
	case *ast.StringConcatOpExpr:
		exprs(n.Lhs, n.Rhs)
	case *ast.ArithmeticOpExpr:
		exprs(n.Lhs, n.Rhs)
	case *ast.UnaryMinusOpExpr:
		exprs(n.Expr)
	case *ast.UnaryNotOpExpr:
		exprs(n.Expr)
	case *ast.UnaryLenOpExpr:
		exprs(n.Expr)
	case *ast.FunctionExpr:
		stmts(n.Stmts)
	}
	return list
}
