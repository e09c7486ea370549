package server

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/tasks"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
)

// nameTime is how long the API has to name the response of a task, whose id then outlives this
// process.
const nameTime = 2 * time.Second

// Detach says which calls go on without their requests, and where. The zero value is none.
//
//	                Tasks: tools with call.Tool.Task    Within: late answers of all tools
//	stdio           here, at once                       here, after Within
//	stdio with API  here, once the API has named the    here, after Within
//	                response, or after nameTime
//	HTTP            no call                             no call
//	HTTP with API   at the API, once it has named the   at the API, after Within; it is asked for
//	                response and is asked for it        the response after half of that, or later
//
// What goes on at the API needs the name of its response: with Within, a call that still waits for
// others then ends with status waiting (call.ErrWaiting), also one that would be a task. Without a
// name a call waits beyond Within: its answer would be lost.
//
// With the API means that a tool runs in its background, and that there is a secret for ids. The
// caller sets neither Tasks nor Within where the table says that no call goes on (service.Detach).
type Detach struct {
	Tasks bool // clients that declare tasks get one for the tools that can be tasks

	// Within is how long a call and answer_result wait for an answer. 0: a call waits for its end,
	// and answer_result for resultTime.
	Within time.Duration

	API    *tasks.API      // that runs responses in its background; nil: none
	Shared bool            // only what the API runs goes on: requests may reach another process
	EOF    <-chan struct{} // of tasks.Options
}

// ask answers a question, or returns the task that goes on with it, as a task or late: one of the
// three results is not nil.
func (s *Server) ask(
	ctx context.Context, req *mcp.CallToolRequest, c *call.Call, q answer.Question, asTask bool,
) (*tasks.Task, *answer.Answer, error) {
	within := s.options.Detach.Within
	if !asTask && within == 0 {
		progress := tasks.NewProgress()
		if isWatched(req) {
			c.Sink = progress.Add
		}
		defer watch(ctx, req, progress)() // before the result is sent
		a, err := s.run(ctx, c, q)
		return nil, a, err
	}

	detach := s.detachHere
	if s.options.Detach.Shared {
		detach = s.detachAtAPI
	}
	if s.options.Detach.Shared && within > 0 {
		c.WaitUntil = time.Now().Add(within)
	}
	run := func(ctx context.Context) (*answer.Answer, error) { return s.run(ctx, c, q) }
	t := s.tasks.Start(ctx, c, q.ExcludeDomains, run)
	if !asTask {
		defer watch(ctx, req, t.Progress)()
	}
	if detach(ctx, t, asTask) {
		return t, nil, nil
	}
	a, err := t.End()
	return nil, a, err
}

// detachHere lets a call go on in this process: a task soon, any other call when it is late. It
// returns false if the call ends with its request.
func (s *Server) detachHere(ctx context.Context, t *tasks.Task, asTask bool) bool {
	if !asTask {
		state := s.tasks.Wait(ctx, t, nil, s.options.Detach.Within)
		return state.Works() && s.tasks.DetachHere(t)
	}

	if s.options.Detach.API != nil {
		ctx, cancel := context.WithTimeout(ctx, nameTime)
		defer cancel()
		t.AwaitName(ctx)
	}
	return s.tasks.DetachHere(t)
}

// detachAtAPI lets a call go on whose response the API runs: a task once it has a name, any other
// call when it is late. It returns false if the call ends with its request, or if the API does not
// have the response.
func (s *Server) detachAtAPI(ctx context.Context, t *tasks.Task, asTask bool) bool {
	if asTask {
		return t.AwaitName(ctx) && !s.tasks.Lost(ctx, t) && s.tasks.DetachAtAPI(t)
	}

	late, cancel := context.WithTimeout(ctx, s.options.Detach.Within)
	defer cancel()
	s.tasks.Wait(late, t, nil, s.options.Detach.Within/2)
	asked := t.HasName()
	if s.tasks.Lost(late, t) {
		return false
	}
	state := s.tasks.Wait(late, t, nil, s.options.Detach.Within) // ends with late
	if !state.Works() || !t.AwaitName(ctx) || !asked && s.tasks.Lost(ctx, t) {
		return false
	}
	return s.tasks.DetachAtAPI(t)
}
