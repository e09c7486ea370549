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

// DetachOptions say which calls may be detached from their requests (tasks.Tasks.DetachWhenDue),
// and when. Later requests find a detached call in this process, or at the API, which other
// processes ask, too. In both cases the call goes on in this process. The zero value detaches no
// call.
//
//	                OffersTasks: tools with Tool.Pollable  DetachAfter: late answers of all tools
//	stdio           this process, at once                  this process, after that time
//	stdio with API  the API, once it has named the         the API, after that time; this process
//	                response; this process after 2 s       if the response has no name by then
//	HTTP            no call                                no call
//	HTTP with API   the API, once it has named the         the API, after that time; a GET looks
//	                response, unless a GET says that       for the response after half of that time,
//	                the response is lost                   or later
//
// "With API" means that the tool of the call runs in the background of the API, and that there is a
// secret for ids. Over HTTP a call of any other tool is not detached. If there is no tool with API,
// service.Service.CompleteDetachOptions then leaves OffersTasks false and DetachAfter 0.
//
// At the API, a response is found by its name. So with OverHTTP
//
//   - a call that still waits for a slot or for the rate limit when DetachAfter is over ends with
//     the status waiting (call.ErrWaiting), even if its client would poll it;
//   - a call that has sent its request is not detached before the response has a name: otherwise
//     the answer would be lost.
type DetachOptions struct {
	OffersTasks bool // clients that declare tasks poll calls of the tools with call.Tool.Pollable

	// DetachAfter is how long a call waits for its answer before it is detached, and how long
	// answer_result waits. 0: a call waits for its end, and answer_result for 20 s
	// (answerResultTimeout).
	DetachAfter time.Duration

	BackgroundAPI *tasks.BackgroundAPI // runs responses in the background; nil: none
	OverHTTP      bool                 // and later requests may reach other processes

	// EOF is closed when no request can follow. Requests of calls and of answer_result that still
	// wait go on to the end of the call. Other detached calls end with the process.
	EOF <-chan struct{}
}

// polledProgressDelay is when a polled call begins to send progress, if its client has no id by
// then.
const polledProgressDelay = 5 * time.Second

// runOrDetach runs a call, and returns its task with the state in which the request leaves the
// task: ended, or working, because the call goes on without its request.
func (s *Server) runOrDetach(
	ctx context.Context,
	req *mcp.CallToolRequest,
	c *call.Call,
	q answer.Question,
	taken *budget.Taken,
) (*tasks.Task, tasks.State) {
	o := s.options.Detach
	t := s.tasks.Prepare(c, tasks.CallOptions{
		Polled:        s.isPolled(req.Params),
		ExpectsName:   o.BackgroundAPI != nil && s.options.Settings.Profiles[c.Tool].Background,
		WantsProgress: wantsProgress(req),
		DetachAfter:   s.clientSettings.Load().detachAfter,
		OverHTTP:      o.OverHTTP,
		PartialRef:    q.PartialRef(),
	})

	delay := time.Duration(0)
	if t.Polled { // once the client has its id, tasks/get shows the progress
		delay = polledProgressDelay
	}
	defer s.sendProgress(ctx, req, t.Progress, delay)() // ends before the result is sent

	// Run waits for the end of a call that cannot be detached, and DetachWhenDue is then false at
	// once.
	s.tasks.Run(ctx, t, func(ctx context.Context) (*answer.Answer, error) {
		return s.runInSlot(ctx, c, q, taken, t)
	})
	if s.tasks.DetachWhenDue(t) {
		return t, tasks.State{} // it is working
	}
	return t, t.AwaitEnd()
}
