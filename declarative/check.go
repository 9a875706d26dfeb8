package declarative

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/manifest"
	"github.com/kubeinterpret/interpret/luakube"
)

// Problem is a mistake in a customization, or what is most likely one.
type Problem struct {
	// Customization is the customization's name.
	Customization string
	// Rule is the key of the rule it is about, empty if it is about none.
	Rule string
	// Place is where it stands, if the customization was read from a file.
	Place Place
	// Line and Column are where it stands in the rule's script, counted from 1; 0 is unknown.
	Line, Column int
	// Fatal says that because of it the customization does not load, or a rule of it never answers.
	Fatal   bool
	Message string
}

func (p Problem) String() string {
	var parts []string
	if place := p.Place.String(); place != "" {
		parts = append(parts, place)
	}
	name := p.Customization
	if p.Rule != "" {
		name += "/" + p.Rule
	}
	if name != "" {
		parts = append(parts, name)
	}
	return strings.Join(append(parts, p.Message), ": ")
}

// Check finds what would go wrong with customizations, before it does: scripts that do not load or do not
// define their function, unknown fields, rules that never answer because of another customization, and what
// is legal in Lua and seldom meant. Options are those of the layer they are for. Problems come in the order
// of the customizations.
func Check(list []*Customization, options ...Option) ([]Problem, error) {
	l, err := New(nil, options...)
	if err != nil {
		return nil, err
	}
	var problems []Problem
	for _, c := range list {
		problems = append(problems, l.check(c)...)
	}
	seen := map[string]*Customization{}
	var sound []*Customization
	for _, c := range list {
		if first := seen[c.Name]; first != nil {
			problems = append(problems, Problem{Customization: c.Name, Place: c.Place("metadata", "name"), Fatal: true,
				Message: "there is another customization of this name" + at(first.Place("metadata", "name"))})
			continue
		}
		seen[c.Name] = c
		sound = append(sound, c)
	}
	// Which of them are broken has been told.
	_ = l.Replace(sound)
	for _, conflict := range l.Conflicts() {
		contract, _ := interpreter.ContractOf(conflict.Operation)
		path := []string{"spec", "customizations", contract.Rule}
		problems = append(problems, Problem{Customization: conflict.Second.Name, Rule: contract.Rule, Place: conflict.Second.Place(path...),
			Fatal: true, Message: fmt.Sprintf("conflict: %s%s", conflict.Error(), at(conflict.First.Place(path...)))})
	}
	return problems, nil
}

func at(p Place) string {
	if p.File == "" {
		return ""
	}
	return " (see " + p.String() + ")"
}

func (l *Layer) check(c *Customization) []Problem {
	var problems []Problem
	report := func(rule string, place Place, format string, args ...any) *Problem {
		problems = append(problems, Problem{Customization: c.Name, Rule: rule, Place: place, Message: fmt.Sprintf(format, args...)})
		return &problems[len(problems)-1]
	}
	if c.Name == "" {
		report("", c.Place("metadata", "name"), "metadata.name is required").Fatal = true
	}
	for _, p := range c.unknownFields() {
		report("", p.place, "%s", p.message)
	}
	if _, err := parseTarget(c.Spec.Target); err != nil {
		var field *fieldError
		errors.As(err, &field)
		report("", c.Place(field.path...), "%v", err).Fatal = true
	}
	rules := 0
	for _, contract := range interpreter.Contracts() {
		lua := contract.Script(&c.Spec.Customizations)
		if lua == nil {
			continue
		}
		rules++
		if lua.LuaScript == "" {
			report(contract.Rule, c.Place("spec", "customizations", contract.Rule, "luaScript"), "the script is empty, so the operation is left to the layers below; leave the rule out")
			continue
		}
		folded := c.folded(contract.Rule)
		if folded != nil {
			report(contract.Rule, *folded, "the script is a folded block (>), which joins its lines, so the comment that begins here swallows the code after it; write | instead of >")
		}
		script, err := l.engine.Compile(c.Name+"/"+contract.Rule, lua.LuaScript, contract.Function)
		if err != nil {
			line, column := 0, 0
			message := err.Error()
			var broken *luakube.ScriptError
			if errors.As(err, &broken) {
				line, column, message = broken.Line, broken.Column, broken.Message
			}
			if folded != nil {
				problems[len(problems)-1].Fatal = true
			} else {
				p := report(contract.Rule, c.ScriptPlace(contract.Rule, line, column), "%s", message)
				p.Line, p.Column, p.Fatal = line, column, true
			}
		}
		findings := l.engine.Analyze(lua.LuaScript)
		if script != nil {
			var parameters []string
			for _, in := range contract.In {
				parameters = append(parameters, in.Name)
			}
			if f := script.CheckParameters(parameters); f != nil {
				findings = append([]luakube.Finding{*f}, findings...)
			}
		}
		for _, f := range findings {
			p := report(contract.Rule, c.ScriptPlace(contract.Rule, f.Line, f.Column), "%s", f.Message)
			p.Line, p.Column = f.Line, f.Column
		}
	}
	if rules == 0 {
		report("", c.Place("spec", "customizations"), "there are no rules (have %s)", strings.Join(ruleKeys(), ", "))
	}
	return problems
}

