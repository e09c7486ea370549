package terminal

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/cite"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// newTestScreen returns a Screen for a terminal of that width.
func newTestScreen(stdout, status io.Writer, width int) *Screen {
	return &Screen{
		stdout: stdout,
		shows:  stdout != nil,
		status: status,
		stderr: status,
		stage:  "asking",
		begin:  time.Now(),
		width:  func() int { return width },

		interrupted: func() bool { return false },
	}
}

// What the status line says after some events.
func TestStatusLine(t *testing.T) {
	searching := llm.BlockStart{Kind: llm.BlockSearch}
	search := llm.Search{Action: "search", Query: "weather\n\x1b[2Jin Tokyo"}
	other := llm.Search{Action: "search", Query: "other"}
	open := llm.Search{Action: "open_page", URL: "https://x.example/" + strings.Repeat("a", 40)}
	retry := llm.Retrying{Attempt: 2, Err: &llm.Error{Kind: llm.KindRateLimit}}
	type events []llm.Event

	for want, happened := range map[string]events{
		"asking":                           nil,
		"thinking":                         {llm.BlockStart{Kind: llm.BlockThinking}},
		"searching: weather [2Jin Tokyo":   {searching, search},
		"reading: https://x.example/aaaa…": {search, open},
		"searching: other":                 {other, searching}, // it stays
		"retrying (2): rate limited":       {retry},
		"writing":                          {llm.BlockDelta{Text: "a"}},
	} {
		t.Run(want, func(t *testing.T) {
			var out strings.Builder
			s := newTestScreen(nil, &out, 40)
			for _, ev := range happened {
				s.Watch(ev)
			}

			s.drawStatus()
			want := "\r  \r⠋ 0s " + want
			compare.Equal(t, "the status line", out.String(), want)
		})
	}
}

// The status line is drawn again while the call runs. It is removed when it ends, and for what
// others write to stderr.
func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		s := newTestScreen(nil, &out, 80)
		s.faint = dim

		time.Sleep(time.Second)
		s.Refresh()
		time.Sleep(3 * redraw / 2)
		_, _ = io.WriteString(s, "warning\n")
		time.Sleep(redraw)
		s.Finish(nil)
		time.Sleep(3 * redraw)

		const line = " 1s asking\x1b[0m\r             \r"
		const want = "\r  \r\x1b[0;2m⠋" + line + "\x1b[0;2m⠙" + line + "warning\n\r  \r\x1b[0;2m⠹" + line
		compare.Equal(t, "the terminal", out.String(), want)
	})
}

// A step is something that happens during a call.
type step func(s *Screen)

// message begins a message, of which the screen shows what is complete.
func message(text string) step {
	return func(s *Screen) {
		s.Watch(llm.BlockStart{Kind: llm.BlockText})
		delta(text)(s)
	}
}

func delta(text string) step {
	return func(s *Screen) {
		s.Watch(llm.BlockDelta{Text: text})
		s.showBlocks()
	}
}

func retry(s *Screen)           { s.Watch(llm.Retrying{Attempt: 2, Err: &llm.Error{}}) }
func fail(s *Screen)            { end(s, nil) }
func interrupt(s *Screen)       { s.interrupted = func() bool { return true } }
func block(s *Screen)           { s.Configure([]string{"evil.example"}, false) }
func answered(text string) step { return func(s *Screen) { end(s, &answer.Answer{Text: text}) } }

// cited ends a call with an answer that has citations, and cites more pages.
func cited(text string) step {
	return func(s *Screen) {
		end(s, &answer.Answer{
			Text: text,
			Citations: []cite.Citation{
				{URL: "https://a.example/1", Title: "First", PublishedAt: "2026-01-02"},
				{URL: "oai-weather", Title: "api", PublishedAt: "2026-01-03", Accessed: true},
			},
			Sources: []cite.Citation{
				{URL: "https://b.example/x", Title: "Second"},
				{URL: "https://d.example", Title: "Fourth"},
			},
		})
	}
}

// end ends the call. The line in the output tells what was shown before.
func end(s *Screen, ans *answer.Answer) {
	_, _ = io.WriteString(s.stdout, "=== end ===\n")
	s.Finish(ans)
}

