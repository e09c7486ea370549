package httpd

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// pipes is a network inside a synctest bubble.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes {
	return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// dial returns a connection to the listener.
func (p *pipes) dial() (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.closed:
		return nil, errors.New("connection refused")
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080} }

// client returns a client whose connections end at p. It sends the token of
// alice.
func (p *pipes) client() *http.Client {
	return &http.Client{Transport: &bearer{http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return p.dial() },
	}}}
}

const (
	secret = "0123456789abcdef"
	trace  = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
)

type bearer struct{ http.Transport }

func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+secret)
	r.Header.Set("Traceparent", trace)
	return b.Transport.RoundTrip(r)
}

type ask func(ctx context.Context, profile string, q answer.Question, watch func(llm.Event)) (*answer.Answer, error)

// options serve ask.
func options(t *testing.T, ask ask) Options {
	t.Helper()
	tokens, err := NewTokens("test", "alice:"+secret+" bob:fedcba9876543210", func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	m := NewMetrics()
	s := server.New(server.Options{
		Ask:     ask,
		Explain: func(_ string, err error) string { return err.Error() },
		Observe: func(c server.Call) {
			if m.Observe(c); c.Trace != trace {
				t.Errorf("traceparent %q, want %q", c.Trace, trace)
			}
		},
		MaxCalls: 1,
		Log:      slog.New(slog.DiscardHandler),
	})
	return Options{
		MCP: s.MCP, Path: "/mcp", Ready: func() error { return nil }, Notice: 2 * time.Second, Drain: time.Minute,
		MaxCalls: 1, Access: Access{Loopback: true, Tokens: tokens}, Waiting: s.Waiting, Metrics: m, Log: slog.New(slog.DiscardHandler),
	}
}

// start serves o until stop is called. ended is closed at the end.
func start(t *testing.T, p *pipes, o Options) (stop context.CancelFunc, ended chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended = make(chan error, 1)
	go func() { ended <- Serve(ctx, p, o) }()
	return cancel, ended
}

func connect(t *testing.T, c *http.Client, version string, progress func(string)) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progress(r.Params.Message) },
	})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: "http://localhost/mcp", HTTPClient: c, DisableStandaloneSSE: true, MaxRetries: -1,
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func call(ctx context.Context, s *mcp.ClientSession) (*mcp.CallToolResult, error) {
	p := &mcp.CallToolParams{Name: "answer", Arguments: map[string]any{"query": "q"}}
	p.SetProgressToken("p")
	return s.CallTool(ctx, p)
}

func get(t *testing.T, c *http.Client, path string) (status int, body string) {
	t.Helper()
	res, err := c.Get("http://localhost" + path)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// Clients of both protocols get progress and results, a cancelled call ends its
// question, and /metrics counts both.
func TestCalls(t *testing.T) {
	for _, protocol := range []string{"2025-06-18", "2026-07-28"} {
		t.Run(protocol, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPipes()
				cancelled := make(chan struct{})
				ask := func(ctx context.Context, _ string, q answer.Question, watch func(llm.Event)) (*answer.Answer, error) {
					if watch != nil {
						watch(llm.Search{Action: "search", Query: "tokyo"})
					}
					select {
					case <-time.After(50 * time.Second):
						return &answer.Answer{Text: "42", Model: "m", Meta: answer.Meta{Usage: llm.Usage{Input: 7}, Searches: 1}}, nil
					case <-ctx.Done():
						close(cancelled)
						return nil, ctx.Err()
					}
				}
				stop, ended := start(t, p, options(t, ask))

				var mu sync.Mutex
				var stages []string
				session := connect(t, p.client(), protocol, func(s string) {
					mu.Lock()
					defer mu.Unlock()
					stages = append(stages, s)
				})
				res, err := call(t.Context(), session)
				if err != nil {
					t.Fatal(err)
				}
				if text := res.Content[0].(*mcp.TextContent).Text; !strings.Contains(text, `"answer":"42"`) {
					t.Errorf("result %s", text)
				}
				mu.Lock()
				if all := strings.Join(stages, "\n"); !strings.Contains(all, "searching: tokyo") {
					t.Errorf("progress %q", all)
				}
				mu.Unlock()

				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				if _, err := call(ctx, session); err == nil {
					t.Error("a cancelled call returned a result")
				}
				cancel()
				start := time.Now()
				<-cancelled
				if waited := time.Since(start); waited > time.Second {
					t.Errorf("the question ended %v after its call", waited)
				}
				synctest.Wait()
				_, all := get(t, p.client(), "/metrics")
				for _, want := range []string{
					`openai_responses_mcp_calls_total{tool="answer",client="alice",outcome="ok"} 1`,
					`openai_responses_mcp_calls_total{tool="answer",client="alice",outcome="cancelled"} 1`,
					`openai_responses_mcp_tokens_total{tool="answer",client="alice",kind="input"} 7`,
					`openai_responses_mcp_searches_total{tool="answer",client="alice"} 1`,
					`openai_responses_mcp_call_seconds_bucket{tool="answer",outcome="ok",le="30"} 0`,
					`openai_responses_mcp_call_seconds_bucket{tool="answer",outcome="ok",le="60"} 1`,
					`openai_responses_mcp_call_seconds_bucket{tool="answer",outcome="ok",le="300"} 1`,
					`openai_responses_mcp_call_seconds_bucket{tool="answer",outcome="ok",le="+Inf"} 1`,
					`openai_responses_mcp_call_seconds_count{tool="answer",outcome="ok"} 1`,
					`openai_responses_mcp_call_seconds_sum{tool="answer",outcome="ok"} 50`,
					`openai_responses_mcp_errors_total{tool="answer",kind="canceled"} 1`,
					`openai_responses_mcp_build_info{version="` + version.Version + `"} 1`,
					`process_resident_memory_bytes`,
				} {
					if !strings.Contains(all, want) {
						t.Errorf("metrics lack %s:\n%s", want, all)
					}
				}
				session.Close()
				stop()
				<-ended
			})
		})
	}
}

