package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // policy.timezone, also where the system has no zones

	"github.com/spf13/cobra"

	"github.com/uchimanajet7/openai-responses-mcp/internal/command/cli"
)

func main() {
	// A closed pipe is an error of the write. The signal would end the process
	// before calls in flight are cancelled.
	signal.Ignore(syscall.SIGPIPE)
	// net/http writes to the standard log, which redacts no secrets.
	log.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A signal may come before package cobra has parsed the arguments.
	serves := len(os.Args) > 1 && os.Args[1] == "serve"
	if serves { // SIGHUP often means to read files again, which serve does anyway
		signal.Ignore(syscall.SIGHUP)
	}
	// Another signal ends the process at once, but not the copy of the first one
	// that a launcher passes on.
	context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, stop) })
	cobra.MousetrapHelpText = "" // on Windows other programs start this one
	code := cli.Run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
	os.Exit(code)
}
