package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/manifest"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

// change is a field of a customization that gets another text; an empty one goes.
type change struct {
	path  []string
	value string
}

// changesOf lists the fields that differ, of those that a sheet shows.
func changesOf(was, is *v1alpha1.ResourceInterpreterCustomization) []change {
	var list []change
	paths := [][]string{{"metadata", "name"}, {"spec", "target", "apiVersion"}, {"spec", "target", "kind"}}
	before, after := fieldsOf(was), fieldsOf(is)
	for i, path := range paths {
		if *before[i].value != *after[i].value {
			list = append(list, change{path, *after[i].value})
		}
	}
	for _, contract := range interpreter.Contracts() {
		if script := scriptOf(contract, is); script != scriptOf(contract, was) {
			list = append(list, change{[]string{"spec", "customizations", contract.Rule, "luaScript"}, script})
		}
	}
	return list
}

// rewrite makes the changes between two customizations in the text of the document that the first was read
// from. What can be replaced line by line is; otherwise the document's tree is changed and written anew, which
// keeps comments and the order of keys. Either way the result is read again, and must be what was meant.
func rewrite(text string, was, is *v1alpha1.ResourceInterpreterCustomization) (string, error) {
	changes := changesOf(was, is)
	for _, attempt := range []func(string, []change) (string, error){replaceLines, replaceBoth, replaceNodes} {
		changed, err := attempt(text, changes)
		if err == nil && holds(changed, is) {
			return changed, nil
		}
	}
	return "", errors.New("the change cannot be written into the file as it stands")
}

// holds says whether a text holds just this customization.
func holds(text string, c *v1alpha1.ResourceInterpreterCustomization) bool {
	list, err := declarative.Parse("", []byte(text))
	return err == nil && len(list) == 1 && reflect.DeepEqual(list[0].ResourceInterpreterCustomization, c)
}

// newText writes a new customization.
func newText(c *v1alpha1.ResourceInterpreterCustomization) (string, error) {
	begin := "apiVersion: " + c.APIVersion + "\nkind: " + c.Kind + "\nmetadata: {}\nspec:\n  target: {}\n  customizations: {}\n"
	return rewrite(begin, newCustomization(), c)
}

// tree parses a document, and finds the customization in it, which may be the only item of a List.
func tree(text string) (document, customization *yamlv3.Node, err error) {
	document = &yamlv3.Node{}
	if err := yamlv3.Unmarshal([]byte(text), document); err != nil {
		return nil, nil, err
	}
	if len(document.Content) == 0 {
		return nil, nil, errors.New("the document is empty")
	}
	root := document.Content[0]
	_, items := manifest.Field(root, "items")
	if items == nil {
		return document, root, nil
	}
	for _, item := range items.Content {
		if _, kind := manifest.Field(item, "kind"); kind != nil && kind.Value == v1alpha1.KindResourceInterpreterCustomization {
			return document, item, nil
		}
	}
	return nil, nil, errors.New("there is no customization in the List")
}

// plainBlock is the end of a line that begins a literal block, if nothing but its lines says what is in it.
var plainBlock = regexp.MustCompile(`\|-?[ \t]*(#.*)?$`)

// errNotByLine sends a change to the tree. It is not shown to anybody.
var errNotByLine = errors.New("not to be replaced line by line")

// replaceLines changes scripts that stand in literal blocks, and leaves every other byte as it is.
func replaceLines(text string, changes []change) (string, error) {
	_, root, err := tree(text)
	if err != nil {
		return "", err
	}
	lines := manifest.Lines(text) // Joined, they are the text again.
	// A block's lines are put in the place of its first one, so that the numbers of the others stay right.
	for _, c := range changes {
		_, script := manifest.Field(root, c.path...)
		if script == nil || script.Style&yamlv3.LiteralStyle == 0 || c.value == "" || !plainBlock.MatchString(strings.TrimRight(lines[script.Line-1], "\r\n")) {
			return "", errNotByLine
		}
		first := script.Line
		last := first + strings.Count(strings.TrimRight(script.Value, "\n"), "\n")
		if last >= len(lines) {
			return "", errNotByLine
		}
		indent := indentOf("\n" + strings.Join(lines[first:last+1], ""))
		var b strings.Builder
		for _, line := range strings.Split(strings.TrimSuffix(c.value, "\n"), "\n") {
			if line != "" {
				line = indent + line
			}
			b.WriteString(line + "\n")
		}
		for i := first; i <= last; i++ {
			lines[i] = ""
		}
		lines[first] = b.String()
	}
	return strings.Join(lines, ""), nil
}

