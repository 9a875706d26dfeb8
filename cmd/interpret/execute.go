package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/spf13/cobra"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/kinds"
)

// The flags of inputs, as messages name them.
const (
	desiredFlag  = "--desired-file"
	observedFlag = "--observed-file"
	statusFlag   = "--status-file"
	replicasFlag = "--desired-replica"
)

// inputFlags are the flags that say what is asked about.
type inputFlags struct {
	desired, observed, status string
	replicas                  int32
	// replicasGiven tells a zero that was asked for from one that was not.
	replicasGiven bool
}

// add adds the flags.
func (f *inputFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.desired, "desired-file", "", "the object as the control plane wants it; a file, a URL, or -")
	flags.StringVar(&f.observed, "observed-file", "", "the object as a member cluster reports it; a file, a URL, or -")
	flags.StringVar(&f.status, "status-file", "", "status items for AggregateStatus; a file, a directory, a URL, or -")
	flags.Int32Var(&f.replicas, "desired-replica", 0, "the number of replicas for ReviseReplica")
	for _, name := range []string{"desired-file", "observed-file", "status-file"} {
		must(cmd.MarkFlagFilename(name, "yaml", "yml", "json"))
	}
}

// takes says whether an operation has an input of this name.
func takes(c *interpreter.Contract, name string) bool {
	for _, in := range c.In {
		if in.Name == name {
			return true
		}
	}
	return false
}

// check says which inputs are missing, and which are there for nothing. An input that nobody looks at is an
// error, since whoever gave it expects that it counts.
func (f *inputFlags) check(c *interpreter.Contract) error {
	var missing, extra []string
	// Karmada's command takes the object of an operation from either flag; only Retain tells them apart.
	if takes(c, "observed") {
		if f.desired == "" {
			missing = append(missing, desiredFlag)
		}
		if f.observed == "" {
			missing = append(missing, observedFlag)
		}
	} else {
		switch {
		case f.desired == "" && f.observed == "":
			missing = append(missing, desiredFlag+" or "+observedFlag)
		case f.desired != "" && f.observed != "":
			return usage("%s is about one object; give %s or %s, not both", c.Operation, desiredFlag, observedFlag)
		}
	}
	switch {
	case takes(c, "replica") && !f.replicasGiven:
		missing = append(missing, replicasFlag)
	case !takes(c, "replica") && f.replicasGiven:
		extra = append(extra, replicasFlag)
	case f.replicas < 0:
		return usage("%s must not be negative, got %d", replicasFlag, f.replicas)
	}
	if !takes(c, "items") && f.status != "" {
		extra = append(extra, statusFlag)
	}
	switch {
	case len(missing) > 0:
		return usage("%s needs %s", c.Operation, strings.Join(missing, " and "))
	case len(extra) > 0:
		return usage("%s has no use for %s", c.Operation, strings.Join(extra, " and "))
	}
	return nil
}

// request reads the inputs. All of them are read, so that one run tells of all that is wrong; what could be read
// is in the request beside an error.
func (f *inputFlags) request(ctx context.Context, s *session, c *interpreter.Contract) (*interpreter.Request, error) {
	req := &interpreter.Request{Operation: c.Operation}
	var errs []error
	var err error
	if f.desired != "" {
		req.Object, err = s.object(ctx, desiredFlag, f.desired)
		errs = append(errs, err)
	}
	if f.observed != "" {
		observed, err := s.object(ctx, observedFlag, f.observed)
		errs = append(errs, err)
		if takes(c, "observed") {
			req.Observed = observed
		} else {
			req.Object = observed
		}
	}
	if f.replicasGiven {
		req.Replicas = &f.replicas
	}
	if f.status != "" {
		req.Statuses, err = s.statusItems(ctx, statusFlag, f.status)
		errs = append(errs, err)
	}
	return req, errors.Join(errs...)
}

// claimStdin looks at all flags that may name standard input.
func (o *options) claimStdin(s *session) error {
	if err := o.ruleFlags.claimStdin(s); err != nil {
		return err
	}
	return o.inputs.claimStdin(s)
}

// claimStdin looks at the flags that may name standard input.
func (f *inputFlags) claimStdin(s *session) error {
	for _, named := range []struct{ flag, name string }{
		{desiredFlag, f.desired}, {observedFlag, f.observed}, {statusFlag, f.status},
	} {
		if err := s.claimStdin(named.flag, named.name); err != nil {
			return err
		}
	}
	return nil
}

// execute answers one operation. With an output format, an error too is a document on standard output, so that
// a program finds an answer of one shape or the other in one place.
func (o *options) execute(ctx context.Context, s *session, c *interpreter.Contract) error {
	doc := &answerDocument{Operation: c.Operation}
	named, err := o.answer(ctx, s, c, doc)
	if err != nil {
		return o.failed(s, doc, err)
	}
	if o.output != "" {
		doc.Results = named
		return s.document(o.output, doc)
	}
	if o.explain {
		fmt.Fprintf(s.out, "# answered by %s%s\n", source{doc.Layer, doc.Rule}, passedOver(doc.PassedOver))
	}
	return s.blocks(c, named)
}

// failed prints the document of an error, if documents are asked for, and gives the error back.
func (o *options) failed(s *session, doc *answerDocument, err error) error {
	if o.output == "" || o.check || o.edit {
		return err
	}
	doc.fail(err)
	return errors.Join(err, s.document(o.output, doc))
}

// answer gives the results by name, and notes in doc what it learns on the way.
func (o *options) answer(ctx context.Context, s *session, c *interpreter.Contract, doc *answerDocument) (map[string]any, error) {
	if err := o.inputs.check(c); err != nil {
		return nil, err
	}
	if err := o.claimStdin(s); err != nil {
		return nil, err
	}
	// Mistakes in objects and in customizations are told together.
	req, err := o.inputs.request(ctx, s, c)
	if req.Object != nil {
		doc.Object = newReference(req.Object)
	}
	rules, loadErr := o.load(ctx, s)
	defer rules.close()
	if err := errors.Join(err, loadErr); err != nil {
		doc.blame(err)
		return nil, err
	}
	if o.explain {
		if err := doc.explain(rules.Chain, req); err != nil {
			return nil, err
		}
	}
	res, err := rules.Interpret(ctx, req)
	if err != nil {
		err = hookHint(locate(answerError(err), rules.customizations))
		doc.blame(err)
		return nil, err
	}
	doc.Layer, doc.Rule = res.Source.Layer, res.Source.Rule
	if err := s.warnOfDependencies(ctx, rules.kinds, req.Object, res.Dependencies); err != nil {
		return nil, err
	}
	return interpreter.Named(c, res)
}

// warnOfDependencies tells of dependencies that could not be found. They are printed all the same: what a rule gives is
// what whoever asks wants to see.
func (s *session) warnOfDependencies(ctx context.Context, known *kinds.Kinds, object *unstructured.Unstructured, list []interpreter.DependentObjectReference) error {
	problems, err := known.CheckDependencies(ctx, object, list)
	for _, p := range problems {
		s.warn("%v", p)
	}
	return err
}
