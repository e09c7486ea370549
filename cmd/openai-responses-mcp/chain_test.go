//go:build unix

package main_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The commands of a shell that stays, as npm has one, and of a launcher. Each
// leaves its process id in a file. A background command has no stdin unless it
// is told to. The launcher that stays names itself and its parent; the one that
// becomes the program names its parent.
const (
	stays   = `exec 3<&0; echo $$ >launcher; OPENAI_RESPONSES_MCP_PARENT=$$,$PPID "$PROGRAM" --stdio --debug <&3 & wait`
	becomes = `exec 3<&0; OPENAI_RESPONSES_MCP_PARENT=$PPID exec "$PROGRAM" --stdio --debug <&3`
	shell   = `exec 3<&0; echo $$ >shell; /bin/sh -c "$LAUNCHER" <&3 & wait`
)

// Whichever process between the client and the program is killed, the session
// is over: also npm, whose shell and whose launcher do not notice.
func TestAncestorKilled(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, launcher, victim string }{
		{"npm, with a launcher that stays", stays, "npm"},
		{"its shell, with a launcher that stays", stays, "shell"},
		{"a launcher that stays", stays, "launcher"},
		{"npm, with a launcher that becomes the program", becomes, "npm"},
		{"its shell, with a launcher that becomes the program", becomes, "shell"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := npm(t, tt.launcher, "wait")
			c.callInFlight()
			c.logged(c.pid("npm"))
			pid, err := strconv.Atoi(c.pid(tt.victim))
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			c.answeredAndOver()
		})
	}
}

// Above npm nobody is looked at: a shell that starts it and goes, or a client
// that goes and leaves its pipes to somebody else, ends nothing.
func TestClientGone(t *testing.T) {
	t.Parallel()
	for name, launcher := range map[string]string{"a launcher that stays": stays, "one that becomes the program": becomes} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := npm(t, launcher, "exit")
			c.callInFlight()
			want := []string{c.pid("shell"), c.pid("npm")}
			if launcher == stays {
				want = append([]string{c.pid("launcher")}, want...)
			}
			c.logged("ancestors=[" + strings.Join(want, ",") + "]")
			if _, err := c.answer(c.ctx, "1"); err != nil {
				t.Errorf("%v\nstderr: %s", err, c.stderr)
			}
			if err := c.stdin.Close(); err != nil {
				t.Fatal(err)
			}
			<-c.ended
			if strings.Contains(c.stderr.String(), "an ancestor has ended") {
				t.Errorf("the session was ended before its input\nstderr: %s", c.stderr)
			}
		})
	}
}

// The variable may have been meant for a process above, or name one that is not
// there in the sandbox that the program runs in. Then it says nothing.
func TestOtherParent(t *testing.T) {
	t.Parallel()
	short := exec.CommandContext(t.Context(), "/bin/sh", "-c", ":")
	if err := short.Run(); err != nil {
		t.Fatal(err)
	}
	for name, pid := range map[string]int{"above": os.Getppid(), "not there": short.Process.Pid} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := begin(t, setup{env: []string{fmt.Sprintf("OPENAI_RESPONSES_MCP_PARENT=%d", pid)}})
			c.line(ping1)
			c.want("1")
			if err := c.stdin.Close(); err != nil {
				t.Fatal(err)
			}
			if code, err := c.wait(c.ctx); code != 0 || err != nil {
				t.Errorf("exit code %d, %v", code, err)
			}
		})
	}
}

// npm starts the program as npm does: a client, which is a shell that starts a
// runner and then waits or exits, a shell of the runner, a launcher.
func npm(t *testing.T, launcher, then string) *orphan {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	client := `exec 3<&0; "$RUNNER" "$1" /bin/sh -c "$SHELL_OF_NPM" <&3 & ` + then
	return beneath(ctx, t, exec.CommandContext(ctx, "/bin/sh", "-c", client, "", runCommand), "RUNNER="+self, "SHELL_OF_NPM="+shell, "LAUNCHER="+launcher)
}

// pid is the id of a process of the chain.
func (o *orphan) pid(name string) string {
	o.t.Helper()
	b, err := os.ReadFile(filepath.Join(o.cmd.Dir, name))
	if err != nil {
		o.t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

func (o *orphan) logged(text string) {
	o.t.Helper()
	if err := o.stderr.wait(o.ctx, text); err != nil {
		o.t.Fatalf("%v\nstderr: %s", err, o.stderr)
	}
}
