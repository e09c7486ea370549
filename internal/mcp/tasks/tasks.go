// Package tasks has the calls that outlive their requests. A task runs in this process, or at the
// API, where the id of the task is all that is left of it: a sealed one, which any process with the
// same secret can open. Package server shows tasks to clients.
//
//	tasks.go     Tasks: which there are, and for how long
//	here.go      a call that runs in this process, until it is detached and afterwards
//	api.go       a response that the API runs for a call of another process
//	progress.go  messages about a call
//	seal.go      sealed ids
package tasks

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
)

const (
	maxTasks = 1000             // that are kept, unless more of them work
	maxBytes = 64 << 20         // of the answers of tasks that have ended, unless the last has more
	keepHere = time.Hour        // after the time limit, for clients that ask for the answer late
	pollHere = 2 * time.Second  // between two requests of a client about a task that lives here
	askTime  = 10 * time.Second // for the API to answer
)

// Options configures Tasks.
type Options struct {
	Timeout time.Duration // of a call

	// API runs responses in the background; nil: all tasks end with this process.
	API *API

	// Recover is deferred around Fetch: it turns a panic into an error.
	Recover func(tool string, err *error)

	// EOF, if set, is closed when no request can follow those that are there, which then wait for
	// the end of their tasks.
	EOF <-chan struct{}
}

// API is what tasks need of an API that runs responses in the background.
type API struct {
	// Fetch (answer.Answerer.Fetch) returns the answer of a response, or an error of package answer
	// that says why there is none. Cancel (llm.Client.Cancel) cancels a response. Neither waits for
	// other calls.
	Fetch  func(ctx context.Context, c *call.Call, from answer.Origin) (*answer.Answer, error)
	Cancel func(ctx context.Context, c *call.Call, response string) error

	Secrets func() []string // ids are sealed with the first one, and opened with any
	BaseURL string
	Keep    time.Duration // how long the API has an answer after the time limit
}

// Tasks are the tasks that this process knows.
type Tasks struct {
	o     Options
	mu    sync.Mutex       // guards known
	known map[string]*Task // by ID
}

// New returns Tasks without any.
func New(o Options) *Tasks {
	return &Tasks{
		o:     o,
		known: map[string]*Task{},
	}
}

// Close ends the tasks that run here. Their responses go on at the API if they run in its
// background.
func (s *Tasks) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.known {
		if t.elsewhere == nil {
			t.stop(call.ErrDetached)
		}
	}
}

// Task is a call that outlives its request, or may.
type Task struct {
	ID       string // set before clients know the task
	Tool     string
	Created  time.Time
	TTL      time.Duration // for how long after its creation it can be asked about
	Poll     time.Duration // between two requests about it
	Progress *Progress

	person string
	from   atomic.Pointer[answer.Origin] // of the response that the API runs for it; or nil

	// Of a call that runs in this process.
	call  call.Call               // as it began: run changes its own
	ctx   context.Context         // until the call has ended
	stop  context.CancelCauseFunc // ends it
	leave func() bool             // frees it from its request, unless that has ended
	named chan struct{}           // closed when from is set, which a retry changes

	elsewhere *atAPI // of a call of another process, else nil

	done chan struct{} // closed when the task has ended
	end  State         // readable from then on
	size int           // bytes of the answer
}

// State is how a task is: it works, or has an answer or an error.
type State struct {
	Updated time.Time
	Message string // while it works, may be ""
	Answer  *answer.Answer
	Err     error
}

// Works reports whether the task has not ended.
func (s State) Works() bool {
	return s.Answer == nil && s.Err == nil
}

// newTask returns a task that works.
func newTask(tool, person string, created time.Time) *Task {
	return &Task{
		Tool:     tool,
		Created:  created,
		Progress: NewProgress(),
		person:   person,
		done:     make(chan struct{}),
	}
}

// now is the time in the precision that clients can parse.
func now() time.Time {
	return time.Now().UTC().Truncate(time.Millisecond)
}

func (t *Task) hasEnded() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

