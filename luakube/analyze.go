package luakube

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/kubeinterpret/interpret/interpreter"
)

// Finding is something in a script that is legal and most likely a mistake.
type Finding struct {
	// Line and Column count from 1 in the script; a column of 0 is unknown.
	Line, Column int
	Message      string
}

// Analyze looks for likely mistakes in a script: globals that are read and never set, and calls of functions
// that rules do not have. A script that does not parse has no findings; compiling it says why.
func (e *Engine) Analyze(source string) []Finding {
	chunk, err := parseSource("script", source)
	if err != nil {
		return nil
	}
	a := &analyzer{source: strings.Split(source, "\n"), set: map[string]bool{}, called: map[*ast.IdentExpr]bool{}}
	a.collect(chunk)
	w := &scopeWalker{read: func(n *ast.IdentExpr, s *scope) {
		if s.home(n.Value) < 0 {
			a.global(n)
		}
	}}
	w.block(chunk, nil)
	slices.SortStableFunc(a.findings, func(x, y Finding) int { return x.Line - y.Line })
	return a.findings
}

// CheckParameters compares the function's parameters with those it will be called with. It is nil if they are as
// many, or the function takes any number.
func (s *Script) CheckParameters(want []string) *Finding {
	if s.line == 0 || s.variadic || s.parameters == len(want) {
		return nil
	}
	f := &Finding{Line: s.line, Message: fmt.Sprintf("%s is called with %d argument%s (%s), but takes %d",
		s.function, len(want), plural(len(want)), strings.Join(want, ", "), s.parameters)}
	if lines := strings.Split(s.lines.source, "\n"); s.line <= len(lines) {
		f.Column = wordColumn(lines[s.line-1], s.function)
	}
	return f
}

type analyzer struct {
	source   []string
	set      map[string]bool // globals that are assigned anywhere
	called   map[*ast.IdentExpr]bool
	findings []Finding
	told     map[string]bool
}

// collect notes the names that are assigned somewhere outside of any local's scope, or might be; a name that
// is both local and global counts as set, since a false alarm is worse than a silent one.
func (a *analyzer) collect(chunk []ast.Stmt) {
	_ = walk(chunk, func(n any) error {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				a.assigned(l)
			}
		case *ast.FuncCallExpr:
			if i, ok := n.Func.(*ast.IdentExpr); ok {
				a.called[i] = true
			}
		case *ast.FuncDefStmt:
			a.assigned(n.Name.Func)
		}
		return nil
	})
}

// assigned notes a global that is set by its name or as a field of _G.
func (a *analyzer) assigned(e ast.Expr) {
	switch e := e.(type) {
	case *ast.IdentExpr:
		a.set[e.Value] = true
	case *ast.AttrGetExpr:
		table, _ := e.Object.(*ast.IdentExpr)
		key, _ := e.Key.(*ast.StringExpr)
		if table != nil && table.Value == "_G" && key != nil {
			a.set[key.Value] = true
		}
	}
}

// global judges the reading of a global. Each name is told once.
func (a *analyzer) global(n *ast.IdentExpr) {
	name := n.Value
	if a.set[name] || a.told[name] {
		return
	}
	message := ""
	switch {
	case slices.Contains(blocked, name):
		if !a.called[n] {
			return
		}
		message = name + " is not available in rules"
	case !slices.Contains(Globals(), name):
		message = fmt.Sprintf("the global %s is read and never set", name)
		have := append(Globals(), sortedKeys(a.set)...)
		if name == kubeModule {
			message += `; add: local kube = require("kube")`
		} else if near := interpreter.Nearest(name, have); near != "" {
			message += fmt.Sprintf(", did you mean %s?", near)
		}
	default:
		return
	}
	if a.told == nil {
		a.told = map[string]bool{}
	}
	a.told[name] = true
	a.find(n.Line(), name, message)
}

func (a *analyzer) find(line int, word, message string) {
	f := Finding{Line: line, Message: message}
	if line >= 1 && line <= len(a.source) {
		f.Column = wordColumn(a.source[line-1], word)
	}
	a.findings = append(a.findings, f)
}

// wordColumn is where a name first stands by itself in a line, 0 if it does not.
func wordColumn(text, word string) int {
	ident := func(i int) bool {
		return i >= 0 && i < len(text) && (letter(text[i]) || digit(text[i]) || text[i] == '_')
	}
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return 0
		}
		i += from
		if !ident(i-1) && !ident(i+len(word)) && (i == 0 || text[i-1] != '.') {
			return i + 1
		}
		from = i + 1
	}
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// Globals lists the globals that every script has, sorted; functions that only say that they are not
// available are left out.
func Globals() []string {
	names := append([]string{"_G", "_VERSION", "package"}, engineFunctions...)
	for _, f := range baseFunctions {
		names = append(names, f.name)
	}
	for _, l := range standardLibraries {
		names = append(names, l.name)
	}
	slices.Sort(names)
	return names
}

// Library lists the names in a standard library, sorted.
func Library(name string) []string {
	var names []string
	for _, l := range standardLibraries {
		if l.name == name {
			for _, f := range l.functions {
				names = append(names, f.name)
			}
			names = append(names, sortedKeys(l.values)...)
		}
	}
	slices.Sort(names)
	return names
}
