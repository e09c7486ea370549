// Package logging makes the logger of the process.
//
// Without debug, only warnings and errors go to stderr, one plain line each. A server that has a
// log format also reports its calls; its lines are text or JSON and have the time. With debug every
// record goes to stderr and, if a file is named, also to the file. The log is never written to
// stdout, which belongs to the protocol.
//
//	logging.go  the handlers, the queue in front of stderr, and the debug file
//	limit.go    Limiter: one line about many events
//	open_*.go   the flags to open the debug file
package logging

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lmittmann/tint"
	"golang.org/x/term"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/redact"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/version"
)

// Options say where records go and what is hidden in them.
type Options struct {
	Debug    bool   // log everything; else warnings and errors, and with Format also calls
	Format   string // Text or JSON: the log of a server; "": the lines that a client shows
	File     string // with Debug, the file that also gets the log; "": none
	Stderr   io.Writer
	NoColor  bool // no colors, not even on a terminal (https://no-color.org)
	Redactor *redact.Redactor
}

// Formats of the log of a server.
const (
	Text = "text"
	JSON = "json"
)

// New returns the logger and a function that flushes and closes it. The file is created with mode
// 0600; its folder must exist. The error says why the file cannot be opened. Even then the logger
// can be used, and writes to stderr only.
func New(o Options) (log *slog.Logger, closeLog func(), err error) {
	q, closeQueue := newQueue(o.Stderr, o.Format == JSON)
	h := o.handler(q)
	log = slog.New(h)
	if !o.Debug || o.File == "" {
		return log, closeQueue, nil
	}
	f, err := openFile(o.File)
	if err != nil {
		return log, closeQueue, err
	}

	o.Format = Text
	o.Stderr = &debugFile{File: f, log: log}
	closeLog = func() {
		closeQueue()
		_ = f.Close()
	}
	return slog.New(slog.NewMultiHandler(h, o.handler(o.Stderr))), closeLog, nil
}

// debugFile is the debug file. At the first line that cannot be written to it, it logs a warning to
// stderr.
type debugFile struct {
	*os.File
	log    *slog.Logger // logs to stderr only
	warned bool         // needs no lock: the handler writes one line at a time
}

func (f *debugFile) Write(line []byte) (int, error) {
	n, err := f.File.Write(line)
	if err == nil {
		err = f.checkName()
	}
	if err != nil && !f.warned {
		f.warned = true
		f.log.Warn("the debug file cannot be written", "error", err)
	}
	return n, err
}

// checkName returns an error if the name is not that of the file any more: a file that was removed
// or renamed can still be written.
func (f *debugFile) checkName() error {
	named, err := os.Stat(f.Name())
	if err != nil {
		return err
	}
	own, err := f.Stat()
	if err == nil && !os.SameFile(named, own) {
		err = fmt.Errorf("%s is another file now: start again", f.Name())
	}
	return err
}

// Formats of the time. Only a server's log has a date, because it is kept.
const (
	clientTime = "15:04:05.000"
	serverTime = "2006-01-02T15:04:05.000Z07:00"
)

// handler returns a handler that writes to w, which is o.Stderr or a queue in front of it.
func (o Options) handler(w io.Writer) slog.Handler {
	if o.Format == JSON {
		return slog.NewJSONHandler(w, &slog.HandlerOptions{
			Level:       o.level(),
			ReplaceAttr: o.replaceAttr,
		})
	}

	timeFormat := serverTime
	if o.Format == "" {
		timeFormat = clientTime
	}
	return tint.NewTextHandler(w, &tint.Options{
		Level:       o.level(),
		TimeFormat:  timeFormat,
		NoColor:     !o.hasColors(),
		ReplaceAttr: o.replaceAttr,
	})
}

func (o Options) level() slog.Level {
	if o.Debug {
		return slog.LevelDebug
	}
	if o.Format != "" {
		return slog.LevelInfo // a server also reports its calls
	}
	return slog.LevelWarn
}

// hasColors reports whether levels have colors. On Windows they have none, because consoles show
// colors only after a system call.
func (o Options) hasColors() bool {
	f, ok := o.Stderr.(*os.File)
	if !ok || runtime.GOOS == "windows" {
		return false
	}
	wanted := !o.NoColor && !o.isPlain()
	return wanted && term.IsTerminal(int(f.Fd()))
}

