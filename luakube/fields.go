package luakube

import (
	"cmp"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// FieldUse is a place in a script that names a field of one of its function's parameters, or of what it returns.
type FieldUse struct {
	// Parameter counts the function's parameters from 0; it is Returned for the first result.
	Parameter int
	// Path leads to the field. An empty step is an item of a list, or the value of some key.
	Path []string
	// Written says that the field is set here rather than read.
	Written bool
	// Line and Column count from 1 in the script; a column of 0 is unknown.
	Line, Column int
}

// Returned stands for the first result of a function in the place of a parameter.
const Returned = -1

// Fields lists the uses of fields in a function of a script, as far as they can be told from its text: by constant
// names, through local variables that keep their value, in loops with pairs and ipairs, in tables written
// out, and with kube.get and kube.condition. What cannot be told for certain is left out. There are none in a script
// that does not parse.
func Fields(source, function string) []FieldUse {
	chunk, err := parseSource("script", source)
	if err != nil {
		return nil
	}
	f := definitionOf(chunk, function)
	if f == nil {
		return nil
	}
	t := &fieldTracker{columns: keyColumns(chunk, source), mutable: assignedNames(chunk)}
	outer := &variables{values: map[string]value{}}
	for i, name := range f.ParList.Names {
		outer.values[name] = t.known(name, value{root: &root{parameter: i}})
	}
	t.block(f.Stmts, outer, true)
	return t.resolved()
}

// definitionOf finds the last definition of a global function, nil if there is none.
func definitionOf(chunk []ast.Stmt, name string) (f *ast.FunctionExpr) {
	named := func(e ast.Expr) bool {
		i, ok := e.(*ast.IdentExpr)
		return ok && i.Value == name
	}
	_ = walk(chunk, func(n any) error {
		switch n := n.(type) {
		case *ast.FuncDefStmt:
			if n.Name.Receiver == nil && named(n.Name.Func) {
				f = n.Func
			}
		case *ast.AssignStmt:
			for i, l := range n.Lhs {
				if i < len(n.Rhs) && named(l) {
					if inner, ok := n.Rhs[i].(*ast.FunctionExpr); ok {
						f = inner
					}
				}
			}
		}
		return nil
	})
	return f
}

// root is where paths begin: a parameter, what is returned, or a table that the script makes.
type root struct {
	parameter int
	// made says that it is a table of the script's; bound are the places that it was put in.
	made  bool
	bound []value
}

// loopNumber is where no path begins: it stands for the numbers of a loop.
var loopNumber = &root{}

// value is what is known of a value: the field that it is, nothing if root is nil.
type value struct {
	root *root
	path []string
}

// maxPath is how long the path of a field may be; no API has longer ones, and a script may be one long path.
const maxPath = 100

func (v value) child(step string) value {
	if v.root == nil || v.root == loopNumber || len(v.path) == maxPath {
		return value{}
	}
	return value{v.root, append(slices.Clip(v.path), step)}
}

// variables are the local variables of a block.
type variables struct {
	values map[string]value
	outer  *variables
}

func (v *variables) find(name string) value {
	for ; v != nil; v = v.outer {
		if found, ok := v.values[name]; ok {
			return found
		}
	}
	return value{}
}

// rawUse is a use whose root may be a table that the script makes.
type rawUse struct {
	value
	written      bool
	line, column int
}

type fieldTracker struct {
	columns map[ast.Expr]int
	// mutable are names of variables that are assigned, of which nothing is known.
	mutable map[string]bool
	uses    []rawUse
}

// known is the value of a new variable.
func (t *fieldTracker) known(name string, v value) value {
	if t.mutable[name] {
		return value{}
	}
	return v
}

// assignedNames lists the variables that get another value than that of their declaration. Names stand for all
// variables of that name, since a false alarm is worse than a silent one.
func assignedNames(chunk []ast.Stmt) map[string]bool {
	names := map[string]bool{}
	_ = walk(chunk, func(n any) error {
		if a, ok := n.(*ast.AssignStmt); ok {
			for i, l := range a.Lhs {
				if v, ok := l.(*ast.IdentExpr); ok && !(i < len(a.Rhs) && defaultsTo(v.Value, a.Rhs[i])) {
					names[v.Value] = true
				}
			}
		}
		return nil
	})
	return names
}

// defaultsTo recognizes x = x or {}, which leaves x the field that it is.
func defaultsTo(name string, e ast.Expr) bool {
	or, ok := e.(*ast.LogicalOpExpr)
	if !ok || or.Operator != "or" {
		return false
	}
	v, ok := or.Lhs.(*ast.IdentExpr)
	return ok && v.Value == name && isDefault(or.Rhs)
}

// isDefault says whether an expression is what scripts use in the place of a value that is not there.
func isDefault(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.TableExpr:
		return len(e.Fields) == 0
	case ast.ConstExpr:
		return true
	}
	return false
}

