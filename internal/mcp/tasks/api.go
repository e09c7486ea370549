package tasks

import (
	"context"
	"errors"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
)

const (
	askTime   = 10 * time.Second // for the API to answer
	shareTime = time.Second      // for which all requests about a task share what the API said
	waitAPI   = 2 * time.Second  // between two looks at the API while a request waits
)

// remote is what the API said about the response of a task that another process runs, or ran.
type remote struct {
	// turn holds a value while a request uses the fields below, and asks the API. Unlike for a
	// Mutex, a request can stop waiting for it.
	turn    chan struct{}
	lastAsk time.Time // of the API
	message string    // about the task then; "": the response runs
}

// askAPI asks the API how a task is, and returns a message about it. With cancels it cancels the
// response before; otherwise requests share what the API says. A request that ends meanwhile learns
// nothing, and the API is asked all the same: each request to it takes askTime at most.
func (s *Tasks) askAPI(ctx context.Context, t *Task, c *call.Call, cancels bool) string {
	request := ctx.Done()
	if cancels { // also for a client that leaves
		request = nil
	}
	select {
	case t.remote.turn <- struct{}{}:
	case <-request:
		return ""
	}

	own := *c // the request may end before
	said := make(chan string, 1)
	go func() {
		defer func() { <-t.remote.turn }()
		said <- s.askInTurn(context.WithoutCancel(ctx), t, &own, cancels)
	}()
	select {
	case message := <-said:
		return message
	case <-request:
		return ""
	}
}

// askInTurn is askAPI for the request that has the turn.
//
// A response that runs beyond the time limit is cancelled, but only if the API says that it runs: a
// complete answer is not lost because the API is busy.
func (s *Tasks) askInTurn(ctx context.Context, t *Task, c *call.Call, cancels bool) string {
	r := t.remote
	fresh := time.Since(r.lastAsk) < shareTime && !cancels
	if fresh || t.hasEnded() {
		return r.message
	}

	origin := *t.origin.Load()
	if cancels {
		s.cancelResponse(ctx, c, origin)
	}
	a, err := s.fetchAnswer(ctx, c, origin)
	r.lastAsk = time.Now()
	r.message = ""

	overdue := time.Since(t.Created) >= s.o.Timeout
	switch {
	case !errors.Is(err, answer.ErrRunning): // ErrUnknown is an ErrRunning, too
		s.o.EndedElsewhere(c, origin, a, err)
		s.end(t, a, err)
	case errors.Is(err, answer.ErrUnknown):
		r.message = "the API does not say whether the answer is complete"
	case overdue:
		s.cancelResponse(ctx, c, origin)
		s.end(t, nil, answer.TimeoutError(s.o.Timeout)) // even if the response goes on
	}
	return r.message
}

func (s *Tasks) cancelResponse(ctx context.Context, c *call.Call, origin answer.Origin) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	_ = s.o.API.Cancel(ctx, c, origin.Response) // the next GET tells how it ended
}

// fetchAnswer asks the API for the answer of a response.
func (s *Tasks) fetchAnswer(
	ctx context.Context, c *call.Call, origin answer.Origin,
) (a *answer.Answer, err error) {
	defer s.o.Recover(c.Tool, &err)
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return s.o.API.Fetch(ctx, c, origin)
}
