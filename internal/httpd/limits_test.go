package httpd

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// request is an HTTP request with the token of alice and this body.
func request(body, header string) string {
	return fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nTraceparent: %s\r\n"+
		"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n%s\r\n%s",
		secret, trace, len(body), header, body)
}

const (
	ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	tool = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"answer","arguments":{"query":"q"}}}`
)

// slow answers after the deadline for reading a request.
func slow(ctx context.Context, _ string, _ answer.Question, _ func(llm.Event)) (*answer.Answer, error) {
	select {
	case <-time.After(readTime + time.Second):
		return &answer.Answer{}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// send sends text on a new connection.
func send(t *testing.T, p *pipes, text string) net.Conn {
	t.Helper()
	c, err := p.dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

// status sends a request on a connection of its own and returns the status of
// the response.
func status(t *testing.T, p *pipes, text string) int {
	t.Helper()
	return respond(t, send(t, p, text)).StatusCode
}

// respond reads a response, with its body.
func respond(t *testing.T, c net.Conn) *http.Response {
	t.Helper()
	res, err := read(c)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func read(c net.Conn) (*http.Response, error) {
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, err
}

// A request that does not arrive is not waited for.
func TestHalfRequests(t *testing.T) {
	const rest = "Content-Length: 1000\r\n\r\n"
	for _, tt := range []struct {
		name, text, want string
		within           time.Duration
	}{
		{"nothing", "", "", 31 * time.Second},
		{"header", "POST /mcp HTTP/1.1\r\nHost:", "", 31 * time.Second},
		{"no token", "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + rest, "HTTP/1.1 401 ", 2 * time.Second},
		{"foreign host", "POST /mcp HTTP/1.1\r\nHost: evil.example\r\n" + rest, "HTTP/1.1 403 ", 2 * time.Second},
		{"unknown path", "POST /x HTTP/1.1\r\nHost: localhost\r\n" + rest, "HTTP/1.1 404 ", 2 * time.Second},
		{"healthz", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + rest, "HTTP/1.1 200 ", 31 * time.Second},
		{"token", strings.TrimSuffix(request(ping, ""), "}"), "HTTP/1.1 408 ", 32 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPipes()
				stop, ended := start(t, p, options(t, slow))
				begin := time.Now()
				c := send(t, p, tt.text)
				all, err := io.ReadAll(c)
				if err != nil || !strings.HasPrefix(string(all), tt.want) || (len(all) > 0) != (tt.want != "") {
					t.Errorf("got %q, %v; want %q", all, err, tt.want)
				}
				if took := time.Since(begin); took > tt.within {
					t.Errorf("closed after %v", took)
				}
				stop()
				<-ended
			})
		})
	}
}

// Half-sent requests do not stretch the shutdown.
func TestHalfRequestsAtShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		stop, ended := start(t, p, options(t, slow))
		send(t, p, "POST /mcp HTTP/1.1\r\nHost:")
		respond(t, send(t, p, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"))
		send(t, p, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n")
		synctest.Wait()
		stop()
		began := time.Now()
		<-ended
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("the shutdown took %v", took)
		}
	})
}

// A response that is not read gives its place back.
func TestUnreadResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		o := options(t, slow)
		stop, ended := start(t, p, o)
		for range 2 * o.MaxCalls {
			send(t, p, request(list, ""))
		}
		metrics := send(t, p, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+secret+"\r\n\r\n")
		synctest.Wait()
		if got := status(t, p, request(ping, "")); got != http.StatusTooManyRequests {
			t.Errorf("status %d while all places are taken", got)
		}
		time.Sleep(writeTime + time.Second)
		if got := status(t, p, request(ping, "")); got != http.StatusOK {
			t.Errorf("status %d after the write deadline", got)
		}
		if n, err := io.Copy(io.Discard, metrics); n != 0 || err != nil {
			t.Errorf("read %d bytes of the metrics after the write deadline (%v)", n, err)
		}
		stop()
		<-ended
	})
}

// A slow reader gets a large response: the write deadline is one for progress.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		o := options(t, func(context.Context, string, answer.Question, func(llm.Event)) (*answer.Answer, error) {
			return &answer.Answer{Text: strings.Repeat("x", 10*writeChunk)}, nil
		})
		stop, ended := start(t, p, o)
		c := send(t, p, request(tool, "Connection: close\r\n"))
		got := 0
		for buffer := make([]byte, writeChunk); ; {
			time.Sleep(writeTime / 3)
			n, err := c.Read(buffer)
			got += n
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if got < 10*writeChunk {
			t.Errorf("got %d bytes", got)
		}
		stop()
		<-ended
	})
}

// A silent stream gets comments from the server as it is put together.
func TestStreamsStayAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		stop, ended := start(t, p, options(t, slow))
		body, err := io.ReadAll(respond(t, send(t, p, request(tool, ""))).Body)
		if n := strings.Count(string(body), ": keep-alive\n\n"); n != 2 || err != nil || !strings.Contains(string(body), `"content":[`) {
			t.Errorf("%d comments in %q (%v)", n, body, err)
		}
		stop()
		<-ended
	})
}

// From the end of the context on each response closes its connection, and an
// idle connection can be used for the notice time, also after a stream that
// began before.
func TestShutdownConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		stop, ended := start(t, p, options(t, slow))
		idle, busy := send(t, p, request(ping, "")), send(t, p, request(tool, ""))
		if res := respond(t, idle); res.Close {
			t.Error("a connection closes before the shutdown")
		}
		streamed := make(chan *http.Response, 1)
		go func() {
			res, _ := read(busy)
			streamed <- res
		}()
		time.Sleep(silence + time.Second) // the stream has begun
		last := func(c net.Conn) {
			t.Helper()
			time.Sleep(time.Second)
			if _, err := io.WriteString(c, request(ping, "")); err != nil {
				t.Fatalf("an idle connection has ended: %v", err)
			}
			if res := respond(t, c); !res.Close || res.StatusCode != http.StatusOK {
				t.Errorf("status %d, Connection: close %v during shutdown", res.StatusCode, res.Close)
			}
		}
		stop()
		last(idle)
		last(send(t, p, "")) // a new one
		if res := <-streamed; res == nil || res.Close || res.StatusCode != http.StatusOK {
			t.Errorf("a response that began before: %+v", res)
		}
		if _, err := p.dial(); err == nil {
			t.Error("the listener is open after the notice time")
		}
		last(busy)
		began := time.Now()
		<-ended
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("ended %v after the last response", took)
		}
	})
}

// Messages that the SDK would change, repeat or run as many do not reach it.
func TestRefusedMessages(t *testing.T) {
	const sixth = `{"jsonrpc":"2.0","id":6,"method":`
	type test struct {
		name, version, body string
		status              int
		want                string
	}
	var tests []test
	for _, version := range []string{"", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		tests = append(tests, test{"array", version, "[" + ping + "," + ping + "]", 400, `"id":null,"error":{"code":-32600`})
	}
	for id, code := range map[string]int{
		`1.5`: 400, `1e3`: 400, `9007199254740993`: 400, `-9007199254740993`: 400, `null`: 400, `true`: 400, `{}`: 400, `[1]`: 400,
		`9007199254740992`: 200, `-9007199254740992`: 200, `"1.5"`: 200, `""`: 200,
	} {
		want := `"id":` + id
		if code == 400 {
			want = `"id":null,"error":{"code":-32600`
		}
		tests = append(tests, test{"id " + id, "", `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`, code, want})
	}
	tests = append(tests,
		test{"not JSON", "", `{"jsonrpc":SECRET`, 400, `"code":-32700`},
		test{"no version", "", `{"id":6,"method":"ping"}`, 400, `"code":-32600`},
		test{"method", "", sixth + `["SECRET"]}`, 400, `"code":-32600`},
		test{"response", "", `{"jsonrpc":"2.0","id":6,"error":"SECRET"}`, 400, `"code":-32600`},
		test{"params", "", sixth + `"tools/call","params":"SECRET"}`, 200, `"id":6,"error":{"code":-32602`},
		test{"_meta", "", sixth + `"tools/call","params":{"name":"answer","_meta":"SECRET"}}`, 200, `"id":6,"error":{"code":-32602`},
		test{"_meta, stateless", "2026-07-28", sixth + `"tools/list","params":{"_meta":"SECRET"}}`, 400, `"id":6,"error":{"code":-32602`},
		test{"name", "", sixth + `"tools/call","params":{"name":["SECRET"]}}`, 200, `"id":6,"error":{"code":-32602`},
		test{"long name", "", sixth + `"tools/call","params":{"name":"` + strings.Repeat("SECRET", 30) + `"}}`, 200, `"id":6,"error":{"code":-32602`},
		test{"long version", "", sixth + `"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"` + strings.Repeat("SECRET", 30) + `"}}}`, 200, `"code":-32602`},
		test{"initialize", "", sixth + `"initialize","params":{"clientInfo":"SECRET"}}`, 200, `"id":6,"error":{"code":-32602`},
		test{"unknown method", "", sixth + `"prompts/get","params":{"name":["SECRET"]}}`, 200, `"id":6,"error":{"code":-32601`},
		test{"unknown method, stateless", "2026-07-28", sixth + `"SECRET"}`, 404, `"id":6,"error":{"code":-32601`},
		test{"long notification", "", sixth + `"notifications/` + strings.Repeat("SECRET", 30) + `"}`, 200, `"id":6,"error":{"code":-32601`},
		test{"notification", "", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202, ""},
		test{"large", "", strings.Repeat(" ", maxBody) + ping, 413, "larger than 1 MiB"},
	)
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		stop, ended := start(t, p, options(t, slow))
		for _, tt := range tests {
			c, err := p.dial()
			if err != nil {
				t.Fatal(err)
			}
			go io.WriteString(c, request(tt.body, "Mcp-Protocol-Version: "+tt.version+"\r\n"))
			res := respond(t, c)
			body, _ := io.ReadAll(res.Body)
			if res.StatusCode != tt.status || !strings.Contains(string(body), tt.want) || strings.Contains(string(body), "SECRET") {
				t.Errorf("%s, %s: %d %s, want %d %s", tt.name, tt.version, res.StatusCode, body, tt.status, tt.want)
			}
			if rejected := tt.status >= 400; res.Close != rejected {
				t.Errorf("%s: Connection: close is %v", tt.name, res.Close)
			}
			c.Close()
		}
		stop()
		<-ended
	})
}

// Requests beyond twice MaxCalls get 429, and so does a body beyond the bytes
// of all bodies. Those that have ended do not count.
func TestAdmission(t *testing.T) {
	large := strings.Replace(ping, "{", "{"+strings.Repeat(" ", maxBody-len(ping)), 1)
	for name, tt := range map[string]struct {
		body string
		max  int64
		held int
	}{
		"requests": {ping, 4, 4},
		"bytes":    {large, 1000, maxBodies / maxBody},
	} {
		t.Run(name, func(t *testing.T) {
			hold, begun := make(chan struct{}), make(chan struct{}, tt.held+1)
			l := &limiter{max: tt.max}
			h := l.admit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				begun <- struct{}{}
				<-hold
			}))
			post := func() *httptest.ResponseRecorder {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(tt.body)))
				return w
			}
			var all sync.WaitGroup
			for range tt.held {
				all.Go(func() { post() })
			}
			for range tt.held {
				<-begun
			}
			if w := post(); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
				t.Errorf("a further request got %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
			}
			close(hold)
			all.Wait()
			if w := post(); w.Code != http.StatusOK {
				t.Errorf("a later request got %d", w.Code)
			}
		})
	}
}