// block follows statements in a scope of their own, which it gives. Main says that they are the function's own, so
// that they return its result.
func (t *fieldTracker) block(stmts []ast.Stmt, outer *variables, main bool) *variables {
	s := &variables{values: map[string]value{}, outer: outer}
	for _, stmt := range stmts {
		t.stmt(stmt, s, main)
	}
	return s
}

func (t *fieldTracker) stmt(stmt ast.Stmt, s *variables, main bool) {
	switch n := stmt.(type) {
	case *ast.LocalAssignStmt:
		values := t.exprs(s, n.Exprs...)
		for i, name := range n.Names {
			v := value{}
			if i < len(values) {
				v = values[i]
			}
			s.values[name] = t.known(name, v)
		}
	case *ast.AssignStmt:
		targets := make([]value, len(n.Lhs))
		for i, l := range n.Lhs {
			targets[i] = t.target(l, s)
		}
		for i, v := range t.exprs(s, n.Rhs...) {
			if i < len(targets) {
				bind(v, targets[i])
			}
		}
	case *ast.FuncDefStmt:
		t.function(n.Func, s)
	case *ast.DoBlockStmt:
		t.block(n.Stmts, s, main)
	case *ast.WhileStmt:
		t.expr(n.Condition, s)
		t.block(n.Stmts, s, main)
	case *ast.RepeatStmt:
		t.expr(n.Condition, t.block(n.Stmts, s, main))
	case *ast.IfStmt:
		t.expr(n.Condition, s)
		t.block(n.Then, s, main)
		t.block(n.Else, s, main)
	case *ast.NumberForStmt:
		t.exprs(s, n.Init, n.Limit)
		if n.Step != nil {
			t.expr(n.Step, s)
		}
		t.block(n.Stmts, &variables{values: map[string]value{n.Name: t.known(n.Name, value{root: loopNumber})}, outer: s}, main)
	case *ast.GenericForStmt:
		over := t.exprs(s, n.Exprs...)
		inner := &variables{values: map[string]value{}, outer: s}
		for i, name := range n.Names {
			inner.values[name] = value{}
			switch {
			case len(n.Exprs) != 1:
			case i == 0 && isIteration(n.Exprs[0], "ipairs"):
				inner.values[name] = t.known(name, value{root: loopNumber})
			case i == 1 && isIteration(n.Exprs[0], "ipairs", "pairs"):
				inner.values[name] = t.known(name, over[0])
			}
		}
		t.block(n.Stmts, inner, main)
	case *ast.ReturnStmt:
		values := t.exprs(s, n.Exprs...)
		if main && len(values) > 0 {
			bind(values[0], value{root: returned})
		}
	case *ast.FuncCallStmt:
		t.expr(n.Expr, s)
	}
}

var returned = &root{parameter: Returned}

// bind notes that a table which the script makes becomes a field.
func bind(v, to value) {
	if v.root != nil && v.root.made && len(v.path) == 0 && to.root != nil && to.root != v.root {
		v.root.bound = append(v.root.bound, to)
	}
}

