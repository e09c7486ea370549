package main_test

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// A reader of `ask` that goes while the API is silent ends the request at once,
// not at the first write.
func TestAskReaderGone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not tell that a pipe has lost its reader")
	}
	t.Parallel()
	for _, tt := range []struct{ args, step string }{
		{"ask --events weather", "hang-after=2"},
		{"ask --json weather", "hang"},
		{"ask weather", "hang"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			api := newAPI(t, tt.step)
			ctx := t.Context()
			cmd := exec.CommandContext(ctx, binary, strings.Fields(tt.args)...)
			cmd.Env = environment(t.TempDir(), "OPENAI_API_KEY="+key, "OPENAI_BASE_URL="+api.url)
			var stderr strings.Builder
			cmd.Stderr = &stderr
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
			if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 141 || stderr.Len() > 0 {
				t.Errorf("without a reader it ended with %v and said %q, want exit code 141 and nothing", err, &stderr)
			}
			if err := api.WaitAborted(ctx, 1); err != nil {
				t.Errorf("the request was not aborted: %v", err)
			}
		})
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
