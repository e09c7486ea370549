package tasks

import (
	"context"
	"errors"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

const (
	shareTime  = time.Second     // for which all requests about a task share what the API said
	pollRemote = 5 * time.Second // between two requests of a client, each of which asks the API
)

// remote is the home of a task whose response the API runs for another process.
type remote struct {
	tasks    *Tasks
	response string

	// turn holds a value while a request uses what follows. It is no Mutex, because the API may be
	// asked meanwhile, and time in a bubble of testing/synctest goes on only where channels wait.
	turn    chan struct{}
	asked   time.Time // when the API was last asked
	message string    // about the task then; "": it runs
}

func newRemote(s *Tasks, response string) *remote {
	return &remote{tasks: s, response: response, turn: make(chan struct{}, 1)}
}

// lock waits for the turn of the caller, which ends with unlock.
func (r *remote) lock() (unlock func()) {
	r.turn <- struct{}{}
	return func() { <-r.turn }
}

// look asks the API. The request may end early: later requests share what the API says.
func (r *remote) look(ctx context.Context, t *Task, call *llm.Call) string {
	defer r.lock()()
	isFresh := time.Since(r.asked) < shareTime
	if !isFresh && !t.hasEnded() {
		r.askLocked(ctx, t, call)
	}
	return r.message
}

// askLocked asks the API. A response that runs beyond the time limit is cancelled, but only if the
// API says that it runs: a complete answer is not lost because the API is busy.
func (r *remote) askLocked(ctx context.Context, t *Task, call *llm.Call) {
	a, err := r.tasks.fetch(ctx, t, call, r.response)
	r.asked = time.Now()
	r.message = ""

	limit := r.tasks.o.Timeout
	isLate := time.Since(t.Created) >= limit
	runs := errors.Is(err, answer.ErrRunning)
	switch {
	case !runs:
		r.tasks.end(t, a, err)
	case errors.Is(err, answer.ErrUnknown):
		r.message = "the API does not say whether the answer is complete"
	case isLate:
		r.cancelLocked(ctx, call)
		r.tasks.end(t, nil, answer.TimeoutError(limit)) // even if the response goes on
	}
}

// cancel asks the API how the task ended.
func (r *remote) cancel(ctx context.Context, t *Task, call *llm.Call) {
	defer r.lock()()
	r.cancelLocked(ctx, call)
	r.askLocked(ctx, t, call)
}

func (r *remote) cancelLocked(ctx context.Context, call *llm.Call) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	_ = r.tasks.o.API.Cancel(ctx, call, r.response) // the next GET tells how it ended
}

// fetch asks the API about the response of a task.
func (s *Tasks) fetch(
	ctx context.Context, t *Task, call *llm.Call, response string,
) (*answer.Answer, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	return s.o.API.Fetch(ctx, call, response, t.Created)
}
