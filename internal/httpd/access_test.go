package httpd

import (
	"bytes"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAccess(t *testing.T) {
	o := options(t, slow)
	tokens := o.Access.Tokens
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
			o := options(t, slow)
			o.Access = tt.access
			method, body := http.MethodGet, ""
			if tt.path == "/mcp" {
				method, body = http.MethodPost, ping
			}
			r := httptest.NewRequestWithContext(t.Context(), method, tt.path, strings.NewReader(body))
			r.Host = tt.host
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			if tt.token != "" {
				r.Header.Set("Authorization", "Bearer "+tt.token)
			}
			if tt.origin != "" {
				r.Header.Set("Origin", tt.origin)
			}
			w := httptest.NewRecorder()
			o.handler(t.Context(), t.Context()).ServeHTTP(w, r)
			if w.Code != tt.want {
				t.Errorf("status %d, want %d", w.Code, tt.want)
			}
			if (w.Header().Get("WWW-Authenticate") != "") != (tt.want == 401) {
				t.Errorf("WWW-Authenticate %q with status %d", w.Header().Get("WWW-Authenticate"), w.Code)
			}
		})
	}
}

// /metrics on a listener of its own needs no token, and is nowhere else.
func TestMetricsListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, own := newPipes(), newPipes()
		o := options(t, slow)
		o.MetricsListener = own
		stop, ended := start(t, p, o)
		const scrape = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n"
		for name, tt := range map[string]struct {
			to   *pipes
			text string
			want int
		}{
			"no token":           {own, scrape, 200},
			"foreign host":       {own, strings.Replace(scrape, "localhost", "evil.example", 1), 403},
			"MCP":                {own, strings.Replace(scrape, "/metrics", "/mcp", 1), 404},
			"the other listener": {p, scrape + "Authorization: Bearer " + secret + "\r\n", 404},
		} {
			if got := status(t, tt.to, tt.text+"\r\n"); got != tt.want {
				t.Errorf("%s: status %d, want %d", name, got, tt.want)
			}
		}
		stop()
		<-ended
	})
}

func TestTokens(t *testing.T) {
	for in, want := range map[string]string{
		"0123456789abcdef":                  "entry 1 of S is not name:token",
		"a:0123456789abcdef :fedcba9876543": "entry 2 of S is not name:token",
		"0123456789abcdef:alice":            "the token of entry 1 of S has fewer than 16 characters",
		" ,\n":                              "S has no tokens",
	} {
		if _, err := NewTokens("S", in, nil); err == nil || err.Error() != want {
			t.Errorf("tokens %q: %v, want %s", in, err, want)
		}
	}
	if _, err := ReadTokens(filepath.Join(t.TempDir(), "none"), nil); err == nil {
		t.Error("a missing file is no error")
	}
}

// Changes of the file are seen within 10 s. A broken or missing file keeps the
// old tokens and is logged once.
func TestTokensFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	const alice, bob = "0123456789abcdef", "fedcba9876543210"
	write := func(s string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("alice:" + alice + "\n")
	synctest.Test(t, func(t *testing.T) {
		var learned []string
		tokens, err := ReadTokens(file, func(s string) { learned = append(learned, s) })
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		o := options(t, slow)
		o.Access.Tokens, o.Log = tokens, slog.New(slog.NewTextHandler(&log, nil))
		p := newPipes()
		stop, ended := start(t, p, o)
		accepted := func() (names []string) {
			for _, secret := range []string{alice, bob} {
				name, ok := tokens.holder(secret)
				if ok {
					names = append(names, name)
				}
			}
			return names
		}
		for _, step := range []struct {
			content string
			want    []string
		}{
			{"alice:" + alice + "\nalice2:" + bob + "\n", []string{"alice", "alice2"}},
			{"", []string{"alice", "alice2"}},
			{bob + ":alice", []string{"alice", "alice2"}},
			{"bob:" + bob, []string{"bob"}},
		} {
			write(step.content)
			time.Sleep(10*time.Second + time.Millisecond)
			synctest.Wait()
			if got := accepted(); !slices.Equal(got, step.want) {
				t.Errorf("after %q: %q, want %q", step.content, got, step.want)
			}
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := accepted(); !slices.Equal(got, []string{"bob"}) {
			t.Errorf("without the file: %q", got)
		}
		stop()
		<-ended
		if !slices.Contains(learned, alice) || !slices.Contains(learned, bob) {
			t.Errorf("learned %q", learned)
		}
		for _, want := range []string{"has no tokens", "fewer than 16 characters", "no such file"} {
			if n := strings.Count(log.String(), want); n != 1 {
				t.Errorf("%q is logged %d times:\n%s", want, n, &log)
			}
		}
		if strings.Contains(log.String(), bob) {
			t.Errorf("the log contains a token:\n%s", &log)
		}
	})
}

// Rejected requests are counted, and logged at most once a second for each
// status.
func TestRejections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		o := options(t, slow)
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
		p := newPipes()
		stop, ended := start(t, p, o)
		for range 2 {
			for range 3 {
				status(t, p, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
				status(t, p, "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n")
			}
			time.Sleep(time.Second)
		}
		_, all := get(t, p.client(), "/metrics")
		if want := `openai_responses_mcp_rejected_requests_total{status="401"} 6`; !strings.Contains(all, want) {
			t.Errorf("metrics lack %s:\n%s", want, all)
		}
		stop()
		<-ended
		for _, want := range []string{"msg=rejected status=401 remote=pipe\n", "msg=rejected status=404 remote=pipe\n"} {
			if n := strings.Count(log.String(), want); n != 2 {
				t.Errorf("%q is logged %d times:\n%s", want, n, &log)
			}
		}
	})
}

// A call that waits for another one is in the metrics.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		stop, ended := start(t, p, options(t, slow))
		calls := []net.Conn{send(t, p, request(tool, "")), send(t, p, request(tool, ""))}
		synctest.Wait()
		_, all := get(t, p.client(), "/metrics")
		for _, want := range []string{"openai_responses_mcp_requests_in_flight 2", "openai_responses_mcp_requests_waiting 1"} {
			if !strings.Contains(all, want) {
				t.Errorf("metrics lack %s:\n%s", want, all)
			}
		}
		for _, c := range calls {
			c.Close() // cancels the call
		}
		stop()
		<-ended
	})
}
