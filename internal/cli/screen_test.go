package cli

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// The status line shows seconds, stage and query; it fits the terminal and
// makes room for warnings.
func TestStatusLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		var columns atomic.Int64
		columns.Store(80)
		s := &screen{status: &out, stderr: &out, width: func() int { return int(columns.Load()) }, stage: "asking"}
		step := func(want string, events ...llm.Event) {
			t.Helper()
			for _, ev := range events {
				s.watch(ev)
			}
			time.Sleep(redraw)
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			if got := out.String(); !strings.HasSuffix(got, want) {
				t.Errorf("%q does not end with %q", got, want)
			}
			out.Reset()
		}
		stop := s.start()
		step("0s asking")
		time.Sleep(time.Second)
		step("\r           \r1s asking")
		step("1s thinking", llm.BlockStart{Kind: llm.BlockThinking})
		step("1s searching: weather [2Jin Tokyo", llm.BlockStart{Kind: llm.BlockSearch}, llm.Search{Action: "search", Query: "weather\n\x1b[2Jin Tokyo"})
		step("2s reading: https://x.example/a", llm.Search{Action: "open_page", URL: "https://x.example/a"})
		columns.Store(15)
		step("2s reading:…")
		if _, err := s.Write([]byte("warning\n")); err != nil {
			t.Error(err)
		}
		step("\rwarning\n2s reading:…")
		columns.Store(80)
		step("2s retrying (2): "+llm.KindRateLimit.String(), llm.Retrying{Attempt: 2, Err: &llm.Error{Kind: llm.KindRateLimit}})
		step("s writing", llm.BlockStart{Kind: llm.BlockText})
		stop()
		step(" \r")
	})
}

// What a call shows on stdout at a width of 40.
func TestScreen(t *testing.T) {
	begin := func(text string) []llm.Event {
		return []llm.Event{llm.BlockStart{Kind: llm.BlockText}, llm.BlockDelta{Text: text}}
	}
	const sources = "\n\nSources:\n- https://a.example/1 (2026-01-02)\n- oai-weather (2026-01-02)"
	const listed = "\nSources:\n- First — https://a.example/1\n  (2026-01-02)\n- oai-weather (2026-01-02)\n"
	for _, tt := range []struct {
		name   string
		tries  [][]llm.Event // each lasts until the next redraw
		live   string        // what is shown before the end
		answer string
		rest   string
	}{
		{"paragraphs", [][]llm.Event{begin("one [two](https://b.example/x) three four five six\n\nsev"), {llm.BlockDelta{Text: "en" + sources}}},
			"one two (b.example) three four five six\n\nseven\n", "one [two](https://b.example/x) three four five six\n\nseven" + sources, listed},
		{"list added", [][]llm.Event{begin("one")}, "", "one" + sources, "one\n" + listed},
		{"not streamed", nil, "", "one" + sources, "one\n" + listed},
		{"code", [][]llm.Event{begin("one\n\n```\na\n\nb")}, "one\n", "one\n\n```\na\n\nb\n```", "\n```\na\n\nb\n```\n"},
		{"markers", [][]llm.Event{begin("one \ue200cite\ue202turn0search0\ue201\n\ntwo \ue200ci")}, "one\n", "one\n\ntwo", "\ntwo\n"},
		{"a commentary", [][]llm.Event{begin("Let me look."), {llm.BlockStart{Kind: llm.BlockSearch}}, begin("one")}, "Let me look.\n", "one", "\none\n"},
		{"two messages", [][]llm.Event{begin("one\n"), begin("\ntwo")}, "one\n", "one\n\ntwo", "\ntwo\n"},
		{"cut off", [][]llm.Event{begin("one\n\ntw"), {llm.Retrying{Attempt: 2, Err: &llm.Error{}}}, begin("one\n\ntwo")},
			"one\n\n--- starting again ---\n\none\n", "one\n\ntwo", "\ntwo\n"},
		{"another text", [][]llm.Event{begin("one\n\ntwo")}, "one\n", "three", "\n--- the answer ---\n\nthree\n"},
		{"failed", [][]llm.Event{begin("one\n\ntw")}, "one\n", "", "\ntw\n"},
	} {
		var out strings.Builder
		s := &screen{text: &out, width: func() int { return 40 }}
		for _, events := range tt.tries {
			for _, ev := range events {
				s.watch(ev)
			}
			s.paragraphs()
		}
		if got := out.String(); got != tt.live {
			t.Errorf("%s, live:\n%s\nwant\n%s", tt.name, got, tt.live)
		}
		out.Reset()
		ans := &answer.Answer{Text: tt.answer, Citations: []answer.Citation{{URL: "https://a.example/1", Title: "First"}}}
		if tt.answer == "" {
			ans = nil
		}
		if s.finish(ans); out.String() != tt.rest {
			t.Errorf("%s, rest:\n%s\nwant\n%s", tt.name, &out, tt.rest)
		}
	}
}
