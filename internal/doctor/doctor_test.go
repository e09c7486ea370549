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

	"github.com/uchimanajet7/openai-responses-mcp/internal/advice"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// line returns a check as verdict and text.
func line(c Check) string { return c.Verdict + ": " + c.Text }

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
	for _, tt := range []struct{ name, date, want string }{
		{"null", `null`, "ok: gpt-5.2 is there"},
		{"list", `["soon"]`, "ok: gpt-5.2 is there"},
		{"no date", `"some day"`, "ok: gpt-5.2 is there"},
		{"in 121 days", `"2027-03-21"`, "ok: gpt-5.2 is there until 2027-03-21"},
		{
			"in 120 days",
			`"2027-03-20"`,
			"warn: gpt-5.2 is shut down on 2027-03-20 (days left: 120)",
		},
		{
			"tomorrow",
			`"2026-11-21"`,
			"warn: gpt-5.2 is shut down on 2026-11-21 (days left: 1)",
		},
		{"today", `"2026-11-20"`, "fail: gpt-5.2 was shut down on 2026-11-20"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := []byte(`{"id":"gpt-5.2","shutdown_date":` + tt.date + `}`)
			got := line(shutdown("model answer", "gpt-5.2", body, now, "hint"))
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestBaseURL(t *testing.T) {
	for _, tt := range []struct{ address, clearTextTo string }{
		{"https://api.openai.com/v1", ""},
		{"http://api.example:8080/v1", "api.example"},
		{"HTTP://me:secret@10.0.0.7/v1", "10.0.0.7"},
		{"http://[2001:db8::1]/v1", "2001:db8::1"},
		{"http://localhost.example/v1", "localhost.example"},
		{"http://localhost:11434/v1", ""},
		{"http://api.LOCALHOST/v1", ""},
		{"http://127.8.9.1/v1", ""},
		{"http://[::1]:1/v1", ""},
	} {
		t.Run(tt.address, func(t *testing.T) {
			want := "ok: " + tt.address + " (X)"
			if tt.clearTextTo != "" {
				want = "warn: openai.base_url is plain http to " + tt.clearTextTo +
					": the API key is sent unencrypted"
			}

			got := line(baseURLCheck(advice.Setting{Value: tt.address, From: "X"}))
			if got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestProxy(t *testing.T) {
	const api = "https://api.example/v1"
	for _, tt := range []struct {
		name    string
		base    string
		proxy   string // what net/http returns
		environ map[string]string
		want    string
	}{
		{
			name: "none",
			base: api,
			want: "ok: none",
		},
		{
			name:  "with a password",
			base:  api,
			proxy: "http://me:secret@proxy.example:3128",
			want:  "ok: http://proxy.example:3128 (HTTPS_PROXY)",
		},
		{
			name:    "not a URL",
			base:    api,
			environ: map[string]string{"HTTPS_PROXY": "%zz"},
			want:    "warn: HTTPS_PROXY is set but not used: it is not the URL of a proxy",
		},
		{
			name:    "exception",
			base:    api,
			environ: map[string]string{"HTTPS_PROXY": "http://p", "NO_PROXY": ".example"},
			want:    "ok: none, because of NO_PROXY",
		},
		{
			name:    "local API",
			base:    "http://localhost/v1",
			environ: map[string]string{"HTTPS_PROXY": "http://p"},
			want:    "ok: none, as the API is on this machine",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rule := func(*http.Request) (*url.URL, error) {
				if tt.proxy == "" {
					return nil, nil
				}
				return url.Parse(tt.proxy)
			}
			getenv := func(name string) string { return tt.environ[name] }

			got := line(proxyCheck(tt.base, "HTTPS_PROXY", rule, getenv))
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestLocation(t *testing.T) {
	for _, tt := range []struct{ name, yaml, want string }{
		{
			"not set",
			"",
			"ok: search.user_location is not set: the API searches as if from the United States",
		},
		{
			"empty",
			"search: {user_location: {}}",
			"ok: search.user_location is empty: the API searches from no place",
		},
		{
			"set",
			"search: {user_location: {country: JP, city: Tokyo}}",
			"ok: the API searches as if from Tokyo, JP",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := line(locationCheck(load(t, tt.yaml)))
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestDates(t *testing.T) {
	now := time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	const set = "set by policy.timezone"
	for _, tt := range []struct{ name, yaml, want string }{
		{"default", "", "ok: today is 2026-11-22 in Asia/Tokyo, " + set + " (default)"},
		{"file", "policy: {timezone: UTC}", "ok: today is 2026-11-21 in UTC, " + set + " (c.yaml:1)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := line(datesCheck(load(t, tt.yaml), now))
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
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
