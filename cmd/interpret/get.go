package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter/kinds"
)

// The output formats that only interpret get has.
const (
	outputTable = "table"
	outputWide  = "wide"
	outputName  = "name"
)

// defaultChunk is how many objects are asked for at a time, as kubectl does.
const defaultChunk = 500

const fromClusterFlag = "--from-cluster"

// serverFlags are the flags of commands that ask an API server, and with its rules.
type serverFlags struct {
	ruleFlags
	config *genericclioptions.ConfigFlags
	// fromCluster has the customizations on the server count.
	fromCluster bool
	kstatus     bool
}

// getOptions are the flags of interpret get.
type getOptions struct {
	serverFlags
	allNamespaces bool
	labels        string
	fields        string
	output        string
	watch         bool
	chunk         int64
}

func newGet(s *session) *cobra.Command {
	o := &getOptions{serverFlags: serverFlags{config: genericclioptions.NewConfigFlags(true)}, output: outputTable}
	cmd := &cobra.Command{
		Use:   "get (TYPE[,TYPE]... [NAME]... | TYPE/NAME...)",
		Short: "Show what the rules say about objects on an API server",
		Long: `Show what the rules say about objects on an API server: their health and the reason for it, how many replicas they
ask for and what one of them needs, the objects that they depend on and whether these are there, and who said so.
Nothing on the server is changed.

The rules are the ones that are built in, and before them the customizations on the server, or the ones given with -f.
Customizations are read once. What the CRDs of the server say counts where there is no rule, and so does, for the
health, what kstatus makes of conditions: its reasons begin with KStatus. Hooks of webhook configurations are asked
only if -f names them.

The API server is found as kubectl finds it. TYPE is a plural, a singular, a short name, a kind or a category, with
version and group if need be. Columns:

  HEALTH, REASON  Healthy, Progressing, Degraded, Suspended or Unknown, and why; - if there is no rule
  REPLICAS        the number, or the number of each component
  NEEDS           what one replica requests
  DEPENDENCIES    how many are there of how many; of those that are not, the names. What may not be looked up is unknown.
  BY              the layers that told health, replicas and dependencies, in this order; one name if it is the same

-o wide adds the columns that the server prints for the type, the rules' names, the nodes that replicas may run on,
and what the health says in full. -o json and -o yaml have everything. With --watch, a line or a document follows for
every change of an object.`,
		Example: strings.TrimPrefix(`
  # How are the Deployments of the present namespace?
  interpret get deploy

  # One object in full, by customizations that are not on the server.
  interpret get widgets.demo.io/main -f customizations -o yaml

  # Everything everywhere that is labelled app=shop.
  interpret get all -A -l app=shop`, "\n"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), s, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "objects in all namespaces")
	flags.StringVarP(&o.labels, "selector", "l", "", "objects with such labels, as in app=shop,tier!=test")
	flags.StringVar(&o.fields, "field-selector", "", "objects with such fields, as in metadata.name=web; which ones there are depends on the type")
	formats := []string{outputTable, outputWide, outputJSON, outputYAML, outputName}
	flags.VarP(outputValue{&o.output, formats}, "output", "o", "table, wide, json, yaml or name")
	must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)))
	flags.BoolVarP(&o.watch, "watch", "w", false, "go on and show what changes, until interrupted")
	flags.Int64Var(&o.chunk, "chunk-size", defaultChunk, "how many objects are asked for at a time; 0 for all at once")
	o.addFiles(flags)
	flags.BoolVar(&o.fromCluster, "from-cluster", true, "with the customizations on the server; without, if -f is given, unless it is said")
	flags.StringSliceVar(&o.crds.names, "crd", nil, "CustomResourceDefinitions in place of those on the server, as for -f; may be repeated")
	flags.BoolVar(&o.kstatus, "kstatus", true, "where there is no rule for the health of a custom resource, judge by the conventions about conditions")
	o.crds.addConvert(cmd)
	o.hooks.add(cmd)
	o.config.AddFlags(flags)
	o.addLimits(flags)
	must(cmd.MarkFlagFilename("filename", "yaml", "yml", "json"))
	must(cmd.MarkFlagFilename("kubeconfig"))
	return cmd
}

// target is what is to be shown of a resource: some objects by name, or if there are none, all that a selector finds.
type target struct {
	resource *kinds.Resource
	names    []string
}

// parsedArgs are the arguments as they were written.
type parsedArgs struct {
	typ  string
	name string
}

// parseArgs takes the arguments apart as kubectl does. A name is empty where all objects are meant.
func parseArgs(args []string) ([]parsedArgs, error) {
	if len(args) == 0 {
		return nil, usage("get what? Give a type, such as pods, and a name if one object is meant; interpret resources lists types")
	}
	var list []parsedArgs
	slashes := 0
	for _, arg := range args {
		if strings.Contains(arg, "/") {
			slashes++
		}
	}
	switch {
	case slashes > 0 && slashes < len(args):
		return nil, usage("TYPE/NAME and TYPE NAME do not go together")
	case slashes > 0:
		for _, arg := range args {
			types, name, _ := strings.Cut(arg, "/")
			if types == "" || name == "" || strings.Contains(name, "/") || strings.Contains(types, ",") {
				return nil, usage("%q is no TYPE/NAME", arg)
			}
			list = append(list, parsedArgs{types, name})
		}
		return list, nil
	}
	names := args[1:]
	if len(names) == 0 {
		names = []string{""}
	} else if slices.Contains(names, "") {
		return nil, usage("the name of an object is empty")
	}
	for _, typ := range strings.Split(args[0], ",") {
		if typ == "" {
			return nil, usage("%q has an empty type", args[0])
		}
		for _, name := range names {
			list = append(list, parsedArgs{typ, name})
		}
	}
	return list, nil
}

