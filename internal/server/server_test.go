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
	"github.com/uchimanajet7/openai-responses-mcp/internal/cite"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/redact"
)

const (
	secret      = "Zq7XbT0wPl94mKfR8uHs"
	traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
)

// usage is the Meta of the answers of research.
var usage = answer.Meta{Usage: llm.Usage{Input: 3, Total: 5}, ResponseID: "resp_" + secret, Searches: 2}

// research answers a question with itself after a minute, or does what "brief", "fail", "panic" say.
func research(ctx context.Context, _ string, q answer.Question, watch func(llm.Event)) (*answer.Answer, error) {
	if watch != nil {
		watch(find("a"))
	}
	duration := time.Minute
	switch q.Query {
	case "brief":
		duration = time.Second
	case "fail":
		return nil, &llm.Error{Kind: llm.KindServer, Status: 503, Type: "t" + secret, Message: secret, RequestID: "req", Attempts: 3}
	case "panic":
		panic("bug")
	}
	select {
	case <-time.After(duration):
		return &answer.Answer{Text: q.Query, Citations: []cite.Citation{}, Model: "<m>", Meta: usage}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// newServer returns a server in debug, and where it puts the calls observed.
func newServer(set func(*Options)) (*Server, *[]Call) {
	var calls []Call
	var mu sync.Mutex
	o := Options{
		Ask:      research,
		Explain:  func(_ string, err error) string { return err.Error() },
		Redactor: redact.New(secret),
		Debug:    true,
		MaxCalls: 1,
		Observe: func(call Call) {
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, call)
		},
		Log: slog.New(slog.DiscardHandler),
	}
	set(&o)
	return New(o), &calls
}

// request is a call of a tool over HTTP.
func request(query string) *mcp.CallToolRequest {
	return &mcp.CallToolRequest{
		Params: &mcp.CallToolParamsRaw{Arguments: fmt.Appendf(nil, `{"query":%q}`, query)},
		Extra:  &mcp.RequestExtra{Header: http.Header{"Traceparent": {traceparent}}, TokenInfo: &auth.TokenInfo{UserID: "alice"}},
	}
}

func TestOutcomes(t *testing.T) {
	for _, tt := range []struct {
		query, want string // the text or the error
		outcome     Call
		kind        string
	}{
		{"brief", `{"answer":"brief","used_search":false,"citations":[],"model":"<m>"}`, Call{Outcome: "ok", Meta: usage, Duration: time.Second}, ""},
		{"fail", "answer failed: calling the Responses API: server error (503): [redacted]", Call{Outcome: "error", Meta: answer.Meta{Retries: 2}}, "server"},
		{"panic", "answer failed: internal error", Call{Outcome: "error"}, "internal"},
		{" ", "answer: invalid arguments: query must not be empty", Call{Outcome: "invalid"}, "arguments"},
		{"why", "answer failed: context canceled", Call{Outcome: "cancelled", Duration: 2 * time.Second}, "canceled"},
	} {
		synctest.Test(t, func(t *testing.T) {
			session, cancel := context.WithTimeout(t.Context(), 2*time.Second) // its end ends the call
			defer cancel()
			s, calls := newServer(func(*Options) {})
			res, err := s.handle(session, "answer")(t.Context(), request(tt.query))
			got := (*calls)[0]
			if got.Err != nil && got.Kind() != tt.kind {
				t.Errorf("%s: an error of kind %q, want %q", tt.query, got.Kind(), tt.kind)
			}
			got.Err = nil
			tt.outcome.Tool, tt.outcome.Client, tt.outcome.Trace = "answer", "alice", traceparent
			if diff := cmp.Diff(tt.outcome, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.query, diff)
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
		})
	}
}

// The time limit of a call includes its wait for the others.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, calls := newServer(func(o *Options) { o.Timeout = 90 * time.Second })
		for _, want := range []string{"", "timed out after 90 s"} {
			go func() {
				_, err := s.handle(t.Context(), "answer")(t.Context(), request("why"))
				if (err != nil) != (want != "") || err != nil && !strings.HasSuffix(err.Error(), want) {
					t.Errorf("fails with %v", err)
				}
			}()
			synctest.Wait()
		}
		time.Sleep(s.o.Timeout)
		synctest.Wait()
		if c := (*calls)[1]; c.Outcome != "error" || c.Kind() != "timeout" || c.Duration != s.o.Timeout {
			t.Errorf("observed %+v", c)
		}
	})
}

// How failures are reported is configured, or depends on the protocol version of the request.
func TestToolErrors(t *testing.T) {
	const (
		result = `{"_meta":{"openai-responses-mcp/code":-32001,"openai-responses-mcp/name":"InternalServerError","openai-responses-mcp/request_id":"req","openai-responses-mcp/status":503,"openai-responses-mcp/type":"t[redacted]"},` +
			`"content":[{"type":"text","text":"answer failed: calling the Responses API: server error (503): [redacted] [req]"}],"isError":true}`
		invalid = `{"_meta":{"openai-responses-mcp/code":-32001,"openai-responses-mcp/reason":"query must not be empty"},` +
			`"content":[{"type":"text","text":"answer: invalid arguments: query must not be empty"}],"isError":true}`
	)
	for _, tt := range []struct{ mode, version, query, want string }{
		{"auto", "2025-06-18", "fail", ""},
		{"auto", "2026-07-28", "fail", result},
		{"auto", "2026-07-28", " ", invalid},
		{"result", "", "fail", result},
		{"result", "", " ", invalid},
		{"protocol", "2026-07-28", "fail", ""},
	} {
		s, _ := newServer(func(o *Options) { o.ToolErrors = tt.mode })
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
