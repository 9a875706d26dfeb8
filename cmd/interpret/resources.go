package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
	"github.com/kubeinterpret/interpret/interpreter/kinds"
)

// resourceOptions are the flags of interpret resources.
type resourceOptions struct {
	serverFlags
	group      string
	namespaced bool
	sortBy     string
	categories []string
	verbs      []string
	noHeaders  bool
	output     string
}

func newResources(s *session) *cobra.Command {
	o := &resourceOptions{serverFlags: serverFlags{config: genericclioptions.NewConfigFlags(true)}, output: outputTable}
	cmd := &cobra.Command{
		Use:   "resources [NAME]...",
		Short: "List the resources that there are, by what names, and who answers about them",
		Long: `List the resources that there are, as kubectl api-resources does, and for each which layer answers which operation.
A NAME is a plural, a singular, a short name, a kind or a category, with version and group if need be, in any letter
case; then all versions that fit are listed. Without one, that is the preferred version of every resource.

Known are the resources of Kubernetes itself, and those of CRDs given with --crd or found among -f. With
--from-cluster, or a flag that names an API server, that server is asked instead, and its customizations count. A
layer answers where its name stands before the operations; layers that answer about all kinds are listed, too.`,
		Example: strings.TrimPrefix(`
  interpret resources
  interpret resources deploy
  interpret resources --crd crds -R --api-group demo.io
  interpret resources all --from-cluster -o wide`, "\n"),
		ValidArgsFunction: completeResources,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), s, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&o.group, "api-group", "", `resources of this group; "" is the core group`)
	flags.BoolVar(&o.namespaced, "namespaced", true, "resources whose objects are in namespaces, or with =false those whose are not; without this flag, both")
	flags.StringSliceVar(&o.categories, "categories", nil, "resources in all these categories")
	flags.StringSliceVar(&o.verbs, "verbs", nil, "resources with which all this can be done, such as list,watch")
	sorts := []string{"name", "kind"}
	flags.Var(outputValue{&o.sortBy, sorts}, "sort-by", "name or kind; without it, by group and priority")
	must(cmd.RegisterFlagCompletionFunc("sort-by", cobra.FixedCompletions(sorts, cobra.ShellCompDirectiveNoFileComp)))
	flags.BoolVar(&o.noHeaders, "no-headers", false, "without the line of column names")
	formats := []string{outputTable, outputWide, outputJSON, outputYAML, outputName}
	flags.VarP(outputValue{&o.output, formats}, "output", "o", "table, wide, json, yaml or name")
	must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)))
	o.addFiles(flags)
	o.crds.add(cmd)
	flags.BoolVar(&o.fromCluster, "from-cluster", false, "ask the API server that kubectl would ask")
	o.config.AddFlags(flags)
	o.addLimits(flags)
	must(cmd.MarkFlagFilename("filename", "yaml", "yml", "json"))
	must(cmd.MarkFlagFilename("kubeconfig"))
	return cmd
}

// resourcesDocument lists resources.
type resourcesDocument struct {
	Resources []listedResource `json:"resources"`
}

// listedResource is a resource and who answers about its kind.
type listedResource struct {
	Name       string   `json:"name"`
	Singular   string   `json:"singularName"`
	ShortNames []string `json:"shortNames,omitempty"`
	kindRules
	Namespaced bool     `json:"namespaced"`
	Verbs      []string `json:"verbs,omitempty"`
	Categories []string `json:"categories,omitempty"`

	resource *kinds.Resource
}

// onServer says whether a server is asked. A flag that names one means that.
func (o *resourceOptions) onServer() bool {
	return o.fromCluster || slices.ContainsFunc([]string{"kubeconfig", "context", "cluster", "server"}, o.flags.Changed)
}

func (o *resourceOptions) run(ctx context.Context, s *session, args []string) error {
	if err := o.claimStdin(s); err != nil {
		return err
	}
	found, asked, err := o.find(ctx, s, args)
	if err != nil {
		return err
	}
	defer asked.close()
	doc := resourcesDocument{Resources: []listedResource{}}
	for _, r := range found {
		if o.wants(r) {
			doc.Resources = append(doc.Resources, listedResource{
				Name: r.Name.Resource, Singular: r.Singular, ShortNames: r.ShortNames, Namespaced: r.Namespaced,
				Verbs: r.Verbs, Categories: r.Categories, kindRules: newKindRules(asked.Chain, r.Kind), resource: r,
			})
		}
	}
	switch o.sortBy {
	case "name":
		slices.SortStableFunc(doc.Resources, func(a, b listedResource) int { return cmp.Compare(a.Name, b.Name) })
	case "kind":
		slices.SortStableFunc(doc.Resources, func(a, b listedResource) int { return cmp.Compare(a.Kind, b.Kind) })
	}
	return o.print(s, &doc, asked)
}

