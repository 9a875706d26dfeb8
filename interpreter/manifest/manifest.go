// Package manifest reads streams of YAML or JSON documents as Kubernetes does, and keeps what people need to
// find a mistake: the file, and the line and column of every field.
//
// Values are read as kubectl reads them, in which a time is text and an integer is exact; the syntax tree
// beside them only knows the places.
package manifest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"

	yamlv3 "go.yaml.in/yaml/v3"
	jsonutil "k8s.io/apimachinery/pkg/util/json"
	sigsjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Document is one document of a stream. It may be asked by many goroutines.
type Document struct {
	// File is where the stream came from, for messages.
	File string
	// Line is the number of the document's first line in the stream, from 1.
	Line int
	// Text is the document; the texts of a stream's documents together are the stream.
	Text string

	lines []string // of the whole stream
	forms *forms
}

// forms are what a document is read as, each made when somebody asks for it first: those who look for the kinds that
// they know ask one after the other, and reading YAML is most of the work.
type forms struct {
	treeOnce sync.Once
	root     *yamlv3.Node
	rootErr  error

	jsonOnce sync.Once
	json     []byte
	jsonErr  error
}

// Error is a mistake at a place in a stream.
type Error struct {
	File string
	// Line and Column count from 1; 0 is unknown.
	Line, Column int
	Err          error
}

func (e *Error) Error() string {
	switch {
	case e.Line == 0:
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	case e.Column == 0:
		return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
	}
	return fmt.Sprintf("%s:%d:%d: %v", e.File, e.Line, e.Column, e.Err)
}

// Unwrap is the mistake without the place.
func (e *Error) Unwrap() error { return e.Err }

// Split cuts a stream into documents: YAML at its markers, JSON objects where one ends. Text in UTF-16 is
// recognized by its byte order mark. It never fails; a document that does not parse says so itself.
func Split(file string, data []byte) []Document {
	text := decode(data)
	lines := Lines(text)
	if trimmed := strings.TrimLeft(text, " \t\r\n"); strings.HasPrefix(trimmed, "{") {
		if docs := splitJSON(file, text); docs != nil {
			for i := range docs {
				docs[i].lines = lines
			}
			return docs
		}
	}
	docs := []Document{{File: file, Line: 1, lines: lines, forms: &forms{}}}
	from, at := 0, 0
	for i, l := range lines {
		if strings.HasPrefix(l, "---") && marker.MatchString(l) {
			docs[len(docs)-1].Text = text[from:at]
			docs = append(docs, Document{File: file, Line: i + 1, lines: lines, forms: &forms{}})
			from = at
		}
		at += len(l)
	}
	docs[len(docs)-1].Text = text[from:]
	return docs
}

// splitJSON cuts a stream of JSON values. It is nil if there is just one, or it is not all JSON.
func splitJSON(file, text string) []Document {
	d := json.NewDecoder(strings.NewReader(text))
	var docs []Document
	from := 0
	for {
		var raw json.RawMessage
		err := d.Decode(&raw)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil
		}
		end := int(d.InputOffset())
		docs = append(docs, Document{File: file, Line: 1 + strings.Count(text[:from], "\n"), Text: text[from:end], forms: &forms{}})
		from = end
	}
	if len(docs) < 2 {
		return nil
	}
	docs[len(docs)-1].Text += text[from:]
	return docs
}

// decode gives the text of UTF-8 or of UTF-16 with a byte order mark.
func decode(data []byte) string {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return strings.TrimPrefix(string(data), "\ufeff")
	}
	units := make([]uint16, 0, len(data)/2)
	for i := 2; i+1 < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	return string(utf16.Decode(units))
}

// Lines cuts a text behind every line break, of which YAML has five.
func Lines(text string) []string {
	var list []string
	from := 0
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case '\n':
		case '\r':
			if strings.HasPrefix(text[at+1:], "\n") {
				at++
			}
		case 0xc2:
			if !strings.HasPrefix(text[at:], "\u0085") {
				continue
			}
			at++
		case 0xe2:
			if !strings.HasPrefix(text[at:], "\u2028") && !strings.HasPrefix(text[at:], "\u2029") {
				continue
			}
			at += 2
		default:
			continue
		}
		list = append(list, text[from:at+1])
		from = at + 1
	}
	if from < len(text) {
		list = append(list, text[from:])
	}
	return list
}

var marker = regexp.MustCompile("^---($|[ \t\n\r\u0085\u2028\u2029])")

// keysByLine is how nearly every manifest begins, after comments and the marker.
var keysByLine = regexp.MustCompile(`^(---[ \t]*\n)?([ \t]*(#.*)?\n)*[A-Za-z][A-Za-z0-9]*:[ \n]`)

var yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)

// Root is the document's syntax tree with lines as they are in the stream, which must not be changed. It is nil for an
// empty document.
func (d *Document) Root() (*yamlv3.Node, error) {
	if d.forms == nil {
		return d.parse() // It was not cut out of a stream.
	}
	d.forms.treeOnce.Do(func() { d.forms.root, d.forms.rootErr = d.parse() })
	return d.forms.root, d.forms.rootErr
}

