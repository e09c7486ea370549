package httpd

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAccess(t *testing.T) {
	tokens := options(t, slow, io.Discard).Access.Tokens
	loopback := Access{Loopback: true}
	remote := Access{Tokens: tokens}
	listed := Access{Tokens: tokens, Hosts: []string{"mcp.example.com"}}
	anonymous := Access{}
	const bob = "fedcba9876543210"
	for _, tt := range []struct {
		name                      string
		access                    Access
		path, host, token, origin string
		want                      int
	}{
		{"token", remote, "/mcp", "10.1.2.3:8080", bob, "", 200},
		{"token, any host", remote, "/mcp", "mcp.example.com", secret, "", 200},
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
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := options(t, slow, io.Discard)
				o.Access = tt.access
				p, _, _ := start(t, o)
				text := get(tt.path)
				if tt.path == "/mcp" {
					text = post(ping, "Origin: "+tt.origin+"\r\n")
				}
				text = strings.Replace(text, "localhost", tt.host, 1)
				text = strings.Replace(text, "Bearer "+secret, "Bearer "+tt.token, 1)
				res, _ := receive(t, p.send(t, text))
				if res.StatusCode != tt.want {
					t.Errorf("status %d, want %d", res.StatusCode, tt.want)
				}
				if got := res.Header.Get("WWW-Authenticate"); (got == "Bearer") != (tt.want == 401) {
					t.Errorf("WWW-Authenticate %q with status %d", got, res.StatusCode)
				}
			})
		})
	}
}

// /metrics on a listener of its own needs no token, and is nowhere else.
func TestMetricsListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := newPipes()
		o := options(t, slow, io.Discard)
		o.MetricsListener = own
		p, _, _ := start(t, o)
		const scrape = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
		for name, tt := range map[string]struct {
			to   *pipes
			text string
			want int
		}{
			"no token":           {own, scrape, 200},
			"foreign host":       {own, strings.Replace(scrape, "localhost", "evil.example", 1), 403},
			"MCP":                {own, get("/mcp"), 404},
			"the other listener": {p, get("/metrics"), 404},
		} {
			if got, _ := tt.to.request(t, tt.text); got != tt.want {
				t.Errorf("%s: status %d, want %d", name, got, tt.want)
			}
		}
	})
}

// Changed tokens are in force within 10 s. Broken or missing ones change nothing
// and are logged once.
func TestTokensChange(t *testing.T) {
	const alice, bob = "0123456789abcdef", "fedcba9876543210"
	synctest.Test(t, func(t *testing.T) {
		var content atomic.Value
		content.Store("alice:" + alice)
		read := func() ([]byte, error) {
			text := content.Load().(string)
			if text == "no file" {
				return nil, fs.ErrNotExist
			}
			return []byte(text), nil
		}
		var learned []string
		tokens, err := NewTokens("test", read, func(s string) { learned = append(learned, s) })
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		o := options(t, slow, &log)
		o.Access.Tokens = tokens
		_, stop, wait := start(t, o)
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
		stop()
		wait()
		if want := []string{alice, alice, bob, bob}; !slices.Equal(learned, want) {
			t.Errorf("learned %q, want %q", learned, want)
		}
		for _, want := range []string{"has no tokens", "fewer than 16 characters", fs.ErrNotExist.Error()} {
			if n := strings.Count(log.String(), want); n != 1 {
				t.Errorf("%q is logged %d times:\n%s", want, n, &log)
			}
		}
		if strings.Contains(log.String(), bob) {
			t.Errorf("the log contains a token:\n%s", &log)
		}
	})
}

// Rejected requests are counted, and logged at most once a second for each status.
func TestRejections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		p, stop, wait := start(t, options(t, slow, &log))
		for range 2 {
			for range 3 {
				p.request(t, strings.Replace(get("/metrics"), secret, "", 1))
				p.request(t, get("/x"))
			}
			time.Sleep(time.Second)
		}
		_, all := p.request(t, get("/metrics"))
		stop()
		wait()
		for _, status := range []int{401, 404} {
			if want := fmt.Sprintf(`rejected_requests_total{status="%d"} 6`, status); !strings.Contains(all, want) {
				t.Errorf("metrics lack %s:\n%s", want, all)
			}
			want := fmt.Sprintf("msg=rejected status=%d remote=pipe\n", status)
			if n := strings.Count(log.String(), want); n != 2 {
				t.Errorf("%q is logged %d times:\n%s", want, n, &log)
			}
		}
	})
}
