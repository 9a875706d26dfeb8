package interpretertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	jsonutil "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/interpreter"
)

// The keys of a case. All but wantError are Karmada's.
const (
	keyName        = "name"
	keyDescription = "description"
	keyDesired     = "desiredObj"
	keyObserved    = "observedObj"
	keyStatusItems = "statusItems"
	keyReplicas    = "inputReplicas"
	keyOperation   = "operation"
	keyOutput      = "output"
	keyWantError   = "wantError"
)

var caseKeys = []string{
	keyName, keyDescription, keyOperation, keyDesired, keyObserved, keyStatusItems, keyReplicas, keyOutput, keyWantError,
}

// ReadFile reads the cases of a file: recorded ones if its name ends in .jsonl, else YAML.
func ReadFile(file string) ([]Case, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(file) == ".jsonl" {
		return ParseRecorded(file, data)
	}
	return Parse(file, data)
}

// Parse reads cases in Karmada's YAML format, one a document; empty documents are skipped. File names the
// cases' origin in messages.
//
// An operation that takes one object takes it from desiredObj or observedObj, whichever is there. All errors
// come back joined, each with its line, and with them the cases that are sound. A case without expected
// output is sound here, and fails when it is run.
func Parse(file string, data []byte) ([]Case, error) {
	var cases []Case
	var errs []error
	for i, doc := range documents(data) {
		root, bad := doc.parse()
		if root == nil && bad == nil {
			continue
		}
		var c Case
		problems := []problem{}
		if bad != nil {
			problems = append(problems, *bad)
		} else {
			c, problems = parseCase(doc, root)
		}
		for _, p := range problems {
			errs = append(errs, fmt.Errorf("%s:%d: %w", file, p.line, p.err))
		}
		if len(problems) > 0 {
			continue
		}
		c.File, c.Line, c.document = file, root.Line, i
		if c.Name == "" {
			c.Name = fmt.Sprintf("case %d", len(cases)+1)
		}
		cases = append(cases, c)
	}
	if len(cases)+len(errs) == 0 {
		errs = append(errs, fmt.Errorf("%s: no cases", file))
	}
	return cases, errors.Join(errs...)
}

// document is one document of a YAML stream.
type document struct {
	// line is the number of its first line in the stream.
	line int
	text string
}

// documents cuts a stream at its markers, which YAML allows at the beginning of a line and nowhere else. The
// texts together are the stream.
func documents(data []byte) []document {
	docs := []document{{line: 1}}
	line := 0
	for _, l := range lines(string(data)) {
		line++
		if marker.MatchString(l) {
			docs = append(docs, document{line: line})
		}
		docs[len(docs)-1].text += l
	}
	return docs
}

// lineBreak is what ends a line in YAML.
var lineBreak = regexp.MustCompile("\r\n|[\n\r\u0085\u2028\u2029]")

// lines cuts a text behind every line break.
func lines(text string) []string {
	var list []string
	from := 0
	for _, at := range lineBreak.FindAllStringIndex(text, -1) {
		list = append(list, text[from:at[1]])
		from = at[1]
	}
	if from < len(text) {
		list = append(list, text[from:])
	}
	return list
}

var marker = regexp.MustCompile("^---($|[ \t\n\r\u0085\u2028\u2029])")

var yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)

// parse gives the root of the document with lines counted in the stream, nil for an empty one.
func (d document) parse() (*yamlv3.Node, *problem) {
	var n, more yamlv3.Node
	stream := yamlv3.NewDecoder(strings.NewReader(d.text))
	err := stream.Decode(&n)
	if err == io.EOF {
		return nil, nil
	}
	if err == nil && stream.Decode(&more) != io.EOF {
		err = errors.New("yaml: documents must be separated by ---")
	}
	if err != nil {
		line := d.line
		// The parser counts lines in the document.
		if found := yamlLine.FindStringSubmatch(err.Error()); found != nil {
			n, _ := strconv.Atoi(found[1])
			line += n - 1
			err = errors.New("yaml: " + strings.TrimPrefix(err.Error(), found[0]))
		}
		return nil, &problem{line, err}
	}
	if len(n.Content) == 0 || n.Content[0].Tag == "!!null" {
		return nil, nil
	}
	shift(&n, d.line-1)
	return n.Content[0], nil
}

func shift(n *yamlv3.Node, lines int) {
	n.Line += lines
	for _, child := range n.Content {
		shift(child, lines)
	}
}

// problem is an error at a line.
type problem struct {
	line int
	err  error
}

// reader reads one case and collects what is wrong with it.
type reader struct {
	values   map[string]any
	keys     map[string]*yamlv3.Node
	problems []problem
}

func (r *reader) fail(key string, err error) {
	line := 0
	if n := r.keys[key]; n != nil {
		line = n.Line
	}
	r.problems = append(r.problems, problem{line, err})
}

