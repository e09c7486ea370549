package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/unescaped"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// handle returns what answers calls of t. All failures are protocol errors,
// as appendix B of the spec has them; none is a result with isError.
func (h *handler) handle(t tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (res *mcp.CallToolResult, err error) {
		// One call that goes wrong must not take the others with it.
		defer func() {
			if p := recover(); p != nil {
				h.Log.Error("internal error", "tool", t.name, "panic", p)
				h.Log.Debug("internal error", "stack", string(debug.Stack()))
				res, err = nil, toolError("answer failed: internal error", map[string]any{"message": "internal error"})
			}
		}()
		q, err := t.question(req.Params.Arguments)
		h.note(t, req.Params.Arguments, q)
		if err != nil {
			return nil, invalid(t.name, err)
		}
		watch, stop := h.progress(ctx, req)
		defer stop() // before the answer goes out: nothing is told after it
		a, err := h.Ask(ctx, t.name, q, watch)
		if err != nil {
			return nil, h.failed(t.name, err)
		}
		return h.result(a)
	}
}

// note logs a call: names and lengths, no content (spec §8.1).
func (h *handler) note(t tool, raw json.RawMessage, q answer.Question) {
	if !h.Log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	var args arguments
	_ = json.Unmarshal(raw, &args)
	h.Log.Debug(fmt.Sprintf("tools/call name=%s argsKeys=%v queryLen=%d", t.name, args.keys(), utf8.RuneCountInString(q.Query)))
}

// result puts an answer into the output contract of spec §3.2: one JSON object
// in content[0].text. What the contract has no place for is in _meta.
func (h *handler) result(a *answer.Answer) (*mcp.CallToolResult, error) {
	text, err := unescaped.JSON(a)
	if err != nil {
		return nil, fmt.Errorf("encoding the answer: %w", err)
	}
	res := &mcp.CallToolResult{
		Meta:    h.meta(a.Meta),
		Content: []mcp.Content{&mcp.TextContent{Text: string(text)}},
	}
	if h.Structured {
		res.StructuredContent = json.RawMessage(text)
	}
	return res, nil
}

// meta is the result's _meta: token counts, ids of the API, milliseconds. The
// ids are what a server says, which may repeat the key.
func (h *handler) meta(m answer.Meta) mcp.Meta {
	return mcp.Meta{
		version.Name + "/usage": map[string]int64{
			"input_tokens":     m.Usage.Input,
			"cached_tokens":    m.Usage.Cached,
			"output_tokens":    m.Usage.Output,
			"reasoning_tokens": m.Usage.Reasoning,
			"total_tokens":     m.Usage.Total,
		},
		version.Name + "/resolved_model": h.Redact(m.ResolvedModel),
		version.Name + "/response_id":    h.Redact(m.ResponseID),
		version.Name + "/request_id":     h.Redact(m.RequestID),
		version.Name + "/searches":       m.Searches,
		version.Name + "/elapsed_ms":     m.Elapsed.Milliseconds(),
	}
}
