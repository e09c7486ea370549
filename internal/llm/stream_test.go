package llm

import (
	"fmt"
	"io"
	"net/http"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"
)

// The events of a stream whose answer is "Yes."
const (
	eventCreated = `{"type":"response.created",
		"response":{"id":"resp_1","status":"in_progress","output":[]}}`
	eventItem = `{"type":"response.output_item.added","output_index":0,
		"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}`
	eventPart = `{"type":"response.content_part.added","output_index":0,"item_id":"msg_1",
		"content_index":0,"part":{"type":"output_text","text":""}}`
	eventDelta = `{"type":"response.output_text.delta","output_index":0,"item_id":"msg_1",
		"content_index":0,"delta":"Yes."}`
	eventCompleted = `{"type":"response.completed","response":{"id":"resp_1","status":"completed",
		"model":"gpt-5.2","output":[{"type":"message","id":"msg_1","role":"assistant",
		"content":[{"type":"output_text","text":"Yes."}]}],
		"usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}}`
)

const yesScript = `
	start 0 text msg_1
	delta 0 "Yes."
	stop 0
	usage 3
	done completed
	`

// failedStep is a stream that ends with a failed response.
func failedStep(members string) step {
	response := `{"status":"failed",` + members + `}`
	return sseStep(eventCreated, eventItem, `{"type":"response.failed","response":`+response+`}`)
}

// eventStep is a stream with an event after the start of a text.
func eventStep(body string) step { return sseStep(eventCreated, eventItem, eventPart, body) }

func answerSSE(body string) step { return answer(200, body, "Content-Type", eventStream) }

// broken is a request without an answer.
func broken(err error) step {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

const (
	cutOff     = "the answer was cut off: "
	endedEarly = cutOff + "the stream ended before the response did"
	noObject   = "the answer is not a response object: "
	noOutput   = "the response has no output"
)

// failureRows have answers that are not responses, and responses that fail.
var failureRows = []struct {
	name    string
	step    step
	kind    Kind
	message string
}{
	{
		"nested",
		eventStep(`{"type":"error","error":{"type":"insufficient_quota","code":"insufficient_quota","message":"No.","param":null}}`),
		KindQuota, "No.",
	},
	{
		"flat",
		eventStep(`{"type":"error","sequence_number":3,"code":"server_error","message":"Oh.","param":null}`),
		KindServer, "Oh.",
	},
	{
		"by type",
		eventStep(`{"type":"error","error":{"type":"server_error","code":null,"message":"Oh."}}`),
		KindServer, "Oh.",
	},
	{
		"rate limit",
		eventStep(`{"type":"error","error":{"type":"tokens","code":"rate_limit_exceeded","message":"Slow."}}`),
		KindRateLimit, "Slow.",
	},
	{
		"status as code",
		eventStep(`{"error":{"code":502,"message":"Bad upstream"}}`),
		KindServer, "Bad upstream",
	},
	{
		"a text",
		eventStep(`{"type":"error","error":"overloaded"}`),
		KindFailed, "overloaded",
	},
	{
		"nothing in it",
		eventStep(`{"type":"error"}`),
		KindFailed, "the stream ended with an error",
	},
	{
		"failed",
		failedStep(`"error":{"code":"server_error","message":"Oh."}`),
		KindServer, "Oh.",
	},
	{
		"failed for nothing",
		failedStep(`"error":null`),
		KindFailed, "the response failed",
	},
	{
		"failed, bare",
		sseStep(`{"type":"response.failed"}`),
		KindFailed, "the response failed",
	},
	{
		"no output at all",
		sseStep(`{"type":"response.completed","response":{"id":"resp_1"}}`),
		KindBadResponse, noOutput,
	},
	{
		"cut",
		sseStep(eventCreated, eventItem, eventPart, eventDelta),
		KindConnection, endedEarly,
	},
	{
		"broken off",
		cutStream(eventCreated, eventItem, eventPart),
		KindConnection, cutOff + "unexpected EOF",
	},
	{
		"half an event",
		answerSSE("data: " + eventCompleted[:70]),
		KindConnection, cutOff + `reading an event: invalid character '\n' in string literal`,
	},
	{
		"empty",
		answerSSE(""),
		KindConnection, endedEarly,
	},
	{
		"HTML",
		answerSSE("<html>Log in</html>"),
		KindBadResponse, noObject + "<html>Log in</html>",
	},
	{
		"plain: empty",
		answer(200, ""),
		KindBadResponse, "the answer is empty",
	},
	{
		"plain: page",
		answer(200, "<html>Sign in</html>"),
		KindBadResponse, noObject + "<html>Sign in</html>",
	},
	{
		"plain: not JSON",
		answer(200, `{"id": oops}`),
		KindBadResponse, noObject + `{"id": oops}`,
	},
	{
		"plain: no members",
		answer(200, `{}`),
		KindBadResponse, noOutput,
	},
	{
		"plain: object as output",
		answer(200, `{"output":{}}`),
		KindBadResponse, noOutput,
	},
	{
		"plain: queued",
		answer(200, `{"status":"queued","output":[]}`),
		KindBadResponse, "the response is still queued",
	},
	{
		"plain: truncated",
		answer(200, `{"id":"resp_1","output":[`),
		KindConnection, cutOff + "unexpected end of JSON input",
	},
	{
		"plain: cancelled",
		answer(200, `{"status":"cancelled","output":[]}`),
		KindFailed, "the response failed",
	},
	{
		"plain: only an error",
		answer(200, `{"error":"boom"}`),
		KindFailed, "boom",
	},
	{
		"refused connection",
		broken(syscall.ECONNREFUSED),
		KindConnection, "connection refused",
	},
	{
		"closed connection",
		broken(io.EOF),
		KindConnection, "the server closed the connection without an answer",
	},
}

// Each failure has its kind and its message. Those that may be temporary are tried once more.
func TestFailures(t *testing.T) {
	for _, tt := range failureRows {
		bubble(t, tt.name, func(t *testing.T) {
			c, api, _ := newClient(t, 1, tt.step)
			events, _, err := ask(t, c)

			e := wantError(t, err, tt.kind, tt.message)
			checkBlocks(t, events)

			want := 1
			switch tt.kind {
			case KindServer, KindConnection, KindRateLimit:
				want = 2
			}

			api.wantRequests(t, want)
			if e.Attempts != want {
				t.Errorf("attempts = %d, want %d", e.Attempts, want)
			}
		})
	}
}

// cutStream is a stream whose connection breaks.
func cutStream(payloads ...string) step {
	return func(req *http.Request) (*http.Response, error) {
		resp, _ := sseStep(payloads...)(req)
		cut := iotest.ErrReader(io.ErrUnexpectedEOF)
		resp.Body = io.NopCloser(io.MultiReader(resp.Body, cut))
		return resp, nil
	}
}

// The blocks of an attempt that failed are closed, and those of the next one numbered after them.
func TestStreamRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		second := `{"type":"response.output_item.added","output_index":1,
			"item":{"type":"reasoning","id":"rs_1","summary":[]}}`
		c, api, _ := newClient(t, 3,
			cutStream(eventCreated, eventItem, eventPart, eventDelta, second),
			answer(500, ""),
			sseStep(eventCreated, eventItem, eventPart, eventDelta, eventCompleted))

		events, _, err := ask(t, c)
		if err != nil {
			t.Fatal(err)
		}

		api.wantRequests(t, 3)
		compare(t, events, `
			start 0 text msg_1
			delta 0 "Yes."
			start 1 thinking rs_1
			stop 0
			stop 1
			retrying 2 connection failed
			retrying 3 server error
			start 2 text msg_1
			delta 2 "Yes."
			stop 2
			usage 3
			done completed
			`)
	})
}

