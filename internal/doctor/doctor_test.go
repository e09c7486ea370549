package doctor

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/advice"
	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

func TestChecks(t *testing.T) {
	t.Chdir(t.TempDir())
	life := func(model string) Check {
		return shutdown("model answer", "gpt-5.2", []byte(model), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), "hint")
	}
	base := func(address string) Check { return baseURLCheck(advice.Setting{Value: address, From: "X"}) }
	// proxy is what net/http returns.
	proxied := func(base string, proxy *url.URL, env map[string]string) Check {
		rule := func(*http.Request) (*url.URL, error) { return proxy, nil }
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
	for _, tt := range []struct {
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

		{proxied(api, nil, nil), "ok: none"},
		{proxied(api, &url.URL{Scheme: "http", User: url.UserPassword("me", "secret"), Host: "proxy.example:3128"}, nil), "ok: http://proxy.example:3128 (HTTPS_PROXY)"},
		{proxied(api, nil, map[string]string{"HTTPS_PROXY": "%zz"}), "warn: HTTPS_PROXY is set but not used: it is not the URL of a proxy"},
		{proxied(api, nil, map[string]string{"HTTPS_PROXY": "http://p", "NO_PROXY": ".example"}), "ok: none, because of NO_PROXY"},
		{proxied(local, nil, map[string]string{"HTTPS_PROXY": "http://p"}), "ok: none, as the API is on this machine"},

		{place(""), "ok: search.user_location is not set: the API searches as if from the United States"},
		{place("search: {user_location: {}}"), "ok: search.user_location is empty: the API searches from no place"},
		{place("search: {user_location: {country: JP, city: Tokyo}}"), "ok: the API searches as if from Tokyo, JP"},
		{dates(""), "ok: today is 2026-11-22 in Asia/Tokyo, set by policy.timezone (default)"},
		{dates("search:\npolicy: {timezone: UTC}"), "ok: today is 2026-11-21 in UTC, set by policy.timezone (c.yaml:2)"},
	} {
		if got := tt.check.Verdict + ": " + tt.check.Text; got != tt.want {
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
	err := json.Unmarshal([]byte(JSON(checks)), &back)
	if diff := cmp.Diff(checks, back.Checks); diff != "" || err != nil || back.Verdict != "fail" || back.Version != version.String() {
		t.Errorf("as JSON: version %q, verdict %q (-want +got):\n%s", back.Version, back.Verdict, diff)
	}
}

// Each problem is one failure with its hint; what follows from it is a warning.
func TestProbe(t *testing.T) {
	const http, sent = "ok http: answers in 0 ms", "; effort and verbosity are not sent: it takes neither"
	const unknown = "warn model answer: x was not looked up" + sent + " -> see the checks above"
	fault := func(kind llm.Kind, status int, message string) func(*probe) {
		return func(p *probe) { p.models, p.fault = nil, &llm.Error{Kind: kind, Status: status, Message: message} }
	}
	for _, tt := range []struct {
		name   string
		change func(*probe)
		want   []string
	}{
		{"healthy", func(*probe) {}, []string{"ok key: K is set and accepted", http, "ok model answer: x is there" + sent}},
		{"offline", func(p *probe) { p.Offline, p.Config.KeySet = true, false }, []string{"ok key: none is needed with --offline", http, "ok model answer: x is there" + sent}},
		{"no key", func(p *probe) { fault(llm.KindAuth, 401, "")(p); p.Config.KeySet = false }, []string{
			"fail key: K is not set -> set K to a key for api.example (any text if that server needs none) where the client starts the server; setup CLIENT shows how, --offline needs none",
			http, unknown}},
		{"refused key", fault(llm.KindAuth, 401, "Incorrect API key"), []string{
			"fail key: K is set, but the API refused the key (401) -> set K to a complete and current key for api.example", http, unknown}},
		{"key in quotes, no connection", func(p *probe) {
			fault(llm.KindConnection, 0, "reset")(p)
			p.Advisor.KeyFlaw = "it has quotes around it"
		}, []string{"warn key: K is set, but it has quotes around it -> put the key alone into K",
			"fail http: connection failed: reset -> check the network, openai.base_url, HTTPS_PROXY and the firewall", unknown}},
		{"timeout", fault(llm.KindTimeout, 0, ""), []string{"ok key: K is set",
			"fail http: no answer within 15s -> check the network, the firewall, openai.base_url and HTTPS_PROXY; try again later", unknown}},
		{"key without the scope", fault(llm.KindAuth, 401, "Missing scopes: api.model.read"), []string{"ok key: K is set",
			"warn http: the key may not read models (401): Missing scopes: api.model.read -> give the key that right, or see with --live whether it may ask questions", unknown}},
		{"server without models", fault(llm.KindNotFound, 404, ""), []string{"ok key: K is set",
			"fail http: not found (404) -> check openai.base_url (Y): it ends with the version, as in https://api.openai.com/v1, or see with --live whether it answers questions", unknown}},
		{"server without models that answers", func(p *probe) { p.models, p.answered = nil, "x" }, []string{
			"ok key: K is set and accepted", http, "ok model answer: x answers questions, but cannot be looked up" + sent}},
		{"no such model", func(p *probe) { p.models["x"] = nil }, []string{
			"ok key: K is set and accepted", http, "fail model answer: x: model not found -> M is x (Y): name another model there"}},
	} {
		p := &probe{models: map[string]json.RawMessage{"x": json.RawMessage(`{"id":"x"}`)}, Options: Options{
			Config: &config.Config{Derived: &config.Derived{KeySet: true}},
			Advisor: advice.Advisor{Key: "K", Proxy: "HTTPS_PROXY", BaseURL: advice.Setting{Value: "https://api.example/v1", From: "Y"},
				Models: map[string]advice.Setting{"answer": {Name: "M", Value: "x", From: "Y"}}},
			Profiles: map[string]answer.Profile{"answer": {Model: "x"}},
		}}
		tt.change(p)
		var got []string
		for _, c := range []Check{p.key(), p.http(), p.model("answer")} {
			got = append(got, strings.TrimSuffix(c.Verdict+" "+c.Name+": "+c.Text+" -> "+c.Hint, " -> "))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
