package test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every Markdown page may show commands in blocks fenced as "console". A line that starts with "$ " is a
// command, which a backslash at its end continues on the next line; the lines up to the next command are its
// output, standard error included, where a line of three dots stands for any number of lines. Each command is
// run at the root of the module with the command interpret on the path. One that fails must be followed by
// "$ echo $?", so that the reader sees the failure too. A command that needs more than a checkout, such as
// a cluster, belongs in a block fenced as "sh".
func TestPagesShowWhatHappens(t *testing.T) {
	var pages []string
	walkModule(t, func(file string, _ fs.DirEntry) {
		// The commands depend on any file of the module, and go test must know that: see importsOf.
		_, err := os.Stat(filepath.Join(root, file))
		require.NoError(t, err)
		if path.Ext(file) == ".md" {
			pages = append(pages, file)
		}
	})
	require.Contains(t, pages, "docs/architecture.md")

	shown := map[string][]command{}
	total := 0
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(root, page))
		require.NoError(t, err)
		shown[page], err = commandsIn(string(text))
		require.NoError(t, err, page)
		total += len(shown[page])
	}
	if slices.Contains(pages, "README.md") {
		assert.NotEmpty(t, shown["README.md"], "README.md shows no command")
	}
	if total == 0 {
		return
	}

	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "./cmd/interpret")
	build.Dir = root
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)
	s := newSession(root,
		"PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"KUBECONFIG="+os.DevNull,
	)
	for _, page := range pages {
		for i, c := range shown[page] {
			t.Run(fmt.Sprintf("%s:%d", page, c.line), func(t *testing.T) {
				assert.NoError(t, s.check(t.Context(), shown[page], i), "$ %s", c.text)
			})
		}
	}
}

func TestShownCommandsAreChecked(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Makefile"), []byte("there: ## a target\n\techo made\nhelp:\n\t@echo helped\n"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "cmd"), 0o700))
	for name, c := range map[string]struct {
		block string
		want  string
	}{
		"right output":           {block: "$ echo one; echo two >&2\none\ntwo"},
		"wrong output":           {block: "$ echo one\ntwo", want: "the page shows"},
		"missing output":         {block: "$ echo one", want: "the page shows"},
		"too much output":        {block: "$ echo one\none\ntwo", want: "the page shows"},
		"blank lines":            {block: "$ printf 'one\\n\\ntwo\\n\\n'\none\n\ntwo\n\n$ true"},
		"elided":                 {block: "$ seq 5\n1\n...\n5"},
		"elided nothing":         {block: "$ seq 2\n1\n...\n2"},
		"elided to a wrong end":  {block: "$ seq 5\n1\n...\n6", want: "the page shows"},
		"no pattern":             {block: "$ echo oneX\none.", want: "the page shows"},
		"continued":              {block: "$ echo one \\\n    two\none two"},
		"failure":                {block: "$ echo one; false\none", want: "exit status 1"},
		"failure that is shown":  {block: "$ sh -c 'exit 3'\n$ echo $?\n3"},
		"wrong status":           {block: "$ sh -c 'exit 3'\n$ echo $?\n1", want: "the page shows"},
		"status of a success":    {block: "$ true\n$ echo $?\n0"},
		"no such command":        {block: "$ nosuchcommand", want: "exit status 127"},
		"target":                 {block: "$ make there FUZZTIME=1s"},
		"target with output":     {block: "$ make there\nmade", want: "not run here"},
		"target that is run":     {block: "$ make help\nhelped"},
		"target that says else":  {block: "$ make help\nhindered", want: "the page shows"},
		"no such target":         {block: "$ make nowhere", want: `no target "nowhere"`},
		"package":                {block: "$ go install " + module + "/cmd@latest"},
		"no such package":        {block: "$ go install " + module + "/cmd/nothing@latest", want: "no package"},
		"tests":                  {block: "$ go test ./cmd/..."},
		"tests of nothing":       {block: "$ go test ./nothing/...", want: "no package"},
		"go run is the command":  {block: "$ go run ./cmd/interpret --flag\ninterpret here", want: "exit status 127"},
		"commands after another": {block: "$ echo one\none\n$ echo two\nthree", want: "the page shows"},
	} {
		t.Run(name, func(t *testing.T) {
			commands, err := commandsIn("words\n\n```console\n" + c.block + "\n```\n")
			require.NoError(t, err)
			s := newSession(dir)
			var errs []error
			for i := range commands {
				errs = append(errs, s.check(t.Context(), commands, i))
			}
			if c.want == "" {
				require.NoError(t, errors.Join(errs...))
			} else {
				require.ErrorContains(t, errors.Join(errs...), c.want)
			}
		})
	}
}

func TestBlocksAreFound(t *testing.T) {
	page := "# A page\n\n```sh\n$ not this\n```\n\n1. A step:\n\n   ```console\n   $ one\n   out\n     deep\n   ```\n\n````console\n$ two\n```\n````\n"
	commands, err := commandsIn(page)
	require.NoError(t, err)
	assert.Equal(t, []command{
		{line: 10, text: "one", output: []string{"out", "  deep"}},
		{line: 16, text: "two", output: []string{"```"}},
	}, commands)

	for _, page := range []string{"```console\nout\n```\n", "```console\n```\n", "```console\n$ one\n"} {
		_, err := commandsIn(page)
		require.Error(t, err, page)
	}
}

// showStatus is the command that shows a failure to the reader.
const showStatus = "echo $?"

// command is one that a page shows.
type command struct {
	line   int
	text   string
	output []string
}

