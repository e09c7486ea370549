package httpd

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// dial returns a connection to the listener, nil if it is closed.
func (p *pipes) dial() net.Conn {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here
	case <-p.closed:
		return nil
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
}

// Tokens.
const (
	secret = "0123456789abcdef" // of alice
	bob    = "fedcba9876543210"
)

// Messages.
const (
	ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	tool = `{"jsonrpc":"2.0","id":1,"method":"tools/call",` +
		`"params":{"name":"answer","arguments":{"query":"q"}}}`
)

// post is an HTTP request of alice with this message and further header lines.
func post(message, header string) string {
	return "POST /mcp HTTP/1.1\r\n" +
		"Host: localhost\r\n" +
		"Authorization: Bearer " + secret + "\r\n" +
		"Content-Type: application/json\r\n" +
		"Accept: application/json, text/event-stream\r\n" +
		fmt.Sprintf("Content-Length: %d\r\n", len(message)) +
		header + "\r\n" +
		message
}

// get is an HTTP request of alice.
func get(path string) string {
	return "GET " + path + " HTTP/1.1\r\n" +
		"Host: localhost\r\n" +
		"Authorization: Bearer " + secret + "\r\n\r\n"
}

// inBubble runs a subtest in a synctest bubble.
func inBubble(t *testing.T, name string, test func(*testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// service is a server inside a synctest bubble, with its log.
type service struct {
	*pipes
	t    *testing.T
	log  bytes.Buffer
	stop context.CancelFunc // begins the shutdown
	wait func()             // waits for its end
}

// ask answers questions, as server.Options.Ask does.
type ask func(
	ctx context.Context,
	profile string,
	q answer.Question,
	watch func(llm.Event),
) (*answer.Answer, error)

// newTokens returns the tokens of alice and bob.
func newTokens(t *testing.T) *Tokens {
	t.Helper()
	list := []byte("alice:" + secret + " bob:" + bob)
	tokens, err := NewTokens("test", list, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// withTokens makes tokens the only way to authenticate.
func withTokens(tokens *Tokens) func(*Options) {
	return func(o *Options) { o.Access.Authenticators = []Authenticator{tokens} }
}

// serve serves ask until the end of the test, with options that set may change.
func serve(t *testing.T, ask ask, set ...func(*Options)) *service {
	t.Helper()
	s := &service{pipes: newPipes(), t: t}
	o := Options{
		Path:     "/mcp",
		Ready:    func() error { return nil },
		Notice:   2 * time.Second,
		Drain:    time.Minute,
		MaxCalls: 1,
		Access:   Access{Loopback: true},
		Metrics:  NewMetrics(map[string]answer.Profile{"answer": {Model: "gpt-5.2"}}),
		Log:      slog.New(slog.NewTextHandler(&s.log, nil)),
	}
	withTokens(newTokens(t))(&o)
	for _, change := range set {
		change(&o)
	}
	o.Server = server.New(server.Options{
		Ask:      ask,
		Explain:  func(_ string, err error) string { return err.Error() },
		Observe:  o.Metrics.Observe,
		Waiting:  func() int { return 0 },
		Timeout:  time.Hour,
		MaxCalls: o.MaxCalls,
		PerUser:  o.CallsPerUser,
		Log:      slog.New(slog.DiscardHandler),
	})

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := Serve(ctx, s.pipes, o); err != nil {
			t.Error(err)
		}
	}()
	s.stop = stop
	s.wait = func() { <-ended }
	t.Cleanup(s.end)
	return s
}

// end shuts the server down.
func (s *service) end() {
	s.stop()
	s.wait()
}

// logged checks how often the log has a text, after the end.
func (s *service) logged(text string, want int) {
	s.t.Helper()
	if n := strings.Count(s.log.String(), text); n != want {
		s.t.Errorf("%q is logged %d times, want %d:\n%s", text, n, want, &s.log)
	}
}

// send sends text on a new connection.
func (s *service) send(text string) net.Conn {
	s.t.Helper()
	c := s.dial()
	s.t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		s.t.Fatal(err)
	}
	return c
}

// receive reads a response and its body.
func receive(t *testing.T, c net.Conn) (*http.Response, string) {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Error(err)
		return &http.Response{}, ""
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return res, string(body)
}

// request sends text on a new connection, checks the status and parts of the response, and returns
// its body.
func (s *service) request(text string, status int, parts ...string) string {
	s.t.Helper()
	res, body := receive(s.t, s.send(text))
	if res.StatusCode != status {
		s.t.Errorf("%.40q: status %d, want %d", text, res.StatusCode, status)
	}
	for _, part := range parts {
		if !strings.Contains(body, part) {
			s.t.Errorf("%.40q: the response lacks %s:\n%s", text, part, body)
		}
	}
	return body
}

// metrics returns /metrics, and checks lines of it.
func (s *service) metrics(lines ...string) string {
	s.t.Helper()
	for i, line := range lines {
		lines[i] = prefix + line + "\n"
	}
	return s.request(get("/metrics"), http.StatusOK, lines...)
}

// after answers after d.
func after(d time.Duration) ask { return says("42", d) }

// says answers with text after d.
func says(text string, d time.Duration) ask {
	found := &answer.Answer{
		Text: text,
		Meta: answer.Meta{Usage: llm.Usage{Input: 7}, Searches: 1},
	}
	return func(
		ctx context.Context,
		_ string,
		_ answer.Question,
		watch func(llm.Event),
	) (*answer.Answer, error) {
		if watch != nil {
			watch(llm.Search{Action: "search", Query: "tokyo"})
		}

		select {
		case <-time.After(d):
			return found, nil
		case <-ctx.Done():
			time.Sleep(100 * time.Millisecond)
			return nil, context.Cause(ctx)
		}
	}
}

// slow answers after the deadline for reading a request.
var slow = after(readTime + time.Second)

// calls are calls of a tool with progress, by protocol version.
var calls = map[string]string{
	"2025-06-18": post(
		withMeta(`"progressToken":1`),
		"Mcp-Protocol-Version: 2025-06-18\r\n",
	),
	"2026-07-28": post(
		withMeta(`"progressToken":1,`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientCapabilities":{}`),
		"Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: answer\r\n",
	),
}

// withMeta is tool with these members of _meta.
func withMeta(members string) string {
	return strings.Replace(tool, `{"name"`, `{"_meta":{`+members+`},"name"`, 1)
}

// Calls of both protocols get progress and results, a closed connection ends its call, and /metrics
// counts them, also while they run or wait.
func TestCalls(t *testing.T) {
	for protocol, text := range calls {
		inBubble(t, protocol, func(t *testing.T) {
			s := serve(t, after(50*time.Second))
			s.request(text, http.StatusOK, "searching: tokyo", `answer\":\"42\"`)

			running := s.send(text)
			waiting := s.send(text)
			synctest.Wait()
			s.metrics("requests_in_flight 2", "requests_waiting 1", "max_calls 1", "ready 1")

			running.Close()
			waiting.Close()
			time.Sleep(time.Second)
			s.metrics(
				`calls_total{tool="answer",client="alice",outcome="ok"} 1`,
				`calls_total{tool="answer",client="alice",outcome="cancelled"} 2`,
				`tokens_total{tool="answer",client="alice",model="gpt-5.2",kind="input"} 7`,
				`searches_total{tool="answer",client="alice",model="gpt-5.2"} 1`,
				`call_seconds_bucket{tool="answer",outcome="ok",le="30"} 0`,
				`call_seconds_bucket{tool="answer",outcome="ok",le="60"} 1`,
				`call_seconds_bucket{tool="answer",outcome="ok",le="+Inf"} 1`,
				`call_seconds_count{tool="answer",outcome="ok"} 1`,
				`call_seconds_sum{tool="answer",outcome="ok"} 50`,
				`api_seconds_count{tool="answer",outcome="ok"} 1`,
				`rate_limit_wait_seconds_count{tool="answer"} 3`,
				`errors_total{tool="answer",kind="canceled"} 2`,
				`build_info{version="`+version.String()+`"} 1`,
			)
		})
	}
}

// The alert rules and the dashboard use metrics that exist.
func TestMonitoring(t *testing.T) {
	name := regexp.MustCompile(`\b(openai_responses_mcp|process)_\w+`)
	for _, file := range []string{"prometheus/rules.yaml", "grafana/dashboard.json"} {
		inBubble(t, file, func(t *testing.T) {
			text, err := os.ReadFile("../../config/" + file)
			if err != nil {
				t.Fatal(err)
			}
			used := name.FindAllString(string(text), -1)
			if len(used) == 0 {
				t.Fatal("no metrics are used")
			}

			s := serve(t, after(time.Second))
			s.request(calls["2025-06-18"], http.StatusOK)
			failed := s.send(calls["2025-06-18"])
			synctest.Wait()
			failed.Close()
			time.Sleep(time.Second)
			all := s.metrics()
			for _, metric := range used {
				if !regexp.MustCompile(`(?m)^` + metric + `\b`).MatchString(all) {
					t.Errorf("/metrics does not have %s", metric)
				}
			}
		})
	}
}

// A silent stream gets a comment every 15 s, also before its first event, and none after its end.
// Progress, which comes every 10 s, makes comments unnecessary.
func TestComments(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       int
	}{
		{"without progress", post(tool, ""), 2},
		{"with progress", calls["2025-06-18"], 0},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			c := serve(t, slow).send(tt.text)
			res, body := receive(t, c)
			if n := strings.Count(body, ": keep-alive\n\n"); n != tt.want {
				t.Errorf("%d comments, want %d: %q", n, tt.want, body)
			}
			if !strings.Contains(body, `"content":[`) {
				t.Errorf("no answer: %q", body)
			}
			if got := res.Header.Get("Content-Type"); got != "text/event-stream" {
				t.Errorf("content type %q, want an event stream", got)
			}

			c.SetReadDeadline(time.Now().Add(time.Minute))
			if n, _ := io.Copy(io.Discard, c); n > 0 {
				t.Errorf("%d bytes after the response", n)
			}
		})
	}
}

