package tasks

import (
	"cmp"
	"context"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
)

const (
	messageInterval = 300 * time.Millisecond // between two messages
	repeatInterval  = 5 * time.Second        // of silence: clients end silent calls after 60 s
	maxMessageChars = 200                    // characters of a message
)

// Progress turns the events of a call into messages about its stage. If stages change faster than
// messages may be sent, stages are left out, but no search and no page: the API names a search only
// when the search is over, just before the next stage.
type Progress struct {
	mu           sync.Mutex
	current      string   // the message about the current stage
	steps        []string // the messages about searches and pages
	stepsBefore  int      // how many of steps were before this attempt
	writtenChars int      // characters of the response to this attempt
	hasEnded     bool     // no more steps are kept: see forgetSteps
}

// NewProgress returns the progress of a call that begins.
func NewProgress() *Progress {
	return &Progress{current: "thinking"}
}

// SendMessages sends the messages from now on, until ctx is done or sending fails. It repeats the
// last message if there is no new one for repeatInterval.
func (p *Progress) SendMessages(ctx context.Context, send func(message string) error) {
	seen := p.numSteps()
	sent := ""
	silent := time.Duration(0) // since the last message
	for ctx.Err() == nil {
		message := p.next(&seen)
		if message != sent || silent >= repeatInterval {
			if send(message) != nil {
				return
			}
			sent = message
			silent = 0
		}

		select {
		case <-ctx.Done():
		case <-time.After(messageInterval):
			silent += messageInterval
		}
	}
}

// numSteps returns how many searches and pages there were so far.
func (p *Progress) numSteps() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.steps)
}

// next returns the message about the first search or page of this attempt that was not seen, and
// counts it as seen. Without such a step, next returns the message about the current stage.
func (p *Progress) next(seen *int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := max(*seen, p.stepsBefore)
	if i >= len(p.steps) { // they are fewer after forgetSteps
		return p.current
	}
	*seen = i + 1
	return p.steps[i]
}

// Current returns the message about the current stage.
func (p *Progress) Current() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current
}

// forgetSteps forgets the searches and pages of a call that has ended: its answer may be kept long.
func (p *Progress) forgetSteps() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps = nil
	p.hasEnded = true
}

// AddEvent updates the progress with an event of the call.
func (p *Progress) AddEvent(ev call.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	stage, detail := answer.Stage(ev)
	if detail != "" && !p.hasEnded {
		stage = text.Truncate(stage+": "+detail, maxMessageChars)
		p.steps = append(p.steps, stage)
	}
	p.current = cmp.Or(stage, p.current)

	switch e := ev.(type) {
	case call.BlockDelta:
		if e.Text != "" {
			p.writtenChars += utf8.RuneCountInString(e.Text)
			p.current = "writing (" + grouped(p.writtenChars) + " characters)"
		}
	case call.Requesting:
		p.writtenChars = 0
	case call.Retrying:
		p.writtenChars = 0
		p.stepsBefore = len(p.steps)
	}
}

// grouped returns a number with commas between its thousands, such as 1,234.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
