package interpretertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/manifest"
)

// The keys of a case. All but wantError are Karmada's.
const (
	keyName        = "name"
	keyDescription = "description"
	// keyDesired holds the object of operations that are about templates.
	keyDesired = "desiredObj"
	// keyObserved holds the object of operations that are about what a member cluster reports.
	keyObserved    = "observedObj"
	keyStatusItems = "statusItems"
	keyReplicas    = "inputReplicas"
	keyOperation   = "operation"
	// keyOutput holds the wanted results by name.
	keyOutput = "output"
	// keyWantError holds a part of the wanted error's text, in place of an output.
	keyWantError = "wantError"
)

// In the order in which messages list them.
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
// A case looks like this, with wantError in place of output where an error is wanted:
//
//	name: all members are ready
//	operation: AggregateStatus # or any other, in any letter case
//	desiredObj: {...}          # and observedObj, where an operation takes two objects
//	statusItems: [...]         # for AggregateStatus
//	inputReplicas: 3           # for ReviseReplica
//	output:
//	  aggregatedStatus: {...}  # the results by name, see interpreter.Named
//
// An operation that takes one object takes it from desiredObj or observedObj, whichever is there. All errors
// come back joined, each with its line, and with them the cases that are sound. A case without expected
// output is sound here, and fails when it is run.
func Parse(file string, data []byte) ([]Case, error) {
	var cases []Case
	var errs []error
	docs := manifest.Split(file, data)
	for i := range docs {
		root, err := docs[i].Root()
		if err != nil {
			errs = append(errs, err)
		}
		if root == nil {
			continue
		}
		r := &reader{doc: &docs[i], root: root}
		c := r.read()
		if len(r.errs) > 0 {
			errs = append(errs, r.errs...)
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

// reader reads one case and collects what is wrong with it.
type reader struct {
	doc    *manifest.Document
	root   *yamlv3.Node
	values map[string]any
	errs   []error
}

// fail reports a mistake in a key's value, or in the case as a whole if the key is empty or missing.
func (r *reader) fail(key string, err error) {
	at, _ := manifest.Field(r.root, key)
	if at == nil {
		at = r.root
	}
	r.errs = append(r.errs, r.doc.ErrorAt(at, err))
}

// read goes on after a mistake, so that one run tells all of them, until it does not know the operation, on
// which the rest depends.
func (r *reader) read() Case {
	if r.root.Kind != yamlv3.MappingNode {
		r.fail("", errors.New("a case is an object, with keys such as operation and output"))
		return Case{}
	}
	values, err := r.doc.Object()
	if err != nil {
		r.errs = append(r.errs, err)
		return Case{}
	}
	r.values = values
	r.only(r.root, caseKeys, "")
	c := Case{
		Name: r.text(keyName), Description: r.text(keyDescription), WantError: r.text(keyWantError),
		Statuses: r.statuses(), Replicas: r.replicas(), Compare: Exact,
	}
	if r.values[keyOperation] == nil {
		r.fail("", fmt.Errorf("%s is required (have %s)", keyOperation, operations()))
		return c
	}
	c.Operation, err = interpreter.ParseOperation(r.text(keyOperation))
	if err != nil {
		r.fail(keyOperation, err)
		return c
	}
	contract, _ := interpreter.ContractOf(c.Operation)
	r.objects(&c, contract)
	r.output(&c, contract)
	return c
}

func operations() string {
	var names []string
	for _, op := range interpreter.Operations() {
		names = append(names, string(op))
	}
	return strings.Join(names, ", ")
}

// text is empty for a key that is missing, null or wrong.
func (r *reader) text(key string) string {
	v := r.values[key]
	text, ok := v.(string)
	if v != nil && !ok {
		r.fail(key, fmt.Errorf("%s must be text, got %v", key, v))
	}
	return text
}

// object is nil for a key that is missing, null or wrong. That it is a Kubernetes object is for the interpreter
// to check: how it answers to one that is not is a case too.
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

// statuses reads the items as they come over the wire, where unknown keys are ignored.
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
	case r.values[keyDesired] == nil && r.values[keyObserved] == nil:
		r.fail("", fmt.Errorf("%s needs %s or %s", c.Operation, keyDesired, keyObserved))
	}
}

// output reads the expectation. A misspelt result would otherwise be one that is wanted to be null.
func (r *reader) output(c *Case, contract *interpreter.Contract) {
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
	_, node := manifest.Field(r.root, keyOutput)
	r.only(node, interpreter.Names(contract), keyOutput+": ")
	_, node = manifest.Field(node, interpreter.HealthName)
	r.only(node, []string{"status", "reason", "message"}, keyOutput+"."+interpreter.HealthName+": ")
	c.Output = output
}

// only insists that a mapping has no keys but the known ones.
func (r *reader) only(n *yamlv3.Node, known []string, prefix string) {
	if n == nil || n.Kind != yamlv3.MappingNode {
		return
	}
	for i := 0; i < len(n.Content); i += 2 {
		if key := n.Content[i]; !slices.Contains(known, key.Value) {
			r.errs = append(r.errs, r.doc.ErrorAt(key, fmt.Errorf("%s%w", prefix, unknownKey(key.Value, known))))
		}
	}
}
