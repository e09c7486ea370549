package server

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/logging"
)

// A panic that has the key in it, as the value or as what was being worked on,
// tells it to nobody: neither the answer nor the log has it.
func TestPanicTellsNoSecret(t *testing.T) {
	const key = "Zq7XbT0wPl94mKfR8uHs"
	for name, panicking := range map[string]func(){
		"text":  func() { panic("cannot use " + key) },
		"error": func() { panic(errors.New(`no "` + key + `"`)) },
		"value": func() { panic(struct{ Header string }{"Bearer " + key}) },
	} {
		var out strings.Builder
		log, end, _ := logging.New(logging.Options{Debug: true, Stderr: &out, Secrets: []string{key}})
		h := &handler{Options: Options{
			Ask: func(context.Context, string, answer.Question, func(llm.Event)) (*answer.Answer, error) {
				panicking()
				return nil, nil
			},
			Redact: logging.Redact(key),
			Log:    log,
		}}
		req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "answer", Arguments: []byte(`{"query":"x"}`)}}
		_, err := h.handle(tools()[0])(t.Context(), req)
		if err := end(); err != nil {
			t.Error(err)
		}
		e, ok := errors.AsType[*jsonrpc.Error](err)
		if !ok || e.Message != "answer failed: internal error" || strings.Contains(string(e.Data), key) {
			t.Errorf("%s: the call ends with %v", name, err)
		}
		if text := out.String(); strings.Contains(text, key) || !strings.Contains(text, "goroutine ") || strings.Count(text, "\n") > 4 {
			t.Errorf("%s: the log has %s", name, text)
		}
	}
}
