package llm

import (
	"net/http"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/redact"
)

func TestBaseURL(t *testing.T) {
	for base, want := range map[string]string{
		"":                           "https://api.openai.com/v1/responses",
		"https://api.openai.com/v1":  "https://api.openai.com/v1/responses",
		"https://api.openai.com/v1/": "https://api.openai.com/v1/responses",
		"http://127.0.0.1:8080":      "http://127.0.0.1:8080/responses",
		" http://127.0.0.1:8080/ ":   "http://127.0.0.1:8080/responses",
		"https://x.example/openai/v1?api-version=preview": "https://x.example/openai/v1/responses?api-version=preview",

		// A proxy with the target URL in its path.
		"http://x.example/https://api.openai.com/v1":  "http://x.example/https://api.openai.com/v1/responses",
		"http://x.example/https://api.openai.com/v1/": "http://x.example/https://api.openai.com/v1/responses",

		"http://x.example//v1":          "http://x.example//v1/responses",
		"http://x.example/a%2Fb":        "http://x.example/a%2Fb/responses",
		"http://x.example/a b":          "http://x.example/a%20b/responses",
		"http://x.example/v1?a=b c&a=d": "http://x.example/v1/responses?a=b+c&a=d",
		"http://x.example/v1?":          "http://x.example/v1/responses",
		"http://x.example/v1?a=%2F#at":  "http://x.example/v1/responses?a=%2F",
	} {
		api := &scripted{steps: []step{answer(200, finished)}}
		c := New(Options{BaseURL: base, APIKey: "sk-test", HTTPClient: &http.Client{Transport: api}})
		if _, err := c.Create(t.Context(), question()); err != nil || api.url != want {
			t.Errorf("base %q: request to %s (%v), want %s", base, api.url, err, want)
		}
	}
}

func TestUnusableOptions(t *testing.T) {
	for _, tt := range []struct {
		options Options
		kind    Kind
		message string
	}{
		{Options{}, KindMissingKey, "Missing API key: set OPENAI_API_KEY"},
		{Options{APIKey: " \n", KeyEnv: "MY_KEY"}, KindMissingKey, "Missing API key: set MY_KEY"},
		{Options{APIKey: "sk\nx"}, KindAuth, "the key in OPENAI_API_KEY contains a line break or another control character"},
		{Options{APIKey: "sk", BaseURL: "api.openai.com"}, KindConnection, `reading base URL "api.openai.com": it must start with http:// or https:// and name a host`},
		{Options{APIKey: "sk", BaseURL: "ftp://me:hidden@x/", Redactor: redact.New("hidden")}, KindConnection,
			`reading base URL "ftp://me:[redacted]@x/": it must start with http:// or https:// and name a host`},
	} {
		_, err := New(tt.options).Create(t.Context(), question())
		if e := asError(t, err); e.Kind != tt.kind || e.Message != tt.message || e.Attempts != 0 {
			t.Errorf("New(%+v).Create = %v %q, want %v %q", tt.options, e.Kind, e.Message, tt.kind, tt.message)
		}
	}
}

func TestModel(t *testing.T) {
	const model = `{"id":"gpt-5.2","object":"model"}`
	c, api, _ := newClient(t, 3, answer(200, model), answer(404, apiBody("", "model_not_found", "", "")), answer(200, "<html>"))
	got, err := c.Model(t.Context(), "openai/gpt-5.2")
	if err != nil || string(got) != model || api.url != "http://api.test/v1/models/openai/gpt-5.2" {
		t.Errorf("Model = %s, %v from %s", got, err, api.url)
	}
	for _, want := range []Kind{KindModel, KindBadResponse} {
		if _, err := c.Model(t.Context(), "gpt-0"); asError(t, err).Kind != want {
			t.Errorf("Model = %v, want %v", err, want)
		}
	}
}

func TestCapabilityOf(t *testing.T) {
	for can, models := range map[Capability][]string{
		{Verbosity: true, Reasoning: true}: {"gpt-5", "gpt-5.2", "gpt-5-mini-2025-08-07", "gpt-5-chat-latest", "gpt-6", "gpt-6.1-sol", "gpt-10",
			"gpt-10.5-2029-01-01", "openai/gpt-5.2", "ft:gpt-5-mini-2025-08-07:acme::a1b2", " GPT-5.2 "},
		{Reasoning: true}: {"o1", "o1-pro", "o3-mini-2025-01-31", "o4-mini-deep-research", "openai/o4-mini:online", "ft:o4-mini-2025-04-16:acme::a1b2"},
		{}: {"gpt-4.1", "gpt-4o-mini-2024-07-18", "gpt-3.5-turbo", "gpt-35-turbo", "gpt-oss-120b", "gpt-image-1", "chatgpt-4o-latest",
			"codex-mini-latest", "omni-moderation-latest", "anthropic/claude-sonnet-5", "ft:gpt-4.1-mini:acme:gpt-5:a1b2", "gpt-", "o", ""},
	} {
		for _, model := range models {
			if got := CapabilityOf(model); got != can {
				t.Errorf("CapabilityOf(%q) = %+v, want %+v", model, got, can)
			}
		}
	}
}
