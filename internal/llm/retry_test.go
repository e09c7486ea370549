package llm

import (
	"context"
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
		body := apiBody("", code, "", "Oh.")
		return answer(200, `{"id":"resp_1","status":"failed","output":[],`+body[1:])
	}
	broken := func(err error) step {
		return func(*http.Request) (*http.Response, error) { return nil, err }
	}
	ok := answer(200, finished)
	tooFast := answer(429, rateLimited)
	noQuota := answer(429, apiBody("insufficient_quota", "insufficient_quota", "", "No."))
	gateway := answer(200, `{"error":{"code":502,"message":"Bad upstream"}}`)
	for _, tt := range []struct {
		name  string
		steps []step
		want  int
		kind  Kind // none: success
	}{
		{"429 429 200", []step{tooFast, tooFast, ok}, 3, Kind{}},
		{"500 again and again", []step{answer(500, "")}, 4, KindServer},
		{"529", []step{answer(529, "<html>"), ok}, 2, Kind{}},
		{"429 again and again", []step{tooFast}, 4, KindRateLimit},
		{"refused connection", []step{broken(syscall.ECONNREFUSED), ok}, 2, Kind{}},
		{"closed connection", []step{broken(io.EOF)}, 4, KindConnection},
		{"truncated JSON", []step{answer(200, finished[:80]), ok}, 2, Kind{}},
		{"failed: server_error", []step{failed("server_error"), ok}, 2, Kind{}},
		{"failed: insufficient_quota", []step{failed("insufficient_quota")}, 1, KindQuota},
		{"failed: invalid_prompt", []step{failed("invalid_prompt")}, 1, KindFailed},
		{"200 with an error", []step{gateway, ok}, 2, Kind{}},
		{"quota as 429", []step{noQuota}, 1, KindQuota},
		{"HTML", []step{answer(200, "<html>Log in</html>")}, 1, KindBadResponse},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			c, api, _ := newClient(t, 3, tt.steps...)
			r, err := c.Create(t.Context(), question())

			wantKind(t, err, tt.kind)
			api.wantRequests(t, tt.want)
			if err == nil && r.Retries != tt.want-1 {
				t.Errorf("%d retries, want %d", r.Retries, tt.want-1)
			}
		})
	}
}

func TestWaitBetweenAttempts(t *testing.T) {
	const shortest, longest = 375 * time.Millisecond, 626 * time.Millisecond // without a time of the API
	date := func(req *http.Request) (*http.Response, error) {
		end := time.Now().Add(20 * time.Second).UTC()
		return answer(429, "", "Retry-After", end.Format(http.TimeFormat))(req)
	}
	refusal := func(status int, headers ...string) step { return answer(status, "", headers...) }

	for _, tt := range []struct {
		name     string
		first    step
		min, max time.Duration
	}{
		{
			"exponential",
			refusal(500),
			shortest, longest,
		},
		{
			"seconds",
			refusal(429, "Retry-After", "20"),
			20 * time.Second, 20 * time.Second,
		},
		{
			"fraction",
			refusal(503, "Retry-After", "1.5"),
			1500 * time.Millisecond, 1500 * time.Millisecond,
		},
		{
			"milliseconds first",
			refusal(429, "Retry-After", "20", "Retry-After-Ms", "1200"),
			1200 * time.Millisecond, 1200 * time.Millisecond,
		},
		{
			"date",
			date,
			19 * time.Second, 20 * time.Second,
		},
		{
			"past date", // the clock of a synctest bubble starts in 2000
			refusal(429, "Retry-After", "Wed, 01 Dec 1999 15:04:05 GMT"),
			shortest, longest,
		},
		{
			"nonsense",
			refusal(429, "Retry-After", "5m", "Retry-After-Ms", "NaN"),
			shortest, longest,
		},
		{
			"negative",
			refusal(429, "Retry-After", "-5"),
			shortest, longest,
		},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			c, api, _ := newClient(t, 2, tt.first, answer(200, finished))
			err := createError(t, c)
			if err != nil {
				t.Fatal(err)
			}

			got := api.at[1].Sub(api.at[0])
			if got < tt.min || got > tt.max {
				t.Errorf("waited %v, want %v to %v", got, tt.min, tt.max)
			}
		})
	}
}