// During shutdown /readyz fails at once, calls in flight finish, calls beyond
// the drain are cancelled, and the end is not an error.
func TestDrain(t *testing.T) {
	for _, tt := range []struct {
		name, protocol string
		takes          time.Duration
		want           string
	}{
		{"finishes", "2026-07-28", 30 * time.Second, `"answer":""`},
		{"finishes", "2025-06-18", 30 * time.Second, `"answer":""`},
		{"cancelled", "2026-07-28", 5 * time.Minute, "answer failed: context canceled"}, // with isError
		{"cancelled", "2025-06-18", 5 * time.Minute, "answer failed: context canceled"},
	} {
		t.Run(tt.name+" "+tt.protocol, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPipes()
				begun := make(chan struct{})
				var finished atomic.Bool
				ask := func(ctx context.Context, _ string, _ answer.Question, _ func(llm.Event)) (*answer.Answer, error) {
					close(begun)
					select {
					case <-time.After(tt.takes):
						finished.Store(true)
						return &answer.Answer{}, nil
					case <-ctx.Done():
						time.Sleep(100 * time.Millisecond)
						finished.Store(true)
						return nil, ctx.Err()
					}
				}
				stop, ended := start(t, p, options(t, ask))
				c := p.client()
				if status, body := get(t, c, "/readyz"); status != http.StatusOK {
					t.Errorf("readyz %d %s", status, body)
				}
				session := connect(t, c, tt.protocol, func(string) {})
				result := make(chan string, 1)
				go func() {
					res, err := call(t.Context(), session)
					if err != nil {
						result <- err.Error()
						return
					}
					result <- res.Content[0].(*mcp.TextContent).Text
				}()
				<-begun
				stop()
				synctest.Wait()
				if status, body := get(t, c, "/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, "shutting down") {
					t.Errorf("readyz %d %s during shutdown", status, body)
				}
				if status, _ := get(t, c, "/healthz"); status != http.StatusOK {
					t.Errorf("healthz %d during shutdown", status)
				}
				if got := <-result; !strings.Contains(got, tt.want) {
					t.Errorf("call: %s, want %s", got, tt.want)
				}
				if err := <-ended; err != nil || !finished.Load() {
					t.Errorf("Serve: %v; the call has ended: %v", err, finished.Load())
				}
				session.Close()
				c.CloseIdleConnections()
			})
		})
	}
}

// A silent response gets a comment every 15 seconds, even before its first
// event, and none after its end.
func TestKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := httptest.NewRecorder()
		keepAlive(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			time.Sleep(40 * time.Second)
			io.WriteString(w, "data: 1\n\n")
			time.Sleep(14 * time.Second)
			io.WriteString(w, "data: 2\n\n")
		})).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/mcp", nil))
		time.Sleep(time.Minute)
		const comment = ": keep-alive\n\n"
		if got, want := w.Body.String(), comment+comment+"data: 1\n\ndata: 2\n\n"; got != want {
			t.Errorf("body %q, want %q", got, want)
		}
		if got := w.Header().Get("Content-Type"); got != "text/event-stream" {
			t.Errorf("content type %q", got)
		}
	})
}
