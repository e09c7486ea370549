package llm

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHeaders(t *testing.T) {
	// Whether a variable counts is for the configuration to say.
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"} {
		t.Setenv(name, "http://from.the.environment/")
	}
	api := &scripted{steps: []step{answer(200, finished)}}
	c := New(Options{
		BaseURL: "http://api.test/v1", APIKey: " sk-test-0123456789\n", Organization: "org-1", Project: "proj_1",
		UserAgent: "openai-responses-mcp/0.9.0", HTTPClient: &http.Client{Transport: api},
	})
	if _, err := c.Create(t.Context(), question()); err != nil {
		t.Fatal(err)
	}
	want := http.Header{
		"Accept":              {"application/json"},
		"Authorization":       {"Bearer sk-test-0123456789"},
		"Content-Type":        {"application/json"},
		"Openai-Organization": {"org-1"},
		"Openai-Project":      {"proj_1"},
		"User-Agent":          {"openai-responses-mcp/0.9.0"},
	}
	if diff := cmp.Diff(want, api.header); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

// Headers of the configuration come last, and one that identifies the caller
// leaves no place for a bearer header of ours.
func TestOwnHeaders(t *testing.T) {
	for _, tt := range []struct {
		key     string
		headers map[string]string
		want    http.Header // of the ones below
	}{
		{"sk-test", nil, http.Header{"Authorization": {"Bearer sk-test"}}},
		{"sk-test", map[string]string{"X-Team": "a"}, http.Header{"Authorization": {"Bearer sk-test"}, "X-Team": {"a"}}},
		{"", map[string]string{"api-key": "azure"}, http.Header{"Api-Key": {"azure"}}},
		{"sk-test", map[string]string{"API-KEY": "azure"}, http.Header{"Api-Key": {"azure"}}},
		{"sk\nbroken", map[string]string{"authorization": "Token t"}, http.Header{"Authorization": {"Token t"}}},
	} {
		api := &scripted{steps: []step{answer(200, finished)}}
		c := New(Options{BaseURL: "http://api.test/v1", APIKey: tt.key, Headers: tt.headers, HTTPClient: &http.Client{Transport: api}})
		if _, err := c.Create(t.Context(), question()); err != nil {
			t.Errorf("key %q and headers %v: %v", tt.key, tt.headers, err)
			continue
		}
		got := http.Header{}
		for _, name := range []string{"Authorization", "Api-Key", "X-Team"} {
			if v := api.header.Values(name); v != nil {
				got[name] = v
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("key %q and headers %v (-want +got):\n%s", tt.key, tt.headers, diff)
		}
	}
	c := New(Options{Headers: map[string]string{"api-key": "", "X-Team": "a"}, KeyEnv: "AZURE_KEY"})
	if _, err := c.Create(t.Context(), question()); asError(t, err).Message != "Missing API key: set AZURE_KEY" {
		t.Errorf("without an identity: %v", err)
	}
}

func TestBaseURL(t *testing.T) {
	for base, want := range map[string]string{
		"":                           "https://api.openai.com/v1/responses",
		"https://api.openai.com/v1":  "https://api.openai.com/v1/responses",
		"https://api.openai.com/v1/": "https://api.openai.com/v1/responses",
		"http://127.0.0.1:8080":      "http://127.0.0.1:8080/responses",
		" http://127.0.0.1:8080/ ":   "http://127.0.0.1:8080/responses",
		"https://x.example/openai/v1?api-version=preview": "https://x.example/openai/v1/responses?api-version=preview",

		// A proxy that is told in its path where to go.
		"http://x.example/https://api.openai.com/v1":  "http://x.example/https://api.openai.com/v1/responses",
		"http://x.example/https://api.openai.com/v1/": "http://x.example/https://api.openai.com/v1/responses",

		"http://x.example//v1":         "http://x.example//v1/responses",
		"http://x.example/a%2Fb":       "http://x.example/a%2Fb/responses",
		"http://x.example/a b":         "http://x.example/a%20b/responses",
		"http://x.example/v1?a=b c&é":  "http://x.example/v1/responses?a=b%20c&%C3%A9",
		"http://x.example/v1?b;a=%z":   "http://x.example/v1/responses?b;a=%z",
		"http://x.example/v1?":         "http://x.example/v1/responses",
		"http://x.example/v1?a=%2F#at": "http://x.example/v1/responses?a=%2F",
	} {
		var got string
		c := New(Options{BaseURL: base, APIKey: "sk-test", HTTPClient: &http.Client{Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
			got = req.URL.String()
			return answer(200, finished)(req)
		})}})
		if _, err := c.Create(t.Context(), question()); err != nil || got != want {
			t.Errorf("base %q: request to %s (%v), want %s", base, got, err, want)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestUnusableOptions(t *testing.T) {
	tests := []struct {
		options Options
		kind    Kind
		message string
	}{
		{Options{}, KindMissingKey, "Missing API key: set OPENAI_API_KEY"},
		{Options{APIKey: " \n", KeyEnv: "MY_KEY"}, KindMissingKey, "Missing API key: set MY_KEY"},
		{Options{APIKey: "sk\nx"}, KindAuth, "the key in OPENAI_API_KEY has a line break or another control character in it"},
		{Options{APIKey: "sk", BaseURL: "api.openai.com"}, KindConnection, `reading base URL "api.openai.com": it must start with http:// or https:// and name a host`},
		{Options{APIKey: "sk", BaseURL: "ftp://x/"}, KindConnection, `reading base URL "ftp://x/": it must start with http:// or https:// and name a host`},
	}
	for _, tt := range tests {
		_, err := New(tt.options).Create(t.Context(), question())
		if e := asError(t, err); e.Kind != tt.kind || e.Message != tt.message || e.Attempts != 0 {
			t.Errorf("New(%+v).Create = %v %q, want %v %q", tt.options, e.Kind, e.Message, tt.kind, tt.message)
		}
	}
}
