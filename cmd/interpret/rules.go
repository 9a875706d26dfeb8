package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeinterpret/interpret/builtin"
	"github.com/kubeinterpret/interpret/builtin/crd"
	"github.com/kubeinterpret/interpret/builtin/thirdparty"
	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
	"github.com/kubeinterpret/interpret/interpreter/kinds"
	"github.com/kubeinterpret/interpret/interpreter/manifest"
	"github.com/kubeinterpret/interpret/luakube"
	"github.com/kubeinterpret/interpret/webhook"
	"github.com/kubeinterpret/interpret/webhook/conversion"
)

// ruleFlags are the flags that say which rules there are and how far they may go.
type ruleFlags struct {
	filenames []string
	recursive bool
	limits    luakube.Limits
	memory    string
	hooks     hookFlags
	crds      crdFlags
	flags     *pflag.FlagSet
}

const filenameFlag = "--filename"

// addFiles adds the flags that every mode and most subcommands share.
func (f *ruleFlags) addFiles(flags *pflag.FlagSet) {
	f.flags = flags
	f.crds = crdFlags{kstatus: kstatusDefined, guard: true, convert: true}
	flags.StringSliceVarP(&f.filenames, "filename", "f", nil, "customizations and webhook configurations: a file, a directory, a pattern, an http(s) URL, or - for standard input; may be repeated")
	flags.BoolVarP(&f.recursive, "recursive", "R", false, "descend into the directories given with -f")
}

// addLimits adds the flags for limits, which belong at the end of a help text: few need them, and who does has
// read their names in an error.
func (f *ruleFlags) addLimits(flags *pflag.FlagSet) {
	f.limits = luakube.DefaultLimits()
	flags.DurationVar(&f.limits.Time, "limit-time", f.limits.Time, "wall time of one call of a script")
	flags.Int64Var(&f.limits.Instructions, "limit-instructions", f.limits.Instructions, "instructions of one call of a script")
	flags.StringVar(&f.memory, "limit-memory", resource.NewQuantity(f.limits.Memory, resource.BinarySI).String(), "memory that one call of a script may allocate, as a quantity")
}

// engineOptions are the options of every engine that runs scripts here.
func (f *ruleFlags) engineOptions(s *session) ([]luakube.Option, error) {
	if f.flags.Changed("filename") && len(f.filenames) == 0 {
		// As a shell has it if a variable is not set. To answer without customizations would hide that.
		return nil, usage("%s: the name of the file is empty", filenameFlag)
	}
	limits := f.limits
	memory, err := resource.ParseQuantity(f.memory)
	if err != nil {
		return nil, usage("--limit-memory: %q is no quantity such as 64Mi", f.memory)
	}
	limits.Memory = memory.Value()
	if limits.Time <= 0 || limits.Instructions <= 0 || limits.Memory <= 0 {
		return nil, usage("limits must be positive, got %s", limits)
	}
	return []luakube.Option{luakube.WithLimits(limits), luakube.WithLog(slog.New(scriptLog{s.stderr}))}, nil
}

// declared is what -f names, by kind.
type declared struct {
	customizations []*declarative.Customization
	configurations []*webhook.Configuration
	definitions    []*definition.Definition
	// crds say what the definitions are good for.
	crds crdFlags
	// known are the CRDs that there are; nil if they are the definitions.
	known *definition.Set
	// converters are those in files.
	converters []*conversion.LuaConverter
}

// claimStdin looks at the flags that may name standard input.
func (f *ruleFlags) claimStdin(s *session) error {
	if err := s.claimStdin(filenameFlag, f.filenames...); err != nil {
		return err
	}
	if err := s.claimStdin(crdFlag, f.crds.names...); err != nil {
		return err
	}
	return s.claimStdin(convertersFlag, f.crds.converters...)
}

