package interpretertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	jsonutil "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

// recorded is a line of a file of recorded cases. A key that is not here is a mistake: a case that is only
// half understood proves nothing.
type recorded struct {
	ID             string                                       `json:"id"`
	Level          string                                       `json:"level"`
	Operation      string                                       `json:"operation"`
	Note           string                                       `json:"note"`
	Object         object                                       `json:"object"`
	Observed       object                                       `json:"observed"`
	Replicas       *int64                                       `json:"replicas"`
	Items          json.RawMessage                              `json:"items"`
	Customizations []*v1alpha1.ResourceInterpreterCustomization `json:"customizations"`
	Features       []string                                     `json:"features"`
	Enabled        *bool                                        `json:"enabled"`
	ExpectError    bool                                         `json:"expectError"`
	Panics         bool                                         `json:"referencePanics"`
	Quirk          []string                                     `json:"quirk"`
	Decision       string                                       `json:"decision"`
	Why            string                                       `json:"why"`
	Compare        Compare                                      `json:"compare"`
	Expect         object                                       `json:"expect"`
}

// object is a JSON object whose integers stay integers, as they do in an object that comes from a cluster.
type object map[string]any

func (o *object) UnmarshalJSON(data []byte) error {
	return jsonutil.Unmarshal(data, (*map[string]any)(o))
}

func (o object) unstructured() *unstructured.Unstructured {
	if o == nil {
		return nil
	}
	return &unstructured.Unstructured{Object: o}
}

// ParseRecorded reads recorded cases, one JSON object a line; empty lines are skipped. File names the cases'
// origin in messages.
//
// A line has an id, a level, an operation and its inputs: object, and by operation observed, replicas, items,
// or at the declarative level customizations. It says what came out: enabled false means that there was no
// rule, expectError that there was an error, else expect holds the answer, and compare says how closely it
// must be met. An answer that was corrected has the decision "ours" and the reason in why.
//
// All errors come back joined, each with its line, and with them the cases that are sound.
func ParseRecorded(file string, data []byte) ([]Case, error) {
	var cases []Case
	var errs []error
	for i, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		c, err := parseRecorded(line)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", file, i+1, err))
			continue
		}
		c.File, c.Line = file, i+1
		cases = append(cases, c)
	}
	if len(cases)+len(errs) == 0 {
		errs = append(errs, fmt.Errorf("%s: no cases", file))
	}
	return cases, errors.Join(errs...)
}

// parseRecorded reads a line. An output is only read where one is expected, since the others have an empty one.
func parseRecorded(line []byte) (Case, error) {
	var r recorded
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return Case{}, err
	}
	op, err := interpreter.ParseOperation(r.Operation)
	if err != nil {
		return Case{}, err
	}
	c := Case{
		Name: r.ID, Description: r.Note, Operation: op,
		Object: r.Object.unstructured(), Observed: r.Observed.unstructured(), Replicas: r.Replicas,
		Fails: r.ExpectError, NoRule: r.Enabled != nil && !*r.Enabled, Compare: r.Compare,
		Recorded: &Recorded{
			Level: r.Level, Customizations: r.Customizations, Features: r.Features,
			Quirks: r.Quirk, Decision: r.Decision, Why: r.Why,
		},
	}
	if !slices.Contains([]Compare{Exact, Loose, Status}, r.Compare) {
		return Case{}, fmt.Errorf("unknown comparison %q (have exact, loose, status)", r.Compare)
	}
	if r.Items != nil {
		// A second step, since unknown keys of an item are ignored, as they are on the wire.
		if err := json.Unmarshal(r.Items, &c.Statuses); err != nil {
			return Case{}, fmt.Errorf("items: %w", err)
		}
	}
	if !c.Fails && !c.NoRule {
		contract, _ := interpreter.ContractOf(op)
		c.Output, err = recordedOutput(contract, r.Expect)
	}
	return c, err
}

// recordedOutput renames recorded results: an answered object is "object" whatever the operation.
func recordedOutput(contract *interpreter.Contract, expect object) (map[string]any, error) {
	names := map[string]string{}
	for _, name := range interpreter.Names(contract) {
		switch name {
		case "replica":
			names["replicas"] = name
		case "requires":
			names["requirements"] = name
		case "retained", "revised", "pruned", "aggregatedStatus":
			names["object"] = name
		case interpreter.HealthName:
		default:
			names[name] = name
		}
	}
	output := map[string]any{}
	for key, value := range expect {
		name, ok := names[key]
		if !ok {
			return nil, fmt.Errorf("expect: %w", unknownKey(key, keys(names)))
		}
		output[name] = value
	}
	return output, nil
}

// unknownKey names the key that was probably meant, and all there are.
func unknownKey(key string, known []string) error {
	hint := ""
	if near := interpreter.Nearest(key, known); near != "" {
		hint = fmt.Sprintf(", did you mean %s?", near)
	}
	return fmt.Errorf("unknown key %q%s (have %s)", key, hint, strings.Join(known, ", "))
}

func keys[V any](m map[string]V) []string {
	list := make([]string, 0, len(m))
	for key := range m {
		list = append(list, key)
	}
	slices.Sort(list)
	return list
}
