package cli

import (
	"fmt"
	"io"
	"regexp"
	"sync"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// redraw is the interval between two frames of the status line.
const redraw = 200 * time.Millisecond

const (
	spinner = `|/-\`
	writing = "writing" // a stage
)

// screen shows a question in a terminal: a status line on stderr while it runs,
// and the text on stdout while it is streamed. The status line is the last line
// of the terminal, and only there while the text has ended its line.
type screen struct {
	text   io.Writer // stdout; nil: it gets the answer at the end only
	status io.Writer // stderr; nil: no status line
	stderr io.Writer // where Write writes
	width  func() int
	style  bool   // show the status line dim
	stop   func() // ends the run

	mu    sync.Mutex
	live  answer.Live
	tail  string // the list of sources so far, which gets titles at the end
	wrap  wrapper
	stage string    // what the call is doing
	what  string    // the query or URL of the last search
	begin time.Time // zero: not started
	drawn string    // the status line on the terminal
	err   error     // of writing the text

	quit, ended chan struct{}
}

// newScreen returns the screen for a.stdout and a.stderr, or nil if neither is
// a terminal.
func (a *app) newScreen(streams bool) *screen {
	_, isTerminal := columns(a.stdout)
	s := &screen{stderr: a.stderr, style: a.variable("NO_COLOR") == "", stage: "asking"}
	terminal := a.stderr
	if isTerminal && streams {
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
	s.wrap.width = s.width
	return s
}

// start begins to show a run, which finish ends. stop is called when stdout is
// closed.
func (s *screen) start(stop func()) {
	s.begin, s.stop = time.Now(), stop
	s.quit, s.ended = make(chan struct{}), make(chan struct{})
	s.mu.Lock()
	s.draw()
	s.mu.Unlock()
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

// watch shows an event.
func (s *screen) watch(ev llm.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.live.See(ev)
	s.see(ev)
	if s.text != nil {
		s.print(text)
		switch e := ev.(type) {
		case llm.Retrying:
			s.divide(fmt.Sprintf("cut off, starting again (%d)", e.Attempt))
		case llm.BlockStart:
			if e.Kind == llm.BlockSearch {
				s.divide("searching again")
			}
			if e.Kind == llm.BlockThinking {
				s.endLine()
			}
		}
	}
	s.draw()
}

// see takes what an event says about the status.
func (s *screen) see(ev llm.Event) {
	switch e := ev.(type) {
	case llm.BlockStart:
		switch e.Kind {
		case llm.BlockThinking:
			s.stage = "thinking"
		case llm.BlockSearch:
			s.stage = "searching"
		case llm.BlockText:
			s.stage, s.what = writing, ""
		}
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
	}
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
		rest = withTitles(s.tail+rest, ans.Citations)
		s.tail = ""
		s.write(s.wrap.add(rest))
	}
	s.endLine()
	s.erase()
	s.status = nil
	return s.err
}

// entries match what may be the end of a list of sources.
var entries = regexp.MustCompile(`(?:\n+-(?: (?:\[[^\]\n]*(?:\]\S*)?|\S*)(?: \(?[\d-]*\)?)?)?)+$`)

// print adds to the text.
func (s *screen) print(text string) {
	s.tail += text
	end := len(s.tail)
	if at := entries.FindStringIndex(s.tail); at != nil {
		end = at[0]
	}
	text, s.tail = s.tail[:end], s.tail[end:]
	s.write(s.wrap.add(text))
}

// divide separates the text so far, if any, from what follows it.
func (s *screen) divide(words string) {
	s.endLine()
	if !s.wrap.begun {
		return
	}
	line := "--- " + words + " ---"
	if s.style {
		line = dim + line + normal
	}
	s.write("\n" + line + "\n\n")
	s.wrap = wrapper{width: s.width}
}

// endLine ends the line of the text, so that something else can be shown below.
func (s *screen) endLine() {
	s.write(s.wrap.add(s.tail) + s.wrap.end())
	s.tail = ""
}

func (s *screen) write(text string) {
	if s.err != nil || s.text == nil || text == "" {
		return
	}
	s.erase()
	if _, err := io.WriteString(s.text, text); err != nil {
		s.err = fmt.Errorf("writing the answer to stdout: %w", err)
		s.stop()
	}
}

// draw shows the status line, unless text is on its line or about to be.
func (s *screen) draw() {
	if s.status == nil || s.text != nil && (s.wrap.line != "" || s.stage == writing) {
		return
	}
	elapsed := time.Since(s.begin)
	line := fmt.Sprintf("%c %v %s", spinner[int(elapsed/redraw)%len(spinner)], elapsed.Truncate(time.Second), s.stage)
	if s.what != "" {
		line += ": " + s.what
	}
	line = cells.Truncate(line, s.width()-1, "…")
	if line == s.drawn {
		return
	}
	shown := line
	if s.style {
		shown = dim + line + normal
	}
	_, _ = io.WriteString(s.status, s.erasing()+shown)
	s.drawn = line
}

// erase removes the status line until it is drawn again.
func (s *screen) erase() {
	if s.drawn != "" {
		_, _ = io.WriteString(s.status, s.erasing())
		s.drawn = ""
	}
}

// erasing is the sequence that erases the status line. A terminal that became
// narrower than the line has broken it into several rows.
func (s *screen) erasing() string {
	if up := (cells.StringWidth(s.drawn) - 1) / max(1, s.width()); up > 0 {
		return fmt.Sprintf("\x1b[%dA\r%s", up, eraseBelow)
	}
	return eraseLine
}

// Write writes to stderr what others write while the screen is shown, such as
// warnings of the log.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status != nil && !s.begin.IsZero() {
		s.endLine()
		s.erase()
	}
	return s.stderr.Write(p)
}
