package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/manifest"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/luakube"
)

// The results of a rule under --check.
const (
	resultUnset = "UNSET"
	resultPass  = "PASS"
	resultError = "ERROR"
)

// checkDocument is the report of --check.
type checkDocument struct {
	Customizations []*checked `json:"customizations"`
}

// checked is one object and what was found out about it.
type checked struct {
	// Source is the customization's name, or its file if it has none.
	Source string `json:"source"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	// Target is nil for what is no customization.
	Target   *v1alpha1.CustomizationTarget `json:"target,omitempty"`
	Rules    []checkedRule                 `json:"rules,omitempty"`
	Problems []problem                     `json:"problems,omitempty"`

	customization *declarative.Customization
}

// checkedRule is the line of one operation in the report.
type checkedRule struct {
	Operation interpreter.Operation `json:"operation"`
	Rule      string                `json:"rule"`
	Result    string                `json:"result"`
	// Message is the first problem of the rule.
	Message string `json:"message,omitempty"`
}

// problem is a mistake with its place, as far as that is known.
type problem struct {
	Rule    string `json:"rule,omitempty"`
	Message string `json:"message"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
}

// checkAll reports on every object that -f names. What cannot be read is left out of the report, and is an
// error beside it.
func (o *options) checkAll(ctx context.Context, s *session) error {
	if len(o.filenames) == 0 {
		return usage("--check needs customizations; name them with -f")
	}
	if err := s.claimStdin(filenameFlag, o.filenames...); err != nil {
		return err
	}
	options, err := o.engineOptions(s)
	if err != nil {
		return err
	}
	list, err := o.checkedObjects(ctx, s)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s: there is no customization in it", some(o.filenames))
	}
	if len(list) == 0 {
		return err
	}
	// The objects that could be read are reported even if others could not.
	if failed := judge(list, options); failed != nil {
		return errors.Join(err, failed)
	}
	problems := 0
	for _, c := range list {
		problems += len(c.Problems)
	}
	if o.output != "" {
		if err := s.document(o.output, checkDocument{list}); err != nil {
			return err
		}
	} else {
		for _, c := range list {
			c.print(s)
		}
	}
	switch {
	case problems == 1:
		err = errors.Join(err, &failure{errors.New("1 problem")})
	case problems > 1:
		err = errors.Join(err, &failure{fmt.Errorf("%d problems", problems)})
	}
	return err
}

// checkedObjects reads everything that -f names, in order.
func (o *options) checkedObjects(ctx context.Context, s *session) ([]*checked, error) {
	inputs, err := s.read(ctx, filenameFlag, o.filenames, o.recursive)
	errs := []error{err}
	var list []*checked
	for _, in := range inputs {
		docs := s.split(in)
		for i := range docs {
			// What is no YAML cannot be judged. What is YAML, and yet no customization, can: it is none.
			if _, err := docs[i].Object(); err != nil {
				errs = append(errs, err)
				continue
			}
			found, err := declarative.FromDocument(&docs[i])
			for _, c := range found {
				list = append(list, newChecked(c))
			}
			for _, e := range each(err) {
				list = append(list, newUnknown(&docs[i], e))
			}
		}
	}
	return list, errors.Join(errs...)
}

// newChecked is about a customization. Its name tells it apart; a file may hold many.
func newChecked(c *declarative.Customization) *checked {
	place := c.Place()
	source := c.Name
	if source == "" {
		source = place.File
	}
	return &checked{Source: source, File: place.File, Line: place.Line, Target: &c.Spec.Target, customization: c}
}

// newUnknown is about an object that is no customization, or cannot be read as one.
func newUnknown(d *manifest.Document, err error) *checked {
	c := &checked{Source: d.File, File: d.File}
	p := problem{Message: err.Error(), File: d.File}
	var at *manifest.Error
	if errors.As(err, &at) {
		c.Line = at.Line
		p.Line, p.Column, p.Message = at.Line, at.Column, at.Err.Error()
	}
	c.Problems = []problem{p}
	return c
}

// judge looks for problems in the customizations, and gives each its own.
func judge(list []*checked, options []luakube.Option) error {
	engine, err := newEngine(options)
	if err != nil {
		return err
	}
	var customizations []*declarative.Customization
	for _, c := range list {
		if c.customization != nil {
			customizations = append(customizations, c.customization)
		}
	}
	problems, err := declarative.Check(customizations, declarative.WithEngine(engine))
	if err != nil {
		return err
	}
	for _, p := range problems {
		owner := ownerOf(p, list)
		owner.Problems = append(owner.Problems, problem{p.Rule, p.Message, p.Place.File, p.Place.Line, p.Place.Column})
	}
	for _, c := range list {
		if c.customization != nil {
			c.Rules = c.rules()
		}
	}
	return nil
}

// ownerOf finds the customization that a problem is about: of those with its name, the last one that begins
// before it.
func ownerOf(p declarative.Problem, list []*checked) *checked {
	var owner *checked
	for _, c := range list {
		if c.customization == nil || c.customization.Name != p.Customization {
			continue
		}
		if owner == nil || c.File == p.Place.File && (c.Line <= p.Place.Line || owner.File != p.Place.File) {
			owner = c
		}
	}
	return owner
}

// rules sums the problems up by operation: an operation has an error if any problem is about its rule.
func (c *checked) rules() []checkedRule {
	var list []checkedRule
	for _, contract := range interpreter.Contracts() {
		r := checkedRule{Operation: contract.Operation, Rule: contract.Rule, Result: resultPass}
		if lua := contract.Script(&c.customization.Spec.Customizations); lua == nil || lua.LuaScript == "" {
			r.Result = resultUnset
		}
		for _, p := range c.Problems {
			if p.Rule == contract.Rule {
				r.Result, r.Message = resultError, p.Message
				break
			}
		}
		list = append(list, r)
	}
	return list
}

// print writes the report about one object as users of karmadactl know it, and below it the problems with
// their places.
func (c *checked) print(s *session) {
	fmt.Fprintf(s.out, "%s\nSOURCE: %s\n", strings.Repeat("-", 35), c.Source)
	switch {
	case c.customization == nil:
		fmt.Fprintln(s.out, c.Problems[0].Message)
	// Karmada's words for these two, without which there is no target to print.
	case c.Target.Kind == "":
		fmt.Fprintln(s.out, "target.kind no set")
	case c.Target.APIVersion == "":
		fmt.Fprintln(s.out, "target.apiVersion no set")
	default:
		fmt.Fprintf(s.out, "TARGET: %s %s\nRULERS:\n", c.Target.APIVersion, c.Target.Kind)
		table := newTable(s)
		for _, r := range c.Rules {
			result := r.Result
			if r.Message != "" {
				result += ": " + r.Message
			}
			fmt.Fprintf(table, "    %s:\t%s\n", r.Operation, result)
		}
		// The writer below it keeps its errors.
		_ = table.Flush()
	}
	if len(c.Problems) == 0 {
		return
	}
	fmt.Fprintln(s.out, "PROBLEMS:")
	for _, p := range c.Problems {
		place := declarative.Place{File: p.File, Line: p.Line, Column: p.Column}
		rule := ""
		if p.Rule != "" {
			rule = p.Rule + ": "
		}
		fmt.Fprintf(s.out, "    %s: %s%s\n%s", place, rule, p.Message, s.excerpt(p.File, p.Line, p.Column, "        "))
	}
}