func parseCase(doc document, root *yamlv3.Node) (Case, []problem) {
	if root.Kind != yamlv3.MappingNode {
		return Case{}, []problem{{root.Line, errors.New("a case is an object, with keys such as operation and output")}}
	}
	// Values are read as Kubernetes reads YAML, in which a time is text; the nodes only know the lines.
	data, err := yaml.YAMLToJSONStrict([]byte(doc.text))
	if err != nil {
		return Case{}, []problem{{root.Line, err}}
	}
	r := &reader{values: map[string]any{}, keys: map[string]*yamlv3.Node{"": root}}
	if err := jsonutil.Unmarshal(data, &r.values); err != nil {
		return Case{}, []problem{{root.Line, err}}
	}
	for i := 0; i < len(root.Content); i += 2 {
		key := root.Content[i]
		r.keys[key.Value] = key
		if !slices.Contains(caseKeys, key.Value) {
			r.fail(key.Value, unknownKey(key.Value, caseKeys))
		}
	}
	c := Case{
		Name: r.text(keyName), Description: r.text(keyDescription), WantError: r.text(keyWantError),
		Statuses: r.statuses(), Replicas: r.replicas(), Compare: Exact,
	}
	if r.values[keyOperation] == nil {
		r.fail("", fmt.Errorf("%s is required (have %s)", keyOperation, operations()))
		return c, r.problems
	}
	c.Operation, err = interpreter.ParseOperation(r.text(keyOperation))
	if err != nil {
		r.fail(keyOperation, err)
		return c, r.problems
	}
	contract, _ := interpreter.ContractOf(c.Operation)
	r.objects(&c, contract)
	r.output(&c, contract, root)
	return c, r.problems
}

func operations() string {
	var names []string
	for _, op := range interpreter.Operations() {
		names = append(names, string(op))
	}
	return strings.Join(names, ", ")
}

func (r *reader) text(key string) string {
	v := r.values[key]
	text, ok := v.(string)
	if v != nil && !ok {
		r.fail(key, fmt.Errorf("%s must be text, got %v", key, v))
	}
	return text
}

func (r *reader) object(key string) *unstructured.Unstructured {
	v := r.values[key]
	if v == nil {
		return nil
	}
	o, ok := v.(map[string]any)
	if !ok {
		r.fail(key, fmt.Errorf("%s must be an object", key))
		return nil
	}
	return &unstructured.Unstructured{Object: o}
}

func (r *reader) replicas() *int64 {
	switch v := r.values[keyReplicas].(type) {
	case nil:
		return nil
	case int64:
		return &v
	default:
		r.fail(keyReplicas, fmt.Errorf("%s must be a whole number, got %v", keyReplicas, v))
		return nil
	}
}

func (r *reader) statuses() []interpreter.AggregatedStatusItem {
	v := r.values[keyStatusItems]
	list, ok := v.([]any)
	if v != nil && !ok {
		r.fail(keyStatusItems, fmt.Errorf("%s must be a list", keyStatusItems))
		return nil
	}
	var items []interpreter.AggregatedStatusItem
	for i, v := range list {
		var item interpreter.AggregatedStatusItem
		if err := json.Unmarshal([]byte(text(v)), &item); err != nil {
			r.fail(keyStatusItems, fmt.Errorf("%s[%d]: %w", keyStatusItems, i, err))
		}
		items = append(items, item)
	}
	return items
}

// objects gives the case its objects, and insists that every given input is one that the operation takes.
func (r *reader) objects(c *Case, contract *interpreter.Contract) {
	desired, observed := r.object(keyDesired), r.object(keyObserved)
	takes := map[string]bool{}
	for _, in := range contract.In {
		takes[in.Name] = true
	}
	for key, input := range map[string]string{keyReplicas: "replica", keyStatusItems: "items"} {
		if r.values[key] != nil && !takes[input] {
			r.fail(key, fmt.Errorf("%s is no input of %s", key, c.Operation))
		}
	}
	switch {
	case takes["observed"]:
		c.Object, c.Observed = desired, observed
		if desired == nil || observed == nil {
			r.fail("", fmt.Errorf("%s needs both %s and %s", c.Operation, keyDesired, keyObserved))
		}
	case desired != nil && observed != nil:
		r.fail(keyObserved, fmt.Errorf("%s takes one object, got both %s and %s", c.Operation, keyDesired, keyObserved))
	case desired != nil:
		c.Object = desired
	case observed != nil:
		c.Object = observed
	default:
		r.fail("", fmt.Errorf("%s needs %s or %s", c.Operation, keyDesired, keyObserved))
	}
}

// output reads the expectation.
func (r *reader) output(c *Case, contract *interpreter.Contract, root *yamlv3.Node) {
	v := r.values[keyOutput]
	output, ok := v.(map[string]any)
	switch {
	case v == nil:
		return
	case !ok:
		r.fail(keyOutput, fmt.Errorf("%s must be an object with the results by name (have %s)", keyOutput, strings.Join(interpreter.Names(contract), ", ")))
		return
	case c.WantError != "":
		r.fail(keyWantError, fmt.Errorf("%s and %s exclude each other", keyOutput, keyWantError))
	}
	node := valueOf(root, keyOutput)
	r.only(node, interpreter.Names(contract), keyOutput)
	r.only(valueOf(node, interpreter.HealthName), []string{"status", "reason", "message"}, keyOutput+"."+interpreter.HealthName)
	c.Output = output
}

// only insists that a mapping has no keys but the known ones.
func (r *reader) only(n *yamlv3.Node, known []string, path string) {
	if n == nil || n.Kind != yamlv3.MappingNode {
		return
	}
	for i := 0; i < len(n.Content); i += 2 {
		if key := n.Content[i]; !slices.Contains(known, key.Value) {
			r.problems = append(r.problems, problem{key.Line, fmt.Errorf("%s: %w", path, unknownKey(key.Value, known))})
		}
	}
}

// valueOf finds the value of a key in a mapping, nil if there is none.
func valueOf(n *yamlv3.Node, key string) *yamlv3.Node {
	if n == nil || n.Kind != yamlv3.MappingNode {
		return nil
	}
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			v := n.Content[i+1]
			if v.Kind == yamlv3.AliasNode {
				v = v.Alias
			}
			return v
		}
	}
	return nil
}
