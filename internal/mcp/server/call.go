package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/tasks"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
)

// PersonKey is the key of the call.Person in the Extra of an auth.TokenInfo.
const PersonKey = "person"

// newCall returns the call of a request for a tool.
func newCall(req mcp.Request, tool string) *call.Call {
	extra := cmp.Or(req.GetExtra(), &mcp.RequestExtra{}) // there is none over stdio
	c := &call.Call{
		ID:   cmp.Or(text.Label(extra.Header.Get("X-Request-Id")), rand.Text()), // of a proxy
		App:  text.Label(cmp.Or(clientInfo(req), extra.Header.Get("User-Agent"))),
		Tool: tool,

		Person: personOf(extra.TokenInfo),
	}

	trace, _ := req.GetParams().GetMeta()["traceparent"].(string)
	trace = cmp.Or(trace, extra.Header.Get("traceparent"))
	c.Traceparent = traceparentGrammar().FindString(trace)
	return c
}

// traceparentGrammar is that of https://www.w3.org/TR/trace-context.
var traceparentGrammar = text.Regexp(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// clientInfo returns the name and version of a client, and "" for a client of 2025-06-18 over HTTP,
// which tells them only in initialize: another server may have answered that.
func clientInfo(req mcp.Request) string {
	info := implementation(req)
	return strings.TrimSuffix(info.Name+"/"+info.Version, "/")
}

// implementation returns what the client of a request says about itself, at best.
func implementation(req mcp.Request) mcp.Implementation {
	params, _ := req.GetParams().(*mcp.InitializeParams)
	if params != nil && params.ClientInfo != nil { // the session has it after the result
		return *params.ClientInfo
	}
	info := req.(interface{ ClientInfo() *mcp.Implementation }).ClientInfo()
	if info == nil {
		return mcp.Implementation{}
	}
	return *info
}

// personOf returns the person whose token a request has; nil: an anonymous caller.
func personOf(token *auth.TokenInfo) call.Person {
	if token == nil {
		return call.Person{Name: call.Anonymous}
	}
	person, _ := token.Extra[PersonKey].(call.Person)
	return person
}

// call answers a call, which ends with ctx, that of its request, or with session, which over HTTP
// ends with the request or after the drain.
func (s *Server) call(
	ctx, session context.Context, req *mcp.CallToolRequest,
) (mcp.Result, error) {
	name := req.Params.Name
	known := slices.ContainsFunc(s.forClient.Load().tools, func(t *mcp.Tool) bool { return t.Name == name })
	if name == answerResult && s.options.LongCalls.API != nil {
		known = true // another server may have sealed the id
	}
	if !known {
		return nil, unknownTool(name)
	}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(session, func() { cancel(context.Cause(session)) })()

	began := time.Now()
	c := newCall(req, name)
	args := gjson.ParseBytes(req.Params.Arguments)
	if name == answerResult {
		s.logCall(name, args, "")
		return s.await(ctx, req, c, args.Get("id").Str)
	}

	q, err := answer.Parse(args, s.options.Settings.Profiles[name].Defaults)
	s.logCall(name, args, q.Query)
	var taken *budget.Taken // settle corrects it
	if err == nil && s.options.ObserveStart != nil {
		s.options.ObserveStart(c)
	}
	if err == nil {
		taken, err = s.options.Budget.Take(c)
	}
	if err != nil {
		s.observe(c, time.Since(began), nil, err)
		return s.failure(req, name, err)
	}

	task, a, err := s.ask(ctx, req, c, q, taken)
	switch {
	case errors.Is(err, call.ErrWaiting):
		return s.waitingResult(req, c.Ahead), nil
	case task == nil:
		return s.result(req, name, a, err)
	}

	if s.options.LongCalls.Shared { // the session ends with the request
		context.AfterFunc(session, func() {
			if errors.Is(context.Cause(session), ErrCancelled) { // by package httpd, before the client had the id
				s.tasks.Cancel(context.WithoutCancel(session), task, c)
			}
		})
	}
	if task.Polled {
		return created(task), nil
	}
	return s.workingResult(req, task.ID), nil
}

// logCall writes to the debug log what a call asks, without its words.
func (s *Server) logCall(name string, args gjson.Result, query string) {
	s.options.Log.Debug(fmt.Sprintf("tools/call name=%s argsKeys=%v queryLen=%d",
		name, slices.Sorted(maps.Keys(args.Map())), utf8.RuneCountInString(query)))
}

// runInSlot waits for a slot, and runs the call of a task. A panic fails this call only.
func (s *Server) runInSlot(
	ctx context.Context, c *call.Call, q answer.Question, taken *budget.Taken, t *tasks.Task,
) (a *answer.Answer, err error) {
	began := time.Now()
	defer func() { s.settle(t, taken, c, began, a, err) }()
	defer s.recoverCall(c.Tool, &err)
	ctx, cancel := answer.WithTimeout(ctx, s.options.Settings.Timeout)
	defer cancel()

	release, err := s.options.People.Acquire(ctx, c)
	if err != nil {
		return nil, err
	}
	defer release()
	return s.options.Ask(ctx, c, q)
}

// settle notes what the call of a task has used when it ends, as far as the API has said it, and
// observes the end. The call is given back if it has sent nothing, or ends with ErrWaiting. A
// response in the background has two more ends:
//   - When this process ends, the API goes on (ErrLeftToAPI). What is reserved counts as used, as
//     llm has counted the request as Begun. With a store and a limit, the process that reads the
//     end of the response corrects that, and observes the end (settleResponse).
//   - Another process has read its end, and has observed it. What is reserved counts as used.
func (s *Server) settle(
	t *tasks.Task, taken *budget.Taken, c *call.Call, began time.Time, a *answer.Answer, err error,
) {
	unsent := a == nil && c.Attempts == 0
	free := unsent || errors.Is(err, call.ErrWaiting) // the latter also after a 429
	leftToAPI := errors.Is(err, call.ErrLeftToAPI)
	response := s.tasks.StopSealing(t)
	if leftToAPI {
		taken.Left = response != ""
	} else {
		taken.Response = response // another process may have settled it
	}
	first := taken.Settle(c, !free)
	if a != nil {
		a.Meta.NearLimit = c.NearLimit
	}
	if first && !leftToAPI {
		s.observe(c, time.Since(began), a, err)
	}
}

// recoverCall, when deferred, turns a panic into the error of a call.
func (s *Server) recoverCall(tool string, err *error) {
	p := recover()
	if p == nil {
		return
	}
	stack := string(debug.Stack())
	s.options.Log.Error("panic in a call", "tool", tool, "panic", p, "stack", stack)
	*err = call.KindInternal.Errorf("internal error")
}

// isWatched reports whether the client of a request asks for messages about its call.
func isWatched(req *mcp.CallToolRequest) bool {
	switch req.Params.GetProgressToken().(type) {
	case string, float64: // as the protocol has it
		return true
	}
	return false
}

// watch sends messages about a call to the client of a request, if the client asks for them. No
// message is sent after stop returns.
func watch(
	ctx context.Context, req *mcp.CallToolRequest, progress *tasks.Progress,
) (stop func()) {
	if !isWatched(req) {
		return func() {}
	}

	ctx, cancel := context.WithCancel(ctx)
	p := &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken()}
	var messages sync.WaitGroup
	messages.Go(func() {
		progress.Watch(ctx, func(message string) error {
			p.Progress++
			p.Message = message
			return req.Session.NotifyProgress(ctx, p)
		})
	})
	return func() {
		cancel()
		messages.Wait()
	}
}

