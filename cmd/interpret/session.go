package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/kubeinterpret/interpret/interpreter/manifest"
)

// session is one run of the command: its streams, and what it has read so far.
type session struct {
	stdin io.Reader
	// out is buffered standard output; stdout is for programs that are run from here.
	out    *bufio.Writer
	stdout io.Writer
	stderr io.Writer
	// stdinFlag is the flag that reads standard input, empty if none does.
	stdinFlag string
	// texts are the lines of what was read by name, so that a message can show the line it is about.
	texts map[string][]string
}

// newSession begins a run. Output is buffered, and flushed when the run ends.
func newSession(stdin io.Reader, stdout, stderr io.Writer) *session {
	return &session{stdin: stdin, out: bufio.NewWriter(stdout), stdout: stdout, stderr: stderr, texts: map[string][]string{}}
}

// warn tells about something that does not change the exit status.
func (s *session) warn(format string, args ...any) {
	fmt.Fprintf(s.stderr, "warning: "+format+"\n", args...)
}

// split cuts a stream into documents, and remembers its lines.
func (s *session) split(in input) []manifest.Document {
	docs := manifest.Split(in.name, in.data)
	lines := make([]string, docs[0].LastLine())
	for i := range lines {
		lines[i] = docs[0].SourceLine(i + 1)
	}
	s.texts[in.name] = lines
	return docs
}

// sourceLine is a line of a stream that was read, empty if there is none.
func (s *session) sourceLine(file string, line int) string {
	lines := s.texts[file]
	if line < 1 || line > len(lines) {
		return ""
	}
	return lines[line-1]
}

// excerpt shows a line of a stream, with a caret under a column that is known, each line indented. It is
// empty if the line is unknown.
func (s *session) excerpt(file string, line, column int, indent string) string {
	text := s.sourceLine(file, line)
	if text == "" {
		return ""
	}
	number := fmt.Sprint(line)
	shown := fmt.Sprintf("%s%s | %s\n", indent, number, text)
	if column < 1 || column > len(text)+1 {
		return shown
	}
	// What stands before the caret is as wide as what stands above it; only tabs need to be the same.
	before := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, text[:column-1])
	return shown + fmt.Sprintf("%s%s | %s^\n", indent, strings.Repeat(" ", len(number)), before)
}

// scriptLog writes what scripts print to standard error, with the rule's name. Standard output belongs to
// the answer.
type scriptLog struct{ w io.Writer }

func (l scriptLog) Enabled(context.Context, slog.Level) bool { return true }

func (l scriptLog) Handle(_ context.Context, r slog.Record) error {
	script := ""
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "script" {
			script = a.Value.String()
		}
		return true
	})
	_, err := fmt.Fprintf(l.w, "%s: %s\n", script, r.Message)
	return err
}

func (l scriptLog) WithAttrs([]slog.Attr) slog.Handler { return l }

func (l scriptLog) WithGroup(string) slog.Handler { return l }
