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
	os.Exit(run(untilSignal(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// untilSignal gives a context that ends with the first signal. The second one ends the process, for whoever asks twice
// does not want to wait, with the status that shells have for it.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		again := <-signals
		const statusSignalled = 128
		if number, ok := again.(syscall.Signal); ok {
			os.Exit(statusSignalled + int(number))
		}
		os.Exit(statusSignalled)
	}()
	return ctx
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
