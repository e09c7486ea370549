package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/seal"
)

// tasksExtension lets a server answer tools/call with a task, which the client polls (SEP-2663,
// https://github.com/modelcontextprotocol/ext-tasks).
const tasksExtension = "io.modelcontextprotocol/tasks"

const (
	maxTasks = 1000            // that are kept, unless more of them work
	maxHeld  = 64 << 20        // bytes of those that have ended here, unless the last one has more
	keepHere = time.Hour       // after the time limit, for clients that fetch the result late
	nameTime = 2 * time.Second // for the API to name the response of a task
)

// The status of a task until it ends, and that of a cancelled one. A task never asks for input.
const (
	working   = "working"
	cancelled = "cancelled"
)

// TaskParams are the params of all methods about tasks.
type TaskParams struct {
	mcp.ParamsBase
	ID string `json:"taskId"`
}

// task is a task as the client sees it. A task with a Type alone is an acknowledgement.
type task struct {
	mcp.ResultBase
	Type string `json:"resultType"`
	ID   string `json:"taskId,omitempty"`
	state
	Created      time.Time `json:"createdAt,omitzero"`
	TTL          int64     `json:"ttlMs,omitempty"` // from Created
	PollInterval int64     `json:"pollIntervalMs,omitempty"`
}

// state is what changes of a task.
type state struct {
	Status  string         `json:"status,omitempty"`
	Message string         `json:"statusMessage,omitempty"`
	Updated time.Time      `json:"lastUpdatedAt,omitzero"`
	Result  mcp.Result     `json:"result,omitempty"` // of the call, if completed
	Error   *jsonrpc.Error `json:"error,omitempty"`  // of the call, if failed
}

// outcome returns the state of a task whose call has ended like this.
func outcome(res mcp.Result, err error) state {
	if err == nil {
		return state{Status: "completed", Result: res}
	}
	e, _ := errors.AsType[*jsonrpc.Error](err) // as Server.failure returns them
	return state{Status: "failed", Message: err.Error(), Error: e}
}

// job is a task that this process knows. Its call runs here, or the API runs it alone. Methods that
// end in Locked need the turn of their task; addLocked needs Server.mu. A turn is taken before
// Server.mu.
type job struct {
	seal.Task         // Response is "" if only this process knows the task
	person    string  // whose task it is
	id        string  // "" until it is in Server.jobs
	stages    *stages // of the call; nil: the API runs it alone
	end       func()  // is called when the task has ended, and may be called twice

	// turn holds a value while a request uses what follows. It is no Mutex, because the API may be
	// asked meanwhile, and time in a bubble of testing/synctest goes on only where channels wait.
	turn     chan struct{}
	state    state
	size     int  // in bytes, of a task that has ended here
	known    bool // the API need not be asked for the state
	observed bool // Observe was called for its end
}

func newJob(t seal.Task, person string) *job {
	return &job{
		Task:   t,
		person: person,
		end:    func() {},
		turn:   make(chan struct{}, 1),
		state:  state{Status: working, Updated: t.Created},
	}
}

// lock waits for the turn of the caller, which ends with unlock.
func (j *job) lock() (unlock func()) {
	j.turn <- struct{}{}
	return func() { <-j.turn }
}

// setLocked changes the state.
func (j *job) setLocked(to state) {
	to.Updated = now()
	j.state = to
	if to.Status != working {
		j.end()
	}
}

// now is the time in the precision that clients can parse.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// takesTasks reports whether calls can be tasks.
func (s *Server) takesTasks() bool { return s.options.Tasks || s.options.Background != nil }

// addTaskMethods lets m decode the requests that handleTask answers.
func addTaskMethods(m *mcp.Server) {
	for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
		err := mcp.AddReceivingCustomMethod[*TaskParams, *task](m, method, nil)
		if err != nil {
			panic(err) // the SDK has the method
		}
	}
}

// declaresTasks reports whether the client of a request takes tasks.
func declaresTasks(meta mcp.Meta) bool {
	capabilities, _ := meta[mcp.MetaKeyClientCapabilities].(map[string]any)
	extensions, _ := capabilities["extensions"].(map[string]any)
	_, ok := extensions[tasksExtension]
	return isStateless(meta) && ok
}

// canBeTask reports whether a call is one that its client takes as a task. Invalid arguments are
// refused at once, as without tasks.
func (s *Server) canBeTask(p *mcp.CallToolParamsRaw) bool {
	isTask := s.takesTasks() && declaresTasks(p.Meta)
	if p.Name != detailed || !isTask {
		return false
	}
	_, err := question(detailed, gjson.ParseBytes(p.Arguments), s.options.Defaults)
	return err == nil
}

// jobKey is the key of the *job of a context whose call is a task.
type jobKey struct{}

