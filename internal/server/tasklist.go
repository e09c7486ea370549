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
)

const (
	maxTasks     = 1000
	maxHeld      = 64 << 20  // bytes of the results of all tasks
	keepTasks    = time.Hour // after the time limit, for clients that fetch the result late
	pollInterval = 2 * time.Second
	working      = "working" // the status of a task until it ends; it never asks for input
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
	ttl time.Duration

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

func (l *taskList) expired(t *task) bool { return time.Since(t.Created) > l.ttl }

// start runs a call as a task and returns a copy of the task. It returns nil if there is no room
// for one. The call outlives its request and ends with the session (see Server.handle).
func (l *taskList) start(
	ctx context.Context, call func(context.Context) (mcp.Result, error),
) *task {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	created := now()
	t := &task{
		Type:         "task",
		ID:           newTaskID(),
		Status:       working,
		Created:      created,
		Updated:      created,
		TTL:          l.ttl.Milliseconds(),
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
	go func() {
		defer cancel()
		l.run(ctx, t, call)
	}()
	return &started
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

// run runs the call of a task to its end. The messages about the call go to the task.
func (l *taskList) run(
	ctx context.Context, t *task, call func(context.Context) (mcp.Result, error),
) {
	send := func(message string) error {
		l.change(t, task{Status: working, Message: message})
		return nil
	}

	res, err := call(context.WithValue(ctx, senderKey{}, send))
	if err != nil {
		e, _ := errors.AsType[*jsonrpc.Error](err) // as Server.handle returns them
		l.change(t, task{Status: "failed", Message: err.Error(), Error: e})
		return
	}
	body, _ := jsonx.Marshal(res) // the SDK sends it, too
	l.change(t, task{Status: "completed", Result: res, size: len(body)})
}

// change gives t the status, message, result and error of to, unless t has ended.
func (l *taskList) change(t *task, to task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.Status != working {
		return
	}

	t.Status = to.Status
	t.Message = to.Message
	t.Result = to.Result
	t.Error = to.Error
	t.Updated = now()
	t.size = to.size
	if t.size > 0 {
		l.makeRoomLocked(t)
	}
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
