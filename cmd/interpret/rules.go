package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeinterpret/interpret/builtin"
	"github.com/kubeinterpret/interpret/builtin/thirdparty"
	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/luakube"
)

// ruleFlags are the flags that say which rules there are and how far they may go.
type ruleFlags struct {
	filenames []string
	recursive bool
	limits    luakube.Limits
	memory    string
	flags     *pflag.FlagSet
}

const filenameFlag = "--filename"

// addFiles adds the flags that every mode and most subcommands share.
func (f *ruleFlags) addFiles(flags *pflag.FlagSet) {
	f.flags = flags
	flags.StringSliceVarP(&f.filenames, "filename", "f", nil, "customizations: a file, a directory, a pattern, an http(s) URL, or - for standard input; may be repeated")
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

// customizations reads the customizations that -f names. What is something else is an error.
func (f *ruleFlags) customizations(ctx context.Context, s *session) ([]*declarative.Customization, error) {
	inputs, err := s.read(ctx, filenameFlag, f.filenames, f.recursive)
	list, bad := parseCustomizations(s, inputs)
	if err := errors.Join(err, bad); err != nil {
		return nil, err
	}
	if len(list) == 0 && len(f.filenames) > 0 {
		return nil, fmt.Errorf("%s: there is no customization in it", some(f.filenames))
	}
	return list, nil
}

// parseCustomizations parses what was read. What is something else than a customization is an error.
func parseCustomizations(s *session, inputs []input) ([]*declarative.Customization, error) {
	var list []*declarative.Customization
	var errs []error
	for _, in := range inputs {
		var found []*declarative.Customization
		docs := s.split(in)
		for i := range docs {
			parsed, err := declarative.FromDocument(&docs[i])
			found = append(found, parsed...)
			errs = append(errs, err)
		}
		nameByFile(in.name, found)
		list = append(list, found...)
	}
	return list, errors.Join(errs...)
}

// nameByFile names the customizations that have no name after their file, so that messages can name them.
func nameByFile(file string, list []*declarative.Customization) {
	unnamed := 0
	for _, c := range list {
		if c.Name != "" {
			continue
		}
		unnamed++
		c.Name = file
		if unnamed > 1 {
			c.Name = fmt.Sprintf("%s#%d", file, unnamed)
		}
	}
}

// rules is who answers.
type rules struct {
	*interpreter.Chain
	customizations *declarative.Layer
}

// newEngine makes the engine of customizations in files. It knows the module that bundled customizations share,
// so that a copy of one runs.
func newEngine(options []luakube.Option) (*luakube.Engine, error) {
	return luakube.New(append([]luakube.Option{luakube.WithScriptModule(thirdparty.ModuleName, thirdparty.Module())}, options...)...)
}

// newRules makes the rules of customizations and of what comes along. A customization that does not load is an
// error: the answer of another layer is not what was asked for.
func newRules(list []*declarative.Customization, options []luakube.Option) (*rules, error) {
	engine, err := newEngine(options)
	if err != nil {
		return nil, err
	}
	customizations, err := declarative.New(list, declarative.WithEngine(engine))
	if err != nil {
		return nil, &failure{err}
	}
	return &rules{customizations: customizations, Chain: newChain(customizations, nil, thirdparty.New(options...))}, nil
}

// newChain puts the layers in their order: what a user wrote before what comes along, what is about one kind
// before what is about all. Layers that are nil are left out.
func newChain(customizations, webhooks interpreter.Layer, bundle *thirdparty.Bundle) *interpreter.Chain {
	return interpreter.NewChain(
		customizations,
		webhooks,
		bundle.Layer(),
		bundle.Extra(),
		builtin.Extra(),
		builtin.Layer(),
		builtin.Fallback(),
	)
}

// load reads the customizations and makes the rules.
func (f *ruleFlags) load(ctx context.Context, s *session) (*rules, error) {
	options, err := f.engineOptions(s)
	if err != nil {
		return nil, err
	}
	list, err := f.customizations(ctx, s)
	if err != nil {
		return nil, err
	}
	r, err := newRules(list, options)
	if err != nil {
		return nil, err
	}
	for _, conflict := range r.customizations.Conflicts() {
		s.warn("%s", conflict.Error())
	}
	return r, nil
}
