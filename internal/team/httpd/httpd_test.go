package httpd

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/logging"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/people"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// pipes is a network inside a synctest bubble. The listener is closed when the context ends.
type pipes struct {
	context.Context
	close  context.CancelFunc
	conns  chan net.Conn
	dialed atomic.Int32
	busy   time.Time // no Read of the server begins before it
}

func newPipes() *pipes {
	ctx, cancel := context.WithCancel(context.Background())
	return &pipes{Context: ctx, close: cancel, conns: make(chan net.Conn)}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.Done():
		return nil, net.ErrClosed
	}
}

// numbered is a connection with an address of its own.
type numbered struct {
	net.Conn
	of     *pipes
	number int32
}

func (r numbered) Read(p []byte) (int, error) {
	time.Sleep(time.Until(r.of.busy))
	return r.Conn.Read(p)
}

func (r numbered) RemoteAddr() net.Addr { return &net.TCPAddr{Port: int(r.number)} }

// dial returns a connection to the listener, nil if it is closed.
func (p *pipes) dial() net.Conn {
	here, there := net.Pipe()
	select {
	case p.conns <- numbered{there, p, p.dialed.Add(1)}:
		return here
	case <-p.Done():
		return nil
	}
}

func (p *pipes) Close() error {
	p.close()
	return nil
}

func (p *pipes) Addr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
}

// Tokens.
const (
	secret = "0123456789abcdef" // of alice
	bob    = "fedcba9876543210"
	reader = "metrics-01234567" // of the metrics
)

// Messages.
const (
	ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize",` +
		`"params":{"protocolVersion":"2024-11-05","capabilities":{}}}`
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
	t       *testing.T
	log     bytes.Buffer
	access  Access
	err     error // of Serve
	wantErr string
	stop    context.CancelFunc // begins the shutdown
	wait    func()             // waits for its end
}

// ask answers each question with a text, after some time.
type ask struct {
	text  string
	takes time.Duration
}

// slow answers after the deadline for reading a request.
var slow = ask{"42", readTimeout + time.Second}

func (a ask) answer(
	ctx context.Context, c *call.Call, _ answer.Question,
) (*answer.Answer, error) {
	c.Emit(call.Search{Action: "search", Query: "tokyo"})

	select {
	case <-time.After(a.takes):
		c.Usage = call.Usage{Input: 7, CacheWrite: 2}
		c.Searches = 1
		return &answer.Answer{Text: a.text}, nil
	case <-ctx.Done():
		time.Sleep(100 * time.Millisecond)
		return nil, context.Cause(ctx)
	}
}

// tokensOf makes the tokens of a list the only way to authenticate.
func tokensOf(list string) func(*Options) {
	tokens, err := NewTokens("test", list, func(...string) {})
	if err != nil {
		panic(err)
	}
	return func(o *Options) { o.Access.Tokens = tokens }
}

// optionsFor returns the options of a server.
func optionsFor(a ask, log io.Writer) Options {
	o := Options{
		Path:                   "/mcp",
		Ready:                  func() error { return nil },
		Notice:                 2 * time.Second,
		DrainTime:              time.Minute,
		Access:                 Access{Loopback: true},
		NumWaitingForRateLimit: func() int { return 0 },
		NumStaleFiles:          func() int { return 0 },
		Log:                    slog.New(slog.NewTextHandler(log, nil)),
		LogLimiter:             &logging.Limiter{},
	}
	o.ServerOptions = server.Options{
		Ask:     a.answer,
		Explain: func(_ string, err error) string { return err.Error() },
		Observe: func(server.CallEnd) {},
		Settings: server.Settings{
			Timeout: time.Hour,
			Profiles: map[string]answer.Profile{"answer": {
				ModelSettings: call.ModelSettings{Model: "gpt-5.2"},
				Price:         &call.Price{Output: 14},
			}},
		},
		People: people.New(people.Bounds{MaxCalls: 1}),
		Budget: budget.New(budget.Options{}),
		Log:    slog.New(slog.DiscardHandler),
	}
	return o
}

// serve serves until the end of the test, with options that set may change.
func serve(t *testing.T, a ask, set ...func(*Options)) *service {
	t.Helper()
	s := &service{pipes: newPipes(), t: t}
	o := optionsFor(a, &s.log)
	o.ServerOptions.People.Bounds.MaxCallsPerPerson = func() int {
		return o.Access.PersonBound(o.ServerOptions.People.Bounds.MaxCalls, 0)()
	}
	tokensOf("alice:" + secret + " bob:" + bob + " metrics:" + reader)(&o)
	for _, change := range set {
		change(&o)
	}

	s.access = o.Access
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.err = Serve(ctx, s.pipes, o)
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
	compare.Equal(s.t, "error of Serve", fmt.Sprint(s.err), cmp.Or(s.wantErr, "<nil>"))
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
	c := s.dial()
	s.t.Cleanup(func() { c.Close() })
	go io.WriteString(c, text)
	return c
}

