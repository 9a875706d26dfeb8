package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

// sheet is a customization as a Lua file: its name and target in annotations, then one script after the other,
// each below an annotation with its operation.
//
// Only these annotations and the lines of help have a meaning. All other comments, annotations for editors
// among them, are part of the scripts.
type sheet struct {
	text string
	// help begins the lines of help. It is a comment that no script uses.
	help string
}

// tag is an annotation without its value.
func tag(name string) string { return "---@" + name + ":" }

// ruleTag is lenient about blanks and the colon: a line that was meant as an annotation must not end up in the
// script above it.
var ruleTag = regexp.MustCompile(`^---\s*@rule\b\s*:?\s*(.*?)\s*$`)

func newSheet(c *v1alpha1.ResourceInterpreterCustomization, showDoc bool) *sheet {
	s := &sheet{help: "--#"}
	for _, contract := range interpreter.Contracts() {
		for strings.Contains(scriptOf(contract, c), s.help) {
			s.help += "#"
		}
	}
	var b strings.Builder
	for _, f := range fieldsOf(c) {
		fmt.Fprintf(&b, "%s %s\n", tag(f.name), *f.value)
	}
	for _, contract := range interpreter.Contracts() {
		fmt.Fprintf(&b, "\n%s %s\n", tag("rule"), contract.Operation)
		if showDoc {
			for _, line := range []string{
				"Gives " + contract.Summary + ".",
				"function " + contract.String(),
				"Nil and empty tables: " + contract.None + ".",
			} {
				fmt.Fprintf(&b, "%s %s\n", s.help, line)
			}
		}
		if script := trimLines(scriptOf(contract, c)); script != "" {
			b.WriteString(script + "\n")
		}
	}
	s.text = b.String()
	return s
}

// field is a field of the customization that has an annotation of its own.
type field struct {
	name  string
	value *string
}

// fieldsOf are the fields of a customization beside its scripts, in the order of the sheet.
func fieldsOf(c *v1alpha1.ResourceInterpreterCustomization) []field {
	return []field{{"name", &c.Name}, {"apiVersion", &c.Spec.Target.APIVersion}, {"kind", &c.Spec.Target.Kind}}
}

// scriptOf is the script of an operation, empty if there is none.
func scriptOf(contract *interpreter.Contract, c *v1alpha1.ResourceInterpreterCustomization) string {
	if rule := contract.Script(&c.Spec.Customizations); rule != nil {
		return rule.LuaScript
	}
	return ""
}

// setScript sets the rule of an operation, or takes it away. The rule's key is its name in JSON.
func setScript(c *v1alpha1.ResourceInterpreterCustomization, contract *interpreter.Contract, rule *v1alpha1.LuaRule) {
	rules := map[string]*v1alpha1.LuaRule{}
	for _, other := range interpreter.Contracts() {
		rules[other.Rule] = other.Script(&c.Spec.Customizations)
	}
	rules[contract.Rule] = rule
	c.Spec.Customizations = v1alpha1.CustomizationRules{}
	text, err := json.Marshal(rules)
	must(err)
	must(json.Unmarshal(text, &c.Spec.Customizations))
}

// trimLines takes blank lines from both ends, and the last line break.
func trimLines(script string) string {
	lines := strings.Split(script, "\n")
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return strings.Join(lines, "\n")
}

// header says how the sheet is read, and why it is shown again. It is not part of the text.
func (s *sheet) header(reasons []string) string {
	lines := []string{
		"Edit the scripts of a customization. A script goes from the annotation with its operation to the next one;",
		"an empty one removes the rule. Lines that begin with " + s.help + " are not saved.",
	}
	if len(reasons) > 0 {
		lines = append(lines, "", "Nothing was saved:")
		for _, r := range reasons {
			lines = append(lines, "* "+strings.ReplaceAll(r, "\n", " "))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.TrimRight(s.help+" "+line, " ") + "\n")
	}
	return b.String()
}

// withoutHeader drops the lines of help that an edited file begins with.
func (s *sheet) withoutHeader(text string) string {
	for strings.HasPrefix(text, s.help) {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text
}

// parse reads an edited sheet into a copy of the customization, and says what cannot be read, by line. A script
// that is the same but for blank lines around it stays exactly as it was.
func (s *sheet) parse(text string, original *v1alpha1.ResourceInterpreterCustomization) (*v1alpha1.ResourceInterpreterCustomization, []string) {
	c := original.DeepCopy()
	scripts := map[interpreter.Operation][]string{}
	var operation interpreter.Operation
	var problems []string
	for i, line := range strings.Split(text, "\n") {
		fail := func(format string, args ...any) {
			problems = append(problems, fmt.Sprintf("line %d, %q: ", i+1, line)+fmt.Sprintf(format, args...))
		}
		if strings.HasPrefix(line, s.help) {
			continue
		}
		if found := ruleTag.FindStringSubmatch(line); found != nil {
			contract, err := contractOf(found[1])
			if err != nil {
				fail("%s", strings.TrimPrefix(err.Error(), "--operation: "))
				operation = "?" // What follows belongs to no rule, and is not worth a message of its own.
				continue
			}
			operation = contract.Operation
			if _, twice := scripts[operation]; twice {
				fail("there are two rules for %s", operation)
			}
			scripts[operation] = []string{}
			continue
		}
		if operation != "" {
			scripts[operation] = append(scripts[operation], line)
			continue
		}
		if !setField(c, line) && strings.TrimSpace(line) != "" {
			fail("text before the first rule belongs to none")
		}
	}
	for _, contract := range interpreter.Contracts() {
		was := scriptOf(contract, original)
		script := trimLines(strings.Join(scripts[contract.Operation], "\n"))
		switch {
		case script == trimLines(was):
			continue // Untouched, down to the blank lines around it.
		case script == "":
			setScript(c, contract, nil)
		default:
			if was == "" || strings.HasSuffix(was, "\n") {
				script += "\n"
			}
			setScript(c, contract, &v1alpha1.LuaRule{LuaScript: script})
		}
	}
	return c, problems
}

// setField sets the field of an annotation, and is false for any other line.
func setField(c *v1alpha1.ResourceInterpreterCustomization, line string) bool {
	for _, f := range fieldsOf(c) {
		if value, ok := strings.CutPrefix(line, tag(f.name)); ok {
			*f.value = strings.TrimSpace(value)
			return true
		}
	}
	return false
}
