package httpd

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// A request that does not arrive is not waited for.
func TestHalfRequests(t *testing.T) {
	const rest = "Content-Length: 1000\r\n\r\n"
	for _, tt := range []struct {
		name, text, want string
		within           time.Duration
	}{
		{"nothing", "", "", 31 * time.Second},
		{"header", "POST /mcp HTTP/1.1\r\nHost:", "", 31 * time.Second},
		{"large header", "GET / HTTP/1.1\r\nX: " + strings.Repeat("x", 68<<10-19), "HTTP/1.1 431 ", time.Second},
		{"no token", "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + rest, "HTTP/1.1 401 ", 2 * time.Second},
		{"foreign host", "POST /mcp HTTP/1.1\r\nHost: evil.example\r\n" + rest, "HTTP/1.1 403 ", 2 * time.Second},
		{"unknown path", "POST /x HTTP/1.1\r\nHost: localhost\r\n" + rest, "HTTP/1.1 404 ", 2 * time.Second},
		{"healthz", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + rest, "HTTP/1.1 200 ", 2 * time.Second},
		{"token", strings.TrimSuffix(post(ping, ""), "}"), "HTTP/1.1 408 ", 32 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, begin := serve(t, slow), time.Now()
			all, err := io.ReadAll(s.send(tt.text))
			took := time.Since(begin)
			if err != nil || !strings.HasPrefix(string(all), tt.want) || (len(all) > 0) != (tt.want != "") || took > tt.within {
				t.Errorf("%s: got %q, %v after %v; want %q", tt.name, all, err, took, tt.want)
			}
		})
	}
}

// Half-sent requests do not stretch the shutdown.
func TestHalfRequestsAtShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, slow)
		s.send("POST /mcp HTTP/1.1\r\nHost:")
		s.request("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n", http.StatusUnauthorized)
		s.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n")
		synctest.Wait()
		began := time.Now()
		s.end()
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("the shutdown took %v", took)
		}
	})
}

// Requests beyond twice MaxCalls get 429. A response that is not read gives its place back.
func TestUnreadResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, slow)
		s.send(post(list, ""))
		s.send(post(list, ""))
		others := []net.Conn{s.send(get("/metrics")), s.send("not HTTP\r\n\r\n")}
		synctest.Wait()
		if res, _ := receive(t, s.send(post(ping, ""))); res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" {
			t.Errorf("status %d, header %v while all places are taken", res.StatusCode, res.Header)
		}
		time.Sleep(writeTime + time.Second)
		s.request(post(ping, ""), http.StatusOK)
		for _, c := range others {
			if n, err := io.Copy(io.Discard, c); n != 0 || err != nil {
				t.Errorf("read %d bytes after the write deadline (%v)", n, err)
			}
		}
	})
}

// A slow reader gets a large response: the write deadline is one for progress.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, func(context.Context, string, answer.Question, func(llm.Event)) (*answer.Answer, error) {
			return &answer.Answer{Text: strings.Repeat("x", 10*writeChunk)}, nil
		})
		c, got, err := s.send(post(tool, "Connection: close\r\n")), int64(0), error(nil)
		for n := int64(1); n > 0 && err == nil; got += n {
			time.Sleep(writeTime / 3)
			n, err = io.CopyN(io.Discard, c, writeChunk)
		}
		if got < 10*writeChunk || !errors.Is(err, io.EOF) {
			t.Errorf("got %d bytes and %v", got, err)
		}
	})
}

