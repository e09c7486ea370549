package terminal

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/cite"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// The status line shows seconds, stage and query; it fits the terminal and makes room for warnings.
func TestStatusLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		columns := 80
		s := &Screen{status: &out, stderr: &out, plain: true, width: func() int { return columns }, stage: "asking", begin: time.Now()}
		step := func(want string, events ...llm.Event) {
			t.Helper()
			for _, ev := range events {
				s.Watch(ev)
			}
			s.draw()
			if got := out.String(); !strings.HasSuffix(got, want) {
				t.Errorf("%q does not end with %q", got, want)
			}
		}
		step("0s asking")
		time.Sleep(time.Second)
		step("\r           \r1s asking")
		step("1s thinking", llm.BlockStart{Kind: llm.BlockThinking})
		step("1s searching: weather [2Jin Tokyo", llm.BlockStart{Kind: llm.BlockSearch}, llm.Search{Action: "search", Query: "weather\n\x1b[2Jin Tokyo"})
		step("1s reading: https://x.example/a", llm.Search{Action: "open_page", URL: "https://x.example/a"})
		columns = 15
		step("1s reading:…")
		_, _ = s.Write([]byte("warning\n"))
		step("\rwarning\n\r  \r1s reading:…")
		columns = 80
		step("1s retrying (2): "+llm.KindRateLimit.String(), llm.Retrying{Attempt: 2, Err: &llm.Error{Kind: llm.KindRateLimit}})
		step("s writing", llm.BlockStart{Kind: llm.BlockText})
		s.plain, s.faint, s.begin = false, dim, time.Now()
		s.Refresh()
		time.Sleep(3 * redraw / 2)
		s.Finish(nil)
		const blank = "\r              \r"
		if want := blank[3:] + "\x1b[0;2m⠋ 0s writing\x1b[0m" + blank + "\x1b[0;2m⠙ 0s writing\x1b[0m" + blank; !strings.HasSuffix(out.String(), want) {
			t.Errorf("%q does not end with %q", out.String(), want)
		}
	})
}

// What a call shows on stdout at a width of 40.
func TestScreen(t *testing.T) {
	begin := func(text string) []llm.Event {
		return []llm.Event{llm.BlockStart{Kind: llm.BlockText}, llm.BlockDelta{Text: text}}
	}
	const (
		sources = "\n\nSources:\n- https://a.example/1 (2026-01-02)\n- oai-weather (2026-01-02)"
		listed  = "\nSources:\n[1] First https://a.example/1\n    (2026-01-02)\n[2] oai-weather (accessed 2026-01-03)\n"
		own     = "\n\n## 出典\n\n- [Ignored](https://www.a.example/1/) (2026-01-02)\n- **Third page** — https://c.example/3 (2025-12-31)\n- https://b.example/x (2025-12-30)\n- https://a%b/ (2025-12-29)"
		merged  = "\n出典:\n[1] https://b.example/x (2025-12-30)\n[2] First https://a.example/1\n    (2026-01-02)\n[3] oai-weather (accessed 2026-01-03)\n[4] https://c.example/3 (2025-12-31)\n"
	)
	link := "one [two](https://b.example/x) three four five six seven"
	for _, tt := range []struct {
		name   string
		tries  [][]llm.Event // each lasts until the next redraw
		live   string        // what is shown before the end
		answer string
		rest   string
	}{
		{"paragraphs", [][]llm.Event{begin(link + "\n\neig"), {llm.BlockDelta{Text: "ht" + own}}}, "one two[1] three four five six seven\n\neight\n", link + "\n\neight" + own, merged},
		{"list added", [][]llm.Event{begin("one")}, "", "one" + sources, "one\n" + listed},
		{"not streamed", nil, "", "one" + sources, "one\n" + listed},
		{"another heading", [][]llm.Event{begin("one\n\nSources:\n\nMany\n\nmore\n\nSources:\n- ht")}, "one\n\nSources:\n\nMany\n\nmore\n", "one\n\nSources:\n\nMany\n\nmore" + sources, listed},
		{"code", [][]llm.Event{begin("one\n\n```\na\n\nb")}, "one\n", "one\n\n```\na\n\nb\n```" + sources, "\na\n\nb\n" + listed},
		{"code in a list", [][]llm.Event{begin("- one\n\n  ~~~\n  a\n\n  b\n  ~~~\n\n- two\n\n  three")}, "• one\n\n  a\n\n  b\n", "- one\n\n  ~~~\n  a\n\n  b\n  ~~~\n\n- two\n\n  three" + sources, "\n• two\n\n  three\n" + listed},
		{"markers", [][]llm.Event{begin("one \ue200cite\ue202turn0search0\ue201\n\ntwo \ue200ci")}, "one\n", "one\n\ntwo" + sources, "\ntwo\n" + listed},
		{"a commentary", [][]llm.Event{begin("Let me look."), {llm.BlockStart{Kind: llm.BlockSearch}}, begin("one")}, "Let me look.\n", "one" + sources, "\none\n" + listed},
		{"two messages", [][]llm.Event{begin("one\n"), begin("\ntwo")}, "one\n", "one\n\ntwo" + sources, "\ntwo\n" + listed},
		{"cut off", [][]llm.Event{begin("one https://b.example/x\n\ntw"), {llm.Retrying{Attempt: 2, Err: &llm.Error{}}}, begin("one\n\ntwo")}, "one https://b.example/x[1]\n\n--- starting again ---\n\none\n", "one\n\ntwo" + sources, "\ntwo\n" + listed},
		{"another text", [][]llm.Event{begin("one\n\ntwo")}, "one\n", "three" + sources, "\n--- the answer ---\n\nthree\n" + listed},
		{"failed", [][]llm.Event{begin(link + "\n\ntw")}, "one two[1] three four five six seven\n", "", "\ntw\n\nSources:\n[1] https://b.example/x\n"},
	} {
		var out strings.Builder
		s := &Screen{text: &out, width: func() int { return 40 }}
		for _, events := range tt.tries {
			for _, ev := range events {
				s.Watch(ev)
			}
			s.blocks()
		}
		if got := sequences.ReplaceAllString(out.String(), ""); got != tt.live {
			t.Errorf("%s, live:\n%s\nwant\n%s", tt.name, got, tt.live)
		}
		out.Reset()
		ans := &answer.Answer{Text: tt.answer, Citations: []cite.Citation{
			{URL: "https://a.example/1", Title: "First", PublishedAt: "2026-01-02"},
			{URL: "oai-weather", Title: "api", PublishedAt: "2026-01-03", Accessed: true},
		}}
		if tt.answer == "" {
			ans = nil
		}
		s.Finish(ans)
		if got := sequences.ReplaceAllString(out.String(), ""); got != tt.rest {
			t.Errorf("%s, rest:\n%s\nwant\n%s", tt.name, got, tt.rest)
		}
	}
}

// Where control sequences are not wanted, the text is as it is.
func TestPlainScreen(t *testing.T) {
	const body = "# one\n\n**two** [three](https://a.example/1)\x1b[2J\n\nSources:\n- https://a.example/1 (2026-01-02)"
	for env, o := range map[string]Options{"NO_COLOR=1": {NoColor: true}, "TERM=dumb": {Term: "dumb"}} {
		var out strings.Builder
		s := New(o)
		s.text = &out
		s.Watch(llm.BlockDelta{Text: body})
		s.blocks()
		s.Finish(&answer.Answer{Text: body})
		if want := strings.ReplaceAll(body, "\x1b", "") + "\n"; out.String() != want {
			t.Errorf("%s: %q, want %q", env, out.String(), want)
		}
	}
}