// The list of an answer that is cited, and how it is shown.
const (
	ownList   = "\n\nSources:\n- https://a.example/1 (2026-01-02)\n- oai-weather (2026-01-02)"
	shownList = `
Sources:
[1] First https://a.example/1
    (2026-01-02)
[2] oai-weather (accessed 2026-01-03)
`
)

// call is what happens during a call, and what is on a terminal of 40 columns before and after its
// end.
type call struct {
	steps []step
	want  string
}

func shows(t *testing.T, calls map[string]call) {
	t.Helper()

	for name, tt := range calls {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			s := newTestScreen(&out, nil, 40)
			for _, do := range tt.steps {
				do(s)
			}

			got := sequences.ReplaceAllString(out.String(), "")
			compare.Equal(t, "the terminal", got, tt.want)
		})
	}
}

func TestScreen(t *testing.T) {
	shows(t, map[string]call{
		"complete blocks are shown at once": {
			[]step{message("one\n\neig"), delta("ht\n\nnine"), answered("one\n\neight\n\nnine")},
			"one\n\neight\n=== end ===\n\nnine\n",
		},

		"a block of code is shown as a whole": {
			[]step{message("one\n\n```\na\n\nb"), answered("one\n\n```\na\n\nb\n```")},
			"one\n=== end ===\n\n    a\n\n    b\n",
		},

		"a block of code in a list": {
			[]step{
				message("- one\n\n  ~~~\n  a\n\n  b\n  ~~~\n\n- two"),
				answered("- one\n\n  ~~~\n  a\n\n  b\n  ~~~\n\n- two"),
			},
			"• one\n\n      a\n\n      b\n=== end ===\n\n• two\n",
		},

		"markers of the API": {
			[]step{message("one \ue200cite\ue202turn0search0\ue201\n\ntwo \ue200ci"), answered("one\n\ntwo")},
			"one\n=== end ===\n\ntwo\n",
		},

		"a commentary that is not in the answer": {
			[]step{message("Let me look."), message("one"), answered("one")},
			"Let me look.\n=== end ===\n\none\n",
		},

		"two messages": {
			[]step{message("one\n"), message("\ntwo"), answered("one\n\ntwo")},
			"one\n=== end ===\n\ntwo\n",
		},

		"an answer that differs from the stream": {
			[]step{message("one\n\ntwo"), answered("three")},
			"one\n=== end ===\n\n--- the answer ---\n\nthree\n",
		},
	})
}

func TestSources(t *testing.T) {
	const twoLists = "Sources:\n\nMany\n\nmore\n\nSources:\n\n- https://a.example/1 (2026-01-02)"

	shows(t, map[string]call{
		"an answer that was not streamed": {
			[]step{cited("one" + ownList)},
			"=== end ===\none\n" + shownList,
		},

		"an answer with a new list of sources": {
			[]step{message("one"), cited("one" + ownList)},
			"=== end ===\none\n" + shownList,
		},

		"the last list of sources waits for the end": {
			[]step{message(twoLists), cited(twoLists)},
			"Sources:\n\nMany\n\nmore\n=== end ===\n" + shownList,
		},

		"the model's own list gets the pages of the text, the citations, and titles": {
			[]step{cited("See [two](https://b.example/x).\n\n## 出典\n\n" +
				"- [Ignored](https://www.a.example/1/) (2026-01-02)\n" +
				"- **Third page** — https://c.example/3 (2025-12-31)\n" +
				"- https://b.example/x (2025-12-30)\n" +
				"- https://a%b/ (2025-12-29)")},
			`=== end ===
See two[1].

出典:
[1] Second https://b.example/x
    (2025-12-30)
[2] First https://a.example/1
    (2026-01-02)
[3] oai-weather (accessed 2026-01-03)
[4] https://c.example/3 (2025-12-31)
`,
		},

		"blocked pages have no number, also after a retry": {
			[]step{block, message("a\n\nb"), retry, cited("[two](https://evil.example/x) https://b.example\n\nSources:\n" +
				"- https://www.evil.example (2026-01-01)")},
			`a

--- starting again ---
=== end ===

[two](https://evil.example/x)
https://b.example[1]

Sources:
[1] https://b.example
[2] First https://a.example/1
    (2026-01-02)
[3] oai-weather (accessed 2026-01-03)
`,
		},
	})
}

