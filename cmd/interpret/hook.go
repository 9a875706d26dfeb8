package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
)

// newHook makes interpret hook, which is only a name for its subcommands.
func newHook(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hook",
		Short: "Try interpreter webhooks: does one keep the protocol, what does it answer",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usage("nothing to do: give verify or call; see interpret hook --help")
		},
	}
	cmd.AddCommand(newHookVerify(s), newHookCall(s))
	return cmd
}

// hookTarget are the flags that say which hook is meant and how it is reached.
type hookTarget struct {
	// ruleFlags are those of files and of addresses; the rest of them is about scripts.
	ruleFlags
	caFile, serverName string
	insecure           bool
	timeout            time.Duration
}

func (t *hookTarget) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	t.addFiles(flags)
	flags.Lookup("filename").Usage = "webhook configurations: a file, a directory, a pattern, an http(s) URL, or - for standard input; may be repeated"
	t.hooks.add(cmd)
	flags.StringVar(&t.caFile, "ca-file", "", "the CA certificates that the hook's certificate must lead to, in PEM; without it those of the configuration, or the system's")
	flags.StringVar(&t.serverName, "server-name", "", "the name that the hook's certificate must have; without it the host of its URL")
	flags.BoolVar(&t.insecure, "insecure-skip-tls-verify", false, "trust whoever answers; objects may end up anywhere")
	flags.DurationVar(&t.timeout, "timeout", webhook.DefaultTimeout, "how long a call may take; without it the configuration's timeoutSeconds")
	must(cmd.MarkFlagFilename("filename", "yaml", "yml", "json"))
	must(cmd.MarkFlagFilename("ca-file"))
}

// check looks at the flags before anything is read.
func (t *hookTarget) check(s *session, args []string) error {
	switch {
	case t.flags.Changed("filename") && len(t.filenames) == 0:
		return usage("%s: the name of the file is empty", filenameFlag)
	case len(args) == 0 && len(t.filenames) == 0:
		return usage("say which hook is meant: by its URL, or by a webhook configuration with -f")
	case t.timeout <= 0:
		return usage("--timeout must be positive, got %s", t.timeout)
	case t.insecure && t.caFile != "":
		return usage("--insecure-skip-tls-verify and --ca-file exclude each other")
	}
	return s.claimStdin(filenameFlag, t.filenames...)
}

// configurations reads what -f names.
func (t *hookTarget) configurations(ctx context.Context, s *session) ([]*webhook.Configuration, error) {
	if len(t.filenames) == 0 {
		return nil, nil
	}
	d, err := t.declared(ctx, s)
	if err != nil {
		return nil, err
	}
	if len(d.configurations) == 0 {
		return nil, fmt.Errorf("%s: there is no webhook configuration in it", some(t.filenames))
	}
	return d.configurations, t.hooks.check(d.configurations, nil)
}

// readBundle reads CA certificates; no file is none.
func readBundle(file string) ([]byte, error) { return (&registrationFlags{caFile: file}).bundle() }

// timeoutOr is the timeout that was given, else another.
func (t *hookTarget) timeoutOr(other time.Duration) time.Duration {
	if t.flags.Changed("timeout") || other == 0 {
		return t.timeout
	}
	return other
}

// tls changes what a configuration says about TLS.
func (t *hookTarget) tls(c *tls.Config) {
	c.InsecureSkipVerify = t.insecure
	if t.serverName != "" {
		c.ServerName = t.serverName
	}
}

// The names in the configuration that is made of flags.
const (
	flagConfiguration = "command-line"
	flagWebhook       = "hook.command-line.invalid"
)

// configurationOf makes the configuration of a hook that is named by its URL, for everything.
func configurationOf(address string, bundle []byte) *v1alpha1.ResourceInterpreterWebhookConfiguration {
	c := &v1alpha1.ResourceInterpreterWebhookConfiguration{}
	c.Name = flagConfiguration
	w := v1alpha1.ResourceInterpreterWebhook{
		Name: flagWebhook,
		Rules: []v1alpha1.RuleWithOperations{{
			Operations: []v1alpha1.InterpreterOperation{v1alpha1.InterpreterOperationAll},
			Rule:       v1alpha1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Kinds: []string{"*"}},
		}},
		InterpreterContextVersions: []string{v1alpha1.GroupVersion.Version},
	}
	w.ClientConfig.URL, w.ClientConfig.CABundle = &address, bundle
	c.Webhooks = append(c.Webhooks, w)
	return c
}

// oneURL takes a hook's URL at most.
func oneURL(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usage("one hook at a time, got %s", strings.Join(args, ", "))
	}
	return nil
}

// unencrypted says whether a URL does without TLS.
func unencrypted(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "http"
}
