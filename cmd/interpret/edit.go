package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"reflect"
	"strings"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/manifest"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/luakube"
)

// editing is a customization that is being edited, and where it came from.
type editing struct {
	session *session
	options []luakube.Option
	showDoc bool
	// file is where it is written, empty for standard output.
	file string
	// docs are the documents of the file, at is the index of the one that holds the customization.
	docs []manifest.Document
	at   int
	// customization is what was read. A new one is empty.
	customization *v1alpha1.ResourceInterpreterCustomization
	isNew         bool
}

// runEdit lets somebody edit the scripts of the one customization that -f names.
func (o *options) runEdit(ctx context.Context, s *session) error {
	e, err := o.editing(ctx, s)
	if err != nil {
		return err
	}
	edited, err := e.loop()
	if edited == nil || err != nil {
		return err
	}
	text, err := e.write(edited)
	if err != nil {
		return err
	}
	if o.output != "" {
		return s.document(o.output, edited)
	}
	confirmation := fmt.Sprintf("resourceinterpretercustomization.%s/%s edited\n", v1alpha1.GroupVersion.Group, edited.Name)
	if e.file == "" {
		// Standard output is where the customization goes.
		fmt.Fprint(s.stderr, confirmation)
		_, err = s.out.WriteString(text)
		return err
	}
	_, err = s.out.WriteString(confirmation)
	return err
}

// editing finds the customization.
func (o *options) editing(ctx context.Context, s *session) (*editing, error) {
	if len(o.filenames) == 0 {
		return nil, usage("--edit needs a customization; name it with -f")
	}
	if err := s.claimStdin(filenameFlag, o.filenames...); err != nil {
		return nil, err
	}
	options, err := o.engineOptions(s)
	if err != nil {
		return nil, err
	}
	inputs, err := s.read(ctx, filenameFlag, o.filenames, o.recursive)
	if err != nil {
		return nil, err
	}
	// Other objects in the file are left alone; they are written back as they were.
	var found *editing
	var names []string
	for _, in := range inputs {
		docs := s.split(in)
		for i := range docs {
			list, err := declarative.FromDocument(&docs[i])
			if err != nil && !errors.Is(err, declarative.ErrOtherKind) {
				return nil, err
			}
			for _, c := range list {
				names = append(names, c.Place().String())
				found = &editing{file: in.name, docs: docs, at: i, customization: c.ResourceInterpreterCustomization}
			}
		}
	}
	switch {
	case len(names) > 1:
		return nil, usage("--edit is about one customization, there are %d: %s", len(names), some(names))
	case len(names) == 0 && len(inputs) == 1 && strings.TrimSpace(string(inputs[0].data)) == "" && inputs[0].name != stdinFile:
		found = &editing{file: inputs[0].name, docs: s.split(inputs[0]), isNew: true, customization: newCustomization()}
	case len(names) == 0:
		return nil, usage("there is no customization in %s; to begin a new one, name an empty file", some(o.filenames))
	}
	if _, err := os.Stat(found.file); errors.Is(err, fs.ErrNotExist) {
		found.file = "" // Standard input or a URL.
	}
	found.session, found.options, found.showDoc = s, options, o.showDoc
	return found, nil
}

// newCustomization is where a new one begins.
func newCustomization() *v1alpha1.ResourceInterpreterCustomization {
	c := &v1alpha1.ResourceInterpreterCustomization{}
	c.APIVersion, c.Kind = v1alpha1.GroupVersion.String(), v1alpha1.KindResourceInterpreterCustomization
	return c
}

// loop opens the editor until what it leaves is sound or the same as before. Nil without an error means that
// nothing is to be saved.
func (e *editing) loop() (*v1alpha1.ResourceInterpreterCustomization, error) {
	sheet := newSheet(e.customization, e.showDoc)
	if same, problems := sheet.parse(sheet.text, e.customization); len(problems) > 0 || !reflect.DeepEqual(same, e.customization) {
		return nil, &failure{fmt.Errorf("%s cannot be edited here: a script has a line that begins like %s", e.what(), tag("rule"))}
	}
	original := sheet.text
	var reasons []string
	for {
		path, edited, err := e.open(sheet.header(reasons) + sheet.text)
		if err != nil {
			return nil, err
		}
		edited = sheet.withoutHeader(edited)
		switch {
		case edited == sheet.text && len(reasons) > 0:
			return nil, &failure{fmt.Errorf("edit cancelled, %s is not changed; what was written is kept in %s", e.what(), path)}
		case edited == original: // Also after a mistake: who takes it back wants nothing saved.
			os.Remove(path)
			fmt.Fprintln(e.session.stderr, "Edit cancelled, no changes made.")
			return nil, nil
		case strings.TrimSpace(edited) == "":
			os.Remove(path)
			fmt.Fprintln(e.session.stderr, "Edit cancelled, saved file was empty.")
			return nil, nil
		}
		c, problems := sheet.parse(edited, e.customization)
		if len(problems) == 0 {
			problems = e.problems(c)
		}
		if err := os.Remove(path); err != nil {
			return nil, plain(err)
		}
		if len(problems) == 0 {
			return c, nil
		}
		sheet.text, reasons = edited, problems
	}
}

