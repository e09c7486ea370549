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

// tasksExtension is the name of the extension in which a server answers tools/call with a task that
// the client polls (SEP-2663, https://github.com/modelcontextprotocol/ext-tasks).
const tasksExtension = "io.modelcontextprotocol/tasks"

// taskParams are the params of all taskMethods.
type taskParams struct {
	mcp.ParamsBase
	ID string `json:"taskId"`
}

// taskResult is the result of a method of tasks, and of a call that its client polls. It shows the
// task to the client, or is an acknowledgement, for which only Type is set.
type taskResult struct {
	mcp.ResultBase
	Type         string         `json:"resultType"`
	ID           string         `json:"taskId,omitempty"`
	Status       string         `json:"status,omitempty"`
	Message      string         `json:"statusMessage,omitempty"`
	Updated      time.Time      `json:"lastUpdatedAt,omitzero"`
	Result       mcp.Result     `json:"result,omitempty"` // of tools/call, if completed
	Error        *jsonrpc.Error `json:"error,omitempty"`  // of tools/call, if failed
	Created      time.Time      `json:"createdAt,omitzero"`
	TTL          int64          `json:"ttlMs,omitempty"` // counted from Created
	PollInterval int64          `json:"pollIntervalMs,omitempty"`
}

// Values of a status. statusWorking is also the status of a late answer that is not ready. A task
// never has the status input_required.
const (
	statusWorking   = "working"
	statusCancelled = "cancelled"
	statusCompleted = "completed"
	statusFailed    = "failed"
)

// taskMethods are the methods that handleTask answers.
var taskMethods = []string{"tasks/get", "tasks/cancel", "tasks/update"}

// addTaskMethods registers taskMethods with m, so that the SDK decodes their requests.
func addTaskMethods(m *mcp.Server) {
	for _, method := range taskMethods {
		err := mcp.AddReceivingCustomMethod[*taskParams, *taskResult](m, method, nil)
		if err != nil {
			panic(err) // the SDK has a method of this name
		}
	}
}

// declaresTasks reports whether the client of a request declares tasksExtension.
func declaresTasks(meta mcp.Meta) bool {
	capabilities, _ := meta[mcp.MetaKeyClientCapabilities].(map[string]any)
	extensions, _ := capabilities["extensions"].(map[string]any)
	_, ok := extensions[tasksExtension]
	return isStateless(meta) && ok
}

// isPolled reports whether the client of a call polls the call as a task: the client declares
// tasks, and the server and the tool allow tasks.
func (s *Server) isPolled(p *mcp.CallToolParamsRaw) bool {
	isPollable := func(t call.Tool) bool { return t.Pollable && t.Name == p.Name }
	pollable := slices.ContainsFunc(call.Tools, isPollable)
	return s.options.Detach.OffersTasks && pollable && declaresTasks(p.Meta)
}

// handleTask answers a request about a task.
func (s *Server) handleTask(
	ctx context.Context, method string, req mcp.Request, person call.Person,
) (mcp.Result, error) {
	p := req.GetParams().(*taskParams)
	hasTasks := s.options.Detach.OffersTasks || s.options.Detach.BackgroundAPI != nil
	if p == nil || !isStateless(p.Meta) || !hasTasks {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound} // the SDK writes the message
	}
	if !declaresTasks(p.Meta) {
		const required = `{"extensions":{"` + tasksExtension + `":{}}}`
		return nil, &jsonrpc.Error{
			Code:    mcp.CodeMissingRequiredClientCapabilities,
			Message: "Missing required client capability: " + tasksExtension,
			Data:    json.RawMessage(`{"requiredCapabilities":` + required + `}`),
		}
	}

	c := newCall(req, person, "")
	t := s.tasks.Find(p.ID, c.Person.ID)
	if t == nil {
		return nil, &jsonrpc.Error{
			Code:    jsonrpc.CodeInvalidParams,
			Message: "Unknown task: " + text.ShortLine(p.ID),
		}
	}

	c.Tool = t.Tool
	switch method {
	case "tasks/get":
		return s.stateResult(req, t, s.tasks.Refresh(ctx, t, c)), nil
	case "tasks/cancel":
		s.tasks.Cancel(ctx, t, c)
	}
	return &taskResult{Type: "complete"}, nil // tasks/update has no effect: no task asks for input
}

// stateResult returns a task in a state, as tasks/get shows it to its client.
func (s *Server) stateResult(req mcp.Request, t *tasks.Task, state tasks.State) *taskResult {
	v := &taskResult{
		Type:         "complete", // the request, not the task
		ID:           t.ID,
		Status:       statusWorking,
		Message:      state.Message,
		Updated:      state.Updated,
		Created:      t.Created,
		TTL:          t.TTL.Milliseconds(),
		PollInterval: t.PollInterval.Milliseconds(),
	}

	switch {
	case state.IsWorking():
	case call.KindOf(state.Err) == call.KindCanceled:
		v.Status = statusCancelled
	default:
		v.Status = statusCompleted
		res, err := s.resultOf(req, t.Tool, state)
		v.Result = res
		if err != nil {
			v.Status = statusFailed
			v.Message = err.Error()
			v.Error, _ = errors.AsType[*jsonrpc.Error](err) // failure returns no other error
		}
	}
	return v
}