// A connection can be idle for longer than a request may take.
func TestIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serve(t, slow).send("")
		header, body, _ := strings.Cut(post(ping, "Expect: 100-continue\r\n"), "\r\n\r\n")
		for _, step := range []struct {
			text string
			want int
		}{{get("/healthz"), 200}, {post(ping, ""), 200}, {header + "\r\n\r\n", 100}, {body, 200}} {
			if _, err := io.WriteString(c, step.text); err != nil {
				t.Fatal(err)
			}
			if res, _ := receive(t, c); res.StatusCode != step.want {
				t.Errorf("status %d, want %d", res.StatusCode, step.want)
			}
			if step.want != 100 {
				time.Sleep(idleTime - time.Second)
			}
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
	tests := []test{
		{"array", "", "[" + ping + "," + ping + "]", 400, `"id":null,"error":{"code":-32600`},
		{"array, stateless", "2026-07-28", "[" + ping + "]", 400, `"id":null,"error":{"code":-32600`},
		{"version without initialize", "2025-11-25", ping, 200, `"id":1,"result"`},
		{"not JSON", "", `{"jsonrpc":SECRET`, 400, `"code":-32700`},
		{"no version", "", `{"id":6,"method":"ping"}`, 400, `"code":-32600`},
		{"method", "", sixth + `["SECRET"]}`, 400, `"code":-32600`},
		{"response", "", `{"jsonrpc":"2.0","id":6,"error":"SECRET"}`, 400, `"code":-32600`},
		{"params", "", sixth + `"tools/call","params":"SECRET"}`, 200, `"id":6,"error":{"code":-32602`},
		{"_meta", "", sixth + `"tools/call","params":{"name":"answer","_meta":"SECRET"}}`, 200, `"id":6,"error":{"code":-32602`},
		{"_meta, stateless", "2026-07-28", sixth + `"tools/list","params":{"_meta":"SECRET"}}`, 400, `"id":6,"error":{"code":-32602`},
		{"name", "", sixth + `"tools/call","params":{"name":["SECRET"]}}`, 200, `"id":6,"error":{"code":-32602`},
		{"long name", "", sixth + `"tools/call","params":{"name":"` + strings.Repeat("SECRET", 30) + `"}}`, 200, `"id":6,"error":{"code":-32602`},
		{"long version", "", sixth + `"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"` + strings.Repeat("SECRET", 30) + `"}}}`, 200, `"code":-32602`},
		{"initialize", "", sixth + `"initialize","params":{"clientInfo":"SECRET"}}`, 200, `"id":6,"error":{"code":-32602`},
		{"unknown method", "", sixth + `"prompts/get","params":{"name":["SECRET"]}}`, 200, `"id":6,"error":{"code":-32601`},
		{"unknown method, stateless", "2026-07-28", sixth + `"SECRET"}`, 404, `"id":6,"error":{"code":-32601`},
		{"long notification", "", sixth + `"notifications/` + strings.Repeat("SECRET", 30) + `"}`, 200, `"id":6,"error":{"code":-32601`},
		{"notification", "", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202, ""},
		{"large", "", strings.Repeat(" ", maxBody) + ping, 413, "larger than 1 MiB"},
	}
	for _, id := range []string{`1.5`, `1e3`, `9007199254740993`, `-9007199254740993`, `null`, `true`, `{}`, `[1]`} {
		tests = append(tests, test{"id " + id, "", `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`, 400, `"id":null,"error":{"code":-32600`})
	}
	for _, id := range []string{`9007199254740992`, `-9007199254740992`, `"1.5"`, `""`} {
		tests = append(tests, test{"id " + id, "", `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`, 200, `"id":` + id})
	}
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, slow)
		for _, tt := range tests {
			c := s.send("")
			go io.WriteString(c, post(tt.body, "Mcp-Protocol-Version: "+tt.version+"\r\n"))
			res, body := receive(t, c)
			if res.StatusCode != tt.status || !strings.Contains(body, tt.want) || strings.Contains(body, "SECRET") {
				t.Errorf("%s, %s: %d %s, want %d %s", tt.name, tt.version, res.StatusCode, body, tt.status, tt.want)
			}
			if rejected := tt.status >= 400; res.Close != rejected {
				t.Errorf("%s: Connection: close is %v", tt.name, res.Close)
			}
		}
	})
}

// A body beyond the bytes of all bodies gets 429. Bodies of requests that have ended do not count.
func TestBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		l := &limiter{max: 1000}
		h := l.admit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hold }))
		body := strings.Replace(ping, "{", "{"+strings.Repeat(" ", maxBody-len(ping)), 1)
		post := func() int {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body)))
			return w.Code
		}
		for range maxBodies / maxBody {
			go post()
		}
		synctest.Wait()
		if got := post(); got != http.StatusTooManyRequests {
			t.Errorf("a further request got %d", got)
		}
		close(hold)
		synctest.Wait()
		if got := post(); got != http.StatusOK {
			t.Errorf("a later request got %d", got)
		}
	})
}
