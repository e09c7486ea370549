package main_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
)

// How many requests a call makes, and what its error says (spec §7).
func TestFailures(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		steps    string
		env      []string
		requests int
		message  string // in the error; "" for an answer
		kind     string // data.name in debug
	}{
		{"429 twice", "429 429 ok", nil, 3, "", ""},
		{"429 without advice", "429:none ok", nil, 2, "", ""},
		{"500 then fine", "500 ok", nil, 2, "", ""},
		{"500 for ever", "always 500", []string{"OPENAI_MAX_RETRIES=2"}, 3, "(500)", "InternalServerError"},
		{"503 and no retries", "always 503", []string{"OPENAI_MAX_RETRIES=0"}, 1, "(503)", "InternalServerError"},
		{"429 for ever", "always 429:retry-after-ms=10", []string{"OPENAI_MAX_RETRIES=1"}, 2, "rate limit", "RateLimitError"},
		{"cut then fine", "cut ok", nil, 2, "", ""},
		{"truncated then fine", "truncated ok", nil, 2, "", ""},
		{"failed then fine", "failed:server_error ok", nil, 2, "", ""},
		{"cut for ever", "always cut", []string{"OPENAI_MAX_RETRIES=1"}, 2, "connection", "APIConnectionError"},
		{"400", "always 400", nil, 1, "(400)", "BadRequestError"},
		{"401", "always 401", nil, 1, "OPENAI_API_KEY", "AuthenticationError"},
		{"403", "always 403", nil, 1, "(403)", "PermissionDeniedError"},
		{"404", "always 404", nil, 1, "MODEL_ANSWER", "NotFoundError"},
		{"effort that cannot search", "ok", []string{"ANSWER_EFFORT=minimal"}, 1, "minimal", "BadRequestError"},
		{"422", "always 422", nil, 1, "(422)", "UnprocessableEntityError"},
		{"quota", "always quota", nil, 1, "quota", "RateLimitError"},
		{"quota in a 200", "always failed:insufficient_quota", nil, 1, "quota", "RateLimitError"},
		{"failed for good", "always failed:invalid_prompt", nil, 1, "invalid_prompt", "APIError"},
		{"timeout", "always hang", []string{"OPENAI_API_TIMEOUT=300"}, 1, "request.timeout_ms", "APIConnectionTimeoutError"},
		{"timeout while waiting", "always 429:retry-after-ms=100", []string{"OPENAI_API_TIMEOUT=250", "OPENAI_MAX_RETRIES=10"}, -1, "", ""},
		// Retry-After that ends behind the deadline: waiting is no use.
		{"advice beyond the deadline", "429:retry-after=600 ok", nil, 1, "try again in 600 s", "RateLimitError"},
		{"HTML", "always garbage", nil, 1, "base_url", "APIResponseValidationError"},
		{"JSON that is no response", "always garbage:json", nil, 1, "base_url", "APIResponseValidationError"},
		{"nothing", "always garbage:empty", nil, 1, "base_url", "APIResponseValidationError"},
		{"redirect", "always redirect=http://192.0.2.1/v1/responses", nil, 1, "redirect", "APIResponseValidationError"},
		{"incomplete and empty", "always incomplete:empty", nil, 1, "incomplete: max_output_tokens", ""},
		{"empty", "always empty", nil, 1, "no output", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, debug := range []bool{false, true} {
				s := setup{api: newAPI(t, strings.Fields(tt.steps)...), env: tt.env}
				if debug {
					s.args = []string{"--debug"}
				}
				c := begin(t, s)
				c.line(ask("1", "HTTP 404"))
				m := c.want("1")
				c.done()
				switch {
				case tt.requests < 0:
					m.fault(t) // when it ends depends on the clock
					continue
				case tt.message == "":
					m.answered(t)
				default:
					checkFault(t, m.fault(t), tt.message, tt.kind, debug)
				}
				c.count(tt.requests)
			}
		})
	}
}

// checkFault holds an error of a call to appendix B and spec §8.2.
func checkFault(t *testing.T, e rpcError, message, kind string, debug bool) {
	t.Helper()
	line, ok := strings.CutPrefix(e.Message, "answer failed: ")
	if e.Code != -32001 || !ok || e.Data["message"] != line {
		t.Errorf("error %+v, want -32001, `answer failed: …` and the same line in data.message", e)
	}
	if !strings.Contains(line, message) {
		t.Errorf("message %q does not hold %q", line, message)
	}
	if strings.ContainsAny(line, "\r\n") || len([]rune(line)) > 180 {
		t.Errorf("message %q is not one short line", line)
	}
	switch {
	case !debug && len(e.Data) != 1:
		t.Errorf("data %v without debug, want message only", e.Data)
	case debug && kind != "" && e.Data["name"] != kind:
		t.Errorf("data.name = %v, want %s (%v)", e.Data["name"], kind, e.Data)
	}
}

