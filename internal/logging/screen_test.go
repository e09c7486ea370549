package logging

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// gate is a buffer whose reader does not read until the gate is opened.
type gate struct {
	buffer
	open chan struct{}
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	return g.buffer.Write(p)
}

// A reader who does not read stops nobody. What did not fit is counted in front
// of the next line, and the file has it all.
func TestScreenFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		path := filepath.Join(t.TempDir(), "debug.log")
		l, stop := open(t, Options{Debug: true, Stderr: g, File: path})
		const lines = 3 * maxLines
		for i := range lines {
			l.Debug("m", "n", i)
			synctest.Wait() // the first one is being written and no longer queued
		}
		close(g.open)
		synctest.Wait()
		l.Debug("the next line")
		stop()
		got := g.String()
		m := regexp.MustCompile(`n=(\d+)\n\.\.\. (\d+) lines dropped: [^\n]*\n[^\n]*DBG the next line\n$`).FindStringSubmatch(got)
		if m == nil {
			t.Fatalf("stderr ends in %q, want a count and the next line", got[max(0, len(got)-200):])
		}
		last, _ := strconv.Atoi(m[1])
		dropped, _ := strconv.Atoi(m[2])
		if written := strings.Count(got, "DBG m n="); written != last+1 || written+dropped != lines || written < maxLines {
			t.Errorf("%d lines written, the last is n=%d, %d dropped, want %d together", written, last, dropped, lines)
		}
		if n := strings.Count(read(t, path), "DBG"); n != lines+1 {
			t.Errorf("the file holds %d lines, want %d", n, lines+1)
		}
	})
}

// Long lines fill the queue by their size; one that is longer than the queue
// still gets through alone.
func TestScreenBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		s := newScreen(g)
		long := strings.Repeat("x", maxBytes) + "y\n"
		fmt.Fprint(s, "first\n")
		synctest.Wait() // it is being written and no longer queued
		for range 3 {
			fmt.Fprint(s, long)
		}
		close(g.open)
		s.Close()
		if got, want := g.String(), "first\n"+long+"... 2 lines dropped: nobody was reading stderr\n"; got != want {
			t.Errorf("stderr holds %d bytes that end in %q, want %d", len(got), got[max(0, len(got)-100):], len(want))
		}
	})
}

func TestScreenStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		s := newScreen(g)
		for range 3 {
			fmt.Fprint(s, "line\n")
		}
		start := time.Now()
		s.Close()
		if d := time.Since(start); d != stuck {
			t.Errorf("closing took %v with a reader who is stuck, want %v", d, stuck)
		}
		fmt.Fprint(s, "late\n")
		close(g.open)
		gone(s)
		s.Close()
		if got := g.String(); got != "line\n" {
			t.Errorf("stderr holds %q, want the line that was under way", got)
		}
	})
}

// lag is a reader who takes a line every 150 ms.
type lag struct{ buffer }

func (l *lag) Write(p []byte) (int, error) {
	time.Sleep(150 * time.Millisecond) // of the test's clock
	return l.buffer.Write(p)
}

// A slow reader gets more time than one who is stuck, but not without end.
func TestScreenSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for lines, want := range map[int]time.Duration{3: 450 * time.Millisecond, 100: 3 * stuck} {
			w := &lag{}
			s := newScreen(w)
			start := time.Now()
			for range lines {
				fmt.Fprint(s, "line\n")
			}
			s.Close()
			if d := time.Since(start); d != want {
				t.Errorf("closing behind %d lines took %v, want %v", lines, d, want)
			}
			gone(s)
		}
	})
}

// Where the system can break off a write, the goroutine is gone when the log is
// closed though nobody reads the pipe.
func TestScreenPipe(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a write to a pipe cannot be broken off on Windows")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	s := newScreen(w)
	for range maxLines {
		fmt.Fprintln(s, strings.Repeat("x", 1000))
	}
	s.Close()
	gone(s)
}

// Without debug there is no goroutine: nobody closes this logger, and the test
// could not end if one were left in its bubble.
func TestQuietHasNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out buffer
		l, _, _ := New(Options{Stderr: &out})
		l.Warn("here")
		if out.writes != 1 {
			t.Errorf("a warning took %d writes before the call returned, want 1", out.writes)
		}
	})
}

// gone waits for the end of the goroutine.
func gone(s *screen) {
	for {
		s.mu.Lock()
		writing := s.writing
		s.mu.Unlock()
		if writing == nil {
			return
		}
		<-writing
	}
}

// Without debug as well a reader who does not read stops nobody for long. What
// he missed he gets when he reads again.
func TestPatient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		p := NewPatient(g)
		l, _, _ := New(Options{Stderr: p})
		start := time.Now()
		l.Warn("one")
		fmt.Fprint(p, "two\n")
		if d := time.Since(start); d != 2*stuck {
			t.Errorf("two lines took %v with a reader who is stuck, want %v", d, 2*stuck)
		}
		close(g.open)
		gone(p.screen)
		start = time.Now()
		l.Warn("three")
		if d := time.Since(start); d != 0 {
			t.Errorf("a line took %v with a reader, want no time", d)
		}
		const want = "openai-responses-mcp: warning: one\ntwo\nopenai-responses-mcp: warning: three\n"
		if got := g.String(); got != want {
			t.Errorf("stderr holds %q, want %q", got, want)
		}
	})
}
