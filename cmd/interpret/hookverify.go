package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/kinds"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
	"github.com/kubeinterpret/interpret/webhook/conformance"
)

// hookVerifyOptions are the flags of interpret hook verify.
type hookVerifyOptions struct {
	hookTarget
	inputs            inputFlags
	webhook           string
	kinds, operations []string
	only, skip        []string
	list, verbose     bool
	output            string
}

// newHookVerify makes interpret hook verify.
func newHookVerify(s *session) *cobra.Command {
	o := &hookVerifyOptions{}
	cmd := &cobra.Command{
		Use:   "verify [URL] [-f FILE]...",
		Short: "Find out whether a hook keeps Karmada's interpreter webhook protocol",
		Long: `Find out whether a hook keeps Karmada's interpreter webhook protocol. It is asked good questions and bad ones, and
every rule of the protocol is a check: one that fails is a "must", without which Karmada's client fails; one that
warns is a "should". Nothing that is sent has side effects, so a hook in production may be asked.

What the hook answers is told by the configuration that registers it, with -f; all its webhooks are verified, one
after the other. Or it is told by --kind and --operation, or by sample objects. With a URL beside -f, one webhook is
verified at that URL.

Objects to ask about come from --desired-file and --observed-file, which may hold several, of any kinds. Where there
is none for a kind, one is made up that has little more than a name. A hook may refuse such an object; what
could not be tried then is skipped. A sample must not be refused.

A hook without TLS, whose URL begins with http, is verified on a loopback address only, and Karmada would not call it.

Exit status: 0 if no check failed, whatever the warnings; 1 if one did; 2 if the command line is wrong, something
could not be read, or all checks were skipped.`,
		Example: strings.TrimPrefix(`
  # A hook that is being written, asked about one object for everything.
  interpret hook verify https://localhost:8443/interpret --ca-file ca.crt --desired-file web.yaml --observed-file web.yaml

  # All webhooks of a configuration, one of which is behind a Service.
  interpret hook verify -f configuration.yaml --hook-address demo/hook=localhost:8443

  # What is looked at?
  interpret hook verify --list`, "\n"),
		Args:              oneURL,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), s, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	o.add(cmd)
	flags.StringVar(&o.webhook, "webhook", "", "the one webhook of the configurations that is meant, NAME or CONFIGURATION/NAME")
	flags.StringSliceVar(&o.kinds, "kind", nil, "a kind that the hook answers for, APIVERSION/KIND such as demo.io/v1/Widget, or the name of a resource of Kubernetes; may be repeated")
	flags.StringSliceVar(&o.operations, "operation", nil, "an operation that the hook answers, in any letter case; may be repeated; without it all")
	o.inputs.add(cmd)
	flags.StringSliceVar(&o.only, "only", nil, "run only this check; may be repeated")
	flags.StringSliceVar(&o.skip, "skip", nil, "leave out this check; may be repeated")
	flags.BoolVar(&o.list, "list", false, "list the checks")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "show for every problem what was sent and what came back")
	addOutput(cmd, &o.output, outputJSON, outputYAML, outputJUnit)
	must(cmd.RegisterFlagCompletionFunc("operation", completeOperations))
	for _, name := range []string{"only", "skip"} {
		must(cmd.RegisterFlagCompletionFunc(name, completeChecks))
	}
	must(cmd.RegisterFlagCompletionFunc("kind", cobra.NoFileCompletions))
	must(cmd.RegisterFlagCompletionFunc("webhook", cobra.NoFileCompletions))
	return cmd
}

