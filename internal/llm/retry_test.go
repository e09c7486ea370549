package llm

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const rateLimited = `{"error":{"message":"Slow down.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`

// Between attempts a call waits as long as the API asks, else about half a second.
func TestWaitBetweenAttempts(t *testing.T) {
	const past = "Wed, 01 Dec 1999 15:04:05 GMT" // the clock of a synctest bubble starts in 2000
	date := func(req *http.Request) (*http.Response, error) {
		end := time.Now().Add(20 * time.Second).UTC()
		return answer(429, "", "Retry-After", end.Format(http.TimeFormat))(req)
	}

	for _, tt := range []struct {
		name  string
		first step
		want  time.Duration // 0: exponential
	}{
		{"none", answer(500, ""), 0},
		{"seconds", answer(429, "", "Retry-After", "20"), 20 * time.Second},
		{"fraction", answer(503, "", "Retry-After", "1.5"), 1500 * time.Millisecond},
		{"milliseconds first", answer(429, "", "Retry-After", "20", "Retry-After-Ms", "12"), 12 * time.Millisecond},
		{"date", date, 20 * time.Second},
		{"past date", answer(429, "", "Retry-After", past), 0},
		{"nonsense", answer(429, "", "Retry-After", "5m", "Retry-After-Ms", "NaN"), 0},
		{"negative", answer(429, "", "Retry-After", "-5"), 0},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			c, api, _ := newClient(t, 2, tt.first, answer(200, finished))
			wantKind(t, createError(t, c), Kind{})

			want := tt.want
			off := time.Duration(0)
			if want == 0 {
				want = 500 * time.Millisecond
				off = 126 * time.Millisecond
			}

			got := api.at[1].Sub(api.at[0])
			if (got - want).Abs() > off {
				t.Errorf("waited %v, want %v", got, want)
			}
		})
	}
}

const (
	sources    = "include.web_search_call.action.sources"
	encrypted  = "include.reasoning.encrypted_content"
	unverified = "Your organization must be verified to stream this model."
)

// refusedRows are 400s that name a parameter.
var refusedRows = []struct {
	param, message string
	gone           string // the path of what the second request does not have
	left           string // the path of what stays
}{
	{"reasoning.effort", "", "reasoning.effort", "reasoning.summary"},
	{"reasoning.summary", unverified, "reasoning.summary", "reasoning.effort"},
	{"reasoning", "", "reasoning", "text"},
	{"text.verbosity", "", "text", "reasoning.effort"},
	{"text", "", "text", "store"},
	{"parallel_tool_calls", "", "parallel_tool_calls", "tool_choice"},
	{"service_tier", "", "service_tier", "store"},
	{"stream", unverified, "stream", "store"},
	{"stream", "", "stream_options", "store"},
	{"stream_options", "", "stream_options", "stream"},
	{"include[0]", "", sources, encrypted},
	{"include[1]", "", encrypted, sources},
	{"include[9]", "", "include", "store"},
	{"include", "Encrypted content is not supported.", encrypted, sources},
	{"include", "Not here.", "include", "store"},
	{"reasoning.encrypted_content", "No.", encrypted, sources},
	{sources, "No.", sources, encrypted},
	{"include", "'reasoning.encrypted_content'?", encrypted, sources},
}

// Each refused parameter is dropped from the next request, at once and without a retry, and stays
// away from the model.
func TestRefusedParameters(t *testing.T) {
	for _, tt := range refusedRows {
		t.Run(tt.param+" "+tt.message+" "+tt.gone, func(t *testing.T) {
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
				wantKind(t, err, Kind{})
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
	const others = " tools tools[0].type model input instructions tool_choice stream reasoning.summary " +
		"temperature store text.format text.verbosity include.other includes service_tier null"
	for param := range strings.SplitSeq(others, " ") {
		t.Run(param, func(t *testing.T) {
			c, api, _ := newClient(t, 3, refusedAs(param, "Nope."))
			r := question()
			r.Plain = true
			r.Extra = map[string]any{"text": "no object"}
			_, err := c.Create(t.Context(), r)

			wantKind(t, err, KindParameter)
			api.wantRequests(t, 1)
			if got := asError(t, err).Param; got != param {
				t.Errorf("param = %q, want %q", got, param)
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

// A refusal is final where the parameter is gone already, or the status is not 400.
func TestRefusedAgain(t *testing.T) {
	for _, tt := range []struct {
		name     string
		step     step
		requests int
	}{
		{"twice", refusedAs("text", "Nope."), 2},
		{"422", answer(422, apiBody("", "", "text", "Nope.")), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, api, _ := newClient(t, 3, tt.step)
			wantKind(t, createError(t, c), KindParameter)
			api.wantRequests(t, tt.requests)
		})
	}
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
