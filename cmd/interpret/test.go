package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter/definition"
	"github.com/kubeinterpret/interpret/interpreter/interpretertest"
	"github.com/kubeinterpret/interpret/interpreter/manifest"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/luakube"
)

// isCaseFile says whether a file of a directory holds cases rather than customizations.
func isCaseFile(path string) bool {
	return strings.HasSuffix(path, "-test.yaml") || strings.HasSuffix(path, "-test.yml")
}

// testdata is the name of a directory of cases whose customizations lie beside it.
const testdata = "testdata"

// testOptions are the flags of interpret test.
type testOptions struct {
	ruleFlags
	update, verbose bool
	run             string
	output          string
}

// newTest makes interpret test. Running case files is Karmada's way to test customizations; it lacks the command.
func newTest(s *session) *cobra.Command {
	o := &testOptions{}
	cmd := &cobra.Command{
		Use:   "test PATH...",
		Short: "Run case files: objects, and the answers expected about them",
		Long: `Run case files. Of a directory, and those below it, they are the files named *-test.yaml.

A case is a YAML document with name, description, operation, the inputs desiredObj, observedObj, statusItems and
inputReplicas as the operation takes them, and output, the expected results under the names that interpret prints;
or, in the place of output, wantError with a part of the expected message. A file may hold several. A case that
expects nothing fails.

The customizations and webhook configurations under test are those given with -f, else those in the case file's
directory, else, for a directory named testdata, those beside it. Without any, the rules that are built in are
tested. The hooks of a webhook configuration are called. With the CRD of a kind, in the same places or given with
--crd, an answer that does not keep to its schema fails the case; so does, without any, a dependency that no API server
could have: of a kind that is not there, or with or without a namespace where its kind wants it otherwise.`,
		Example: strings.TrimPrefix(`
  # Run all cases below a directory.
  interpret test customizations

  # Run one, and accept its answer.
  interpret test customizations --run 'without status' --update

  # Report to a CI system.
  interpret test customizations -o junit > report.xml`, "\n"),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("name the case files, or directories with them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.test(cmd.Context(), s, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	o.addFiles(flags)
	flags.StringVar(&o.run, "run", "", "run only the cases whose file/name matches this regular expression")
	flags.BoolVar(&o.update, "update", false, "rewrite the expectations of failed cases to what came out")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "list the cases that passed, too")
	addOutput(cmd, &o.output, outputJSON, outputJUnit)
	o.crds.add(cmd)
	o.crds.guardDependencies = true
	guard := flags.Lookup("guard")
	guard.Usage += ", and dependencies must be such as there can be"
	o.hooks.add(cmd)
	o.addLimits(flags)
	return cmd
}

// suite is a case file and what became of its cases.
type suite struct {
	file     string
	data     []byte
	rules    *rules
	cases    []interpretertest.Case
	outcomes []interpretertest.Outcome
	// broken is why no rules could be made; every case fails with it.
	broken error
}

// test runs all cases and reports. Files that cannot be read do not keep the others from being run.
func (o *testOptions) test(ctx context.Context, s *session, paths []string) error {
	filter, err := regexp.Compile(o.run)
	if err != nil {
		return usage("--run: %w", err)
	}
	if err := o.claimStdin(s); err != nil {
		return err
	}
	suites, unreadable := o.suites(ctx, s, paths, filter)
	defer func() {
		for _, t := range suites {
			t.rules.close()
		}
	}()
	if len(suites) == 0 {
		if unreadable == nil && o.run != "" {
			unreadable = usage("--run %q: no case matches", o.run)
		}
		return unreadable
	}
	for i := range suites {
		if err := suites[i].run(ctx); err != nil {
			return err
		}
		if o.update {
			if err := suites[i].update(ctx, s, filter); err != nil {
				return err
			}
		}
	}
	report := newTestReport(s, suites)
	switch o.output {
	case outputJSON:
		err = s.document(outputJSON, report)
	case outputJUnit:
		err = report.junit(s)
	default:
		report.print(s, o.verbose)
	}
	if report.Failed > 0 {
		err = errors.Join(err, &failure{errTold})
	}
	return errors.Join(unreadable, err)
}

// suites reads the case files and the rules to test them with.
func (o *testOptions) suites(ctx context.Context, s *session, paths []string, filter *regexp.Regexp) ([]*suite, error) {
	options, err := o.engineOptions(s)
	if err != nil {
		return nil, err
	}
	given, err := o.declared(ctx, s)
	if err == nil && len(o.filenames) > 0 {
		err = o.hooks.check(given.configurations, given.definitions)
	}
	if err != nil {
		return nil, err
	}
	files, err := caseFiles(paths)
	if err != nil {
		return nil, err
	}
	var suites []*suite
	var errs []error
	// Customizations are compiled once for all the case files that they are tested with.
	byDirectory := map[string]*suite{}
	for _, file := range files {
		data, err := readFile(ctx, file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		cases, err := interpretertest.Parse(file, data)
		errs = append(errs, err)
		cases = slices.DeleteFunc(cases, func(c interpretertest.Case) bool { return !filter.MatchString(c.File + "/" + c.Name) })
		if len(cases) == 0 {
			continue
		}
		dir := filepath.Dir(file)
		if len(o.filenames) > 0 {
			dir = "" // The rules are the same for all.
		}
		with := byDirectory[dir]
		if with == nil {
			with = &suite{}
			with.rules, with.broken = o.rulesFor(ctx, s, dir, given, options)
			byDirectory[dir] = with
		}
		suites = append(suites, &suite{file: file, data: data, cases: cases, rules: with.rules, broken: with.broken})
	}
	return suites, errors.Join(errs...)
}

// caseFiles lists the case files, sorted and each once.
func caseFiles(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, plain(err)
		}
		if !info.IsDir() {
			files = append(files, filepath.Clean(path))
			continue
		}
		found := len(files)
		err = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && isCaseFile(file) {
				files = append(files, filepath.Clean(file))
			}
			return err
		})
		if err != nil {
			return nil, plain(err)
		}
		if len(files) == found {
			return nil, fmt.Errorf("%s: no case files, which are named *-test.yaml, in the directory or below it", path)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// rulesFor makes the rules of what was given, or else of what is in a directory.
func (o *testOptions) rulesFor(ctx context.Context, s *session, dir string, given *declared, options []luakube.Option) (*rules, error) {
	if dir != "" {
		found, err := declaredIn(ctx, s, dir)
		if err == nil && found.empty() && filepath.Base(dir) == testdata {
			definitions := found.definitions
			found, err = declaredIn(ctx, s, filepath.Dir(dir))
			if err == nil {
				found.definitions = append(found.definitions, definitions...)
			}
		}
		if err != nil {
			return nil, err
		}
		found.crds, found.converters = given.crds, given.converters
		found.definitions = append(found.definitions, given.definitions...)
		given = found
	}
	return given.rules(options, o.hooks)
}

// declaredIn finds the customizations and webhook configurations among a directory's files. What is something else
// is passed over.
func declaredIn(ctx context.Context, s *session, dir string) (*declared, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, plain(err)
	}
	found := &declared{}
	for _, e := range entries {
		file := filepath.Join(dir, e.Name())
		if e.IsDir() || !slices.Contains(extensions, filepath.Ext(file)) || isCaseFile(file) {
			continue
		}
		data, err := readFile(ctx, file)
		if err != nil {
			return nil, err
		}
		// A document that cannot be read may hold anything; it counts only if it seems to hold one of ours.
		docs := slices.DeleteFunc(s.split(input{file, data}), func(d manifest.Document) bool {
			return !slices.ContainsFunc([]string{v1alpha1.KindResourceInterpreterCustomization, v1alpha1.KindResourceInterpreterWebhookConfiguration, definition.Kind},
				func(kind string) bool { return strings.Contains(d.Text, kind) })
		})
		for _, e := range each(found.add(file, docs)) {
			if !errors.Is(e, declarative.ErrOtherKind) {
				return nil, e
			}
		}
	}
	return found, nil
}

