package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// redraw is the interval between two frames of the status line.
const redraw = 200 * time.Millisecond

const spinner = `|/-\`

// screen shows a question in a terminal: whole rows of the text on stdout, and
// below them a status line on stderr while the question runs.
type screen struct {
	text   io.Writer // stdout; nil: it gets the answer at the end only
	status io.Writer // stderr; nil: no status line
	stderr io.Writer // where Write writes
	width  func() int
	style  bool   // show the status line dim
	stop   func() // ends the run

	mu    sync.Mutex
	live  answer.Live
	wrap  wrapper
	tail  string // the list of sources so far, which gets titles at the end
	shown bool   // there is text below the last divider
	stage string // what the call is doing
	what  string // the query or URL of the last search
	begin time.Time
	drawn string // the status line on the terminal
	err   error  // of writing the text

	quit, ended chan struct{}
}

// newScreen returns the screen for a.stdout and a.stderr, or nil if neither is
// a terminal. Without streams it shows only the status line.
func (a *app) newScreen(streams bool) *screen {
	s := &screen{stderr: a.stderr, style: a.variable("NO_COLOR") == "", stage: "asking"}
	terminal := a.stderr
	if _, ok := columns(a.stdout); ok && streams {
		s.text, terminal = a.stdout, a.stdout
	}
	if a.obeys(a.stderr) {
		s.status = a.stderr
	}
	if s.text == nil && s.status == nil {
		return nil
	}
	s.width = func() int {
		n, _ := columns(terminal)
		return n
	}
	return s
}

// start begins to show a run, which finish ends. stop is called when stdout is
// closed.
func (s *screen) start(stop func()) {
	s.begin, s.stop = time.Now(), stop
	s.quit, s.ended = make(chan struct{}), make(chan struct{})
	s.draw()
	go func() {
		defer close(s.ended)
		t := time.NewTicker(redraw)
		defer t.Stop()
		for {
			select {
			case <-s.quit:
				return
			case <-t.C:
				s.mu.Lock()
				s.draw()
				s.mu.Unlock()
			}
		}
	}()
}

// finish ends the run. It completes the text that was shown to that of ans,
// which is nil if the run has failed.
func (s *screen) finish(ans *answer.Answer) error {
	close(s.quit)
	<-s.ended
	s.mu.Lock()
	defer s.mu.Unlock()
	if ans != nil && s.text != nil {
		rest, ok := s.live.Rest(ans.Text)
		if !ok {
			s.divide("the answer")
		}
		s.tail = withTitles(s.tail+rest, ans.Citations)
	}
	s.endText()
	s.erase()
	s.status = nil
	return s.err
}

// watch shows an event.
func (s *screen) watch(ev llm.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tail += s.live.See(ev)
	switch e := ev.(type) {
	case llm.BlockStart:
		switch e.Kind {
		case llm.BlockThinking:
			s.stage = "thinking"
		case llm.BlockSearch:
			s.stage = "searching"
			s.divide("searching again")
		case llm.BlockText:
			s.stage, s.what = "writing", ""
		}
	case llm.BlockDelta:
		end := len(s.tail)
		if at := openList.FindStringIndex(s.tail); at != nil {
			end = at[0]
		}
		s.print(s.tail[:end], false)
		s.tail = s.tail[end:]
	case llm.Search:
		// The API names the query when the search is over, so it stays on the
		// line until the next one.
		stage, what := answer.Stage(e)
		s.stage = stage
		if what = text.OneLine(text.Truncate(what, 200)); what != "" {
			s.what = what
		}
	case llm.Retrying:
		s.stage, s.what = fmt.Sprintf("retrying (%d)", e.Attempt), e.Err.Kind.String()
		s.divide(fmt.Sprintf("cut off, starting again (%d)", e.Attempt))
	}
	s.draw()
}

// print adds to the text. With end, its last line ends.
func (s *screen) print(text string, end bool) {
	if s.text == nil {
		return
	}
	if !s.shown {
		text = strings.TrimLeft(text, "\n")
	}
	s.shown = s.shown || text != ""
	s.write(s.wrap.add(text, s.width(), end))
}

// endText prints what was held back of the text.
func (s *screen) endText() {
	s.print(s.tail, true)
	s.tail = ""
}

// divide separates the text so far, if any, from what follows it.
func (s *screen) divide(words string) {
	if s.endText(); s.shown {
		s.write("\n--- " + words + " ---\n\n")
		s.shown = false
	}
}

func (s *screen) write(rows string) {
	if s.err != nil || s.text == nil || rows == "" {
		return
	}
	s.erase()
	if _, err := io.WriteString(s.text, rows); err != nil {
		s.err = fmt.Errorf("writing the answer to stdout: %w", err)
		s.stop()
	}
}

// draw shows the status line.
func (s *screen) draw() {
	if s.status == nil {
		return
	}
	elapsed := time.Since(s.begin)
	line := fmt.Sprintf("%c %v %s", spinner[int(elapsed/redraw)%len(spinner)], elapsed.Truncate(time.Second), s.stage)
	if s.what != "" {
		line += ": " + s.what
	}
	if line = cells.Truncate(line, s.width()-1, "…"); line == s.drawn {
		return
	}
	s.erase()
	s.drawn = line
	if s.style {
		line = dim + line + normal
	}
	_, _ = io.WriteString(s.status, line)
}

// erase removes the status line. A terminal that became narrower has broken it
// into several rows.
func (s *screen) erase() {
	if s.drawn == "" {
		return
	}
	sequence := eraseLine
	if up := (cells.StringWidth(s.drawn) - 1) / max(1, s.width()); up > 0 {
		sequence = fmt.Sprintf("\x1b[%dA\r%s", up, eraseBelow)
	}
	_, _ = io.WriteString(s.status, sequence)
	s.drawn = ""
}

// Write writes to stderr what others write while the screen is shown, such as
// warnings of the log.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	return s.stderr.Write(p)
}
