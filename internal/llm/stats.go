package llm

import (
	"context"
	"time"
)

// Call says whose call it is, and what it took, also when it failed. The call changes the latter
// until it has ended.
type Call struct {
	// The API's rate limit is shared among people: they take turns, and the refusals of one person
	// do not delay another. Calls without a person belong to one and the same.
	Person string

	// Traceparent is a header of the requests, which links them to the caller's trace
	// (https://www.w3.org/TR/trace-context); "": none.
	Traceparent string

	Attempts  int           // requests that were sent
	Time      time.Duration // of these requests, each until the end of its answer
	Waited    time.Duration // for the rate limit
	RequestID string        // of the last answer, known as soon as its header is there
}

type callKey struct{} // of a context's value

// WithCall returns a context for one call.
func WithCall(ctx context.Context, call *Call) context.Context {
	return context.WithValue(ctx, callKey{}, call)
}

// callOf returns the Call of a context, or one that is not used.
func callOf(ctx context.Context) *Call {
	call, ok := ctx.Value(callKey{}).(*Call)
	if !ok {
		return &Call{}
	}
	return call
}

// ended counts a request that was sent at that time.
func (c *Call) ended(sent time.Time) {
	c.Attempts++
	c.Time += time.Since(sent)
}
