package server

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

const (
	minGap      = 300 * time.Millisecond // between two notifications
	maxGap      = 5 * time.Second        // clients end calls that are silent for 60 s
	maxProgress = 200                    // characters of a message
	maxNamed    = 16                     // searches and pages that wait for their notification
)

// progress starts the notifications about a call, if its client wants them;
// otherwise watch is nil. stop ends them and returns after the last one.
func progress(ctx context.Context, req *mcp.CallToolRequest) (watch func(llm.Event), stop func()) {
	token := req.Params.GetProgressToken()
	switch token.(type) {
	case string, float64: // as the protocol has it
	default:
		return nil, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &stages{now: "thinking", changed: make(chan struct{}, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.run(ctx, func(n int, message string) error {
			return req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token,
				Progress:      float64(n),
				Message:       message,
			})
		})
	}()
	return s.see, func() { cancel(); <-ended }
}

// stages turns the events of a call into messages. If stages change faster than
// they may be sent, only the last one is, but each search and page is: the API
// names them when they are over, just before the next stage.
type stages struct {
	changed chan struct{} // holds a value if there is something new

	mu      sync.Mutex
	now     string   // the current stage
	named   []string // searches and pages to send before it
	written int      // characters of the answer
}

// run sends messages until ctx is done or sending fails: the first at once,
// further ones when the stage changes, and the same one again after maxGap.
func (s *stages) run(ctx context.Context, send func(n int, message string) error) {
	for n := 1; ctx.Err() == nil && send(n, s.next()) == nil; n++ {
		select {
		case <-ctx.Done():
		case <-time.After(minGap):
		}
		select {
		case <-ctx.Done():
		case <-s.changed:
		case <-time.After(maxGap - minGap):
		}
	}
}

// next returns the next message.
func (s *stages) next() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.changed: // by what is sent now
	default:
	}
	message := s.now
	if len(s.named) > 0 {
		message, s.named = s.named[0], s.named[1:]
		if len(s.named) > 0 || message != s.now {
			s.signal()
		}
	}
	return text.Truncate(message, maxProgress)
}

func (s *stages) signal() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// see takes an event.
func (s *stages) see(ev llm.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := ev.(type) {
	case llm.BlockStart:
		switch e.Kind {
		case llm.BlockThinking:
			s.enter("thinking")
		case llm.BlockSearch:
			s.enter("searching")
		case llm.BlockText:
			s.enter("writing (" + characters(s.written) + ")")
		}
	case llm.BlockDelta:
		if e.Text != "" {
			s.written += utf8.RuneCountInString(e.Text)
			s.enter("writing (" + characters(s.written) + ")")
		}
	case llm.Search:
		stage, what := answer.Stage(e)
		if what = text.OneLine(what); what == "" {
			s.enter(stage)
		} else if stage += ": " + what; stage != s.now {
			s.named = append(s.named[max(0, len(s.named)-maxNamed+1):], stage)
			s.enter(stage)
		}
	case llm.Retrying:
		s.written, s.named = 0, nil
		stage := fmt.Sprintf("retrying (%d)", e.Attempt)
		if e.Err != nil {
			stage += ": " + e.Err.Kind.String()
		}
		s.enter(stage)
	}
}

// enter changes the current stage.
func (s *stages) enter(stage string) {
	if s.now != stage {
		s.now = stage
		s.signal()
	}
}

// characters returns a number with its unit: "1,234 characters".
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
