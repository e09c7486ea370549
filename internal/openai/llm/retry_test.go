package llm

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

const rateLimited = `{"error":{"message":"Slow down.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`

func TestRetryAfter(t *testing.T) {
	eachRow(t, "retry-after", func(t *testing.T, _ string, row []string) {
		headers, want := row[0], row[1]
		cl, _ := newClient(0, answer(503, "", strings.Split(headers, "|")...))
		e := asError(t, createError(t, cl))
		wantEqual(t, "wait", e.RetryAfter.String(), want)
	})
}

// A call asks again at the time that the API names after a rate limit, whichever way it says so, or
// fails at once and names the time. The time until a limit is whole again is no reason to fail.
func TestWaits(t *testing.T) {
	for name, row := range table(t, "waits") {
		for way, limit := range table(t, "ways") {
			bubble(t, name+", "+way, func(t *testing.T) {
				headers, message, want := row[0], row[1], row[2]
				var steps []step
				if limit[0] != "" {
					steps = append(steps, answer(200, limit[0]))
				}
				status, _ := strconv.Atoi(limit[1])
				body := fmt.Sprintf(limit[2], message)
				steps = append(steps, answer(status, body, strings.Split(headers, "|")...))
				cl, api := newClient(2, append(steps, succeed)...)
				request := question()
				request.Background = way == "background"
				request.NoStream = request.Background
				request.Input = []json.RawMessage{
					call.AssistantMessage("Please try again in 8 hours."),
					call.UserMessage("Why do I read try again in 7 hours?"),
				}
				most := 90 * time.Minute
				if strings.HasPrefix(name, "in 10 s") {
					most = 10 * time.Second
				}
				_, err := cl.Create(within(t, most), &call.Call{}, request)

				if want == "ends" {
					wantKind(t, err, call.KindRateLimit)
					api.wantRequests(t, len(steps))
					wait := asError(t, err).RetryAfter
					if wait < most {
						t.Errorf("the error names %v, want more than is left", wait)
					}
					return
				}
				wantSuccess(t, err)
				got := api.at[len(steps)].Sub(api.at[len(steps)-1]).Round(time.Millisecond)
				wantEqual(t, "wait", got.String(), want)
			})
		}
	}
}

// Whether a call asks once more, and when. The message of another error names no wait, a 200 that
// fails for another reason has none, and a 429 about something else than the rate limits no call.
func TestAskedAgain(t *testing.T) {
	eachRow(t, "asked-again", func(t *testing.T, _ string, row []string) {
		status, headers, body, want := row[0], row[1], row[2], row[3]
		code, _ := strconv.Atoi(status)
		cl, api := newClient(3, answer(code, body, strings.Split(headers, "|")...), succeed)
		began := time.Now()
		kind := kindOf(t, createError(t, cl)).Label()
		wantSuccess(t, createError(t, cl))

		took := time.Since(began).Round(time.Second / 2)
		got := strings.TrimSpace(fmt.Sprint(len(api.sent), " ", took, " ", kind))
		wantEqual(t, "requests of two calls, their time, and the kind of the first", got, want)
	})
}

// Each refused parameter is dropped from the next request, at once and without a retry, and stays
// away from the model. So is one that the provider of a gateway refuses.
func TestRefusedParameters(t *testing.T) {
	const provider = `{"error":{"message":"Provider returned error","code":400,
		"metadata":{"raw":%s}}}`
	for name, row := range table(t, "refused") {
		param, message, gone, left := row[0], row[1], row[2], row[3]
		refusal := apiBody("invalid_request_error", "unsupported_parameter", param, message)
		quoted := fmt.Sprintf("%q", refusal)
		for form, body := range map[string]string{
			"itself":                        refusal,
			"of the provider":               fmt.Sprintf(provider, refusal),
			"of the provider, as a text":    fmt.Sprintf(provider, quoted),
			"of the provider, quoted twice": fmt.Sprintf(provider, fmt.Sprintf("%q", quoted)),
		} {
			bubble(t, name+", "+form, func(t *testing.T) {
				cl, api := newClient(0, answer(400, body), succeed)
				request := question()
				request.ExtraBody = object(t, `{"service_tier": "flex", "stream_options": {},
			"reasoning": {"summary": "auto"}}`)

				for _, model := range []string{"gpt-5.2", "gpt-5.2", "gpt-5-mini"} {
					request.Model = model
					_, err := create(t, cl, request)
					wantSuccess(t, err)
				}

				var got []bool
				for _, params := range api.sent {
					got = append(got, sends(params, gone))
				}
				want := []bool{true, false, false, true} // the last model may take it
				wantEqual(t, "requests that have "+gone, got, want)

				if !sends(api.sent[1], left) {
					t.Errorf("the second request lacks %s: %v", left, api.sent[1])
				}
				wantWarnings(t, &api.log, 1)
			})
		}
	}
}

// The specification and an example have each parameter that an answer can do without.
func TestDispensable(t *testing.T) {
	spec, err := os.ReadFile("../../../docs/spec.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(spec), "| A 400 names |")
	section, _, _ = strings.Cut(section, "\n\n")
	refused := map[string]bool{"background": true} // in background.table
	for _, row := range table(t, "refused") {
		refused[row[0]] = true
	}

	for _, name := range dispensable {
		if !strings.Contains(section, "`"+name+"`") || !refused[name] {
			t.Errorf("%s: add it to docs/spec.md, section 7, and to refused.table", name)
		}
	}
}

// sends reports whether parameters have a dotted path; after include, an element.
func sends(params map[string]any, path string) bool {
	key, rest, nested := strings.Cut(path, ".")
	value, ok := params[key]
	switch value := value.(type) {
	case []any:
		ok = !nested || slices.Contains(value, any(rest))
	case map[string]any:
		ok = !nested || value[rest] != nil
	}

	return ok
}

// A refusal is final where it names nothing, something else, or something that was not sent, where
// the parameter is gone already, and where the status is not 400.
func TestRefusedForGood(t *testing.T) {
	const others = " tools tools[0].type max_tool_calls model input instructions tool_choice stream reasoning.summary " +
		"temperature store text.format text.verbosity include.other includes service_tier null"
	refusals := map[string]step{"422": answer(422, apiBody("", "", "reasoning", "Nope."))}
	for param := range strings.SplitSeq(others+" reasoning", " ") {
		refusals[param] = refusedAs(param, "Nope.")
	}

	for name, refuse := range refusals {
		t.Run(name, func(t *testing.T) {
			cl, api := newClient(3, refuse)
			request := question()
			request.NoStream = true
			request.ExtraBody = object(t, `{"text": "no object"}`)
			_, err := create(t, cl, request)

			wantKind(t, err, call.KindBadRequest)
			want := 1
			if name == "reasoning" {
				want = 2
			}

			api.wantRequests(t, want)
		})
	}
}
