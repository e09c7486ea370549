package llm

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// A cancelled call is described, too: its requests, its wait for the rate limit apart from the time
// of the API, and the last request's id, without a part of the key.
func TestCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refuse := answer(429, rateLimited, "Retry-After", "10", "X-Request-Id", "req_0")
		begin := func(req *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			resp, err := sseStep()(req)
			resp.Header.Set("X-Request-Id", strings.Repeat("r", 95)+testKey) // it is cut
			r, w := io.Pipe()
			context.AfterFunc(req.Context(), func() { w.CloseWithError(req.Context().Err()) })
			resp.Body = r
			return resp, err
		}

		c, _ := newClient(3, refuse, begin)

		var got Call
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		_, err := c.Create(ctx, &got, question())
		wantKind(t, err, KindTimeout)

		want := Call{
			Attempts:  2,
			Time:      5 * time.Second,
			Waited:    10 * time.Second,
			RequestID: strings.Repeat("r", 95) + "[red…",
		}
		compare.Equal(t, "call", got, want, cmpopts.IgnoreUnexported(Call{}))
	})
}

// A call gives up waiting for the rate limit at its time, but only if it has cost nothing.
func TestWaitUntil(t *testing.T) {
	refuse := answer(429, rateLimited, "Retry-After", "60")
	again := answer(429, rateLimited)
	broken := func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }
	unavailable := answer(503, "")
	redirect := answer(302, "")
	for _, tt := range []struct {
		name     string
		steps    []step
		requests int
		waits    bool
	}{
		{"refused", []step{refuse}, 1, true},
		{"refused again", []step{again, again, refuse}, 3, true},
		{"another error", []step{unavailable, refuse}, 2, true},
		{"a final error", []step{redirect}, 1, false},
		{"perhaps asked", []step{broken, refuse, answer(200, finished)}, 3, false},
		{"asked", []step{sseStep(), refuse, answer(200, finished)}, 3, false},
		{"answered", []step{answer(200, finished)}, 1, false},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			c, api := newClient(3, tt.steps...)
			began := time.Now()
			const most = 10 * time.Second
			call := &Call{WaitUntil: began.Add(most)}
			_, err := c.Create(t.Context(), call, question())

			wantEqual(t, "waits", errors.Is(err, ErrWaiting), tt.waits)
			wantEqual(t, "in time", time.Since(began) == most, tt.waits)
			wantEqual(t, "waiting calls", c.Waiting(), 0)
			api.wantRequests(t, tt.requests)
		})
	}
}
