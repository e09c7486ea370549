package llm

import (
	"slices"
	"strings"
	"testing"
)

const rateLimited = `{"error":{"message":"Slow down.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`

func TestRetryAfter(t *testing.T) {
	for name, row := range table(t, "retry-after") {
		bubble(t, name, func(t *testing.T) {
			headers, want := row[0], row[1]
			c, _ := newClient(0, answer(503, "", strings.Split(headers, "|")...))
			e := asError(t, createError(t, c))
			wantEqual(t, "wait", e.RetryAfter.String(), want)
		})
	}
}

// Each refused parameter is dropped from the next request, at once and without a retry, and stays
// away from the model.
func TestRefusedParameters(t *testing.T) {
	for name, row := range table(t, "refused") {
		t.Run(name, func(t *testing.T) {
			param, message, gone, left := row[0], row[1], row[2], row[3]
			c, api := newClient(0, refusedAs(param, message), answer(200, finished))
			r := question()
			r.Extra = object(t, `{"service_tier": "flex", "stream_options": {},
				"reasoning": {"summary": "auto"}}`)

			for _, model := range []string{"gpt-5.2", "gpt-5.2", "gpt-5-mini"} {
				r.Model = model
				_, err := c.Create(t.Context(), &Call{}, r)
				wantSuccess(t, err)
			}

			var got []bool
			for _, body := range api.bodies {
				got = append(got, sends(body, gone))
			}

			want := []bool{true, false, false, true} // the last model may take it
			wantEqual(t, "requests that have "+gone, got, want)

			if !sends(api.bodies[1], left) {
				t.Errorf("the second request lacks %s: %v", left, api.bodies[1])
			}

			wantWarnings(t, &api.log, 1)
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
			c, api := newClient(3, refuse)
			r := question()
			r.Plain = true
			r.Extra = object(t, `{"text": "no object"}`)
			_, err := c.Create(t.Context(), &Call{}, r)

			wantKind(t, err, KindParameter)
			want := 1
			if name == "reasoning" {
				want = 2
			}

			api.wantRequests(t, want)
		})
	}
}
