package interpretertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/manifest"
)

// Update rewrites the expectations of the cases that did not pass to what came out, and leaves every other
// byte of the file as it was. Data is what the cases were parsed from, outcomes are theirs in the same order.
//
// An answer becomes the output, also of a case that wanted an error. An error is written only where one was
// wanted, since a rule that fails is seldom what the author is about to record; such a case goes on failing,
// as does one whose request was changed. Comments inside a rewritten expectation are lost, and UTF-16 becomes
// UTF-8. Recorded cases are
// not rewritten: what they expect is not ours to say.
func Update(data []byte, cases []Case, outcomes []Outcome) ([]byte, error) {
	if len(cases) != len(outcomes) {
		return nil, fmt.Errorf("%d cases, but %d outcomes", len(cases), len(outcomes))
	}
	docs := manifest.Split("", data)
	for i, c := range cases {
		if c.Recorded != nil {
			return nil, fmt.Errorf("%s: recorded cases are not rewritten", c)
		}
		if c.document >= len(docs) {
			return nil, fmt.Errorf("%s: not in this file", c)
		}
		key, value, ok := expectation(c, outcomes[i])
		if !ok {
			continue
		}
		text, err := rewrite(docs[c.document].Text, key, value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c, err)
		}
		docs[c.document].Text = text
	}
	var b bytes.Buffer
	for _, doc := range docs {
		b.WriteString(doc.Text)
	}
	return b.Bytes(), nil
}

// expectation is what the outcome says the case should expect, and false if it says nothing.
func expectation(c Case, o Outcome) (key string, value any, ok bool) {
	switch {
	case o.Passed, o.Misbehaved, o.Err == nil && o.Output == nil:
		return "", nil, false
	case o.Err != nil:
		return keyWantError, o.Err.Error(), c.WantError != ""
	}
	output := map[string]any{}
	for name, value := range o.Output {
		_, named := c.Output[name]
		// The boolean is enough for most; who looks at the reasons has named them.
		if name != interpreter.HealthName || named {
			output[name] = value
		}
	}
	return keyOutput, output, true
}

// rewrite puts an expectation in the place of a document's present one, or at its end.
func rewrite(text, key string, value any) (string, error) {
	doc := manifest.Document{Line: 1, Text: text}
	root, err := doc.Root()
	if err != nil {
		return "", err
	}
	if root == nil || root.Kind != yamlv3.MappingNode {
		return "", errors.New("the document is no case")
	}
	if root.Style&yamlv3.FlowStyle != 0 {
		return rewriteFlow(root, key, value, strings.HasPrefix(text, "---"))
	}
	data, err := yaml.Marshal(map[string]any{key: value})
	if err != nil {
		return "", err
	}
	expectation := string(data)
	if indent := strings.Repeat(" ", root.Column-1); indent != "" {
		expectation = indent + strings.ReplaceAll(strings.TrimSuffix(expectation, "\n"), "\n", "\n"+indent) + "\n"
	}
	lines := manifest.Lines(text)
	end := len(lines)
	for i, line := range lines {
		// The end marker of a document, which nothing of the case may follow.
		if strings.HasPrefix(line, "...") {
			end = i
			break
		}
	}
	var b strings.Builder
	written, from := false, 0
	for i := 0; i < len(root.Content); i += 2 {
		if k := root.Content[i].Value; k != keyOutput && k != keyWantError {
			continue
		}
		first, last := root.Content[i].Line-1, end
		if i+2 < len(root.Content) {
			last = root.Content[i+2].Line - 1
		}
		// Comments and blank lines after the value belong to what follows.
		for last > first+1 && isRemark(lines[last-1]) {
			last--
		}
		b.WriteString(strings.Join(lines[from:first], ""))
		if !written {
			b.WriteString(expectation)
			written = true
		}
		from = last
	}
	if !written {
		for end > from+1 && isRemark(lines[end-1]) {
			end--
		}
		b.WriteString(strings.Join(lines[from:end], ""))
		if last := lines[end-1]; strings.TrimRight(last, "\r\n\u0085\u2028\u2029") == last {
			b.WriteString("\n")
		}
		b.WriteString(expectation)
		from = end
	}
	b.WriteString(strings.Join(lines[from:], ""))
	return b.String(), nil
}

// rewriteFlow rewrites a document in braces, which has no lines to put the expectation on, as a whole. What is
// added is JSON, so that JSON stays JSON.
func rewriteFlow(root *yamlv3.Node, key string, value any, marked bool) (string, error) {
	data, err := json.Marshal(map[string]any{key: value})
	if err != nil {
		return "", err
	}
	var added yamlv3.Node
	if err := yamlv3.Unmarshal(data, &added); err != nil {
		return "", err
	}
	var content []*yamlv3.Node
	for i := 0; i < len(root.Content); i += 2 {
		if k := root.Content[i].Value; k != keyOutput && k != keyWantError {
			content = append(content, root.Content[i], root.Content[i+1])
		}
	}
	root.Content = append(content, added.Content[0].Content...)
	if data, err = yamlv3.Marshal(root); err != nil {
		return "", err
	}
	if marked {
		return "---\n" + string(data), nil
	}
	return string(data), nil
}

// isRemark says whether a line at the left margin is blank or a comment.
func isRemark(line string) bool {
	return strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#")
}
