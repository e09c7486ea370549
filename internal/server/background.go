package server

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

const (
	fetchTime = 10 * time.Second // to ask the API about a task
	shareTime = time.Second      // for which all requests about a task share what the API said
)

// Background is how answer_detailed runs at the API. The id of such a task is sealed and says all
// about it, so that a server that is started later answers for it, too.
type Background struct {
	// Start begins an answer. It returns the id of the response at the API; or no id, and what Ask
	// returns or llm.ErrNoBackground.
	Start func(
		ctx context.Context,
		call *llm.Call,
		q answer.Question,
	) (response string, a *answer.Answer, err error)

	// Fetch returns the answer of a response, or an error of package answer that says why there is
	// none. Cancel cancels a response. Neither waits for other calls.
	Fetch func(
		ctx context.Context,
		call *llm.Call,
		response string,
		created time.Time,
	) (*answer.Answer, error)
	Cancel func(ctx context.Context, call *llm.Call, response string) error

	Secrets func() []string // ids are sealed with the first one, and opened with any
	BaseURL string          // of the API
	Keep    time.Duration   // how long the API has an answer after the time limit
}

// refreshLocked brings the state of a task up to date. The request may end early: later requests
// share what the API says. The end of the task is observed once, as the call of this request.
func (s *Server) refreshLocked(ctx context.Context, j *job, meta mcp.Meta, call *Ended) {
	isHere := j.stages != nil
	if isHere && j.state.Status == working {
		j.setLocked(state{Status: working, Message: j.stages.last()})
	}
	if isHere || j.known {
		return
	}

	a, err := s.fetch(ctx, j, call.Call)
	to := state{Status: working}
	runs := errors.Is(err, answer.ErrRunning)
	if !runs {
		call.Duration = time.Since(j.Created)
		if err == nil {
			call.Duration = a.Meta.Elapsed
		}
		to = outcome(s.result(call, meta, a, err))
		if call.Outcome == cancelled {
			to = state{Status: cancelled}
		}
		if !j.observed {
			s.options.Observe(*call)
		}
		j.observed = true
	}
	j.setLocked(to)
	j.known = true

	// An answer is not kept: the API has it.
	if runs || err == nil {
		time.AfterFunc(shareTime, func() {
			defer j.lock()()
			j.known = false
			j.state.Result = nil
		})
	}
}

// fetch asks the API about a task. One that runs beyond the time limit is cancelled, but only if the
// API says that it runs: a complete answer is not lost because the API is busy.
func (s *Server) fetch(ctx context.Context, j *job, call *llm.Call) (a *answer.Answer, err error) {
	defer s.recoverCall(j.Tool, &err)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTime)
	defer cancel()
	b := s.options.Background
	limit := s.options.Timeout

	a, err = b.Fetch(ctx, call, j.Response, j.Created)
	late := time.Since(j.Created) >= limit
	runs := errors.Is(err, answer.ErrRunning) && !errors.Is(err, answer.ErrUnknown)
	if late && runs {
		_ = b.Cancel(ctx, call, j.Response) // the task is over even if the response goes on
		return nil, answer.TimeoutError(limit)
	}
	return a, err
}

// cancelLocked cancels a task unless it has ended. Of one at the API it asks how it ended.
func (s *Server) cancelLocked(ctx context.Context, j *job, meta mcp.Meta, call *Ended) {
	if j.stages != nil {
		s.endLocked(j, state{Status: cancelled})
		return
	}

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTime)
	defer cancel()
	if j.state.Status == working {
		_ = s.options.Background.Cancel(ctx, call.Call, j.Response) // what the API says counts
		j.known = false
		s.refreshLocked(ctx, j, meta, call)
	}
}
