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
	values := strings.NewReplacer("CANARY", key, "DELETE", "\x7f", "CTRL-C", "\x03",
		"LONG", strings.Repeat("k", 4096))
	for _, tt := range compare.Rows[struct {
		Name, Typed string
		Code        int
		Want        string // on the terminal, after the prompt
	}](t, "login-terminal") {
		t.Run(tt.Name, func(t *testing.T) {
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
			user.WriteString(values.Replace(tt.Typed))
			cmd.Wait()

			if !isEchoing(t, terminal) {
				t.Error("the terminal does not echo after login")
			}
			if code := cmd.ProcessState.ExitCode(); code != tt.Code {
				t.Errorf("exit code %d, want %d", code, tt.Code)
			}
			clean(t, shown+readUntil(t, user, tt.Want))
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

// In a terminal smoke shows a line for each response. The rows of doctor have color, and fit, as
// what setup says does. One without control sequences gets one line for a call that takes long. The
// program alone names the first steps; a client that starts it has its stdin.
func TestTerminal(t *testing.T) {
	t.Parallel()
	for _, tt := range compare.Rows[struct {
		Words, Steps string
		Columns      uint16
		Ends         string // of the command, at the terminal
		Code         int
		Want         string
	}](t, "terminals") {
		t.Run(fmt.Sprint(tt.Words, tt.Columns, tt.Want), func(t *testing.T) {
			t.Parallel()
			_, env := newAPI(t, strings.Fields(tt.Steps)...)
			user, terminal := newTerminal(t)
			size := unix.Winsize{Col: tt.Columns}
			err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &size)
			if err != nil {
				t.Fatal(err)
			}

			if tt.Steps == "" {
				env = nil // it asks no API
			}
			cmd := program(t.TempDir(), append(env, strings.Fields(tt.Words)...)...)
			if strings.Contains(tt.Ends, "stdin") {
				cmd.Stdin = terminal
			}
			if strings.Contains(tt.Ends, "stdout") {
				cmd.Stdout = terminal
			}
			if strings.Contains(tt.Ends, "stderr") {
				cmd.Stderr = terminal
			}
			_ = cmd.Run()
			terminal.Close()
			got, _ := io.ReadAll(user) // ends with EIO

			compare.Equal(t, "exit code", cmd.ProcessState.ExitCode(), tt.Code)
			if !regexp.MustCompile(tt.Want).Match(got) {
				t.Errorf("shown are\n%s\nwant %s", got, tt.Want)
			}
		})
	}
}
