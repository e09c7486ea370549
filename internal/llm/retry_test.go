package llm

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

const rateLimited = `{"error":{"message":"Slow down.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`

// TestRetries counts the requests of a call whose client may retry 3 times.
func TestRetries(t *testing.T) {
	failed := func(code string) step {
		return answer(200, `{"id":"resp_1","status":"failed","error":{"code":"`+code+`","message":"Oh."},"output":[]}`)
	}
	ok := answer(200, finished)
	broken := func(err error) step { return func(*http.Request) (*http.Response, error) { return nil, err } }
	for _, tt := range []struct {
		name  string
		steps []step
		want  int
		kind  Kind // none: success
	}{
		{"429 429 200", []step{answer(429, rateLimited), answer(429, rateLimited), ok}, 3, Kind{}},
		{"500 again and again", []step{answer(500, "")}, 4, KindServer},
		{"529", []step{answer(529, "<html>"), ok}, 2, Kind{}},
		{"429 again and again", []step{answer(429, rateLimited)}, 4, KindRateLimit},
		{"refused connection", []step{broken(syscall.ECONNREFUSED), ok}, 2, Kind{}},
		{"closed connection", []step{broken(io.EOF)}, 4, KindConnection},
		{"truncated JSON", []step{answer(200, finished[:80]), ok}, 2, Kind{}},
		{"failed: server_error", []step{failed("server_error"), ok}, 2, Kind{}},
		{"failed: insufficient_quota", []step{failed("insufficient_quota")}, 1, KindQuota},
		{"failed: invalid_prompt", []step{failed("invalid_prompt")}, 1, KindFailed},
		{"200 with an error", []step{answer(200, `{"error":{"code":502,"message":"Bad upstream"}}`), ok}, 2, Kind{}},
		{"quota as 429", []step{answer(429, apiBody("insufficient_quota", "insufficient_quota", "", "No."))}, 1, KindQuota},
		{"HTML", []step{answer(200, "<html>Log in</html>")}, 1, KindBadResponse},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, api, _ := newClient(t, 3, tt.steps...)
				r, err := c.Create(t.Context(), question())
				if kindOf(t, err) != tt.kind || api.requests() != tt.want || err == nil && r.Retries != tt.want-1 {
					t.Errorf("Create = %+v, %v after %d requests, want %v after %d", r, err, api.requests(), tt.kind, tt.want)
				}
			})
		})
	}
}

func TestWaitBetweenTries(t *testing.T) {
	date := func(req *http.Request) (*http.Response, error) {
		return answer(429, "", "Retry-After", time.Now().Add(20*time.Second).UTC().Format(http.TimeFormat))(req)
	}
	for _, tt := range []struct {
		name     string
		first    step
		min, max time.Duration
	}{
		{"exponential", answer(500, ""), 375 * time.Millisecond, 626 * time.Millisecond},
		{"seconds", answer(429, "", "Retry-After", "20"), 20 * time.Second, 20 * time.Second},
		{"fraction", answer(503, "", "Retry-After", "1.5"), 1500 * time.Millisecond, 1500 * time.Millisecond},
		{"milliseconds first", answer(429, "", "Retry-After", "20", "Retry-After-Ms", "1200"), 1200 * time.Millisecond, 1200 * time.Millisecond},
		{"date", date, 19 * time.Second, 20 * time.Second},
		// The clock of a synctest bubble starts in 2000.
		{"past date", answer(429, "", "Retry-After", "Wed, 01 Dec 1999 15:04:05 GMT"), 375 * time.Millisecond, 626 * time.Millisecond},
		{"nonsense", answer(429, "", "Retry-After", "5m", "Retry-After-Ms", "NaN"), 375 * time.Millisecond, 626 * time.Millisecond},
		{"negative", answer(429, "", "Retry-After", "-5"), 375 * time.Millisecond, 626 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, api, _ := newClient(t, 2, tt.first, answer(200, finished))
				if _, err := c.Create(t.Context(), question()); err != nil {
					t.Fatal(err)
				}
				if got := api.at[1].Sub(api.at[0]); got < tt.min || got > tt.max {
					t.Errorf("waited %v, want %v to %v", got, tt.min, tt.max)
				}
			})
		})
	}
}

