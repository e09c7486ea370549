package main_test

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// A reader of `ask --events` that goes while the stream is silent ends the
// request at once, not at the next event.
func TestEventsReaderGone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not tell that a pipe has lost its reader")
	}
	t.Parallel()
	api := newAPI(t, "hang-after=2")
	ctx := t.Context()
	cmd := exec.CommandContext(ctx, binary, "ask", "--events", "weather")
	cmd.Env = environment(t.TempDir(), "OPENAI_API_KEY="+key, "OPENAI_BASE_URL="+api.url)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := api.WaitRequests(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 141 {
		t.Errorf("ask --events without a reader ended with %v, want exit code 141", err)
	}
	if err := api.WaitAborted(ctx, 1); err != nil {
		t.Errorf("the request was not aborted: %v", err)
	}
}

// A reader that has seen enough, as head has, is no error: nothing is said, and
// the exit code is that of a program which a closed pipe has ended.
func TestEnoughRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the pipes of Windows end in another way")
	}
	t.Parallel()
	for _, args := range []string{"ask --offline ?", "ask --offline --json ?", "doctor --offline", "setup", "setup codex", "smoke --offline", "--help", "--version"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		cmd := exec.CommandContext(t.Context(), binary, strings.Fields(args)...)
		cmd.Env = environment(t.TempDir())
		var stderr strings.Builder
		cmd.Stdout, cmd.Stderr = w, &stderr
		err = cmd.Run()
		w.Close()
		if cmd.ProcessState.ExitCode() != 141 || strings.Contains(stderr.String(), "pipe") {
			t.Errorf("%s without a reader ended with %v and said %q, want exit code 141 and nothing of it", args, err, &stderr)
		}
	}
}
