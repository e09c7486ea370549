// Package stdio is the transport between an MCP client and the SDK: an [mcp.Transport] over a pair
// of byte streams (spec §2, transports.md).
//
// The SDK's own transport reads lines only, rounds large ids, ends the session at input that it
// cannot parse, and cancels calls at the end of the input.
//
//	stdio.go   Transport
//	frames.go  bytes to messages: lines and Content-Length
//	conn.go    messages to requests for the SDK, and its responses back to
//	           messages: ids, cancellation, errors, the end of the session
//	poll_*.go  poll(2): whether a pipe has a reader, input, or room
package stdio

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/rpc"
)

// ErrReaderGone is the cause with which a session ends when stdout has no reader left.
var ErrReaderGone = errors.New("stdout has no reader")

// Transport serves one MCP session over In and Out. It implements [mcp.Transport].
type Transport struct {
	In io.Reader // what the client sends; it is never closed
	// Out receives each message in one Write. If it is an *os.File on Unix, the session ends as
	// soon as Out has no reader.
	Out io.Writer
	// LineMode makes all messages to the client lines (MCP_LINE_MODE=1). Without it they are framed
	// until the client sends a message on a line.
	LineMode bool
	Methods  rpc.Methods   // the requests that the server answers
	EOF      chan struct{} // closed when no more is read from In; may be nil

	// Undelivered, if not nil, is called for each response that is not written because the client
	// has cancelled its request. It gets the result, or nil if the response is an error. Write
	// waits for it.
	Undelivered func(result []byte)

	Log *slog.Logger // gets the steps of each message at debug level (transports.md)

	received atomic.Bool // at least one byte was read from In
}

// ReceivedNothing reports whether nothing was read from In so far.
func (t *Transport) ReceivedNothing() bool {
	return !t.received.Load()
}

// Connect starts reading In. The connection ends when In has ended and every call is answered, when
// Out has no reader, or when ctx is done. The error is always nil.
func (t *Transport) Connect(ctx context.Context) (mcp.Connection, error) {
	ctx, end := context.WithCancelCause(ctx)
	c := &conn{
		Transport: t,
		ctx:       ctx,
		end:       end,
		messages:  make(chan jsonrpc.Message),
		requests:  map[string]request{},
	}
	c.writesLines.Store(t.LineMode)
	c.numPending.Store(1) // for the input

	r := NewReader(eagainRetrier{t})
	r.log = t.Log
	go c.scan(r)
	go func() {
		if WaitReaderGone(ctx, t.Out) {
			end(ErrReaderGone)
		}
	}()
	return c, nil
}

// WaitReaderGone waits until w has no reader left and then returns true. When ctx is done, it
// returns false within a second. It returns false at once if it cannot tell: w is not an open file,
// or the system is not Unix.
func WaitReaderGone(ctx context.Context, w io.Writer) bool {
	for ctx.Err() == nil {
		occurred, ok := poll(w, 0) // in a second at most
		if !ok || occurred != 0 {  // poll(2) reports a missing reader, even if not asked for it
			return ok
		}
	}
	return false
}

// eagainRetrier reads from In and writes to Out of a Transport, even if their descriptors are
// non-blocking.
type eagainRetrier struct{ *Transport }

func (r eagainRetrier) Read(p []byte) (int, error) {
	n, err := retryEAGAIN(r.In, pollIn, func(int) (int, error) { return r.In.Read(p) })
	r.Log.Debug("stdin", "chunk", n)
	if n > 0 {
		r.received.Store(true)
	}
	return n, err
}

func (r eagainRetrier) Write(p []byte) (int, error) {
	return retryEAGAIN(r.Out, pollOut, func(done int) (int, error) { return r.Out.Write(p[done:]) })
}

// retryEAGAIN repeats do while it fails with EAGAIN, which happens when another process that shares
// the descriptor of f makes it non-blocking. Before each retry it waits for event. do returns how
// many bytes it has transferred, and gets how many earlier tries have transferred. retryEAGAIN
// returns the bytes of all tries.
func retryEAGAIN(f any, event int16, do func(done int) (int, error)) (int, error) {
	done := 0
	for {
		n, err := do(done)
		done += n
		if !errors.Is(err, syscall.EAGAIN) {
			return done, err
		}

		if _, ok := poll(f, event); !ok {
			return done, err
		}
	}
}
