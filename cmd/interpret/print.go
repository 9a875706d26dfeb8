package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
)

// The output formats.
const (
	outputJSON = "json"
	outputYAML = "yaml"
)

// answerDocument is the answer of one operation, for programs.
type answerDocument struct {
	Operation interpreter.Operation `json:"operation"`
	// Object is nil if it could not be read.
	Object *reference `json:"object"`
	// Layer and Rule are who answered or failed, empty if nobody did.
	Layer string `json:"layer"`
	Rule  string `json:"rule"`
	// PassedOver is there only if it was asked for.
	PassedOver []source       `json:"passedOver,omitempty"`
	Results    map[string]any `json:"results,omitempty"`
	Error      *errorDetail   `json:"error,omitempty"`
}

// reference names an object. All fields are always there, for programs that compare them.
type reference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
}

func newReference(o *unstructured.Unstructured) *reference {
	return &reference{o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName()}
}

// errorDetail is an error for programs.
type errorDetail struct {
	Message string `json:"message"`
	// Cause is a stable word for the class of the error.
	Cause string `json:"cause"`
	// File and Line are the place the error is about.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// fail puts an error in the place of results.
func (d *answerDocument) fail(err error) {
	var texts []string
	for _, e := range each(err) {
		texts = append(texts, message(e))
	}
	place := placeOf(err)
	d.Error = &errorDetail{Message: strings.Join(texts, "\n"), Cause: causeOf(err), File: place.File, Line: place.Line}
}

// blame notes who failed.
func (d *answerDocument) blame(err error) {
	var asked *interpreter.Error
	var load *declarative.LoadError
	switch {
	case errors.As(err, &asked):
		d.Layer, d.Rule = asked.Source.Layer, asked.Source.Rule
	case errors.As(err, &load):
		d.Layer, d.Rule = declarative.DefaultName, load.Name
	}
}

// explain notes which rules are passed over.
func (d *answerDocument) explain(chain *interpreter.Chain, req *interpreter.Request) error {
	list, err := chain.Explain(req)
	if err != nil {
		return err
	}
	for _, e := range list {
		if e.Operation == req.Operation {
			d.PassedOver = sources(e.PassedOver)
		}
	}
	return nil
}

// document prints a value as JSON, or as YAML.
func (s *session) document(output string, v any) error {
	if output == outputYAML {
		text, err := yaml.Marshal(v)
		if err != nil {
			return err
		}
		_, err = s.out.Write(text)
		return err
	}
	e := json.NewEncoder(s.out)
	// The output goes to people and programs, not into HTML: let < stay <.
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// blocks prints each result in a block of its own, as users of karmadactl know them: a document of YAML under
// a comment with the result's name. The health in full is left out where the boolean says it all.
func (s *session) blocks(c *interpreter.Contract, named map[string]any) error {
	var names []string
	for _, name := range interpreter.Names(c) {
		if name != interpreter.HealthName || !toldByBoolean(c, named) {
			names = append(names, name)
		}
	}
	for i, name := range names {
		text, err := yaml.Marshal(named[name])
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(s.out, "---\n# [%d/%d] %s:\n%s", i+1, len(names), name, text)
	}
	return nil
}

// toldByBoolean says whether a health has nothing to add to the boolean beside it.
func toldByBoolean(c *interpreter.Contract, named map[string]any) bool {
	for _, healthy := range []bool{true, false} {
		plain, err := interpreter.Named(c, &interpreter.Result{Health: interpreter.HealthOfBool(healthy)})
		if err == nil && reflect.DeepEqual(plain, named) {
			return true
		}
	}
	return false
}
