package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/tasks"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
)

// newCall returns the call of a tool by a person, with what a request and its headers tell about
// the caller.
func newCall(req mcp.Request, person call.Person, tool string) *call.Call {
	extra := cmp.Or(req.GetExtra(), &mcp.RequestExtra{}) // nil over stdio
	c := &call.Call{
		ID:   cmp.Or(text.ShortLine(extra.Header.Get("X-Request-Id")), rand.Text()),
		App:  text.ShortLine(cmp.Or(clientLabel(req), extra.Header.Get("User-Agent"))),
		Tool: tool,

		Began:  time.Now(),
		Person: person,
	}

	valid := traceparentGrammar().FindString
	trace, _ := req.GetParams().GetMeta()["traceparent"].(string)
	c.Traceparent = cmp.Or(valid(trace), valid(extra.Header.Get("traceparent")))
	return c
}

// traceparentGrammar matches a traceparent of version 00 (https://www.w3.org/TR/trace-context).
var traceparentGrammar = text.LazyRegexp(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// clientLabel returns the client of a request as name/version, or "" if it is not known. Over HTTP,
// clients from before 2026-07-28 name themselves only in initialize, which another server may have
// answered.
func clientLabel(req mcp.Request) string {
	info := clientInfo(req)
	return strings.TrimSuffix(info.Name+"/"+info.Version, "/")
}

// clientInfo returns how the client of a request describes itself, or the zero value if that is not
// known.
func clientInfo(req mcp.Request) mcp.Implementation {
	params, _ := req.GetParams().(*mcp.InitializeParams)
	if params != nil && params.ClientInfo != nil { // the session has it only after initialize
		return *params.ClientInfo
	}
	task, isTask := req.GetParams().(*taskParams)
	if isTask && task == nil { // tasks/get without params, for which the SDK would panic
		return mcp.Implementation{}
	}
	// All requests of the SDK have this method.
	info := req.(interface{ ClientInfo() *mcp.Implementation }).ClientInfo()
	if info == nil {
		return mcp.Implementation{}
	}
	return *info
}

// callTool answers tools/call. A call that is not detached ends with ctx, the context of its
// request (see handler). sessionCtx is for followDetached, over HTTP.
func (s *Server) callTool(
	ctx, sessionCtx context.Context, req *mcp.CallToolRequest, person call.Person,
) (res mcp.Result, err error) {
	tool := req.Params.Name
	defer func() {
		p := recover()
		if p != nil {
			res, err = s.failure(req, tool, s.internalError(tool, p))
		}
	}()
	if !s.hasTool(tool) {
		return nil, unknownTool(tool)
	}

	c := newCall(req, person, tool)
	args := gjson.ParseBytes(req.Params.Arguments)
	// Some clients and models encode the arguments twice.
	if object := jsonx.ParseString(args); object.IsObject() {
		args = object
	}
	if tool == answerResultTool {
		s.logArguments(tool, args, "")
		return s.callAnswerResult(ctx, req, c, args.Get("id").Str)
	}

	q, taken, err := s.acceptCall(c, args)
	if err != nil {
		s.observe(c, time.Since(c.Began), err)
		return s.failure(req, tool, err)
	}

	task, state := s.runOrDetach(ctx, req, c, q, taken)
	switch {
	case errors.Is(state.Err, call.ErrWaiting):
		return s.waitingResult(req, c.Ahead), nil
	case !state.IsWorking():
		return s.resultOf(req, tool, state)
	}

	if s.options.Detach.OverHTTP { // the session ends with the request
		n := len(req.Params.Arguments)
		context.AfterFunc(sessionCtx, func() { s.followDetached(sessionCtx, task, person.ID, n) })
	}
	if task.Polled {
		created := s.stateResult(req, task, tasks.State{Updated: task.Created})
		created.Type = "task"
		return created, nil
	}
	return s.workingResult(req, task.ID), nil
}

// acceptCall parses the arguments of a call, and takes its quota, which settleCall settles. The
// error says why the call is refused.
func (s *Server) acceptCall(
	c *call.Call, args gjson.Result,
) (q answer.Question, taken *budget.Taken, err error) {
	q, err = answer.Parse(args, s.options.Settings.Profiles[c.Tool].Defaults)
	s.logArguments(c.Tool, args, q.Query)
	if err != nil {
		return q, nil, err
	}
	if s.options.ObserveStart != nil {
		s.options.ObserveStart(c)
	}
	taken, err = s.options.Budget.Take(c)
	return q, taken, err
}

// hasTool reports whether clients can call a tool.
func (s *Server) hasTool(tool string) bool {
	if tool == answerResultTool && s.options.Detach.BackgroundAPI != nil {
		return true // it may not be listed here, but another server may have sealed the id
	}
	listed := s.clientSettings.Load().tools
	return slices.ContainsFunc(listed, func(t *mcp.Tool) bool { return t.Name == tool })
}

// followDetached follows a detached task of this process from the end of its session on. The call
// still holds the bytes of the arguments, but the request gave them back at its end. So
// followDetached counts them for the person until the task ends.
//
// A client may cancel the call before it gets the id of the task (call.ErrCancelled).
// followDetached then cancels the task, as CancelUndelivered does over stdio. Any other end of the
// session leaves the task alone: a client may also close its response after it has read the id.
func (s *Server) followDetached(
	sessionCtx context.Context, task *tasks.Task, personID string, bytes int,
) {
	var err error // for recoverCall: no request waits for this
	defer s.recoverCall(task.Tool, &err)
	defer s.options.People.HoldBytes(personID, bytes)()
	if errors.Is(context.Cause(sessionCtx), call.ErrCancelled) {
		// The task is of this process, so Cancel needs no call.
		s.tasks.Cancel(context.WithoutCancel(sessionCtx), task, nil)
	}
	task.AwaitEnd()
}

// logArguments logs a call at debug level: the names of its arguments and the length of its
// question, but none of their text.
func (s *Server) logArguments(tool string, args gjson.Result, query string) {
	if !s.options.Log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	s.options.Log.Debug(fmt.Sprintf("tools/call name=%s argsKeys=%v queryLen=%d",
		tool, slices.Sorted(maps.Keys(args.Map())), utf8.RuneCountInString(query)))
}

// runInSlot waits for a slot, asks the question of a call, and leaves the slot. Then it settles
// what the call has used. A panic fails this call only.
func (s *Server) runInSlot(
	ctx context.Context, c *call.Call, q answer.Question, taken *budget.Taken, t *tasks.Task,
) (a *answer.Answer, err error) {
	defer s.recoverCall(c.Tool, &err) // a panic of settleCall
	defer func() { s.settleCall(t, taken, c, a, err) }()
	defer s.recoverCall(c.Tool, &err) // a panic of Acquire or Ask
	ctx, cancel := call.WithTimeout(ctx, s.options.Settings.Timeout)
	defer cancel()

	release, err := s.options.People.Acquire(ctx, c)
	if err != nil {
		return nil, err
	}
	defer release()
	return s.options.Ask(ctx, c, q)
}

// settleCall is called when the call of a task has ended. It replaces what the quotas have reserved
// for the call by what the call has used (budget.End has examples). It observes the end, unless
// another process does (docs/architecture.md, "Who reads the end first"). A call that has not tried
// to send a request, or ends with ErrWaiting, is given back.
func (s *Server) settleCall(
	t *tasks.Task, taken *budget.Taken, c *call.Call, a *answer.Answer, err error,
) {
	untried := c.Requests == 0
	gaveUpWaiting := errors.Is(err, call.ErrWaiting) // perhaps after a 429

	end := s.tasks.NoteCallEnded(t, c, err)
	end.NotCounted = untried || gaveUpWaiting
	observes := taken.Settle(c, end)
	if a != nil {
		a.Meta.NearLimit = c.NearLimit
	}
	if observes {
		s.observe(c, time.Since(c.Began), err)
	}
}

// recoverCall must be deferred. After a panic it sets *err to an internal error.
func (s *Server) recoverCall(tool string, err *error) {
	p := recover()
	if p != nil {
		*err = s.internalError(tool, p)
	}
}

// internalError logs a panic, and returns the error for the client.
func (s *Server) internalError(tool string, panicked any) error {
	s.logPanic("panic in a call", "tool", tool, panicked)
	return call.KindInternal.Errorf("internal error")
}

// logPanic logs a panic. key and name say where it was, such as "tool" and answer.
func (s *Server) logPanic(message, key, name string, panicked any) {
	s.options.Log.Error(message, key, name, "panic", panicked, "stack", string(debug.Stack()))
}

// wantsProgress reports whether the client of a request asks for progress notifications.
func wantsProgress(req *mcp.CallToolRequest) bool {
	switch req.Params.GetProgressToken().(type) {
	case string, float64: // the types that the protocol allows
		return true
	}
	return false
}

// sendProgress sends progress notifications about a call to the client of a request after delay, if
// the client asks for them. None is sent after stop returns, or after a panic.
func (s *Server) sendProgress(
	ctx context.Context, req *mcp.CallToolRequest, progress *tasks.Progress, delay time.Duration,
) (stop func()) {
	if !wantsProgress(req) {
		return func() {}
	}

	ctx, cancel := context.WithCancel(ctx)
	p := &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken()}
	var sender sync.WaitGroup
	sender.Go(func() {
		var err error // for recoverCall: the call goes on
		defer s.recoverCall(req.Params.Name, &err)
		delayed, end := context.WithTimeout(ctx, delay)
		defer end()
		<-delayed.Done()
		progress.SendMessages(ctx, func(message string) error {
			p.Progress++
			p.Message = message
			return req.Session.NotifyProgress(ctx, p)
		})
	})
	return func() {
		cancel()
		sender.Wait()
	}
}

