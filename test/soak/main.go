// Command soak runs the built server for as long as it is told and breaks
// everything around it: the API refuses, hangs, cuts and babbles, the client
// cancels, repeats ids, sends garbage, reads slowly and goes away.
//
//	go run ./test/soak [-for 1h] [-seed N] [-race]
//
// Two servers live for the whole time, one that waits for the API as long as it
// takes and one with a short timeout; beside them one server after another is
// started and ended, each in another way. All the time it is held that
//
//   - a call is answered exactly once, or was cancelled, and then not at all once
//     the server has read that; the answer belongs to the question;
//   - progress increases, and there is none after the end of its call;
//   - nothing but protocol is on stdout, and a request without an answer in sight
//     is not repeated at the API;
//   - goroutines, descriptors, threads and memory end where they began.
//
// The last lines sum up. The exit code is 1 when one of these does not hold; then
// the seed and the end of the offending session's transcript are printed. The
// seed decides what is done, not when: the same seed makes the same decisions.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	module = "github.com/uchimanajet7/openai-responses-mcp"
	// patience is how long what must come may take, on a machine that has other
	// things to do as well. It is no measure.
	patience = 2 * time.Minute
)

// soak is one run.
type soak struct {
	seed   uint64
	raced  bool // the server has the race detector in it
	binary string
	homes  []string // of the servers, each with another configuration file
	end    time.Time
	tally  *tally

	stop   context.CancelCauseFunc // ends the run at the first breach
	mu     sync.Mutex
	lines  []string // about the long sessions, for the summary
	breach *breach

	idle atomic.Pointer[[]string] // goroutines of a server that is left alone; nil: not known yet
}

// breach is what did not hold, and where.
type breach struct {
	what       string
	transcript string
}

func main() {
	length := flag.Duration("for", time.Minute, "how long")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano())%1e9, "what is done")
	raced := flag.Bool("race", false, "build the server with the race detector; its memory is then not judged")
	flag.Parse()
	if runtime.GOOS != "linux" {
		fmt.Println("soak: not run: descriptors, threads and memory of a process are read from /proc, which only Linux has")
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	k := &soak{seed: *seed, raced: *raced, tally: newTally()}
	fmt.Printf("run       seed %d, for %v, %s/%s, %d processors\n", k.seed, *length, runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	err := k.run(ctx, *length)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak: error:", err)
		os.Exit(1)
	}
}

// run builds the server, runs the lanes side by side, and sums up.
func (k *soak) run(ctx context.Context, length time.Duration) error {
	dir, err := os.MkdirTemp("", "soak-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	k.binary = filepath.Join(dir, "server")
	if err := errors.Join(k.configure(dir), k.build(ctx)); err != nil {
		return err
	}
	k.end = time.Now().Add(length)
	ctx, k.stop = context.WithCancelCause(ctx)
	defer k.stop(nil)
	lanes := []func(context.Context) error{k.long(patientLane()), k.long(hastyLane()), k.churn}
	var wg sync.WaitGroup
	for _, lane := range lanes {
		wg.Go(func() {
			if err := lane(ctx); err != nil {
				k.stop(err)
			}
		})
	}
	wg.Wait()
	return k.report(context.Cause(ctx))
}

// configure makes the homes. The first has no configuration; in the others every
// call is streamed or none, as the file says, whoever watches.
func (k *soak) configure(dir string) error {
	for i, text := range []string{
		"",
		"responses: { stream: true }\nserver: { structured_content: true }\n",
		"responses: { stream: false }\n",
	} {
		home := filepath.Join(dir, fmt.Sprint("home", i))
		k.homes = append(k.homes, home)
		folder := filepath.Join(home, ".config", module[strings.LastIndex(module, "/")+1:])
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(folder, "config.yaml"), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// build compiles the server as a release is, or with the race detector.
func (k *soak) build(ctx context.Context) error {
	args := []string{"build", "-trimpath", "-ldflags=-s -w", "-o", k.binary, module + "/cmd/openai-responses-mcp"}
	env := append(os.Environ(), "CGO_ENABLED=0")
	if k.raced {
		args, env = []string{"build", "-race", "-o", k.binary, module + "/cmd/openai-responses-mcp"}, os.Environ()
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the server: %w\n%s", err, out)
	}
	return nil
}

// errBreach ends a lane whose session has told what is wrong.
var errBreach = errors.New("a breach")

// fail records the first breach and ends the run.
func (k *soak) fail(what, transcript string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.breach == nil {
		k.breach = &breach{what, transcript}
		k.stop(errBreach)
	}
}
