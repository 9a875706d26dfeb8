package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubeinterpret/interpret/interpreter"
)

// options are the flags of the command without a subcommand.
type options struct {
	ruleFlags
	inputs                        inputFlags
	operation                     string
	check, edit, showDoc, explain bool
	output                        string
}

// withoutEffect are flags that users of karmadactl have in their scripts. They are about a server or about
// other output formats; here, no API server is asked.
var withoutEffect = []string{"kubeconfig", "karmada-context", "record", "template", "allow-missing-template-keys", "show-managed-fields"}

// newRoot makes the whole command. Asking for an answer has no subcommand of its own: it is what the command is
// for, and so are its flags in scripts that were written for karmadactl.
func newRoot(s *session) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "interpret [-f FILE]... (--operation OPERATION | --check | --edit | --explain)",
		Short: "Ask customizations and built-in rules about Kubernetes resources",
		Long:  longHelp(),
		Example: strings.TrimPrefix(`
  # Is the object in web.yaml healthy, by the rules that are built in?
  interpret --operation InterpretHealth --observed-file web.yaml

  # What does a customization say?
  interpret -f customization.yaml --operation InterpretHealth --observed-file web.yaml

  # What would be sent to a member cluster that has changed the object?
  interpret -f customization.yaml --operation Retain --desired-file web.yaml --observed-file observed.yaml

  # Are the customizations in a directory and below it sound?
  interpret -f customizations -R --check

  # Which rule would answer each operation about an object?
  interpret -f customization.yaml --explain --desired-file web.yaml

  # Run the cases in a directory.
  interpret test customizations`, "\n"),
		Version:           versionText(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.run(cmd, s) },
	}
	cmd.SetVersionTemplate("interpret {{.Version}}\n")
	cmd.SetFlagErrorFunc(flagError)
	flags := cmd.Flags()
	flags.SortFlags = false // Flags that belong together stand together.
	o.addFiles(flags)
	flags.StringVar(&o.operation, "operation", "", "the operation to answer, in any letter case; see the list above")
	o.inputs.add(cmd)
	flags.BoolVar(&o.explain, "explain", false, "tell which layer and rule answers; without --operation, for every operation")
	flags.BoolVar(&o.check, "check", false, "look for mistakes in the customizations, webhook configurations and CRDs")
	flags.BoolVar(&o.edit, "edit", false, "edit the scripts of a customization in an editor (KUBE_EDITOR, EDITOR, else vi)")
	flags.BoolVar(&o.showDoc, "show-doc", false, "with --edit, say above each script what it is for")
	addOutput(cmd, &o.output, outputJSON, outputYAML)
	o.crds.add(cmd)
	o.hooks.add(cmd)
	o.addLimits(flags)
	for _, name := range withoutEffect {
		if name == "kubeconfig" || name == "karmada-context" || name == "template" {
			flags.String(name, "", "")
		} else {
			flags.Bool(name, false, "")
		}
		flags.Lookup(name).Hidden = true
	}
	must(cmd.MarkFlagFilename("filename", "yaml", "yml", "json"))
	must(cmd.RegisterFlagCompletionFunc("operation", completeOperations))
	cmd.AddCommand(newTest(s), newGet(s), newResources(s), newHook(s), newKinds(s), newBundled(s), newServe(s), newVersion(s))
	return cmd
}

// must is for errors that only a mistake in this package causes.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// run picks the mode: --check before --edit before an operation, the order in which karmadactl looks at them.
// An operation must be a right one in any mode; who misspells it means something by it.
func (o *options) run(cmd *cobra.Command, s *session) error {
	flags := cmd.Flags()
	o.inputs.replicasGiven = flags.Changed("desired-replica")
	s.warnOfFlags(flags)
	var contract *interpreter.Contract
	if flags.Changed("operation") {
		var err error
		if contract, err = contractOf(o.operation); err != nil {
			return o.failed(s, &answerDocument{Operation: interpreter.Operation(o.operation)}, err)
		}
	}
	switch {
	case o.check && o.edit:
		return usage("--check and --edit exclude each other")
	case o.showDoc && !o.edit:
		return usage("--show-doc goes with --edit")
	case o.check:
		return o.checkAll(cmd.Context(), s)
	case o.edit:
		return o.runEdit(cmd.Context(), s)
	case contract != nil:
		return o.execute(cmd.Context(), s, contract)
	case o.explain:
		return o.explainAll(cmd.Context(), s)
	}
	return usage("nothing to do: give --operation, --check, --edit or --explain; see interpret --help")
}

