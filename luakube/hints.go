package luakube

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/yuin/gopher-lua/ast"
)

// hints turns the engine's messages, which name values by type, into ones that name the expression in the
// script that had the value. The script is parsed again only when something has failed.
type hints struct {
	name, source string
	once         sync.Once
	chunk        []ast.Stmt
}

func newHints(name, source string) *hints { return &hints{name: name, source: source} }

var (
	indexMessage   = regexp.MustCompile(`^attempt to index a non-table object\((\w+)\) with key '(.*)'$`)
	argMessage     = regexp.MustCompile(`^bad argument #(\d+) to (\S+) \((.*)\)$`)
	arithMessage   = regexp.MustCompile(`^cannot perform (\w+) operation between (\w+) and (\w+)$`)
	compareMessage = regexp.MustCompile(`^attempt to compare (\w+) with (\w+)$`)
	concatMessage  = regexp.MustCompile(`^attempt to concatenate a (\w+) value$`)
	lenMessage     = regexp.MustCompile(`__len undefined`)
)

var arithOperators = map[string]string{"add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%", "pow": "^", "unm": "-"}

// explain says which expression on the line a message is about, where that can be told.
func (h *hints) explain(line int, message string) string {
	if m := indexMessage.FindStringSubmatch(message); m != nil {
		return h.index(line, m[1], m[2])
	}
	var found []string
	switch {
	case argMessage.MatchString(message):
		m := argMessage.FindStringSubmatch(message)
		if !strings.Contains(m[3], "got") {
			return message
		}
		n, _ := strconv.Atoi(m[1])
		found = h.on(line, func(e ast.Expr) []ast.Expr {
			if c, ok := e.(*ast.FuncCallExpr); ok && callName(c) == lastPart(m[2]) {
				args := c.Args
				if c.Receiver != nil {
					args = append([]ast.Expr{c.Receiver}, args...)
				}
				if n >= 1 && n <= len(args) {
					return args[n-1 : n]
				}
			}
			return nil
		})
	case arithMessage.MatchString(message):
		m := arithMessage.FindStringSubmatch(message)
		message = fmt.Sprintf("attempt to calculate %s %s %s", m[2], arithOperators[m[1]], m[3])
		found = h.on(line, func(e ast.Expr) []ast.Expr {
			if a, ok := e.(*ast.ArithmeticOpExpr); ok && a.Operator == arithOperators[m[1]] {
				return notNumbers([]ast.Expr{a.Lhs, a.Rhs}, m[2:])
			}
			return nil
		})
	case compareMessage.MatchString(message):
		m := compareMessage.FindStringSubmatch(message)
		found = h.on(line, func(e ast.Expr) []ast.Expr {
			r, ok := e.(*ast.RelationalOpExpr)
			if !ok || r.Operator == "==" || r.Operator == "~=" {
				return nil
			}
			sides := []ast.Expr{r.Lhs, r.Rhs}
			if strings.HasPrefix(r.Operator, ">") {
				slices.Reverse(sides)
			}
			return notNumbers(sides, m[1:])
		})
	case concatMessage.MatchString(message):
		found = h.on(line, func(e ast.Expr) []ast.Expr {
			if c, ok := e.(*ast.StringConcatOpExpr); ok {
				return []ast.Expr{c.Lhs, c.Rhs}
			}
			return nil
		})
	case strings.HasPrefix(message, "attempt to call a non-function object"):
		found = h.on(line, func(e ast.Expr) []ast.Expr {
			c, ok := e.(*ast.FuncCallExpr)
			switch {
			case !ok:
				return nil
			case c.Func != nil:
				return []ast.Expr{c.Func}
			}
			if receiver := exprText(c.Receiver); receiver != "" {
				return []ast.Expr{&ast.IdentExpr{Value: receiver + ":" + c.Method}}
			}
			return nil
		})
	case lenMessage.MatchString(message):
		message = "attempt to take the length of something that has none"
		found = h.on(line, func(e ast.Expr) []ast.Expr {
			if u, ok := e.(*ast.UnaryLenOpExpr); ok {
				return []ast.Expr{u.Expr}
			}
			return nil
		})
	default:
		return message
	}
	if len(found) == 0 {
		return message
	}
	return fmt.Sprintf("%s: look at %s", message, strings.Join(found, " and "))
}

// index explains why a field could not be read or written: what should have been a table was not.
func (h *hints) index(line int, kind, key string) string {
	found := h.on(line, func(e ast.Expr) []ast.Expr {
		switch e := e.(type) {
		case *ast.AttrGetExpr:
			if s, constant := e.Key.(*ast.StringExpr); !constant || s.Value == key {
				return []ast.Expr{e.Object}
			}
		case *ast.FuncCallExpr:
			if e.Receiver != nil && e.Method == key {
				return []ast.Expr{e.Receiver}
			}
		}
		return nil
	})
	switch len(found) {
	case 0:
		return fmt.Sprintf("attempt to index a %s value with key '%s'", kind, key)
	case 1:
		return fmt.Sprintf("attempt to index %s, which is %s, with key '%s'", found[0], kind, key)
	}
	return fmt.Sprintf("attempt to index a %s value with key '%s': one of %s is %[1]s", kind, key, strings.Join(found, ", "))
}

// notNumbers keeps the operands whose type is to blame.
func notNumbers(operands []ast.Expr, types []string) []ast.Expr {
	var out []ast.Expr
	for i, e := range operands {
		if types[i] != "number" && types[i] != "string" {
			out = append(out, e)
		}
	}
	return out
}

// A hint that is longer helps nobody.
const (
	longestHint = 100
	mostHints   = 5
)

// on gives the text of the expressions that pick finds on a line, each once.
func (h *hints) on(line int, pick func(ast.Expr) []ast.Expr) []string {
	h.once.Do(func() { h.chunk, _ = parseSource(h.name, h.source) })
	var found []string
	_ = walk(h.chunk, func(n any) error {
		e, ok := n.(ast.Expr)
		if !ok || e.Line() > line || e.LastLine() != 0 && e.LastLine() < line && e.Line() != line {
			return nil
		}
		if _, function := e.(*ast.FunctionExpr); !function && e.Line() != line {
			return nil
		}
		for _, p := range pick(e) {
			text := exprText(p)
			if text != "" && len(text) <= longestHint && len(found) < mostHints && !slices.Contains(found, text) {
				found = append(found, text)
			}
		}
		return nil
	})
	return found
}

func callName(c *ast.FuncCallExpr) string {
	if c.Receiver != nil {
		return c.Method
	}
	return lastPart(exprText(c.Func))
}

func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// exprText writes a simple expression as it stands in a script; it is empty for others, and for constants, which
// cannot be the surprise.
func exprText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.IdentExpr:
		return e.Value
	case *ast.AttrGetExpr:
		object := exprText(e.Object)
		if object == "" {
			return ""
		}
		switch k := e.Key.(type) {
		case *ast.StringExpr:
			if plainName(k.Value) {
				return object + "." + k.Value
			}
			return fmt.Sprintf("%s[%q]", object, k.Value)
		case *ast.NumberExpr:
			return object + "[" + k.Value + "]"
		default:
			if inner := exprText(k); inner != "" {
				return object + "[" + inner + "]"
			}
		}
	case *ast.FuncCallExpr:
		if e.Func != nil {
			if f := exprText(e.Func); f != "" {
				return f + "(...)"
			}
		}
	}
	return ""
}

var namePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func plainName(s string) bool { return namePattern.MatchString(s) }
