package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // for policy.timezone on systems without time zones

	"github.com/spf13/cobra"

	"github.com/uchimanajet7/openai-responses-mcp/internal/command/cli"
)

func main() {
	// A write to a closed pipe then only returns an error. SIGPIPE would end the process before
	// calls in flight are cancelled.
	signal.Ignore(syscall.SIGPIPE)

	// net/http writes to the standard log, which redacts no secrets.
	log.SetOutput(io.Discard)

	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	// The arguments are looked at here, because a signal may come before cobra has parsed them.
	serves := len(os.Args) > 1 && os.Args[1] == "serve"
	switch {
	case serves: // SIGHUP often asks a server to read its files again, which serve does by itself
		signal.Ignore(syscall.SIGHUP)
	case !signal.Ignored(syscall.SIGHUP): // under nohup it stays ignored
		signals = append(signals, syscall.SIGHUP)
	}

	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	// After the first signal has ended ctx, a later one ends the process at once. During the first
	// second it does not: it may be a copy of the first signal that a launcher passes on.
	context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, stop) })

	cobra.MousetrapHelpText = "" // lets other programs start this one on Windows without a warning
	code := cli.Run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
	os.Exit(code)
}
