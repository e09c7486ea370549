package llm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

// formsOf returns what an API does that says an error: with its status, or in each form of an
// answer. An error that is no object has a status only.
func formsOf(status int, body string) map[string][]step {
	forms := map[string][]step{
		"plain":    {answer(status, body)},
		"streamed": {answer(status, body)},
	}
	members, isObject := strings.CutPrefix(body, "{")
	if !isObject || members == "}" {
		return forms
	}

	failed := `{"id":"resp_1","status":"failed",` + members
	event := `{"type":"error",` + strings.TrimPrefix(members, `"type":"error",`)
	forms["plain, failed"] = []step{answer(200, failed)}
	forms["streamed, event"] = []step{eventStep(event)}
	forms["streamed, failed"] = []step{
		sseStep(`{"type":"response.failed","response":` + failed + `}`),
	}
	forms["background, failed"] = []step{
		answer(200, `{"id":"resp_1","status":"queued","background":true}`),
		answer(200, failed),
	}
	return forms
}

// askedAgain are the kinds in named.table whose errors are temporary.
var askedAgain = []string{"rate_limit", "server"}

// A code, a type or words name the kind of an error in all forms of an answer. Only those of
// askedAgain are asked again.
func TestNamed(t *testing.T) {
	for name, row := range table(t, "../../apierror/testdata/named") {
		status, _ := strconv.Atoi(row[0])
		for form, steps := range formsOf(status, row[3]) {
			bubble(t, name+", "+form, func(t *testing.T) {
				way, _, inAnswer := strings.Cut(form, ", ")
				kind := row[1]
				if inAnswer {
					kind = row[2]
				}
				cl, api := newClient(1, append(steps, steps...)...)
				request := question()
				request.NoStream = way != "streamed"
				request.Background = way == "background"
				_, err := create(t, cl, request)
				e := asError(t, err)

				wantEqual(t, "kind of "+e.Message, e.Kind.Label(), kind)
				requests := len(steps)
				if slices.Contains(askedAgain, kind) {
					requests *= 2
				}
				what := fmt.Sprintf("requests for the kind %s, twice as many if askedAgain has it", kind)
				wantEqual(t, what, len(api.sent), requests)
			})
		}
	}
}

// Words that may be the question's name no kind. A server may repeat the question in any form.
func TestWordsOfQuestion(t *testing.T) {
	eachRow(t, "quoted", func(t *testing.T, _ string, row []string) {
		asked, status, kind, message := row[0], row[1], row[2], row[3]
		code, _ := strconv.Atoi(status)
		cl, _ := newClient(0, answer(code, apiBody("", "", "", message)))
		request := question()
		request.Input = []json.RawMessage{call.UserMessage(asked)}
		_, err := create(t, cl, request)
		wantEqual(t, "kind", kindOf(t, err).Label(), kind)
	})
}

// An error that may be of its call alone stays that of its call: the next one asks the API, of this
// person and of others.
func TestErrorOfOneCall(t *testing.T) {
	eachRow(t, "once", func(t *testing.T, _ string, row []string) {
		status, kind, wait, headers, body := row[0], row[1], row[2], row[3], row[4]
		code, _ := strconv.Atoi(status)
		cl, api := newShared()
		api.set(answer(code, body, strings.Split(headers, "|")...), alice, bob)
		for range 5 {
			for _, p := range []call.Person{alice, bob} {
				e := asError(t, createAs(t, cl, p))
				wantEqual(t, "kind", e.Kind.Label(), kind)
				wantEqual(t, "wait", e.RetryAfter.String(), wait)
			}
		}
		wantEqual(t, "requests", len(api.sentBy(alice))+len(api.sentBy(bob)), 10)
		wantSuccess(t, createAs(t, cl, carol))
	})
}