func (t *Task) isOver() bool {
	return time.Since(t.Created) > t.TTL
}

// Look returns the state of a task. c is the call of the request that asks; a task that lives here
// needs none.
func (s *Tasks) Look(ctx context.Context, t *Task, c *call.Call) State {
	message := t.Progress.Last()
	if t.elsewhere != nil {
		message = s.askAPI(ctx, t, c, false)
	}
	if t.hasEnded() {
		return t.end
	}
	return State{
		Updated: now(),
		Message: message,
	}
}

// Wait waits until a task has ended, or for a time, and returns its state. After EOF it waits for
// the end.
func (s *Tasks) Wait(
	ctx context.Context, t *Task, c *call.Call, most time.Duration,
) State {
	over := time.After(most)
	eof := s.o.EOF
	for {
		state := s.Look(ctx, t, c)
		if !state.Works() {
			return state
		}

		var askAgain <-chan time.Time // nil: t.done tells
		if t.elsewhere != nil {
			askAgain = time.After(waitAPI)
		}
		select {
		case <-t.done:
		case <-askAgain:
		case <-eof:
			eof = nil
			over = nil
		case <-over:
			return state
		case <-ctx.Done():
			return state
		}
	}
}

// Cancel ends a task unless it has ended.
func (s *Tasks) Cancel(ctx context.Context, t *Task, c *call.Call) {
	if t.elsewhere != nil {
		s.askAPI(ctx, t, c, true)
		return
	}
	s.end(t, nil, context.Canceled)
	t.stop(context.Canceled)
}

// Find returns the task of a person with an id, or nil if there is none or its time is over.
func (s *Tasks) Find(id, person string) *Task {
	s.mu.Lock()
	defer s.mu.Unlock()

	t := s.known[id]
	if t == nil && s.o.API != nil {
		from, ok := open(id, s.o.API.Secrets(), owner(person, s.o.API.BaseURL))
		if !ok {
			return nil
		}
		t = newTask(from.Tool, person, from.Created)
		t.from.Store(&from)
		t.elsewhere = &atAPI{turn: make(chan struct{}, 1)}
		s.addLocked(t, id, s.o.API.Keep, pollAPI)
	}
	if t == nil || t.person != person || t.isOver() {
		return nil
	}
	return t
}

// addLocked makes a task known. keep is the time for which it is there after the time limit.
func (s *Tasks) addLocked(t *Task, id string, keep, poll time.Duration) {
	t.ID = id
	t.TTL = s.o.Timeout + keep
	t.Poll = poll
	s.known[id] = t
	s.forgetLocked()
}

// end ends a task, unless it has ended.
func (s *Tasks) end(t *Task, a *answer.Answer, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.hasEnded() {
		return
	}
	t.end = State{
		Updated: now(),
		Answer:  a,
		Err:     err,
	}
	t.size = size(a)
	close(t.done)
	if t.ID != "" {
		s.forgetLocked()
	}
}

// forgetLocked forgets the tasks whose time is over. If there are too many others, or if their
// answers are too large, it also forgets those that ended first.
func (s *Tasks) forgetLocked() {
	maps.DeleteFunc(s.known, func(_ string, t *Task) bool { return t.isOver() })

	var ended []*Task
	bytes := 0
	for _, t := range s.known {
		if t.hasEnded() {
			ended = append(ended, t)
			bytes += t.size
		}
	}
	slices.SortFunc(ended, func(a, b *Task) int { return a.end.Updated.Compare(b.end.Updated) })

	for len(ended) > 1 && (len(s.known) > maxTasks || bytes > maxBytes) {
		delete(s.known, ended[0].ID)
		bytes -= ended[0].size
		ended = ended[1:]
	}
}

// size returns the bytes of an answer, which may be nil.
func size(a *answer.Answer) int {
	if a == nil {
		return 0
	}
	n := len(a.Text)
	for _, c := range slices.Concat(a.Citations, a.Sources) {
		n += len(c.URL) + len(c.Title)
	}
	return n
}
