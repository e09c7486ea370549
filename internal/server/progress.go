package server

import (
	"cmp"
	"context"
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
)

// progress starts the messages about a call; sink is nil if the client does not ask for them. stop
// ends them and returns after the last one. Of the task j, which may be nil, sink takes the stages:
// its client asks for them with tasks/get.
func progress(
	ctx context.Context, req *mcp.CallToolRequest, j *job,
) (sink func(llm.Event), stop func()) {
	if j != nil && j.stages != nil {
		return j.stages.add, func() {}
	}

	ctx, cancel := context.WithCancel(ctx)
	p := &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken()}
	switch p.ProgressToken.(type) {
	case string, float64: // as the protocol has it
	default:
		return nil, cancel
	}

	s := newStages()
	var messages sync.WaitGroup
	messages.Go(func() {
		s.run(ctx, func(message string) error {
			p.Progress++
			p.Message = message
			return req.Session.NotifyProgress(ctx, p)
		})
	})
	return s.add, func() {
		cancel()
		messages.Wait()
	}
}

// stages turns the events of a call into messages. If stages change faster than they may be sent,
// only the last one is, but each search and page is: the API names them when they are over, just
// before the next stage.
type stages struct {
	created chan string // gets the id of the first response that the API runs without us

	mu      sync.Mutex
	current string   // the current stage
	named   []string // searches and pages to send before it
	written int      // characters of the answer
}

func newStages() *stages {
	return &stages{created: make(chan string, 1), current: "thinking"}
}

// run sends a message when it is new, and the last one again after maxGap, until ctx is done or
// sending fails.
func (s *stages) run(ctx context.Context, send func(message string) error) {
	sent := ""
	silent := time.Duration(0) // since the last message
	for ctx.Err() == nil {
		message := s.next()
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

// next returns the next message.
func (s *stages) next() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.named) == 0 {
		return s.current
	}

	message := s.named[0]
	s.named = s.named[1:]
	return message
}

// last returns the last message.
func (s *stages) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// add takes an event of the call.
func (s *stages) add(ev llm.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stage, object := answer.Stage(ev)
	if object != "" {
		stage = text.Truncate(stage+": "+object, maxProgress)
		s.named = append(s.named, stage)
	}
	s.current = cmp.Or(stage, s.current)

	switch e := ev.(type) {
	case llm.BlockDelta:
		if e.Text != "" {
			s.written += utf8.RuneCountInString(e.Text)
			s.current = "writing (" + grouped(s.written) + " characters)"
		}
	case llm.Created:
		select {
		case s.created <- e.ID:
		default: // a retry
		}
	case llm.Retrying:
		s.written = 0
		s.named = nil
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
