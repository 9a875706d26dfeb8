package manifest

import (
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// TextPlace is where a line of a text stands in the stream, such as that of a script; n is the text's node. Line and
// column count from 1 in the text; a column of 0 is unknown, in what is given and in what comes back.
func (d *Document) TextPlace(n *yamlv3.Node, line, column int) (int, int) {
	if n.Style&yamlv3.LiteralStyle != 0 {
		if column > 0 {
			column += d.indent(n)
		}
		return n.Line + line, column
	}
	// Only a literal block shows the text's lines as they are; a plain or quoted one begins where its value does,
	// and a folded one has lost them.
	if n.Style&yamlv3.FoldedStyle != 0 || line > 1 || column == 0 {
		return n.Line, 0
	}
	column += n.Column - 1
	if n.Style&(yamlv3.DoubleQuotedStyle|yamlv3.SingleQuotedStyle) != 0 {
		column++
	}
	return n.Line, column
}

// indent is by how much a literal block is indented, told from its first line with text.
func (d *Document) indent(n *yamlv3.Node) int {
	for i, line := range strings.Split(n.Value, "\n") {
		if strings.TrimLeft(line, " ") != "" {
			return leadingSpaces(d.SourceLine(n.Line+1+i)) - leadingSpaces(line)
		}
	}
	return 0
}

func leadingSpaces(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }
