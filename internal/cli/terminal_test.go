package cli

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

func TestPrintable(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"a\tb\nc", "a\tb\nc"},
		{"\x1b[31mred\x1b[0m", "[31mred[0m"},
		{"\u009b2J\x7f\x00\x07\r", "2J"},
		{"\u202egpj.exe\u202c\u2066x\u2069", "gpj.exex"},
		{"天気 👩‍💻 é", "天気 👩‍💻 é"},
	} {
		if got := printable(tt.in); got != tt.want {
			t.Errorf("printable(%q) = %q, want %q", tt.in, got, tt.want)
		}
		// A sequence is as harmless when it comes in pieces.
		var pieces strings.Builder
		for _, r := range tt.in {
			pieces.WriteString(printable(string(r)))
		}
		if pieces.String() != tt.want {
			t.Errorf("printable(%q) in pieces = %q, want %q", tt.in, pieces.String(), tt.want)
		}
	}
}

func TestEscaper(t *testing.T) {
	const text = "a\u009b\x7f\u202e\u2028\U000e0041天\U0001f600"
	var b strings.Builder
	e := json.NewEncoder(escaper{&b})
	if err := e.Encode(text); err != nil {
		t.Fatal(err)
	}
	var back string
	if err := json.Unmarshal([]byte(b.String()), &back); err != nil || back != text {
		t.Errorf("%s is %q, %v, want %q", b.String(), back, err, text)
	}
	if got := printable(b.String()); got != b.String() {
		t.Errorf("%q is not safe to print", b.String())
	}
}

func TestFitted(t *testing.T) {
	for _, tt := range []struct {
		line string
		n    int
		want string
	}{
		{"searching", 9, "searching"},
		{"searching", 8, "searchi…"},
		{"a b c", 3, "a…"},
		{"東京の天気", 10, "東京の天気"},
		{"東京の天気", 9, "東京の天…"},
		{"東京の天気", 8, "東京の…"},
		{"e\u0301e\u0301", 2, "e\u0301e\u0301"},
		{"x", 0, ""},
		{"x", -1, ""},
		{"xy", 1, "…"},
	} {
		if got := fitted(tt.line, tt.n); got != tt.want || cells(got) > max(0, tt.n) {
			t.Errorf("fitted(%q, %d) = %q, want %q", tt.line, tt.n, got, tt.want)
		}
	}
}

func TestRows(t *testing.T) {
	for _, tt := range []struct {
		line    string
		n, want int
	}{
		{"", 5, 1}, {"12345", 5, 1}, {"123456", 5, 2}, {"東京の天気", 10, 1}, {"東京の天気", 4, 3},
		{"東京の天気", 5, 3}, // a cell stays free at the end of each line
		{"東京", 1, 2}, {"xy", 0, 2},
	} {
		if got := rows(tt.line, tt.n); got != tt.want {
			t.Errorf("rows(%q, %d) = %d, want %d", tt.line, tt.n, got, tt.want)
		}
	}
}

func TestStatus(t *testing.T) {
	var s status
	for _, tt := range []struct {
		ev   llm.Event
		want string
	}{
		{nil, "asking, 7 s"},
		{llm.BlockStart{Kind: llm.BlockThinking}, "thinking, 7 s"},
		{llm.BlockStart{Kind: llm.BlockSearch}, "searching, 7 s"},
		{llm.Searching{Action: "search", Query: "a\n\x1b[2J b"}, "searching, 7 s: a [2J b"},
		{llm.BlockStart{Kind: llm.BlockThinking}, "thinking, 7 s: a [2J b"},
		{llm.Searching{Action: "open_page", URL: "https://x.example"}, "reading, 7 s: https://x.example"},
		{llm.BlockDelta{Text: "x"}, "writing, 7 s: https://x.example"},
		{llm.Retrying{Attempt: 2}, "retrying (2), 7 s"},
	} {
		s.see(tt.ev)
		if got := s.text(7500 * time.Millisecond); got != tt.want {
			t.Errorf("after %#v: %q, want %q", tt.ev, got, tt.want)
		}
	}
}

// Seconds pass without events, a narrower window breaks the line that stands,
// and a warning goes above it.
func TestScreenRedraws(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var line strings.Builder
		columns := 80
		s := &screen{line: &line, other: &line, width: func() int { return columns }}
		s.start(func() {})
		step := func(what, want string) {
			t.Helper()
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			if got := line.String(); got != want {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
			line.Reset()
		}
		step("start", eraseLine+"asking, 0 s")
		time.Sleep(900 * time.Millisecond)
		step("nothing new", "")
		time.Sleep(200 * time.Millisecond)
		step("a second", eraseLine+"asking, 1 s")
		s.watch(llm.Searching{Action: "search", Query: "the weather in Tokyo"})
		step("a search", eraseLine+"searching, 1 s: the weather in Tokyo")
		s.mu.Lock()
		columns = 15
		s.mu.Unlock()
		time.Sleep(redraw)
		step("narrow", "\x1b[2A\r\x1b[Jsearching, 1…")
		if _, err := s.Write([]byte("warning\n")); err != nil {
			t.Error(err)
		}
		step("a warning", eraseLine+"warning\n")
		time.Sleep(redraw)
		step("below it", eraseLine+"searching, 1…")
		s.close()
		step("the end", eraseLine)
	})
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("gone") }

// Nobody reads the text any more: the run ends.
func TestScreenUnread(t *testing.T) {
	stopped := false
	s := &screen{text: broken{}}
	s.start(func() { stopped = true })
	defer s.close()
	for _, ev := range []llm.Event{llm.BlockStart{Kind: llm.BlockText}, llm.BlockDelta{Text: strings.Repeat("x", 100)}} {
		s.watch(ev)
	}
	if !stopped || !errors.Is(s.failed(), errWriting) {
		t.Errorf("stopped = %v, failed = %v, want an end", stopped, s.failed())
	}
}
