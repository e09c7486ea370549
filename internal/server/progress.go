package server

import (
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

// sender sends the n-th message about a call.
type sender func(ctx context.Context, n int, message string) error

// senderKey is the key of the sender of a call whose messages are not for the client.
type senderKey struct{}

// notifier returns the sender of notifications/progress, or nil if the client
// does not ask for them.
func notifier(req *mcp.CallToolRequest) sender {
	token := req.Params.GetProgressToken()
	switch token.(type) {
	case string, float64: // as the protocol has it
	default:
		return nil
	}
	return func(ctx context.Context, n int, message string) error {
		return req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token,
			Progress:      float64(n),
			Message:       message,
		})
	}
}

// progress starts the messages about a call; watch is nil if there are none.
// stop ends them and returns after the last one.
func progress(ctx context.Context, req *mcp.CallToolRequest) (watch func(llm.Event), stop func()) {
	send, ok := ctx.Value(senderKey{}).(sender)
	if !ok {
		send = notifier(req)
	}
	if send == nil {
		return nil, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &stages{now: "thinking"}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.run(ctx, send)
	}()
	return s.see, func() { cancel(); <-ended }
}

// stages turns the events of a call into messages. If stages change faster than
// they may be sent, only the last one is, but each search and page is: the API
// names them when they are over, just before the next stage.
type stages struct {
	mu      sync.Mutex
	now     string   // the current stage
	named   []string // searches and pages to send before it
	sent    string   // the last message
	written int      // characters of the answer
}

// run sends a message when it is new, and the last one again after maxGap,
// until ctx is done or sending fails.
func (s *stages) run(ctx context.Context, send sender) {
	n := 0
	for silent := time.Duration(0); ctx.Err() == nil; silent += minGap {
		if message, isNew := s.next(); isNew || silent >= maxGap {
			n, silent = n+1, 0
			if send(ctx, n, text.Truncate(message, maxProgress)) != nil {
				return
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(minGap):
		}
	}
}

// next returns the message to send, and whether it differs from the last one.
func (s *stages) next() (message string, isNew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	message = s.now
	if len(s.named) > 0 {
		message, s.named = s.named[0], s.named[1:]
	}
	isNew = message != s.sent
	s.sent = message
	return message, isNew
}

// see takes an event.
func (s *stages) see(ev llm.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stage, what := answer.Stage(ev); stage != "" {
		if what != "" {
			stage += ": " + what
			s.named = append(s.named, stage)
		}
		s.now = stage
	}
	switch e := ev.(type) {
	case llm.BlockDelta:
		if e.Text != "" {
			s.written += utf8.RuneCountInString(e.Text)
			s.now = "writing (" + grouped(s.written) + " characters)"
		}
	case llm.Retrying:
		s.written, s.named = 0, nil
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
