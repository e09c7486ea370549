package llm

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/tidwall/gjson"
)

// The events of a stream whose answer is "Yes." Its response has no status.
const (
	eventCreated = `{"type":"response.created",
		"response":{"id":"resp_1","status":"in_progress","output":[]}}`
	eventItem = `{"type":"response.output_item.added","output_index":0,
		"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}`
	eventPart = `{"type":"response.content_part.added","output_index":0,"item_id":"msg_1",
		"content_index":0,"part":{"type":"output_text","text":""}}`
	eventDelta = `{"type":"response.output_text.delta","output_index":0,"item_id":"msg_1",
		"content_index":0,"delta":"Yes."}`
	eventCompleted = `{"type":"response.completed","response":{"id":"resp_1",
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
	kind    Kind
	message string
	step    step
}{
	{
		"nested", KindQuota, "No.",
		eventStep(`{"type":"error","error":{"type":"insufficient_quota","code":"insufficient_quota","message":"No.","param":null}}`),
	},
	{
		"flat", KindServer, "Oh.",
		eventStep(`{"type":"error","sequence_number":3,"code":"server_error","message":"Oh.","param":null}`),
	},

	{
		"by type", KindServer, "Oh.",
		eventStep(`{"type":"error","error":{"type":"server_error","code":null,"message":"Oh."}}`),
	},
	{
		"rate limit", KindRateLimit, "Slow.",
		eventStep(`{"type":"error","error":{"type":"tokens","code":"rate_limit_exceeded","message":"Slow."}}`),
	},

	{
		"status as code", KindServer, "Bad upstream",
		eventStep(`{"error":{"code":502,"message":"Bad upstream"}}`),
	},
	{
		"a text", KindFailed, "overloaded",
		eventStep(`{"type":"error","error":"overloaded"}`),
	},
	{
		"nothing in it", KindFailed, "the stream ended with an error",
		eventStep(`{"type":"error"}`),
	},

	{
		"failed", KindServer, "Oh.",
		failedStep(`"error":{"code":"server_error","message":"Oh."}`),
	},
	{
		"failed for nothing", KindFailed, "the response failed",
		failedStep(`"error":null`),
	},
	{
		"failed, error beside it", KindQuota, "No.",
		eventStep(`{"type":"response.failed","error":{"code":"insufficient_quota","message":"No."}}`),
	},
	{
		"failed, bare", KindFailed, "the response failed",
		sseStep(`{"type":"response.failed"}`),
	},
	{
		"no output at all", KindBadResponse, noOutput,
		sseStep(`{"type":"response.completed","response":{"id":"resp_1"}}`),
	},

	{
		"cut", KindConnection, endedEarly,
		sseStep(eventCreated, eventItem, eventPart, eventDelta),
	},
	{
		"broken off", KindConnection, cutOff + "unexpected EOF",
		cutStream(eventCreated, eventItem, eventPart),
	},
	{
		"half an event",
		KindConnection, cutOff + `reading an event: invalid character '\n' in string literal`,
		answerSSE("data: " + eventCompleted[:50]),
	},

	{
		"empty", KindConnection, endedEarly,
		answerSSE(""),
	},
	{
		"HTML", KindBadResponse, noObject + "<html>Log in</html>",
		answerSSE("<html>Log in</html>"),
	},

	{
		"plain: empty", KindBadResponse, "the answer is empty",
		answer(200, ""),
	},
	{
		"plain: not JSON", KindBadResponse, noObject + `{"id": oops}`,
		answer(200, `{"id": oops}`),
	},

	{
		"plain: object as output", KindBadResponse, noOutput,
		answer(200, `{"output":{}}`),
	},

	{
		"plain: queued", KindBadResponse, "the response is still queued",
		answer(200, `{"status":"queued","output":[]}`),
	},
	{
		"plain: truncated", KindConnection, cutOff + "unexpected end of JSON input",
		answer(200, `{"id":"resp_1","output":[`),
	},

	{
		"plain: cancelled", KindFailed, "the response failed",
		answer(200, `{"status":"cancelled","output":[]}`),
	},
	{
		"plain: only an error", KindFailed, "boom",
		answer(200, `{"error":"boom"}`),
	},

	{
		"refused connection", KindConnection, "connection refused",
		broken(syscall.ECONNREFUSED),
	},
	{
		"closed connection", KindConnection, "the server closed the connection without an answer",
		broken(io.EOF),
	},
}

// Each failure has its kind and its message. Those that may be temporary are tried once more.
func TestFailures(t *testing.T) {
	for _, tt := range failureRows {
		bubble(t, tt.name, func(t *testing.T) {
			c, api := newClient(1, tt.step)
			events, err := ask(t, c)

			e := wantError(t, err, tt.kind, tt.message)
			checkBlocks(t, events)

			want := 1
			switch tt.kind {
			case KindServer, KindConnection, KindRateLimit:
				want = 2
			}

			api.wantRequests(t, want)
			wantEqual(t, "attempts", e.Attempts, want)
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
		c, api := newClient(3,
			cutStream(eventCreated, eventItem, eventPart, eventDelta, second),
			answer(500, ""),
			sseStep(eventCreated, eventItem, eventPart, eventDelta, eventCompleted))

		events, err := ask(t, c)
		wantSuccess(t, err)
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
				c, _ := newClient(0, answer(200, body, "Content-Type", contentType))
				events, err := ask(t, c)

				wantSuccess(t, err)
				compare(t, events, yesScript)
			})
		}
	}
}

// The end of its context ends a call at any event, also in the wait for another attempt.
func TestEarlyCancel(t *testing.T) {
	const retrying = 3 // the number of the event Retrying
	for n := range 9 {
		bubble(t, fmt.Sprintf("event %d", n), func(t *testing.T) {
			c, api := newClient(3,
				cutStream(eventCreated, eventItem, eventPart, eventDelta),
				sseStep(eventItem, eventPart, eventDelta, eventCompleted))
			ctx, cancel := context.WithCancel(t.Context())
			seen := 0
			sink := func(Event) {
				seen++
				if seen > n {
					cancel()
				}
			}
			_, _ = c.Create(ctx, &Call{Sink: sink}, question())

			want := 1
			if n > retrying {
				want = 2
			}

			api.wantRequests(t, want)
		})
	}
}
