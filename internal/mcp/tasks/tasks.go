// Package tasks runs calls, and keeps those that outlive their requests.
//
// A task is a call from its start until its answer is forgotten. Most tasks end with their
// requests, which return the answer. A task that takes long can be detached: its request returns an
// id, the call goes on, and later requests find the task by the id. If only this process runs the
// call, the id is random. If the API runs the response in its background, the id is the name of the
// response, sealed: any process with the same secret can open it, and ask the API. Package server
// decides which calls may be detached (server.LongCalls), and shows tasks to clients.
//
// An example: two processes serve one URL with answer_within_ms 25000 and timeout_ms 300000, and
// the answer to a question takes 60 s.
//
//	   0 s  The first process starts a task. The API names the response.
//	12.5 s  The process asks the API once whether it has the response.
//	  25 s  The request returns a sealed id of 145 characters. The call goes on.
//	  25 s  The client asks the second process, which opens the id and asks the API every 2 s.
//	  50 s  The second process returns that the task works. The client asks again.
//	  60 s  The first process reads the answer, and the call has ended.
//	  60 s  Both processes return the answer to any request with the id, for 12 more minutes: 300 s
//	        and the 8 minutes for which the API certainly has the answer, from the start on.
//
// If the first process had ended after 25 s, the second one would return the answer all the same.
//
//	tasks.go     Tasks: which tasks there are, and for how long
//	here.go      a call that runs in this process, and Detach, its way out
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
	maxTasks = 1000     // that are kept, unless more of them work
	maxBytes = 64 << 20 // of the answers of tasks that have ended, unless the last has more
)

// Options configures Tasks.
type Options struct {
	Timeout time.Duration // of a call

	// API runs responses in the background; nil: all tasks end with this process.
	API *API

	// EndedElsewhere gets the end of a response whose call another process runs, or ran: once for
	// each Task. c is the call of the request that reads it, with what the response has used, and
	// from is the origin. The error is that of Fetch.
	EndedElsewhere func(c *call.Call, from answer.Origin, a *answer.Answer, err error)

	// Recover is deferred around Fetch: it turns a panic into an error.
	Recover func(tool string, err *error)

	// EOF, if set, is closed when no request can follow the present ones, which then wait for the
	// end of their tasks, unless these are polled.
	EOF <-chan struct{}
}

// API is what tasks need of an API that runs responses in the background.
type API struct {
	// Fetch (answer.Answerer.Fetch) returns the answer of a response, or an error of package answer
	// that says why there is none. Cancel (llm.Client.Cancel) cancels a response. Neither waits for
	// other calls.
	Fetch  func(ctx context.Context, c *call.Call, origin answer.Origin) (*answer.Answer, error)
	Cancel func(ctx context.Context, c *call.Call, response string) error

	Secrets func() []string // at least one: ids are sealed with the first, and opened with any
	BaseURL string
	Keep    time.Duration // for which the API has an answer after the time limit
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

// Close ends the detached tasks that run here, and does not wait for them: if the process ends
// first, what they have reserved counts as used. A response in the background of the API goes on;
// any other is lost.
func (s *Tasks) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.known {
		if t.remote == nil {
			t.stop(call.ErrLeftToAPI)
		}
	}
}

// Task is a call, from its start until its answer is forgotten.
type Task struct {
	ID       string // set by addLocked, before clients know the task
	Tool     string
	Polled   bool // its client polls it from the start on, also if it is not late
	Created  time.Time
	Progress *Progress

	// TTL is for how long after Created the task can be found: the time limit of a call, and then
	// API.Keep with a sealed id, or keepHere.
	TTL time.Duration

	// Poll is the time between two requests of a client: pollAPI if they may reach another process,
	// or pollHere.
	Poll time.Duration

	person    string
	origin    atomic.Pointer[answer.Origin] // of the response in the background; nil: not named yet
	hasOrigin chan struct{}                 // closed when origin is first set; a retry replaces origin

	// Of a call that runs in this process and can be detached.
	detachable bool
	within     time.Duration           // after which it can be detached; 0 and not polled: never
	probe      call.Call               // the call as it began, for a GET while run changes the call
	ctx        context.Context         // until the call has ended
	stop       context.CancelCauseFunc // ends the call
	leave      func() bool             // frees the call from its request, unless that has ended

	remote *remote // of a call of another process, else nil

	// Guarded by the mutex of Tasks.
	sealedResponse string // the response in ID; "": none
	sealsNoMore    bool   // the call has ended, see StopSealing

	done  chan struct{} // closed when the task has ended
	final State         // readable from then on
	size  int           // bytes of the answer
}

