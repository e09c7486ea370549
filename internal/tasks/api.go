package tasks

import (
	"context"
	"errors"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

const (
	shareTime = time.Second     // for which all requests about a task share what the API said
	pollAPI   = 5 * time.Second // between two requests of a client, each of which asks the API
)

// atAPI is the home of a task whose response the API runs for another process.
type atAPI struct {
	tasks *Tasks
	from  answer.Origin

	// turn holds a value while a request uses what follows. It is no Mutex, because the API may be
	// asked meanwhile, and time in a bubble of testing/synctest goes on only where channels wait.
	turn    chan struct{}
	asked   time.Time // when the API was last asked
	message string    // about the task then; "": it runs
}

// look asks the API. The request may end early: later requests share what the API says.
func (h *atAPI) look(ctx context.Context, t *Task, call *llm.Call) string {
	h.turn <- struct{}{}
	defer func() { <-h.turn }()
	isFresh := time.Since(h.asked) < shareTime
	if !isFresh && !t.hasEnded() {
		h.askLocked(ctx, t, call)
	}
	return h.message
}

// askLocked asks the API. A response that runs beyond the time limit is cancelled, but only if the
// API says that it runs: a complete answer is not lost because the API is busy.
func (h *atAPI) askLocked(ctx context.Context, t *Task, call *llm.Call) {
	a, err := h.tasks.fetch(ctx, call, h.from)
	h.asked = time.Now()
	h.message = ""

	limit := h.tasks.o.Timeout
	isLate := time.Since(t.Created) >= limit
	runs := errors.Is(err, answer.ErrRunning)
	switch {
	case !runs:
		h.tasks.end(t, a, err)
	case errors.Is(err, answer.ErrUnknown):
		h.message = "the API does not say whether the answer is complete"
	case isLate:
		h.cancelLocked(ctx, call)
		h.tasks.end(t, nil, answer.TimeoutError(limit)) // even if the response goes on
	}
}

// cancel asks the API how the task ended.
func (h *atAPI) cancel(ctx context.Context, t *Task, call *llm.Call) {
	h.turn <- struct{}{}
	defer func() { <-h.turn }()
	h.cancelLocked(ctx, call)
	h.askLocked(ctx, t, call)
}

func (h *atAPI) cancelLocked(ctx context.Context, call *llm.Call) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	_ = h.tasks.o.API.Cancel(ctx, call, h.from.Response) // the next GET tells how it ended
}

// fetch asks the API about a response.
func (s *Tasks) fetch(
	ctx context.Context, call *llm.Call, from answer.Origin,
) (a *answer.Answer, err error) {
	defer s.o.Recover(call.Tool, &err)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	return s.o.API.Fetch(ctx, call, from)
}