// start answers a call with a task. Where tasks live in this process the call outlives its request
// and ends with the session. Elsewhere the API runs it, or else start returns the result of next.
func (s *Server) start(
	request context.Context, next mcp.MethodHandler, req *mcp.CallToolRequest,
) (mcp.Result, error) {
	const method = "tools/call"
	call := newCall(req, detailed)
	j := newJob(seal.Task{Created: now(), Tool: detailed}, call.Person.ID)
	ctx := context.WithValue(request, jobKey{}, j)
	if !s.options.Tasks {
		res, err := next(ctx, method, req)
		if j.Response == "" {
			return res, err
		}
		return s.started(j), nil
	}

	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	j.end = cancel
	j.stages = newStages()
	go func() {
		end := outcome(next(ctx, method, req))
		defer j.lock()()
		s.endLocked(j, end)
	}()
	if s.options.Background == nil {
		return s.started(j), nil
	}

	defer context.AfterFunc(request, cancel)()
	select {
	case j.Response = <-j.stages.created:
	case <-time.After(nameTime):
	case <-ctx.Done():
	}
	return s.started(j), nil
}

// started gives a task its id, and returns the task as it began.
func (s *Server) started(j *job) *task {
	id := rand.Text() // 130 bits: an id that was guessed finds no task
	if b := s.options.Background; j.Response != "" {
		id = seal.Seal(j.Task, b.Secrets()[0], seal.Owner{Person: j.person, BaseURL: b.BaseURL})
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.addLocked(j, id)
	t := s.view(j, state{Status: working, Updated: j.Created})
	t.Type = "task"
	return t
}

// addLocked makes a task known, and forgets those whose time is over.
func (s *Server) addLocked(j *job, id string) {
	maps.DeleteFunc(s.jobs, func(_ string, j *job) bool { return s.expired(j) })
	s.ended = slices.DeleteFunc(s.ended, func(j *job) bool {
		isOver := s.expired(j)
		if isOver {
			s.held -= j.size
		}
		return isOver
	})
	j.id = id
	s.jobs[id] = j
}

// find returns the task of a person with an id, or nil if there is none or its time is over.
func (s *Server) find(id, person string) *job {
	s.mu.Lock()
	defer s.mu.Unlock()

	j := s.jobs[id]
	if b := s.options.Background; j == nil && b != nil {
		owner := seal.Owner{Person: person, BaseURL: b.BaseURL}
		t, ok := seal.Open(id, b.Secrets(), owner)
		if !ok {
			return nil
		}
		j = newJob(t, person) // of another process
		s.addLocked(j, id)
	}
	if j == nil || j.person != person || s.expired(j) {
		return nil
	}
	return j
}

// lifetime is for how long after its creation a task can be asked about.
func (s *Server) lifetime(j *job) time.Duration {
	keep := keepHere
	if j.Response != "" {
		keep = s.options.Background.Keep
	}
	return s.options.Timeout + keep
}

func (s *Server) expired(j *job) bool { return time.Since(j.Created) > s.lifetime(j) }

// view returns a task as its client sees it in a state.
func (s *Server) view(j *job, state state) *task {
	t := &task{
		Type:         "complete",
		ID:           j.id,
		state:        state,
		Created:      j.Created,
		TTL:          s.lifetime(j).Milliseconds(),
		PollInterval: 2000,
	}
	if j.stages == nil {
		t.PollInterval = 5000 // each asks the API
	}
	return t
}

// endLocked ends a task that runs here, unless it has ended. If there are too many tasks then, or
// if they are too large, those that ended first are forgotten.
func (s *Server) endLocked(j *job, end state) {
	if j.state.Status != working {
		return
	}
	j.setLocked(end)
	body, _ := jsonx.Marshal(end) // the SDK sends it, too
	j.size = len(body)

	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, j)
	s.held += j.size
	isFull := func() bool { return len(s.jobs) > maxTasks || s.held > maxHeld }
	for len(s.ended) > 1 && isFull() {
		first := s.ended[0]
		s.ended = slices.Delete(s.ended, 0, 1)
		s.held -= first.size
		delete(s.jobs, first.id)
	}
}

// handleTask answers a request about a task.
func (s *Server) handleTask(
	ctx context.Context, method string, req mcp.Request,
) (mcp.Result, error) {
	p := req.GetParams().(*TaskParams)
	if p == nil || !isStateless(p.Meta) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound} // the SDK adds the text
	}
	if !declaresTasks(p.Meta) {
		const required = `{"extensions":{"` + tasksExtension + `":{}}}`
		return nil, &jsonrpc.Error{
			Code:    mcp.CodeMissingRequiredClientCapabilities,
			Message: "Missing required client capability: " + tasksExtension,
			Data:    json.RawMessage(`{"requiredCapabilities":` + required + `}`),
		}
	}

	call := &Ended{Call: newCall(req, detailed)}
	j := s.find(p.ID, call.Person.ID)
	if j == nil {
		return nil, &jsonrpc.Error{
			Code:    jsonrpc.CodeInvalidParams,
			Message: "Unknown task: " + label(p.ID),
		}
	}

	defer j.lock()()
	switch method {
	case "tasks/get":
		s.refreshLocked(ctx, j, p.Meta, call)
		return s.view(j, j.state), nil
	case "tasks/cancel":
		s.cancelLocked(ctx, j, p.Meta, call)
	}
	return &task{Type: "complete"}, nil // tasks/update has no effect: a task asks for nothing
}
