package tasks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

func start(kind string) call.Event { return call.BlockStart{Kind: kind} }
func delta(s string) call.Event    { return call.BlockDelta{Text: s} }
func search(q string) call.Event   { return call.Search{Action: "search", Query: q} }

type (
	events   = []call.Event
	messages = []string
)

var stageTests = []struct {
	name   string
	events events
	want   messages // that follow
}{
	{
		"no stage",
		events{start("tool_use"), call.BlockDelta{InputJSON: "{}", Thinking: "x"}, call.Usage{}},
		messages{"thinking"},
	},

	{"a search without a query", events{start("search"), search(" \n ")}, messages{"searching"}},
	{
		"in a page",
		events{call.Search{Action: "find_in_page", URL: "https://go.dev/", Query: "x"}},
		messages{"reading: https://go.dev/"},
	},
	{
		"many queries",
		events{search("a"), search("b"), search("b"), search("c"), start("thinking")},
		messages{"searching: a", "searching: b", "searching: c", "thinking"},
	},

	{
		"millions",
		events{delta(strings.Repeat("x", 1234567))},
		messages{"writing (1,234,567 characters)"},
	},
	{
		"text after a search",
		events{delta("天b"), start("search"), delta("c")},
		messages{"writing (3 characters)"},
	},
	{
		"text after a retry",
		events{search("a"), delta("abc"), call.Retrying{Err: &call.Error{}}, delta("d")},
		messages{"writing (1 characters)"},
	},
}

func TestMessages(t *testing.T) {
	for _, tt := range stageTests {
		t.Run(tt.name, func(t *testing.T) {
			s := NewProgress()
			for _, ev := range tt.events {
				s.Add(ev)
			}

			var got []string
			seen := 0
			for range len(tt.events) + 1 {
				got = append(got, s.next(&seen))
			}
			compare.Equal(t, "messages", slices.Compact(got), tt.want)
		})
	}
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		s := NewProgress()
		var got []string
		go s.Watch(ctx, func(message string) error {
			got = append(got, fmt.Sprint(time.Since(began), ": ", message))
			return nil
		})

		time.Sleep(10 * time.Millisecond)
		s.Add(start("search"))
		s.Add(search("a"))
		s.Add(start("text"))
		s.Add(delta("ab"))

		time.Sleep(6 * time.Second)
		s.Add(start("thinking"))
		time.Sleep(time.Millisecond)
		s.Add(search(strings.Repeat("天", 1000)))
		time.Sleep(300 * time.Millisecond)
		s.Add(search("too late"))
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
