package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/uchimanajet7/openai-responses-mcp/internal/cli"
)

func main() {
	// A closed pipe is an error to handle, not a reason to die in mid-sentence.
	signal.Ignore(syscall.SIGPIPE)
	// Libraries talk to this log, net/http of bytes that came unasked for: lines
	// that nobody has taken the key out of.
	log.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := cli.Run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