// contractOf finds the contract of an operation by its name in any letter case.
func contractOf(operation string) (*interpreter.Contract, error) {
	op, err := interpreter.ParseOperation(operation)
	if err != nil {
		return nil, usage("--operation: %s", strings.TrimPrefix(err.Error(), interpreter.ErrInvalidRequest.Error()+": "))
	}
	contract, _ := interpreter.ContractOf(op)
	return contract, nil
}

// warnOfFlags tells of flags without effect, rather than letting somebody wait for one.
func (s *session) warnOfFlags(flags *pflag.FlagSet) {
	for _, name := range withoutEffect {
		if flags.Changed(name) {
			s.warn("--%s has no effect here: no API server is asked, and output is text, json or yaml", name)
		}
	}
}

// longHelp lists the operations with the files they need, from the contracts.
func longHelp() string {
	var b strings.Builder
	b.WriteString(`Ask about a Kubernetes resource. Customizations given with -f answer first, then the hooks of webhook configurations
among them, then the rules that are built in.

Operations:
`)
	for _, c := range interpreter.Contracts() {
		fmt.Fprintf(&b, "  %-21s%s\n  %-21sneeds %s\n", c.Operation, c.Summary, "", needs(c))
	}
	b.WriteString(`
Files are YAML or JSON, in UTF-8 or UTF-16, with any number of documents; Lists are opened. A file may be an
http(s) URL, or - for standard input. -f also takes directories, of which files ending in .yaml, .yml and .json are
read but *-test.yaml are not, and patterns in quotes. A status file holds status items (clusterName, status,
applied, appliedMessage, health), one a document or in a list.

Text output is a YAML document for each result, under a comment with its name. What scripts print goes to
standard error. -o json and -o yaml print one document, also for an error.

Exit status: 0 if all is well; 1 if a rule, a check or a case failed, or there is no rule; 2 if the command line is
wrong or something could not be read.

Accepted for the sake of scripts written for karmadactl, without effect: --` + strings.Join(withoutEffect, ", --") + ".")
	return b.String()
}

// needs says which flags give an operation its inputs.
func needs(c *interpreter.Contract) string {
	text := desiredFlag + " or " + observedFlag
	if takes(c, "observed") {
		text = desiredFlag + " and " + observedFlag
	}
	if takes(c, "replica") {
		text += ", and " + replicasFlag
	}
	if takes(c, "items") {
		text += "; takes " + statusFlag
	}
	return text
}

// noArgs refuses arguments. The most likely one is a file that the user meant to give with a flag, or a pattern
// that the shell has expanded behind -f; the next is a misspelt subcommand.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	if near := interpreter.Nearest(args[0], names); near != "" {
		return usage("unexpected argument %q, did you mean the command %s?", args[0], near)
	}
	return usage("unexpected argument %q; files are given with -f and the other file flags", args[0])
}

// flagError is an error of the command line, with the flag that was probably meant.
func flagError(cmd *cobra.Command, err error) error {
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if unknown {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := interpreter.Nearest(name, names); near != "" {
			return usage("unknown flag --%s, did you mean --%s?", name, near)
		}
		return usage("unknown flag --%s; see %s --help", name, cmd.CommandPath())
	}
	return usage("%w", err)
}

// outputValue is an output format, checked as it is set.
type outputValue struct {
	to    *string
	known []string
}

func (v outputValue) String() string {
	if v.to == nil {
		return ""
	}
	return *v.to
}

func (v outputValue) Set(text string) error {
	if !slices.Contains(v.known, text) {
		return fmt.Errorf("want %s", strings.Join(v.known, " or "))
	}
	*v.to = text
	return nil
}

func (v outputValue) Type() string { return "FORMAT" }

// addOutput adds the flag -o with the formats that there are beside text.
func addOutput(cmd *cobra.Command, to *string, formats ...string) {
	cmd.Flags().VarP(outputValue{to, formats}, "output", "o", "print "+strings.Join(formats, " or ")+" rather than text")
	must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)))
}

// completeOperations completes names of operations in any letter case, with what they answer.
func completeOperations(_ *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, c := range interpreter.Contracts() {
		if strings.HasPrefix(strings.ToLower(string(c.Operation)), strings.ToLower(start)) {
			names = append(names, cobra.CompletionWithDesc(string(c.Operation), c.Summary))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
