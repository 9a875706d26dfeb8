package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/builtin/crd"
	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
)

const crdFlag = "--crd"

// crdFlags say which CRDs there are beside those among -f, and what they are good for.
type crdFlags struct {
	names   []string
	kstatus kstatusScope
	guard   bool
	// guardDependencies has the guard look at dependencies as well, which needs no CRD.
	guardDependencies bool
	// convert has rules for one version of a kind answer for its other versions, with converters in files before webhooks.
	convert    bool
	converters []string
}

// add adds the flags for commands that ask rules.
func (f *crdFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.names, "crd", nil, "CustomResourceDefinitions, for kinds that no other rule is about, and to check with; files as for -f, among which they may be as well; may be repeated")
	f.addKStatus(flags)
	flags.BoolVar(&f.guard, "guard", f.guard, "with a CRD, objects and statuses that rules give must keep to its schema")
	must(cmd.MarkFlagFilename("crd", "yaml", "yml", "json"))
	f.addConvert(cmd)
	f.addConverters(cmd, "converters of CRD versions, of the kind Converter, which are asked rather than conversion webhooks: as for -f; may be repeated")
}

// read reads the CRDs that the flag names. What else is in the files is left alone, such as a kustomization.
func (f *crdFlags) read(ctx context.Context, s *session, recursive bool) ([]*definition.Definition, error) {
	inputs, err := s.read(ctx, crdFlag, f.names, recursive)
	errs := []error{err}
	var list []*definition.Definition
	for _, in := range inputs {
		docs := s.split(in)
		for i := range docs {
			found, err := definition.FromDocument(&docs[i])
			list = append(list, found...)
			for _, e := range each(err) {
				if !errors.Is(e, definition.ErrOtherKind) {
					errs = append(errs, e)
				}
			}
		}
	}
	err = errors.Join(errs...)
	if err == nil && len(list) == 0 && len(f.names) > 0 {
		err = fmt.Errorf("%s: there is no %s in it", some(f.names), definition.Kind)
	}
	return list, err
}

// layersOfCRDs answer from what CRDs say, in the order in which they are asked.
func layersOfCRDs(definitions definition.Definitions, kstatus kstatusScope) []interpreter.Layer {
	layers := []interpreter.Layer{crd.New(definitions)}
	switch kstatus {
	case kstatusDefined:
		layers = append(layers, crd.KStatus(definitions, crd.OnlyDefined()))
	case kstatusAny:
		layers = append(layers, crd.KStatus(definitions))
	}
	return layers
}

// kstatusScope says which custom resources are judged by the conventions about conditions where there is no rule for
// their health.
type kstatusScope int

const (
	kstatusNone kstatusScope = iota
	// kstatusDefined are those whose CRD is known. Of others, "no rule" is more than a guess.
	kstatusDefined
	kstatusAny
)

// addKStatus adds the flag, for commands that know few CRDs or none.
func (f *crdFlags) addKStatus(flags *pflag.FlagSet) {
	flags.Var(kstatusValue{&f.kstatus}, "kstatus", "judge the health of custom resources by the conventions about conditions where there is no rule: of any, or with =false of none; without this flag, of those whose CRD is known")
	flags.Lookup("kstatus").NoOptDefVal = "true"
}

// kstatusValue is the flag.
type kstatusValue struct{ to *kstatusScope }

func (v kstatusValue) String() string {
	if v.to != nil && *v.to == kstatusAny {
		return "true"
	}
	return "" // The help says what it is without.
}

func (v kstatusValue) Set(text string) error {
	yes, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("want true or false, got %q", text)
	}
	*v.to = kstatusNone
	if yes {
		*v.to = kstatusAny
	}
	return nil
}

func (v kstatusValue) Type() string { return "bool" }

// changingDefinitions are CRDs in files that are read again.
type changingDefinitions struct {
	set atomic.Pointer[definition.Set]
}

// Definition finds the CRD of a group and kind.
func (c *changingDefinitions) Definition(kind schema.GroupKind) (*definition.Definition, error) {
	if set := c.set.Load(); set != nil {
		return set.Definition(kind)
	}
	return nil, nil
}

// All lists the CRDs.
func (c *changingDefinitions) All() ([]*definition.Definition, error) {
	if set := c.set.Load(); set != nil {
		return set.All()
	}
	return nil, nil
}

// versionsIn gives the versions of a kind, none if there is no CRD for it.
func versionsIn(definitions definition.Definitions) func(schema.GroupKind) map[string]declarative.Fields {
	return func(kind schema.GroupKind) map[string]declarative.Fields {
		d, err := definitions.Definition(kind)
		if d == nil || err != nil {
			return nil
		}
		versions := map[string]declarative.Fields{}
		for _, v := range d.Versions() {
			versions[v.Name] = v
		}
		return versions
	}
}

// checkedVersion is the line of one version of a CRD in the report.
type checkedVersion struct {
	Name   string `json:"name"`
	Result string `json:"result"`
	// Message is the first problem of the version.
	Message string `json:"message,omitempty"`
}

// newCheckedCRD is about a CRD.
func newCheckedCRD(d *definition.Definition) *checked {
	file, line := d.File()
	return &checked{Source: d.Name(), File: file, Line: line, definition: d}
}

// judgeCRDs looks for problems in the CRDs, and tells which there are.
func judgeCRDs(ctx context.Context, list []*checked) (*definition.Set, error) {
	var definitions []*definition.Definition
	for _, c := range list {
		if c.definition != nil {
			definitions = append(definitions, c.definition)
			c.judgeCRD(ctx)
		}
	}
	return definition.NewSet(definitions...)
}

func (c *checked) judgeCRD(ctx context.Context) {
	for _, p := range c.definition.Problems(ctx) {
		c.Problems = append(c.Problems, problem{Field: p.Field, Message: p.Message, File: c.File, Line: p.Line, Column: p.Column})
	}
	slices.SortStableFunc(c.Problems, func(a, b problem) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	for _, v := range c.definition.Versions() {
		line := checkedVersion{Name: v.Name, Result: resultPass}
		for _, p := range c.Problems {
			if rest, about := strings.CutPrefix(p.Field, v.Path()); about && (rest == "" || rest[0] == '.') {
				line.Result, line.Message = resultError, p.Field+": "+p.Message
				break
			}
		}
		c.Versions = append(c.Versions, line)
	}
}
