// Command bench builds the server as a release does and prints what it costs a
// user, next to the least that a program of its kind can cost:
//
//	go run ./test/bench
//	ORIGINAL=path/to/build/index.js go run ./test/bench
//
// The floor is a hello world that answers one line with one (testdata/hello) for
// start, idle memory and size, and a program that makes the same HTTP call
// without MCP (testdata/bare) for calls and streams. With ORIGINAL the
// TypeScript program is run by node in a third column. All of them take turns in
// the same run, so that whatever else the machine does strikes every one, and
// medians count; the ratios are what can be compared between machines.
//
// The API that they call answers from memory, in the process of this command:
// its processor time is nobody's in the table.
//
// No figure decides over the exit code, which is not 0 only when a program
// cannot be built or run or gives a wrong answer: times differ from machine to
// machine, and no test of ours is a matter of time.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// bench is one run.
type bench struct {
	api *api
	// The programs by column. original is nil without ORIGINAL.
	ours, hello, bare, original *program
	// startCPU is the processor time of a start and an end, for what is counted
	// over a whole life of a program.
	startCPU map[*program]float64 // milliseconds
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer) error {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	api, stop, err := serve()
	if err != nil {
		return err
	}
	defer stop()
	b := &bench{api: api, startCPU: map[*program]float64{}}
	if err := b.build(ctx, dir); err != nil {
		return err
	}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	var all []figure
	for _, measure := range []func(context.Context) ([]figure, error){b.start, b.idle, b.latency, b.load, b.streams, b.size} {
		figures, err := measure(ctx)
		if err != nil {
			return err
		}
		all = append(all, figures...)
	}
	return write(w, all, b.original != nil)
}

// turns calls f with ours, the floor and the original if there is one, n times
// round.
func (b *bench) turns(n int, floor *program, f func(*program) error) error {
	for range n {
		for _, p := range []*program{b.ours, floor, b.original} {
			if p == nil {
				continue
			}
			if err := f(p); err != nil {
				return err
			}
		}
	}
	return nil
}
