package tasks

import (
	"context"
	"errors"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
)

const (
	shareTime = time.Second     // for which all requests about a task share what the API said
	pollAPI   = 5 * time.Second // between two requests of a client, each of which asks the API
	waitAPI   = 2 * time.Second // between two looks at the API while a request waits
)

// atAPI is what the API said about the response of a task.
type atAPI struct {
	// turn holds a value while a request uses what follows. It is a channel, not a Mutex: the API
	// may be asked meanwhile, and time in a bubble of testing/synctest goes on only where channels
	// wait.
	turn    chan struct{}
	asked   time.Time // when the API was last asked
	message string    // about the task then; "": it runs
}

// askAPI asks the API how a task is, and returns a message about it. With cancels it cancels the
// response before; otherwise requests share what the API says. The request may end early.
//
// A response that runs beyond the time limit is cancelled, but only if the API says that it runs: a
// complete answer is not lost because the API is busy.
func (s *Tasks) askAPI(ctx context.Context, t *Task, c *call.Call, cancels bool) string {
	ctx = context.WithoutCancel(ctx)
	h := t.elsewhere
	h.turn <- struct{}{}
	defer func() { <-h.turn }()
	fresh := time.Since(h.asked) < shareTime && !cancels
	if fresh || t.hasEnded() {
		return h.message
	}

	from := *t.from.Load()
	if cancels {
		s.cancelResponse(ctx, c, from)
	}
	a, err := s.fetch(ctx, c, from)
	h.asked = time.Now()
	h.message = ""

	overdue := time.Since(t.Created) >= s.o.Timeout
	runs := errors.Is(err, answer.ErrRunning)
	switch {
	case !runs:
		s.end(t, a, err)
	case errors.Is(err, answer.ErrUnknown):
		h.message = "the API does not say whether the answer is complete"
	case overdue:
		s.cancelResponse(ctx, c, from)
		s.end(t, nil, answer.TimeoutError(s.o.Timeout)) // even if the response goes on
	}
	return h.message
}

func (s *Tasks) cancelResponse(ctx context.Context, c *call.Call, from answer.Origin) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	_ = s.o.API.Cancel(ctx, c, from.Response) // the next GET tells how it ended
}

// fetch asks the API about a response.
func (s *Tasks) fetch(
	ctx context.Context, c *call.Call, from answer.Origin,
) (a *answer.Answer, err error) {
	defer s.o.Recover(c.Tool, &err)
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return s.o.API.Fetch(ctx, c, from)
}
