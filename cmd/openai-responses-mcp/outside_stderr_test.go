//go:build unix

package main_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A client that never reads stderr, as many do, stops nothing: neither the
// start, with all there is to say at it, nor the calls, nor the end.
func TestStderrNotRead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		args []string
		full bool // from the start
	}{
		{"full", nil, true},
		{"full, and much to say", []string{"--show-config"}, true},
		{"full, with debug", []string{"--debug"}, true},
		{"filled by debug", []string{"--debug"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, stderr := pipe(t)
			if tt.full {
				fill(t, stderr)
			}
			c := begin(t, setup{
				api:    newAPI(t, "refuses=text.verbosity", "500", "always", "text="+strings.Repeat("a", 100<<10)),
				args:   tt.args,
				config: "server: { transport: stdio }\n", // worth a warning
				change: func(cmd *exec.Cmd) { cmd.Stderr = stderr },
			})
			for _, id := range []string{"1", "2", "3"} {
				c.line(ask(id, "x"))
				c.want(id).answered(t)
			}
			c.done()
		})
	}
}

// fill writes to a pipe until it takes no more.
func fill(t *testing.T, w *os.File) {
	t.Helper()
	fd := int(w.Fd())
	if err := syscall.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for size := 4096; size > 0; size /= 2 { // to the last byte
		for b := make([]byte, size); ; {
			if _, err := syscall.Write(fd, b); err != nil {
				break
			}
		}
	}
	// The flag belongs to both ends of a fork: a client's pipe has it not.
	if err := syscall.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
}

// Nor does a stderr that nobody has open, or that has no room.
func TestStderrGone(t *testing.T) {
	t.Parallel()
	gone := func(t *testing.T) *os.File {
		r, w := pipe(t)
		r.Close()
		return w
	}
	full := func(t *testing.T) *os.File {
		f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip("a device without room is one of Linux alone")
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	for name, open := range map[string]func(*testing.T) *os.File{"gone": gone, "full": full} {
		for _, args := range []string{"", "--show-config", "--debug"} {
			t.Run(name+args, func(t *testing.T) {
				t.Parallel()
				stderr := open(t)
				c := begin(t, setup{
					api:    newAPI(t, "refuses=text.verbosity"),
					args:   strings.Fields(args),
					config: "server: { transport: stdio }\n",
					change: func(cmd *exec.Cmd) { cmd.Stderr = stderr },
				})
				c.line(ask("1", "HTTP 404"))
				c.want("1").answered(t)
				c.done()
			})
		}
	}
}

// A debug file that can be written no more, because the disk is full or the
// file as large as it may be, is told once, and the log goes on on stderr.
func TestDebugFileFull(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, file, says string
		change           func(*exec.Cmd)
	}{
		{"disk", "/dev/full", "no space left on device", nil},
		// The kernel sends a signal as well, which ends whoever does not expect it.
		{"limit", "debug.log", "file too large", func(cmd *exec.Cmd) {
			cmd.Args = append([]string{"sh", "-c", `ulimit -f 8; exec "$0" "$@"`}, cmd.Args...)
			cmd.Path = "/bin/sh"
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(tt.file); err != nil && tt.change == nil {
				t.Skip("a device without room is one of Linux alone")
			}
			c := begin(t, setup{api: newAPI(t), args: []string{"--debug=" + tt.file}, change: tt.change})
			for _, id := range []string{"1", "2", "3"} {
				c.line(ask(id, "HTTP 404"))
				c.want(id).answered(t)
			}
			c.done()
			text := c.stderr.String()
			if n := strings.Count(text, "writing debug file"); n != 1 || !strings.Contains(text, tt.says+"; the debug log goes to stderr only") {
				t.Errorf("stderr tells of the file %d times, want once and why:\n%s", n, text)
			}
			if n := strings.Count(text, "tools/call name=answer"); n != 3 {
				t.Errorf("stderr tells of %d calls, want 3", n)
			}
		})
	}
}