// receive reads a response and its body, and checks the status and parts of the body.
func (s *service) receive(c net.Conn, status int, parts ...string) (*http.Response, string) {
	s.t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		s.t.Error(err)
		return &http.Response{}, ""
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Error(err)
	}

	if res.StatusCode != status {
		s.t.Errorf("status %d, want %d:\n%s", res.StatusCode, status, body)
	}
	for _, part := range parts {
		compare.Contains(s.t, "response", string(body), part)
	}
	return res, string(body)
}

// request sends text on a new connection, and receives the response.
func (s *service) request(text string, status int, parts ...string) (*http.Response, string) {
	s.t.Helper()
	return s.receive(s.send(text), status, parts...)
}

// metrics checks lines of /metrics.
func (s *service) metrics(lines ...string) {
	s.t.Helper()
	for i, line := range lines {
		lines[i] = metricPrefix + line + "\n"
	}
	token := reader
	if !s.access.Tokens.Has("metrics") {
		token = secret
	}
	s.request(by(token, scrape), 200, lines...)
}

// A panic closes its connection, and is logged as an error. Others are served.
func TestPanic(t *testing.T) {
	inBubble(t, "in a handler", func(t *testing.T) {
		s := serve(t, slow, func(o *Options) { o.Ready = func() error { panic("a fault") } })
		_, err := http.ReadResponse(bufio.NewReader(s.send(get("/readyz"))), nil)
		compare.Equal(t, "error", fmt.Sprint(err), "unexpected EOF")
		s.request(get("/healthz"), 200)

		s.end()
		s.logged(`level=ERROR msg="panic in a request" panic="a fault"`, 1)
	})
}

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
			s := serve(t, ask{"42", time.Minute})
			s.request(text, 200, "searching: tokyo", `answer\":\"42\"`)

			running := s.send(text)
			waiting := s.send(text)
			synctest.Wait()
			s.metrics("requests_in_flight 2", "calls_running 1", "calls_waiting 1",
				"max_calls 1", "ready 1")

			running.Close()
			waiting.Close()
			time.Sleep(time.Second)
			s.metrics(
				`calls_total{tool="answer",client="alice",outcome="ok"} 1`,
				`calls_total{tool="answer",client="alice",outcome="cancelled"} 2`,
				`tokens_total{tool="answer",client="alice",model="gpt-5.2",kind="input"} 7`,
				`tokens_total{tool="answer",client="alice",model="gpt-5.2",kind="cache_write"} 2`,
				`searches_total{tool="answer",client="alice",model="gpt-5.2"} 1`,
				`call_seconds_bucket{tool="answer",outcome="ok",le="30"} 0`,
				`call_seconds_bucket{tool="answer",outcome="ok",le="60"} 1`,
				`call_seconds_bucket{tool="answer",outcome="ok",le="+Inf"} 1`,
				`call_seconds_count{tool="answer",outcome="ok"} 1`,
				`call_seconds_sum{tool="answer",outcome="ok"} 60`,
				`api_seconds_count{tool="answer",outcome="ok"} 1`,
				`rate_limit_wait_seconds_count{tool="answer"} 3`,
				`errors_total{tool="answer",kind="canceled"} 2`,
			)
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
			s := serve(t, slow)
			c := s.send(tt.text)
			res, body := s.receive(c, 200, `"content":[`)

			compare.Equal(t, "comments", strings.Count(body, ": keep-alive\n\n"), tt.want)
			compare.Equal(t, "content type", res.Header.Get("Content-Type"), "text/event-stream")

			c.SetReadDeadline(time.Now().Add(time.Minute))
			if n, _ := io.Copy(io.Discard, c); n > 0 {
				t.Errorf("%d bytes after the response", n)
			}
		})
	}
}

