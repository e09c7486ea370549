package server

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/seal"
)

const (
	maxTasks     = 1000
	maxHeld      = 64 << 20  // bytes of the results of all tasks
	keepTasks    = time.Hour // after the time limit, for clients that fetch the result late
	pollInterval = 2 * time.Second
	nameTime     = 2 * time.Second // for the API to name the response of a task
	working      = "working"       // the status of a task until it ends; it never asks for input
)

// task is a task as the client sees it. A task with a Type alone is an acknowledgement.
type task struct {
	mcp.ResultBase
	Type         string         `json:"resultType"`
	ID           string         `json:"taskId,omitempty"`
	Status       string         `json:"status,omitempty"`
	Message      string         `json:"statusMessage,omitempty"`
	Created      time.Time      `json:"createdAt,omitzero"`
	Updated      time.Time      `json:"lastUpdatedAt,omitzero"`
	TTL          int64          `json:"ttlMs,omitempty"` // from Created
	PollInterval int64          `json:"pollIntervalMs,omitempty"`
	Result       mcp.Result     `json:"result,omitempty"` // of the call, if completed
	Error        *jsonrpc.Error `json:"error,omitempty"`  // of the call, if failed

	size   int // of Result as JSON, in bytes
	cancel context.CancelFunc
}

// taskList holds the tasks of a session. It has at most maxTasks, and none of them changes after it
// has ended. Their results have at most maxHeld bytes together, unless the last one alone has more.
type taskList struct {
	server *Server

	mu    sync.Mutex // guards tasks, and what they point to
	tasks []*task    // the oldest first
}

// newTaskID returns the id of a task: 130 random bits, so an id that was guessed finds no task.
func newTaskID() string { return rand.Text() }

// find returns a copy of the task that an id stands for, or nil if there is none or its time is
// over. It does not ask who wants to know: a session has one client.
func (l *taskList) find(id string) *task {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.tasks {
		if t.ID == id && !l.expired(t) {
			found := *t
			found.Type = "complete"
			return &found
		}
	}
	return nil
}

func (l *taskList) expired(t *task) bool { return time.Since(t.Created).Milliseconds() > t.TTL }

// start runs a call as a task and returns a copy of the task. It returns nil if there is no room
// for one. The call outlives its request and ends with the session (see Server.handle).
func (l *taskList) start(
	request context.Context, call func(context.Context) (mcp.Result, error),
) *task {
	ctx, cancel := context.WithCancel(context.WithoutCancel(request))
	created := now()
	t := &task{
		Type:         "task",
		ID:           newTaskID(),
		Status:       working,
		Created:      created,
		Updated:      created,
		TTL:          (l.server.options.Timeout + keepTasks).Milliseconds(),
		PollInterval: pollInterval.Milliseconds(),
	}
	t.cancel = func() {
		l.change(t, task{Status: "cancelled"})
		cancel()
	}
	if !l.add(t) {
		cancel()
		return nil
	}

	started := *t // before the call changes it
	responses := make(chan string, 1)
	go func() {
		defer close(responses)
		defer cancel()
		l.run(ctx, t, call, responses)
	}()
	if l.server.options.Background == nil {
		return &started
	}

	select {
	case response := <-responses:
		if response != "" {
			l.seal(t, &started, response)
		}
	case <-time.After(nameTime):
	case <-request.Done():
		t.cancel()
	}
	return &started
}

// seal gives a task, and the copy of it that the client gets, an id that outlives this process.
func (l *taskList) seal(t, started *task, response string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sealed := seal.Task{
		Created:  t.Created,
		Tool:     detailed,
		Response: response,
	}
	t.ID = l.server.seal(sealed, "")
	t.TTL = l.server.backgroundTTL().Milliseconds()
	started.ID = t.ID
	started.TTL = t.TTL
}

// add adds a task. If the list is full, the oldest task that has ended makes room; add returns false
// if all of them work.
func (l *taskList) add(t *task) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tasks = slices.DeleteFunc(l.tasks, l.expired)

	if len(l.tasks) == maxTasks {
		ended := slices.IndexFunc(l.tasks, func(t *task) bool { return t.Status != working })
		if ended < 0 {
			return false
		}
		l.tasks = slices.Delete(l.tasks, ended, ended+1)
	}
	l.tasks = append(l.tasks, t)
	return true
}

// taskCall is what a call tells the task that it is. A context has it under the key taskCallKey.
type taskCall struct {
	message func(string) error // takes the messages about the call
	created func(response string)
}

type taskCallKey struct{}

// run runs the call of a task to its end. responses gets the id of the first response that the API
// runs in the background.
func (l *taskList) run(
	ctx context.Context,
	t *task,
	call func(context.Context) (mcp.Result, error),
	responses chan<- string,
) {
	about := &taskCall{
		message: func(message string) error {
			l.change(t, task{Status: working, Message: message})
			return nil
		},
		created: func(response string) {
			select {
			case responses <- response:
			default: // a retry
			}
		},
	}

	end := ended(call(context.WithValue(ctx, taskCallKey{}, about)))
	if end.Result != nil {
		body, _ := jsonx.Marshal(end.Result) // the SDK sends it, too
		end.size = len(body)
	}
	l.change(t, end)
}

// ended returns the end of a task whose call returned res and err.
func ended(res mcp.Result, err error) task {
	if err == nil {
		return task{Status: "completed", Result: res}
	}
	e, _ := errors.AsType[*jsonrpc.Error](err) // as Server.handle returns them
	return task{Status: "failed", Message: err.Error(), Error: e}
}

// change gives t the status, message, result and error of to, unless t has ended.
func (l *taskList) change(t *task, to task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.Status != working {
		return
	}
	t.set(to)
	if t.size > 0 {
		l.makeRoomLocked(t)
	}
}

// set gives t the status, message, result, error and size of to.
func (t *task) set(to task) {
	t.Status = to.Status
	t.Message = to.Message
	t.Result = to.Result
	t.Error = to.Error
	t.Updated = now()
	t.size = to.size
}

// makeRoomLocked drops the tasks that completed first until the results, with that of t, are small
// enough.
func (l *taskList) makeRoomLocked(t *task) {
	total := t.size
	var completed []*task // without t
	for _, other := range l.tasks {
		if other != t && other.size > 0 {
			completed = append(completed, other)
			total += other.size
		}
	}

	slices.SortStableFunc(completed, func(a, b *task) int { return a.Updated.Compare(b.Updated) })
	for _, oldest := range completed {
		if total <= maxHeld {
			break
		}
		total -= oldest.size
		l.tasks = slices.DeleteFunc(l.tasks, func(other *task) bool { return other == oldest })
	}
}

// now is the time in the precision that clients can parse.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
