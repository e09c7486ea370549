package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

func start(kind string) llm.Event { return llm.BlockStart{Kind: kind} }
func delta(s string) llm.Event    { return llm.BlockDelta{Text: s} }
func search(q string) llm.Event   { return llm.Search{Action: "search", Query: q} }

func reading(action string) llm.Event {
	return llm.Search{Action: action, URL: "https://go.dev/", Query: "x"}
}

func retrying(attempt int) llm.Event {
	return llm.Retrying{Attempt: attempt, Err: &llm.Error{Kind: llm.KindServer}}
}

type (
	events   = []llm.Event
	messages = []string
)

var stageTests = []struct {
	name   string
	events events
	want   messages // that follow
}{
	{"nothing", nil, messages{"thinking"}},
	{
		"no stage",
		events{start("tool_use"), llm.BlockDelta{InputJSON: "{}", Thinking: "x"}, llm.Usage{}, llm.Done{}},
		messages{"thinking"},
	},

	{"a search begins", events{start("search")}, messages{"searching"}},
	{"a blank query", events{search(" \n ")}, messages{"searching"}},
	{"an unknown action", events{llm.Search{Action: "dig"}}, messages{"searching"}},
	{
		"a search that is over",
		events{start("search"), search("go 1.26"), start("thinking")},
		messages{"searching: go 1.26", "thinking"},
	},
	{"a page", events{reading("open_page")}, messages{"reading: https://go.dev/"}},
	{"in a page", events{reading("find_in_page")}, messages{"reading: https://go.dev/"}},
	{
		"many queries",
		events{search("a"), search("b"), search("b"), search("c")},
		messages{"searching: a", "searching: b", "searching: c"},
	},
	{
		"control characters",
		events{search("a\nb\x1b[31mc\u202ed")},
		messages{"searching: a b[31mcd"},
	},

	{"characters, not bytes", events{delta("天")}, messages{"writing (1 characters)"}},
	{
		"millions",
		events{delta(strings.Repeat("x", 1234567))},
		messages{"writing (1,234,567 characters)"},
	},
	{
		"text after a search",
		events{delta("ab"), start("search"), delta("c")},
		messages{"writing (3 characters)"},
	},

	{
		"a retry",
		events{search("a"), delta("abc"), retrying(2)},
		messages{"retrying (2): server error"},
	},
	{
		"text after a retry",
		events{delta("abc"), retrying(3), delta("d")},
		messages{"writing (1 characters)"},
	},
	{
		"a connection that breaks",
		events{search("go 1.26"), llm.Reconnecting{}},
		messages{"searching: go 1.26", "reconnecting"},
	},
}

func TestStages(t *testing.T) {
	for _, tt := range stageTests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStages()
			for _, ev := range tt.events {
				s.add(ev)
			}

			var got []string
			for range len(tt.events) + 1 {
				got = append(got, s.next())
			}
			if diff := cmp.Diff(tt.want, slices.Compact(got)); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		s := newStages()
		var got []string
		go s.run(ctx, func(message string) error {
			got = append(got, fmt.Sprint(time.Since(began), ": ", message))
			return nil
		})

		time.Sleep(10 * time.Millisecond)
		s.add(start("search"))
		s.add(search("a"))
		s.add(start("text"))
		s.add(delta("ab"))

		time.Sleep(6 * time.Second)
		s.add(start("thinking"))
		time.Sleep(time.Millisecond)
		s.add(search(strings.Repeat("天", 1000)))
		time.Sleep(300 * time.Millisecond)
		s.add(search("too late"))
		cancel()
		synctest.Wait()

		want := []string{
			"0s: thinking",
			"300ms: searching: a",
			"600ms: writing (2 characters)",
			"5.7s: writing (2 characters)",
			"6.3s: searching: " + strings.Repeat("天", 188) + "…",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
	})
}