// TestPlainAnswers has plain answers to a request for a stream, and streams, under all content
// types.
func TestPlainAnswers(t *testing.T) {
	bodies := map[string]string{
		"plain":  gjson.Get(eventCompleted, "response").Raw,
		"stream": frames(eventCreated, eventItem, eventPart, eventDelta, eventCompleted),
	}

	for _, contentType := range []string{"application/json", "text/event-stream", "text/plain", ""} {
		for name, body := range bodies {
			t.Run(name+" as "+contentType, func(t *testing.T) {
				c, _, _ := newClient(t, 0, answer(200, body, "Content-Type", contentType))
				events, _, err := ask(t, c)

				wantKind(t, err, Kind{})
				compare(t, events, yesScript)
			})
		}
	}
}

// Leaving the loop ends the call at any event, also in the wait for another attempt.
func TestStreamBreak(t *testing.T) {
	const retrying = 3 // the number of the event Retrying
	for n := range 9 {
		bubble(t, fmt.Sprintf("event %d", n), func(t *testing.T) {
			c, api, _ := newClient(t, 3,
				cutStream(eventCreated, eventItem, eventPart, eventDelta),
				sseStep(eventItem, eventPart, eventDelta, eventCompleted))
			start := time.Now()
			seen := 0
			for range c.Stream(t.Context(), question()) {
				seen++
				if seen > n {
					break
				}
			}

			waited := time.Since(start) > 0
			if waited != (n > retrying) {
				t.Errorf("waited: %v", waited)
			}

			want := 1
			if waited {
				want = 2
			}
			api.wantRequests(t, want)
		})
	}
}
