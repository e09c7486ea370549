// Package stdio is the transport between an MCP client and the SDK: an
// [mcp.Transport] over a pair of byte streams (spec §2.1, transports.md §1).
//
// The SDK's own transport reads lines only, rounds large ids, ends the session
// at input that it cannot parse, and cancels calls at the end of the input.
//
//	stdio.go   Transport
//	frames.go  bytes to messages: lines and Content-Length
//	conn.go    messages to requests for the SDK, and answers back: ids,
//	           cancellation, errors, the end of the session
//	poll_*.go  whether a pipe still has a reader
package stdio

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ErrGone is the cause of a session's end when stdout has no reader left.
var ErrGone = errors.New("stdout has no reader")

// Transport serves one MCP session over In and Out. It implements
// [mcp.Transport].
type Transport struct {
	// In carries what the client sends, usually standard input. It is never closed.
	In io.Reader
	// Out receives each message in one Write. If it is an *os.File on Unix, the
	// session ends as soon as Out has no reader.
	Out io.Writer
	// Lines answers in lines from the start (MCP_LINE_MODE=1). Otherwise answers
	// are framed until the first line-delimited message arrives.
	Lines bool
	// Log receives the stages of transports.md §1.6 at debug level.
	Log *slog.Logger
}

// Connect starts reading In. The connection ends when In has ended and every
// call is answered, when Out has no reader, or when ctx is done. The error is
// always nil.
func (t *Transport) Connect(ctx context.Context) (mcp.Connection, error) {
	ctx, end := context.WithCancelCause(ctx)
	c := &conn{
		ctx:     ctx,
		end:     end,
		in:      make(chan jsonrpc.Message),
		out:     retryWriter{t.Out},
		log:     t.Log,
		calls:   map[int64]call{},
		numbers: map[string]int64{},
	}
	c.lines.Store(t.Lines)
	c.pending.Store(1) // the input
	r := NewReader(retryReader{t.In, t.Log})
	r.log = t.Log
	go c.scan(r)
	go func() {
		if WaitGone(ctx, t.Out) {
			end(ErrGone)
		}
	}()
	return c, nil
}

// WaitGone waits until w has no reader left and then returns true. It returns
// false within a second of the end of ctx, and at once if it cannot know: w is
// not an open file, or the system is not Unix.
func WaitGone(ctx context.Context, w io.Writer) bool {
	for ctx.Err() == nil {
		// pollGone is reported without being asked for.
		if got, ok := poll(w, 0); !ok || got&pollGone != 0 {
			return ok
		}
	}
	return false
}

// The descriptors of standard input and output belong to other processes too.
// When one of them makes a descriptor non-blocking, reads and writes here fail
// with EAGAIN.

type retryReader struct {
	r   io.Reader
	log *slog.Logger
}

func (r retryReader) Read(p []byte) (int, error) {
	for {
		n, err := r.r.Read(p)
		if n > 0 {
			r.log.Debug("stdin", "chunk", n)
		}
		if n > 0 || !again(err, r.r, pollIn) {
			return n, err
		}
	}
}

type retryWriter struct{ w io.Writer }

func (w retryWriter) Write(p []byte) (int, error) {
	for done := 0; ; {
		n, err := w.w.Write(p[done:])
		done += n
		if !again(err, w.w, pollOut) {
			return done, err
		}
	}
}

// again reports whether what failed with err may be tried again on f. It waits
// for the event first.
func again(err error, f any, event int16) bool {
	if !errors.Is(err, syscall.EAGAIN) {
		return false
	}
	_, ok := poll(f, event)
	return ok
}
