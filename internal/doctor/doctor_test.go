package doctor

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/caarlos0/env/v11"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/advice"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
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
		return shutdown("m", model, now, "hint")
	}
	testRows(t, []row{
		{"null", on(`null`), "ok: m is there"},
		{"no date", on(`"some day"`), "ok: m is there"},
		{"in 121 days", on(`"2027-03-21"`), "ok: m is there until 2027-03-21"},
		{"in 120 days", on(`"2027-03-20"`), "warn: m is shut down on 2027-03-20"},
		{"tomorrow", on(`"2026-11-21"`), "warn: m is shut down on 2026-11-21"},
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
		{"password", base("HTTP://me:secret@10.0.0.7/v1"), before + "10.0.0.7" + after},
		{"IPv6", base("http://[2001:db8::1]/v1"), before + "2001:db8::1" + after},
		{"like localhost", base("http://localhost.example"), before + "localhost.example" + after},
		{"below localhost", base("http://api.LOCALHOST/v1"), "ok: http://api.LOCALHOST/v1 (X)"},
		{"IPv6 loopback", base("http://[::1]:1/v1"), "ok: http://[::1]:1/v1 (X)"},
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
		o := Options{Getenv: func(name string) string { return env.ToMap(environ)[name] }}
		o.Advisor.BaseURL.Value = base
		o.Advisor.Proxy = "HTTPS_PROXY"
		return o.proxyCheck(func(*http.Request) (*url.URL, error) { return proxy, nil })
	}
	const remote = "https://api.example/v1"
	const set = "HTTPS_PROXY=%zz"
	const exempt = "ok: none, because of NO_PROXY or as the API is on this machine"
	testRows(t, []row{
		{"none", proxied(remote, nil), "ok: none"},
		{"password", proxied(remote, proxy), "ok: http://proxy.example:3128 (HTTPS_PROXY)"},
		{
			"not a URL",
			proxied(remote, nil, set),
			"warn: HTTPS_PROXY is set but not used: it is not the URL of a proxy",
		},
		{"exception", proxied(remote, nil, set, "NO_PROXY=x"), exempt},
		{"local API", proxied("http://localhost/v1", nil, set), exempt},
	})
}

func TestDatesAndLocation(t *testing.T) {
	tokyo, _ := time.LoadLocation("Asia/Tokyo")
	evening := time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	testRows(t, []row{
		{
			"next day",
			datesCheck(tokyo, evening),
			"ok: today is 2026-11-22 in Asia/Tokyo, set by policy.timezone",
		},
		{
			"no location",
			locationCheck(load(t, "")),
			"ok: search.user_location is not set: the API searches as if from the United States",
		},
		{
			"empty location",
			locationCheck(load(t, "search: {user_location: {}}")),
			"ok: search.user_location is empty: the API searches from no place",
		},
		{
			"location",
			locationCheck(load(t, "search: {user_location: {country: JP, city: Tokyo}}")),
			"ok: the API searches as if from Tokyo, JP",
		},
	})
}

func TestReport(t *testing.T) {
	var checks checklist
	checks.addConfig(Options{Backend: Backend{Config: load(t, "server: {debug: true}")}})
	checks.addConfig(Options{
		Err:      errors.New("c.yaml:1: a\nc.yaml:2: b"),
		Warnings: []string{"c.yaml:3: ignored"},
	})
	checks.add("http", fail("the server\n said \x1b[2J", "try\nagain"))

	const want = `ok    config                 read c.yaml
      server.debug from c.yaml:1
warn  config                 the rest was not checked
      -> correct the configuration (config/config.yaml.example has every key) and run doctor again
warn  config                 c.yaml:3: ignored
fail  config                 c.yaml:1: a
fail  config                 c.yaml:2: b
fail  http                   the server said [2J
      -> try again
`

	compare.Equal(t, "text", Text(checks), want)

	const members = "[verdict,checks.4.text,checks.0.details,checks.5.hint]"
	const wantJSON = `["fail","c.yaml:3: ignored",["server.debug from c.yaml:1"],"try again"]`

	got := gjson.Get(JSON(checks), members+"|@ugly").Raw
	compare.Equal(t, "JSON", got, wantJSON)
}
