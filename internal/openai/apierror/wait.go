package apierror

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// retryAfterHeaders returns the longest time to wait that the headers name.
func retryAfterHeaders(h http.Header) time.Duration {
	after := h.Get("Retry-After")
	date, _ := http.ParseTime(after) // else the zero time
	return max(
		min(date.Sub(serverTime(h)), maxWait),
		headerWait(after, time.Second),
		headerWait(h.Get("Retry-After-Ms"), time.Millisecond),
		headerWait(h.Get("X-Ms-Retry-After-Ms"), time.Millisecond))
}

// serverTime returns the time of the server when it answered: the clock of this machine may be
// wrong, as after the pause of a virtual machine.
func serverTime(h http.Header) time.Time {
	t, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return time.Now()
	}
	return t
}

// messageWait returns the time to wait that the message names.
func messageWait(e *call.APIError, question []json.RawMessage) time.Duration {
	return waitIn(find(waitWords(), e, question))
}

// addWaits changes the error of a rate limit or a 402: it raises RetryAfter to the wait that the
// message or the headers name. For a rate limit it also sets ResetAfter, if the headers tell when
// the limit is fully available again. Package llm waits for ResetAfter only if the API names no
// other wait, and if ResetAfter is in time.
func addWaits(e *call.APIError, h http.Header, question []json.RawMessage) {
	payment := e.Kind == call.KindAPIQuota && e.Status == http.StatusPaymentRequired
	if e.Kind != call.KindRateLimit && !payment {
		return
	}

	e.RetryAfter = max(e.RetryAfter, messageWait(e, question))
	reset := unixReset(h.Get("X-Ratelimit-Remaining"), h.Get("X-Ratelimit-Reset"), serverTime(h))
	e.RetryAfter = max(e.RetryAfter, reset)
	if payment {
		e.MaybeThisCall = e.MaybeThisCall || e.RetryAfter > 0
		return
	}
	for _, limit := range []string{"Requests", "Tokens"} {
		reset := min(headerWait(h.Get("X-Ratelimit-Reset-"+limit), time.Second), time.Minute)
		if reset > 0 && h.Get("X-Ratelimit-Remaining-"+limit) == "0" {
			e.ResetAfter = min(reset, cmp.Or(e.ResetAfter, reset))
		}
	}
}

// unixReset returns the time until reset, a Unix time in milliseconds. The result is not positive
// if requests remain, or if reset is in seconds. OpenRouter has both values in headers or in the
// body (https://github.com/everruns/everruns/pull/2280).
func unixReset(remaining, reset string, now time.Time) time.Duration {
	ms, _ := strconv.ParseInt(reset, 10, 64)
	if remaining != "0" {
		return 0
	}
	return min(time.UnixMilli(ms).Sub(now), maxWait)
}

// waitWords matches how rate limits name a wait: "Please try again in 1m2.5s" (OpenAI), "Try again
// in 17 seconds", "Please retry after 6 seconds" (Azure), "Wait 10 seconds and try again"
// (gateways). waitPart matches a number of the wait with its unit.
var (
	waitWords = text.LazyRegexp(`(?i)(?:(?:try again|retry) (?:in|after)|wait(?: for)?) ((?:` +
		`\d+(?:\.\d+)? ?` +
		`(?:m(?:illi)?s(?:econds?)?|s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?)` +
		`(?:,? (?:and )?)?)+)\b`)
	waitPart = text.LazyRegexp(`([\d.]+) ?(?:(m)(?:illi)?(s)|([smh]))[a-z]*[ ,]*(?:and )?`)
)

// maxWait bounds a wait: a longer one means nothing to people and could overflow.
const maxWait = 1000 * time.Hour

// headerWait returns the time that a header names, at most maxWait: a number of units, or a time
// with a unit of its own (3s). The result is 0 for other values.
func headerWait(value string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(value, 64) // inf: out of range
	if errors.Is(err, strconv.ErrSyntax) {
		return waitIn("wait " + value)
	}
	if n > 0 {
		return time.Duration(min(n*float64(unit), float64(maxWait)))
	}
	return 0
}

// waitIn returns the time that the first 200 bytes of words name, at most maxWait. The result is 0
// for other words.
func waitIn(words string) time.Duration {
	found := waitWords().FindStringSubmatch(words[:min(len(words), 200)])
	if found == nil {
		return 0
	}
	duration := waitPart().ReplaceAllString(strings.ToLower(found[1]), "$1$2$3$4")
	wait, err := time.ParseDuration(duration)
	if err != nil { // out of range
		return maxWait
	}
	return min(wait, maxWait)
}
