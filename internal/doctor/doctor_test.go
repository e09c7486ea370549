package doctor

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/caarlos0/env/v11"
	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/advice"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
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
			if got != r.want {
				t.Errorf("got %s, want %s", got, r.want)
			}
		})
	}
}

// load loads a configuration from c.yaml.
func load(t *testing.T, yaml string, environ ...string) *config.Config {
	t.Helper()
	t.Chdir(t.TempDir())
	writeErr := os.WriteFile("c.yaml", []byte(yaml), 0o600)
	cfg, _, err := config.Load(config.Flags{Config: new("c.yaml")}, environ)
	if err := errors.Join(writeErr, err); err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestShutdown(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	on := func(date string) Check {
		model := []byte(`{"id":"m","shutdown_date":` + date + `}`)
		return shutdown("model answer", "m", model, now, "hint")
	}
	testRows(t, []row{
		{"null", on(`null`), "ok: m is there"},
		{"list", on(`["soon"]`), "ok: m is there"},
		{"no date", on(`"some day"`), "ok: m is there"},
		{"in 121 days", on(`"2027-03-21"`), "ok: m is there until 2027-03-21"},
		{
			"in 120 days",
			on(`"2027-03-20"`),
			"warn: m is shut down on 2027-03-20 (days left: 120)",
		},
		{"tomorrow", on(`"2026-11-21"`), "warn: m is shut down on 2026-11-21 (days left: 1)"},
		{"today", on(`"2026-11-20"`), "fail: m was shut down on 2026-11-20"},
	})
}

func TestBaseURL(t *testing.T) {
	const before = "warn: openai.base_url is plain http to "
	const after = ": the API key is sent unencrypted"
	base := func(address string) Check {
		return baseURLCheck(advice.Setting{Value: address, From: "X"})
	}
	testRows(t, []row{
		{"https", base("https://h/v1"), "ok: https://h/v1 (X)"},
		{"host", base("http://h.example:8080/v1"), before + "h.example" + after},
		{"password", base("HTTP://me:secret@10.0.0.7/v1"), before + "10.0.0.7" + after},
		{"IPv6", base("http://[2001:db8::1]/v1"), before + "2001:db8::1" + after},
		{"like localhost", base("http://localhost.example"), before + "localhost.example" + after},
		{"localhost", base("http://localhost:11434/v1"), "ok: http://localhost:11434/v1 (X)"},
		{"below localhost", base("http://api.LOCALHOST/v1"), "ok: http://api.LOCALHOST/v1 (X)"},
		{"IPv4 loopback", base("http://127.8.9.1/v1"), "ok: http://127.8.9.1/v1 (X)"},
		{"IPv6 loopback", base("http://[::1]:1/v1"), "ok: http://[::1]:1/v1 (X)"},
	})
}

func TestProxy(t *testing.T) {
	const remote = "https://api.example/v1"
	const local = "http://localhost/v1"
	const set = "HTTPS_PROXY=http://p"
	// proxied has the proxy that net/http returns.
	proxied := func(base string, proxy *url.URL, environ ...string) Check {
		rule := func(*http.Request) (*url.URL, error) { return proxy, nil }
		getenv := func(name string) string { return env.ToMap(environ)[name] }
		return proxyCheck(base, "HTTPS_PROXY", rule, getenv)
	}
	proxy, err := url.Parse("http://me:secret@proxy.example:3128")
	if err != nil {
		t.Fatal(err)
	}
	testRows(t, []row{
		{"none", proxied(remote, nil), "ok: none"},
		{"password", proxied(remote, proxy), "ok: http://proxy.example:3128 (HTTPS_PROXY)"},
		{
			"not a URL",
			proxied(remote, nil, "HTTPS_PROXY=%zz"),
			"warn: HTTPS_PROXY is set but not used: it is not the URL of a proxy",
		},
		{
			"exception",
			proxied(remote, nil, set, "NO_PROXY=.example"),
			"ok: none, because of NO_PROXY",
		},
		{
			"local API",
			proxied(local, nil, set),
			"ok: none, as the API is on this machine",
		},
	})
}

func TestLocationAndDates(t *testing.T) {
	now := time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	bare := load(t, "")
	noPlace := load(t, "search: {user_location: {}}")
	place := load(t, "search: {user_location: {country: JP, city: Tokyo}}")
	utc := load(t, "policy: {timezone: UTC}")
	testRows(t, []row{
		{
			"no location",
			locationCheck(bare),
			"ok: search.user_location is not set: the API searches as if from the United States",
		},
		{
			"empty location",
			locationCheck(noPlace),
			"ok: search.user_location is empty: the API searches from no place",
		},
		{"location", locationCheck(place), "ok: the API searches as if from Tokyo, JP"},
		{
			"default time zone",
			datesCheck(bare, now),
			"ok: today is 2026-11-22 in Asia/Tokyo, set by policy.timezone (default)",
		},
		{
			"time zone",
			datesCheck(utc, now),
			"ok: today is 2026-11-21 in UTC, set by policy.timezone (c.yaml:1)",
		},
	})
}

func TestReport(t *testing.T) {
	details := pass("config", "read config.yaml")
	details.Details = []string{"server.debug from DEBUG"}
	checks := []Check{
		details,
		warn("config", "config.yaml:3: server.transport: hidden", "remove it"),
		fail("http", "the server\n said \x1b[2J", "try\nagain"),
	}
	const want = `ok    config                 read config.yaml
      server.debug from DEBUG
warn  config                 config.yaml:3: server.transport: hidden
      -> remove it
fail  http                   the server said [2J
      -> try again
`
	if diff := cmp.Diff(want, Text(checks)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}

	type report struct {
		Version, Verdict string
		Checks           []Check
	}
	var got report
	err := json.Unmarshal([]byte(JSON(checks)), &got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(report{version.String(), "fail", checks}, got); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}