// isPlain reports whether lines begin with the program's name, and have no time: clients mix the
// lines of several servers.
func (o Options) isPlain() bool {
	return o.Format == "" && !o.Debug
}

// replaceAttr is the ReplaceAttr of the handlers. It redacts and sanitizes the message and the
// values of a record, and puts the program's name into a plain line.
func (o Options) replaceAttr(groups []string, a slog.Attr) slog.Attr {
	isTop := len(groups) == 0
	level, isLevel := a.Value.Any().(slog.Level)
	kind := a.Value.Kind()
	isText := kind == slog.KindString || kind == slog.KindAny

	switch {
	case isTop && a.Key == slog.MessageKey:
		a.Value = slog.StringValue(tintSafe.Replace(o.Redactor.Line(a.Value.String())))
	case isTop && a.Key == slog.TimeKey && o.isPlain():
		return slog.Attr{} // no time
	case isLevel && o.isPlain():
		word := ": warning:"
		if level >= slog.LevelError {
			word = ": error:"
		}
		a.Value = slog.StringValue(version.Name + word)
	case isText && !isLevel:
		// Sanitize first: an escape sequence inside a secret would hide the secret from the
		// redactor, and removing the sequence later would restore the secret.
		value := tintSafe.Replace(text.Printable(a.Value.String()))
		a.Value = slog.StringValue(o.Redactor.Redact(value))
	}
	return a
}

// tintSafe replaces what package tint does not write as it is: tint ends a value at U+FFFD, and on
// a terminal it writes an escape character for the four characters \x1b.
var tintSafe = strings.NewReplacer("\ufffd", "?", `\x1b`, `\u001b`)

// openFile opens the debug file for appending. The log holds whole answers, so the rights of other
// users are removed from an existing file. Devices, pipes and links are refused: /dev/stdout would
// break the protocol, opening a pipe can block, and a link can lead to a file of another program.
func openFile(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("opening debug file %q: not a regular file", path)
	}

	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|safeOpen, 0o600)
	if err == nil {
		err = f.Chmod(0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("opening debug file: %w", err)
	}
	return f, nil
}

const (
	queueLines = 4096 // enough for a burst of 1,000 calls
	flushTime  = 500 * time.Millisecond
)

// queue passes lines to a goroutine that writes them. Without it, a client that does not read
// stderr would block the server as soon as the pipe is full. When the queue is full, lines are
// dropped and counted.
type queue struct {
	lines   chan []byte // nil ends the goroutine
	dropped atomic.Int64
}

// newQueue returns a queue in front of w. closeQueue ends the queue, and waits until all lines are
// written, for flushTime at most.
func newQueue(w io.Writer, asJSON bool) (q *queue, closeQueue func()) {
	dropped := "... %d lines dropped: stderr was not read, or is full\n"
	if asJSON {
		dropped = `{"level":"WARN",` +
			`"msg":"lines dropped: stderr was not read, or is full","lines":%d}` + "\n"
	}
	q = &queue{lines: make(chan []byte, queueLines)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		isCut := false // a full disk has cut the last line
		write := func(line []byte) error {
			if isCut {
				line = slices.Insert(line, 0, '\n')
			}
			n, err := w.Write(line)
			isCut = n > 0 && line[n-1] != '\n' || isCut && n == 0
			return err
		}
		for line := <-q.lines; line != nil; line = <-q.lines {
			if write(line) != nil {
				q.dropped.Add(1)
				continue
			}
			n := q.dropped.Swap(0)
			if n > 0 && write(fmt.Appendf(nil, dropped, n)) != nil {
				q.dropped.Add(n)
			}
		}
	}()

	return q, func() {
		timeout := time.After(flushTime)
		select {
		case q.lines <- nil:
		case <-timeout:
			return
		}

		select {
		case <-done:
		case <-timeout:
		}
	}
}

// Write puts a line into the queue, or drops it if the queue is full. It never blocks.
func (q *queue) Write(line []byte) (int, error) {
	select {
	case q.lines <- bytes.Clone(line):
	default:
		q.dropped.Add(1)
	}
	return len(line), nil
}