// During shutdown /readyz fails at once, calls in flight finish, calls beyond the drain are
// cancelled, and the end is not an error.
func TestDrain(t *testing.T) {
	for _, tt := range []struct {
		name  string
		takes time.Duration
		want  string
	}{
		{"short call", 30 * time.Second, `answer\":\"42\"`},
		{"long call", 5 * time.Minute, "answer failed: the server restarts"},
	} {
		for protocol, text := range calls {
			inBubble(t, tt.name+" "+protocol, func(t *testing.T) {
				s := serve(t, after(tt.takes))
				s.request(get("/readyz"), http.StatusOK)
				c := s.send(text)
				synctest.Wait()

				s.stop()
				s.request(get("/readyz"), http.StatusServiceUnavailable, "shutting down")
				s.request(get("/healthz"), http.StatusOK)
				if _, body := receive(t, c); !strings.Contains(body, tt.want) {
					t.Errorf("got %s, want %s", body, tt.want)
				}
				s.wait()
			})
		}
	}
}

// From the end of the context on each response closes its connection, and an idle connection can be
// used for the notice time, also after a stream that began before.
func TestShutdownConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, slow)
		idle := s.send(post(ping, ""))
		if res, _ := receive(t, idle); res.Close {
			t.Error("a connection closes before the shutdown")
		}

		busy := s.send(post(tool, ""))
		streamed := make(chan *http.Response, 1)
		go func() {
			res, _ := receive(t, busy)
			streamed <- res
		}()
		time.Sleep(silence + time.Second) // the stream has begun

		last := func(c net.Conn) {
			t.Helper()
			time.Sleep(time.Second)
			if _, err := io.WriteString(c, post(ping, "")); err != nil {
				t.Fatalf("an idle connection has ended: %v", err)
			}
			res, _ := receive(t, c)
			if res.StatusCode != http.StatusOK {
				t.Errorf("status %d during shutdown, want 200", res.StatusCode)
			}
			if !res.Close {
				t.Error("a connection stays open during shutdown")
			}
		}
		s.stop()
		last(idle)
		last(s.send("")) // a new one

		res := <-streamed
		if res.StatusCode != http.StatusOK || res.Close {
			t.Errorf("a response that began before: %+v", res)
		}
		if s.dial() != nil {
			t.Error("the listener is open after the notice time")
		}
		last(busy)

		began := time.Now()
		s.wait()
		if took := time.Since(began); took > 1500*time.Millisecond { // 2 s after the stream
			t.Errorf("ended %v after the last response", took)
		}
	})
}
