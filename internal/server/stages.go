package server

import (
	"cmp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

const (
	// maxProgress bounds the message of a notification, in characters.
	maxProgress = 200
	// maxNamed bounds the searches and pages that wait to be told.
	maxNamed = 16
)

// stages turn the events of a call into what is said about it: one stage at a
// time, in a line. Of stages that come faster than they may be told, the last
// one counts, but searches and pages wait for their turn: the API names them
// when they are over, and what comes next is only a moment away.
type stages struct {
	now     string   // the stage of the call; "" is writing
	written int      // characters of the answer so far
	named   []string // searches and pages that were not told
	fresh   bool     // now was not told
	grown   bool     // written was not told
}

// see takes an event. It reports whether there is something new to tell.
func (s *stages) see(ev llm.Event) bool {
	switch e := ev.(type) {
	case llm.BlockStart:
		switch e.Kind {
		case llm.BlockThinking:
			s.enter("thinking")
		case llm.BlockText:
			s.enter("")
		case llm.BlockSearch:
			s.enter("searching")
		}
	case llm.BlockDelta:
		if e.Text == "" {
			return false
		}
		s.enter("") // it may have been thought or searched in between
		s.written += utf8.RuneCountInString(e.Text)
		s.grown = true
	case llm.Searching:
		s.name(e)
	case llm.Retrying:
		s.written, s.named = 0, nil // they are void
		s.enter("retrying (" + strconv.Itoa(e.Attempt) + ")")
	default:
		return false
	}
	return true
}

// enter begins a stage. That it goes on is nothing new.
func (s *stages) enter(stage string) {
	if s.now != stage {
		s.now, s.fresh, s.grown = stage, true, false
	}
}

// name begins the stage of a search whose purpose is known.
func (s *stages) name(e llm.Searching) {
	stage, what := answer.Stage(e)
	if what = answer.OneLine(what); what == "" {
		s.enter(stage)
		return
	}
	if stage += ": " + what; s.now == stage {
		return
	}
	s.now, s.fresh, s.grown = stage, false, false
	s.named = append(s.named, stage)
	if len(s.named) > maxNamed {
		s.named = s.named[1:]
	}
}

// gap is the time between the last notification and the next.
func (s *stages) gap() time.Duration {
	switch {
	case s.fresh || len(s.named) > 0:
		return stageGap
	case s.grown:
		return countGap
	}
	return heartbeat
}

// take returns the next message: something new, or else the stage and how long
// the call has taken until now.
func (s *stages) take(elapsed time.Duration) string {
	if len(s.named) > 0 {
		stage := s.named[0]
		s.named = s.named[1:]
		return fit(stage, "")
	}
	var notes []string
	if s.now == "" {
		notes = append(notes, characters(s.written))
	}
	if !s.fresh && !s.grown {
		notes = append(notes, strconv.Itoa(int(elapsed.Seconds()))+" s")
	}
	s.fresh, s.grown = false, false
	note := ""
	if len(notes) > 0 {
		note = " (" + strings.Join(notes, ", ") + ")"
	}
	return fit(cmp.Or(s.now, "writing"), note)
}

// fit joins a stage and a note; the stage gives way.
func fit(stage, note string) string {
	return answer.Cut(stage, maxProgress-len(note)) + note
}

// characters is a number with its unit: "1,234 characters".
func characters(n int) string {
	if n == 1 {
		return "1 character"
	}
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits + " characters"
}
