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

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/tasks"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// request is a call of a tool over HTTP.
func request(query string) *mcp.CallToolRequest {
	return &mcp.CallToolRequest{
		Session: &mcp.ServerSession{},
		Params: &mcp.CallToolParamsRaw{
			Name:      "answer",
			Arguments: fmt.Appendf(nil, `{"query":%q}`, query),
		},
		Extra: &mcp.RequestExtra{
			Header: http.Header{"User-Agent": {"codex/1.0"}},
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
	compare.Contains(t, "message", e.Message, part)
	if strings.Contains(e.Message+string(e.Data), secret) {
		t.Errorf("the secret is in %s %s", e.Message, e.Data)
	}
}

// A call has an id of its own where the request has none, and what others write is short.
func TestIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, calls := newServer()
		long := request("brief")
		long.Extra.Header.Set("X-Request-Id", "a\u202e\n"+strings.Repeat("b", 1000))
		s.callTool(t.Context(), t.Context(), long, call.Person{})

		bare := request("brief")
		bare.Extra = nil
		info := map[string]any{"name": "Claude\nCode", "version": "2"}
		bare.Params.SetMeta(mcp.Meta{mcp.MetaKeyClientInfo: info})
		s.callTool(t.Context(), t.Context(), bare, call.Person{})

		first := (*calls)[0]
		compare.Equal(t, "id", first.ID, "a "+strings.Repeat("b", 97)+"…")
		compare.Equal(t, "app", first.App, "codex/1.0")

		second := (*calls)[1]
		compare.Equal(t, "length of a random id", len(second.ID), len(rand.Text()))
		compare.Equal(t, "app", second.App, "Claude Code/2")
	})
}

// How many events of a call reach its Sink: none if its client does not watch and its request takes
// the answer. Then no event is made of its deltas.
func TestSink(t *testing.T) {
	none := func(*Options) {}

	for _, tt := range []struct {
		name, meta string
		change     func(*Options)
		want       int
	}{
		{"plain", withoutTasks, none, 0},
		{"plain over HTTP", withoutTasks, (&api{}).overHTTP, 0},
		{"progress", withProgress(withoutTasks), none, 1},
		{"null as token", strings.Replace(withProgress(withoutTasks), "1", "null", 1), none, 0},
		{"may be late", withoutTasks, late, 1},
		{"polled", withTasks, none, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			events := 0
			count := func(o *Options) {
				o.Ask = func(
					ctx context.Context, c *call.Call, q answer.Question,
				) (*answer.Answer, error) {
					sink := c.Sink
					if sink != nil {
						c.Sink = func(ev call.Event) {
							events++
							sink(ev)
						}
					}
					return research(ctx, c, q)
				}
			}

			inSession(t, func(p *peer) {
				p.send("tools/call", tt.meta, detailedCall("brief"))
				p.messages()
				time.Sleep(2 * time.Second)
				synctest.Wait()

				compare.Equal(p, "events", events, tt.want)
			}, tt.change, count)
		})
	}
}

// How calls fail, also those that a session or its shutdown ends. A shutdown is an error of its own
// kind, not a call that its client has cancelled.
func TestFailures(t *testing.T) {
	for _, tt := range compare.Rows[struct {
		Query, Cause  string // of the end of the session after two seconds
		Outcome, Kind string
		Want          string
	}](t, "failures") {
		t.Run(tt.Query+" "+tt.Kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				session, cancel := context.WithCancelCause(t.Context())
				causes := map[string]error{"shutdown": call.ErrShutdown}
				time.AfterFunc(2*time.Second, func() { cancel(causes[tt.Cause]) })
				s, calls := newServer()
				handle := s.handler(session, call.Person{}, nil)
				_, err := handle(t.Context(), "tools/call", request(tt.Query))
				wantError(t, err, tt.Want)

				ended := (*calls)[0]
				compare.Equal(t, "outcome", ended.Outcome, tt.Outcome)
				compare.Equal(t, "kind", call.KindOf(ended.Err).Label(), tt.Kind)
				compare.Equal(t, "calls that run", s.running(), 0)
			})
		})
	}
}

// A panic while the end of a call is observed fails this call only.
func TestObservePanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newServer(func(o *Options) { o.Observe = func(CallEnd) { panic("bug") } })
		for _, query := range []string{"brief", ""} { // the latter is not valid
			_, err := s.callTool(t.Context(), t.Context(), request(query), call.Person{})
			wantError(t, err, "answer failed: internal error")
		}
		compare.Equal(t, "calls that run", s.running(), 0)
	})
}

// A panic in a method of tasks, or in a goroutine beside a call, ends neither the process nor the
// calls of others.
func TestRequestPanic(t *testing.T) {
	t.Run("tasks/get", func(t *testing.T) {
		inSession(t, func(p *peer) {
			id := p.start("fail")
			synctest.Wait()
			p.want(p.task("get", id), `"error":{"code":-32603,"message":"internal error"}`)
			p.want(p.call(withTasks, "why"), `"resultType":"task"`)
		}, func(o *Options) { o.Explain = func(string, error) string { panic("bug") } })
	})

	t.Run("progress", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, _ := newServer()
			req := request("brief")
			req.Params.SetProgressToken("1")
			req.Session = nil // the SDK panics when it sends to it
			stop := s.sendProgress(t.Context(), req, tasks.NewProgress(), 0)
			synctest.Wait()
			stop()
		})
	})
}

// The time limit of a call includes its wait for the others.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 90 * time.Second
		s, calls := newServer(func(o *Options) { o.Settings.Timeout = limit })
		go s.callTool(t.Context(), t.Context(), request("why"), call.Person{})
		synctest.Wait() // the second one waits for it

		_, err := s.callTool(t.Context(), t.Context(), request("why"), call.Person{})
		wantError(t, err, "timed out after 90 s")
		second := (*calls)[1]

		if call.KindOf(second.Err) != call.KindTimeout || second.Duration != limit {
			t.Errorf("observed %+v, want a timeout after %v", second, limit)
		}
	})
}
