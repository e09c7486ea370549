package llm

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

const maxRounds = 8 // responses of one Run

// Tool is a function or custom tool that the model may call. Call gets the input as the model wrote
// it and must return when ctx ends. The result, or the error, goes to the model.
type Tool struct {
	Param map[string]any // with type and name, as the API takes it
	Call  func(ctx context.Context, input string) (string, error)
}

// Run is Create with function tools, and with the end of the events: a Usage and a Done. While the
// model calls tools, the calls of one response run side by side, and their outputs are sent with
// everything that the response had, reasoning included. The usage is the sum of all responses.
//
// A call that cannot be answered (of a tool that is not among tools, or in an incomplete response)
// ends the run: the caller finds it in the output. Calls in the eighth response are an error.
//
// The program has no function tools; the Responses API has, and Run is what this client has for
// them.
func (cl *Client) Run(
	ctx context.Context, c *call.Call, r call.Request, tools []Tool,
) (*call.Response, error) {
	r.Tools = slices.Clip(r.Tools)
	for _, t := range tools {
		r.Tools = append(r.Tools, t.Param)
	}

	var tokens call.Usage
	var calls []toolCall
	for range maxRounds {
		r.Input = slices.Concat(r.Input, callTools(ctx, calls))
		response, err := cl.Create(ctx, c, r)
		if err != nil {
			return nil, err
		}
		tokens.Add(response.Tokens)
		response.Tokens = tokens

		calls = toolCalls(response, tools)
		if len(calls) == 0 {
			c.Send(tokens)
			c.Send(call.Done{Status: response.Status, Streamed: response.Streamed})
			return response, nil
		}
		r.Input = slices.Concat(r.Input, response.InputItems())
	}
	return nil, &call.Error{Kind: call.KindFailed, Message: "the model calls tools again and again"}
}

// toolCall is a tool call and the tool that answers it.
type toolCall struct {
	item call.Item
	tool Tool
}

// toolCalls returns the calls of a response, or none when a call cannot be answered: the API takes
// the outputs of all calls or of none.
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

// callTools runs the calls side by side and returns their output items in order. From an error the
// model learns what went wrong, and may try something else.
func callTools(ctx context.Context, calls []toolCall) []json.RawMessage {
	items := make([]json.RawMessage, len(calls))
	var wg sync.WaitGroup
	for i, made := range calls {
		wg.Go(func() {
			output, err := made.tool.Call(ctx, made.item.Arguments+made.item.Input)
			if err != nil {
				output = "error: " + err.Error()
			}
			items[i], _ = json.Marshal(map[string]string{ // strings cannot fail
				"type":    made.item.Type + "_output",
				"call_id": made.item.CallID,
				"output":  output,
			})
		})
	}
	wg.Wait()
	return items
}