// target notes the field that is assigned to.
func (t *fieldTracker) target(e ast.Expr, s *variables) value {
	a, ok := e.(*ast.AttrGetExpr)
	if !ok {
		return value{} // A variable, whose name is mutable then.
	}
	v := t.attr(a, s)
	if _, constant := a.Key.(*ast.StringExpr); constant {
		t.uses[len(t.uses)-1].written = true
	}
	return v
}

// exprs follows expressions and gives their values, one for each.
func (t *fieldTracker) exprs(s *variables, list ...ast.Expr) []value {
	values := make([]value, len(list))
	for i, e := range list {
		values[i] = t.expr(e, s)
	}
	return values
}

func (t *fieldTracker) expr(e ast.Expr, s *variables) value {
	switch n := e.(type) {
	case *ast.IdentExpr:
		return s.find(n.Value)
	case *ast.AttrGetExpr:
		return t.attr(n, s)
	case *ast.TableExpr:
		v := value{root: &root{made: true}}
		t.table(n, s, v)
		return v
	case *ast.LogicalOpExpr:
		lhs, rhs := t.expr(n.Lhs, s), t.expr(n.Rhs, s)
		switch {
		case n.Operator == "and":
			return rhs
		case isDefault(n.Rhs):
			return lhs
		}
		return value{}
	case *ast.FuncCallExpr:
		return t.call(n, s)
	case *ast.FunctionExpr:
		t.function(n, s)
		return value{}
	}
	for _, c := range children(e) {
		if inner, ok := c.(ast.Expr); ok {
			t.expr(inner, s)
		}
	}
	return value{}
}

// attr follows an access to a field or an item, and notes it if its name is constant.
func (t *fieldTracker) attr(n *ast.AttrGetExpr, s *variables) value {
	of := t.expr(n.Object, s)
	by := t.expr(n.Key, s)
	switch key := n.Key.(type) {
	case *ast.StringExpr:
		v := of.child(key.Value)
		t.use(v, key)
		return v
	case *ast.NumberExpr, *ast.ArithmeticOpExpr, *ast.UnaryLenOpExpr:
		return of.child("")
	}
	if by.root == loopNumber {
		return of.child("")
	}
	return value{}
}

// use notes a use. It is there even if nothing is known of the value, so that the last one is the latest.
func (t *fieldTracker) use(v value, key ast.Expr) {
	t.uses = append(t.uses, rawUse{value: v, line: key.Line(), column: t.columns[key]})
}

// table notes the fields of a table that is written out.
func (t *fieldTracker) table(n *ast.TableExpr, s *variables, at value) {
	for _, f := range n.Fields {
		inside := at.child("")
		if key, constant := f.Key.(*ast.StringExpr); constant {
			inside = at.child(key.Value)
			t.use(inside, key)
			t.uses[len(t.uses)-1].written = true
		} else if f.Key != nil {
			t.expr(f.Key, s)
		}
		if inner, ok := f.Value.(*ast.TableExpr); ok {
			t.table(inner, s, inside)
			continue
		}
		bind(t.expr(f.Value, s), inside)
	}
}

// function follows a function inside of the main one. Nothing is known of its parameters.
func (t *fieldTracker) function(f *ast.FunctionExpr, s *variables) {
	inner := &variables{values: map[string]value{"self": {}}, outer: s}
	for _, name := range f.ParList.Names {
		inner.values[name] = value{}
	}
	t.block(f.Stmts, inner, false)
}

func isIteration(e ast.Expr, functions ...string) bool {
	c, ok := e.(*ast.FuncCallExpr)
	return ok && slices.ContainsFunc(functions, func(name string) bool { return isCallOf(c, name) })
}

func isCallOf(c *ast.FuncCallExpr, name string) bool {
	return c.Receiver == nil && exprText(c.Func) == name
}

