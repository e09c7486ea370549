package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

const (
	// tasksExtension lets a server answer tools/call with a task, which the client polls
	// (SEP-2663, https://github.com/modelcontextprotocol/ext-tasks).
	tasksExtension = "io.modelcontextprotocol/tasks"
	maxTasks       = 1000
	keepTasks      = time.Hour // for clients that fetch the result late
	pollInterval   = 2 * time.Second
	working        = "working" // the status of a task until it ends; it never asks for input
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

	cancel context.CancelFunc
}

// taskParams are the params of all methods about tasks.
type taskParams struct {
	mcp.ParamsBase
	ID string `json:"taskId"`
}

// tasks are the tasks of a session.
type tasks struct {
	ttl time.Duration

	mu  sync.Mutex // guards all, and the tasks in it
	all []*task    // the oldest first
}

// addTasks adds tasks to m, for the clients that declare the extension.
func (s *Server) addTasks(m *mcp.Server) {
	ts := &tasks{ttl: s.o.Timeout + keepTasks}
	for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
		err := mcp.AddReceivingCustomMethod(m, method, func(_ context.Context, _ *mcp.ServerSession, p *taskParams) (*task, error) {
			return ts.handle(method, p)
		})
		if err != nil {
			panic(err) // the SDK has the method
		}
	}
	m.AddReceivingMiddleware(ts.middleware)
}

// middleware declares the extension, except in initialize, and starts tasks. A call whose arguments
// are invalid is refused at once, as without tasks.
func (ts *tasks) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, isCall := req.(*mcp.CallToolRequest)
		if isCall && call.Params.Name == detailed && isStateless(call.Params.Meta) && declaresTasks(call.Params.Meta) {
			_, err := question(detailed, gjson.ParseBytes(call.Params.Arguments))
			if err == nil {
				run := func(ctx context.Context) (mcp.Result, error) { return next(ctx, method, req) }
				if t := ts.start(ctx, run); t != nil {
					return t, nil
				}
			}
		}
		res, err := next(ctx, method, req)
		if d, ok := res.(*mcp.DiscoverResult); ok {
			d.Capabilities.AddExtension(tasksExtension, nil)
		}
		return res, err
	}
}

// declaresTasks reports whether the client of a request takes tasks.
func declaresTasks(meta mcp.Meta) bool {
	capabilities, _ := meta[mcp.MetaKeyClientCapabilities].(map[string]any)
	extensions, _ := capabilities["extensions"].(map[string]any)
	_, ok := extensions[tasksExtension]
	return ok
}

// start runs a call as a task and returns a copy of the task. It returns nil if there are maxTasks
// and all of them work.
func (ts *tasks) start(ctx context.Context, run func(context.Context) (mcp.Result, error)) *task {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.all = slices.DeleteFunc(ts.all, ts.expired)
	if len(ts.all) == maxTasks {
		i := slices.IndexFunc(ts.all, func(t *task) bool { return t.Status != working })
		if i < 0 {
			return nil
		}
		ts.all = slices.Delete(ts.all, i, i+1)
	}
	// The call outlives its request. It ends with the session (see Server.handle).
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t := &task{
		Type:         "task",
		ID:           rand.Text(), // 130 random bits
		Status:       working,
		Created:      now(),
		Updated:      now(),
		TTL:          ts.ttl.Milliseconds(),
		PollInterval: pollInterval.Milliseconds(),
	}
	ts.all = append(ts.all, t)
	change := func(to task) {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		if t.Status == working {
			t.Status, t.Message, t.Result, t.Error, t.Updated = to.Status, to.Message, to.Result, to.Error, now()
		}
	}
	t.cancel = func() {
		change(task{Status: "cancelled"})
		cancel()
	}
	ctx = context.WithValue(ctx, senderKey{}, func(message string) error {
		change(task{Status: working, Message: message})
		return nil
	})
	go func() {
		defer cancel()
		res, err := run(ctx)
		end := task{Status: "completed", Result: res}
		if err != nil {
			end = task{Status: "failed", Message: err.Error()}
			end.Error, _ = errors.AsType[*jsonrpc.Error](err) // as Server.handle returns them
		}
		change(end)
	}()
	started := *t
	return &started
}

// find returns a copy of a task, or nil if its time is over.
func (ts *tasks) find(id string) *task {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, t := range ts.all {
		if t.ID == id && !ts.expired(t) {
			found := *t
			found.Type = "complete"
			return &found
		}
	}
	return nil
}

func (ts *tasks) expired(t *task) bool { return time.Since(t.Created) > ts.ttl }

// now is the time in the precision that clients can parse.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// handle answers a request about a task.
func (ts *tasks) handle(method string, p *taskParams) (*task, error) {
	switch {
	case !isStateless(p.Meta):
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound} // the SDK adds the text
	case !declaresTasks(p.Meta):
		return nil, &jsonrpc.Error{
			Code:    mcp.CodeMissingRequiredClientCapabilities,
			Message: "Missing required client capability: " + tasksExtension,
			Data:    json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + tasksExtension + `":{}}}}`),
		}
	}
	t := ts.find(p.ID)
	switch {
	case t == nil:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Unknown task: " + text.Truncate(text.OneLine(p.ID), 100)}
	case method == "tasks/get":
		return t, nil
	case method == "tasks/cancel":
		t.cancel()
	}
	return &task{Type: "complete"}, nil // an update has no effect: the tasks ask for nothing
}
