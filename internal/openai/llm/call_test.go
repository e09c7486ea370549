package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
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

		cl, _ := newClient(3, refuse, begin)

		var got call.Call
		_, err := cl.Create(within(t, 15*time.Second), &got, question())
		wantKind(t, err, call.KindTimeout)

		want := call.Used{
			Requests:      2,
			Retries:       1,
			APITime:       5 * time.Second,
			RateLimitWait: 10 * time.Second,
			APIRequestID:  strings.Repeat("r", 95) + "[red…",
		}
		compare.Equal(t, "used", got.Used, want, cmpopts.IgnoreFields(call.Used{}, "RequestInput"))
	})
}

// A call that goes out at once has not waited for the rate limit, by no clock.
func TestNoWait(t *testing.T) {
	cl, _ := newClient(0, sseStep())
	var got call.Call
	_, _ = cl.Create(t.Context(), &got, question())
	compare.Equal(t, "requests and wait", fmt.Sprint(got.Requests, got.RateLimitWait), "1 0s")
}

// A call gives up waiting for the rate limit at its time, but only if it has cost nothing.
func TestWaitDeadline(t *testing.T) {
	eachRow(t, "wait-deadline", func(t *testing.T, _ string, row []string) {
		cl, api := newClient(3, played(row[0])...)
		began := time.Now()
		const most = 10 * time.Second
		c := &call.Call{WaitDeadline: began.Add(most)}
		_, err := cl.Create(t.Context(), c, question())

		got := fmt.Sprint(len(api.sent), errors.Is(err, call.ErrWaiting), time.Since(began) == most)
		wantEqual(t, "requests, whether it waits and whether in time", got, row[1])
		wantEqual(t, "waiting calls", cl.NumWaiting(), 0)
	})
}

// A call that has ended when its turn comes sends nothing and counts no attempt. If only its
// WaitDeadline is over, it goes on.
func TestWaitDeadlineTurn(t *testing.T) {
	for _, limited := range []bool{false, true} {
		for limit, attempts := range map[time.Duration]int{0: 0, time.Minute: 1} {
			bubble(t, fmt.Sprintf("limited: %v, within %v", limited, limit), func(t *testing.T) {
				cl, api := newClient(0, succeed)
				if limited {
					cl, api = refused(t, "alice")
					time.Sleep(time.Second) // its turn comes at once
				}
				before := len(api.sent)
				c := as("alice")
				c.WaitDeadline = time.Now()
				_, err := cl.Create(within(t, limit), c, question())

				wantEqual(t, "answered", err == nil, attempts > 0)
				wantEqual(t, "attempts", c.Requests, attempts)
				wantEqual(t, "requests", len(api.sent)-before, attempts)
			})
		}
	}
}

// A turn that comes as the call gives up waiting is not left for the next attempt, which waits as
// long as the API asks for.
func TestWaitDeadlineMeetsTurn(t *testing.T) {
	const wait = 10 * time.Second
	for range 40 { // select takes either
		synctest.Test(t, func(t *testing.T) {
			refuse := answer(429, rateLimited, "Retry-After", "10")
			cl, api := newClient(3, refuse, refuse, succeed)
			_, err := cl.Create(t.Context(), &call.Call{WaitDeadline: time.Now().Add(wait)}, question())
			wantCause(t, err, call.ErrWaiting)
			for i, at := range api.at[1:] {
				wantEqual(t, "wait", at.Sub(api.at[i]), wait)
			}
		})
	}
}
