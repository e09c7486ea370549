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

// tasksExtension lets a server answer tools/call with a task, which the client
// polls (SEP-2663, https://github.com/modelcontextprotocol/ext-tasks).
const tasksExtension = "io.modelcontextprotocol/tasks"

const (
	maxTasks     = 1000
	keepTasks    = time.Hour // for clients that fetch the result late
	pollInterval = 2 * time.Second
)

// working is the status of a task until it ends. It never asks for input.
const working = "working"

// task is a task as the client sees it.
type task struct {
	ID           string         `json:"taskId"`
	Status       string         `json:"status"`
	Message      string         `json:"statusMessage,omitempty"`
	Created      time.Time      `json:"createdAt"`
	Updated      time.Time      `json:"lastUpdatedAt"`
	TTL          int64          `json:"ttlMs"` // from Created
	PollInterval int64          `json:"pollIntervalMs"`
	Result       mcp.Result     `json:"result,omitempty"` // of the call, if completed
	Error        *jsonrpc.Error `json:"error,omitempty"`  // of the call, if failed

	cancel context.CancelFunc
}

// taskParams are the params of all methods about tasks.
type taskParams struct {
	mcp.ParamsBase
	ID string `json:"taskId"`
}

// taskResult is the result of these methods, and of the call that began the task.
type taskResult struct {
	mcp.ResultBase
	Type  string `json:"resultType"`
	*task        // a copy; nil in an acknowledgement
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
		err := mcp.AddReceivingCustomMethod(m, method, func(_ context.Context, _ *mcp.ServerSession, p *taskParams) (*taskResult, error) {
			return ts.handle(method, p)
		})
		if err != nil {
			panic(err) // the SDK has the method
		}
	}
	m.AddReceivingMiddleware(ts.middleware)
}

// middleware declares the extension, except in initialize, and starts tasks. A
// call whose arguments are invalid is refused at once, as without tasks.
func (ts *tasks) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, isCall := req.(*mcp.CallToolRequest)
		if isCall && call.Params.Name == detailed && isStateless(call.Params.Meta) && declaresTasks(call.Params.Meta) {
			_, err := question(detailed, gjson.ParseBytes(call.Params.Arguments))
			if err == nil {
				run := func(ctx context.Context) (mcp.Result, error) { return next(ctx, method, req) }
				if t := ts.start(ctx, run); t != nil {
					return &taskResult{Type: "task", task: t}, nil
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

// start runs a call as a task and returns a copy of the task. It returns nil if
// there are maxTasks and all of them work.
func (ts *tasks) start(ctx context.Context, run func(context.Context) (mcp.Result, error)) *task {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.dropExpiredLocked()
	if len(ts.all) == maxTasks {
		i := slices.IndexFunc(ts.all, func(t *task) bool { return t.Status != working })
		if i < 0 {
			return nil
		}
		ts.all = slices.Delete(ts.all, i, i+1)
	}
	// The call outlives its request. It ends with the session (see handle).
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t := &task{
		ID:           rand.Text(), // 130 random bits
		Created:      now(),
		TTL:          ts.ttl.Milliseconds(),
		PollInterval: pollInterval.Milliseconds(),
		cancel:       cancel,
	}
	t.set(working, "")
	ts.all = append(ts.all, t)
	ctx = context.WithValue(ctx, senderKey{}, sender(func(_ context.Context, _ int, message string) error {
		ts.update(t, func() { t.set(working, message) })
		return nil
	}))
	go func() {
		defer cancel()
		res, err := run(ctx)
		ts.update(t, func() { t.end(res, err) })
	}()
	started := *t
	return &started
}

// dropExpiredLocked forgets the tasks whose time is over. Their calls have ended:
// the time limit of a call is shorter.
func (ts *tasks) dropExpiredLocked() {
	ts.all = slices.DeleteFunc(ts.all, func(t *task) bool { return time.Since(t.Created) > ts.ttl })
}

// update changes a task unless it has ended.
func (ts *tasks) update(t *task, change func()) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t.Status == working {
		change()
	}
}

func (t *task) set(status, message string) {
	t.Status, t.Message, t.Updated = status, message, now()
}

// end takes what the call returns.
func (t *task) end(res mcp.Result, err error) {
	if err == nil {
		t.set("completed", "")
		t.Result = res
		return
	}
	t.set("failed", err.Error())
	t.Error, _ = errors.AsType[*jsonrpc.Error](err) // as handle returns them
}

// now is the time in the precision that clients can parse.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// handle answers a request about a task.
func (ts *tasks) handle(method string, p *taskParams) (*taskResult, error) {
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
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.dropExpiredLocked()
	i := slices.IndexFunc(ts.all, func(t *task) bool { return t.ID == p.ID })
	if i < 0 {
		return nil, &jsonrpc.Error{
			Code:    jsonrpc.CodeInvalidParams,
			Message: "Unknown task: " + text.Truncate(text.OneLine(p.ID), 100),
		}
	}
	t := ts.all[i]
	switch method {
	case "tasks/get":
		current := *t
		return &taskResult{Type: "complete", task: &current}, nil
	case "tasks/cancel":
		if t.Status == working {
			t.set("cancelled", "")
		}
		t.cancel()
	}
	// The tasks ask for nothing, so an update has no effect.
	return &taskResult{Type: "complete"}, nil
}
