// Package stdio is the wire under the MCP server: an [mcp.Transport] over a
// pair of byte streams that speaks both framings of spec §2.1.
//
// The SDK's own stdio transport reads lines only, rounds large ids, ends the
// session at the first unreadable byte and cancels the calls in flight when
// its input ends. Here a message is either framed by Content-Length or stands
// on a line of its own, ids come back as they were sent, garbage is answered
// and passed over, and the end of the input is held back until every call
// that was read has its answer (spec §6.1: a disconnect is not a cancel).
//
// The bytes flow through [source] (what has arrived), [frames] (messages) and
// conn.Read (requests for the SDK), and back through conn.Write, [outbox] (what
// waits for the client to read) and conn.deliver.
package stdio

import (
	"context"
	"io"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Transport serves one MCP session over In and Out. It implements
// [mcp.Transport].
type Transport struct {
	// In is the client's half, usually standard input. It is never closed.
	In io.Reader
	// Out receives whole messages, one Write each. When it is an *os.File on
	// Unix, the session ends as soon as nobody is left to read it.
	Out io.Writer
	// Lines answers in lines from the start (MCP_LINE_MODE=1). Without it
	// answers are framed until the first line-delimited message arrives.
	Lines bool
	// Ancestors are processes that the session belongs to: our parent, its
	// parent and so on, and the one that started the last of them when that is
	// a shell. The input counts as ended when one of them ends; on Unix that is
	// seen where Out is an *os.File. None: the session belongs to whoever has the
	// pipes.
	Ancestors []int
	// Methods are the requests that the server behind answers. Any other is
	// method not found (-32601), whether the session is initialized or not.
	Methods []string
	// Log receives the stages of transports.md §1.8 at debug level.
	Log *slog.Logger
}

// Connect starts reading In. The connection ends when the client has gone,
// when In has ended and every call is answered, or when ctx is done. The error is
// always nil: what goes wrong ends the connection.
func (t *Transport) Connect(ctx context.Context) (mcp.Connection, error) {
	ctx, stop := context.WithCancelCause(ctx)
	c := &conn{
		ctx:       ctx,
		stop:      stop,
		in:        make(chan frame),
		over:      make(chan struct{}),
		calls:     newCalls(),
		methods:   t.Methods,
		outbox:    newOutbox(),
		freed:     make(chan struct{}, 1),
		delivered: make(chan struct{}),
		out:       t.Out,
		log:       t.Log,
	}
	c.lines.Store(t.Lines)
	go c.scan(t.In)
	go c.deliver()
	go c.watch(t.Ancestors)
	return c, nil
}