// find finds the resources that the arguments name, and who answers.
func (o *resourceOptions) find(ctx context.Context, s *session, args []string) ([]*kinds.Resource, *rules, error) {
	if !o.onServer() {
		known, asked, err := o.offline(ctx, s)
		if err != nil {
			return nil, nil, err
		}
		found, err := named(ctx, known, args)
		if err != nil {
			asked.close()
		}
		return found, asked, err
	}
	o.fromCluster, o.kstatus = true, o.crds.kstatus != kstatusNone
	server, err := newAPIReader(o.config, s)
	if err != nil {
		return nil, nil, err
	}
	found, err := named(ctx, server.kinds, args)
	if err != nil {
		return nil, nil, err
	}
	if err := server.kinds.Undiscovered(ctx); err != nil {
		s.warn("%v", err)
	}
	targets := make([]target, 0, len(found))
	for _, r := range found {
		targets = append(targets, target{resource: r})
	}
	asked, err := o.rules(ctx, s, server, targets)
	return found, asked, err
}

// offline knows the kinds of Kubernetes and of the CRDs in files.
func (f *ruleFlags) offline(ctx context.Context, s *session) (*kinds.Kinds, *rules, error) {
	options, err := f.engineOptions(s)
	if err != nil {
		return nil, nil, err
	}
	d, err := f.declared(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	asked, err := d.rules(options, f.hooks)
	if err != nil {
		return nil, nil, err
	}
	return asked.kinds, asked, nil
}

// kindsWith are the kinds of Kubernetes and of CRDs, which may be nil.
func kindsWith(definitions *definition.Set) *kinds.Kinds {
	if definitions == nil {
		return kinds.New(kinds.Standard())
	}
	return kinds.New(kinds.Standard(), kinds.Definitions(definitions))
}

// named are the resources that fit any of the names, each once, or without names the preferred versions of all.
func named(ctx context.Context, known *kinds.Kinds, names []string) ([]*kinds.Resource, error) {
	if len(names) == 0 {
		all, err := known.All(ctx)
		return slices.DeleteFunc(slices.Clone(all), func(r *kinds.Resource) bool { return !r.Preferred }), err
	}
	var list []*kinds.Resource
	var errs []error
	for _, name := range names {
		found, err := known.Find(ctx, name)
		if errors.Is(err, kinds.ErrInvalidName) {
			err = usage("%w", err)
		}
		errs = append(errs, err)
		for _, r := range found {
			if !slices.Contains(list, r) {
				list = append(list, r)
			}
		}
	}
	return list, errors.Join(errs...)
}

// wants says whether a resource is to be listed.
func (o *resourceOptions) wants(r *kinds.Resource) bool {
	if o.flags.Changed("api-group") && r.Name.Group != o.group || o.flags.Changed("namespaced") && r.Namespaced != o.namespaced {
		return false
	}
	for _, verb := range o.verbs {
		if !r.HasVerb(verb) {
			return false
		}
	}
	for _, category := range o.categories {
		if !slices.ContainsFunc(r.Categories, func(c string) bool { return strings.EqualFold(c, category) }) {
			return false
		}
	}
	return true
}

func (o *resourceOptions) print(s *session, doc *resourcesDocument, asked *rules) error {
	switch o.output {
	case outputJSON, outputYAML:
		return s.document(o.output, doc)
	case outputName:
		for _, r := range doc.Resources {
			fmt.Fprintln(s.out, r.resource.Short())
		}
		return nil
	}
	table := newTable(s)
	line := func(r ...string) {
		name, shortNames, apiVersion, namespaced, kind, verbs, categories, answers := r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7]
		cells := []string{name, shortNames, apiVersion, namespaced, kind}
		if o.output == outputWide {
			cells = append(cells, verbs, categories)
		}
		fmt.Fprintln(table, strings.Join(append(cells, answers), "\t"))
	}
	if !o.noHeaders {
		line("NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND", "VERBS", "CATEGORIES", "ANSWERS")
	}
	for i := range doc.Resources {
		r := &doc.Resources[i]
		line(r.Name, strings.Join(r.ShortNames, ","), r.APIVersion, fmt.Sprint(r.Namespaced), r.Kind,
			strings.Join(r.Verbs, ","), strings.Join(r.Categories, ","), r.answers(asked.Layers()))
	}
	return table.Flush()
}

// answers tells the layers that answer, each with its operations.
func (r *listedResource) answers(layers []interpreter.Layer) string {
	var parts []string
	for _, layer := range layers {
		if names := r.operations(layer.Name()); len(names) > 0 {
			parts = append(parts, layer.Name()+": "+strings.Join(names, ","))
		}
	}
	return orNobody(strings.Join(parts, "; "))
}

// completeResources completes the names of resources that are known without files.
func completeResources(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	all, err := named(cmd.Context(), kinds.New(kinds.Standard()), nil)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	words := make([]string, 0, len(all))
	for _, r := range all {
		words = append(words, r.Name.Resource)
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}
