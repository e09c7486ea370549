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
	"sync"
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

// PersonKey is the key of the llm.Person in the Extra of an auth.TokenInfo.
const PersonKey = "person"

// newCall returns the call of a request for a tool.
func newCall(req mcp.Request, tool string) *llm.Call {
	extra := cmp.Or(req.GetExtra(), &mcp.RequestExtra{}) // there is none over stdio
	call := &llm.Call{
		ID:   cmp.Or(label(extra.Header.Get("X-Request-Id")), rand.Text()), // of a proxy
		App:  label(cmp.Or(clientInfo(req), extra.Header.Get("User-Agent"))),
		Tool: tool,

		Person: llm.Person{Name: "anonymous"},
	}
	if token := extra.TokenInfo; token != nil {
		call.Person, _ = token.Extra[PersonKey].(llm.Person)
	}

	trace, _ := req.GetParams().GetMeta()["traceparent"].(string)
	trace = cmp.Or(trace, extra.Header.Get("traceparent"))
	call.Traceparent = traceparentGrammar.FindString(trace)
	return call
}

// traceparentGrammar is that of https://www.w3.org/TR/trace-context.
var traceparentGrammar = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// clientInfo returns the name and version of a client. It is "" for a client of 2025-06-18 over HTTP,
// which tells them only in initialize: another server may have answered that.
func clientInfo(req mcp.Request) string {
	info := req.(interface{ ClientInfo() *mcp.Implementation }).ClientInfo()
	if info == nil {
		return ""
	}
	return strings.TrimSuffix(info.Name+"/"+info.Version, "/")
}

// label returns what a client writes in one short line.
func label(s string) string { return text.Truncate(text.OneLine(s), 100) }

// call answers a call, which also ends with session. The result is empty if the call goes on as the
// task of ctx.
func (s *Server) call(
	ctx, session context.Context, req *mcp.CallToolRequest,
) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(session, func() { cancel(context.Cause(session)) })()

	began := time.Now()
	call := &Ended{Call: newCall(req, req.Params.Name)}
	args := gjson.ParseBytes(req.Params.Arguments)
	q, err := question(call.Tool, args, s.options.Defaults)
	s.options.Log.Debug(fmt.Sprintf("tools/call name=%s argsKeys=%v queryLen=%d",
		call.Tool, slices.Sorted(maps.Keys(args.Map())), utf8.RuneCountInString(q.Query)))

	var a *answer.Answer
	if err == nil {
		a, err = s.ask(ctx, req, call, q)
	}
	if a == nil && err == nil {
		return &mcp.CallToolResult{}, nil // the task takes its place
	}

	call.Duration = time.Since(began)
	res, err := s.result(call, req.Params.Meta, a, err)
	s.options.Observe(*call)
	return res, err
}

// ask waits until the call may run, and runs it. It returns nothing if the API runs it as the task
// of ctx. A panic fails this call only.
func (s *Server) ask(
	ctx context.Context, req *mcp.CallToolRequest, call *Ended, q answer.Question,
) (a *answer.Answer, err error) {
	j, _ := ctx.Value(jobKey{}).(*job)
	ctx, cancel := answer.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	sink, stop := progress(ctx, req, j)
	call.Sink = sink
	defer stop() // before the result is sent

	s.waiting.Add(1)
	release, err := s.places.acquire(ctx, call.Person.ID)
	s.waiting.Add(-1)
	if err != nil {
		return nil, err
	}
	defer func() {
		if a != nil || err != nil {
			release()
		}
	}()
	defer s.recoverCall(call.Tool, &err)

	if j != nil && j.stages == nil {
		var response string
		response, a, err = s.options.Background.Start(ctx, call.Call, q)
		if response != "" { // the task keeps the place until its end or its time limit
			j.Response = response
			j.end = sync.OnceFunc(release)
			time.AfterFunc(time.Until(j.Created.Add(s.options.Timeout)), j.end)
			return nil, nil
		}
		if !errors.Is(err, llm.ErrNoBackground) {
			return a, err
		}
	}
	return s.options.Ask(ctx, call.Call, q)
}

