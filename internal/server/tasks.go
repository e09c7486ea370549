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

// taskParams are the params of all methods about tasks.
type taskParams struct {
	mcp.ParamsBase
	ID string `json:"taskId"`
}

// addTasks adds tasks to m, for the clients that declare the extension.
func (s *Server) addTasks(m *mcp.Server) {
	list := &taskList{ttl: s.options.Timeout + keepTasks}
	for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
		handle := func(_ context.Context, _ *mcp.ServerSession, p *taskParams) (*task, error) {
			return list.handle(method, p)
		}
		if err := mcp.AddReceivingCustomMethod(m, method, handle); err != nil {
			panic(err) // the SDK has the method
		}
	}
	m.AddReceivingMiddleware(list.middleware)
}

// middleware declares the extension, except in initialize, and starts tasks.
func (l *taskList) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if canBeTask(req) {
			call := func(ctx context.Context) (mcp.Result, error) { return next(ctx, method, req) }
			if t := l.start(ctx, call); t != nil {
				return t, nil
			}
		}

		res, err := next(ctx, method, req)
		if d, ok := res.(*mcp.DiscoverResult); ok {
			d.Capabilities.AddExtension(tasksExtension, nil)
		}
		return res, err
	}
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
func (l *taskList) handle(method string, p *taskParams) (*task, error) {
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
		return nil, &jsonrpc.Error{
			Code:    jsonrpc.CodeInvalidParams,
			Message: "Unknown task: " + text.Truncate(text.OneLine(p.ID), 100),
		}
	}

	switch method {
	case "tasks/get":
		return t, nil
	case "tasks/cancel":
		t.cancel()
	}
	return &task{Type: "complete"}, nil // an update has no effect: the tasks ask for nothing
}
