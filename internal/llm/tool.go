package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/tidwall/gjson"
)

const maxRounds = 8 // responses of one Run

// Tool is a function that the model may call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of the input object; nil: no input
	Strict      *bool           // whether the input must fit the schema; nil: the API's default
	Custom      bool            // takes free text instead of JSON
	Format      json.RawMessage // grammar of a custom tool's text; nil: none

	// Call runs the tool with the input as the model wrote it. It must return
	// when ctx ends. Its result goes to the model, an error too.
	Call func(ctx context.Context, input string) (string, error)
}

// definition returns the entry of tools that offers t.
func (t Tool) definition() ([]byte, error) {
	w := struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
		Strict      *bool           `json:"strict,omitempty"`
		Format      json.RawMessage `json:"format,omitempty"`
	}{Type: "function", Name: t.Name, Description: t.Description, Parameters: t.Parameters, Strict: t.Strict}
	switch {
	case t.Custom:
		w.Type, w.Parameters, w.Strict, w.Format = "custom", nil, nil, t.Format
	case w.Parameters == nil:
		w.Parameters = json.RawMessage(`{"type":"object","properties":{},"required":[],"additionalProperties":false}`)
	}
	return json.Marshal(w)
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
	return watched(ctx, func(ctx context.Context, f *feed) (*Response, error) {
		return c.run(ctx, r, tools, f)
	})
}

func (c *Client) run(ctx context.Context, r Request, tools []Tool, f *feed) (*Response, error) {
	r.Params.Tools = slices.Clip(r.Params.Tools)
	for _, t := range tools {
		data, err := t.definition()
		if err != nil {
			return nil, &Error{Kind: KindParameter, Message: fmt.Sprintf("encoding tool %q: %v", t.Name, err), Err: err}
		}
		r.Params.Tools = append(r.Params.Tools, param.Override[responses.ToolUnionParam](json.RawMessage(data)))
	}
	input := slices.Clip(r.Params.Input.OfInputItemList)
	if s := r.Params.Input.OfString; s.Valid() {
		input = append(input, responses.ResponseInputItemParamOfMessage(s.Value, responses.EasyInputMessageRoleUser))
	}
	var tokens Usage
	for round := 1; ; round++ {
		r.Params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: input}
		resp, err := c.do(ctx, r, f, true)
		if err != nil {
			return nil, err
		}
		tokens.Add(resp.Tokens)
		resp.Tokens = tokens
		calls := callsOf(resp, tools)
		if len(calls) == 0 {
			return resp, nil
		}
		if round == maxRounds {
			return nil, &Error{Kind: KindFailed, Message: fmt.Sprintf("the model still calls tools in its response number %d", round)}
		}
		input = append(input, resp.InputItems()...)
		input = append(input, c.outputs(ctx, calls)...)
	}
}

// call is a tool call and the tool that answers it.
type call struct {
	tool      Tool
	id, input string
}

// callsOf returns the calls of a response, none when one of them cannot be
// answered: the API takes the outputs of all calls or of none.
func callsOf(r *Response, tools []Tool) []call {
	if r.Status == "incomplete" {
		return nil // the input of a call may be incomplete too
	}
	var calls []call
	for _, item := range r.Output {
		input := item.Input
		switch item.Type {
		case "function_call":
			input = gjson.Get(item.RawJSON(), "arguments").String()
		case "custom_tool_call":
		default:
			continue
		}
		i := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == item.Name && t.Call != nil })
		if i < 0 || item.CallID == "" {
			return nil
		}
		calls = append(calls, call{tool: tools[i], id: item.CallID, input: input})
	}
	return calls
}

// outputs runs the calls side by side and returns their output items in order.
func (c *Client) outputs(ctx context.Context, calls []call) []responses.ResponseInputItemUnionParam {
	items := make([]responses.ResponseInputItemUnionParam, len(calls))
	var wg sync.WaitGroup
	for i, call := range calls {
		wg.Go(func() {
			typ := "function_call_output"
			if call.tool.Custom {
				typ = "custom_tool_call_output"
			}
			data, _ := json.Marshal(map[string]string{"type": typ, "call_id": call.id, "output": c.output(ctx, call)}) // strings cannot fail
			items[i] = rawItem(data)
		})
	}
	wg.Wait()
	return items
}

// output runs a tool. The model learns what went wrong and may try something
// else.
func (c *Client) output(ctx context.Context, call call) (out string) {
	defer func() {
		if p := recover(); p != nil {
			c.log.LogAttrs(ctx, slog.LevelError, "llm: a tool panicked",
				slog.String("tool", call.tool.Name), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			out = "error: the tool crashed"
		}
	}()
	out, err := call.tool.Call(ctx, call.input)
	if err != nil {
		return "error: " + err.Error()
	}
	return out
}
