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
	secret    = "Zq7XbT0wPl94mKfR8uHs"
	someTrace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
)

// usage is the Meta of the answers of research.
var usage = answer.Meta{
	Usage:      llm.Usage{Input: 3, Total: 5},
	ResponseID: "resp_" + secret,
	Searches:   2,
}

// research answers a question with itself after a minute, or does what "brief", "fail", "panic" say.
func research(
	ctx context.Context, _ string, q answer.Question, watch func(llm.Event),
) (*answer.Answer, error) {
	if watch != nil {
		watch(search("a"))
	}

	duration := time.Minute
	switch q.Query {
	case "brief":
		duration = time.Second
	case "fail":
		return nil, &llm.Error{
			Kind:      llm.KindServer,
			Status:    503,
			Type:      "t" + secret,
			Message:   secret,
			RequestID: "req",
			Attempts:  3,
		}
	case "panic":
		panic("bug")
	}

	select {
	case <-time.After(duration):
		return &answer.Answer{
			Text:      q.Query,
			Citations: []cite.Citation{},
			Model:     "<m>",
			Meta:      usage,
		}, nil
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

// errorOf returns an error of the protocol.
func errorOf(t *testing.T, err error) *jsonrpc.Error {
	t.Helper()
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok {
		t.Fatalf("error %v, want one of the protocol", err)
	}
	if e.Code != -32001 {
		t.Errorf("code %d, want -32001", e.Code)
	}
	return e
}

func TestAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, calls := newServer(func(*Options) {})
		res, err := s.handle(t.Context(), "answer")(t.Context(), request("brief"))
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
			Duration: time.Second,
			Meta:     usage,
			Stats:    llm.Call{Person: "token:alice", Traceparent: someTrace},
		}
		if diff := cmp.Diff(wantCall, (*calls)[0]); diff != "" {
			t.Errorf("observed (-want +got):\n%s", diff)
		}
	})
}

// A call has an id of its own where the request has none, and what others write is short.
func TestIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, calls := newServer(func(*Options) {})
		call := s.handle(t.Context(), "answer")
		bare := request("brief")
		bare.Extra = nil
		long := request("brief")
		long.Extra.Header.Set("X-Request-Id", "a\u202e\n"+strings.Repeat("b", 1000))
		info := map[string]any{"name": "Claude\nCode", "version": "2"}
		long.Params.SetMeta(mcp.Meta{mcp.MetaKeyClientInfo: info})
		for _, req := range []*mcp.CallToolRequest{bare, bare, long} {
			if _, err := call(t.Context(), req); err != nil {
				t.Fatal(err)
			}
		}

		first := (*calls)[0]
		if id := first.ID; id == "" || id == (*calls)[1].ID {
			t.Errorf("two calls have the id %q", id)
		}
		if first.App != "" {
			t.Errorf("app %q without clientInfo", first.App)
		}

		last := (*calls)[2]
		if want := "a " + strings.Repeat("b", 97) + "…"; last.ID != want {
			t.Errorf("id %q, want %q", last.ID, want)
		}
		if want := "Claude Code/2"; last.App != want {
			t.Errorf("app %q, want %q", last.App, want)
		}
	})
}

// A call that a shutdown ends is an error of its own kind, not cancelled by its client.
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, calls := newServer(func(*Options) {})
		session, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(answer.ErrShutdown) })
		_, err := s.handle(session, "answer")(t.Context(), request("why"))

		if got := errorOf(t, err).Message; got != "answer failed: the server restarts" {
			t.Errorf("message %q", got)
		}
		call := (*calls)[0]
		if call.Outcome != "error" {
			t.Errorf("outcome %q, want error", call.Outcome)
		}
		if got := call.Kind(); got != "shutdown" {
			t.Errorf("kind %q, want shutdown", got)
		}
	})
}

