package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// maxStatus bounds what the web adds to the status line, in bytes.
const maxStatus = 1000

// status is what a call is doing.
type status struct {
	stage string // "" before anything has come
	what  string // what it searched for, or read, last
}

// see takes an event.
func (s *status) see(ev llm.Event) {
	switch e := ev.(type) {
	case llm.BlockStart:
		switch e.Kind {
		case llm.BlockThinking:
			s.stage = "thinking"
		case llm.BlockSearch:
			s.stage = "searching"
		case llm.BlockText:
			s.stage = "writing"
		}
	case llm.BlockDelta:
		if e.Text != "" {
			s.stage = "writing"
		}
	case llm.Searching:
		s.search(e)
	case llm.Retrying:
		*s = status{stage: fmt.Sprintf("retrying (%d)", e.Attempt)}
	}
}

// search takes what the API tells of a search, which is when it is over. The
// query stays on the line until the next one: it would be gone in a moment.
func (s *status) search(e llm.Searching) {
	stage, what := answer.Stage(e)
	what = strings.Join(strings.Fields(printable(what[:min(len(what), maxStatus)])), " ")
	s.stage = stage
	if what != "" {
		s.what = what
	}
}

// text is the status line: stage, seconds, query.
func (s *status) text(elapsed time.Duration) string {
	stage := s.stage
	if stage == "" {
		stage = "asking"
	}
	line := fmt.Sprintf("%s, %d s", stage, int(elapsed.Seconds()))
	if s.what != "" {
		line += ": " + s.what
	}
	return line
}

// draw brings the status line up to date.
func (s *screen) draw() {
	if s.line == nil || s.inside {
		return
	}
	now := fitted(s.status.text(time.Since(s.begin)), s.width()-1)
	if now == s.drawn {
		return
	}
	_, _ = io.WriteString(s.line, s.erasing()+s.dimmed(now)) // stderr is a courtesy here
	s.drawn = now
}

// erase takes the status line off the terminal until it is drawn again.
func (s *screen) erase() {
	if s.drawn != "" {
		_, _ = io.WriteString(s.line, s.erasing())
		s.drawn = ""
	}
}

// erasing is the sequence that erases the status line. A terminal that became
// narrower than the line has broken it into several.
func (s *screen) erasing() string {
	if up := rows(s.drawn, s.width()) - 1; up > 0 {
		return fmt.Sprintf("\x1b[%dA\r%s", up, eraseBelow)
	}
	return eraseLine
}

func (s *screen) dimmed(text string) string {
	if !s.style || text == "" {
		return text
	}
	return dim + text + normal
}

// hide takes the status line away for good.
func (s *screen) hide() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	s.line = nil
}
