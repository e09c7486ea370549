package main_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// runCommand is the argument with which this test binary runs a command, its
// streams passed on, and waits for it: a package runner, which is no shell. It
// leaves its process id in the file npm.
const runCommand = "run-command"

func runner(args []string) int {
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := os.WriteFile("npm", fmt.Append(nil, os.Getpid()), 0o600); err != nil {
		return 1
	}
	if os.Getenv("NAMED_BY_RUNNER") != "" {
		cmd.Env = append(os.Environ(), fmt.Sprintf("OPENAI_RESPONSES_MCP_PARENT=%d", os.Getpid()))
	}
	if err := cmd.Run(); err != nil {
		return 1
	}
	return 0
}

// A launcher that is killed cannot pass its end on, and its client may hold the
// pipes open: the program, told whose it is, ends all the same, once what was
// asked is answered.
func TestParentKilled(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := beneath(ctx, t, exec.CommandContext(ctx, self, runCommand, binary, "--stdio"), "NAMED_BY_RUNNER=1")
	c.callInFlight()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.answeredAndOver()
}

// orphan is the program behind a launcher, with an API that takes its time.
type orphan struct {
	*process
	ctx context.Context
	t   *testing.T
	api *api
}

// beneath starts a command that starts the program.
func beneath(ctx context.Context, t *testing.T, cmd *exec.Cmd, env ...string) *orphan {
	t.Helper()
	a := newAPI(t, "always", "delay=100ms")
	home := t.TempDir()
	env = append(env, "OPENAI_BASE_URL="+a.url, "OPENAI_API_KEY="+key, "PROGRAM="+binary)
	p, err := launch(cmd, home, environment(home, env...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.stdin.Close() })
	return &orphan{p, ctx, t, a}
}

// callInFlight returns when a call has reached the API.
func (o *orphan) callInFlight() {
	o.t.Helper()
	if err := o.send(initialize + "\n" + ask("1", "HTTP 404") + "\n"); err != nil {
		o.t.Fatal(err)
	}
	if _, err := o.answer(o.ctx, `"init"`); err != nil {
		o.t.Fatalf("%v\nstderr: %s", err, o.stderr)
	}
	if err := o.api.WaitRequests(o.ctx, 1); err != nil {
		o.t.Fatal(err)
	}
}

// answeredAndOver wants the answer to that call and, while the client's end of
// stdin is open, the end of whoever holds stdout.
func (o *orphan) answeredAndOver() {
	o.t.Helper()
	select {
	case <-o.ended:
	case <-o.ctx.Done():
		o.t.Fatalf("the program outlives those that started it\nstderr: %s", o.stderr)
	}
	if !o.has("1") {
		o.t.Errorf("the call in flight was not answered; got %s", o.messages())
	}
}
