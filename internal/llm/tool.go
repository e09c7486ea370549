package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/openai/openai-go/v3/responses"
)

const maxRounds = 8 // responses of one Run

// Tool is a function or custom tool that the model may call.
type Tool struct {
	Param responses.ToolUnionParam

	// Call runs the tool with the input as the model wrote it. It must return
	// when ctx ends. Its result goes to the model, an error too.
	Call func(ctx context.Context, input string) (string, error)
}

// Run is Stream with function tools. While the model calls them, the calls of
// one response run side by side, and their outputs are sent with everything that
// the response had, reasoning included. The events are those of one stream, with
// one Usage and one Done at the end; the usage is the sum of all responses.
//
// A call that cannot be answered (of a tool that is not among tools, or in an
// incomplete response) ends the run: the caller finds it in the output. Calls in
// the eighth response are an error.
func (c *Client) Run(ctx context.Context, r Request, tools []Tool) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		f := &feed{leave: cancel, yield: func(e Event) bool { return yield(e, nil) }}
		resp, err := c.run(ctx, r, tools, f)
		switch {
		case f.gone:
		case err != nil:
			yield(nil, err)
		default:
			f.finish(resp)
		}
	}
}

func (c *Client) run(ctx context.Context, r Request, tools []Tool, f *feed) (*Response, error) {
	r.Params.Tools = slices.Clip(r.Params.Tools)
	for _, t := range tools {
		r.Params.Tools = append(r.Params.Tools, t.Param)
	}
	input := slices.Clip(r.Params.Input.OfInputItemList)
	if s := r.Params.Input.OfString; s.Valid() {
		input = append(input, responses.ResponseInputItemParamOfMessage(s.Value, responses.EasyInputMessageRoleUser))
	}
	var tokens Usage
	retries := 0
	for round := 1; ; round++ {
		r.Params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: input}
		resp, err := c.do(ctx, r, f, true)
		if err != nil {
			return nil, err
		}
		tokens.Add(resp.Tokens)
		retries += resp.Retries
		resp.Tokens, resp.Retries = tokens, retries
		calls := callsOf(resp, tools)
		if len(calls) == 0 {
			return resp, nil
		}
		if round == maxRounds {
			return nil, &Error{Kind: KindFailed, Message: fmt.Sprintf("the model still calls tools in its response number %d", round)}
		}
		input = append(input, resp.InputItems()...)
		input = append(input, outputs(ctx, calls)...)
	}
}

// call is a tool call and the tool that answers it.
type call struct {
	tool           Tool
	typ, id, input string
}

// callsOf returns the calls of a response, none when one of them cannot be
// answered: the API takes the outputs of all calls or of none.
func callsOf(r *Response, tools []Tool) []call {
	if r.Status == "incomplete" {
		return nil // the input of a call may be incomplete too
	}
	var calls []call
	for i := range r.Output {
		item := &r.Output[i]
		if item.Type != "function_call" && item.Type != "custom_tool_call" {
			continue
		}
		i := slices.IndexFunc(tools, func(t Tool) bool {
			name := t.Param.GetName()
			return name != nil && *name == item.Name && t.Call != nil
		})
		if i < 0 || item.CallID == "" {
			return nil
		}
		calls = append(calls, call{tools[i], item.Type, item.CallID, toolInput(item)})
	}
	return calls
}

// outputs runs the calls side by side and returns their output items in order.
// From an error the model learns what went wrong, and may try something else.
func outputs(ctx context.Context, calls []call) []responses.ResponseInputItemUnionParam {
	items := make([]responses.ResponseInputItemUnionParam, len(calls))
	var wg sync.WaitGroup
	for i, call := range calls {
		wg.Go(func() {
			out, err := call.tool.Call(ctx, call.input)
			if err != nil {
				out = "error: " + err.Error()
			}
			data, _ := json.Marshal(map[string]string{"type": call.typ + "_output", "call_id": call.id, "output": out}) // strings cannot fail
			items[i] = rawItem(data)
		})
	}
	wg.Wait()
	return items
}
