package call

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// If the client of a call leaves or cancels, the context of the call ends with context.Canceled or,
// over stdio, with the error of the connection as the cause. These are the other causes.
// docs/architecture.md has what follows from each (How a call ends). Names and words that users
// read have the spelling of MCP, cancelled; kinds have that of Go and OpenAI, canceled.
var (
	// ErrCancelled: its client cancels it over HTTP with another request. A call that was just
	// detached, and whose id the client has not got yet, ends, too.
	ErrCancelled = KindCanceled.Errorf("the client has cancelled the call")

	// ErrShutdown: the process ends. A detached call ends with it, too, if the response that runs
	// cannot be fetched: its id is not sealed, or has the response before a retry or a requery.
	ErrShutdown = KindShutdown.Errorf("the server restarts")

	// ErrLeaveAtAPI: the process ends, the call was detached, and its id has the response that
	// runs. The call ends without cancelling this response, which goes on at the API. In an error
	// of package llm it is joined with context.Canceled.
	ErrLeaveAtAPI = errors.New("the response goes on at the API")
)

// EndOf returns the error of a context that has ended, joined with its cause, which may be of no
// kind; nil if the context has not ended.
func EndOf(ctx context.Context) error { return errors.Join(ctx.Err(), context.Cause(ctx)) }

// IsCancelled reports whether ctx has ended because the client of its call has left or cancelled.
// It also does after ErrLeaveAtAPI, which ends ctx in the same way.
func IsCancelled(ctx context.Context) bool { return KindOf(EndOf(ctx)) == KindCanceled }

// TimeoutError is the cause with which a call ends that has exceeded this time limit.
type TimeoutError time.Duration

func (e TimeoutError) Error() string {
	return fmt.Sprintf("timed out after %v s", time.Duration(e).Seconds())
}

// ErrorKind returns the kind, for KindOf.
func (e TimeoutError) ErrorKind() Kind { return KindTimeout }

// WithTimeout returns a context for a call that ends with a TimeoutError after d.
func WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, TimeoutError(d))
}