// what names the thing that is edited.
func (e *editing) what() string {
	if e.file == "" {
		return "the customization"
	}
	return e.file
}

// problems says why a customization cannot be saved.
func (e *editing) problems(c *v1alpha1.ResourceInterpreterCustomization) []string {
	if c.Name == "" {
		return []string{"the customization needs a name after " + tag("name")}
	}
	engine, err := newEngine(e.options)
	if err == nil {
		_, err = declarative.New([]*declarative.Customization{declarative.From(c)}, declarative.WithEngine(engine))
	}
	var list []string
	for _, err := range each(err) {
		var load *declarative.LoadError
		var script *luakube.ScriptError
		switch {
		case errors.As(err, &script) && errors.As(err, &load):
			where := ""
			if script.Line > 0 {
				where = fmt.Sprintf(" line %d", script.Line)
			}
			list = append(list, fmt.Sprintf("%s%s: %s", operationOf(load.Rule), where, script.Message))
		case errors.As(err, &load):
			list = append(list, load.Err.Error())
		default:
			list = append(list, err.Error())
		}
	}
	return list
}

// operationOf is the operation of a rule, which is what the sheet calls it.
func operationOf(rule string) string {
	for _, c := range interpreter.Contracts() {
		if c.Rule == rule {
			return string(c.Operation)
		}
	}
	return rule
}

// open shows a text in the editor, and gives the path of the file it is in and what became of it. The file is
// left to the caller, or on an error to the user.
func (e *editing) open(text string) (path, edited string, err error) {
	f, err := os.CreateTemp("", "interpret-edit-*.lua")
	if err != nil {
		return "", "", plain(err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", "", fmt.Errorf("%s: %w", f.Name(), err)
	}
	editor := editorCommand()
	// The shell takes arguments and quotes in the variable apart. The editor is not bound to our context: it
	// handles Ctrl-C itself, and what somebody wrote must not be lost to a signal.
	cmd := exec.Command("sh", "-c", editor+` "$@"`, "sh", f.Name())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.session.stdin, e.session.stdout, e.session.stderr
	if e.file == "" {
		cmd.Stdout = e.session.stderr
		if terminal, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil && e.session.stdinFlag != "" {
			defer terminal.Close()
			cmd.Stdin, cmd.Stdout = terminal, terminal
		}
	}
	if err := cmd.Run(); err != nil {
		return "", "", fmt.Errorf("editor %q: %w; what was written is kept in %s", editor, err, f.Name())
	}
	data, err := os.ReadFile(f.Name())
	if err != nil {
		return "", "", plain(err)
	}
	return f.Name(), strings.ReplaceAll(string(data), "\r\n", "\n"), nil
}

// editorCommand is what the user prefers, as kubectl looks for it.
func editorCommand() string {
	for _, name := range []string{"KUBE_EDITOR", "EDITOR"} {
		if editor := strings.TrimSpace(os.Getenv(name)); editor != "" {
			return editor
		}
	}
	return "vi"
}

// write puts the edited customization in the place of the one that was read, and gives the whole text.
func (e *editing) write(edited *v1alpha1.ResourceInterpreterCustomization) (string, error) {
	var text string
	var err error
	if e.isNew {
		text, err = newText(edited)
	} else {
		text, err = rewrite(e.docs[e.at].Text, e.customization, edited)
	}
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	for i := range e.docs {
		if i == e.at {
			b.WriteString(text)
		} else {
			b.WriteString(e.docs[i].Text)
		}
	}
	if e.file == "" {
		return b.String(), nil
	}
	return "", writeFile(e.file, b.Bytes())
}
