// Package logging makes the logger of the process and the redactor that keeps
// secrets out of everything the program prints.
//
// Without debug, warnings and errors go to stderr, one plain line each. With
// debug every record goes to stderr and, when a file is named, to the file as
// well. stdout belongs to the protocol and is never written to.
//
//	logging.go  New and its handlers
//	redact.go   Redactor
//	queue.go    stderr that does not block its writers
package logging

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/lmittmann/tint"
	"golang.org/x/term"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/unescaped"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// Options say where records go and what is hidden in them.
type Options struct {
	Debug    bool      // log everything; otherwise only warnings and errors
	Info     bool      // without Debug, also what a server reports about its calls
	File     string    // with Debug, the file that gets the log as well; "" for none
	Stderr   io.Writer // nil discards
	NoColor  bool      // no colours on a terminal either (https://no-color.org)
	Redactor *Redactor
}

// New returns the logger and a function that flushes and closes it. The file is
// created with mode 0600; its folder must exist. The error says why the file
// cannot be written. The logger is usable even then and writes to stderr only.
func New(o Options) (log *slog.Logger, closeLog func() error, err error) {
	stderr := o.Stderr
	if stderr == nil {
		stderr = io.Discard
	}
	if !o.Debug {
		least := slog.LevelWarn
		if o.Info {
			least = slog.LevelInfo
		}
		return slog.New(&handler{o.Redactor, plain(stderr, least)}), func() error { return nil }, nil
	}
	q, flush := newQueue(stderr)
	var next slog.Handler = tint.NewTextHandler(q, &tint.Options{
		Level:      slog.LevelDebug,
		TimeFormat: "15:04:05.000",
		NoColor:    o.NoColor || !colours(stderr),
	})
	var f *os.File
	if o.File != "" {
		if f, err = openFile(o.File); err == nil {
			next = slog.NewMultiHandler(next, tint.NewTextHandler(f, &tint.Options{
				Level:      slog.LevelDebug,
				TimeFormat: "2006-01-02T15:04:05.000Z07:00",
				NoColor:    true,
			}))
		}
	}
	closeLog = func() error {
		flush()
		if f == nil {
			return nil
		}
		return f.Close()
	}
	return slog.New(&handler{o.Redactor, next}), closeLog, err
}

// plain handles the records of a process without debug. Clients mix these
// lines with those of other servers, so each begins with the program's name.
func plain(w io.Writer, least slog.Level) slog.Handler {
	return tint.NewTextHandler(w, &tint.Options{
		Level:   least,
		NoColor: true,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) > 0 {
				return a
			}
			switch level := a.Value.Any().(type) {
			case time.Time:
				return slog.Attr{}
			case slog.Level:
				word := " warning:"
				switch {
				case level >= slog.LevelError:
					word = " error:"
				case level < slog.LevelWarn:
					word = ""
				}
				a.Value = slog.StringValue(version.Name + ":" + word)
			}
			return a
		},
	})
}

// colours reports whether w is a terminal that shows colours. Windows consoles
// show them only after a system call, so they get plain text.
func colours(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && runtime.GOOS != "windows" && term.IsTerminal(int(f.Fd()))
}

// openFile opens the debug file for appending. The log holds whole answers, so
// the rights of other users are removed from an existing file. Devices and pipes
// are refused: /dev/stdout would break the protocol and opening a pipe can block.
func openFile(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("opening debug file %q: not a regular file", path)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("opening debug file %q: its folder does not exist", path)
	}
	if err != nil {
		return nil, fmt.Errorf("opening debug file: %w", err)
	}
	if err := f.Chmod(0o600); err != nil {
		f.Close()
		return nil, fmt.Errorf("restricting debug file to its owner: %w", err)
	}
	return f, nil
}

// handler redacts and sanitizes each record before the next handler formats it.
type handler struct {
	redactor *Redactor
	next     slog.Handler
}

func (h *handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, h.redactor.Redact(text.OneLine(r.Message)), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a))
		return true
	})
	return h.next.Handle(ctx, clean)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.attr(a)
	}
	return &handler{h.redactor, h.next.WithAttrs(clean)}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.redactor, h.next.WithGroup(name)}
}

func (h *handler) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindGroup:
		group := make([]slog.Attr, len(v.Group()))
		for i, member := range v.Group() {
			group[i] = h.attr(member)
		}
		v = slog.GroupValue(group...)
	case slog.KindString, slog.KindAny:
		// Sanitized first: without the escape sequence in its middle, a
		// secret would be whole again after the redaction.
		v = slog.StringValue(h.redactor.Redact(tintSafe.Replace(text.Printable(render(v.Any())))))
	}
	return slog.Attr{Key: a.Key, Value: v}
}

// tintSafe replaces what tint does not pass on: it ends a value at U+FFFD, and on
// a terminal it writes an escape character for the four characters \x1b.
var tintSafe = strings.NewReplacer("\ufffd", "?", `\x1b`, `\u001b`)

// render formats a value for a reader: text as it is, other values as JSON,
// because most of them are requests and responses.
func render(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case json.RawMessage:
		return string(v)
	case error, fmt.Stringer:
		return fmt.Sprint(v)
	}
	b, err := unescaped.JSON(v)
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return string(b)
}
