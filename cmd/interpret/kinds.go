package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/kinds"
)

// kindOptions are the flags of interpret kinds.
type kindOptions struct {
	ruleFlags
	output string
}

func newKinds(s *session) *cobra.Command {
	o := &kindOptions{}
	cmd := &cobra.Command{
		Use:   "kinds [NAME]...",
		Short: "List the kinds that there are rules for, and which layer answers which operation",
		Long: `List the kinds that there are rules for, and for each which layer answers which operation. Rules of
customizations given with -f are listed too. Rules for patterns of kinds come last; they answer where no rule in a
layer before theirs does. With NAMEs, which are as for interpret resources, only these kinds are listed.`,
		Example: strings.TrimPrefix(`
  interpret kinds
  interpret kinds deploy
  interpret kinds -f customization.yaml -o json`, "\n"),
		ValidArgsFunction: completeResources,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.list(cmd.Context(), s, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	o.addFiles(flags)
	addOutput(cmd, &o.output, outputJSON, outputYAML)
	o.crds.add(cmd)
	o.addLimits(flags)
	return cmd
}

// kindsDocument lists kinds.
type kindsDocument struct {
	Kinds []kindRules `json:"kinds"`
}

// kindRules is a kind, or a pattern of kinds, and who answers about it.
type kindRules struct {
	APIVersion string        `json:"apiVersion"`
	Kind       string        `json:"kind"`
	Operations []kindAnswers `json:"operations"`
}

// kindAnswers are the rules that answer an operation: one, or more if labels decide or answers are joined.
type kindAnswers struct {
	Operation interpreter.Operation `json:"operation"`
	Answers   []source              `json:"answers"`
}

func (o *kindOptions) list(ctx context.Context, s *session, names []string) error {
	if err := o.claimStdin(s); err != nil {
		return err
	}
	rules, err := o.load(ctx, s)
	if err != nil {
		return err
	}
	defer rules.close()
	doc := kindsDocument{kindsOf(rules.Chain)}
	if len(names) > 0 {
		if doc.Kinds, err = only(ctx, rules, doc.Kinds, names); err != nil {
			return err
		}
	}
	if o.output != "" {
		return s.document(o.output, doc)
	}
	table := newTable(s)
	fmt.Fprintln(table, "KIND\tLAYER\tOPERATIONS")
	for _, k := range doc.Kinds {
		for _, layer := range rules.Layers() {
			if names := k.operations(layer.Name()); len(names) > 0 {
				fmt.Fprintf(table, "%s %s\t%s\t%s\n", k.APIVersion, k.Kind, layer.Name(), strings.Join(names, ", "))
			}
		}
	}
	return table.Flush()
}

// only are the kinds that any of the names fit: of those that there are, and of those that there are rules for, whose
// resources are guessed.
func only(ctx context.Context, rules *rules, list []kindRules, names []string) ([]kindRules, error) {
	var listed []schema.GroupVersionKind
	for _, k := range list {
		if kind := schema.FromAPIVersionAndKind(k.APIVersion, k.Kind); !strings.Contains(kind.Group+kind.Kind, "*") {
			listed = append(listed, kind)
		}
	}
	found, err := named(ctx, rules.kinds.With(kinds.Listed(listed...)), names)
	if err != nil {
		return nil, err
	}
	var fitting []kindRules
	for _, r := range found {
		fitting = append(fitting, newKindRules(rules.Chain, r.Kind))
	}
	return fitting, nil
}

// operations lists what a layer answers.
func (k *kindRules) operations(layer string) []string {
	var names []string
	for _, op := range k.Operations {
		if slices.ContainsFunc(op.Answers, func(a source) bool { return a.Layer == layer }) {
			names = append(names, string(op.Operation))
		}
	}
	return names
}

// isPattern says whether a kind stands for several.
func isPattern(k schema.GroupVersionKind) bool {
	return strings.Contains(k.Group+k.Version+k.Kind, "*")
}

// kindsOf lists the kinds that any layer names, sorted, and then the patterns.
func kindsOf(chain *interpreter.Chain) []kindRules {
	// What a layer lists is where it has rules; who is first to answer at such a place, the chain knows.
	exact, patterns := map[schema.GroupVersionKind]bool{}, map[schema.GroupVersionKind]bool{}
	groupKinds := map[schema.GroupKind]bool{}
	for _, layer := range chain.Layers() {
		lister, ok := layer.(interpreter.Lister)
		if !ok {
			continue
		}
		for _, e := range lister.Entries() {
			if isPattern(e.Kind) {
				patterns[e.Kind] = true
				continue
			}
			exact[e.Kind] = true
			groupKinds[e.Kind.GroupKind()] = true
		}
	}
	var list []kindRules
	for _, kind := range slices.SortedFunc(maps.Keys(exact), compareKinds) {
		list = append(list, newKindRules(chain, kind))
	}
	for _, kind := range slices.SortedFunc(maps.Keys(patterns), compareKinds) {
		// A rule for every version of a kind has been told with the versions that there are.
		if kind.Version == "*" && groupKinds[kind.GroupKind()] {
			continue
		}
		list = append(list, newKindRules(chain, kind))
	}
	return list
}

// newKindRules asks for each operation who answers, and leaves out those that nobody does.
//
// A pattern is asked about as if it were a kind. Parts of patterns are matched as text, so that the rules found are
// those that hold for everything the pattern stands for: its own, those of broader patterns, and the fallback.
func newKindRules(chain *interpreter.Chain, kind schema.GroupVersionKind) kindRules {
	k := kindRules{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind}
	for _, op := range interpreter.Operations() {
		if found := answering(chain, kind, op); len(found) > 0 {
			k.Operations = append(k.Operations, kindAnswers{op, found})
		}
	}
	return k
}

// answering lists the rules that may be the first to answer: up to the first one that wants no labels, and
// for joined answers the rest of its layer.
func answering(chain *interpreter.Chain, kind schema.GroupVersionKind, op interpreter.Operation) []source {
	contract, _ := interpreter.ContractOf(op)
	var found []source
	for _, layer := range chain.Layers() {
		decided := false
		for _, rule := range layer.Rules(kind, op) {
			found = append(found, source{layer.Name(), rule.Name})
			decided = decided || rule.Selector == nil
			if decided && !contract.Union {
				break
			}
		}
		if decided {
			break
		}
	}
	return found
}

// compareKinds orders by group, then kind, so that the versions of a kind stand together; patterns come after
// what they stand for.
func compareKinds(a, b schema.GroupVersionKind) int {
	key := func(k schema.GroupVersionKind) string {
		return strings.ReplaceAll(k.Group+"/"+k.Kind+"/"+k.Version, "*", "~")
	}
	return strings.Compare(key(a), key(b))
}
