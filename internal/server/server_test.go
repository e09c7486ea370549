package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/logging"
)

const (
	secret      = "Zq7XbT0wPl94mKfR8uHs"
	traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
)

// newServer returns a server in debug, and where it puts the calls observed.
func newServer(ask func(ctx context.Context) (*answer.Answer, error)) (*Server, *[]Call) {
	var calls []Call
	var mu sync.Mutex
	return New(Options{
		Ask: func(ctx context.Context, _ string, _ answer.Question, _ func(llm.Event)) (*answer.Answer, error) {
			return ask(ctx)
		},
		Explain:  func(_ string, err error) string { return err.Error() },
		Redactor: logging.NewRedactor(secret),
		Debug:    true,
		MaxCalls: 1,
		Observe: func(call Call) {
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, call)
		},
		Log: slog.New(slog.DiscardHandler),
	}), &calls
}

// request is a call of a tool over HTTP.
func request(query string) *mcp.CallToolRequest {
	return &mcp.CallToolRequest{
		Params: &mcp.CallToolParamsRaw{Arguments: fmt.Appendf(nil, `{"query":%q}`, query)},
		Extra:  &mcp.RequestExtra{Header: http.Header{"Traceparent": {traceparent}}, TokenInfo: &auth.TokenInfo{UserID: "alice"}},
	}
}

func TestOutcomes(t *testing.T) {
	meta := answer.Meta{Usage: llm.Usage{Input: 3, Total: 5}, ResponseID: "resp_" + secret, Searches: 2}
	failure := &llm.Error{Kind: llm.KindServer, Status: 503, Type: "t" + secret, Message: secret + strings.Repeat("x", 500), RequestID: "req", Attempts: 3}
	for _, tt := range []struct {
		query   string
		ask     func(context.Context) (*answer.Answer, error)
		want    string // the text or the error
		outcome Call
		kind    string
	}{
		{"x", func(context.Context) (*answer.Answer, error) {
			return &answer.Answer{Text: "<42>", Citations: []answer.Citation{}, Model: "m", Meta: meta}, nil
		}, `{"answer":"<42>","used_search":false,"citations":[],"model":"m"}`, Call{Outcome: "ok", Meta: meta}, ""},
		{"x", func(context.Context) (*answer.Answer, error) { return nil, failure },
			"answer failed: calling the Responses API: server error (503): [redacted]", Call{Outcome: "error", Meta: answer.Meta{Retries: 2}}, "server"},
		{"x", func(context.Context) (*answer.Answer, error) { panic("bug") }, "answer failed: internal error", Call{Outcome: "error"}, "internal"},
		{" ", nil, "answer: invalid arguments: query must not be empty", Call{Outcome: "invalid"}, "arguments"},
		{"x", func(ctx context.Context) (*answer.Answer, error) { <-ctx.Done(); return nil, ctx.Err() },
			"answer failed: context canceled", Call{Outcome: "cancelled", Duration: time.Second}, "canceled"},
	} {
		synctest.Test(t, func(t *testing.T) {
			session, cancel := context.WithTimeout(t.Context(), time.Second) // its end ends the call
			defer cancel()
			s, calls := newServer(tt.ask)
			res, err := s.handle(session, "answer")(t.Context(), request(tt.query))
			tt.outcome.Tool, tt.outcome.Client, tt.outcome.Trace = "answer", "alice", traceparent
			for i, c := range *calls {
				if c.Err != nil && c.Kind() != tt.kind {
					t.Errorf("observed an error of kind %q, want %q", c.Kind(), tt.kind)
				}
				(*calls)[i].Err = nil
			}
			if diff := cmp.Diff([]Call{tt.outcome}, *calls); diff != "" {
				t.Errorf("observed (-want +got):\n%s", diff)
			}
			if err == nil {
				if got := res.Content[0].(*mcp.TextContent).Text; got != tt.want || res.Meta["openai-responses-mcp/response_id"] != "resp_[redacted]" {
					t.Errorf("answer = %s %v, want %s", got, res.Meta, tt.want)
				}
				return
			}
			e, ok := errors.AsType[*jsonrpc.Error](err)
			if !ok || e.Code != -32001 || !strings.Contains(e.Message, tt.want) || strings.Contains(e.Message+string(e.Data), secret) {
				t.Errorf("fails with %v %s, want %s", err, e.Data, tt.want)
			}
			if data := `,"name":"InternalServerError","request_id":"req","status":503,"type":"t[redacted]"}`; strings.Contains(tt.want, "503") && !strings.HasSuffix(string(e.Data), data) {
				t.Errorf("data = %s, want %s", e.Data, data)
			}
		})
	}
}

// The time limit of a call includes its wait for the others.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, calls := newServer(func(ctx context.Context) (*answer.Answer, error) {
			time.Sleep(time.Minute)
			return &answer.Answer{}, nil
		})
		s.o.Timeout = 30 * time.Second
		var first sync.WaitGroup
		first.Go(func() { s.handle(t.Context(), "answer")(t.Context(), request("x")) })
		synctest.Wait()
		_, err := s.handle(t.Context(), "answer")(t.Context(), request("x"))
		if err == nil || !strings.HasSuffix(err.Error(), "timed out after 30 s") {
			t.Errorf("fails with %v", err)
		}
		first.Wait()
		if c := (*calls)[0]; c.Outcome != "error" || c.Kind() != "timeout" || c.Duration != s.o.Timeout {
			t.Errorf("observed %+v", c)
		}
	})
}

// How failures are reported depends on the protocol version of the request,
// unless it is configured.
func TestToolErrors(t *testing.T) {
	const (
		result = `{"_meta":{"openai-responses-mcp/code":-32001,"openai-responses-mcp/name":"InternalServerError","openai-responses-mcp/request_id":"req","openai-responses-mcp/status":503},` +
			`"content":[{"type":"text","text":"answer failed: calling the Responses API: server error (503): [redacted] [req]"}],"isError":true}`
		invalid = `{"_meta":{"openai-responses-mcp/code":-32001,"openai-responses-mcp/reason":"query must not be empty"},` +
			`"content":[{"type":"text","text":"answer: invalid arguments: query must not be empty"}],"isError":true}`
	)
	for _, tt := range []struct{ mode, version, query, want string }{
		{"auto", "2025-06-18", "fail", ""},
		{"auto", "2026-07-28", "fail", result},
		{"auto", "", " ", ""},
		{"auto", "2026-07-28", " ", invalid},
		{"result", "", "fail", result},
		{"result", "", " ", invalid},
		{"protocol", "2026-07-28", "fail", ""},
	} {
		s, _ := newServer(nil)
		s.o.Ask, s.o.ToolErrors = research, tt.mode
		req := request(tt.query)
		req.Params.Meta = mcp.Meta{mcp.MetaKeyProtocolVersion: tt.version}
		res, err := s.handle(t.Context(), "answer")(t.Context(), req)
		got := ""
		if res != nil {
			b, _ := res.MarshalJSON()
			got = string(b)
		}
		if e, ok := errors.AsType[*jsonrpc.Error](err); got != tt.want || ok != (tt.want == "") || ok && e.Code != -32001 {
			t.Errorf("%s, version %q, query %q: %s %v, want %s", tt.mode, tt.version, tt.query, got, err, tt.want)
		}
	}
}
