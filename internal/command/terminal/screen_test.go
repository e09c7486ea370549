package terminal

import (
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/cite"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// newTestScreen returns a Screen for a terminal of that width.
func newTestScreen(stdout, status io.Writer, width int) *Screen {
	return &Screen{
		stdout:    stdout,
		showsText: stdout != nil,
		stderr:    status,
		hasStatus: status != nil,
		stage:     "asking",
		begin:     time.Now(),
		width:     func() int { return width },

		interrupted: func() bool { return false },
	}
}

// What the status line says after some events.
func TestStatusLine(t *testing.T) {
	searching := call.BlockStart{Kind: call.BlockSearch}
	search := call.Search{Action: "search", Query: "weather\n\x1b[2Jin Tokyo"}
	other := call.Search{Action: "search", Query: "other"}
	open := call.Search{Action: "open_page", URL: "https://x.example/" + strings.Repeat("a", 40)}
	retry := call.Retrying{Attempt: 2, Err: &call.APIError{Kind: call.KindRateLimit}}
	type events []call.Event

	for want, happened := range map[string]events{
		"asking":                           nil,
		"thinking":                         {call.BlockStart{Kind: call.BlockThinking}},
		"searching: weather [2Jin Tokyo":   {searching, search},
		"reading: https://x.example/aaaa…": {search, open},
		"searching: other":                 {other, searching}, // it stays
		"retrying (2): rate limited":       {retry},
		"writing":                          {call.BlockDelta{Text: "a"}},
	} {
		compare.Bubble(t, want, func(t *testing.T) {
			var out strings.Builder
			s := newTestScreen(nil, &out, 40)
			s.mono = true
			for _, ev := range happened {
				s.AddEvent(ev)
			}

			s.drawStatus()
			want := "\r  \r⠋ 0s " + want
			compare.Equal(t, "the status line", out.String(), want)
		})
	}
}

// The status line is drawn again while the call runs. It is removed when it ends, and for what
// others write to stderr. In the first two seconds there is no line in place of it.
func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		s := newTestScreen(nil, &out, 80)
		s.lacksLine = true

		time.Sleep(time.Second)
		s.StartRefreshing()
		time.Sleep(3 * redrawInterval / 2)
		_, _ = io.WriteString(s, "warning\n")
		time.Sleep(redrawInterval)
		s.Finish(nil)
		time.Sleep(3 * redrawInterval)

		const line = " 1s asking\x1b[0m\r             \r"
		const want = "\r  \r\x1b[0;2m⠋" + line + "\x1b[0;2m⠙" + line + "warning\n\r  \r\x1b[0;2m⠹" + line
		compare.Equal(t, "the terminal", out.String(), want)
	})
}

// cited is an answer with citations, which cites more pages.
var cited = answer.Answer{
	Citations: []cite.Citation{
		{URL: "https://a.example/1", Title: "First", PublishedAt: "2026-01-02"},
		{URL: "oai-weather", Title: "api", PublishedAt: "2026-01-03", IsAccessDate: true},
	},
	Sources: []cite.Citation{
		{URL: "https://b.example/x", Title: "Second"},
		{URL: "https://d.example", Title: "Fourth"},
	},
}

// do does a step of a call: message begins a message, of which the screen shows what is complete.
func do(s *Screen, step string) {
	word, quoted, _ := strings.Cut(step, " ")
	text, _ := strconv.Unquote(`"` + quoted + `"`) // else the output lacks it
	text = strings.ReplaceAll(text, "LONG", strings.Repeat("two\n\n", maxBlock))

	switch word {
	case "message":
		s.AddEvent(call.BlockStart{Kind: call.BlockText})
		do(s, "delta "+quoted)
	case "delta":
		s.AddEvent(call.BlockDelta{Text: text})
		s.showBlocks()
	case "retry":
		s.AddEvent(call.Retrying{Attempt: 2, Err: &call.APIError{}})
	case "interrupt":
		s.interrupted = func() bool { return true }
	case "block":
		s.Configure([]string{"evil.example"}, false)

	case "answered":
		end(s, &answer.Answer{Text: text})
	case "cited":
		ans := cited
		ans.Text = text
		end(s, &ans)
	case "fail":
		end(s, nil)
	}
}

// end ends the call. The line in the output tells what was shown before.
func end(s *Screen, ans *answer.Answer) {
	_, _ = io.WriteString(s.stdout, "=== end ===\n")
	s.Finish(ans)
}

func TestScreen(t *testing.T) {
	compare.Pairs(t, "screen", func(t *testing.T, steps, want string) {
		var out strings.Builder
		s := newTestScreen(&out, nil, 40)
		for step := range strings.SplitSeq(steps, "\n") {
			do(s, step)
		}

		got := sequences().ReplaceAllString(out.String(), "")
		compare.Equal(t, "the terminal", got, want)
	})
}

// FinishToString has the whole answer, also what came as a stream.
func TestFormat(t *testing.T) {
	s := New(t.Context(), Options{Color: "always"})
	do(s, `message one\n\ntw`)

	got := s.FinishToString(&answer.Answer{Text: "one\n\ntwo"})
	compare.Equal(t, "formatted", got, "one\n\ntwo\n")
}

// Neither links and headers in each row nor rules nor sources make an answer long.
func TestWritten(t *testing.T) {
	compare.SkipShort(t, "lays out long texts")
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

// A styled text takes 40 bytes for each of its own, so a long URL is shown without styles. The
// status line has its beginning.
func TestLongURL(t *testing.T) {
	long := "https://a.example/" + strings.Repeat("x", 1<<20)
	var out strings.Builder
	s := newTestScreen(&out, nil, 80)
	s.AddEvent(call.Search{Action: "open_page", URL: long})
	compare.Equal(t, "the stage is short", len(s.stage) < 1000, true)

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s.Finish(&answer.Answer{
		Text:      "one",
		Citations: []cite.Citation{{URL: long, PublishedAt: "2025-01-02"}},
	})
	runtime.ReadMemStats(&after)

	want := "one\n\nSources:\n[1] " + long + "\n"
	compare.Equal(t, "it is shown", sequences().ReplaceAllString(out.String(), "") == want, true)
	used := after.TotalAlloc - before.TotalAlloc
	if most := uint64(30 * len(long)); used > most {
		t.Errorf("a URL of %d bytes takes %d bytes, want at most %d", len(long), used, most)
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
