// Package stdio is the transport between an MCP client and the SDK: an
// [mcp.Transport] over a pair of byte streams (spec §2.1, transports.md §1).
package stdio

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ErrGone is the cause of a session's end when stdout has no reader left.
var ErrGone = errors.New("stdout has no reader")

// Transport serves one MCP session over In and Out. It implements
// [mcp.Transport].
type Transport struct {
	// In is the client's half, usually standard input. It is never closed.
	In io.Reader
	// Out receives each message in one Write. If it is an *os.File on Unix, the
	// session ends as soon as Out has no reader.
	Out io.Writer
	// Lines answers in lines from the start (MCP_LINE_MODE=1). Otherwise answers
	// are framed until the first line-delimited message arrives.
	Lines bool
	// Methods are the requests that the server answers. Others are method not
	// found (-32601), before initialize too. nil: all are passed on.
	Methods []string
	// Log receives the stages of transports.md §1.8 at debug level.
	Log *slog.Logger
}

// Connect starts reading In.
func (t *Transport) Connect(ctx context.Context) (mcp.Connection, error) {
	return nil, errors.ErrUnsupported
}

// WaitGone waits until w has no reader left and then returns true. It returns
// false within a second of the end of ctx, and at once where it cannot know: w
// is not a file, or the system is not Unix.
func WaitGone(ctx context.Context, w io.Writer) bool { return false }
