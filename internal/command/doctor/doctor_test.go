package doctor

import (
	"net/http"
	"net/url"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/caarlos0/env/v11"

	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/advice"
	"github.com/uchimanajet7/openai-responses-mcp/internal/service"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// row is a check, and its verdict and text.
type row struct {
	name  string
	check Check
	want  string
}

func testRows(t *testing.T, rows []row) {
	t.Helper()

	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got := r.check.Verdict + ": " + r.check.Text
			compare.Equal(t, "check", got, r.want)
		})
	}
}

// testTable tests checks of the values of a table.
func testTable(t *testing.T, name string, check func(value string) Check) {
	t.Helper()
	var rows []row
	for _, words := range compare.Table(t, name, 3) {
		rows = append(rows, row{words[0], check(words[1]), words[2]})
	}
	testRows(t, rows)
}

func TestShutdown(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	testTable(t, "shutdown", func(date string) Check {
		return shutdownCheck("m", []byte(`{"id":"m","shutdown_date":`+date+`}`), now, "hint")
	})
}

func TestBaseURL(t *testing.T) {
	testTable(t, "base-url", func(address string) Check {
		return baseURLCheck(advice.Setting{Value: address, From: "X"})
	})
}

func TestProxy(t *testing.T) {
	proxy := &url.URL{
		Scheme: "http",
		User:   url.UserPassword("me", "secret"),
		Host:   "proxy.example:3128",
	}
	// proxied has the proxy that net/http returns.
	proxied := func(base string, proxy *url.URL, environ ...string) Check {
		s := &service.Service{
			Getenv: func(name string) string { return env.ToMap(environ)[name] },
		}
		s.Advisor.BaseURL.Value = base
		s.Advisor.ProxyVariable = "HTTPS_PROXY"
		return proxyCheck(s, func(*http.Request) (*url.URL, error) { return proxy, nil })
	}
	const remote = "https://api.example/v1"
	const set = "HTTPS_PROXY=%zz"
	const notURL = "warn: HTTPS_PROXY is set, but is not the URL of a proxy"
	const exempt = "ok: none, because of NO_PROXY or as the API is on this machine"
	testRows(t, []row{
		{"none", proxied(remote, nil), "ok: none"},
		{"password", proxied(remote, proxy), "ok: http://proxy.example:3128 (HTTPS_PROXY)"},
		{"not a URL", proxied(remote, nil, set), notURL},
		{"scheme", proxied(remote, &url.URL{Scheme: "htp", Host: "p:1"}, set), notURL},
		{"no port", proxied(remote, &url.URL{Scheme: "http", Host: "http:"}, set), notURL},
		{
			"IPv6",
			proxied(remote, &url.URL{Scheme: "http", Host: "[::1]:1"}),
			"ok: http://[::1]:1 (HTTPS_PROXY)",
		},
		{"exception", proxied(remote, nil, set, "NO_PROXY=x"), exempt},
		{"local API", proxied("http://localhost/v1", nil, set), exempt},
	})
}

// The day is that of the time zone.
func TestDates(t *testing.T) {
	tokyo, _ := time.LoadLocation("Asia/Tokyo")
	evening := time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	want := "today is 2026-11-22 in Asia/Tokyo, set by policy.timezone"
	compare.Equal(t, "check", datesCheck(tokyo, evening).Text, want)
}

// The text and the hint of a check are lines. Servers and files may have written parts of them.
func TestLines(t *testing.T) {
	var checks checklist
	checks.add("http", fail("the server\n said \x1b[2J", "try\nagain"))
	const want = "fail  http                   the server said [2J\n      -> try again\n"
	compare.Equal(t, "text", FormatText(checks), want)
}
