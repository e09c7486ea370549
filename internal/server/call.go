package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
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
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(session, cancel)()
		call := Call{Tool: tool, Outcome: "error"}
		trace, _ := req.Params.Meta["traceparent"].(string)
		if req.Extra != nil { // over HTTP
			trace = cmp.Or(trace, req.Extra.Header.Get("traceparent"))
			if req.Extra.TokenInfo != nil {
				call.Client = req.Extra.TokenInfo.UserID
				ctx = llm.WithPerson(ctx, call.Client)
			}
		}
		if traced := llm.WithTraceparent(ctx, trace); traced != ctx { // a valid one
			ctx, call.Trace = traced, trace
		}
		if s.o.Observe != nil {
			defer func(began time.Time) {
				if ctx.Err() != nil {
					call.Outcome = "cancelled"
				}
				call.Duration = time.Since(began)
				s.o.Observe(call)
			}(time.Now())
		}
		args := gjson.ParseBytes(req.Params.Arguments)
		q, err := question(tool, args)
		s.o.Log.Debug(fmt.Sprintf("tools/call name=%s argsKeys=%v queryLen=%d",
			tool, slices.Sorted(maps.Keys(args.Map())), utf8.RuneCountInString(q.Query)))
		if err != nil {
			call.Outcome, call.Err = "invalid", err
			why := s.o.Redactor.Line(err.Error())
			return s.failure(req, tool+": invalid arguments: ", why, map[string]any{"reason": why})
		}
		a, err := s.ask(ctx, tool, q, req)
		if err != nil {
			call.Err = err
			if e, ok := errors.AsType[*llm.Error](err); ok {
				call.Meta.Retries = max(0, e.Attempts-1)
			}
			return s.failed(req, tool, err)
		}
		call.Outcome, call.Meta = "ok", a.Meta
		return s.result(a), nil
	}
}

// ask waits until the call may run, and runs it. A panic fails this call only.
func (s *Server) ask(ctx context.Context, profile string, q answer.Question, req *mcp.CallToolRequest) (a *answer.Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.o.Log.Error("panic in a call", "tool", profile, "panic", p, "stack", string(debug.Stack()))
			err = errors.New("internal error")
		}
	}()
	ctx, cancel := answer.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	watch, stop := progress(ctx, req)
	defer stop() // before the result is sent
	s.waiting.Add(1)
	select {
	case s.running <- struct{}{}:
		s.waiting.Add(-1)
		defer func() { <-s.running }()
	case <-ctx.Done():
		s.waiting.Add(-1)
		return nil, context.Cause(ctx)
	}
	return s.o.Ask(ctx, profile, q, watch)
}

// result is the output of spec §3.2, one JSON object in content[0].text. The figures of the call are
// in _meta.
func (s *Server) result(a *answer.Answer) *mcp.CallToolResult {
	body, _ := jsonx.Marshal(a) // strings are always valid JSON
	m, redact := a.Meta, s.o.Redactor.Line
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
			version.Name + "/resolved_model": redact(m.ResolvedModel),
			version.Name + "/response_id":    redact(m.ResponseID),
			version.Name + "/request_id":     redact(m.RequestID),
			version.Name + "/searches":       m.Searches,
			version.Name + "/elapsed_ms":     m.Elapsed.Milliseconds(),
		},
	}
	if s.o.Structured {
		res.StructuredContent = json.RawMessage(body)
	}
	return res
}

// failed reports a call without an answer. Its data (spec §8.2) holds neither content nor
// instructions nor the key.
func (s *Server) failed(req *mcp.CallToolRequest, tool string, err error) (*mcp.CallToolResult, error) {
	redact := s.o.Redactor.Line
	why := text.Truncate(redact(s.o.Explain(tool, err)), 400)
	data := map[string]any{}
	if e, ok := errors.AsType[*llm.Error](err); ok && s.o.Debug {
		data["name"], data["type"], data["request_id"] = e.Name(), redact(e.Type), redact(e.RequestID)
		if data["status"] = e.Status; e.Status == 0 {
			data["status"] = redact(e.Code)
		}
		maps.DeleteFunc(data, func(_ string, v any) bool { return v == "" })
	}
	return s.failure(req, "answer failed: ", why, data)
}

// failure reports why a call has no answer, with the code of spec appendix B: as an error of the
// protocol, whose data also has the reason as message, or as a result, whose _meta has the data.
func (s *Server) failure(req *mcp.CallToolRequest, what, why string, data map[string]any) (*mcp.CallToolResult, error) {
	const code = -32001
	if s.o.ToolErrors == "protocol" || s.o.ToolErrors != "result" && !isStateless(req.Params.Meta) {
		data["message"] = why
		b, _ := jsonx.Marshal(data) // strings and numbers are always valid JSON
		return nil, &jsonrpc.Error{Code: code, Message: what + why, Data: b}
	}
	meta := mcp.Meta{version.Name + "/code": code}
	for name, value := range data {
		meta[version.Name+"/"+name] = value
	}
	return &mcp.CallToolResult{Meta: meta, IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: what + why}}}, nil
}