// Each refused parameter is dropped from the next request, at once and without a
// retry, and stays away from the model.
func TestRefusedParameters(t *testing.T) {
	const (
		sources    = "include.web_search_call.action.sources"
		encrypted  = "include.reasoning.encrypted_content"
		unverified = "Your organization must be verified to stream this model."
	)
	for _, tt := range []struct {
		name           string
		param, message string
		gone           string // the path of what the second request does not have
		left           string // the path of what stays
	}{
		{"effort", "reasoning.effort", "", "reasoning.effort", "reasoning.summary"},
		{"summary", "reasoning.summary", unverified, "reasoning.summary", "reasoning.effort"},
		{"reasoning", "reasoning", "", "reasoning", "text"},
		{"an object that becomes empty", "text.verbosity", "", "text", "reasoning.effort"},
		{"text", "text", "", "text", "store"},
		{"parallel calls", "parallel_tool_calls", "", "parallel_tool_calls", "tool_choice"},
		{"service tier", "service_tier", "", "service_tier", "store"},
		{"stream", "stream", unverified, "stream", "store"},
		{"options go with stream", "stream", "", "stream_options", "store"},
		{"stream options", "stream_options", "", "stream_options", "stream"},
		{"first element", "include[0]", "", sources, encrypted},
		{"second element", "include[1]", "", encrypted, sources},
		{"missing element", "include[9]", "", "include", "store"},
		{"include in words", "include", "Encrypted content is not supported.", encrypted, sources},
		{"include without an element", "include", "Not here.", "include", "store"},
		{"element", "reasoning.encrypted_content", "No.", encrypted, sources},
		{"path of an element", sources, "No.", sources, encrypted},
		{"element in the message", "include", "'reasoning.encrypted_content'?", encrypted, sources},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, api, log := newClient(t, 0, refusedAs(tt.param, tt.message), answer(200, finished))
			r := question()
			r.Extra = map[string]any{
				"service_tier":   "flex",
				"stream_options": map[string]any{},
				"reasoning":      map[string]any{"summary": "auto"},
			}
			for _, model := range []string{"gpt-5.2", "gpt-5.2", "gpt-5-mini"} {
				r.Model = model
				_, _, err := collect(c.Stream(t.Context(), r))
				if err != nil {
					t.Fatal(err)
				}
			}

			var got []bool
			for _, body := range api.bodies {
				got = append(got, sends(body, tt.gone))
			}
			want := []bool{true, false, false, true} // the last model may take it
			if !slices.Equal(got, want) {
				t.Errorf("requests have %s: %v, want %v\n%v", tt.gone, got, want, api.bodies)
			}
			if !sends(api.bodies[1], tt.left) {
				t.Errorf("the second request lacks %s: %v", tt.left, api.bodies[1])
			}
			wantWarnings(t, log, 1)
		})
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
	for _, param := range []string{
		"",
		"tools",
		"tools[0].type",
		"model",
		"input",
		"instructions",
		"tool_choice",
		"stream",
		"reasoning.summary",
		"temperature",
		"store",
		"text.format",
		"text.verbosity",
		"include.other",
		"includes",
		"service_tier",
		"null",
	} {
		t.Run(param, func(t *testing.T) {
			c, api, _ := newClient(t, 3, refusedAs(param, "Nope."))
			r := question()
			r.Plain = true
			r.Extra = map[string]any{"text": "no object"}
			_, err := c.Create(t.Context(), r)

			wantKind(t, err, KindParameter)
			api.wantRequests(t, 1)
			e := asError(t, err)
			if e.Param != param {
				t.Errorf("param = %q, want %q", e.Param, param)
			}
			if e.Attempts != 1 {
				t.Errorf("%d attempts, want 1", e.Attempts)
			}
		})
	}
}

// A wait that would end after the deadline does not begin.
func TestWaitBeyondTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, api, _ := newClient(t, 1, answer(503, "", "Retry-After", "20"))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := c.Create(ctx, question())
		wantKind(t, err, KindServer)
		api.wantRequests(t, 1)
	})
}

// A parameter that is refused again although it is gone is the error of the second request.
func TestRefusedAgain(t *testing.T) {
	c, api, _ := newClient(t, 3, refusedAs("text", "Nope."))
	err := createError(t, c)
	wantKind(t, err, KindParameter)
	api.wantRequests(t, 2)
}

// With an element of include that is not a string the whole list is left out, once.
func TestRefusedNumber(t *testing.T) {
	c, api, _ := newClient(t, 3, refusedAs("include[0]", "Nope."))
	r := question()
	r.Model = "gpt-4.1"
	r.Include = nil
	r.Extra = map[string]any{"include": []any{42}}
	_, err := c.Create(t.Context(), r)
	wantKind(t, err, KindParameter)
	api.wantRequests(t, 2)
	if sends(api.bodies[1], "include") {
		t.Errorf("the second request has include: %v", api.bodies[1])
	}
}

// Only a 400 is a refusal.
func TestUnprocessable(t *testing.T) {
	c, api, _ := newClient(t, 0, answer(422, apiBody("", "", "text", "Nope.")))
	err := createError(t, c)
	wantKind(t, err, KindParameter)
	api.wantRequests(t, 1)
}
