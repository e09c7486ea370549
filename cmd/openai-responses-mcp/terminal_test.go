//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// newTerminal returns both ends of a pseudo-terminal.
func newTerminal(t *testing.T) (user, program *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { user.Close() })
	user.SetReadDeadline(time.Now().Add(patience)) // Fd would take that back.

	number := 0
	conn, _ := user.SyscallConn()
	conn.Control(func(fd uintptr) {
		number, _ = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0)
	})
	if err == nil {
		program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return user, program
}

// isEchoing reports whether a terminal shows what its user types.
func isEchoing(t *testing.T, terminal *os.File) bool {
	t.Helper()
	settings, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return settings.Lflag&unix.ECHO != 0
}

// A terminal shows no key: it echoes nothing from before the prompt until login ends.
func TestLoginTerminal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, typed string
		code        int
		want        string // on the terminal, after the prompt
	}{
		{"key", key + "\r", 0, "warning: the key was not checked"},
		{"corrected", "x\x7f" + key + "\r", 0, "warning: the key was not checked"},
		{"two lines", key + "\r" + key + "\r", 1, "it has several lines"},
		{"nothing", "\r", 1, "no key was entered"},
		{"Ctrl-C", key + "\x03", 130, "no key was entered"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			user, terminal := newTerminal(t)
			cmd := program(t.TempDir(), "login")
			cmd.Stdin = terminal
			cmd.Stderr = terminal
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			late := time.AfterFunc(patience, func() { cmd.Process.Kill() })
			defer late.Stop()

			const prompt = "API key for 127.0.0.1:1 (OPENAI_API_KEY, not shown): "
			shown := readUntil(t, user, prompt)
			if isEchoing(t, terminal) {
				t.Error("the terminal echoes after the prompt")
			}
			user.WriteString(tt.typed)
			cmd.Wait()

			if !isEchoing(t, terminal) {
				t.Error("the terminal does not echo after login")
			}
			if code := cmd.ProcessState.ExitCode(); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			clean(t, shown+readUntil(t, user, tt.want))
		})
	}
}

// readUntil reads from a terminal until it has shown a text.
func readUntil(t *testing.T, terminal *os.File, text string) (shown string) {
	t.Helper()
	b := make([]byte, 1024)
	for !strings.Contains(shown, text) {
		n, err := terminal.Read(b)
		shown += string(b[:n])
		if err != nil {
			t.Fatalf("no %q on the terminal: %q, %v", text, shown, err)
		}
	}
	return shown
}

// A terminal without control sequences gets one line for a call that takes long.
func TestDumbTerminal(t *testing.T) {
	t.Parallel()
	for delay, want := range map[string]string{"10ms": "", "2500ms": "asking\r\n"} {
		t.Run(delay, func(t *testing.T) {
			t.Parallel()
			_, env := newAPI(t, "always", "delay="+delay)
			user, terminal := newTerminal(t)
			cmd := program(t.TempDir(), append(env, "TERM=dumb", "ask", "x")...)
			cmd.Stdin = nil
			cmd.Stdout = nil
			cmd.Stderr = terminal
			err := cmd.Run()
			terminal.Close()
			got, _ := io.ReadAll(user) // ends with EIO

			compare.Equal(t, "shown", fmt.Sprint(string(got), err), want+"<nil>")
		})
	}
}

// The program alone names the first steps in a terminal; a client that starts it has its stdin.
func TestBareCommand(t *testing.T) {
	t.Parallel()
	user, terminal := newTerminal(t)
	cmd := program(t.TempDir())
	cmd.Stdin = terminal
	cmd.Stderr = terminal
	_ = cmd.Run()
	compare.Equal(t, "exit code", cmd.ProcessState.ExitCode(), 2)
	terminal.Close()
	got, _ := io.ReadAll(user) // ends with EIO

	want := "openai-responses-mcp: error: nothing to do\r\n" +
		"hint: run openai-responses-mcp login, then openai-responses-mcp setup CLIENT; " +
		`openai-responses-mcp ask "QUESTION" answers here, and openai-responses-mcp --help lists all` + "\r\n"
	compare.Equal(t, "shown", string(got), want)
}

// In a terminal smoke shows a line for each response. The rows of doctor have color, and fit, as
// what setup says does.
func TestTerminal(t *testing.T) {
	const ok = `\x1b\[0;32mok\x1b\[0m    `
	for _, tt := range []struct {
		command string
		columns uint16
		want    string
	}{
		{"smoke --offline", 80, `^initialize +\d+ ms  {"name":.*\r\ntools/list +\d+ ms  \["answer",.*\r\ntools/call`},
		{"setup codex", 60, `\r\n- Codex starts servers with an almost empty environment\.\r\n  env_vars`},
		{"setup codex", 60, `\r\n    codex mcp add openai-responses --env ANSWER_WITHIN_MS=280000 --env`},
		{"doctor --offline", 80, ok + `location {15}search.user_location is .* searches\r\n {29}as if`},
		{"doctor --offline", 40, ok + `version: openai-responses-mcp\r\n {6}\d`},
		{"doctor --offline", 40, `\r\n {6}model_profiles\S+_effort\r\n {6}from ANSWER`},
	} {
		t.Run(fmt.Sprint(tt.command, tt.columns, tt.want), func(t *testing.T) {
			user, terminal := newTerminal(t)
			size := unix.Winsize{Col: tt.columns}
			err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &size)
			if err != nil {
				t.Fatal(err)
			}

			alike := []string{"ANSWER_EFFORT=low", "ANSWER_VERBOSITY=low"} // is a warning
			cmd := program(t.TempDir(), append(alike, strings.Fields(tt.command)...)...)
			cmd.Stdout = terminal
			if strings.HasPrefix(tt.command, "setup") {
				cmd.Stderr = terminal
			}
			err = cmd.Run()
			terminal.Close()
			got, _ := io.ReadAll(user) // ends with EIO

			if err != nil || !regexp.MustCompile(tt.want).Match(got) {
				t.Errorf("%v, shown are\n%s\nwant %s", err, got, tt.want)
			}
		})
	}
}
