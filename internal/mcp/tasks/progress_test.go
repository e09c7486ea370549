package tasks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// event returns an event in the words of a table.
func event(words string) call.Event {
	word, rest, _ := strings.Cut(words, " ")
	switch word {
	case "start":
		return call.BlockStart{Kind: rest}
	case "delta":
		return call.BlockDelta{Text: rest}
	case "search":
		return call.Search{Action: "search", Query: rest}
	case "find":
		return call.Search{Action: "find_in_page", URL: rest, Query: "x"}
	case "retry":
		return call.Retrying{Err: &call.APIError{}}
	case "wait":
		return call.Waiting{}
	case "ask":
		return call.Requesting{}
	case "input":
		return call.BlockDelta{InputJSON: "{}", Thinking: "x"}
	case "usage":
		return call.Usage{}
	}
	panic("event has no word " + word)
}

func TestMessages(t *testing.T) {
	for _, row := range compare.Table(t, "stages", 3) {
		t.Run(row[0], func(t *testing.T) {
			s := NewProgress()
			events := strings.Split(row[1], "; ")
			for _, words := range events {
				s.AddEvent(event(words))
			}

			var got []string
			seen := 0
			for range len(events) + 1 {
				got = append(got, s.next(&seen))
			}
			compare.Equal(t, "messages", strings.Join(slices.Compact(got), ", "), row[2])

			s.forgetSteps()
			s.AddEvent(event("search after the end"))
			compare.Equal(t, "steps after the end", s.numSteps(), 0)
		})
	}
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		s := NewProgress()
		var got []string
		go s.SendMessages(ctx, func(message string) error {
			got = append(got, fmt.Sprint(time.Since(began), ": ", message))
			return nil
		})

		time.Sleep(10 * time.Millisecond)
		s.AddEvent(event("start search"))
		s.AddEvent(event("search a"))
		s.AddEvent(event("start text"))
		s.AddEvent(event("delta ab"))

		time.Sleep(6 * time.Second)
		s.AddEvent(event("start thinking"))
		time.Sleep(time.Millisecond)
		s.AddEvent(event("search " + strings.Repeat("天", 1000)))
		time.Sleep(300 * time.Millisecond)
		s.AddEvent(event("search too late"))
		cancel()
		synctest.Wait()

		want := []string{
			"0s: thinking",
			"300ms: searching: a",
			"600ms: writing (2 characters)",
			"5.7s: writing (2 characters)",
			"6.3s: searching: " + strings.Repeat("天", 188) + "…",
		}
		compare.Equal(t, "sent", got, want)
	})
}
