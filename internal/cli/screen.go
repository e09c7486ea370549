package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// cells measures text. Characters of ambiguous width take one cell, as current
// terminals show them in every locale.
var cells = &runewidth.Condition{StrictEmojiNeutral: true}

// columns returns the width of the terminal w in cells, or 0 if w is not one.
func columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	n, _, _ := term.GetSize(int(f.Fd()))
	return cmp.Or(max(n, 0), 80)
}

// redraw is the interval between two updates of the status line.
const redraw = 200 * time.Millisecond

// screen shows a question in a terminal: paragraphs of the answer on stdout as
// soon as they are complete, and below them a status line on stderr.
type screen struct {
	text   io.Writer // nil: it is no terminal
	status io.Writer // nil: no status line
	stderr io.Writer
	width  func() int
	fail   func(error) // gets the error of writing text

	mu       sync.Mutex
	begin    time.Time
	stage    string   // what the call is doing
	what     string   // the query or URL of the last search
	drawn    string   // the status line on the terminal
	messages []string // what the model has written in this try
	shown    string   // what of it is on the terminal
	started  bool     // there is text on the terminal
}

// newScreen returns the screen for a.stdout and a.stderr. Without streams it
// shows no text.
func (a *app) newScreen(streams bool) *screen {
	s := &screen{stderr: a.stderr, stage: "asking"}
	terminal := a.stderr
	if columns(a.stderr) > 0 && a.variable("TERM") != "dumb" {
		s.status = a.stderr
	}
	if columns(a.stdout) > 0 && streams {
		s.text, terminal = a.stdout, a.stdout
	}
	s.width = func() int { return columns(terminal) }
	return s
}

// start begins to show a call, until stop is called.
func (s *screen) start() (stop func()) {
	s.begin = time.Now()
	quit := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for t := time.NewTicker(redraw); ; {
			s.mu.Lock()
			s.paragraphs()
			s.draw()
			s.mu.Unlock()
			select {
			case <-quit:
				return
			case <-t.C:
			}
		}
	})
	return func() {
		close(quit)
		running.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.erase()
	}
}

// watch notes what an event means for the screen.
func (s *screen) watch(ev llm.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stage, what := answer.Stage(ev); stage != "" {
		// The API names the query when the search is over, so it stays on the
		// line until the next one.
		if what != "" || stage != "searching" {
			s.what = text.Truncate(what, 200)
		}
		s.stage = stage
	}
	switch e := ev.(type) {
	case llm.BlockStart:
		if e.Kind == llm.BlockText {
			s.stage, s.what = "writing", ""
			s.messages = append(s.messages, "")
		}
	case llm.BlockDelta:
		if n := len(s.messages); n > 0 {
			s.messages[n-1] += e.Text
		}
	case llm.Retrying:
		s.divide("starting again")
		s.messages = nil
	}
}

// written joins messages as the answer does.
func written(messages []string) string {
	var parts []string
	for _, m := range messages {
		if m = strings.TrimSpace(answer.Clean(m)); m != "" {
			parts = append(parts, m)
		}
	}
	return strings.Join(parts, "\n\n")
}

// paragraphs shows those that are complete. A list of sources at the end has
// to wait for its titles, which come with the citations.
func (s *screen) paragraphs() {
	all := written(s.messages)
	end := strings.LastIndex(all, "\n\n")
	for end > 0 && strings.Count(all[:end], "```")%2 == 1 { // in a code block
		end = strings.LastIndex(all[:end], "\n\n")
	}
	if end > len(s.shown) && strings.HasPrefix(all, s.shown) {
		s.print(all[len(s.shown):end], nil)
		s.shown = all[:end]
	}
}

// finish shows the rest of the answer. ans is nil if the call has failed: then
// it shows what there is.
func (s *screen) finish(ans *answer.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ans == nil {
		ans = &answer.Answer{Text: written(s.messages)}
	}
	for i := range s.messages { // the first ones may not be part of the answer
		part, ok := strings.CutPrefix(s.shown, written(s.messages[:i]))
		if rest, found := strings.CutPrefix(ans.Text, strings.TrimPrefix(part, "\n\n")); ok && found {
			s.print(rest, ans.Citations)
			return
		}
	}
	s.divide("the answer")
	s.print(ans.Text, ans.Citations)
}

// divide separates the text so far, if any, from what follows it.
func (s *screen) divide(words string) {
	if s.shown != "" {
		s.print("--- "+words+" ---", nil)
	}
	s.shown = ""
}

// print shows paragraphs.
func (s *screen) print(paragraphs string, cited []answer.Citation) {
	paragraphs = strings.Trim(paragraphs, "\n")
	if s.text == nil || paragraphs == "" {
		return
	}
	rows := render(paragraphs, s.width(), cited)
	if s.started {
		rows = "\n" + rows
	}
	s.started = true
	s.erase()
	if _, err := io.WriteString(s.text, rows); err != nil {
		s.fail(fmt.Errorf("writing the answer to stdout: %w", err))
	}
}

// draw shows the status line.
func (s *screen) draw() {
	if s.status == nil {
		return
	}
	line := fmt.Sprintf("%v %s", time.Since(s.begin).Truncate(time.Second), s.stage)
	if s.what != "" {
		line += ": " + s.what
	}
	if line = cells.Truncate(line, s.width()-3, "…"); line != s.drawn {
		s.erase()
		s.drawn = line
		_, _ = io.WriteString(s.status, line)
	}
}

// erase removes the status line, and the ^C that a terminal may have written
// after it. Blanks do that on every terminal.
func (s *screen) erase() {
	if s.drawn != "" {
		_, _ = io.WriteString(s.status, "\r"+strings.Repeat(" ", cells.StringWidth(s.drawn)+2)+"\r")
		s.drawn = ""
	}
}

// Write writes to stderr what others write while the screen is shown, such as
// warnings of the log.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	return s.stderr.Write(p)
}