var failureTests = []struct {
	query   string
	want    string // part of the message
	outcome string
	kind    string
	meta    answer.Meta
}{
	{
		query:   "fail",
		want:    "answer failed: calling the Responses API: server error (503): [redacted]",
		outcome: "error",
		kind:    "server",
		meta:    answer.Meta{Retries: 2},
	},
	{
		query:   "panic",
		want:    "answer failed: internal error",
		outcome: "error",
		kind:    "internal",
	},
	{
		query:   " ",
		want:    "answer: invalid arguments: query must not be empty",
		outcome: "invalid",
		kind:    "arguments",
	},
	{
		query:   "why",
		want:    "answer failed: context canceled",
		outcome: "cancelled",
		kind:    "canceled",
	},
}

func TestFailures(t *testing.T) {
	for _, tt := range failureTests {
		t.Run(tt.query, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// The end of the session ends the call.
				session, cancel := context.WithCancel(t.Context())
				time.AfterFunc(2*time.Second, cancel)
				defer cancel()
				s, calls := newServer(func(*Options) {})
				_, err := s.handle(session, "answer")(t.Context(), request(tt.query))

				e := errorOf(t, err)
				if !strings.Contains(e.Message, tt.want) {
					t.Errorf("message %q, want %q", e.Message, tt.want)
				}
				if all := e.Message + string(e.Data); strings.Contains(all, secret) {
					t.Errorf("the secret is in %s", all)
				}
				call := (*calls)[0]
				if call.Outcome != tt.outcome {
					t.Errorf("outcome %q, want %q", call.Outcome, tt.outcome)
				}
				if got := call.Kind(); got != tt.kind {
					t.Errorf("kind %q, want %q", got, tt.kind)
				}
				if diff := cmp.Diff(tt.meta, call.Meta); diff != "" {
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
		call := func() error {
			_, err := s.handle(t.Context(), "answer")(t.Context(), request("why"))
			return err
		}

		go func() {
			if err := call(); err != nil {
				t.Errorf("the first call fails: %v", err)
			}
		}()
		synctest.Wait() // the second one waits for it
		err := call()

		if err == nil || !strings.HasSuffix(err.Error(), "timed out after 90 s") {
			t.Errorf("the second call fails with %v, want its time limit", err)
		}
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
			`"answer failed: calling the Responses API: server error (503): [redacted]"}],` +
			`"isError":true}`
		invalid = `{"_meta":{"openai-responses-mcp/code":-32001,` +
			`"openai-responses-mcp/reason":"query must not be empty"},"content":[{"type":"text",` +
			`"text":"answer: invalid arguments: query must not be empty"}],"isError":true}`
	)
	for _, tt := range []struct {
		mode    string
		version string
		query   string
		want    string // the result; "" for an error of the protocol
	}{
		{"auto", "2025-06-18", "fail", ""},
		{"auto", "2026-07-28", "fail", result},
		{"auto", "2026-07-28", " ", invalid},
		{"result", "", "fail", result},
		{"result", "", " ", invalid},
		{"protocol", "2026-07-28", "fail", ""},
	} {
		t.Run(tt.mode+" "+tt.version+" "+tt.query, func(t *testing.T) {
			s, _ := newServer(func(o *Options) { o.ToolErrors = tt.mode })
			req := request(tt.query)
			req.Params.Meta = mcp.Meta{mcp.MetaKeyProtocolVersion: tt.version}
			res, err := s.handle(t.Context(), "answer")(t.Context(), req)
			if tt.want == "" {
				errorOf(t, err)
				return
			}

			got, _ := res.MarshalJSON()
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTraceparent(t *testing.T) {
	for name, value := range map[string]string{
		"valid":           someTrace,
		"none":            "",
		"a part more":     someTrace + "-x",
		"another version": "01" + someTrace[2:],
		"upper case":      strings.ToUpper(someTrace),
		"line feed":       someTrace + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			params := &mcp.CallToolParamsRaw{Meta: mcp.Meta{"traceparent": value}}
			got := traceparent(&mcp.CallToolRequest{Params: params})
			want := ""
			if name == "valid" {
				want = value
			}
			if got != want {
				t.Errorf("traceparent = %q, want %q", got, want)
			}
		})
	}
}
