package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
)

const someTrace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// request is a call of a tool over HTTP.
func request(query string) *mcp.CallToolRequest {
	return &mcp.CallToolRequest{
		Params: &mcp.CallToolParamsRaw{
			Name:      "answer",
			Arguments: fmt.Appendf(nil, `{"query":%q}`, query),
		},
		Extra: &mcp.RequestExtra{
			Header: http.Header{
				"Traceparent":  {someTrace},
				"X-Request-Id": {"proxy-7"},
				"User-Agent":   {"codex/1.0"},
			},
			TokenInfo: &auth.TokenInfo{
				UserID: "token:alice",
				Extra:  map[string]any{UserName: "alice"},
			},
		},
	}
}

// wantError checks an error of the protocol for a part of its message, and that it has no secret.
func wantError(t *testing.T, err error, part string) {
	t.Helper()
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || e.Code != -32001 {
		t.Fatalf("error %v, want one of the protocol, -32001", err)
	}
	if !strings.Contains(e.Message, part) {
		t.Errorf("message %q, want %q", e.Message, part)
	}
	if strings.Contains(e.Message+string(e.Data), secret) {
		t.Errorf("the secret is in %s %s", e.Message, e.Data)
	}
}

func TestAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, calls := newServer()
		res, err := s.call(t.Context(), t.Context(), request("brief"))
		if err != nil {
			t.Fatal(err)
		}

		want := `{"answer":"brief","used_search":false,"citations":[],"model":"<m>"}`
		if got := res.Content[0].(*mcp.TextContent).Text; got != want {
			t.Errorf("answer = %s, want %s", got, want)
		}
		if got := res.Meta["openai-responses-mcp/response_id"]; got != "resp_[redacted]" {
			t.Errorf("response id = %v, want it redacted", got)
		}

		wantCall := Call{
			ID:       "proxy-7",
			App:      "codex/1.0",
			Tool:     "answer",
			Client:   "alice",
			UserID:   "token:alice",
			Outcome:  "ok",
			Trace:    someTrace,
			Duration: time.Second,
			Meta:     figures,
		}
		if diff := cmp.Diff(wantCall, (*calls)[0]); diff != "" {
			t.Errorf("observed (-want +got):\n%s", diff)
		}
	})
}

// A call has an id of its own where the request has none, and what others write is short.
func TestIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, calls := newServer()
		req := request("brief")
		req.Extra.Header.Set("X-Request-Id", "a\u202e\n"+strings.Repeat("b", 1000))
		info := map[string]any{"name": "Claude\nCode", "version": "2"}
		req.Params.SetMeta(mcp.Meta{mcp.MetaKeyClientInfo: info})
		s.call(t.Context(), t.Context(), req)
		req = request("brief")
		req.Extra = nil
		s.call(t.Context(), t.Context(), req)

		long := (*calls)[0]
		if want := "a " + strings.Repeat("b", 97) + "…"; long.ID != want {
			t.Errorf("id %q, want %q", long.ID, want)
		}
		if want := "Claude Code/2"; long.App != want {
			t.Errorf("app %q, want %q", long.App, want)
		}
		bare := (*calls)[1]
		if len(bare.ID) != len(rand.Text()) {
			t.Errorf("id %q, want a random one", bare.ID)
		}
		if bare.App != "" {
			t.Errorf("app %q, want none", bare.App)
		}
	})
}

// How calls fail, also those that a session or its shutdown ends. A shutdown is an error of its own
// kind, not a call that its client has cancelled.
func TestFailures(t *testing.T) {
	const failed = "answer failed: "
	for _, tt := range []struct {
		query, want, outcome, kind string

		cause   error // of the end of the session after two seconds
		retries int
	}{
		{
			query:   "fail",
			want:    failed + "calling the Responses API: server error (503): [redacted]",
			outcome: "error",
			kind:    "server",
			retries: 2,
		},
		{query: "panic", want: failed + "internal error", outcome: "error", kind: "internal"},
		{
			query:   " ",
			want:    "answer: invalid arguments: query must not be empty",
			outcome: "invalid",
			kind:    "arguments",
		},
		{query: "why", want: failed + "context canceled", outcome: "cancelled", kind: "canceled"},
		{
			query:   "why",
			want:    failed + "the server restarts",
			cause:   answer.ErrShutdown,
			outcome: "error",
			kind:    "shutdown",
		},
	} {
		t.Run(tt.query+" "+tt.kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				session, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(2*time.Second, func() { cancel(tt.cause) })
				s, calls := newServer()
				_, err := s.call(t.Context(), session, request(tt.query))
				wantError(t, err, tt.want)

				call := (*calls)[0]
				if call.Outcome != tt.outcome {
					t.Errorf("outcome %q, want %q", call.Outcome, tt.outcome)
				}
				if got := call.Kind(); got != tt.kind {
					t.Errorf("kind %q, want %q", got, tt.kind)
				}
				want := answer.Meta{Retries: tt.retries}
				if diff := cmp.Diff(want, call.Meta); diff != "" {
					t.Errorf("meta (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// The time limit of a call includes its wait for the others.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 90 * time.Second
		s, calls := newServer(func(o *Options) { o.Timeout = limit })
		go s.call(t.Context(), t.Context(), request("why"))
		synctest.Wait() // the second one waits for it

		_, err := s.call(t.Context(), t.Context(), request("why"))
		wantError(t, err, "timed out after 90 s")
		second := (*calls)[1]
		if second.Outcome != "error" || second.Kind() != "timeout" {
			t.Errorf("observed %+v, want a timeout", second)
		}
		if second.Duration != limit {
			t.Errorf("observed after %v, want %v", second.Duration, limit)
		}
	})
}

// How failures are reported is configured, or depends on the protocol version of the request.
func TestToolErrors(t *testing.T) {
	const (
		result = `{"_meta":{"openai-responses-mcp/code":-32001,` +
			`"openai-responses-mcp/name":"InternalServerError",` +
			`"openai-responses-mcp/request_id":"req","openai-responses-mcp/status":503,` +
			`"openai-responses-mcp/type":"t[redacted]"},"content":[{"type":"text","text":` +
			`"answer failed: calling the Responses API: server error (503): [redacted] [req]"}],` +
			`"isError":true}`
		invalid = `{"_meta":{"openai-responses-mcp/code":-32001,` +
			`"openai-responses-mcp/reason":"query must not be empty"},"content":[{"type":"text",` +
			`"text":"answer: invalid arguments: query must not be empty"}],"isError":true}`
		old = "2025-06-18"
	)
	for _, tt := range []struct {
		mode, version, query string
		want                 string // the result; "" for an error of the protocol
	}{
		{"auto", Stateless, "fail", result},
		{"auto", Stateless, " ", invalid},
		{"result", old, "fail", result},
		{"protocol", Stateless, "fail", ""},
	} {
		t.Run(tt.mode+" "+tt.version+" "+tt.query, func(t *testing.T) {
			s, _ := newServer(func(o *Options) { o.ToolErrors = tt.mode })
			req := request(tt.query)
			req.Params.Meta = mcp.Meta{mcp.MetaKeyProtocolVersion: tt.version}
			res, err := s.call(t.Context(), t.Context(), req)
			if tt.want == "" {
				wantError(t, err, "answer failed: ")
				return
			}

			got, _ := res.MarshalJSON()
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}
