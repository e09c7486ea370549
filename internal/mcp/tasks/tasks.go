// Package tasks runs calls, and keeps those that outlive their requests.
//
// A task is a call from its start until its answer is forgotten. Most tasks end with their
// requests, which return the answer. A task that takes long can be detached: its request returns an
// id, the call goes on, and later requests find the task by the id. If only this process runs the
// call, the id is random. If the API runs the response in its background, the id is the name of the
// response, sealed: any process with the same secret can open it, and ask the API. Package server
// decides which calls may be detached (server.DetachOptions), and shows tasks to clients.
//
// An example: two processes serve one URL with answer_within_ms 25000 and timeout_ms 300000, and
// the answer to a question takes 60 s.
//
//	   0 s  The first process starts a task. The API names the response.
//	12.5 s  The process asks the API whether it has the response.
//	  25 s  The request returns a sealed id of 131 characters. The call goes on.
//	  25 s  The client asks the second process, which opens the id and asks the API every 2 s.
//	  50 s  The second process returns that the task is working. The client asks again.
//	  60 s  The first process reads the answer, and the call has ended.
//	  60 s  Both processes return the answer to any request with the id, until 13 minutes after the
//	        start: the 5 minutes of the time limit, and the 8 minutes for which the API
//	        certainly has the answer.
//
// If the first process had ended after 25 s, the second one would return the answer all the same.
//
//	tasks.go     Tasks: which tasks this process knows, and for how long
//	local.go     a call that runs in this process, and how it is separated from its request
//	remote.go    a response that the API runs for a call of another process
//	progress.go  messages about the progress of a call
//	seal.go      sealed ids
package tasks

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
)

const (
	maxTasks       = 1000     // known tasks; beyond it the ended ones are forgotten
	maxAnswerBytes = 64 << 20 // of the answers of all tasks; a single larger answer is kept

	// closeTimeout is how long Close waits. Over stdio a process ends within a second after a
	// signal, and the end of the connection may take half of that second.
	closeTimeout = 400 * time.Millisecond
)

// Options configures Tasks.
type Options struct {
	Timeout time.Duration // the time limit of a call

	// BackgroundAPI runs responses in the background; nil: all tasks end with this process.
	BackgroundAPI *BackgroundAPI

	// RemoteEnded is called when this process has read the end of a response whose call another
	// process runs, or ran: at most once for each Task. asker is the call of the request that read
	// the end, with what the response has used. a and err are the results of Fetch; after the time
	// limit err may be a call.TimeoutError instead.
	RemoteEnded func(asker *call.Call, ref answer.ResponseRef, a *answer.Answer, err error)

	// Recover is deferred around Fetch, Cancel and RemoteEnded, and turns a panic into an error.
	Recover func(tool string, err *error)

	// EOF, if set, is closed when no more requests can come. Wait then goes on after its timeout,
	// to the end of the task.
	EOF <-chan struct{}
}

// BackgroundAPI is how tasks reach an API that runs responses in the background.
type BackgroundAPI struct {
	// Fetch (answer.Answerer.Fetch) adds to c what a response has used, and returns its answer, or
	// an error that says why there is none, such as answer.ErrRunning. Cancel (llm.Client.Cancel)
	// cancels a response. Neither waits for a slot or for the rate limit.
	Fetch  func(ctx context.Context, c *call.Call, ref answer.ResponseRef) (*answer.Answer, error)
	Cancel func(ctx context.Context, c *call.Call, responseID string) error

	// Secrets returns the secrets of ids. The first secret seals ids, and any secret opens them.
	// While there is no secret, no id is sealed.
	Secrets  func() []string
	BaseURL  string        // of the API; a sealed id opens only with the same URL
	KeepTime time.Duration // how long the API keeps an answer after the time limit of its call
}

// Tasks are the calls of this process, and the calls of other processes whose ids clients have
// sent.
type Tasks struct {
	options Options
	mu      sync.Mutex // guards known, the end of each task, and fields of localCall

	// known has tasks by ID: the detached tasks of this process, and the tasks of other processes
	// whose ids this process has opened.
	known map[string]*Task
}

// New returns Tasks that know no task.
func New(o Options) *Tasks {
	return &Tasks{
		options: o,
		known:   map[string]*Task{},
	}
}

