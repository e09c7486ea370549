package llm

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
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

// TestFailures has answers that are not responses, and responses that fail. It counts the requests
// of a client that may retry once.
func TestFailures(t *testing.T) {
	const (
		cutOff     = "the answer was cut off: "
		endedEarly = cutOff + "the stream ended before the response did"
		noObject   = "the answer is not a response object (application/json): "
		noOutput   = "the response has no output"
	)
	failed := func(members string) step {
		response := `{"status":"failed",` + members + `}`
		return sseStep(eventCreated, eventItem, `{"type":"response.failed","response":`+response+`}`)
	}
	sse := func(body string) step {
		return answer(200, body, "Content-Type", "text/event-stream")
	}
	event := func(body string) step { return sseStep(eventCreated, eventItem, eventPart, body) }
	for _, tt := range []struct {
		name    string
		step    step
		kind    Kind
		want    int // requests
		message string
	}{
		{
			"nested",
			event(`{"type":"error","error":{"type":"insufficient_quota","code":"insufficient_quota","message":"No.","param":null}}`),
			KindQuota, 1,
			"No.",
		},
		{
			"flat",
			event(`{"type":"error","sequence_number":3,"code":"server_error","message":"Oh.","param":null}`),
			KindServer, 2,
			"Oh.",
		},
		{
			"flat, final",
			event(`{"type":"error","code":"ERR_SOMETHING","message":"Oh.","param":null}`),
			KindFailed, 1,
			"Oh.",
		},
		{
			"by type",
			event(`{"type":"error","error":{"type":"server_error","code":null,"message":"Oh."}}`),
			KindServer, 2,
			"Oh.",
		},
		{
			"rate limit",
			event(`{"type":"error","error":{"type":"tokens","code":"rate_limit_exceeded","message":"Slow."}}`),
			KindRateLimit, 2,
			"Slow.",
		},
		{
			"status as code",
			event(`{"error":{"code":502,"message":"Bad upstream"}}`),
			KindServer, 2,
			"Bad upstream",
		},
		{
			"no type",
			event(`{"error":{"type":"invalid_request_error","message":"No."},"sequence_number":3}`),
			KindFailed, 1,
			"No.",
		},
		{
			"a text",
			event(`{"type":"error","error":"overloaded"}`),
			KindFailed, 1,
			"overloaded",
		},
		{
			"a bare text",
			event(`{"error":"overloaded"}`),
			KindFailed, 1,
			"overloaded",
		},
		{
			"nothing in it",
			event(`{"type":"error"}`),
			KindFailed, 1,
			"the stream ended with an error",
		},
		{
			"failed",
			failed(`"error":{"code":"server_error","message":"Oh."}`),
			KindServer, 2,
			"Oh.",
		},
		{
			"failed, final",
			failed(`"error":{"code":"invalid_prompt","message":"No."}`),
			KindFailed, 1,
			"No.",
		},
		{
			"failed, quota",
			failed(`"error":{"code":"insufficient_quota","message":"No."}`),
			KindQuota, 1,
			"No.",
		},
		{
			"failed for nothing",
			failed(`"error":null`),
			KindFailed, 1,
			"the response failed",
		},
		{
			"failed, bare",
			sseStep(`{"type":"response.failed"}`),
			KindFailed, 1,
			"the response failed",
		},
		{
			"no output at all",
			sseStep(`{"type":"response.completed","response":{"id":"resp_1"}}`),
			KindBadResponse, 1,
			noOutput,
		},
		{
			"cut",
			sseStep(eventCreated, eventItem, eventPart, eventDelta),
			KindConnection, 2,
			endedEarly,
		},
		{
			"nothing but done",
			sseStep("[DONE]"),
			KindConnection, 2,
			endedEarly,
		},
		{
			"a heartbeat of another kind",
			sse("data: {}\n\n"),
			KindConnection, 2,
			endedEarly,
		},
		{
			"broken off",
			cutStream(eventCreated, eventItem, eventPart),
			KindConnection, 2,
			cutOff + "unexpected EOF",
		},
		{
			"half an event",
			sse("data: " + eventCompleted[:70]),
			KindConnection, 2,
			cutOff + `reading an event: invalid character '\n' in string literal`,
		},
		{
			"empty",
			sse(""),
			KindConnection, 2,
			endedEarly,
		},
		{
			"HTML",
			sse("<html>Log in</html>"),
			KindBadResponse, 1,
			"the answer is not a response object (text/event-stream): <html>Log in</html>",
		},
		{
			"plain: empty",
			answer(200, ""),
			KindBadResponse, 1,
			"the answer is empty",
		},
		{
			"plain: page",
			answer(200, "<html>Sign in</html>"),
			KindBadResponse, 1,
			noObject + "<html>Sign in</html>",
		},
		{
			"plain: null",
			answer(200, "null"),
			KindBadResponse, 1,
			noObject + "null",
		},
		{
			"plain: array",
			answer(200, "[]"),
			KindBadResponse, 1,
			noObject + "[]",
		},
		{
			"plain: number",
			answer(200, "42"),
			KindBadResponse, 1,
			noObject + "42",
		},
		{
			"plain: not JSON",
			answer(200, `{"id": oops}`),
			KindBadResponse, 1,
			noObject + `{"id": oops}`,
		},
		{
			"plain: no members",
			answer(200, `{}`),
			KindBadResponse, 1,
			noOutput,
		},
		{
			"plain: object as output",
			answer(200, `{"output":{}}`),
			KindBadResponse, 1,
			noOutput,
		},
		{
			"plain: text as output",
			answer(200, `{"status":"completed","output":"text"}`),
			KindBadResponse, 1,
			noOutput,
		},
		{
			"plain: queued",
			answer(200, `{"status":"queued","output":[]}`),
			KindBadResponse, 1,
			"the response is still queued: background responses are not supported",
		},
		{
			"plain: truncated",
			answer(200, `{"id":"resp_1","output":[`),
			KindConnection, 2,
			cutOff + "unexpected end of JSON input",
		},
		{
			"plain: failed answer",
			answer(200, `{"status":"failed","error":{"code":"invalid_prompt","message":"Bad prompt"}}`),
			KindFailed, 1,
			"Bad prompt",
		},
		{
			"plain: failed with a text",
			answer(200, `{"status":"failed","error":"boom"}`),
			KindFailed, 1,
			"boom",
		},
		{
			"plain: failed without a reason",
			answer(200, `{"status":"failed"}`),
			KindFailed, 1,
			"the response failed",
		},
		{
			"plain: cancelled",
			answer(200, `{"status":"cancelled","output":[]}`),
			KindFailed, 1,
			"the response failed",
		},
		{
			"plain: only an error",
			answer(200, `{"error":"boom"}`),
			KindFailed, 1,
			"boom",
		},
		{
			"HTTP error",
			answer(429, rateLimited),
			KindRateLimit, 2,
			"Slow down.",
		},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			c, api, _ := newClient(t, 1, tt.step)
			events, _, err := ask(t, c)

			e := wantError(t, err, tt.kind, tt.message)
			if e.Type == "error" {
				t.Error("the type is that of the event")
			}
			if e.Attempts != tt.want {
				t.Errorf("attempts = %d, want %d", e.Attempts, tt.want)
			}
			api.wantRequests(t, tt.want)
			checkBlocks(t, events)
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

// TestPlainAnswers has plain answers to a request for a stream, and streams for plain calls, under
// all content types.
func TestPlainAnswers(t *testing.T) {
	bodies := map[string]string{
		"plain":  gjson.Get(eventCompleted, "response").Raw,
		"stream": frames(eventCreated, eventItem, eventPart, eventDelta, eventCompleted),
	}
	for _, contentType := range []string{"application/json", "text/event-stream", "text/plain", ""} {
		for name, body := range bodies {
			t.Run(name+" as "+contentType, func(t *testing.T) {
				c, _, _ := newClient(t, 0, answer(200, body, "Content-Type", contentType))
				events, got, err := ask(t, c)
				if err != nil {
					t.Fatal(err)
				}
				compare(t, events, yesScript)

				want, err := c.Create(t.Context(), question())
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want.Output, got.Output); diff != "" {
					t.Errorf("Create and Stream differ:\n%s", diff)
				}
			})
		}
	}
}

// The deadline or a cancellation ends a silent stream.
func TestStreamTimeout(t *testing.T) {
	silent := func(req *http.Request) (*http.Response, error) {
		resp, _ := sseStep(eventCreated, eventItem, eventPart, eventDelta)(req)
		r, w := io.Pipe()
		context.AfterFunc(req.Context(), func() { w.CloseWithError(req.Context().Err()) })
		resp.Body = io.NopCloser(io.MultiReader(resp.Body, r))
		return resp, nil
	}
	for _, want := range []Kind{KindTimeout, KindCanceled} {
		bubble(t, want.Label(), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if want == KindCanceled {
				time.AfterFunc(time.Second, cancel)
			}

			c, api, _ := newClient(t, 3, silent)
			events, _, err := collect(c.Stream(ctx, question()))
			wantKind(t, err, want)
			api.wantRequests(t, 1)
			compare(t, events, `
				start 0 text msg_1
				delta 0 "Yes."
				stop 0
				`)
		})
	}
}

// Leaving the loop ends the call at any event.
func TestStreamBreak(t *testing.T) {
	const retrying = 3 // the number of the event Retrying; leaving there skips the wait
	for n := range 9 {
		bubble(t, fmt.Sprintf("event %d", n), func(t *testing.T) {
			c, api, _ := newClient(t, 3,
				cutStream(eventCreated, eventItem, eventPart, eventDelta),
				sseStep(eventItem, eventPart, eventDelta, eventCompleted))
			start := time.Now()
			seen := 0
			for _, err := range c.Stream(t.Context(), question()) {
				if err != nil {
					t.Fatal(err)
				}
				seen++
				if seen > n {
					break
				}
			}

			if seen != n+1 {
				t.Errorf("%d events, want %d", seen, n+1)
			}
			if n <= retrying {
				api.wantRequests(t, 1)
			}
			waited := time.Since(start) > 0
			if waited != (n > retrying) {
				t.Errorf("waited: %v", waited)
			}
		})
	}
}
