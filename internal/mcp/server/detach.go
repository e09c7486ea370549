package server

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/tasks"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
)

// LongCalls says which calls go on without their requests, and where. The zero value is none.
// Tasks.Detach (package tasks) lets them go.
//
//	                Polled: tools with call.Tool.Pollable   Within: late answers of all tools
//	stdio           here, at once                       here, after Within
//	stdio with API  here, once the API has named the    here, after Within
//	                response, or after 2 s
//	HTTP            no call                             no call
//	HTTP with API   at the API, once it has named the   at the API, after Within; a GET looks for
//	                response and a GET finds it         the response after half of that, or later
//
// A call goes on at the API only once the API has named its response. So with Shared, at the end of
// Within, a call that still waits for other calls ends with the status waiting (call.ErrWaiting),
// also a call that its client would poll. A call that is sent and whose response has no name yet
// waits beyond Within: its answer would be lost.
//
// With API means that a tool runs in its background, and that there is a secret for ids. Where the
// table has no call, Polled is false and Within is 0 (service.LongCalls).
type LongCalls struct {
	Polled bool // clients that declare tasks poll calls of the tools with call.Tool.Pollable

	// Within is how long a call and answer_result wait for an answer. 0: a call waits for its end,
	// and answer_result for 20 s (resultTime).
	Within time.Duration

	API    *tasks.API      // that runs responses in its background; nil: none
	Shared bool            // requests may reach another process, so only what the API runs goes on
	EOF    <-chan struct{} // closed when no request can follow; then late calls and answer_result wait for answers
}

// ask answers a question, or returns the task that goes on with it: one of the three results is not
// nil.
func (s *Server) ask(
	ctx context.Context,
	req *mcp.CallToolRequest,
	c *call.Call,
	q answer.Question,
	taken *budget.Taken,
) (*tasks.Task, *answer.Answer, error) {
	long := s.options.LongCalls
	within := s.forClient.Load().Within // LongCalls.Within, unless the client needs another
	if long.Shared && within > 0 {
		c.WaitUntil = time.Now().Add(within)
	}

	t := s.tasks.Prepare(c, q.ExcludeDomains, s.isPolled(req.Params), isWatched(req), within)
	if !t.Polled {
		defer watch(ctx, req, t.Progress)() // before the result is sent
	}
	s.tasks.Run(ctx, t, func(ctx context.Context) (*answer.Answer, error) {
		return s.runInSlot(ctx, c, q, taken, t)
	})
	if s.tasks.Detach(t, long.Shared) { // false at once for a plain call, which has ended
		return t, nil, nil
	}
	a, err := t.Result()
	return nil, a, err
}