// recoverCall, when deferred, turns a panic into the error of a call.
func (s *Server) recoverCall(tool string, err *error) {
	p := recover()
	if p == nil {
		return
	}
	stack := string(debug.Stack())
	s.options.Log.Error("panic in a call", "tool", tool, "panic", p, "stack", stack)
	*err = llm.KindInternal.Errorf("internal error")
}

// result completes the description of a call, whose request has this meta, and returns its result.
func (s *Server) result(
	call *Ended, meta mcp.Meta, a *answer.Answer, err error,
) (*mcp.CallToolResult, error) {
	call.Err = err
	if err != nil {
		return s.failure(call, meta)
	}

	call.Outcome = "ok"
	call.Meta = a.Meta
	return s.success(a), nil
}

// usage is how a result shows tokens.
type usage struct {
	Input      int64 `json:"input_tokens"`
	Cached     int64 `json:"cached_tokens"`
	CacheWrite int64 `json:"cache_write_tokens,omitempty"`
	Output     int64 `json:"output_tokens"`
	Reasoning  int64 `json:"reasoning_tokens"`
	Total      int64 `json:"total_tokens"`
}

// success is the output of spec §3.2, one JSON object in content[0].text. The figures of the call are
// in _meta.
func (s *Server) success(a *answer.Answer) *mcp.CallToolResult {
	body, _ := jsonx.Marshal(a) // strings are always valid JSON
	clean := s.options.Redactor.Line

	res := &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: string(body)}},
		Meta: prefixed(map[string]any{
			"usage":          usage(a.Meta.Usage),
			"resolved_model": clean(a.Meta.ResolvedModel),
			"service_tier":   clean(a.Meta.ServiceTier),
			"response_id":    clean(a.Meta.ResponseID),
			"request_id":     clean(a.Meta.RequestID),
			"searches":       a.Meta.Searches,
			"elapsed_ms":     a.Meta.Elapsed.Milliseconds(),
		}),
	}
	if s.options.Structured {
		res.StructuredContent = json.RawMessage(body)
	}
	return res
}

// prefixed returns the _meta of a result.
func prefixed(values map[string]any) mcp.Meta {
	meta := mcp.Meta{}
	for name, value := range values {
		meta[version.Name+"/"+name] = value
	}
	return meta
}

// failure completes the description of a call without an answer, and reports why with the code of
// spec appendix B: as an error of the protocol, or as a result, whose _meta has the data. The data
// (spec §8.2) holds neither content nor instructions nor the key.
func (s *Server) failure(call *Ended, meta mcp.Meta) (*mcp.CallToolResult, error) {
	const code = -32001
	data := map[string]any{}
	clean := s.options.Redactor.Line
	var reason, message string

	call.Outcome = "error"
	kind := llm.KindOf(call.Err)
	if kind == llm.KindCanceled {
		call.Outcome = cancelled
	}
	if kind == llm.KindArguments {
		call.Outcome = "invalid"
		reason = clean(call.Err.Error())
		message = call.Tool + ": invalid arguments: " + reason
		data["reason"] = reason
	} else {
		reason = text.Truncate(clean(s.options.Explain(call.Tool, call.Err)), 400)
		message = "answer failed: " + reason
	}

	if e, ok := errors.AsType[*llm.Error](call.Err); ok {
		call.Meta.Retries = max(0, e.Attempts-1)
		if s.options.Debug {
			maps.Copy(data, details(e, clean))
		}
	}

	mode := s.options.ToolErrors
	asResult := mode == "result" || (mode != "protocol" && isStateless(meta))
	if asResult {
		data["code"] = code
		return &mcp.CallToolResult{
			Meta:    prefixed(data),
			IsError: true,
			Content: []mcp.Content{&mcp.TextContent{Text: message}},
		}, nil
	}
	data["message"] = reason
	body, _ := jsonx.Marshal(data) // strings and numbers are always valid JSON
	return nil, &jsonrpc.Error{Code: code, Message: message, Data: body}
}

// details returns what an error of the API says besides its message.
func details(e *llm.Error, clean func(string) string) map[string]any {
	data := map[string]any{
		"name":       e.Name(),
		"type":       clean(e.Type),
		"request_id": clean(e.RequestID),
		"status":     e.Status,
	}
	if e.Status == 0 { // not of an HTTP response
		data["status"] = clean(e.Code)
	}
	maps.DeleteFunc(data, func(_ string, v any) bool { return v == "" })
	return data
}
