package llm

import (
	"context"
	"encoding/json"
	"iter"
)

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

func (c *Client) Run(ctx context.Context, r Request, tools []Tool) iter.Seq2[Event, error] {
	return c.Stream(ctx, r)
}