// outcomes has the outcomes of calls that have no answer, but did not fail.
var outcomes = map[call.Kind]string{
	call.KindCanceled:  OutcomeCancelled,
	call.KindArguments: OutcomeInvalid,
	call.KindLimited:   OutcomeLimited,
}

// settleResponse notes and observes the end of a response, as that of its call, if it is the first
// to do so: the process that ran the call may have ended. It notes nothing of an error that says
// nothing of the cost: the process that ran the call may know more, and otherwise what was reserved
// counts.
func (s *Server) settleResponse(
	c *call.Call, from answer.Origin, a *answer.Answer, err error,
) {
	ended := *c
	ended.Attempts = 1
	ended.Unreserved = from.Unreserved
	took := time.Since(from.Created)
	if a != nil {
		took = a.Meta.Elapsed
		ended.Time = took
	}
	if ended.Usage == (call.Usage{}) {
		if a == nil {
			return
		}
		ended.Unreported = 1
		ended.Begun = 1
	}
	if s.options.Budget.SettleResponse(&ended, from.Response) {
		s.observe(&ended, took, a, err)
	}
}

// observe reports how a call ended.
func (s *Server) observe(c *call.Call, took time.Duration, a *answer.Answer, err error) {
	if s.options.Observe == nil {
		return
	}
	end := Ended{
		Call:     c,
		Outcome:  OutcomeOK,
		Duration: took,
		Err:      err,
	}
	if a != nil {
		end.Retries = a.Meta.Retries
	}
	if e, ok := errors.AsType[*call.Error](err); ok {
		end.Retries = max(0, e.Attempts-1)
	}

	switch {
	case errors.Is(err, call.ErrWaiting): // the question was not asked
		end.Outcome = OutcomeWaiting
		end.Err = nil
	case err != nil:
		end.Outcome = cmp.Or(outcomes[call.KindOf(err)], OutcomeError)
	}
	s.options.Observe(end)
}
