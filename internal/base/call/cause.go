package call

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Causes that end the context of a call, besides TimeoutError. If the client leaves or cancels, the
// cause is context.Canceled or, over stdio, the error of the connection. docs/architecture.md has
// what follows from each cause (How a call ends).
//
// Names and words that users read have the spelling of MCP, cancelled. Kinds have the spelling of
// Go and OpenAI, canceled.
var (
	// ErrCancelled: the client cancels the call over HTTP with another request. A call that was
	// just detached ends, too, if the client has not got its id yet.
	ErrCancelled = KindCanceled.Errorf("the client has cancelled the call")

	// ErrShutdown: the process ends. A detached call ends with ErrShutdown, too, if its running
	// response cannot be fetched: its id is not sealed, or has an earlier response, from before a
	// retry or a requery.
	ErrShutdown = KindShutdown.Errorf("the server restarts")

	// ErrLeaveAtAPI: the process ends, and the call was detached with an id that has its running
	// response. The call ends without cancelling this response, which goes on at the API. In an
	// error of package llm, ErrLeaveAtAPI is joined with context.Canceled.
	ErrLeaveAtAPI = errors.New("the response goes on at the API")
)

// EndOf returns the error of a context that has ended, joined with the cause of the end; nil if the
// context has not ended. The cause may have no kind.
func EndOf(ctx context.Context) error { return errors.Join(ctx.Err(), context.Cause(ctx)) }

// IsCancelled reports whether ctx has ended because the client of its call has left or cancelled.
// The result is also true after ErrLeaveAtAPI, which has no kind: ctx.Err() is context.Canceled.
func IsCancelled(ctx context.Context) bool { return KindOf(EndOf(ctx)) == KindCanceled }

// TimeoutError is the cause with which a call ends that has exceeded its time limit. The value is
// the limit.
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