func (d *Document) parse() (*yamlv3.Node, error) {
	var n, more yamlv3.Node
	stream := yamlv3.NewDecoder(strings.NewReader(d.Text))
	err := stream.Decode(&n)
	if err == io.EOF {
		return nil, nil
	}
	if err == nil && stream.Decode(&more) != io.EOF {
		err = errors.New("documents must be separated by ---")
	}
	if err != nil && d.isJSON() {
		// JSON that YAML cannot read has no places but its beginning.
		return &yamlv3.Node{Kind: yamlv3.MappingNode, Tag: "!!map", Line: d.Line, Column: 1}, nil
	}
	if err != nil {
		line := d.Line
		// The parser counts lines in the document.
		if found := yamlLine.FindStringSubmatch(err.Error()); found != nil {
			in, _ := strconv.Atoi(found[1])
			line += in - 1
			err = errors.New(strings.TrimPrefix(err.Error(), found[0]))
		}
		return nil, &Error{File: d.File, Line: line, Err: fmt.Errorf("not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))}
	}
	if len(n.Content) == 0 || n.Content[0].Tag == "!!null" {
		return nil, nil
	}
	shift(&n, d.Line-1)
	return n.Content[0], nil
}

func shift(n *yamlv3.Node, lines int) {
	n.Line += lines
	for _, child := range n.Content {
		shift(child, lines)
	}
}

var jsonLine = regexp.MustCompile(`line (\d+): (.*)`)

// Object is the document as JSON values with exact integers. It is nil for an empty document.
func (d *Document) Object() (map[string]any, error) {
	data, err := d.JSON()
	if data == nil || err != nil {
		return nil, err
	}
	if data[0] != '{' {
		root, _ := d.Root()
		return nil, d.ErrorAt(root, errors.New("not an object: it must have keys such as apiVersion and kind"))
	}
	object := map[string]any{}
	if err := jsonutil.Unmarshal(data, &object); err != nil {
		root, _ := d.Root()
		return nil, d.ErrorAt(root, err)
	}
	return object, nil
}

// JSON is the document, whatever its kind of value, as JSON. It is nil for an empty document. A document that
// is JSON already is taken as it is, since not all JSON is YAML; a key that stands twice is an error in both. It must
// not be changed.
func (d *Document) JSON() ([]byte, error) {
	if d.forms == nil {
		return d.toJSON() // It was not cut out of a stream.
	}
	d.forms.jsonOnce.Do(func() { d.forms.json, d.forms.jsonErr = d.toJSON() })
	return d.forms.json, d.forms.jsonErr
}

func (d *Document) toJSON() ([]byte, error) {
	if d.isJSON() {
		if err := twiceInJSON(d.Text); err != nil {
			return nil, d.ErrorAt(nil, err)
		}
		return []byte(strings.TrimSpace(d.Text)), nil
	}
	// The conversion reads one document and says nothing of more; the tree knows. It costs as much as the
	// conversion, so it is not made for nothing: after keys line by line, a document ends by three dots or not at all.
	if !keysByLine.MatchString(d.Text) || strings.Contains(d.Text, "...") {
		if root, err := d.Root(); root == nil || err != nil {
			return nil, err
		}
	}
	data, err := yaml.YAMLToJSONStrict([]byte(d.Text))
	if err == nil {
		if string(data) == "null" {
			return nil, nil
		}
		return data, nil
	}
	root, rootErr := d.Root()
	if root == nil || rootErr != nil {
		return nil, rootErr
	}
	if hasMerge(root) {
		if data, mergeErr := d.merged(); mergeErr == nil {
			return data, nil
		}
	}
	if found := jsonLine.FindStringSubmatch(err.Error()); found != nil {
		in, _ := strconv.Atoi(found[1])
		return nil, &Error{File: d.File, Line: d.Line + in - 1, Err: errors.New(found[2])}
	}
	return nil, d.ErrorAt(root, err)
}

// isJSON says whether the document is a JSON object or list.
func (d *Document) isJSON() bool {
	text := strings.TrimLeft(d.Text, " \t\r\n")
	return (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")) && json.Valid([]byte(d.Text))
}

func twiceInJSON(text string) error {
	var v any
	strict, err := sigsjson.UnmarshalStrict([]byte(text), &v)
	if err != nil {
		return err
	}
	return errors.Join(strict...)
}

const mergeTag = "!!merge"

func hasMerge(n *yamlv3.Node) bool {
	return n.Tag == mergeTag || slices.ContainsFunc(n.Content, hasMerge)
}

// merged is the document with its merge keys carried out: what a mapping says itself wins over what it merges,
// and what it merges first over what it merges later.
func (d *Document) merged() ([]byte, error) {
	// This tree is changed, so it is not the one that others look at.
	root, err := d.parse()
	if err != nil {
		return nil, err
	}
	if err := carryOut(root, 0); err != nil {
		return nil, err
	}
	text, err := yamlv3.Marshal(root)
	if err != nil {
		return nil, err
	}
	return yaml.YAMLToJSONStrict(text)
}

// maxMergeDepth bounds how deep documents with merge keys nest, since aliases can make them endless.
const maxMergeDepth = 200

func carryOut(n *yamlv3.Node, depth int) error {
	if depth > maxMergeDepth {
		return errors.New("nests too deep")
	}
	for _, c := range n.Content {
		if err := carryOut(c, depth+1); err != nil {
			return err
		}
	}
	if n.Kind != yamlv3.MappingNode {
		return nil
	}
	var own, sources []*yamlv3.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag != mergeTag {
			own = append(own, n.Content[i], n.Content[i+1])
			continue
		}
		v := resolved(n.Content[i+1])
		if v.Kind == yamlv3.SequenceNode {
			for _, c := range v.Content {
				sources = append(sources, resolved(c))
			}
		} else {
			sources = append(sources, v)
		}
	}
	for _, source := range sources {
		if err := carryOut(source, depth+1); err != nil {
			return err
		}
		for i := 0; i+1 < len(source.Content); i += 2 {
			if !hasKey(own, source.Content[i].Value) {
				own = append(own, source.Content[i], source.Content[i+1])
			}
		}
	}
	n.Content = own
	return nil
}

func hasKey(content []*yamlv3.Node, key string) bool {
	for i := 0; i+1 < len(content); i += 2 {
		if content[i].Value == key {
			return true
		}
	}
	return false
}

func resolved(n *yamlv3.Node) *yamlv3.Node {
	if n.Kind == yamlv3.AliasNode {
		return n.Alias
	}
	return n
}

// ErrorAt places an error at a node; a nil node is the document's beginning.
func (d *Document) ErrorAt(n *yamlv3.Node, err error) error {
	if n == nil {
		return &Error{File: d.File, Line: d.Line, Err: err}
	}
	return &Error{File: d.File, Line: n.Line, Column: n.Column, Err: err}
}

// SourceLine is a line of the stream without its end; it is empty where there is no such line.
func (d *Document) SourceLine(line int) string {
	if line < 1 || line > len(d.lines) {
		return ""
	}
	return strings.TrimRight(d.lines[line-1], "\r\n\u0085\u2028\u2029")
}

// LastLine is the number of the stream's last line.
func (d *Document) LastLine() int { return len(d.lines) }

// Field finds the key and the value at a path in a tree, with aliases followed; both are nil where there is none.
func Field(n *yamlv3.Node, path ...string) (key, value *yamlv3.Node) {
	value = n
	for _, step := range path {
		key, value = field(value, step)
		if value == nil {
			return nil, nil
		}
	}
	return key, value
}

func field(n *yamlv3.Node, name string) (key, value *yamlv3.Node) {
	if n == nil || n.Kind != yamlv3.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i], resolved(n.Content[i+1])
		}
	}
	return nil, nil
}