var fence = regexp.MustCompile("^( *)(```+) *(.*?) *$")

// commandsIn reads the console blocks of a page.
func commandsIn(page string) ([]command, error) {
	var commands []command
	var open []string // the opening fence: whole, indentation, backticks, language
	inBlock, continued := 0, false
	number := 0
	for line := range strings.Lines(page) {
		number++
		line = strings.TrimRight(line, "\r\n")
		f := fence.FindStringSubmatch(line)
		switch {
		case open == nil:
			open, inBlock, continued = f, 0, false
		case f != nil && f[3] == "" && len(f[2]) >= len(open[2]):
			if open[3] == "console" && inBlock == 0 {
				return nil, fmt.Errorf("line %d: a console block without a command", number)
			}
			open = nil
		case open[3] != "console":
		default:
			line = strings.TrimRight(strings.TrimPrefix(line, open[1]), " \t")
			text, isCommand := strings.CutPrefix(line, "$ ")
			switch {
			case continued:
				commands[len(commands)-1].text += "\n" + line
				continued = strings.HasSuffix(line, `\`)
			case isCommand:
				commands = append(commands, command{line: number, text: text})
				inBlock++
				continued = strings.HasSuffix(text, `\`)
			case inBlock == 0:
				return nil, fmt.Errorf("line %d: output without a command", number)
			default:
				last := &commands[len(commands)-1]
				last.output = append(last.output, line)
			}
		}
	}
	if open != nil {
		return nil, errors.New("a block is not closed")
	}
	return commands, nil
}

// session runs the commands of a page one after the other.
type session struct {
	dir    string
	env    []string
	status int // the exit status of the command before
}

// newSession makes a session with a few variables of its own. It hides that the tests may have been started by
// make, which would make another make say so.
func newSession(dir string, env ...string) *session {
	inherited := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"MAKEFLAGS", "MFLAGS", "MAKELEVEL"}, name)
	})
	return &session{dir: dir, env: append(inherited, env...)}
}

// commandTimeout is far beyond what a page may ask of a reader's patience.
const commandTimeout = time.Minute

// check runs one of a page's commands and says how it differs from what the page shows.
func (s *session) check(ctx context.Context, commands []command, i int) error {
	c := commands[i]
	failureIsShown := i+1 < len(commands) && commands[i+1].text == showStatus
	run, err := s.isRun(c.text)
	if err != nil {
		return err
	}
	if !run {
		s.status = 0
		if len(c.output) > 0 {
			return errors.New("this command is not run here, so its output must not be shown")
		}
		return nil
	}

	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	text := strings.ReplaceAll(c.text, "go run ./cmd/interpret", "interpret")
	sh := exec.CommandContext(ctx, "sh", "-c", fmt.Sprintf("(exit %d)\n%s", s.status, text))
	sh.Dir, sh.Env, sh.WaitDelay = s.dir, s.env, time.Second
	output, err := sh.CombinedOutput()
	s.status = sh.ProcessState.ExitCode()
	if err != nil && (!failureIsShown || ctx.Err() != nil || s.status < 0) {
		return fmt.Errorf("%w: %s", err, output)
	}
	if !sameOutput(c.output, string(output)) {
		return fmt.Errorf("the page shows:\n%s\nbut it prints:\n%s", strings.Join(c.output, "\n"), output)
	}
	return nil
}

var (
	assignment = regexp.MustCompile(`^\w+=`)
	safeToMake = []string{"run", "help"}
)

// isRun says whether a command is run, and otherwise checks that what it names exists: the tests would run
// themselves, and installing needs a network.
func (s *session) isRun(text string) (bool, error) {
	words := slices.DeleteFunc(strings.Fields(text), assignment.MatchString)
	switch {
	case len(words) > 0 && words[0] == "make":
		if len(words) == 2 && slices.Contains(safeToMake, words[1]) {
			return true, nil
		}
		makefile, err := os.ReadFile(filepath.Join(s.dir, "Makefile"))
		if err != nil {
			return false, err
		}
		for _, target := range words[1:] {
			if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(target) + `:`).Match(makefile) {
				return false, fmt.Errorf("no target %q in the Makefile", target)
			}
		}
		return false, nil
	case len(words) > 1 && words[0] == "go" && slices.Contains([]string{"get", "install", "test"}, words[1]):
		for _, word := range words[2:] {
			name, _, _ := strings.Cut(word, "@")
			dir, ours := strings.CutPrefix(name, module)
			if !ours && !strings.HasPrefix(name, "./") {
				continue
			}
			if _, err := os.Stat(filepath.Join(s.dir, strings.TrimSuffix(dir, "..."))); err != nil {
				return false, fmt.Errorf("no package %s: %w", word, err)
			}
		}
		return false, nil
	}
	return true, nil
}

// sameOutput compares line by line, ignoring white space at the end of lines and blank lines at the end.
func sameOutput(shown []string, printed string) bool {
	for len(shown) > 0 && shown[len(shown)-1] == "" {
		shown = shown[:len(shown)-1]
	}
	var pattern strings.Builder
	for _, line := range shown {
		if line == "..." {
			pattern.WriteString(`(?:.*\n)*`)
		} else {
			pattern.WriteString(regexp.QuoteMeta(line) + `[ \t\r]*\n`)
		}
	}
	return regexp.MustCompile(`^`+pattern.String()+`$`).MatchString(strings.TrimRight(printed, " \t\r\n")+"\n") ||
		len(shown) == 0 && strings.TrimSpace(printed) == ""
}
