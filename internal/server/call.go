package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// handle returns the handler of a tool. Its calls also end with session.
func (s *Server) handle(session context.Context, tool string) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(session, func() { cancel(context.Cause(session)) })()

		call := describe(req)
		call.Tool = tool
		call.Outcome = "error"
		call.Stats.Person = call.UserID
		call.Stats.Traceparent = traceparent(req)
		ctx = llm.WithCall(ctx, &call.Stats)

		if s.options.Observe != nil {
			began := time.Now()
			defer func() {
				if hasBegun(ctx) {
					return // its end is observed
				}
				if ctx.Err() != nil && !errors.Is(context.Cause(ctx), answer.ErrShutdown) {
					call.Outcome = "cancelled"
				}
				call.Duration = time.Since(began)
				s.options.Observe(call)
			}()
		}
		return s.call(ctx, req, &call)
	}
}

// describe returns who sends a request.
func describe(req mcp.Request) Call {
	extra := req.GetExtra()
	call := Call{
		ID:  callID(extra),
		App: app(req, extra),
	}
	call.UserID, call.Client = user(extra)
	return call
}

// UserName is the key of the user's name in the Extra of an auth.TokenInfo. Its UserID is unique.
const UserName = "name"

// user returns the id and the name of the user of the bearer token of a request. Both are "" without
// one, as over stdio.
func user(extra *mcp.RequestExtra) (id, name string) {
	if extra == nil || extra.TokenInfo == nil {
		return "", ""
	}
	token := extra.TokenInfo
	name, _ = token.Extra[UserName].(string)
	return token.UserID, name
}

// header returns a header of a request, or "" if there is none, as over stdio.
func header(extra *mcp.RequestExtra, name string) string {
	if extra == nil {
		return ""
	}
	return extra.Header.Get(name)
}

// callID returns the id that a proxy has given a request, or a random one.
func callID(extra *mcp.RequestExtra) string {
	return cmp.Or(label(header(extra, "X-Request-Id")), rand.Text())
}

// app returns the name and version of a client. Over HTTP a client of 2025-06-18 tells them only in
// initialize, which another server may have answered: there it is the header User-Agent.
func app(req mcp.Request, extra *mcp.RequestExtra) string {
	client, ok := req.(interface{ ClientInfo() *mcp.Implementation })
	if !ok || client.ClientInfo() == nil {
		return label(header(extra, "User-Agent"))
	}
	info := client.ClientInfo()
	return label(strings.TrimSuffix(info.Name+"/"+info.Version, "/"))
}

// label returns what a client says about itself in one short line, for the log.
func label(s string) string { return text.Truncate(text.OneLine(s), 100) }

var traceparentGrammar = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// traceparent returns what a request says about its trace, in its _meta or in a header, or "" if
// that does not fit the grammar of https://www.w3.org/TR/trace-context.
func traceparent(req *mcp.CallToolRequest) string {
	trace, _ := req.Params.Meta["traceparent"].(string)
	return traceparentGrammar.FindString(cmp.Or(trace, header(req.Extra, "traceparent")))
}

// call answers a request and completes the description of its call, except for Duration.
func (s *Server) call(
	ctx context.Context, req *mcp.CallToolRequest, call *Call,
) (*mcp.CallToolResult, error) {
	args := gjson.ParseBytes(req.Params.Arguments)
	q, err := question(call.Tool, args)
	s.options.Log.Debug(fmt.Sprintf("tools/call name=%s argsKeys=%v queryLen=%d",
		call.Tool, slices.Sorted(maps.Keys(args.Map())), utf8.RuneCountInString(q.Query)))

	if err != nil {
		call.Outcome = "invalid"
		call.Err = err
		reason := s.options.Redactor.Line(err.Error())
		message := call.Tool + ": invalid arguments: " + reason
		return s.failure(req.Params.Meta, message, reason, map[string]any{"reason": reason})
	}

	a, err := s.ask(ctx, call, q, req)
	if err != nil {
		call.Err = err
		if e, ok := errors.AsType[*llm.Error](err); ok {
			call.Meta.Retries = max(0, e.Attempts-1)
		}
		return s.failed(req.Params.Meta, call.Tool, err)
	}
	if hasBegun(ctx) {
		return &mcp.CallToolResult{}, nil // the task takes its place
	}

	call.Outcome = "ok"
	call.Meta = a.Meta
	return s.result(a), nil
}

