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

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// line is a check as `verdict: text`.
func line(c Check) string { return c.Verdict + ": " + c.Text }

func TestChecks(t *testing.T) {
	t.Chdir(t.TempDir())
	life := func(model string) Check {
		return shutdown("model answer", "gpt-5.2", []byte(model), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), "hint")
	}
	base := func(address string) Check { return baseURLCheck(answer.Setting{Value: address, From: "X"}) }
	// proxy is what net/http returns, "": nil.
	proxied := func(base, proxy string, env map[string]string) Check {
		rule := func(*http.Request) (*url.URL, error) {
			if proxy == "" {
				return nil, nil
			}
			return url.Parse(proxy)
		}
		return proxyCheck(base, "HTTPS_PROXY", rule, func(name string) string { return env[name] })
	}
	load := func(yaml string) *config.Config {
		writeErr := os.WriteFile("c.yaml", []byte(yaml), 0o600)
		cfg, _, err := config.Load(config.Flags{Config: new("c.yaml")}, nil)
		if err = errors.Join(writeErr, err); err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	place := func(yaml string) Check { return locationCheck(load(yaml)) }
	dates := func(yaml string) Check { return datesCheck(load(yaml), time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)) }
	const api, local = "https://api.example/v1", "http://localhost/v1"
	tests := []struct {
		check Check
		want  string
	}{
		{life(`{"data":{"id":"gpt-5.2"}}`), "ok: gpt-5.2 is there"},
		{life(`{"id":"gpt-5.2","shutdown_date":null}`), "ok: gpt-5.2 is there"},
		{life(`{"id":"gpt-5.2","shutdown_date":["soon"]}`), "ok: gpt-5.2 is there"},
		{life(`{"id":"gpt-5.2","shutdown_date":"some day"}`), "ok: gpt-5.2 is there"},
		{life(`{"id":"gpt-5.2","shutdown_date":"2027-03-21"}`), "ok: gpt-5.2 is there until 2027-03-21"},
		{life(`{"id":"gpt-5.2","shutdown_date":"2027-03-20"}`), "warn: gpt-5.2 is shut down on 2027-03-20 (days left: 120)"},
		{life(`{"id":"gpt-5.2","shutdown_date":"2026-11-21"}`), "warn: gpt-5.2 is shut down on 2026-11-21 (days left: 1)"},
		{life(`{"id":"gpt-5.2","shutdown_date":"2026-11-20"}`), "fail: gpt-5.2 was shut down on 2026-11-20"},

		{base("https://api.openai.com/v1"), "ok: https://api.openai.com/v1 (X)"},
		{base("http://api.example:8080/v1"), "warn: openai.base_url is plain http to api.example: the API key is sent unencrypted"},
		{base("HTTP://me:secret@10.0.0.7/v1"), "warn: openai.base_url is plain http to 10.0.0.7: the API key is sent unencrypted"},
		{base("http://[2001:db8::1]/v1"), "warn: openai.base_url is plain http to 2001:db8::1: the API key is sent unencrypted"},
		{base("http://localhost.example/v1"), "warn: openai.base_url is plain http to localhost.example: the API key is sent unencrypted"},
		{base("http://localhost:11434/v1"), "ok: http://localhost:11434/v1 (X)"},
		{base("http://api.LOCALHOST/v1"), "ok: http://api.LOCALHOST/v1 (X)"},
		{base("http://127.8.9.1/v1"), "ok: http://127.8.9.1/v1 (X)"},
		{base("http://[::1]:1/v1"), "ok: http://[::1]:1/v1 (X)"},

		{proxied(api, "", nil), "ok: none"},
		{proxied(api, "http://me:secret@proxy.example:3128", nil), "ok: http://proxy.example:3128 (HTTPS_PROXY)"},
		{proxied(api, "", map[string]string{"HTTPS_PROXY": "%zz"}), "warn: HTTPS_PROXY is set but not used: it is not the URL of a proxy"},
		{proxied(api, "", map[string]string{"HTTPS_PROXY": "http://p", "NO_PROXY": ".example"}), "ok: none, because of NO_PROXY"},
		{proxied(local, "", map[string]string{"HTTPS_PROXY": "http://p"}), "ok: none, as the API is on this machine"},

		{place(""), "ok: search.user_location is not set: the API searches as if from the United States"},
		{place("search: {user_location: {}}"), "ok: search.user_location is empty: the API searches from no place"},
		{place("search: {user_location: {country: JP, city: Tokyo}}"), "ok: the API searches as if from Tokyo, JP"},
		{dates(""), "ok: today is 2026-11-22 in Asia/Tokyo, set by policy.timezone (default)"},
		{dates("search:\npolicy: {timezone: UTC}"), "ok: today is 2026-11-21 in UTC, set by policy.timezone (c.yaml:2)"},
	}
	for _, tt := range tests {
		if got := line(tt.check); got != tt.want {
			t.Errorf("got %s\nwant %s", got, tt.want)
		}
	}
}

func TestReport(t *testing.T) {
	checks := []Check{
		{Name: "config", Verdict: "ok", Text: "read config.yaml", Details: []string{"server.debug from DEBUG"}},
		warn("config", "config.yaml:3: server.transport: hidden", "remove it"),
		fail("http", "the server\n said \x1b[2J", "try\nagain"),
	}
	want := `ok    config                 read config.yaml
      server.debug from DEBUG
warn  config                 config.yaml:3: server.transport: hidden
      -> remove it
fail  http                   the server said [2J
      -> try again
`
	if diff := cmp.Diff(want, Text(checks)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	var back struct {
		Version, Verdict string
		Checks           []Check
	}
	if err := json.Unmarshal([]byte(JSON(checks)), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(checks, back.Checks); diff != "" || back.Verdict != "fail" || back.Version != version.String() {
		t.Errorf("as JSON: version %q, verdict %q (-want +got):\n%s", back.Version, back.Verdict, diff)
	}
}
