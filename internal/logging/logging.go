// Package logging makes the one logger of the process.
//
// Debug is decided once, at the start, by the caller (spec §8.1); this package
// only carries the decision out. With debug off nothing but warnings and errors
// is written, a line each, and a debug call costs one comparison. With debug on
// everything goes to stderr, by way of a queue, and to a file when one is named.
//
// stdout belongs to the protocol and is never written to. Secrets never reach
// any output: see redact.go.
package logging

import (
	"io"
	"log/slog"
	"os"
	"runtime"
	"time"

	"github.com/lmittmann/tint"

	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// Options say where log lines go and what must not be in them.
type Options struct {
	// Debug switches everything on; off, only warnings and errors are written.
	Debug bool
	// File is the debug log's path. Empty: none. It counts only while Debug is set.
	File string
	// Home is the user's folder. Only below the program's own in it, missing
	// folders are made.
	Home string
	// Stderr takes the lines; nil discards them.
	Stderr io.Writer
	// NoColor keeps colour away from a terminal too (the NO_COLOR convention).
	NoColor bool
	// Secrets are texts that are replaced wherever they turn up. Those of fewer
	// than four characters are ignored, see newRedactor.
	Secrets []string
}

// New returns the logger, the function that closes it, and a warning.
//
// A goroutine writes to Stderr, so that a reader who does not read stops nobody;
// see screen.go. Without debug a line waits for it, but not long. With debug the
// close function waits for what is still to be written, as shortly, and closes
// the file. It is never nil, may be called more than once, and lines after it are
// dropped without an error. The file takes each line before the call that logs it
// returns.
//
// The warning is not empty when File cannot be written; it is one line, without
// the secrets, and the logger then goes on with stderr alone.
func New(o Options) (*slog.Logger, func() error, string) {
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	red := newRedactor(o.Secrets)
	none := func() error { return nil }
	p, ok := o.Stderr.(*Patient)
	if !o.Debug {
		if !ok {
			p = NewPatient(o.Stderr)
		}
		return slog.New(&handler{red: red, next: warnings(p)}), none, ""
	}
	if ok {
		o.Stderr = p.screen.w // a screen of our own does not even wait for a while
	}
	out := newScreen(o.Stderr)
	screen := tint.NewTextHandler(out, &tint.Options{
		Level:      slog.LevelDebug,
		TimeFormat: "15:04:05.000",
		NoColor:    o.NoColor || !terminal(o.Stderr),
	})
	closeScreen := func() error { out.Close(); return nil }
	if o.File == "" {
		return slog.New(&handler{red: red, next: screen}), closeScreen, ""
	}
	f, err := openTee(o.File, o.Home)
	if err != nil {
		text := err.Error() + "; the debug log goes to stderr only"
		return slog.New(&handler{red: red, next: screen}), closeScreen, red.line(text)
	}
	f.lost = slog.New(&handler{red: red, next: screen})
	disk := tint.NewTextHandler(f, &tint.Options{
		Level:      slog.LevelDebug,
		TimeFormat: "2006-01-02T15:04:05.000Z07:00", // a file outlives the day
		NoColor:    true,
	})
	both := slog.NewMultiHandler(screen, disk)
	closeBoth := func() error { out.Close(); return f.Close() }
	return slog.New(&handler{red: red, next: both}), closeBoth, ""
}

// warnings is the handler of a process without debug. A person reads its lines
// between those of other programs in a client's log, so each says whose it is
// and, as in the rest of the command's messages, carries no time.
func warnings(w io.Writer) slog.Handler {
	return tint.NewTextHandler(w, &tint.Options{
		Level:   slog.LevelWarn,
		NoColor: true,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) > 0 {
				return a
			}
			switch v := a.Value.Any().(type) {
			case time.Time:
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
			case slog.Level:
				if a.Key != slog.LevelKey {
					break
				}
				word := "warning"
				if v >= slog.LevelError {
					word = "error"
				}
				return slog.String(a.Key, version.Name+": "+word+":")
			}
			return a
		},
	})
}

// terminal reports whether w shows colours. Windows consoles must be asked to
// before they do, so there the lines stay plain.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || runtime.GOOS == "windows" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
