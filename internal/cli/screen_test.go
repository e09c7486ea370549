package cli

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// newTestScreen returns a screen whose stdout and stderr are a terminal of the
// width *columns.
func newTestScreen(out *strings.Builder, columns *int) *screen {
	return &screen{text: out, status: out, stderr: out, width: func() int { return *columns }, stage: "asking"}
}

// The status line shows seconds, stage and query; it follows the width of the
// terminal and makes room for warnings.
func TestStatusLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		columns := 80
		s := newTestScreen(&out, &columns)
		s.text = nil
		step := func(want string) {
			t.Helper()
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			if got := out.String(); !strings.HasSuffix(got, want) {
				t.Errorf("%q does not end with %q", got, want)
			}
			out.Reset()
		}
		s.start(func() {})
		step("| 0s asking")
		time.Sleep(1100 * time.Millisecond)
		step(eraseLine + `/ 1s asking`)
		s.watch(llm.BlockStart{Kind: llm.BlockThinking})
		step("/ 1s thinking")
		s.watch(llm.BlockStart{Kind: llm.BlockSearch})
		s.watch(llm.Search{Action: "search", Query: "weather\n\x1b[2Jin Tokyo"})
		step("/ 1s searching: weather [2Jin Tokyo")
		s.watch(llm.Search{Action: "open_page", URL: "https://x.example/a"})
		step("/ 1s reading: https://x.example/a")
		s.mu.Lock()
		columns = 15
		s.mu.Unlock()
		time.Sleep(redraw)
		step("\x1b[2A\r" + eraseBelow + "- 1s reading:…")
		if _, err := s.Write([]byte("warning\n")); err != nil {
			t.Error(err)
		}
		step(eraseLine + "warning\n")
		columns = 80
		s.watch(llm.Retrying{Attempt: 2, Err: &llm.Error{Kind: llm.KindRateLimit}})
		step("retrying (2): " + llm.KindRateLimit.String())
		s.watch(llm.BlockStart{Kind: llm.BlockText})
		step("s writing")
		if err := s.finish(nil); err != nil {
			t.Error(err)
		}
		step(eraseLine)
	})
}

// What a run shows, without control sequences, and with a width of 40.
func TestScreen(t *testing.T) {
	text := func(s string) []llm.Event {
		events := []llm.Event{llm.BlockStart{Kind: llm.BlockText, ID: s}}
		for _, r := range s {
			events = append(events, llm.BlockDelta{Text: string(r)})
		}
		return append(events, llm.BlockStop{})
	}
	join := func(parts ...[]llm.Event) (all []llm.Event) {
		for _, p := range parts {
			all = append(all, p...)
		}
		for i, n := range all { // number the blocks
			block := -1
			for _, ev := range all[:i+1] {
				if _, ok := ev.(llm.BlockStart); ok {
					block++
				}
			}
			switch e := n.(type) {
			case llm.BlockStart:
				e.Index, all[i] = block, e
			case llm.BlockDelta:
				e.Index, all[i] = block, e
			}
		}
		return all
	}
	const sources = "\n\nSources:\n- https://a.example/1 (2026-01-02)\n- oai-weather (2026-01-02)"
	const listed = "\nSources:\n- First — https://a.example/1\n  (2026-01-02)\n- oai-weather (2026-01-02)\n"
	cited := []answer.Citation{{URL: "https://a.example/1", Title: "First"}}
	search := []llm.Event{llm.BlockStart{Kind: llm.BlockSearch}, llm.Search{Query: "q"}, llm.BlockStop{}}
	for _, tt := range []struct {
		name   string
		events []llm.Event
		answer string
		want   string
	}{
		{"streamed", text("one [two](https://b.example/x) three four five six" + sources), "one [two](https://b.example/x) three four five six" + sources,
			"one two (b.example) three four five six\n" + listed},
		{"list added", text("one"), "one" + sources, "one\n" + listed},
		{"not streamed", nil, "one" + sources, "one\n" + listed},
		{"a list in the middle", text("- a\n- b\n\ntwo"), "- a\n- b\n\ntwo", "- a\n- b\n\ntwo\n"},
		{"a search after text", join(text("Let me look."), search, text("one")), "one", "Let me look.\n\n--- searching again ---\n\none\n"},
		{"cut off", join(text("on"), []llm.Event{llm.Retrying{Attempt: 2, Err: &llm.Error{}}}, text("one")), "one", "on\n\n--- cut off, starting again (2) ---\n\none\n"},
		{"another text", text("one"), "two", "one\n\n--- the answer ---\n\ntwo\n"},
		{"failed", text("one tw"), "", "one tw\n"},
	} {
		var out strings.Builder
		columns := 40
		s := newTestScreen(&out, &columns)
		s.status = nil
		s.start(func() {})
		for _, ev := range join(tt.events) {
			s.watch(ev)
		}
		ans := &answer.Answer{Text: tt.answer, Citations: cited}
		if tt.answer == "" {
			ans = nil
		}
		if err := s.finish(ans); err != nil {
			t.Error(err)
		}
		if got := out.String(); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errors.New("closed") }

// When stdout is closed, the run ends.
func TestScreenClosed(t *testing.T) {
	stopped := false
	s := &screen{text: closed{}, width: func() int { return 80 }}
	s.start(func() { stopped = true })
	s.watch(llm.BlockStart{Kind: llm.BlockText})
	s.watch(llm.BlockDelta{Text: "one two three\n\nfour"})
	if err := s.finish(nil); err == nil || !stopped {
		t.Errorf("finish: %v, stopped %v", err, stopped)
	}
}