// At finds the value at a path of keys and indexes in a tree, with aliases followed; nil where there is none.
func At(n *yamlv3.Node, path ...string) *yamlv3.Node {
	for _, step := range path {
		if _, n = child(n, step); n == nil {
			return nil
		}
	}
	return n
}

// Near finds where the field at a path of keys and indexes stands in a tree, or the nearest parent that there is.
func Near(n *yamlv3.Node, path ...string) *yamlv3.Node {
	near := n
	for _, step := range path {
		var at *yamlv3.Node
		if at, n = child(n, step); n == nil {
			break
		}
		near = at
	}
	return near
}

// child finds a field or an item: where it stands, and its value.
func child(n *yamlv3.Node, step string) (at, value *yamlv3.Node) {
	if n == nil || n.Kind != yamlv3.SequenceNode {
		return field(n, step)
	}
	i, err := strconv.Atoi(step)
	if err != nil || i < 0 || i >= len(n.Content) {
		return nil, nil
	}
	return n.Content[i], resolved(n.Content[i])
}

// Steps takes a field path as validation prints it apart, such as spec.versions[0].properties[a.b].type: names
// are between dots, keys and indexes in brackets.
func Steps(fieldPath string) []string {
	var steps []string
	for rest := fieldPath; rest != ""; {
		if inner, ok := strings.CutPrefix(rest, "["); ok {
			key, after, found := strings.Cut(inner, "]")
			if !found {
				return append(steps, inner)
			}
			steps = append(steps, key)
			rest = after
			continue
		}
		rest = strings.TrimPrefix(rest, ".")
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		if end > 0 {
			steps = append(steps, rest[:end])
		}
		rest = rest[end:]
	}
	return steps
}

// TypeName is what values of a Go type are in JSON, for messages: "an object", "a string".
func TypeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "an object"
	case reflect.Slice:
		return "an array"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	}
	return "a number"
}