func TestNoAnswer(t *testing.T) {
	shows(t, map[string]call{
		"a retry starts again": {
			[]step{message("one https://b.example/x\n\ntw"), retry, message("one\n\ntwo"), cited("one\n\ntwo" + ownList)},
			"one https://b.example/x[1]\n\n--- starting again ---\n\none\n=== end ===\n\ntwo\n" + shownList,
		},

		"a failed call shows what there is": {
			[]step{message("[one](https://b.example/x)\n\ntw"), fail},
			"one[1]\n=== end ===\n\ntw\n\nSources:\n[1] https://b.example/x\n",
		},

		"an interrupted call": {
			[]step{message("https://b.example/x [one](https://b.exam"), interrupt, fail},
			"=== end ===\nhttps://b.example/x[1]\n[one](https://b.exam\n\ninterrupted\n\nSources:\n[1] https://b.example/x\n",
		},

		"a call that is interrupted before its first text": {
			[]step{interrupt, fail},
			"=== end ===\n",
		},

		"an interrupt before a long answer is shown": {
			[]step{message("one\n\ntw"), interrupt, answered("one\n\n" + strings.Repeat("two\n\n", maxBlock))},
			"one\n=== end ===\n\ninterrupted\n",
		},
	})
}

// Without color the layout is the same, without control sequences.
func TestNoColor(t *testing.T) {
	var out strings.Builder
	s := New(t.Context(), Options{Color: "never"})
	s.stdout = &out
	s.shows = true
	s.showMarkdown("# one\n\n**two** [three](https://a.example/1)")
	compare.Equal(t, "the terminal", out.String(), "one\n\ntwo three[1]\n")
}

// Format has the whole answer, also what came as a stream.
func TestFormat(t *testing.T) {
	s := New(t.Context(), Options{Color: "always"})
	message("one\n\ntw")(s)

	got := s.Format(&answer.Answer{Text: "one\n\ntwo"})
	compare.Equal(t, "formatted", got, "one\n\ntwo\n")
}

// Neither links and headers in each row nor rules nor sources make an answer long.
func TestWritten(t *testing.T) {
	var many strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&many, "http://%x\n\n", i)
	}
	link := "[" + strings.Repeat("漢", 5000) + "](https://a.example/" + strings.Repeat("x", 2000) + ")"
	records := "|" + strings.Repeat("x ", 8000) + "|b\n|-|-\n" + strings.Repeat("|a|b\n", 3000)

	for name, body := range map[string]string{
		"a long URL": "https://a.example/" + strings.Repeat("漢", 1000),
		"long URLs":  strings.Repeat("https://a.example/"+strings.Repeat("漢", 600)+"\n\n", 100),
		"short URLs": many.String(),
		"a link":     link,
		"a cell":     "|a|b\n|-|-\n|c|" + link,
		"records":    records,
		"rules":      strings.Repeat("---\n\n", 1000),
	} {
		for _, width := range []int{10, 300} {
			t.Run(fmt.Sprint(name, " ", width), func(t *testing.T) {
				var out strings.Builder
				newTestScreen(&out, nil, width).Finish(&answer.Answer{Text: body})
				if got, most := out.Len(), 4*len(body)+64<<10; got > most {
					t.Errorf("%d bytes are shown as %d, want at most %d", len(body), got, most)
				}
			})
		}
	}
}

// An interrupted call does not list thousands of sources.
func TestLongList(t *testing.T) {
	for interrupted, most := range map[bool]int{true: 2 * maxBlock, false: 50 * maxBlock} {
		t.Run(fmt.Sprint(interrupted), func(t *testing.T) {
			var out strings.Builder
			s := newTestScreen(&out, nil, 80)
			s.interrupted = func() bool { return interrupted }
			for i := range maxBlock {
				s.layout.sources.add(cite.Citation{URL: fmt.Sprintf("https://a.example/%d", i)})
			}

			s.Finish(nil)
			if got := out.Len(); got < most/2 || got > most {
				t.Errorf("the list has %d bytes, want %d to %d", got, most/2, most)
			}
		})
	}
}
