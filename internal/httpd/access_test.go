package httpd

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAccess(t *testing.T) {
	loopback := func(o *Options) { o.Access.Tokens = nil }
	remote := func(o *Options) { o.Access.Loopback = false }
	listed := func(o *Options) { o.Access.Hosts = []string{"mcp.example.com"} }
	anonymous := func(o *Options) { o.Access = Access{} }
	const bob = "fedcba9876543210"
	for _, tt := range []struct {
		name                      string
		access                    func(*Options)
		path, host, token, origin string
		want                      int
	}{
		{"token", remote, "/mcp", "10.1.2.3:8080", bob, "", 200},
		{"no token", remote, "/mcp", "10.1.2.3:8080", "", "", 401},
		{"wrong token", remote, "/mcp", "10.1.2.3:8080", "0123456789abcdeX", "", 401},
		{"name as token", remote, "/mcp", "10.1.2.3:8080", "alice", "", 401},
		{"foreign origin", remote, "/mcp", "mcp.example.com", bob, "https://evil.example", 403},
		{"own origin", remote, "/mcp", "mcp.example.com", bob, "https://mcp.example.com", 200},
		{"listed host", listed, "/mcp", "MCP.example.com:443", secret, "", 200},
		{"host that is not listed", listed, "/mcp", "evil.example", secret, "", 403},
		{"metrics, host that is not listed", listed, "/metrics", "evil.example", secret, "", 403},
		{"metrics", listed, "/metrics", "mcp.example.com", secret, "", 200},
		{"metrics, no token", listed, "/metrics", "mcp.example.com", "", "", 401},
		{"anonymous, address", anonymous, "/mcp", "10.1.2.3:8080", "", "", 200},
		{"anonymous, IPv6 address", anonymous, "/mcp", "[fd00::1]:8080", "", "", 200},
		{"anonymous, local name", anonymous, "/metrics", "mcp:8080", "", "", 200},
		{"anonymous, foreign host", anonymous, "/mcp", "evil.example", "", "", 403},
		{"loopback", loopback, "/mcp", "localhost:8080", "", "", 200},
		{"loopback, metrics", loopback, "/metrics", "127.0.0.1:8080", "", "", 200},
		{"loopback, foreign host", loopback, "/mcp", "evil.example", "", "", 403},
		{"loopback, metrics, foreign host", loopback, "/metrics", "evil.example", "", "", 403},
		{"unknown path", loopback, "/x", "localhost", "", "", 404},
		{"unknown path, foreign host", loopback, "/x", "evil.example", "", "", 403},
		{"health of any host", listed, "/healthz", "evil.example", "", "", 200},
		{"readiness of any host", listed, "/readyz", "evil.example", "", "", 200},
	} {
		synctest.Test(t, func(t *testing.T) {
			text := get(tt.path)
			if tt.path == "/mcp" {
				text = post(ping, "Origin: "+tt.origin+"\r\n")
			}
			text = strings.Replace(text, "localhost", tt.host, 1)
			text = strings.Replace(text, "Bearer "+secret, "Bearer "+tt.token, 1)
			res, _ := receive(t, serve(t, slow, tt.access).send(text))
			if got := res.Header.Get("WWW-Authenticate"); res.StatusCode != tt.want || (got == "Bearer") != (tt.want == 401) {
				t.Errorf("%s: status %d, WWW-Authenticate %q, want %d", tt.name, res.StatusCode, got, tt.want)
			}
		})
	}
}

// /metrics on a listener of its own needs no token, and is nowhere else.
func TestMetricsListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := &service{pipes: newPipes(), t: t}
		s := serve(t, slow, func(o *Options) { o.MetricsListener = own })
		const scrape = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
		own.request(scrape, 200)
		own.request(strings.Replace(scrape, "localhost", "evil.example", 1), 403)
		own.request(get("/mcp"), 404)
		s.request(get("/metrics"), 404)
	})
}

// Changed tokens are in force within 10 s. Broken or missing ones change nothing and are logged once.
func TestTokensChange(t *testing.T) {
	const alice, bob = "0123456789abcdef", "fedcba9876543210"
	synctest.Test(t, func(t *testing.T) {
		var learned []string
		var content atomic.Value
		content.Store("alice:" + alice)
		tokens, err := NewTokens("test", func() ([]byte, error) {
			text := content.Load().(string)
			if text == "no file" {
				return nil, fs.ErrNotExist
			}
			return []byte(text), nil
		}, func(s string) { learned = append(learned, s) })
		if err != nil {
			t.Fatal(err)
		}
		s := serve(t, slow, func(o *Options) { o.Access.Tokens = tokens })
		for _, step := range []struct{ text, alice, bob string }{
			{"alice:" + alice + "\nalice:" + bob + "\n", "alice", "alice"},
			{"", "alice", "alice"},
			{bob + ":alice", "alice", "alice"},
			{"bob:" + bob, "", "bob"},
			{"no file", "", "bob"},
		} {
			content.Store(step.text)
			time.Sleep(10 * time.Second)
			synctest.Wait()
			first, _ := tokens.holder(alice)
			second, _ := tokens.holder(bob)
			if first != step.alice || second != step.bob {
				t.Errorf("after %q: the holders are %q and %q", step.text, first, second)
			}
		}
		s.end()
		if want := []string{alice, alice, bob, bob}; !slices.Equal(learned, want) {
			t.Errorf("learned %q, want %q", learned, want)
		}
		for want, times := range map[string]int{"has no tokens": 1, "fewer than 16 characters": 1, fs.ErrNotExist.Error(): 1, bob: 0} {
			if n := strings.Count(s.log.String(), want); n != times {
				t.Errorf("%q is logged %d times:\n%s", want, n, &s.log)
			}
		}
	})
}

// Rejected requests are counted, and logged at most once a second for each status.
func TestRejections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, slow)
		for range 2 {
			for range 3 {
				s.request(strings.Replace(get("/metrics"), secret, "", 1), 401)
				s.request(get("/x"), 404)
			}
			time.Sleep(time.Second)
		}
		s.metrics(`rejected_requests_total{status="401"} 6`, `rejected_requests_total{status="404"} 6`)
		s.end()
		for _, status := range []int{401, 404} {
			want := fmt.Sprintf("msg=rejected status=%d remote=pipe\n", status)
			if n := strings.Count(s.log.String(), want); n != 2 {
				t.Errorf("%q is logged %d times:\n%s", want, n, &s.log)
			}
		}
	})
}
