package server

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

func start(kind string) llm.Event { return llm.BlockStart{Kind: kind} }
func text(s string) llm.Event     { return llm.BlockDelta{Text: s} }
func find(q string) llm.Event     { return llm.Searching{Action: "search", Query: q} }

func TestStages(t *testing.T) {
	tests := []struct {
		name   string
		events []llm.Event
		want   []string // what is told in a row when nothing else happens
	}{
		{"nothing", nil, []string{"thinking (7 s)"}},
		{"more thinking is nothing new", []llm.Event{start("thinking"), llm.BlockDelta{Thinking: "so"}, llm.BlockStop{}}, []string{"thinking (7 s)"}},
		{"a search begins", []llm.Event{start("search")}, []string{"searching", "searching (7 s)"}},
		{"what is searched", []llm.Event{start("search"), find("go 1.26")}, []string{"searching: go 1.26", "searching: go 1.26 (7 s)"}},
		{"a search over at once", []llm.Event{find("go 1.26"), start("thinking")}, []string{"searching: go 1.26", "thinking", "thinking (7 s)"}},
		{"a page", []llm.Event{llm.Searching{Action: "open_page", URL: "https://go.dev/"}}, []string{"reading: https://go.dev/", "reading: https://go.dev/ (7 s)"}},
		{"in a page", []llm.Event{llm.Searching{Action: "find_in_page", URL: "https://go.dev/", Query: "x"}}, []string{"reading: https://go.dev/"}},
		{"an action to come", []llm.Event{llm.Searching{Action: "dig"}}, []string{"searching", "searching (7 s)"}},
		{"an action without a name", []llm.Event{llm.Searching{Query: "x"}}, []string{"searching: x"}},
		{"a page without an address", []llm.Event{llm.Searching{Action: "open_page"}}, []string{"searching"}},
		{"the same page twice", []llm.Event{find("a"), find("a")}, []string{"searching: a", "searching: a (7 s)"}},
		{"many at once", []llm.Event{find("a"), find("b"), find("c"), find("d"), find("e")},
			[]string{"searching: a", "searching: b", "searching: c", "searching: d", "searching: e", "searching: e (7 s)"}},
		{"writing begins", []llm.Event{start("text")}, []string{"writing (0 characters)", "writing (0 characters, 7 s)"}},
		{"characters, not bytes", []llm.Event{start("text"), text("天")}, []string{"writing (1 character)"}},
		{"thousands", []llm.Event{start("text"), text(strings.Repeat("x", 1234))}, []string{"writing (1,234 characters)", "writing (1,234 characters, 7 s)"}},
		{"millions", []llm.Event{text(strings.Repeat("x", 1234567))}, []string{"writing (1,234,567 characters)"}},
		{"text goes on after a search", []llm.Event{text("ab"), start("search"), text("c")}, []string{"writing (3 characters)"}},
		{"only the last stage", []llm.Event{start("text"), text("ab"), start("thinking")}, []string{"thinking", "thinking (7 s)"}},
		{"again", []llm.Event{find("a"), text("abc"), llm.Retrying{Attempt: 2}}, []string{"retrying (2)", "retrying (2) (7 s)"}},
		{"again from nothing", []llm.Event{text("abc"), llm.Retrying{Attempt: 3}, text("d")}, []string{"writing (1 character)"}},
		{"no stages", []llm.Event{start("tool_use"), llm.BlockDelta{InputJSON: "{}"}, llm.Usage{}, llm.Done{}}, []string{"thinking (7 s)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := stages{now: "thinking"}
			for _, ev := range tt.events {
				s.see(ev)
			}
			var got []string
			for range tt.want {
				got = append(got, s.take(7900*time.Millisecond))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever the model searches for, the client gets one short line.
func TestStagesMessageIsALine(t *testing.T) {
	for _, tt := range []struct{ query, want string }{
		{"a\nb\r\n\tc", "searching: a b c"},
		{"a\x1b[31mb\x00\u0085c", "searching: a[31mb c"},
		{"a\u202eb\u2066c", "searching: abc"},
		{"a\u2028b", "searching: a b"},
		{"\xff\xfea", "searching: a"},
		{" \n ", "searching"},
		{strings.Repeat("天", 1000), "searching: " + strings.Repeat("天", 188) + "…"},
		{strings.Repeat("x", 1<<20), "searching: " + strings.Repeat("x", 188) + "…"},
	} {
		s := stages{}
		s.see(find(tt.query))
		got := s.take(0)
		if got != tt.want || utf8.RuneCountInString(got) > maxProgress {
			t.Errorf("message of %.40q = %q, want %q", tt.query, got, tt.want)
		}
		if n := utf8.RuneCountInString(s.take(5 * time.Minute)); n > maxProgress {
			t.Errorf("message of %.40q with its time has %d characters", tt.query, n)
		}
	}
}