// In debug the error says more (spec §8.2), but never content or the key.
func TestFailureDetails(t *testing.T) {
	t.Parallel()
	c := begin(t, setup{api: newAPI(t, "always", "404"), args: []string{"--debug"}})
	c.line(ask("1", "my secret question"))
	m := c.want("1")
	e := m.fault(t)
	if e.Data["status"] != 404.0 || e.Data["type"] != "invalid_request_error" || e.Data["name"] != "NotFoundError" {
		t.Errorf("data = %v, want status 404, its type and name", e.Data)
	}
	if id, _ := e.Data["request_id"].(string); !strings.HasPrefix(id, "req_") {
		t.Errorf("data.request_id = %v", e.Data["request_id"])
	}
	if strings.Contains(m.raw, "my secret question") {
		t.Errorf("the question is in the error: %s", m.raw)
	}
	c.done()
}

// A gateway may repeat the key in its error; nobody gets to see it there.
func TestKeyInErrorBody(t *testing.T) {
	t.Parallel()
	for _, debug := range []string{"", "--debug"} {
		for _, status := range []int{400, 401, 403, 404, 429, 500} {
			a := newAPI(t)
			a.Always(fakeapi.Body(status, "application/json", fmt.Sprintf(
				`{"error":{"message":"Bad key %s in Authorization: Bearer %s","type":"x","param":null,"code":"%s"}}`, key, key, key)))
			c := begin(t, setup{api: a, args: strings.Fields(debug), env: []string{"OPENAI_MAX_RETRIES=0"}})
			c.line(ask("1", "HTTP 404"))
			c.want("1").fault(t)
			c.done() // serve looks for the key
		}
	}
}

// Who cannot be reached is named, with what to do about it.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, env, message string }{
		{"refused", "OPENAI_BASE_URL=http://127.0.0.1:1/v1", "connection refused by 127.0.0.1:1: check openai.base_url"},
		{"proxy", "HTTPS_PROXY=http://127.0.0.1:1", "cannot reach the proxy: check HTTPS_PROXY"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env := []string{"OPENAI_API_KEY=" + key, "OPENAI_MAX_RETRIES=0", tt.env}
			if tt.name == "proxy" {
				env = append(env, "OPENAI_BASE_URL=https://api.example.com/v1")
			}
			c := begin(t, setup{env: env})
			c.line(ask("1", "HTTP 404"))
			checkFault(t, c.want("1").fault(t), tt.message, "", false)
			c.done()
		})
	}
}

// Without a key the server is there and says what is missing.
func TestMissingKey(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, config, variable string }{
		{"default", "", "OPENAI_API_KEY"},
		{"configured", "openai: { api_key_env: MY_OWN_KEY }\n", "MY_OWN_KEY"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := begin(t, setup{config: tt.config})
			c.line(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, ask("2", "HTTP 404"))
			checkTools(t, c.want("1"))
			checkFault(t, c.want("2").fault(t), "Missing API key: set "+tt.variable, "", false)
			c.done()
		})
	}
}

// The request as a server sees it from outside.
func TestRequestHeaders(t *testing.T) {
	t.Parallel()
	c := begin(t, setup{
		api: newAPI(t),
		env: []string{"OPENAI_ORG_ID=org-1", "OPENAI_PROJECT_ID=proj-1"},
	})
	c.line(ask("1", "HTTP 404"))
	c.want("1").answered(t)
	r := c.api.Requests()[0]
	if r.Method != http.MethodPost || r.Path != "/v1/responses" {
		t.Errorf("request %s %s, want POST /v1/responses", r.Method, r.Path)
	}
	for name, want := range map[string]string{
		"Authorization":       "Bearer " + key,
		"Content-Type":        "application/json",
		"OpenAI-Organization": "org-1",
		"OpenAI-Project":      "proj-1",
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	// Nothing beside these tells about the machine.
	for _, name := range []string{"Accept", "Accept-Encoding", "Authorization", "Content-Length", "Content-Type",
		"Openai-Organization", "Openai-Project", "User-Agent"} {
		r.Header.Del(name)
	}
	if len(r.Header) > 0 {
		t.Errorf("unknown headers: %v", r.Header)
	}
	c.done()
}
