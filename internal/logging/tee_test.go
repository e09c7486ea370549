package logging

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func perm(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

// Folders are made where the configuration lies, and nowhere else.
func TestFileMakesFolders(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".config", "openai-responses-mcp")
	path := filepath.Join(dir, "a", "b", "debug.log")
	for _, stray := range []string{filepath.Join(home, "logs"), filepath.Join(home, ".config", "openai-responses-mcp.d"), "nowhere"} {
		_, _, warning := New(Options{Debug: true, File: filepath.Join(stray, "x.log"), Home: home})
		if !strings.Contains(warning, "is not there, make it first; the debug log goes to stderr only") {
			t.Errorf("New with a file in %q, which is missing, warns %q", stray, warning)
		}
		if _, err := os.Stat(stray); err == nil {
			t.Errorf("%q was made", stray)
		}
	}
	var out buffer
	l, stop := open(t, Options{Debug: true, Stderr: &out, File: path, Home: home, Secrets: []string{"hush-hush"}})
	l.Debug("first", "k", "hush-hush")
	if got, want := read(t, path), " DBG first k=[redacted]\n"; !strings.HasSuffix(got, want) {
		t.Errorf("file holds %q, want a line that ends in %q", got, want)
	}
	stop()
	if !strings.Contains(out.String(), "first") {
		t.Errorf("stderr holds %q, want the line too", out.String())
	}
	if runtime.GOOS == "windows" {
		t.Skip("no Unix permissions on Windows")
	}
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700, filepath.Join(dir, "a"): 0o700} {
		if got := perm(t, p); got != want {
			t.Errorf("mode of %s = %o, want %o", p, got, want)
		}
	}
}

// A log that was there before is kept, and closed to others.
func TestFileAppendsAndRestricts(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "debug.log")
	if err := os.WriteFile(path, []byte("old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	l, _ := open(t, Options{Debug: true, File: path})
	l.Debug("new")
	if got := read(t, path); !strings.HasPrefix(got, "old\n") || !strings.HasSuffix(got, "new\n") {
		t.Errorf("file holds %q, want the old line and the new one", got)
	}
	if runtime.GOOS == "windows" {
		t.Skip("no Unix permissions on Windows")
	}
	if got := perm(t, path); got != 0o600 {
		t.Errorf("mode of the file = %o, want 600", got)
	}
	if got := perm(t, dir); got != 0o755 {
		t.Errorf("mode of a folder that was there = %o, want it left at 755", got)
	}
}

func TestFileRelative(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Mkdir("logs", 0o700); err != nil {
		t.Fatal(err)
	}
	here, _ := open(t, Options{Debug: true, File: "here.log"})
	here.Debug("m")
	there, _ := open(t, Options{Debug: true, File: filepath.Join(dir, "logs", "there.log")})
	there.Debug("m")
	for _, name := range []string{"here.log", filepath.Join("logs", "there.log")} {
		if got := read(t, filepath.Join(dir, name)); !strings.HasSuffix(got, "DBG m\n") {
			t.Errorf("%s holds %q, want one line", name, got)
		}
	}
}

// What cannot be opened is one line of warning, and stderr goes on.
func TestFileRefused(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	locked := filepath.Join(dir, "locked.log")
	if err := os.WriteFile(locked, nil, 0o444); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, says string }{
		{dir, "not a regular file"},
		{locked, "it is read-only"},
		{filepath.Join(file, "below", "x.log"), "not a directory"},
		{filepath.Join(dir, "line\nbreak\x00"), "invalid argument"},
		{filepath.Join(dir, "hush-hush", "x.log"), "[redacted]"},
	} {
		var out buffer
		l, stop, warning := New(Options{Debug: true, Stderr: &out, File: c.path, Secrets: []string{"hush-hush"}})
		if !strings.Contains(warning, c.says) || strings.ContainsAny(warning, "\n\x00") || strings.Contains(warning, "hush") {
			t.Errorf("New with file %q warns %q, want one line with %q", c.path, warning, c.says)
		}
		l.Debug("goes on")
		if err := stop(); err != nil {
			t.Errorf("closing: %v", err)
		}
		if !strings.HasSuffix(out.String(), "DBG goes on\n") {
			t.Errorf("stderr holds %q after a refused file", out.String())
		}
	}
}

// The protocol's own stream is no place for a log, by whatever name.
func TestFileIsStdout(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	old := os.Stdout
	os.Stdout = f
	defer func() { os.Stdout = old }()
	if _, _, warning := New(Options{Debug: true, File: f.Name()}); !strings.Contains(warning, "belongs to the protocol") {
		t.Errorf("New with stdout as the file warns %q", warning)
	}
}

// A disk that is full costs one warning, however many lines follow.
func TestFileGivenUp(t *testing.T) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skipf("no %s here to stand for a full disk", full)
	}
	before := perm(t, full)
	var out buffer
	l, stop := open(t, Options{Debug: true, Stderr: &out, File: full})
	for range 3 {
		l.Debug("line")
	}
	stop()
	got := out.String()
	if n := strings.Count(got, "no space left"); n != 1 {
		t.Errorf("stderr tells %d times of the full disk, want once:\n%s", n, got)
	}
	if n := strings.Count(got, "DBG line\n"); n != 3 {
		t.Errorf("stderr holds %d of 3 lines:\n%s", n, got)
	}
	if after := perm(t, full); after != before {
		t.Errorf("mode of %s changed from %o to %o", full, before, after)
	}
}

// Lines of parallel calls stay whole, and closing under them is harmless.
func TestFileInParallel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "debug.log")
	var out buffer
	l, stop, _ := New(Options{Debug: true, Stderr: &out, File: path})
	const calls, lines = 8, 50
	text := strings.Repeat("x", 2000)
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			l := l.With("call", i)
			for n := range lines {
				l.Debug("m", "line", n, "text", text, "end", fmt.Sprint(i, ".", n))
			}
		})
	}
	wg.Wait()
	got := strings.Split(strings.TrimSuffix(read(t, path), "\n"), "\n")
	if len(got) != calls*lines {
		t.Fatalf("file holds %d lines, want %d", len(got), calls*lines)
	}
	for _, s := range got {
		if !strings.Contains(s, "text="+text+" end=") {
			t.Fatalf("a line is not whole: %.100s", s)
		}
	}
	for range 4 {
		wg.Go(func() { l.Debug("late") })
	}
	for range 2 {
		if err := stop(); err != nil {
			t.Errorf("closing: %v", err)
		}
	}
	wg.Wait()
	if n := strings.Count(out.String(), "\n"); out.writes != n || n < calls*lines {
		t.Errorf("stderr took %d writes for %d lines, want at least %d", out.writes, n, calls*lines)
	}
}
