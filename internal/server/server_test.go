package server

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/logging"
)

const secret = "Zq7XbT0wPl94mKfR8uHs"

// client is a client of a server with these options, in a synctest bubble.
type client struct {
	*mcp.ClientSession
	mu       sync.Mutex
	calls    []Call
	progress []mcp.ProgressNotificationParams
}

func connect(t *testing.T, ctx context.Context, o Options) *client {
	t.Helper()
	c := &client{}
	o.Log = slog.New(slog.DiscardHandler)
	o.Redactor = logging.NewRedactor(secret)
	o.Explain = func(_ string, err error) string { return err.Error() }
	o.Observe = func(call Call) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.calls = append(c.calls, call)
	}
	near, far := mcp.NewInMemoryTransports()
	ss, err := New(o).MCP(ctx).Connect(t.Context(), far, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ss.Wait() })
	impl := &mcp.Implementation{Name: "test", Version: "1"}
	c.ClientSession, err = mcp.NewClient(impl, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.progress = append(c.progress, *r.Params)
		},
	}).Connect(t.Context(), near, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (c *client) ask(ctx context.Context, tool string, args map[string]any, token any) (*mcp.CallToolResult, error) {
	p := &mcp.CallToolParams{Name: tool, Arguments: args}
	if token != nil {
		p.Meta = mcp.Meta{"progressToken": token}
	}
	return c.CallTool(ctx, p)
}

// An askFunc answers the question of the same text.
type askFunc map[string]func(ctx context.Context, watch func(llm.Event)) (*answer.Answer, error)

func (f askFunc) ask(ctx context.Context, _ string, q answer.Question, watch func(llm.Event)) (*answer.Answer, error) {
	return f[q.Query](ctx, watch)
}

func sleep(ctx context.Context, _ func(llm.Event)) (*answer.Answer, error) {
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-time.After(time.Minute):
		return &answer.Answer{Text: "slept"}, nil
	}
}

func TestOutcomes(t *testing.T) {
	meta := answer.Meta{Usage: llm.Usage{Input: 3, Total: 5}, ResponseID: "resp_" + secret, Searches: 2, Elapsed: time.Second}
	for query, ask := range map[string]struct {
		f       func(context.Context, func(llm.Event)) (*answer.Answer, error)
		want    string // the text or the error
		outcome string
	}{
		"ok": {func(context.Context, func(llm.Event)) (*answer.Answer, error) {
			return &answer.Answer{Text: "<42>", Citations: []answer.Citation{}, Model: "m", Meta: meta}, nil
		}, `{"answer":"<42>","used_search":false,"citations":[],"model":"m"}`, "ok"},
		"failed": {func(context.Context, func(llm.Event)) (*answer.Answer, error) {
			return nil, &llm.Error{Kind: llm.KindServer, Status: 503, Type: "t" + secret, Message: secret + strings.Repeat("x", 500), RequestID: "req"}
		}, "answer failed: calling the Responses API: server error (503): [redacted]", "error"},
		"panic": {func(context.Context, func(llm.Event)) (*answer.Answer, error) { panic(secret) }, "answer failed: internal error", "error"},
		"":      {nil, "answer: invalid arguments: query must not be empty", "invalid"},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := connect(t, t.Context(), Options{Ask: askFunc{query: ask.f}.ask, Debug: true})
			res, err := c.ask(t.Context(), "answer", map[string]any{"query": query}, nil)
			if len(c.calls) != 1 || c.calls[0].Outcome != ask.outcome || c.calls[0].Tool != "answer" {
				t.Errorf("%q is observed as %+v, want %s", query, c.calls, ask.outcome)
			}
			if err == nil {
				if got := res.Content[0].(*mcp.TextContent).Text; got != ask.want {
					t.Errorf("answer = %s, want %s", got, ask.want)
				}
				if got := res.Meta["openai-responses-mcp/response_id"]; got != "resp_[redacted]" {
					t.Errorf("response_id = %v", got)
				}
				return
			}
			e, ok := errors.AsType[*jsonrpc.Error](err)
			if !ok || e.Code != -32001 || !strings.Contains(e.Message, ask.want) || strings.Contains(e.Message+string(e.Data), secret) {
				t.Errorf("%q fails with %v %s, want %s", query, err, e.Data, ask.want)
			}
			if query == "failed" {
				var data map[string]any
				_ = json.Unmarshal(e.Data, &data)
				delete(data, "message")
				if diff := cmp.Diff(map[string]any{"name": "InternalServerError", "status": 503.0, "type": "t[redacted]", "request_id": "req"}, data); diff != "" {
					t.Errorf("data (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// Calls beyond the limit wait. They can be cancelled while they wait.
func TestMaxCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, t.Context(), Options{Ask: askFunc{"sleep": sleep}.ask, MaxCalls: 1})
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var calls sync.WaitGroup
		for _, ctx := range []context.Context{t.Context(), ctx, t.Context()} {
			calls.Go(func() { _, _ = c.ask(ctx, "answer", map[string]any{"query": "sleep"}, nil) })
			synctest.Wait()
		}
		calls.Wait()
		synctest.Wait()
		var got []string
		for _, call := range c.calls {
			got = append(got, call.Outcome+" "+call.Duration.String())
		}
		if diff := cmp.Diff([]string{"cancelled 10s", "ok 1m0s", "ok 2m0s"}, got); diff != "" || time.Since(began) != 2*time.Minute {
			t.Errorf("after %v (-want +got):\n%s", time.Since(began), diff)
		}
	})
}

// The context of MCP ends its calls.
func TestContextEndsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c := connect(t, ctx, Options{Ask: askFunc{"sleep": sleep}.ask})
		began := time.Now()
		if _, err := c.ask(t.Context(), "answer", map[string]any{"query": "sleep"}, nil); err == nil || time.Since(began) != time.Second {
			t.Errorf("the call ends with %v after %v, want an error after 1s", err, time.Since(began))
		}
	})
}

