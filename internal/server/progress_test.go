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
func find(q string) llm.Event     { return llm.Search{Action: "search", Query: q} }

func TestStages(t *testing.T) {
	for _, tt := range []struct {
		name   string
		events []llm.Event
		want   []string // the messages that follow
	}{
		{"nothing", nil, []string{"thinking"}},
		{"more thinking", []llm.Event{start("thinking"), llm.BlockDelta{Thinking: "so"}, llm.BlockStop{}}, []string{"thinking"}},
		{"a search begins", []llm.Event{start("search")}, []string{"searching"}},
		{"its query", []llm.Event{start("search"), find("go 1.26")}, []string{"searching: go 1.26"}},
		{"a search that is over", []llm.Event{find("go 1.26"), start("thinking")}, []string{"searching: go 1.26", "thinking"}},
		{"a page", []llm.Event{llm.Search{Action: "open_page", URL: "https://go.dev/"}}, []string{"reading: https://go.dev/"}},
		{"in a page", []llm.Event{llm.Search{Action: "find_in_page", URL: "https://go.dev/", Query: "x"}}, []string{"reading: https://go.dev/"}},
		{"an unknown action", []llm.Event{llm.Search{Action: "dig"}}, []string{"searching"}},
		{"the same query twice", []llm.Event{find("a"), find("a")}, []string{"searching: a"}},
		{"many queries", []llm.Event{find("a"), find("b"), find("c")}, []string{"searching: a", "searching: b", "searching: c"}},
		{"characters, not bytes", []llm.Event{start("text"), delta("天")}, []string{"writing (1 characters)"}},
		{"millions", []llm.Event{delta(strings.Repeat("x", 1234567))}, []string{"writing (1,234,567 characters)"}},
		{"text after a search", []llm.Event{delta("ab"), start("search"), delta("c")}, []string{"writing (3 characters)"}},
		{"a retry", []llm.Event{find("a"), delta("abc"), llm.Retrying{Attempt: 2, Err: &llm.Error{Kind: llm.KindServer}}}, []string{"retrying (2): server error"}},
		{"text after a retry", []llm.Event{delta("abc"), llm.Retrying{Attempt: 3, Err: &llm.Error{Kind: llm.KindServer}}, delta("d")}, []string{"writing (1 characters)"}},
		{"other events", []llm.Event{start("tool_use"), llm.BlockDelta{InputJSON: "{}"}, llm.Usage{}, llm.Done{}}, []string{"thinking"}},
		{"control characters", []llm.Event{find("a\nb\x1b[31mc\u202ed")}, []string{"searching: a b[31mcd"}},
		{"a blank query", []llm.Event{find(" \n ")}, []string{"searching"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &stages{current: "thinking"}
			for _, ev := range tt.events {
				s.add(ev)
			}
			var got []string
			for range len(tt.events) + 1 {
				got = append(got, s.next())
			}
			got = slices.Compact(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		s := &stages{current: "thinking"}
		var got []string
		go s.run(ctx, func(message string) error {
			got = append(got, fmt.Sprint(time.Since(began), ": ", message))
			return nil
		})
		time.Sleep(10 * time.Millisecond)
		s.add(start("search"))
		s.add(find("a"))
		s.add(start("text"))
		s.add(delta("ab"))
		time.Sleep(6 * time.Second)
		s.add(start("thinking"))
		time.Sleep(time.Millisecond)
		s.add(find(strings.Repeat("天", 1000)))
		time.Sleep(300 * time.Millisecond)
		s.add(find("too late"))
		cancel()
		synctest.Wait()
		want := []string{"0s: thinking", "300ms: searching: a", "600ms: writing (2 characters)",
			"5.7s: writing (2 characters)", "6.3s: searching: " + strings.Repeat("天", 188) + "…"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
	})
}
