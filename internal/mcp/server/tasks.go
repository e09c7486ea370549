package server

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/tasks"
)

// tasksExtension lets a server answer tools/call with a task, which the client polls (SEP-2663,
// https://github.com/modelcontextprotocol/ext-tasks).
const tasksExtension = "io.modelcontextprotocol/tasks"

// taskParams are the params of all methods about tasks.
type taskParams struct {
	mcp.ParamsBase
	ID string `json:"taskId"`
}

// taskResult is the result of a method of tasks, and of a call that its client polls: the task as
// the client sees it, or an acknowledgement, which has a Type alone.
type taskResult struct {
	mcp.ResultBase
	Type         string         `json:"resultType"`
	ID           string         `json:"taskId,omitempty"`
	Status       string         `json:"status,omitempty"`
	Message      string         `json:"statusMessage,omitempty"`
	Updated      time.Time      `json:"lastUpdatedAt,omitzero"`
	Result       mcp.Result     `json:"result,omitempty"` // of the call, if completed
	Error        *jsonrpc.Error `json:"error,omitempty"`  // of the call, if failed
	Created      time.Time      `json:"createdAt,omitzero"`
	TTL          int64          `json:"ttlMs,omitempty"` // from Created
	PollInterval int64          `json:"pollIntervalMs,omitempty"`
}

// The status of a task until it ends, and that of a cancelled one. A task never asks for input.
const (
	working   = "working"
	cancelled = "cancelled"
)

// taskMethods are the methods that handleTask answers.
var taskMethods = []string{"tasks/get", "tasks/cancel", "tasks/update"}

// addTaskMethods lets m decode their requests.
func addTaskMethods(m *mcp.Server) {
	for _, method := range taskMethods {
		err := mcp.AddReceivingCustomMethod[*taskParams, *taskResult](m, method, nil)
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

// isPolled reports whether the client of a call polls it as a task.
func (s *Server) isPolled(p *mcp.CallToolParamsRaw) bool {
	named := func(t call.Tool) bool { return t.Pollable && t.Name == p.Name }
	can := slices.ContainsFunc(call.Tools, named)
	return s.options.LongCalls.Polled && can && declaresTasks(p.Meta)
}

// created returns a task as it began.
func created(t *tasks.Task) *taskResult {
	v := view(t)
	v.Type = "task"
	v.Updated = t.Created
	return v
}

// view returns a task that works as its client sees it.
func view(t *tasks.Task) *taskResult {
	return &taskResult{
		Type:         "complete",
		ID:           t.ID,
		Status:       working,
		Created:      t.Created,
		TTL:          t.TTL.Milliseconds(),
		PollInterval: t.Poll.Milliseconds(),
	}
}

// handleTask answers a request about a task.
func (s *Server) handleTask(
	ctx context.Context, method string, req mcp.Request,
) (mcp.Result, error) {
	p := req.GetParams().(*taskParams)
	served := s.options.LongCalls.Polled || s.options.LongCalls.API != nil
	if p == nil || !isStateless(p.Meta) || !served {
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

	c := newCall(req, "")
	t := s.tasks.Find(p.ID, c.Person.ID)
	if t == nil {
		return nil, &jsonrpc.Error{
			Code:    jsonrpc.CodeInvalidParams,
			Message: "Unknown task: " + text.Label(p.ID),
		}
	}

	c.Tool = t.Tool
	switch method {
	case "tasks/get":
		return s.state(req, t, s.tasks.Look(ctx, t, c)), nil
	case "tasks/cancel":
		s.tasks.Cancel(ctx, t, c)
	}
	return &taskResult{Type: "complete"}, nil // tasks/update has no effect: a task asks for nothing
}

// state returns a task in a state.
func (s *Server) state(req mcp.Request, t *tasks.Task, state tasks.State) *taskResult {
	v := view(t)
	v.Updated = state.Updated
	v.Message = state.Message
	switch {
	case state.Works():
	case call.KindOf(state.Err) == call.KindCanceled:
		v.Status = cancelled
	default:
		v.Status = "completed"
		res, err := s.result(req, t.Tool, state.Answer, state.Err)
		v.Result = res
		if err != nil {
			v.Status = "failed"
			v.Message = err.Error()
			v.Error, _ = errors.AsType[*jsonrpc.Error](err) // as failure returns them
		}
	}
	return v
}