func TestProgressOfACall(t *testing.T) {
	ask := askFunc{"x": func(_ context.Context, watch func(llm.Event)) (*answer.Answer, error) {
		if watch == nil {
			return &answer.Answer{Text: "not watched"}, nil
		}
		time.Sleep(time.Second)
		watch(find("6*7"))
		time.Sleep(time.Second)
		return nil, errors.New("failed")
	}}.ask
	for _, token := range []any{"one", "", 7.0, 1.5, nil, true, []any{1}} {
		synctest.Test(t, func(t *testing.T) {
			c := connect(t, t.Context(), Options{Ask: ask})
			_, err := c.ask(t.Context(), "answer_quick", map[string]any{"query": "x"}, token)
			time.Sleep(time.Minute)
			var want []mcp.ProgressNotificationParams
			if err != nil { // watched
				want = []mcp.ProgressNotificationParams{
					{ProgressToken: token, Progress: 1, Message: "thinking"},
					{ProgressToken: token, Progress: 2, Message: "searching: 6*7"},
				}
			}
			if diff := cmp.Diff(want, c.progress); diff != "" {
				t.Errorf("progress of token %v (-want +got):\n%s", token, diff)
			}
			_, isString := token.(string)
			_, isNumber := token.(float64)
			if (err != nil) != (isString || isNumber) {
				t.Errorf("with token %v the call is watched: %v", token, err != nil)
			}
		})
	}
}

func TestUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, t.Context(), Options{})
		_, tool := c.ask(t.Context(), "ask\nme", nil, nil)
		_, method := c.ListPrompts(t.Context(), nil)
		for _, err := range []error{tool, method} {
			if e, ok := errors.AsType[*jsonrpc.Error](err); !ok || e.Code != jsonrpc.CodeMethodNotFound {
				t.Errorf("error = %v, want -32601", err)
			}
		}
		if !strings.HasSuffix(tool.Error(), "Unknown tool: ask me") {
			t.Errorf("error = %v", tool)
		}
	})
}

// A model needs a description, bounds and defaults of each property.
func TestSchemas(t *testing.T) {
	for _, tool := range tools(answer.Defaults{RecencyDays: 7.5, MaxResults: 3, Domains: []string{"a.example"}}) {
		var got struct {
			Type       string
			Properties map[string]map[string]any
			Required   []string
		}
		if err := json.Unmarshal([]byte(tool.schema), &got); err != nil {
			t.Fatalf("%s: %v", tool.name, err)
		}
		want := map[string]map[string]any{"query": {"type": "string"}}
		if tool.search {
			want["recency_days"] = map[string]any{"type": "number", "minimum": 0.0, "default": 7.5}
			want["max_results"] = map[string]any{"type": "number", "minimum": 1.0, "maximum": 10.0, "default": 3.0}
			want["domains"] = map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "default": []any{"a.example"}}
		}
		for name, p := range got.Properties {
			if p["description"] == nil {
				t.Errorf("%s: %s has no description", tool.name, name)
			}
			delete(p, "description")
		}
		if diff := cmp.Diff(want, got.Properties); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tool.name, diff)
		}
	}
}
