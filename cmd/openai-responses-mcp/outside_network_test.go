package main_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// The key, the other headers and the question are for the configured host: no
// redirect takes them to another one, however it is written. Within the host a
// redirect that keeps the request is followed, but not in a circle.
func TestRedirectsElsewhere(t *testing.T) {
	t.Parallel()
	var there atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		there.Add(1)
		t.Errorf("another host got a %s with %v", r.Method, r.Header)
	}))
	t.Cleanup(elsewhere.Close)
	other := strings.TrimPrefix(elsewhere.URL, "http://")
	var here atomic.Int32
	var status atomic.Int32
	var target atomic.Value
	a := rawAPI(t, func(w http.ResponseWriter, r *http.Request) {
		here.Add(1)
		w.Header().Set("Location", target.Load().(string))
		w.WriteHeader(int(status.Load()))
	})
	c := begin(t, setup{
		api:    a, // with OPENAI_API_KEY as the bearer
		env:    []string{"TEAM_TOKEN=" + key},
		config: "openai: { headers: { X-Api-Key: \"${TEAM_TOKEN}\" } }\n",
	})
	for i, tt := range []struct {
		status   int32
		target   string
		message  string
		requests int32
	}{
		{301, elsewhere.URL, other, 1},
		{302, elsewhere.URL, other, 1},
		{303, elsewhere.URL, other, 1},
		{307, elsewhere.URL, other, 1},
		{308, elsewhere.URL + "/v1/responses", other, 1},
		{308, "//" + other + "/v1/responses", other, 1}, // without a scheme
		{307, "http://me:secret@" + other, other, 1},
		{307, "https://" + other, "https://" + other, 1},
		{307, "\\\\" + other, "redirects to what is no address", 1},
		{307, "", "redirects to nowhere", 1},
		{307, "/v1/responses", "redirect", 6}, // in a circle
		{303, "/v1/other", "redirect", 1},     // would be a GET
	} {
		here.Store(0)
		status.Store(tt.status)
		target.Store(tt.target)
		id := strconv.Itoa(i)
		c.line(ask(id, "where?"))
		e := c.want(id).fault(t)
		checkFault(t, e, tt.message, "", false)
		if !strings.Contains(e.Message, "check openai.base_url (OPENAI_BASE_URL)") || strings.Contains(e.Message, "secret") {
			t.Errorf("%d to %q: %s, want the setting and no password", tt.status, tt.target, e.Message)
		}
		if n := here.Load(); n != tt.requests {
			t.Errorf("%d to %q: %d requests, want %d", tt.status, tt.target, n, tt.requests)
		}
	}
	c.done()
	if n := there.Load(); n > 0 {
		t.Errorf("another host got %d requests", n)
	}
}

// A name that nobody can resolve is named. The two dots make it one without
// asking a network, which a test may not have.
func TestNoSuchHost(t *testing.T) {
	t.Parallel()
	c := begin(t, setup{env: []string{"OPENAI_API_KEY=" + key, "OPENAI_BASE_URL=http://no-such-host..invalid/v1", "OPENAI_MAX_RETRIES=0"}})
	c.line(ask("1", "x"))
	checkFault(t, c.want("1").fault(t), `cannot resolve "no-such-host..invalid": check the network, openai.base_url`, "", false)
	c.done()
}

// A proxy that refuses is not asked again, one that fails is, and none costs
// more time or memory than an API.
func TestProxyRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, message string
		answer        func(net.Conn)
		requests      int32 // with one retry; 0: it depends on the clock
	}{
		{"403", "does not connect to", func(c net.Conn) { write(c, []byte("HTTP/1.1 403 Forbidden\r\n\r\nno")) }, 1},
		{"302", "does not connect to api.invalid: check HTTPS_PROXY and NO_PROXY, or log in to the network with a browser", func(c net.Conn) {
			write(c, []byte("HTTP/1.1 302 Found\r\nLocation: http://login.invalid/\r\n\r\n"))
		}, 1},
		{"407", "put user and password", func(c net.Conn) { write(c, []byte("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")) }, 1},
		{"407 in other words", "put user and password", func(c net.Conn) { write(c, []byte("HTTP/1.1 407 Who are you?\r\n\r\n")) }, 1},
		{"503", "does not connect to", func(c net.Conn) { write(c, []byte("HTTP/1.1 503 Down\r\n\r\n")) }, 2},
		{"nothing", "closed the connection", func(net.Conn) {}, 2},
		{"no HTTP", "not HTTP", func(c net.Conn) { write(c, []byte("\x05\x00")) }, 1},
		{"headers without end", "", func(c net.Conn) {
			write(c, []byte("HTTP/1.1 200 OK\r\n"))
			pour(c, []byte("X-Long: a\r\n"), 100<<20)
		}, 2},
		{"no answer", "timed out", func(c net.Conn) { _, _ = c.Read(make([]byte, 1)) }, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			proxy := rawAPI(t, func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				if r.Method != http.MethodConnect || r.Header.Get("Authorization") != "" {
					t.Errorf("the proxy got a %s with %v", r.Method, r.Header)
				}
				spoken(tt.answer)(w, r)
			})
			env := []string{"OPENAI_API_KEY=" + key, "OPENAI_BASE_URL=https://api.invalid/v1", "OPENAI_MAX_RETRIES=1", "HTTPS_PROXY=" + strings.TrimSuffix(proxy.url, "/v1")}
			if tt.requests == 0 {
				env = append(env, "OPENAI_API_TIMEOUT=200")
			}
			c := begin(t, setup{env: env})
			c.line(ask("1", "x"))
			checkFault(t, c.want("1").fault(t), tt.message, "", false)
			if n := requests.Load(); tt.requests != 0 && n != tt.requests {
				t.Errorf("the proxy was asked %d times, want %d", n, tt.requests)
			}
			checkPeak(t, c, 64)
			c.done()
		})
	}
}