func ruleKeys() []string {
	var keys []string
	for _, contract := range interpreter.Contracts() {
		keys = append(keys, contract.Rule)
	}
	return keys
}

type unknownField struct {
	place   Place
	message string
}

// unknownFields finds fields that no part of the API has. They would be dropped without a word.
func (c *Customization) unknownFields() []unknownField {
	if c.doc == nil {
		return nil
	}
	found := c.unknown(nil, "apiVersion", "kind", "metadata", "spec", "status")
	found = append(found, c.unknown([]string{"spec"}, "target", "customizations")...)
	found = append(found, c.unknown([]string{"spec", "target"}, "apiVersion", "kind", "labelSelector")...)
	found = append(found, c.unknownInSelector()...)
	found = append(found, c.unknown([]string{"spec", "customizations"}, ruleKeys()...)...)
	for _, rule := range ruleKeys() {
		found = append(found, c.unknown([]string{"spec", "customizations", rule}, "luaScript")...)
	}
	return found
}

// unknownInSelector finds them in the label selector, where one would make the rules answer for more objects
// than was meant.
func (c *Customization) unknownInSelector() []unknownField {
	path := []string{"spec", "target", "labelSelector"}
	found := c.unknown(path, "matchLabels", "matchExpressions")
	path = append(path, "matchExpressions")
	if _, list := manifest.Field(c.root, path...); list != nil && list.Kind == yamlv3.SequenceNode {
		for _, n := range list.Content {
			found = append(found, c.unknownIn(n, path, "key", "operator", "values")...)
		}
	}
	return found
}

func (c *Customization) unknown(path []string, known ...string) []unknownField {
	n := c.root
	if len(path) > 0 {
		_, n = manifest.Field(c.root, path...)
	}
	return c.unknownIn(n, path, known...)
}

func (c *Customization) unknownIn(n *yamlv3.Node, path []string, known ...string) []unknownField {
	if n == nil || n.Kind != yamlv3.MappingNode {
		return nil
	}
	var found []unknownField
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if slices.Contains(known, key.Value) || key.Tag == "!!merge" {
			continue
		}
		message := fmt.Sprintf("unknown field %q", strings.Join(append(slices.Clone(path), key.Value), "."))
		if near := interpreter.Nearest(key.Value, known); near != "" {
			message += fmt.Sprintf(", did you mean %s?", near)
		} else {
			message += fmt.Sprintf(" (have %s)", strings.Join(known, ", "))
		}
		found = append(found, unknownField{c.at(key.Line, key.Column), message})
	}
	return found
}

// folded is where a comment begins that swallows code, because the script is a folded block; nil if none does.
func (c *Customization) folded(rule string) *Place {
	if c.doc == nil {
		return nil
	}
	_, script := manifest.Field(c.root, "spec", "customizations", rule, "luaScript")
	if script == nil || script.Style&yamlv3.FoldedStyle == 0 {
		return nil
	}
	for _, line := range strings.Split(script.Value, "\n") {
		comment := commentIn(line)
		if comment == "" {
			continue
		}
		// The comment's first words stand where somebody wrote them, on a line of the file that ends before the
		// joined one does.
		for n := script.Line + 1; n <= c.doc.LastLine(); n++ {
			text := c.doc.SourceLine(n)
			own := commentIn(text)
			if own != "" && strings.HasPrefix(comment, strings.TrimSpace(own)) {
				if strings.TrimSpace(own) == strings.TrimSpace(comment) {
					break
				}
				place := c.at(n, strings.Index(text, own)+1)
				return &place
			}
		}
	}
	return nil
}

// commentIn is the part of a line of Lua from where a comment begins, empty if none does. Dashes in quotes or in
// long brackets do not count.
func commentIn(line string) string {
	var quote byte
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
		case c == '"' || c == '\'':
			quote = c
		case c == '[' && longBracket(line[i:]) != "":
			_, rest, closed := strings.Cut(line[i:], longBracket(line[i:]))
			if !closed {
				return ""
			}
			i = len(line) - len(rest) - 1
		case strings.HasPrefix(line[i:], "--") && longBracket(line[i+2:]) == "":
			return line[i:]
		}
	}
	return ""
}

// longBracket is what closes the long bracket that a text begins with, empty if it begins with none.
func longBracket(s string) string {
	inner, opens := strings.CutPrefix(s, "[")
	level := len(inner) - len(strings.TrimLeft(inner, "="))
	if !opens || !strings.HasPrefix(inner[level:], "[") {
		return ""
	}
	return "]" + strings.Repeat("=", level) + "]"
}