// replaceNodes changes the document's tree and writes it.
func replaceNodes(text string, changes []change) (string, error) {
	document, root, err := tree(text)
	if err != nil {
		return "", err
	}
	for _, c := range changes {
		if c.value == "" {
			// Without its script a rule is nothing.
			remove(root, c.path[:len(c.path)-1])
		} else {
			set(root, c.path, c.value)
		}
	}
	if json.Valid([]byte(text)) {
		return jsonText(text, document.Content[0])
	}
	var b bytes.Buffer
	if strings.HasPrefix(text, "---") {
		b.WriteString("---\n")
	}
	e := yamlv3.NewEncoder(&b)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(document), e.Close()); err != nil {
		return "", err
	}
	return b.String(), nil
}

// replaceBoth changes the tree with a stand-in for each script, and then the stand-ins line by line. A tree's
// writer puts a script in quotes if one of its lines ends in a space.
func replaceBoth(text string, changes []change) (string, error) {
	var standIns, scripts []change
	for _, c := range changes {
		if strings.HasSuffix(c.value, "\n") {
			scripts = append(scripts, c)
			c.value = "--\n"
		}
		standIns = append(standIns, c)
	}
	changed, err := replaceNodes(text, standIns)
	if err != nil {
		return "", err
	}
	return replaceLines(changed, scripts)
}

// set puts a text at a path, and makes the mappings on the way there.
func set(n *yamlv3.Node, path []string, value string) {
	for i, step := range path {
		_, next := manifest.Field(n, step)
		if next == nil {
			next = &yamlv3.Node{Kind: yamlv3.MappingNode, Tag: "!!map"}
			if i == len(path)-1 {
				next = &yamlv3.Node{}
			}
			if len(n.Content) == 0 {
				// What were empty braces becomes a block, in which a script can stand as it is.
				n.Style &^= yamlv3.FlowStyle
			}
			n.Content = append(n.Content, &yamlv3.Node{Kind: yamlv3.ScalarNode, Tag: "!!str", Value: step}, next)
		}
		n = next
	}
	style := n.Style &^ (yamlv3.FoldedStyle | yamlv3.LiteralStyle | yamlv3.TaggedStyle)
	if strings.Contains(value, "\n") {
		style = yamlv3.LiteralStyle
	}
	*n = yamlv3.Node{
		Kind: yamlv3.ScalarNode, Tag: "!!str", Value: value, Style: style,
		HeadComment: n.HeadComment, LineComment: n.LineComment, FootComment: n.FootComment,
	}
}

// remove takes the key at a path away.
func remove(n *yamlv3.Node, path []string) {
	_, parent := manifest.Field(n, path[:len(path)-1]...)
	if parent == nil {
		return
	}
	for i := 0; i+1 < len(parent.Content); i += 2 {
		if parent.Content[i].Value == path[len(path)-1] {
			parent.Content = append(parent.Content[:i], parent.Content[i+2:]...)
			break
		}
	}
	if len(parent.Content) == 0 {
		// A mapping without keys can only be written in braces.
		parent.Style |= yamlv3.FlowStyle
	}
}

// jsonText writes a tree as JSON, on one line if the text it was read from was.
func jsonText(text string, root *yamlv3.Node) (string, error) {
	var compact, b bytes.Buffer
	if err := appendJSON(&compact, root); err != nil {
		return "", err
	}
	end := text[len(strings.TrimRight(text, " \t\r\n")):]
	if !strings.Contains(strings.TrimSpace(text), "\n") {
		return compact.String() + end, nil
	}
	if err := json.Indent(&b, compact.Bytes(), "", indentOf(text)); err != nil {
		return "", err
	}
	return b.String() + end, nil
}

var firstIndent = regexp.MustCompile(`\n([ \t]+)\S`)

// indentOf is how far the first indented line of a text is.
func indentOf(text string) string {
	if found := firstIndent.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}

// appendJSON writes a tree that was read from JSON as such, with its keys in their order.
func appendJSON(b *bytes.Buffer, n *yamlv3.Node) error {
	separate := func(i int) {
		if i > 0 {
			b.WriteByte(',')
		}
	}
	switch {
	case n.Kind == yamlv3.MappingNode:
		b.WriteByte('{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			separate(i)
			if err := appendText(b, n.Content[i].Value); err != nil {
				return err
			}
			b.WriteByte(':')
			if err := appendJSON(b, n.Content[i+1]); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case n.Kind == yamlv3.SequenceNode:
		b.WriteByte('[')
		for i, item := range n.Content {
			separate(i)
			if err := appendJSON(b, item); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case n.Tag == "!!str":
		return appendText(b, n.Value)
	default:
		b.WriteString(n.Value)
	}
	return nil
}

// appendText writes a JSON string as a person would: with < and > as they are.
func appendText(b *bytes.Buffer, text string) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	err := e.Encode(text)
	b.Truncate(b.Len() - 1) // The encoder ends with a line break.
	return err
}