// Close ends the detached tasks that run in this process. The response in a sealed id goes on at
// the API, where it can be fetched. A call cancels any response that cannot be fetched, such as the
// response of a retry after the one in the id.
//
// Close waits until the calls have settled what they have used, for closeTimeout at most. A call
// whose response goes on is settled, too: it may have used an earlier response.
func (ts *Tasks) Close() {
	timeout := time.After(closeTimeout)
	for _, l := range ts.stopAll() {
		select {
		case <-l.returned:
		case <-timeout:
			return
		}
	}
}

// stopAll does the work of Close, but does not wait. It returns the calls: first those that cancel
// their responses, then those that leave a response at the API. Until stopAll returns, no call can
// begin another response (noteResponse).
func (ts *Tasks) stopAll() []*localCall {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	var cancelling, leaving []*localCall
	for _, t := range ts.known {
		switch {
		case !t.isLocal():
		case t.local.runsSealedResponseLocked():
			t.local.stop(call.ErrLeaveAtAPI)
			leaving = append(leaving, t.local)
		default:
			t.local.stop(call.ErrShutdown)
			cancelling = append(cancelling, t.local)
		}
	}
	return append(cancelling, leaving...)
}

// Task is a call, from its start until its answer is forgotten.
type Task struct {
	ID       string // set by addLocked, before clients know the task; "" until then
	Tool     string
	Polled   bool // its client asks with tasks/get, however long the call takes
	Created  time.Time
	Progress *Progress

	// TTL is how long after Created the task can be found: the time limit of a call, plus
	// BackgroundAPI.KeepTime if ID is sealed, or plus localKeepTime if not.
	TTL time.Duration

	// PollInterval is how long a client waits before it asks again: localPollInterval if this
	// process runs the call and gets all requests of the client, else apiPollInterval.
	PollInterval time.Duration

	personID string // of the person who made the call

	// One of the two is set.
	local  *localCall  // the call runs in this process, or ran
	remote *remoteCall // the call runs in another process, or ran

	done        chan struct{} // closed when the task has ended
	final       State         // the state of an ended task; only read after done is closed
	answerBytes int           // bytes of the answer in final
}

const (
	localKeepTime     = time.Hour       // for clients that ask for the answer late
	localPollInterval = 2 * time.Second // a request of the client costs nothing
	apiPollInterval   = 5 * time.Second // a request of the client makes one to the API
)

// State is the state of a task. A task without an answer and without an error is
// working, as MCP calls it.
type State struct {
	Updated time.Time // the end of the task, or when a working task was looked at
	Message string    // the progress of a working task; may be ""
	Answer  *answer.Answer
	Err     error
}

// IsWorking reports whether the task has not ended.
func (s State) IsWorking() bool {
	return s.Answer == nil && s.Err == nil
}

// newTask returns a working task.
func newTask(tool, personID string, created time.Time) *Task {
	return &Task{
		Tool:     tool,
		Created:  created,
		Progress: NewProgress(),
		personID: personID,
		done:     make(chan struct{}),
	}
}

// now returns the time with the precision that clients can parse, milliseconds.
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

// isLocal reports whether this process runs the call, or ran it.
func (t *Task) isLocal() bool { return t.local != nil }

// isExpired reports whether the TTL is over. For a call of this process, neither the TTL nor the
// time limit counts the time while the machine sleeps: the answer may come only after the sleep.
func (t *Task) isExpired() bool {
	began := t.Created
	if t.isLocal() {
		began = t.local.began
	}
	return time.Since(began) > t.TTL
}

// Refresh returns the state of a task. If another process runs the call, Refresh asks the API.
// asker is the call of the request for the state; it may be nil for a task that runs in this
// process.
func (ts *Tasks) Refresh(ctx context.Context, t *Task, asker *call.Call) State {
	message := t.Progress.Current()
	if !t.isLocal() {
		// refreshRemote ends the task if the response has ended.
		message = ts.refreshRemote(ctx, t, asker, false)
	}
	if t.hasEnded() {
		return t.final
	}
	return State{
		Updated: now(),
		Message: message,
	}
}

// Wait waits until a task has ended, ctx is done or timeout is over, and returns the state of the
// task. asker is as for Refresh.
//
// If Options.EOF is closed when timeout is over, the client cannot ask again. Wait then goes on to
// the end of the task, but for the time limit of a call plus requestTimeout at most: an API that
// does not tell the end must not keep the process alive.
func (ts *Tasks) Wait(
	ctx context.Context, t *Task, asker *call.Call, timeout time.Duration,
) State {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	timer := time.AfterFunc(timeout, func() {
		select {
		case <-ts.options.EOF:
			time.AfterFunc(ts.options.Timeout+requestTimeout, stop)
		default:
			stop()
		}
	})
	defer timer.Stop()
	for {
		state := ts.Refresh(ctx, t, asker)
		if !state.IsWorking() {
			return state
		}

		var askAgain <-chan time.Time // nil if the call runs here: t.done tells its end
		if !t.isLocal() {
			askAgain = time.After(fetchInterval)
		}
		select {
		case <-t.done:
		case <-askAgain:
		case <-ctx.Done():
			return state
		}
	}
}