// run puts all cases to the rules.
func (t *suite) run(ctx context.Context) error {
	t.outcomes = nil
	for _, c := range t.cases {
		if t.broken != nil {
			t.outcomes = append(t.outcomes, interpretertest.Outcome{Problem: "the rules do not load", Err: t.broken})
			continue
		}
		outcome := c.Run(ctx, t.rules)
		// An outcome after the interruption says nothing about the rule.
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", c, interrupted(ctx))
		}
		t.outcomes = append(t.outcomes, outcome)
	}
	return nil
}

// update rewrites the file to what came out, and runs the cases again if that changed anything.
func (t *suite) update(ctx context.Context, s *session, filter *regexp.Regexp) error {
	if t.broken != nil {
		return nil
	}
	data, err := interpretertest.Update(t.data, t.cases, t.outcomes)
	if err != nil {
		return err
	}
	if string(data) == string(t.data) {
		return nil
	}
	if err := writeFile(t.file, data); err != nil {
		return err
	}
	fmt.Fprintf(s.stderr, "updated %s\n", t.file)
	cases, err := interpretertest.Parse(t.file, data)
	if err != nil {
		return err
	}
	t.data = data
	t.cases = slices.DeleteFunc(cases, func(c interpretertest.Case) bool { return !filter.MatchString(c.File + "/" + c.Name) })
	return t.run(ctx)
}

// writeFile replaces a file's content at once: whoever reads it, or a crash, finds the old or the new one.
func writeFile(path string, data []byte) error {
	// A link stays one; what it points at is replaced.
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return plain(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return plain(err)
	}
	// In the same directory, since only within a file system can a file take another's place at once.
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return plain(err)
	}
	// After the renaming there is nothing left to remove.
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(info.Mode().Perm()), f.Sync(), f.Close())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return plain(os.Rename(f.Name(), path))
}
