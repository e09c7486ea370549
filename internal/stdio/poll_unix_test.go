//go:build unix

package stdio

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pipe returns the ends of a pipe that is made non-blocking behind the back of
// package os, as another process does.
func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	var fds [2]int
	if err := unix.Pipe(fds[:]); err != nil {
		t.Fatal(err)
	}
	r, w = os.NewFile(uintptr(fds[0]), "r"), os.NewFile(uintptr(fds[1]), "w")
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	for _, fd := range fds {
		if err := unix.SetNonblock(fd, true); err != nil {
			t.Fatal(err)
		}
	}
	return r, w
}

func TestNonBlockingDescriptors(t *testing.T) {
	r, w := pipe(t)
	want := bytes.Repeat([]byte("0123456789"), 100_000)
	go func() {
		if _, err := (retryWriter{w}).Write(want); err != nil {
			t.Error(err)
		}
		w.Close()
	}()
	got, err := io.ReadAll(retryReader{r, slog.New(slog.DiscardHandler)})
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("read %d bytes and %v, want %d", len(got), err, len(want))
	}
}

func TestWaitGone(t *testing.T) {
	r, w := pipe(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if WaitGone(ctx, w) {
		t.Error("WaitGone = true for a pipe with a reader")
	}
	if WaitGone(t.Context(), io.Discard) {
		t.Error("WaitGone = true for a writer that is not a file")
	}
	began := time.Now()
	time.AfterFunc(50*time.Millisecond, func() { r.Close() })
	if !WaitGone(t.Context(), w) || time.Since(began) > 900*time.Millisecond {
		t.Errorf("WaitGone did not notice the end of the reader at once, but after %v", time.Since(began))
	}
}