// call follows a call; the value is known of few functions. That of pairs and ipairs stands for the items.
func (t *fieldTracker) call(n *ast.FuncCallExpr, s *variables) value {
	if n.Func != nil {
		t.expr(n.Func, s)
	}
	if n.Receiver != nil {
		t.expr(n.Receiver, s)
	}
	args := t.exprs(s, n.Args...)
	switch {
	case len(args) == 0:
	case isIteration(n, "ipairs", "pairs"):
		return args[0].child("")
	case isCallOf(n, "table.insert"):
		bind(args[len(args)-1], args[0].child(""))
	case isCallOf(n, kubeModule+".get") && len(args) >= 2:
		if path, ok := n.Args[1].(*ast.StringExpr); ok && (len(args) == 2 || isDefault(n.Args[2])) {
			return t.path(args[0], path)
		}
	case isCallOf(n, kubeModule+".condition") && len(args) == 2 && args[0].root != nil:
		at := args[0].child("status")
		t.use(at, n.Args[1])
		at = at.child("conditions")
		t.use(at, n.Args[1])
		return at.child("")
	}
	return value{}
}

// path follows a path in a text.
func (t *fieldTracker) path(v value, text *ast.StringExpr) value {
	steps, err := parsePath(text.Value)
	if err != nil || v.root == nil {
		return value{}
	}
	for _, step := range steps {
		name, ok := step.(lua.LString)
		v = v.child(string(name))
		if ok {
			t.use(v, text)
		}
	}
	return v
}

// maxBound is through how many tables that the script makes a field is followed to where it ends up; more are a
// table that contains itself.
const maxBound = 20

// resolved gives the uses of which it is certain whose fields they are, in the order of the text.
func (t *fieldTracker) resolved() []FieldUse {
	var list []FieldUse
	for _, u := range t.uses {
		v := u.value
		if v.root == nil {
			continue
		}
		for i := 0; v.root.made && i < maxBound; i++ {
			to, ok := onlyPlace(v.root.bound)
			if !ok {
				break
			}
			v = value{to.root, append(slices.Clone(to.path), v.path...)}
		}
		if v.root.made {
			continue
		}
		list = append(list, FieldUse{Parameter: v.root.parameter, Path: slices.Clone(v.path), Written: u.written, Line: u.line, Column: u.column})
	}
	slices.SortStableFunc(list, func(a, b FieldUse) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	return list
}

// onlyPlace is the place that all of several are.
func onlyPlace(places []value) (value, bool) {
	if len(places) == 0 {
		return value{}, false
	}
	for _, p := range places[1:] {
		if p.root != places[0].root || !slices.Equal(p.path, places[0].path) {
			return value{}, false
		}
	}
	return places[0], true
}

// keyColumns finds the columns of constant keys, and of the texts that are arguments. The tree only knows lines, so
// the n-th key of a name in a line of the tree is the n-th in the text.
func keyColumns(chunk []ast.Stmt, source string) map[ast.Expr]int {
	type word struct {
		line int
		text string
	}
	found := map[word][]int{}
	lexer := &parse.Lexer{}
	scanner := parse.NewScanner(strings.NewReader(source), "script")
	previous := 0
	for {
		token, err := scanner.Scan(lexer)
		if err != nil || token.Type < 0 {
			break
		}
		if token.Type == parse.TString || token.Type == parse.TIdent && (previous == '.' || previous == '{' || previous == ',' || previous == ';') {
			w := word{token.Pos.Line, token.Str}
			found[w] = append(found[w], token.Pos.Column)
		}
		previous = token.Type
	}
	columns := map[ast.Expr]int{}
	_ = walk(chunk, func(n any) error {
		if key, ok := n.(*ast.StringExpr); ok {
			w := word{key.Line(), key.Value}
			if list := found[w]; len(list) > 0 {
				columns[key], found[w] = list[0], list[1:]
			}
		}
		return nil
	})
	return columns
}