// Each refused parameter is dropped from the next request, at once and without a
// retry, and stays away from the model.
func TestRefusedParameters(t *testing.T) {
	const sources, encrypted = "include.web_search_call.action.sources", "include.reasoning.encrypted_content"
	for _, tt := range []struct {
		param, message string
		gone           string // the path of what the second request does not have
		left           string // the path of what stays
	}{
		{"reasoning.effort", "", "reasoning.effort", "reasoning.summary"},
		{"reasoning.summary", "Your organization must be verified", "reasoning.summary", "reasoning.effort"},
		{"reasoning", "", "reasoning", "text"},
		{"text.verbosity", "", "text", "reasoning.effort"}, // an empty object goes too
		{"text", "", "text", "store"},
		{"parallel_tool_calls", "", "parallel_tool_calls", "tool_choice"},
		{"service_tier", "", "service_tier", "store"},
		{"stream", "Your organization must be verified to stream this model.", "stream", "store"},
		{"stream", "The options go with it.", "stream_options", "store"},
		{"stream_options", "", "stream_options", "stream"},
		{"include[0]", "", sources, encrypted},
		{"include[1]", "", encrypted, sources},
		{"include[9]", "", "include", "store"},
		{"include", "Encrypted content is not supported with this model.", encrypted, sources},
		{"include", "Not here.", "include", "store"}, // it may be any element
		{"reasoning.encrypted_content", "No.", encrypted, sources},
		{"include", "Invalid value: 'reasoning.encrypted_content' is not supported.", encrypted, sources},
	} {
		c, api, log := newClient(t, 0, refusedAs(tt.param, tt.message), answer(200, finished))
		r := question()
		r.Extra = map[string]any{"service_tier": "flex", "stream_options": map[string]any{}, "reasoning": map[string]any{"summary": "auto"}}
		for _, r.Model = range []string{"gpt-5.2", "gpt-5.2", "gpt-5-mini"} { // the last one may take it
			if _, _, err := collect(c.Stream(t.Context(), r)); err != nil {
				t.Fatal(err)
			}
		}
		var got []bool
		for _, body := range api.bodies {
			got = append(got, sends(body, tt.gone))
		}
		if !slices.Equal(got, []bool{true, false, false, true}) || !sends(api.bodies[1], tt.left) {
			t.Errorf("%s %q: requests %v have %s: %v, and the second lacks %s", tt.param, tt.message, api.bodies, tt.gone, got, tt.left)
		}
		if n := strings.Count(log.String(), "level=WARN"); n != 1 {
			t.Errorf("%s: %d warnings, want 1:\n%s", tt.param, n, log)
		}
	}
}

// sends reports whether a body has a dotted path; after include, an element.
func sends(body map[string]any, path string) bool {
	key, rest, nested := strings.Cut(path, ".")
	value, ok := body[key]
	switch value := value.(type) {
	case []any:
		ok = !nested || slices.Contains(value, any(rest))
	case map[string]any:
		ok = !nested || value[rest] != nil
	}
	return ok
}

// A 400 that names nothing, something else, or something that was not sent is final.
func TestRefusedForGood(t *testing.T) {
	for _, param := range []string{"", "tools", "tools[0].type", "model", "input", "instructions", "tool_choice", "stream",
		"reasoning.summary", "temperature", "store", "text.format", "text.verbosity", "includes", "service_tier", "null"} {
		c, api, _ := newClient(t, 3, refusedAs(param, "Nope."))
		r := question()
		r.Plain, r.Extra = true, map[string]any{"text": "no object"}
		_, err := c.Create(t.Context(), r)
		if e := asError(t, err); e.Kind != KindParameter || e.Param != param || e.Attempts != 1 || api.requests() != 1 {
			t.Errorf("param %q: %v (param %q) after %d requests, want %v after 1", param, e, e.Param, api.requests(), KindParameter)
		}
	}
	// The same parameter, refused again although it is gone.
	c, api, _ := newClient(t, 3, refusedAs("text", "Nope."))
	if _, err := c.Create(t.Context(), question()); asError(t, err).Param != "text" || api.requests() != 2 {
		t.Errorf("refused again: %v after %d requests, want the error of the second", err, api.requests())
	}
	// Only a 400 is a refusal.
	c, api, _ = newClient(t, 0, answer(422, apiBody("", "", "text", "Nope.")))
	if _, err := c.Create(t.Context(), question()); asError(t, err).Status != 422 || api.requests() != 1 {
		t.Errorf("422: %v after %d requests, want the error of the first", err, api.requests())
	}
}
