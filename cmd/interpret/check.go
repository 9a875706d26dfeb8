package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
	"github.com/kubeinterpret/interpret/interpreter/manifest"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/luakube"
	"github.com/kubeinterpret/interpret/webhook"
)

// The results of a rule under --check.
const (
	resultUnset = "UNSET"
	resultPass  = "PASS"
	resultError = "ERROR"
)

// checkDocument is the report of --check, by kind.
type checkDocument struct {
	// Customizations has what is of no kind that is known, too.
	Customizations        []*checked `json:"customizations"`
	WebhookConfigurations []*checked `json:"webhookConfigurations,omitempty"`
	Definitions           []*checked `json:"customResourceDefinitions,omitempty"`
}

// checked is one object and what was found out about it.
type checked struct {
	// Source is the object's name, or its file if it has none.
	Source string `json:"source"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	// Target is nil for what is no customization.
	Target   *v1alpha1.CustomizationTarget `json:"target,omitempty"`
	Rules    []checkedRule                 `json:"rules,omitempty"`
	Webhooks []checkedWebhook              `json:"webhooks,omitempty"`
	Versions []checkedVersion              `json:"versions,omitempty"`
	Problems []problem                     `json:"problems,omitempty"`

	// At most one of these is there.
	customization *declarative.Customization
	configuration *webhook.Configuration
	definition    *definition.Definition
	// quiet says that nobody asked about it, so that it is left out if nothing is wrong with it.
	quiet bool
}

// checkedRule is the line of one operation in the report.
type checkedRule struct {
	Operation interpreter.Operation `json:"operation"`
	Rule      string                `json:"rule"`
	Result    string                `json:"result"`
	// Message is the first problem of the rule.
	Message string `json:"message,omitempty"`
}

// checkedWebhook is the line of one webhook in the report.
type checkedWebhook struct {
	Name   string `json:"name"`
	Result string `json:"result"`
	// Message is the first problem of the webhook that is not a warning.
	Message string `json:"message,omitempty"`
}

// problem is a mistake with its place, as far as that is known.
type problem struct {
	// Rule is the key of a customization's rule, Field the path of a field of something else.
	Rule    string `json:"rule,omitempty"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
	// Warning says that the problem does not make the check fail.
	Warning bool   `json:"warning,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
}

// checkAll reports on every object that -f names. What cannot be read is left out of the report, and is an
// error beside it.
func (o *options) checkAll(ctx context.Context, s *session) error {
	if len(o.filenames) == 0 && len(o.crds.names) == 0 {
		return usage("--check needs customizations, webhook configurations or CRDs; name them with -f")
	}
	if err := o.ruleFlags.claimStdin(s); err != nil {
		return err
	}
	options, err := o.engineOptions(s)
	if err != nil {
		return err
	}
	list, err := o.checkedObjects(ctx, s)
	if err == nil && len(list) == 0 && len(o.filenames) > 0 {
		err = fmt.Errorf("%s: there is no customization in it", some(o.filenames))
	}
	// CRDs beside what is checked are there to check with, and told of only if something is wrong with them.
	beside, crdErr := o.crds.read(ctx, s, o.recursive)
	err = errors.Join(err, crdErr)
	for _, d := range beside {
		c := newCheckedCRD(d)
		c.quiet = len(o.filenames) > 0
		list = append(list, c)
	}
	if len(list) == 0 {
		return err
	}
	// The objects that could be read are reported even if others could not.
	if failed := judge(ctx, list, options); failed != nil {
		return errors.Join(err, failed)
	}
	list = slices.DeleteFunc(list, func(c *checked) bool { return c.quiet && len(c.Problems) == 0 })
	problems := 0
	for _, c := range list {
		for _, p := range c.Problems {
			if !p.Warning {
				problems++
			}
		}
	}
	if o.output != "" {
		if err := s.document(o.output, newCheckDocument(list)); err != nil {
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
			// What is no YAML cannot be judged. What is YAML, and yet of no kind that is known, can: it is neither.
			if _, err := docs[i].Object(); err != nil {
				errs = append(errs, err)
				continue
			}
			list = append(list, checkedIn(&docs[i])...)
		}
	}
	return list, errors.Join(errs...)
}

// checkedIn gives the objects of a document in their order.
func checkedIn(doc *manifest.Document) []*checked {
	var found declared
	var list []*checked
	err := found.addDocument(doc)
	for _, c := range found.customizations {
		list = append(list, newChecked(c))
	}
	for _, c := range found.configurations {
		list = append(list, newCheckedHooks(c))
	}
	for _, d := range found.definitions {
		list = append(list, newCheckedCRD(d))
	}
	for _, e := range each(err) {
		list = append(list, newUnknown(doc, e))
	}
	slices.SortStableFunc(list, func(a, b *checked) int { return cmp.Compare(a.Line, b.Line) })
	return list
}

// newCheckDocument sorts objects by kind.
func newCheckDocument(list []*checked) *checkDocument {
	d := &checkDocument{Customizations: []*checked{}}
	for _, c := range list {
		switch {
		case c.configuration != nil:
			d.WebhookConfigurations = append(d.WebhookConfigurations, c)
		case c.definition != nil:
			d.Definitions = append(d.Definitions, c)
		default:
			d.Customizations = append(d.Customizations, c)
		}
	}
	return d
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

// newCheckedHooks is about a webhook configuration.
func newCheckedHooks(c *webhook.Configuration) *checked {
	file, line, _ := c.Place("")
	source := c.Name
	if source == "" {
		source = file
	}
	return &checked{Source: source, File: file, Line: line, configuration: c}
}

// newUnknown is about an object that is of no kind that is known, or cannot be read as what it is.
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

// judge looks for problems in the objects, and gives each its own.
func judge(ctx context.Context, list []*checked, options []luakube.Option) error {
	judgeHooks(list)
	definitions, err := judgeCRDs(ctx, list)
	if err != nil {
		return &failure{err}
	}
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
	for _, p := range append(problems, declarative.CheckFields(customizations, versionsIn(definitions))...) {
		owner := ownerOf(p, list)
		owner.Problems = append(owner.Problems, problem{
			Rule: p.Rule, Message: p.Message, File: p.Place.File, Line: p.Place.Line, Column: p.Place.Column,
		})
	}
	for _, c := range list {
		if c.customization != nil {
			c.Rules = c.rules()
		}
	}
	return nil
}

// judgeHooks looks for problems in the webhook configurations.
func judgeHooks(list []*checked) {
	var configurations []*webhook.Configuration
	owners := map[*webhook.Configuration]*checked{}
	for _, c := range list {
		if c.configuration != nil {
			configurations = append(configurations, c.configuration)
			owners[c.configuration] = c
			for i := range c.configuration.Webhooks {
				c.Webhooks = append(c.Webhooks, checkedWebhook{Name: c.configuration.Webhooks[i].Name, Result: resultPass})
			}
		}
	}
	for _, p := range webhook.Check(configurations) {
		c := owners[p.Configuration]
		c.Problems = append(c.Problems, problem{
			Field: p.Field, Message: p.Message, Warning: p.Warning, File: p.File, Line: p.Line, Column: p.Column,
		})
		if p.Webhook < 0 || p.Warning || c.Webhooks[p.Webhook].Result == resultError {
			continue
		}
		c.Webhooks[p.Webhook].Result, c.Webhooks[p.Webhook].Message = resultError, p.Field+": "+p.Message
	}
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
	case c.configuration != nil:
		fmt.Fprintln(s.out, "WEBHOOKS:")
		table := newTable(s)
		for _, w := range c.Webhooks {
			fmt.Fprintf(table, "    %s:\t%s\n", w.Name, joinedResult(w.Result, w.Message))
		}
		_ = table.Flush()
	case c.definition != nil:
		fmt.Fprintln(s.out, "VERSIONS:")
		table := newTable(s)
		for _, v := range c.Versions {
			fmt.Fprintf(table, "    %s:\t%s\n", v.Name, joinedResult(v.Result, v.Message))
		}
		_ = table.Flush()
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
			fmt.Fprintf(table, "    %s:\t%s\n", r.Operation, joinedResult(r.Result, r.Message))
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
		about := p.Rule + p.Field
		if about != "" {
			about += ": "
		}
		if p.Warning {
			about = "warning: " + about
		}
		fmt.Fprintf(s.out, "    %s: %s%s\n%s", place, about, p.Message, s.excerpt(p.File, p.Line, p.Column, "        "))
	}
}

// joinedResult is a result with its message, if there is one.
func joinedResult(result, message string) string {
	if message == "" {
		return result
	}
	return result + ": " + message
}