// declared reads what -f names. What is of no kind that makes rules is an error.
func (f *ruleFlags) declared(ctx context.Context, s *session) (*declared, error) {
	inputs, err := s.read(ctx, filenameFlag, f.filenames, f.recursive)
	d := &declared{crds: f.crds}
	errs := []error{err}
	for _, in := range inputs {
		errs = append(errs, d.add(in.name, s.split(in)))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if d.empty() && len(d.definitions) == 0 && len(f.filenames) > 0 {
		return nil, fmt.Errorf("%s: there is no customization in it", some(f.filenames))
	}
	beside, err := f.crds.read(ctx, s, f.recursive)
	d.definitions = append(d.definitions, beside...)
	converters, badConverters := f.crds.readConverters(ctx, s, f.recursive)
	d.converters = converters
	return d, errors.Join(err, badConverters)
}

// empty says whether there are no rules in it.
func (d *declared) empty() bool { return len(d.customizations) == 0 && len(d.configurations) == 0 }

// add takes the objects of a file. Those without a name are called after it.
func (d *declared) add(file string, docs []manifest.Document) error {
	var found declared
	var errs []error
	for i := range docs {
		errs = append(errs, found.addDocument(&docs[i]))
	}
	nameByFile(file, found.customizations, func(c *declarative.Customization) *string { return &c.Name })
	nameByFile(file, found.configurations, func(c *webhook.Configuration) *string { return &c.Name })
	d.customizations = append(d.customizations, found.customizations...)
	d.configurations = append(d.configurations, found.configurations...)
	d.definitions = append(d.definitions, found.definitions...)
	return errors.Join(errs...)
}

// addDocument has each kind read by who knows it. The error joins one for each object that cannot be used.
func (d *declared) addDocument(doc *manifest.Document) error {
	// CRDs are long, so they are not read a second time by those who know the others.
	definitions, crdErr := definition.FromDocument(doc)
	d.definitions = append(d.definitions, definitions...)
	if len(definitions) > 0 && crdErr == nil {
		return nil
	}
	// What is no YAML is told once.
	if object, err := doc.Object(); object == nil || err != nil {
		return err
	}
	customizations, err := declarative.FromDocument(doc)
	d.customizations = append(d.customizations, customizations...)
	configurations, hookErr := webhook.FromDocument(doc)
	d.configurations = append(d.configurations, configurations...)
	return unread(reading{err, declarative.ErrOtherKind}, reading{hookErr, webhook.ErrOtherKind}, reading{crdErr, definition.ErrOtherKind})
}

// reading is what became of a document in the hands of who knows one kind.
type reading struct {
	err error
	// otherKind is the error of an object that is of another kind.
	otherKind error
}

// unread joins the errors of a document. That an object is of another kind is one only if all say so, and is told
// in the words of the first.
func unread(readings ...reading) error {
	strangers := map[manifest.Error][]error{}
	var errs []error
	for _, r := range readings {
		for _, e := range each(r.err) {
			var at *manifest.Error
			if !errors.Is(e, r.otherKind) || !errors.As(e, &at) {
				errs = append(errs, e)
				continue
			}
			place := manifest.Error{File: at.File, Line: at.Line, Column: at.Column}
			strangers[place] = append(strangers[place], e)
			if said := strangers[place]; len(said) == len(readings) {
				errs = append(errs, said[0])
			}
		}
	}
	return errors.Join(errs...)
}

// nameByFile names the objects that have no name after their file, so that messages can name them.
func nameByFile[T any](file string, list []T, name func(T) *string) {
	unnamed := 0
	for _, o := range list {
		at := name(o)
		if *at != "" {
			continue
		}
		unnamed++
		*at = file
		if unnamed > 1 {
			*at = fmt.Sprintf("%s#%d", file, unnamed)
		}
	}
}

// rules is who answers.
type rules struct {
	*interpreter.Chain
	customizations *declarative.Layer
	// webhooks is nil if there are none.
	webhooks *webhook.Layer
	versions *otherVersions
	// kinds are those that there are as far as is known without a server.
	kinds *kinds.Kinds
}

// close closes the connections to hooks.
func (r *rules) close() {
	if r == nil {
		return
	}
	r.versions.close()
	if r.webhooks != nil {
		r.webhooks.Close()
	}
}

// newEngine makes the engine of customizations in files. It knows the module that bundled customizations share,
// so that a copy of one runs.
func newEngine(options []luakube.Option) (*luakube.Engine, error) {
	return luakube.New(append([]luakube.Option{luakube.WithScriptModule(thirdparty.ModuleName, thirdparty.Module())}, options...)...)
}

// rules makes the rules of what was declared and of what comes along. What does not load is an error: the answer
// of another layer is not what was asked for. Whoever gets the rules closes them.
func (d *declared) rules(options []luakube.Option, hooks hookFlags) (*rules, error) {
	engine, err := newEngine(options)
	if err != nil {
		return nil, err
	}
	r := &rules{}
	if r.customizations, err = declarative.New(d.customizations, declarative.WithEngine(engine)); err != nil {
		err = &failure{err}
	}
	webhooks, hookErr := hooks.layer(d.configurations)
	if err := errors.Join(err, hookErr); err != nil {
		return nil, err
	}
	var asked interpreter.Layer
	if webhooks != nil {
		r.webhooks, asked = webhooks, webhooks
	}
	converters, err := compileConverters(engine, d.converters)
	definitions := d.known
	if definitions == nil && len(d.definitions) > 0 && err == nil {
		if definitions, err = definition.NewSet(d.definitions...); err != nil {
			err = &failure{err}
		}
	}
	r.kinds = kindsWith(definitions)
	var ofCRDs []interpreter.Layer
	var checks []interpreter.Check
	if d.crds.guard && d.crds.guardDependencies {
		checks = append(checks, r.kinds.Guard())
	}
	if definitions == nil && d.crds.kstatus == kstatusAny {
		ofCRDs = []interpreter.Layer{crd.KStatus(nil)}
	}
	if definitions != nil && err == nil {
		ofCRDs = layersOfCRDs(definitions, d.crds.kstatus)
		if d.crds.guard {
			checks = append(checks, definition.Guard(definitions))
		}
		if d.crds.convert {
			r.versions, err = newOtherVersions(definitions, func() *conversion.Set { return converters }, webhook.WithResolver(hooks))
		}
	}
	if err != nil {
		r.close()
		return nil, err
	}
	r.Chain = newChain(r.customizations, asked, thirdparty.New(options...), r.versions, ofCRDs...).WithChecks(checks...)
	return r, nil
}

// newChain puts the layers in their order: what a user wrote before what comes along, what is about one kind
// before what is about all, and before the latter what is made of CRDs. Layers that are nil are left out. What is for
// all kinds is so for all versions.
func newChain(customizations, webhooks interpreter.Layer, bundle *thirdparty.Bundle, versions *otherVersions, ofCRDs ...interpreter.Layer) *interpreter.Chain {
	layers := []interpreter.Layer{
		versions.around(customizations),
		versions.around(webhooks),
		versions.around(bundle.Layer()),
		bundle.Extra(),
		builtin.Extra(),
		versions.around(builtin.Layer()),
	}
	layers = append(layers, ofCRDs...)
	return interpreter.NewChain(append(layers, builtin.Fallback())...)
}

// load reads what -f names and makes the rules, which the caller closes.
func (f *ruleFlags) load(ctx context.Context, s *session) (*rules, error) {
	options, err := f.engineOptions(s)
	if err != nil {
		return nil, err
	}
	d, err := f.declared(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := f.hooks.check(d.configurations, d.definitions); err != nil {
		return nil, err
	}
	r, err := d.rules(options, f.hooks)
	if err != nil {
		return nil, err
	}
	for _, conflict := range r.customizations.Conflicts() {
		s.warn("%s", conflict.Error())
	}
	return r, nil
}