// A client gets the kind of response that it accepts, JSON if that is no stream: before it comes a
// blank line every 15 s.
func TestAccept(t *testing.T) {
	for _, tt := range compare.Rows[struct {
		Name, Header, Type, Begins string
		Status                     int
	}](t, "accept") {
		for protocol, text := range calls {
			inBubble(t, tt.Name+" "+protocol, func(t *testing.T) {
				s := serve(t, slow)
				const both = "Accept: application/json, text/event-stream\r\n"
				res, body := s.request(strings.Replace(text, both, tt.Header, 1), tt.Status)

				compare.Equal(t, "content type", res.Header.Get("Content-Type"), tt.Type)
				compare.Equal(t, "has a length", res.ContentLength >= 0, tt.Status != 200) // begins at once
				if !strings.HasPrefix(body, tt.Begins) {
					t.Errorf("response %q, want it to begin with %q", body, tt.Begins)
				}
				ok := strings.Contains(body, `answer\":\"42\"`)
				compare.Equal(t, "an answer", ok, tt.Status == 200)
			})
		}
	}
}

// During shutdown /readyz fails at once, calls in flight finish, calls beyond the drain are
// cancelled, and the end is not an error. A crowd takes 2 s to settle in a slow store.
func TestDrain(t *testing.T) {
	slowEnd := func(o *Options) {
		ask := o.ServerOptions.Ask
		o.ServerOptions.Ask = func(ctx context.Context, c *call.Call, q answer.Question) (*answer.Answer, error) {
			defer func() {
				if ctx.Err() != nil {
					time.Sleep(2 * time.Second)
				}
			}()
			return ask(ctx, c, q)
		}
	}
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
				s := serve(t, ask{"42", tt.takes}, slowEnd)
				s.request(get("/readyz"), 200)
				c := s.send(text)
				synctest.Wait()

				s.stop()
				s.request(get("/readyz"), 503, "shutting down")
				s.request(get("/healthz"), 200)
				s.receive(c, 200, tt.want)
				s.wait()
			})
		}
	}
}

// If the listener fails, the calls get the error of a shutdown, without a drain.
func TestListenerFails(t *testing.T) {
	for protocol, text := range calls {
		inBubble(t, protocol, func(t *testing.T) {
			s := serve(t, ask{"42", time.Minute})
			s.wantErr = "serving HTTP on 127.0.0.1:8080: use of closed network connection"
			c := s.send(text)
			synctest.Wait()
			_ = s.pipes.Close()
			s.receive(c, 200, "answer failed: the server restarts")
		})
	}
}

// From the end of the context on each response closes its connection, and an idle connection can be
// used for the notice time. After it a call is refused, and the end of a stream that began before
// closes its connection.
func TestShutdownConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, slow)
		idle := s.send(post(ping, ""))
		if res, _ := s.receive(idle, 200); res.Close {
			t.Error("a connection closes before the shutdown")
		}
		late := s.send(post(ping, ""))
		s.receive(late, 200)

		busy := s.send(post(tool, ""))
		streamed := make(chan *http.Response, 1)
		go func() {
			res, _ := s.receive(busy, 200)
			streamed <- res
		}()
		time.Sleep(commentInterval + time.Second) // the stream has begun

		last := func(c net.Conn, status int) *http.Response {
			t.Helper()
			time.Sleep(900 * time.Millisecond)
			go io.WriteString(c, post(ping, ""))
			res, _ := s.receive(c, status)
			if !res.Close {
				t.Error("a connection stays open during shutdown")
			}
			return res
		}
		s.stop()
		last(idle, 200)
		last(s.send(""), 200) // a new one
		time.Sleep(time.Second)
		refused := last(late, 503)
		compare.Equal(t, "Retry-After", refused.Header.Get("Retry-After"), "1")

		if res := <-streamed; res.Close {
			t.Error("a response that began before closes its connection")
		}
		if s.dial() != nil {
			t.Error("the listener is open after the notice time")
		}
		if n, err := busy.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("after the stream: %d bytes, %v, want the end of the connection", n, err)
		}
		s.wait()
	})
}

// A client that polls pays for what a request allocates, most of which is the decoder of the SDK.
func TestAllocated(t *testing.T) {
	for _, tt := range []struct {
		name, message string
		most          uint64 // KiB
	}{
		{"ping", ping, 300},
		{"call", tool, 400},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			const requests = 20
			s := serve(t, ask{text: "42"})
			allocated := func() uint64 {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return m.TotalAlloc
			}

			s.request(post(tt.message, ""), 200) // what the first one allocates, stays
			before := allocated()
			for range requests {
				s.request(post(tt.message, ""), 200)
			}
			each := (allocated() - before) / requests >> 10
			if each > tt.most {
				t.Errorf("%d KiB each, want at most %d", each, tt.most)
			}
		})
	}
}
