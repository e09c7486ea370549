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

	"github.com/uchimanajet7/openai-responses-mcp/internal/unescaped"
)

// maxRounds bounds the responses of one Run.
const maxRounds = 8

// Tool is a function that the model may call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of the input object; nil: there is no input
	Strict      *bool           // whether the input must fit the schema; nil: as the API has it
	Custom      bool            // takes free text instead of JSON
	Format      json.RawMessage // grammar of that text, when it has one

	// Call runs the tool with the input as the model wrote it. It must return
	// when ctx ends. What it returns goes to the model, an error too. A Tool
	// without Call is offered, and a call of it ends the run.
	Call func(ctx context.Context, input string) (string, error)
}

// MarshalJSON returns the entry of `tools` that offers t.
func (t Tool) MarshalJSON() ([]byte, error) {
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
	return unescaped.JSON(w)
}

// Run is Stream with tools. While the model calls them they are run, the calls
// of one response side by side, and their outputs are sent with everything that
// the response had, reasoning included. The events are those of one stream: one
// numbering of blocks, and at the end one Usage and one Done. Their usage is the
// sum over all responses; everything else in Done is the last response.
//
// A call that cannot be answered (of a tool that is not among tools, or in a
// response that is incomplete) ends the run: the caller finds it in the output.
// A model that calls tools in its eighth response too is an error, since such a
// response answers nothing.
func (c *Client) Run(ctx context.Context, r Request, tools []Tool) iter.Seq2[Event, error] {
	return watched(ctx, func(ctx context.Context, f *feed) (*Response, error) {
		return c.run(ctx, r, tools, f, true)
	})
}

// RunPlain is Run without streaming: it returns the response of Done, or the
// *Error that Run would end with.
func (c *Client) RunPlain(ctx context.Context, r Request, tools []Tool) (*Response, error) {
	return c.run(ctx, r, tools, &feed{}, false)
}

func (c *Client) run(ctx context.Context, r Request, tools []Tool, f *feed, stream bool) (*Response, error) {
	r.Tools = slices.Clip(r.Tools)
	for _, t := range tools {
		data, err := t.MarshalJSON()
		if err != nil {
			return nil, &Error{Kind: KindParameter, Message: fmt.Sprintf("encoding tool %q: %v", t.Name, err), Err: err}
		}
		r.Tools = append(r.Tools, data)
	}
	var spent Usage
	for round := 1; ; round++ {
		resp, err := c.do(ctx, r, f, stream)
		if err != nil {
			return nil, err
		}
		spent = spent.Plus(resp.Usage)
		jobs := jobsOf(resp, tools)
		if len(jobs) == 0 {
			resp.Usage = spent
			return resp, nil
		}
		if round == maxRounds {
			return nil, &Error{Kind: KindFailed, Message: fmt.Sprintf("the model still calls tools in its response number %d", round)}
		}
		r.Input = append(slices.Clip(r.Input), resp.Output...)
		r.Input = append(r.Input, c.work(ctx, jobs)...)
	}
}

// job is a call and the tool that answers it.
type job struct {
	call *FunctionCall
	tool Tool
}

// jobsOf returns the calls of a response, or none when one of them cannot be
// answered: the API wants the output of all or takes none.
func jobsOf(r *Response, tools []Tool) []job {
	if r.Status == "incomplete" {
		return nil // the input of a call may be half of it
	}
	var jobs []job
	for _, it := range r.Output {
		call, ok := it.(*FunctionCall)
		if !ok {
			continue
		}
		i := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == call.Name && t.Call != nil })
		if i < 0 || call.CallID == "" {
			return nil
		}
		jobs = append(jobs, job{call: call, tool: tools[i]})
	}
	return jobs
}

// work runs the jobs side by side and returns their outputs in order.
func (c *Client) work(ctx context.Context, jobs []job) []Item {
	outputs := make([]Item, len(jobs))
	var wg sync.WaitGroup
	for i, j := range jobs {
		wg.Go(func() {
			outputs[i] = &FunctionOutput{CallID: j.call.CallID, Output: c.output(ctx, j), Custom: j.call.Custom}
		})
	}
	wg.Wait()
	return outputs
}

// output runs a tool. The model is told what went wrong with it, and may try
// something else.
func (c *Client) output(ctx context.Context, j job) (out string) {
	defer func() {
		if p := recover(); p != nil {
			c.log.LogAttrs(ctx, slog.LevelError, "llm: a tool panicked",
				slog.String("tool", j.tool.Name), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			out = "error: the tool crashed"
		}
	}()
	out, err := j.tool.Call(ctx, j.call.Arguments)
	if err != nil {
		return "error: " + err.Error()
	}
	return out
}