// settleRemoteCall settles a call that another process runs, or ran. It notes what the response has
// used, and observes the end of the call, unless that was done before. It is called when this
// process has read the end of the response, a and err (tasks.Options.RemoteEnded). asker is the
// call of the request that read the end:
//   - its person is that of the ended call: Tasks.Find returns a task to no other person;
//   - its tool is that of ref (callAnswerResult, handleTask);
//   - it has what the API has reported of the response;
//   - its ID and App are those of the request, also in the log.
//
// An end without an answer and without a usage changes nothing: the process that ran the call may
// know the usage. If not, what that process has reserved counts.
func (s *Server) settleRemoteCall(
	asker *call.Call, ref answer.ResponseRef, a *answer.Answer, err error,
) {
	ended := *asker
	ended.Requests = 1 // at least, for the log: of the POSTs of the call only the last is known
	ended.Reservation = ref.Reservation

	took := time.Since(ref.CallBegan)
	if a != nil {
		took = a.Meta.Elapsed
		ended.APITime = took
	}

	if ended.Usage == (call.Usage{}) {
		if a == nil {
			return
		}
		// A request that is not reported, but has begun, counts as what its tool reserves.
		ended.UnreportedRequests = 1
		ended.UnreportedBegun = 1
	}
	observes := s.options.Budget.SettleResponse(&ended, ref.ResponseID)
	if a != nil {
		a.Meta.NearLimit = ended.NearLimit
	}
	if observes {
		s.observe(&ended, took, err)
	}
}

// outcomes are the outcomes of errors, by kind. Errors of other kinds are OutcomeError.
var outcomes = map[call.Kind]string{
	call.KindCanceled:  OutcomeCancelled,
	call.KindArguments: OutcomeInvalid,
	call.KindLimited:   OutcomeLimited,
}

// observe passes the end of a call to Options.Observe.
func (s *Server) observe(c *call.Call, took time.Duration, err error) {
	if s.options.Observe == nil {
		return
	}
	end := CallEnd{
		Call:     c,
		Outcome:  OutcomeOK,
		Duration: took,
		Err:      err,
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