const (
	keepHere = time.Hour       // for clients that ask for the answer late
	pollHere = 2 * time.Second // a request costs nothing
	pollAPI  = 5 * time.Second // each request asks the API
)

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
		Tool:      tool,
		Created:   created,
		Progress:  NewProgress(),
		person:    person,
		hasOrigin: make(chan struct{}),
		done:      make(chan struct{}),
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

// Look returns the state of a task. c is the call of the request that looks; a task that runs here
// needs none.
func (s *Tasks) Look(ctx context.Context, t *Task, c *call.Call) State {
	message := t.Progress.Last()
	if t.remote != nil {
		message = s.askAPI(ctx, t, c, false)
	}
	if t.hasEnded() {
		return t.final
	}
	return State{
		Updated: now(),
		Message: message,
	}
}

// Wait waits until a task has ended, or for a time, and returns its state. After EOF it waits for
// the end. c is that of Look.
func (s *Tasks) Wait(
	ctx context.Context, t *Task, c *call.Call, most time.Duration,
) State {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	over := time.AfterFunc(most, func() {
		select {
		case <-s.o.EOF: // no request can follow
		default:
			stop()
		}
	})
	defer over.Stop()
	for {
		state := s.Look(ctx, t, c)
		if !state.Works() {
			return state
		}

		var askAgain <-chan time.Time // nil: t.done tells
		if t.remote != nil {
			askAgain = time.After(waitAPI)
		}
		select {
		case <-t.done:
		case <-askAgain:
		case <-ctx.Done():
			return state
		}
	}
}

// Cancel ends a task unless it has ended.
func (s *Tasks) Cancel(ctx context.Context, t *Task, c *call.Call) {
	if t.remote != nil {
		s.askAPI(ctx, t, c, true)
		return
	}
	s.end(t, nil, context.Canceled)
	t.stop(context.Canceled)
}

// Find returns the task of a person with an id, or nil if there is none or its time is over.
func (s *Tasks) Find(id, person string) *Task {
	s.mu.Lock()
	t := s.known[id]
	s.mu.Unlock()
	if t == nil {
		t = s.open(id, person)
	}
	if t == nil || t.person != person || t.isOver() {
		return nil
	}
	return t
}

// open makes a task of another process known, and returns it. It returns nil if the id is not a
// sealed one of the person.
func (s *Tasks) open(id, person string) *Task {
	if s.o.API == nil {
		return nil
	}
	origin, ok := unseal(id, s.o.API.Secrets(), owner(person, s.o.API.BaseURL))
	if !ok {
		return nil
	}
	t := newTask(origin.Tool, person, origin.Created)
	t.origin.Store(&origin)
	t.remote = &remote{turn: make(chan struct{}, 1)}

	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.known[id]; known != nil { // another request was faster
		return known
	}
	s.addLocked(t, id, s.o.API.Keep, pollAPI)
	return t
}

// addLocked makes a task known, until keep after the time limit.
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
	t.final = State{
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

// forgetLocked forgets the tasks whose time is over. If too many tasks are left, or if their
// answers are too large, the tasks that ended first are forgotten, too.
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
	slices.SortFunc(ended, func(a, b *Task) int { return a.final.Updated.Compare(b.final.Updated) })

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
	for _, step := range slices.Concat(a.Meta.Queries, a.Meta.Opened) {
		n += len(step)
	}
	return n
}