// complete looks for what is wrong with the command line before anything is done.
func (o *getOptions) complete(list []parsedArgs) error {
	named := list[0].name != ""
	switch {
	case named && o.allNamespaces:
		return usage("an object has its name in one namespace; leave out --all-namespaces, or the name")
	case named && (o.labels != "" || o.fields != ""):
		return usage("a name and a selector exclude each other")
	case o.watch && (named && len(list) > 1 || !named && len(list) > 1):
		return usage("--watch is about one type, or one object")
	case o.watch && o.output == outputName:
		return usage("--watch shows what changes, and a name does not")
	case o.chunk < 0:
		return usage("--chunk-size must not be negative, got %d", o.chunk)
	}
	if _, err := labels.Parse(o.labels); err != nil {
		return usage("--selector: %w", err)
	}
	if _, err := fields.ParseSelector(o.fields); err != nil {
		return usage("--field-selector: %w", err)
	}
	return nil
}

// run shows what was asked for. What could be read is shown also if something else could not.
func (o *getOptions) run(ctx context.Context, s *session, args []string) error {
	list, err := parseArgs(args)
	if err != nil {
		return err
	}
	if err := o.complete(list); err != nil {
		return err
	}
	if err := o.claimStdin(s); err != nil {
		return err
	}
	server, err := newAPIReader(o.config, s)
	if err != nil {
		return err
	}
	targets, err := server.targets(ctx, list)
	if err != nil {
		return err
	}
	if o.watch && len(targets) > 1 {
		return usage("--watch is about one type, and %q is %d", list[0].typ, len(targets))
	}
	rules, err := o.rules(ctx, s, server, targets)
	if err != nil {
		return err
	}
	defer rules.close()
	namespace, err := o.namespace()
	if err != nil {
		return err
	}
	g := &getter{
		session: s, server: server, rules: rules, output: o.output,
		options: listOptions{namespace: namespace, labels: o.labels, fields: o.fields, chunk: o.chunk},
	}
	if o.watch {
		return g.watch(ctx, targets[0])
	}
	return g.show(ctx, targets)
}

// namespace is the one that is looked into, empty for all.
func (o *getOptions) namespace() (string, error) {
	if o.allNamespaces {
		return "", nil
	}
	namespace, _, err := o.config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("kubeconfig: %w", err)
	}
	return namespace, nil
}

// rules are those of the flags, of the server, and what comes along.
func (o *serverFlags) rules(ctx context.Context, s *session, server *apiReader, targets []target) (*rules, error) {
	options, err := o.engineOptions(s)
	if err != nil {
		return nil, err
	}
	d, err := o.declared(ctx, s)
	if err != nil {
		return nil, err
	}
	if o.fromCluster && (len(o.filenames) == 0 || o.flags.Changed("from-cluster")) {
		found, err := server.customizations(ctx)
		if err != nil {
			return nil, fmt.Errorf("customizations on the server: %w; give the rules with -f, or do without these with %s=false", err, fromClusterFlag)
		}
		for _, c := range found {
			d.customizations = append(d.customizations, declarative.From(c))
		}
	}
	definitions, err := server.definitions(ctx, targets, d.definitions)
	if err != nil {
		return nil, err
	}
	all, _ := definitions.All() // A set knows.
	if err := o.hooks.check(d.configurations, all); err != nil {
		return nil, err
	}
	d.known, d.crds.kstatus, d.crds.guard = definitions, kstatusNone, false
	if o.kstatus {
		// Whether the server has a CRD is known even if it may not be read.
		d.crds.kstatus = kstatusAny
	}
	r, err := d.rules(options, o.hooks)
	if err != nil {
		return nil, err
	}
	for _, conflict := range r.customizations.Conflicts() {
		s.warn("%s", conflict.Error())
	}
	return r, nil
}

// targets finds the resources that the arguments name. Of a category, those that can be listed are meant.
func (a *apiReader) targets(ctx context.Context, list []parsedArgs) ([]target, error) {
	var targets []target
	var errs []error
	for _, arg := range list {
		resources, err := a.resources(ctx, arg.typ)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, r := range resources {
			i := slices.IndexFunc(targets, func(t target) bool { return t.resource.Name == r.Name })
			if i < 0 {
				i = len(targets)
				targets = append(targets, target{resource: r})
			}
			if arg.name != "" {
				targets[i].names = append(targets[i].names, arg.name)
			}
		}
	}
	return targets, errors.Join(errs...)
}

func (a *apiReader) resources(ctx context.Context, typ string) ([]*kinds.Resource, error) {
	r, err := a.kinds.One(ctx, typ)
	var ambiguous *kinds.AmbiguousError
	switch {
	case errors.As(err, &ambiguous) && ambiguous.Category:
		list := slices.DeleteFunc(slices.Clone(ambiguous.Candidates), func(r *kinds.Resource) bool { return !r.HasVerb("list") })
		return list, nil
	case err != nil:
		return nil, err
	}
	if !r.HasVerb("list") && !r.HasVerb("get") {
		return nil, fmt.Errorf("%s can be neither got nor listed", r.Short())
	}
	return []*kinds.Resource{r}, nil
}
