package llm

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// do makes a call. This loop is the only place where a try is repeated; a try
// is a request and its answer read to the end, so a stream that breaks counts.
func (c *Client) do(ctx context.Context, r Request, f *feed, stream bool) (*Response, error) {
	if c.unusable != nil {
		return nil, c.unusable
	}
	body, err := c.body(r, stream)
	if err != nil {
		return nil, &Error{Kind: KindParameter, Message: "encoding the request: " + err.Error(), Err: err}
	}
	waits := &backoff.ExponentialBackOff{
		InitialInterval:     500 * time.Millisecond,
		RandomizationFactor: 0.25,
		Multiplier:          2,
		MaxInterval:         8 * time.Second,
	}
	waits.Reset()
	t := &try{client: c, model: r.Params.Model, body: editor{data: body}, feed: f}
	for t.attempt = 1; ; t.attempt++ {
		resp, e := t.run(ctx)
		f.stopAll()
		if e == nil {
			resp.Retries = t.attempt - 1
			return resp, nil
		}
		wait := waits.NextBackOff()
		if e.RetryAfter > 0 {
			wait = e.RetryAfter
		}
		// A wait beyond the deadline would turn this error into a timeout.
		deadline, ok := ctx.Deadline()
		if !e.retryable() || t.attempt > c.o.MaxRetries || ok && wait >= time.Until(deadline) {
			return nil, e
		}
		f.send(Retrying{Attempt: t.attempt + 1, Err: e})
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			e := contextError(ctx)
			e.Attempts = t.attempt
			return nil, e
		}
	}
}

// retryable reports whether the same request may succeed later.
func (e *Error) retryable() bool {
	return !e.final && (e.Kind == KindRateLimit || e.Kind == KindServer || e.Kind == KindConnection)
}
