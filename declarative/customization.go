package declarative

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/kubeinterpret/interpret/interpreter/manifest"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

// Customization is a customization and, if it was read from a file, the places of its parts.
type Customization struct {
	*v1alpha1.ResourceInterpreterCustomization
	doc  *manifest.Document
	root *yamlv3.Node
}

// From wraps a customization that did not come from a file.
func From(c *v1alpha1.ResourceInterpreterCustomization) *Customization {
	return &Customization{ResourceInterpreterCustomization: c}
}

// Parse reads the customizations of a YAML or JSON stream; Lists of them are opened. File names the stream in
// messages. What is no customization is an error. All errors come back joined, and with them the
// customizations that are sound.
func Parse(file string, data []byte) ([]*Customization, error) {
	var list []*Customization
	var errs []error
	docs := manifest.Split(file, data)
	for i := range docs {
		found, err := FromDocument(&docs[i])
		if err != nil {
			errs = append(errs, err)
		}
		list = append(list, found...)
	}
	return list, errors.Join(errs...)
}

// FromDocument reads the customization, or the List of them, that a document holds. An empty document holds none.
func FromDocument(d *manifest.Document) ([]*Customization, error) {
	object, err := d.Object()
	if object == nil || err != nil {
		return nil, err
	}
	root, _ := d.Root()
	if items, ok := object["items"].([]any); ok && object["apiVersion"] == "v1" && object["kind"] == "List" ||
		ok && object["kind"] == v1alpha1.KindResourceInterpreterCustomization+"List" {
		var list []*Customization
		var errs []error
		for i, item := range items {
			c, err := decode(d, manifest.Near(root, "items", strconv.Itoa(i)), item)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			list = append(list, c)
		}
		return list, errors.Join(errs...)
	}
	c, err := decode(d, root, object)
	if err != nil {
		return nil, err
	}
	return []*Customization{c}, nil
}

// ErrOtherKind means that an object is no customization.
var ErrOtherKind = errors.New("not a " + v1alpha1.KindResourceInterpreterCustomization)

func decode(d *manifest.Document, n *yamlv3.Node, value any) (*Customization, error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, d.ErrorAt(n, fmt.Errorf("%w: not an object", ErrOtherKind))
	}
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	if apiVersion != v1alpha1.GroupVersion.String() || kind != v1alpha1.KindResourceInterpreterCustomization {
		want := ""
		if kind == v1alpha1.KindResourceInterpreterCustomization {
			want = fmt.Sprintf(" (want %s)", v1alpha1.GroupVersion)
		}
		got := strings.TrimSpace(apiVersion + " " + kind)
		if got == "" {
			got = "an object without apiVersion and kind"
		}
		return nil, d.ErrorAt(n, fmt.Errorf("%w, got %s%s", ErrOtherKind, got, want))
	}
	dropOtherCase(object)
	text, err := json.Marshal(object)
	if err != nil {
		return nil, d.ErrorAt(n, err)
	}
	c := &v1alpha1.ResourceInterpreterCustomization{}
	if err := json.Unmarshal(text, c); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			at := n
			if key, _ := manifest.Field(n, strings.Split(wrong.Field, ".")...); key != nil {
				at = key
			}
			return nil, d.ErrorAt(at, fmt.Errorf("%s must be %s, got: %s", wrong.Field, manifest.TypeName(wrong.Type), wrong.Value))
		}
		return nil, d.ErrorAt(n, err)
	}
	return &Customization{ResourceInterpreterCustomization: c, doc: d, root: n}, nil
}

// dropOtherCase removes fields that are written in another letter case than the API's. Go's decoder would take
// them, an API server does not.
func dropOtherCase(object map[string]any) {
	drop := func(v any, known ...string) map[string]any {
		m, _ := v.(map[string]any)
		for key := range m {
			if !slices.Contains(known, key) {
				delete(m, key)
			}
		}
		return m
	}
	spec := drop(object["spec"], "target", "customizations")
	drop(spec["target"], "apiVersion", "kind", "labelSelector")
	for _, rule := range drop(spec["customizations"], ruleKeys()...) {
		drop(rule, "luaScript")
	}
}

// Place is a place in a file.
type Place struct {
	File string
	// Line and Column count from 1; 0 is unknown.
	Line, Column int
	// Source is the line's text.
	Source string
}

func (p Place) String() string {
	switch {
	case p.File == "":
		return ""
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Place is where a field of the customization stands, or where it would stand: the nearest parent there is.
// Without a file it is empty.
func (c *Customization) Place(path ...string) Place {
	if c.doc == nil {
		return Place{}
	}
	at := c.root
	for i := len(path); i > 0; i-- {
		if key, _ := manifest.Field(c.root, path[:i]...); key != nil {
			at = key
			break
		}
	}
	return c.at(at.Line, at.Column)
}

func (c *Customization) at(line, column int) Place {
	return Place{File: c.doc.File, Line: line, Column: column, Source: c.doc.SourceLine(line)}
}

// ScriptPlace is where a line of a rule's script stands in the file. Line and column count from 1 in the
// script; a column of 0 is unknown.
func (c *Customization) ScriptPlace(rule string, line, column int) Place {
	if c.doc == nil {
		return Place{}
	}
	key, script := manifest.Field(c.root, "spec", "customizations", rule, "luaScript")
	if script == nil {
		return c.Place("spec", "customizations", rule)
	}
	if line == 0 {
		return c.at(key.Line, key.Column)
	}
	return c.at(c.doc.TextPlace(script, line, column))
}
