package logging

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

var (
	errKind   = errors.New("not a regular file")
	errLocked = errors.New("it is read-only")
	errStdout = errors.New("it is the standard output, which belongs to the protocol")
)

// tee is the debug file. A log must never bring the program down or slow it
// with complaints, so the first write that fails is told once and ends it.
type tee struct {
	path string
	lost *slog.Logger // told once when the file is given up; set before first use

	mu sync.Mutex
	f  *os.File // nil once closed or given up
}

// openTee opens path for appending. The log holds whole answers (spec §8), so
// only its owner may read it: a file that is already there with wider rights
// loses them. A folder that is missing is most likely a typing error, and is
// made nowhere but where the configuration lies, 0700.
func openTee(path, home string) (*tee, error) {
	if err := writable(path); err != nil {
		return nil, fmt.Errorf("opening debug file %q: %w", path, err)
	}
	if dir := filepath.Dir(path); own(dir, home) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("making the folder of debug file %q: %w", path, cause(err))
		}
	} else if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("opening debug file %q: the folder %q is not there, make it first", path, dir)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening debug file %q: %w", path, cause(err))
	}
	if err := restrict(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("restricting debug file %q to its owner: %w", path, cause(err))
	}
	return &tee{path: path, f: f}, nil
}

// own reports whether dir is ~/.config/openai-responses-mcp or lies below it.
func own(dir, home string) bool {
	if home == "" {
		return false
	}
	rel, err := filepath.Rel(filepath.Join(home, ".config", version.Name), dir)
	return err == nil && filepath.IsLocal(rel)
}

// writable looks before the file is opened: opening a pipe that nobody reads
// would block the start, and whatever went to stdout would break the protocol.
// Devices pass, /dev/null for one. A path that is not there yet is fine. A file
// that was made read-only stays so, though root could write it.
func writable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // not there, or not to be seen: opening it tells
	}
	if !info.Mode().IsRegular() && info.Mode()&os.ModeCharDevice == 0 {
		return errKind
	}
	if info.Mode().IsRegular() && info.Mode().Perm()&0o222 == 0 {
		return errLocked
	}
	if out, err := os.Stdout.Stat(); err == nil && os.SameFile(info, out) && path != os.DevNull {
		return errStdout
	}
	return nil
}

// restrict takes the rights of others away. Only from a regular file: run by
// root, it would otherwise shut everybody out of /dev/null.
func restrict(f *os.File) error {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return f.Chmod(0o600)
}

// Write appends p, which is one whole line: appending it in one call keeps the
// lines of several servers that share a file apart. It reports no error, there
// is nobody who could do anything about it.
func (t *tee) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.f == nil {
		return len(p), nil
	}
	if _, err := t.f.Write(p); err != nil {
		t.f.Close()
		t.f = nil
		t.lost.Warn(fmt.Sprintf("writing debug file %q: %v; the debug log goes to stderr only", t.path, cause(err)))
	}
	return len(p), nil
}

// Close ends the file; the logger goes on with stderr.
func (t *tee) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.f == nil {
		return nil
	}
	err := t.f.Close()
	t.f = nil
	if err != nil {
		return fmt.Errorf("closing debug file %q: %w", t.path, cause(err))
	}
	return nil
}

// cause leaves out the operation and path that an *fs.PathError repeats.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
