package server

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// tasksExtension lets a server answer tools/call with a task, which the client polls (SEP-2663,
// https://github.com/modelcontextprotocol/ext-tasks).
const tasksExtension = "io.modelcontextprotocol/tasks"

// TaskParams are the params of all methods about tasks.
type TaskParams struct {
	mcp.ParamsBase
	ID string `json:"taskId"`
}

// addTasks adds tasks to m, for the clients that declare the extension.
func (s *Server) addTasks(m *mcp.Server) {
	list := &taskList{server: s}
	for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
		handle := func(ctx context.Context, _ *mcp.ServerSession, p *TaskParams) (*task, error) {
			return list.handle(ctx, method, p)
		}
		if err := mcp.AddReceivingCustomMethod(m, method, handle); err != nil {
			panic(err) // the SDK has the method
		}
	}
	m.AddReceivingMiddleware(list.middleware)
}

// callerKey is the key of a context's Call, which says who sends a request: the SDK does not tell the
// handlers of addTasks.
type callerKey struct{}

// middleware declares the extension, except in initialize, and starts tasks.
func (l *taskList) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if canBeTask(req) {
			return l.startOrCall(ctx, method, req, next)
		}

		ctx = context.WithValue(ctx, callerKey{}, describe(req))
		res, err := next(ctx, method, req)
		if d, ok := res.(*mcp.DiscoverResult); ok {
			d.Capabilities.AddExtension(tasksExtension, nil)
		}
		return res, err
	}
}

// startOrCall answers a call with a task, in this process if tasks can live there, or else with its
// result.
func (l *taskList) startOrCall(
	ctx context.Context, method string, req mcp.Request, next mcp.MethodHandler,
) (mcp.Result, error) {
	if l.server.options.Tasks {
		call := func(ctx context.Context) (mcp.Result, error) { return next(ctx, method, req) }
		if t := l.start(ctx, call); t != nil {
			return t, nil
		}
		return next(ctx, method, req)
	}

	begun := &task{}
	res, err := next(context.WithValue(ctx, beginKey{}, begun), method, req)
	if begun.ID != "" {
		return begun, nil
	}
	return res, err
}

// canBeTask reports whether a request is a call that its client takes as a task. A call whose
// arguments are invalid is refused at once, as without tasks.
func canBeTask(req mcp.Request) bool {
	call, ok := req.(*mcp.CallToolRequest)
	if !ok || call.Params.Name != detailed {
		return false
	}
	if !isStateless(call.Params.Meta) || !declaresTasks(call.Params.Meta) {
		return false
	}

	_, err := question(detailed, gjson.ParseBytes(call.Params.Arguments))
	return err == nil
}

// declaresTasks reports whether the client of a request takes tasks.
func declaresTasks(meta mcp.Meta) bool {
	capabilities, _ := meta[mcp.MetaKeyClientCapabilities].(map[string]any)
	extensions, _ := capabilities["extensions"].(map[string]any)
	_, ok := extensions[tasksExtension]
	return ok
}

// handle answers a request about a task.
func (l *taskList) handle(ctx context.Context, method string, p *TaskParams) (*task, error) {
	if !isStateless(p.Meta) {
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

	t := l.find(p.ID)
	if t == nil {
		return l.server.handleJob(ctx, method, p)
	}

	switch method {
	case "tasks/get":
		return t, nil
	case "tasks/cancel":
		t.cancel()
	}
	return acknowledgement, nil
}

// acknowledgement is the result of tasks/cancel, and of tasks/update, which has no effect: a task
// asks for nothing.
var acknowledgement = &task{Type: "complete"}

// handleJob answers a request about a task that the API runs.
func (s *Server) handleJob(ctx context.Context, method string, p *TaskParams) (*task, error) {
	who, _ := ctx.Value(callerKey{}).(Call)
	j := s.open(p.ID, who.UserID)
	if j == nil {
		return nil, &jsonrpc.Error{
			Code:    jsonrpc.CodeInvalidParams,
			Message: "Unknown task: " + text.Truncate(text.OneLine(p.ID), 100),
		}
	}

	switch method {
	case "tasks/get":
		return s.state(ctx, j, p, who), nil
	case "tasks/cancel":
		s.cancelJob(ctx, j, p, who)
	}
	return acknowledgement, nil
}
