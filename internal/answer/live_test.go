package answer

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// streamed are the events of a text block, n bytes a delta.
func streamed(id string, index int, text string, n int) []llm.Event {
	events := []llm.Event{llm.BlockStart{Index: index, Kind: llm.BlockText, ID: id}}
	for len(text) > 0 {
		end := min(n, len(text))
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end++
		}
		events = append(events, llm.BlockDelta{Index: index, Text: text[:end]})
		text = text[end:]
	}
	return append(events, llm.BlockStop{Index: index})
}

func TestLive(t *testing.T) {
	const story = "The first paragraph says what there is to say, at some length.\n\nThe second one adds a little to it."
	const list = "\n\nSources:\n- https://x.example"
	for _, tt := range []struct {
		name   string
		texts  []string // of the messages
		answer string
		shown  string // before Rest
		ok     bool
	}{
		{"one message", []string{story}, story, story, true},
		{"our list follows", []string{story + list}, story + list + "\n\nSources:\n- x (2026-01-02)", story + list, true},
		{"markers", []string{"So \ue200cite\ue202turn0search0\ue201 \ue200cite\ue202turn0search1\ue201. " + story + " \ue200cite\ue202turn0search0\ue201"},
			"So. " + story, "So. " + story, true},
		{"links", []string{"See [x](https://x.example/?a=1&utm_source=openai), really?"}, "See [x](https://x.example/?a=1), really?", "See [x](https://x.example/?a=1), really", true},
		{"white space around", []string{"\n " + story + " \n\n"}, story, story, true},
		{"two messages", []string{"Looking at it.", story}, "Looking at it.\n\n" + story, "Looking at it.\n\n" + story, true},
		{"a commentary", []string{"Looking it up.", story}, story, "Looking it up.\n\n" + story, true},
		{"another answer", []string{story}, "Something else.", story, false},
	} {
		for _, n := range []int{1, 3, 50, 1 << 20} {
			var l Live
			var b strings.Builder
			for i, text := range tt.texts {
				for _, ev := range streamed(string(rune('a'+i)), i, text, n) {
					b.WriteString(l.See(ev))
				}
			}
			if b.String() != tt.shown {
				t.Errorf("%s, %d bytes a delta: shown %q, want %q", tt.name, n, b.String(), tt.shown)
			}
			if rest, ok := l.Rest(tt.answer); ok != tt.ok || ok && !strings.HasSuffix(b.String()+rest, tt.answer) {
				t.Errorf("%s, %d bytes a delta: shown %q, rest %q, %t, want %q", tt.name, n, b.String(), rest, ok, tt.answer)
			}
		}
	}

	var l Live
	for _, ev := range streamed("m", 0, "One,", 2) {
		l.See(ev)
	}
	l.See(llm.Retrying{Attempt: 2})
	if rest, ok := l.Rest(story); !ok || rest != story {
		t.Errorf("after a retry the rest is %q, %t, want the whole answer", rest, ok)
	}
}
