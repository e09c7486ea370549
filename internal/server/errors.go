package server

import (
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// codeTool is the code of every failure of a tool (spec appendix B).
const codeTool = -32001

// maxMessage bounds data.message, in characters (spec §8.2).
const maxMessage = 400

// unknownTool is -32601 `Unknown tool` (spec appendix B). It is a type of its
// own because the SDK rewrites a *jsonrpc.Error with that code; As lets the
// transport find the error that it stands for.
type unknownTool struct{}

func (unknownTool) Error() string { return "Unknown tool" }

func (e unknownTool) As(target any) bool {
	t, ok := target.(**jsonrpc.Error)
	if ok {
		*t = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: e.Error()}
	}
	return ok
}

// invalid is the error of a call whose arguments cannot be used (spec appendix
// B).
func invalid(tool string, why error) error {
	return toolError(tool+": invalid arguments", map[string]any{
		"reason":  why.Error(),
		"message": why.Error(),
	})
}

// failed is the error of a call that got no answer. Its data never holds
// content, instructions or the key (spec §8.2).
func (h *handler) failed(tool string, err error) error {
	line := answer.Cut(h.Redact(h.Explain(tool, err)), maxMessage)
	data := map[string]any{"message": line}
	var e *llm.Error
	if h.Debug && errors.As(err, &e) {
		data["name"] = e.Name()
		if e.Status != 0 {
			data["status"] = e.Status
		} else if e.Code != "" {
			data["status"] = h.Redact(e.Code)
		}
		if e.Type != "" {
			data["type"] = h.Redact(e.Type)
		}
		if e.RequestID != "" {
			data["request_id"] = h.Redact(e.RequestID)
		}
	}
	return toolError("answer failed: "+line, data)
}

func toolError(message string, data map[string]any) error {
	b, err := json.Marshal(data)
	if err != nil {
		b = nil // strings and numbers: cannot be
	}
	return &jsonrpc.Error{Code: codeTool, Message: message, Data: b}
}
