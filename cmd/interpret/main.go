package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// The exit statuses.
const (
	statusFine = 0
	// statusFailed means that a rule, a check or a case failed.
	statusFailed = 1
	// statusUnusable means that the command line is wrong, or that something could not be read.
	statusUnusable = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// Whoever asks twice does not want to wait.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the command as a function; it gives the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	s := newSession(stdin, stdout, stderr)
	cmd := newRoot(s)
	cmd.SetArgs(args)
	cmd.SetIn(stdin)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		err = s.out.Flush()
	} else if flushed := s.out.Flush(); flushed != nil {
		s.report(flushed)
	}
	if err == nil {
		return statusFine
	}
	s.report(err)
	return statusOf(err)
}
