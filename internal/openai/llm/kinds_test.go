package llm

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

// formsOf returns what an API does that says an error: with its status, or without one in each form
// of an answer. An error that is no object has a status only.
func formsOf(status int, body string) (withStatus, without map[string][]step) {
	withStatus = map[string][]step{
		"plain":    {answer(status, body)},
		"streamed": {answer(status, body)},
	}
	members, isObject := strings.CutPrefix(body, "{")
	if !isObject || members == "}" {
		return withStatus, nil
	}

	failed := `{"id":"resp_1","status":"failed",` + members
	return withStatus, map[string][]step{
		"plain, failed":    {answer(200, failed)},
		"streamed, event":  {eventStep(`{"type":"error",` + strings.TrimPrefix(members, `"type":"error",`))},
		"streamed, failed": {sseStep(`{"type":"response.failed","response":` + failed + `}`)},
		"in the background, failed": {
			answer(200, `{"id":"resp_1","status":"queued","background":true}`),
			answer(200, failed),
		},
	}
}

// A code, a type or words name the kind of an error in all forms of an answer. Only a kind that may
// be temporary is asked again.
func TestNamed(t *testing.T) {
	for name, row := range table(t, "named") {
		status, _ := strconv.Atoi(row[0])
		withStatus, without := formsOf(status, row[3])
		for form, steps := range withStatus {
			wantNamed(t, name+", "+form, form, steps, row[1])
		}
		for form, steps := range without {
			wantNamed(t, name+", "+form, form, steps, row[2])
		}
	}
}

func wantNamed(t *testing.T, name, form string, steps []step, kind string) {
	bubble(t, name, func(t *testing.T) {
		cl, api := newClient(1, append(steps, steps...)...)
		r := question()
		r.NoStream = !strings.HasPrefix(form, "streamed")
		r.Background = strings.HasPrefix(form, "in the background")
		_, err := create(t, cl, r)
		e := asError(t, err)

		wantEqual(t, "kind of "+e.Message, e.Kind.Label(), kind)
		requests := len(steps)
		if kind == "server" || kind == "rate_limit" {
			requests *= 2
		}
		api.wantRequests(t, requests)
	})
}

// Words that may be the question's name no kind. A server may repeat the question in any form.
func TestWordsOfQuestion(t *testing.T) {
	eachRow(t, "quoted", func(t *testing.T, _ string, row []string) {
		asked, status, kind, message := row[0], row[1], row[2], row[3]
		code, _ := strconv.Atoi(status)
		cl, _ := newClient(0, answer(code, apiBody("", "", "", message)))
		r := question()
		r.Input = []json.RawMessage{call.UserMessage(asked)}
		_, err := create(t, cl, r)
		wantKind(t, err, kindNamed(t, kind))
	})
}

// kindNamed returns the kind of a label.
func kindNamed(t *testing.T, label string) call.Kind {
	t.Helper()
	for _, kind := range call.Kinds() {
		if kind.Label() == label {
			return kind
		}
	}
	t.Fatalf("no kind %q", label)
	return call.Kind{}
}

// An error that may be of its call alone stays that of its call: the next one asks the API, of this
// person and of others.
func TestErrorOfOneCall(t *testing.T) {
	for name, row := range table(t, "once") {
		bubble(t, name, func(t *testing.T) {
			status, kind, wait, headers, body := row[0], row[1], row[2], row[3], row[4]
			code, _ := strconv.Atoi(status)
			cl, api := newShared()
			api.set(answer(code, body, strings.Split(headers, "|")...), alice, bob)
			for range 5 {
				for _, p := range []call.Person{alice, bob} {
					e := asError(t, asks(t, cl, p))
					wantEqual(t, "kind", e.Kind.Label(), kind)
					wantEqual(t, "wait", e.RetryAfter.String(), wait)
				}
			}
			wantEqual(t, "requests", len(api.of(alice))+len(api.of(bob)), 10)
			wantSuccess(t, asks(t, cl, carol))
		})
	}
}

// A parameter that the provider of a gateway refuses is left out as any other.
func TestParameterOfProvider(t *testing.T) {
	refusal := apiBody("invalid_request_error", "unsupported_value", "reasoning.effort", "Unsupported value.")
	for name, raw := range map[string]string{
		"text":   fmt.Sprintf("%q", refusal),
		"object": refusal,
		"twice":  fmt.Sprintf("%q", fmt.Sprintf("%q", refusal)),
	} {
		bubble(t, name, func(t *testing.T) {
			body := `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":` + raw + `}}}`
			cl, api := newClient(0, answer(400, body), succeed)
			for range 2 {
				wantSuccess(t, createError(t, cl))
			}
			var got []bool
			for _, params := range api.sent {
				got = append(got, sends(params, "reasoning.effort"))
			}
			wantEqual(t, "requests that have it", got, []bool{true, false, false})
		})
	}
}

// A wait after 408 and 409 is that of any server that fails. The server may say that there is none.
func TestAskedAgain(t *testing.T) {
	for _, status := range []int{408, 409} {
		bubble(t, fmt.Sprint(status), func(t *testing.T) {
			cl, api := newClient(1, answer(status, "", "Retry-After", "7"), succeed)
			wantSuccess(t, createError(t, cl))
			wantEqual(t, "wait", api.at[1].Sub(api.at[0]), 7*time.Second)
		})
		bubble(t, fmt.Sprint(status, ", not to be asked again"), func(t *testing.T) {
			cl, api := newClient(1, answer(status, "", "X-Should-Retry", "false"), succeed)
			wantKind(t, createError(t, cl), call.KindServer)
			api.wantRequests(t, 1)
		})
	}
}