// completeChecks completes the names of checks, with their rules.
func completeChecks(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, c := range conformance.Checks() {
		names = append(names, cobra.CompletionWithDesc(c.ID, c.Rule))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// verified is a hook, what it is asked, and its name in the report.
type verified struct {
	name      string
	hook      conformance.Hook
	questions []conformance.Question
}

func (o *hookVerifyOptions) run(ctx context.Context, s *session, args []string) error {
	if o.list {
		return listChecks(s, o.output)
	}
	if err := o.check(s, args); err != nil {
		return err
	}
	if err := o.inputs.claimStdin(s); err != nil {
		return err
	}
	operations, err := o.parseOperations()
	if err != nil {
		return err
	}
	asked, err := o.parseKinds(ctx)
	if err != nil {
		return err
	}
	samples, err := o.samples(ctx, s)
	configurations, configErr := o.configurations(ctx, s)
	if err := errors.Join(err, configErr); err != nil {
		return err
	}
	hooks, err := o.targets(configurations, args, asked, operations, samples)
	if err != nil {
		return err
	}
	report := &hookReport{}
	for i := range hooks {
		if err := o.verify(ctx, s, &hooks[i], report); err != nil {
			return err
		}
	}
	if err := report.print(s, o.output, o.verbose); err != nil {
		return err
	}
	switch {
	case report.Failed > 0:
		return &failure{errTold}
	case report.Passed+report.Warned == 0:
		return errors.New("nothing was verified: all checks were skipped")
	}
	return nil
}

// verify puts one hook through the checks.
func (o *hookVerifyOptions) verify(ctx context.Context, s *session, v *verified, report *hookReport) error {
	if unencrypted(v.hook.URL) {
		s.warn("%s is verified without TLS; Karmada calls hooks by https only", v.hook.URL)
	}
	kit, err := conformance.New(v.hook, v.questions, conformance.WithOnly(o.only...), conformance.WithSkip(o.skip...))
	if err != nil {
		return &usageError{err}
	}
	found, err := kit.Run(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", v.hook.URL, interrupted(ctx))
	}
	report.add(v, found, o.verbose)
	return nil
}

// parseOperations reads --operation; none means all that a hook can be registered for.
func (o *hookVerifyOptions) parseOperations() ([]interpreter.Operation, error) {
	operations := []interpreter.Operation{}
	for _, name := range o.operations {
		c, err := contractOf(name)
		if err != nil {
			return nil, err
		}
		operations = append(operations, c.Operation)
	}
	if len(operations) == 0 {
		operations = slices.DeleteFunc(interpreter.Operations(), func(op interpreter.Operation) bool { return op == interpreter.Prune })
	}
	return operations, nil
}

// parseKinds reads --kind.
func (o *hookVerifyOptions) parseKinds(ctx context.Context) ([]schema.GroupVersionKind, error) {
	var list []schema.GroupVersionKind
	standard := kinds.New(kinds.Standard())
	for _, text := range o.kinds {
		apiVersion, kind, ok := cutLast(text, "/")
		if gv, err := schema.ParseGroupVersion(apiVersion); ok && err == nil && gv.Version != "" && kind != "" {
			list = append(list, gv.WithKind(kind))
			continue
		}
		r, err := standard.One(ctx, text)
		if err != nil {
			return nil, usage("--kind: %w; a kind that does not come with Kubernetes is written out, such as demo.io/v1/Widget", err)
		}
		list = append(list, r.Kind)
	}
	return list, nil
}

// samples reads the files of inputs.
func (o *hookVerifyOptions) samples(ctx context.Context, s *session) (conformance.Samples, error) {
	var samples conformance.Samples
	var errs []error
	for _, f := range []struct {
		flag, name string
		to         *[]*unstructured.Unstructured
	}{{desiredFlag, o.inputs.desired, &samples.Desired}, {observedFlag, o.inputs.observed, &samples.Observed}} {
		if f.name == "" {
			continue
		}
		list, err := s.objects(ctx, f.flag, []string{f.name})
		if err == nil && len(list) == 0 {
			err = fmt.Errorf("%s %s: there is no object in it", f.flag, f.name)
		}
		errs = append(errs, err)
		for _, found := range list {
			*f.to = append(*f.to, found.Unstructured)
		}
	}
	if o.inputs.status != "" {
		items, err := s.statusItems(ctx, statusFlag, o.inputs.status)
		errs = append(errs, err)
		samples.Statuses = items
	}
	if o.flags.Changed("desired-replica") {
		if o.inputs.replicas < 0 {
			errs = append(errs, usage("%s must not be negative, got %d", replicasFlag, o.inputs.replicas))
		}
		samples.Replicas = &o.inputs.replicas
	}
	return samples, errors.Join(errs...)
}

// targets are the hooks that are meant, with their questions.
func (o *hookVerifyOptions) targets(configurations []*webhook.Configuration, args []string, kinds []schema.GroupVersionKind, operations []interpreter.Operation, samples conformance.Samples) ([]verified, error) {
	bundle, err := readBundle(o.caFile)
	if err != nil {
		return nil, err
	}
	if configurations == nil {
		if o.webhook != "" {
			return nil, usage("--webhook names one of a configuration, which is given with -f")
		}
		hook := conformance.Hook{URL: args[0], ServerName: o.serverName, CABundle: bundle, InsecureSkipVerify: o.insecure, Timeout: o.timeout}
		for _, object := range slices.Concat(samples.Desired, samples.Observed) {
			if k := object.GroupVersionKind(); len(o.kinds) == 0 && !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
		}
		if len(kinds) == 0 {
			return nil, usage("say what the hook answers: by the configuration that registers it, with -f, by --kind, or by samples with %s and %s", desiredFlag, observedFlag)
		}
		questions, err := conformance.Questions(rulesFor(kinds, operations), samples)
		if err != nil {
			return nil, err
		}
		return []verified{{hook: hook, questions: questions}}, nil
	}
	var hooks []verified
	var errs []error
	for _, c := range configurations {
		for i := range c.Webhooks {
			w := &c.Webhooks[i]
			name := c.Name + "/" + w.Name
			if o.webhook != "" && o.webhook != w.Name && o.webhook != name {
				continue
			}
			v, err := o.target(c, w, bundle, kinds, operations, samples)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
			v.name = name
			hooks = append(hooks, v)
		}
	}
	switch {
	case len(hooks) == 0 && o.webhook != "":
		return nil, usage("--webhook: no configuration has the webhook %q", o.webhook)
	case len(hooks) == 0:
		return nil, fmt.Errorf("%s: the configuration has no webhooks", some(o.filenames))
	case len(args) > 0 && len(hooks) > 1:
		return nil, usage("the URL is that of one hook, and there are %d in the configuration; pick one with --webhook", len(hooks))
	case len(args) > 0:
		// Its certificate must be for the name that the configuration has, wherever it is reached.
		if hooks[0].hook.ServerName == "" {
			if u, err := url.Parse(hooks[0].hook.URL); err == nil {
				hooks[0].hook.ServerName = u.Hostname()
			}
		}
		hooks[0].hook.URL = args[0]
	}
	return hooks, errors.Join(errs...)
}

// target is one webhook of a configuration. Kinds and operations that were given narrow what it is asked.
func (o *hookVerifyOptions) target(c *webhook.Configuration, w *v1alpha1.ResourceInterpreterWebhook, bundle []byte, kinds []schema.GroupVersionKind, operations []interpreter.Operation, samples conformance.Samples) (verified, error) {
	hook, err := conformance.HookOf(c.ResourceInterpreterWebhookConfiguration, w)
	if err != nil {
		return verified{}, err
	}
	hook.ServerName, hook.InsecureSkipVerify, hook.Timeout = o.serverName, o.insecure, o.timeoutOr(hook.Timeout)
	if bundle != nil {
		hook.CABundle = bundle
	}
	if s := w.ClientConfig.Service; s != nil {
		hook.Address = o.hooks.addresses[s.Namespace+"/"+s.Name]
	}
	rules := w.Rules
	if len(kinds) > 0 {
		rules = nil
		for _, k := range kinds {
			for _, op := range operations {
				if webhook.Matches(w.Rules, k, op) {
					rules = append(rules, rulesFor([]schema.GroupVersionKind{k}, []interpreter.Operation{op})...)
				}
			}
		}
		samples = ofKinds(samples, kinds)
	}
	questions, err := conformance.Questions(rules, samples)
	questions = slices.DeleteFunc(questions, func(q conformance.Question) bool { return !slices.Contains(operations, q.Operation) })
	if err == nil && len(questions) == 0 {
		err = usage("it is registered for none of the operations given with --operation")
	}
	return verified{hook: hook, questions: questions}, err
}

// rulesFor are the rules of a hook that answers some operations for some kinds.
func rulesFor(kinds []schema.GroupVersionKind, operations []interpreter.Operation) []v1alpha1.RuleWithOperations {
	var rules []v1alpha1.RuleWithOperations
	for _, k := range kinds {
		rules = append(rules, v1alpha1.RuleWithOperations{
			Operations: operations,
			Rule:       v1alpha1.Rule{APIGroups: []string{k.Group}, APIVersions: []string{k.Version}, Kinds: []string{k.Kind}},
		})
	}
	return rules
}

// ofKinds leaves the samples of some kinds.
func ofKinds(samples conformance.Samples, kinds []schema.GroupVersionKind) conformance.Samples {
	other := func(o *unstructured.Unstructured) bool { return !slices.Contains(kinds, o.GroupVersionKind()) }
	samples.Desired = slices.DeleteFunc(slices.Clone(samples.Desired), other)
	samples.Observed = slices.DeleteFunc(slices.Clone(samples.Observed), other)
	return samples
}