// ask waits until the call may run, and runs it or begins a task (see hasBegun). A panic fails this
// call only.
func (s *Server) ask(
	ctx context.Context, call *Call, q answer.Question, req *mcp.CallToolRequest,
) (a *answer.Answer, err error) {
	defer s.recoverCall(call.Tool, &err)

	created := now()
	ctx, cancel := answer.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	watch, stop := progress(ctx, req)
	defer stop() // before the result is sent

	s.waiting.Add(1)
	release, err := s.places.acquire(ctx, call.UserID)
	s.waiting.Add(-1)
	if err != nil {
		return nil, err
	}
	defer func() {
		if !hasBegun(ctx) {
			release()
		}
	}()

	if begun, ok := ctx.Value(beginKey{}).(*task); ok {
		a, err := s.begin(ctx, begun, *call, q, created, release)
		if !errors.Is(err, llm.ErrNoBackground) {
			return a, err
		}
	}
	return s.options.Ask(ctx, call.Tool, q, watch)
}

// recoverCall, when deferred, turns a panic into the error of a call.
func (s *Server) recoverCall(tool string, err *error) {
	p := recover()
	if p == nil {
		return
	}
	stack := string(debug.Stack())
	s.options.Log.Error("panic in a call", "tool", tool, "panic", p, "stack", stack)
	*err = errors.New("internal error")
}

// result is the output of spec §3.2, one JSON object in content[0].text. The figures of the call are
// in _meta.
func (s *Server) result(a *answer.Answer) *mcp.CallToolResult {
	body, _ := jsonx.Marshal(a) // strings are always valid JSON
	clean := s.options.Redactor.Line
	m := a.Meta

	res := &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: string(body)}},
		Meta: mcp.Meta{
			version.Name + "/usage": map[string]int64{
				"input_tokens":     m.Usage.Input,
				"cached_tokens":    m.Usage.Cached,
				"output_tokens":    m.Usage.Output,
				"reasoning_tokens": m.Usage.Reasoning,
				"total_tokens":     m.Usage.Total,
			},
			version.Name + "/resolved_model": clean(m.ResolvedModel),
			version.Name + "/response_id":    clean(m.ResponseID),
			version.Name + "/request_id":     clean(m.RequestID),
			version.Name + "/searches":       m.Searches,
			version.Name + "/elapsed_ms":     m.Elapsed.Milliseconds(),
		},
	}
	if s.options.Structured {
		res.StructuredContent = json.RawMessage(body)
	}
	return res
}

// failed reports a call without an answer, to a request with meta. Its data (spec §8.2) holds
// neither content nor instructions nor the key.
func (s *Server) failed(
	meta mcp.Meta, tool string, err error,
) (*mcp.CallToolResult, error) {
	clean := s.options.Redactor.Line
	reason := text.Truncate(clean(s.options.Explain(tool, err)), 400)
	data := map[string]any{}

	if e, ok := errors.AsType[*llm.Error](err); ok && s.options.Debug {
		data["name"] = e.Name()
		data["type"] = clean(e.Type)
		data["request_id"] = clean(e.RequestID)
		data["status"] = e.Status
		if e.Status == 0 { // not of an HTTP response
			data["status"] = clean(e.Code)
		}
		maps.DeleteFunc(data, func(_ string, v any) bool { return v == "" })
	}
	return s.failure(meta, "answer failed: "+reason, reason, data)
}

// failure reports why a call has no answer, with the code of spec appendix B: as an error of the
// protocol, whose data also has the reason as message, or as a result, whose _meta has the data.
func (s *Server) failure(
	meta mcp.Meta, message, reason string, data map[string]any,
) (*mcp.CallToolResult, error) {
	const code = -32001
	if s.failsAsResult(meta) {
		about := mcp.Meta{version.Name + "/code": code}
		for name, value := range data {
			about[version.Name+"/"+name] = value
		}
		return &mcp.CallToolResult{
			Meta:    about,
			IsError: true,
			Content: []mcp.Content{&mcp.TextContent{Text: message}},
		}, nil
	}

	data["message"] = reason
	b, _ := jsonx.Marshal(data) // strings and numbers are always valid JSON
	return nil, &jsonrpc.Error{Code: code, Message: message, Data: b}
}

// failsAsResult reports whether a failure of a request with meta is a result with isError.
func (s *Server) failsAsResult(meta mcp.Meta) bool {
	switch s.options.ToolErrors {
	case "protocol":
		return false
	case "result":
		return true
	}
	return isStateless(meta)
}
