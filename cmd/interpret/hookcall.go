package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/webhook"
)

// hookCallOptions are the flags of interpret hook call.
type hookCallOptions struct {
	hookTarget
	inputs       inputFlags
	operation    string
	raw, verbose bool
	output       string
	// answer is the body of what came back last.
	answer []byte
}

// newHookCall makes interpret hook call.
func newHookCall(s *session) *cobra.Command {
	o := &hookCallOptions{}
	cmd := &cobra.Command{
		Use:   "call (URL | -f FILE...) --operation OPERATION",
		Short: "Ask a hook one question, as a controller would",
		Long: `Ask a hook one question, by the client that controllers use. The hook is the one at a URL, or the one that the
webhook configurations given with -f lead to for the object and the operation. Nobody else is asked: without a hook
for the question there is no answer.

The answer is printed as interpret --operation prints it. -v shows on standard error what is sent and what comes
back, and --raw prints only the body that comes back.

Exit status: 0 if there is an answer; 1 if the hook failed, refused, or is not registered for the question; 2 if the
command line is wrong or something could not be read.`,
		Example: strings.TrimPrefix(`
  interpret hook call https://localhost:8443/interpret --ca-file ca.crt --operation InterpretHealth --observed-file web.yaml

  # As the hook would be asked that is registered for it, through kubectl port-forward.
  interpret hook call -f configuration.yaml --hook-address demo/hook=localhost:8443 \
    --operation ReviseReplica --desired-file web.yaml --desired-replica 5 -v`, "\n"),
		Args:              oneURL,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), s, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	o.add(cmd)
	flags.StringVar(&o.operation, "operation", "", "the operation to ask for, in any letter case")
	o.inputs.add(cmd)
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "show what is sent and what comes back")
	flags.BoolVar(&o.raw, "raw", false, "print the body of the hook's answer, and nothing else")
	addOutput(cmd, &o.output, outputJSON, outputYAML)
	must(cmd.RegisterFlagCompletionFunc("operation", completeOperations))
	return cmd
}

func (o *hookCallOptions) run(ctx context.Context, s *session, args []string) error {
	doc := &answerDocument{Operation: interpreter.Operation(o.operation)}
	named, c, err := o.ask(ctx, s, args, doc)
	if o.raw {
		_, _ = s.out.Write(o.answer) // The error shows when it is flushed.
		return err
	}
	switch {
	case err != nil && o.output != "":
		doc.fail(err)
		return errors.Join(err, s.document(o.output, doc))
	case err != nil:
		return err
	case o.output != "":
		doc.Results = named
		return s.document(o.output, doc)
	}
	return s.blocks(c, named)
}

// ask gives the results by name.
func (o *hookCallOptions) ask(ctx context.Context, s *session, args []string, doc *answerDocument) (map[string]any, *interpreter.Contract, error) {
	if err := o.check(s, args); err != nil {
		return nil, nil, err
	}
	switch {
	case len(args) > 0 && len(o.filenames) > 0:
		return nil, nil, usage("a URL and -f exclude each other; where the hooks of a Service are reached is told by %s", hookAddressFlag)
	case o.operation == "":
		return nil, nil, usage("say what to ask for with --operation")
	case o.raw && o.output != "":
		return nil, nil, usage("--raw and --output exclude each other")
	case len(args) > 0 && unencrypted(args[0]):
		return nil, nil, usage("%s: hooks are called by https only; interpret hook verify looks at one without TLS", args[0])
	}
	c, err := contractOf(o.operation)
	if err != nil {
		return nil, nil, err
	}
	doc.Operation = c.Operation
	o.inputs.replicasGiven = o.flags.Changed("desired-replica")
	if err := errors.Join(o.inputs.check(c), o.inputs.claimStdin(s)); err != nil {
		return nil, nil, err
	}
	req, err := o.inputs.request(ctx, s, c)
	if req.Object != nil {
		doc.Object = newReference(req.Object)
	}
	layer, layerErr := o.layer(ctx, s, args)
	if err := errors.Join(err, layerErr); err != nil {
		return nil, nil, err
	}
	defer layer.Close()
	res, err := interpreter.NewChain(layer).Interpret(ctx, req)
	if err != nil {
		err = hookHint(answerError(err))
		doc.blame(err)
		return nil, nil, err
	}
	doc.Layer, doc.Rule = res.Source.Layer, res.Source.Rule
	named, err := interpreter.Named(c, res)
	return named, c, err
}

// layer makes the client of the hook, or of all that -f registers.
func (o *hookCallOptions) layer(ctx context.Context, s *session, args []string) (*webhook.Layer, error) {
	bundle, err := readBundle(o.caFile)
	if err != nil {
		return nil, err
	}
	configurations, err := o.configurations(ctx, s)
	if err != nil {
		return nil, err
	}
	if configurations == nil {
		made := configurationOf(args[0], bundle)
		if wrong := webhook.Validate(made); len(wrong) > 0 {
			return nil, usage("%q is not the URL of a hook: %s", args[0], wrong[0].Detail)
		}
		configurations = []*webhook.Configuration{{ResourceInterpreterWebhookConfiguration: made}}
	}
	for _, c := range configurations {
		for i := range c.Webhooks {
			w := &c.Webhooks[i]
			if bundle != nil {
				w.ClientConfig.CABundle = bundle
			}
			if o.flags.Changed("timeout") {
				w.TimeoutSeconds = nil
			}
		}
	}
	return o.hooks.layer(configurations, webhook.WithTimeout(o.timeout), webhook.WithTLSConfig(o.tls),
		webhook.WithTransportWrapper(func(inner http.RoundTripper) http.RoundTripper {
			return &showing{inner: inner, session: s, options: o}
		}))
}

// showing is a transport that shows what goes through it.
type showing struct {
	inner   http.RoundTripper
	session *session
	options *hookCallOptions
}

// RoundTrip reads both bodies whole. What it shows of a call that is repeated is each time it is sent.
func (t *showing) RoundTrip(r *http.Request) (*http.Response, error) {
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(sent))
	x := &exchange{Method: r.Method, URL: r.URL.String(), Header: r.Header, Body: string(sent)}
	response, err := t.inner.RoundTrip(r)
	if err != nil {
		x.Error = err.Error()
		t.show(x)
		return nil, err
	}
	// One byte more than the client reads, so that it finds out by itself that it is too much.
	body, err := io.ReadAll(io.LimitReader(response.Body, webhook.DefaultAnswerLimit+1))
	response.Body.Close()
	x.Status, x.Returned, x.Answer = response.StatusCode, response.Header, string(body)
	if err != nil {
		x.Error = err.Error()
	}
	t.show(x)
	t.options.answer = body
	response.Body = io.NopCloser(&remembered{Reader: bytes.NewReader(body), err: err})
	return response, nil
}

func (t *showing) show(x *exchange) {
	if t.options.verbose {
		fmt.Fprintln(t.session.stderr, x.text())
	}
}

// remembered is a body that was read, up to the error in it.
type remembered struct {
	io.Reader
	err error
}

func (r *remembered) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err == io.EOF && r.err != nil {
		err = r.err
	}
	return n, err
}
