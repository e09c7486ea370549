package doctor

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// line is a check as `verdict: text`.
func line(c Check) string { return c.Verdict + ": " + c.Text }

func TestShutdown(t *testing.T) {
	tests := []struct{ body, want string }{
		{`{"data":{"id":"gpt-5.2"}}`, "ok: gpt-5.2 is there"},
		{`{"id":"gpt-5.2","shutdown_date":null}`, "ok: gpt-5.2 is there"},
		{`{"id":"gpt-5.2","shutdown_date":["soon"]}`, "ok: gpt-5.2 is there"},
		{`{"id":"gpt-5.2","shutdown_date":"some day"}`, "ok: gpt-5.2 is there"},
		{`{"id":"gpt-5.2","shutdown_date":"2027-03-21"}`, "ok: gpt-5.2 is there until 2027-03-21"},
		{`{"id":"gpt-5.2","shutdown_date":"2027-03-20"}`, "warn: gpt-5.2 is shut down on 2027-03-20 (days left: 120)"},
		{`{"id":"gpt-5.2","shutdown_date":"2026-11-21"}`, "warn: gpt-5.2 is shut down on 2026-11-21 (days left: 1)"},
		{`{"id":"gpt-5.2","shutdown_date":"2026-11-20"}`, "fail: gpt-5.2 was shut down on 2026-11-20"},
	}
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, tt := range tests {
		if got := line(shutdown("model answer", "gpt-5.2", []byte(tt.body), now, "hint")); got != tt.want {
			t.Errorf("of %s: %q, want %q", tt.body, got, tt.want)
		}
	}
}

func TestBaseURL(t *testing.T) {
	tests := []struct{ base, want string }{
		{"https://api.openai.com/v1", "ok: https://api.openai.com/v1 (X)"},
		{"http://api.example:8080/v1", "warn: openai.base_url is plain http to api.example: the API key is sent unencrypted"},
		{"HTTP://me:secret@10.0.0.7/v1", "warn: openai.base_url is plain http to 10.0.0.7: the API key is sent unencrypted"},
		{"http://[2001:db8::1]/v1", "warn: openai.base_url is plain http to 2001:db8::1: the API key is sent unencrypted"},
		{"http://localhost.example/v1", "warn: openai.base_url is plain http to localhost.example: the API key is sent unencrypted"},
		{"http://localhost:11434/v1", "ok: http://localhost:11434/v1 (X)"},
		{"http://api.LOCALHOST/v1", "ok: http://api.LOCALHOST/v1 (X)"},
		{"http://127.8.9.1/v1", "ok: http://127.8.9.1/v1 (X)"},
		{"http://[::1]:1/v1", "ok: http://[::1]:1/v1 (X)"},
	}
	for _, tt := range tests {
		if got := line(baseURLCheck(tt.base, "X")); got != tt.want {
			t.Errorf("baseURLCheck(%q) = %q, want %q", tt.base, got, tt.want)
		}
	}
}

func TestPlaceAndTime(t *testing.T) {
	for yaml, want := range map[string][2]string{
		"": {"ok: search.user_location is not set: the API searches as if from the United States",
			"ok: today is 2026-11-22 in Asia/Tokyo, set by policy.timezone (default)"},
		"search: {user_location: {}}\npolicy: {timezone: UTC}": {"ok: search.user_location is empty: the API searches from no place",
			"ok: today is 2026-11-21 in UTC, set by policy.timezone (c.yaml:2)"},
		"search: {user_location: {country: JP, city: Tokyo}}": {"ok: the API searches as if from Tokyo, JP",
			"ok: today is 2026-11-22 in Asia/Tokyo, set by policy.timezone (default)"},
	} {
		cfg, _, err := config.Load(config.Input{
			Flags:    config.Flags{Config: new("c.yaml")},
			ReadFile: func(string) ([]byte, error) { return []byte(yaml), nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		got := [2]string{line(locationCheck(cfg)), line(datesCheck(cfg, time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)))}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", yaml, diff)
		}
	}
}

func TestProxy(t *testing.T) {
	const api, local = "https://api.example/v1", "http://localhost/v1"
	tests := []struct {
		base, proxy string // proxy as net/http returns it, "": nil
		env         map[string]string
		want        string
	}{
		{api, "", nil, "ok: none"},
		{api, "http://me:secret@proxy.example:3128", nil, "ok: http://proxy.example:3128 (HTTPS_PROXY)"},
		{api, "", map[string]string{"HTTPS_PROXY": "%zz"}, "warn: HTTPS_PROXY is set but not used: it is not the URL of a proxy"},
		{api, "", map[string]string{"HTTPS_PROXY": "http://p", "NO_PROXY": ".example"}, "ok: none, because of NO_PROXY"},
		{local, "", map[string]string{"HTTPS_PROXY": "http://p"}, "ok: none, as the API is on this machine"},
	}
	for _, tt := range tests {
		rule := func(*http.Request) (*url.URL, error) {
			if tt.proxy == "" {
				return nil, nil
			}
			return url.Parse(tt.proxy)
		}
		if got := line(proxyCheck(tt.base, "HTTPS_PROXY", rule, func(name string) string { return tt.env[name] })); got != tt.want {
			t.Errorf("%s through %q with %v: %s, want %s", tt.base, tt.proxy, tt.env, got, tt.want)
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
