package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
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

// How much garbage there may be beside what is in use before it is collected, in percent. A command that ends soon
// spends a quarter of its time on collecting a few megabytes with what is usual, which a server keeps.
const (
	commandGCPercent = 400
	serverGCPercent  = 100
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(commandGCPercent)
	}
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
