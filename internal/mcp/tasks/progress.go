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
	minGap      = 300 * time.Millisecond // between two messages
	maxGap      = 5 * time.Second        // clients end calls that are silent for 60 s
	maxProgress = 200                    // characters of a message
)

// Progress turns the events of a call into messages. If stages change faster than messages may be
// sent, only the last stage is sent, but every search and page is: the API names a search when it
// is over, just before the next stage.
type Progress struct {
	mu      sync.Mutex
	current string   // the current stage
	named   []string // searches and pages
	begin   int      // of this attempt, in named
	written int      // characters of the answer
}

// NewProgress returns the progress of a call that begins.
func NewProgress() *Progress {
	return &Progress{current: "thinking"}
}

// Watch sends the messages from now on: each when it is new, and the last one again after maxGap,
// until ctx is done or sending fails.
func (p *Progress) Watch(ctx context.Context, send func(message string) error) {
	seen := p.count()
	sent := ""
	silent := time.Duration(0) // since the last message
	for ctx.Err() == nil {
		message := p.next(&seen)
		if message != sent || silent >= maxGap {
			if send(message) != nil {
				return
			}
			sent = message
			silent = 0
		}

		select {
		case <-ctx.Done():
		case <-time.After(minGap):
			silent += minGap
		}
	}
}

// count returns how many searches and pages there were.
func (p *Progress) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.named)
}

// next returns the message after the searches and pages that were seen, and counts it.
func (p *Progress) next(seen *int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := max(*seen, p.begin)
	if i == len(p.named) {
		return p.current
	}
	*seen = i + 1
	return p.named[i]
}

// Last returns the last message.
func (p *Progress) Last() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current
}

// Add takes an event of the call.
func (p *Progress) Add(ev call.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	stage, object := answer.Stage(ev)
	if object != "" {
		stage = text.Truncate(stage+": "+object, maxProgress)
		p.named = append(p.named, stage)
	}
	p.current = cmp.Or(stage, p.current)

	switch e := ev.(type) {
	case call.BlockDelta:
		if e.Text != "" {
			p.written += utf8.RuneCountInString(e.Text)
			p.current = "writing (" + grouped(p.written) + " characters)"
		}
	case call.Retrying:
		p.written = 0
		p.begin = len(p.named)
	}
}

// grouped returns a number with commas, such as 1,234.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