// Cancel cancels a task, unless the task has ended. asker is as for Refresh.
//
// A call that runs here first cancels its response at the API, which takes 3 s at most. Cancel
// waits for the end of the call, because the process may end after this request.
//
// For a call that another process runs, Cancel itself cancels the response, and asks the API once
// for the state, even if the client leaves.
func (ts *Tasks) Cancel(ctx context.Context, t *Task, asker *call.Call) {
	if !t.isLocal() {
		ctx = context.WithoutCancel(ctx)
		if !t.hasEnded() { // at once: fetching may be held by another request
			ts.cancelResponse(ctx, asker, t.remote.ref)
		}
		ts.refreshRemote(ctx, t, asker, true)
		return
	}
	ts.end(t, nil, context.Canceled) // first: an answer that comes now is too late
	t.local.stop(context.Canceled)   // Run has set stop: a known task can be detached
	<-t.local.returned
}

// Find returns the task with an id. It returns nil if there is no such task, if it belongs to
// another person, or if its TTL is over.
func (ts *Tasks) Find(id, personID string) *Task {
	ts.mu.Lock()
	t := ts.known[id]
	ts.mu.Unlock()
	if t == nil {
		t = ts.open(id, personID)
	}
	if t == nil || t.personID != personID || t.isExpired() {
		return nil
	}
	return t
}

// open returns the task in a sealed id, and makes the task known to this process. Another process
// runs the call of the task, or ran it. open returns nil if the id was not sealed for the person.
func (ts *Tasks) open(id, personID string) *Task {
	api := ts.options.BackgroundAPI
	if api == nil {
		return nil
	}
	ref, ok := unseal(id, api.Secrets(), ownerOf(personID, api.BaseURL))
	if !ok {
		return nil
	}
	if ref.CallBegan.After(now()) { // the clock of the other process is ahead
		ref.CallBegan = now()
	}
	t := newTask(ref.Tool, personID, ref.CallBegan)
	t.remote = &remoteCall{
		ref:      ref,
		openedAt: time.Now(),
		fetching: make(chan struct{}, 1),
	}

	ts.mu.Lock()
	defer ts.mu.Unlock()
	if known := ts.known[id]; known != nil { // another request was faster
		return known
	}
	ts.addLocked(t, id, api.KeepTime, apiPollInterval)
	return t
}

// addLocked makes a task known under an id, until keepTime after the time limit of its call.
func (ts *Tasks) addLocked(t *Task, id string, keepTime, pollInterval time.Duration) {
	t.ID = id
	t.TTL = ts.options.Timeout + keepTime
	t.PollInterval = pollInterval
	ts.known[id] = t
	ts.forgetLocked()
}

// end ends a task with an answer or an error, unless it has already ended.
func (ts *Tasks) end(t *Task, a *answer.Answer, err error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t.hasEnded() {
		return
	}
	t.final = State{
		Updated: now(),
		Answer:  a,
		Err:     err,
	}
	t.answerBytes = answerBytes(a)
	t.Progress.forgetSteps()
	close(t.done)
	if t.ID != "" {
		ts.forgetLocked()
	}
}

// forgetLocked forgets the expired tasks. If too many tasks are left, or if their answers are too
// large, it also forgets the tasks that ended first, but never the one that ended last.
func (ts *Tasks) forgetLocked() {
	maps.DeleteFunc(ts.known, func(_ string, t *Task) bool { return t.isExpired() })

	var ended []*Task
	bytes := 0
	for _, t := range ts.known {
		if t.hasEnded() {
			ended = append(ended, t)
			bytes += t.answerBytes
		}
	}
	slices.SortFunc(ended, func(a, b *Task) int { return a.final.Updated.Compare(b.final.Updated) })

	for len(ended) > 1 && (len(ts.known) > maxTasks || bytes > maxAnswerBytes) {
		delete(ts.known, ended[0].ID)
		bytes -= ended[0].answerBytes
		ended = ended[1:]
	}
}

// answerBytes returns how many bytes the texts of an answer have; 0 for nil.
func answerBytes(a *answer.Answer) int {
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
