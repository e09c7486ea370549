package llm

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

const maxRounds = 8 // requests of one Run

// Tool is a function or custom tool that the model may call. Call gets the input as the model wrote
// it and must return when ctx ends. The result, or the error, goes to the model.
type Tool struct {
	Param map[string]any // the tool as the API takes it, with type and name
	Call  func(ctx context.Context, input string) (string, error)
}

// Run is Create with function tools. If a response calls tools, Run calls them side by side, and
// sends their outputs in the next request, after the output of the response, reasoning included.
// The last events are a Usage, which is the sum of all responses, and a Done.
//
// A tool call that cannot be answered (of a tool that is not among tools, or in an incomplete
// response) ends the run: the caller finds the tool call in the output. Tool calls in the eighth
// response are an error.
//
// The program itself has no function tools and does not use Run. The client has Run because the
// Responses API has function tools.
func (cl *Client) Run(
	ctx context.Context, c *call.Call, request call.Request, tools []Tool,
) (*call.Response, error) {
	request.Tools = slices.Clip(request.Tools)
	for _, t := range tools {
		request.Tools = append(request.Tools, t.Param)
	}

	var tokens call.Usage
	var calls []toolCall
	for range maxRounds {
		request.Input = slices.Concat(request.Input, answerCalls(ctx, calls))
		response, err := cl.Create(ctx, c, request)
		if err != nil {
			return nil, err
		}
		tokens.AddTokens(1, response.Usage)
		response.Usage = tokens

		calls = toolCalls(response, tools)
		if len(calls) == 0 {
			c.Emit(tokens)
			c.Emit(call.Done{Status: response.Status, Streamed: response.Streamed})
			return response, nil
		}
		request.Input = slices.Concat(request.Input, response.InputItems())
	}
	return nil, &call.APIError{Kind: call.KindFailed, Message: "the model calls tools again and again"}
}

// toolCall is a tool call and the tool that answers it.
type toolCall struct {
	item call.Item
	tool Tool
}

// toolCalls returns the tool calls of a response, or none if one of them cannot be answered: the
// API takes the outputs of all calls or of none.
func toolCalls(r *call.Response, tools []Tool) []toolCall {
	if r.Status == "incomplete" {
		return nil // the input of a call may be incomplete too
	}

	var calls []toolCall
	for _, item := range r.Output {
		if item.Type != "function_call" && item.Type != "custom_tool_call" {
			continue
		}
		i := slices.IndexFunc(tools, func(t Tool) bool { return t.Param["name"] == item.Name })
		if i < 0 {
			return nil
		}
		calls = append(calls, toolCall{item, tools[i]})
	}
	return calls
}

// answerCalls makes the tool calls side by side, and returns their output items in order. The
// output of a call that fails is its error: the model may then try something else.
func answerCalls(ctx context.Context, calls []toolCall) []json.RawMessage {
	items := make([]json.RawMessage, len(calls))
	var wg sync.WaitGroup
	for i, c := range calls {
		wg.Go(func() {
			output, err := c.tool.Call(ctx, c.item.Arguments+c.item.Input)
			if err != nil {
				output = "error: " + err.Error()
			}
			items[i], _ = json.Marshal(map[string]string{ // strings cannot fail
				"type":    c.item.Type + "_output",
				"call_id": c.item.CallID,
				"output":  output,
			})
		})
	}
	wg.Wait()
	return items
}
