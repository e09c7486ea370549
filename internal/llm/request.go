package llm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

// Request is one question to a model. Empty and zero fields are not sent. The client adds store,
// parallel_tool_calls, stream and, for reasoning models, encrypted reasoning; it leaves out what the
// model does not take (CapabilityOf).
type Request struct {
	Model        string
	Instructions string
	Input        []json.RawMessage // items: UserMessage and Response.InputItems
	Tools        []map[string]any  // as the API takes them; the SDK's types lack members
	ToolChoice   string            // "": auto
	Include      []string

	ReasoningEffort  string
	ReasoningSummary string
	Verbosity        string
	MaxOutputTokens  int
	MaxToolCalls     int
	ServiceTier      string

	// Extra is merged into the body: objects key by key, include as a union, null removes a member.
	// It cannot replace model, instructions, input, tools and stream.
	Extra map[string]any

	Plain      bool // asks for a plain answer instead of a stream
	FirstBlock int  // number of the first block in the events
}

// UserMessage returns an input item with a message of the user.
func UserMessage(text string) json.RawMessage {
	data, err := json.Marshal(responses.ResponseInputItemMessageParam{
		Type:    "message",
		Role:    "user",
		Content: responses.ResponseInputMessageContentListParam{responses.ResponseInputContentParamOfInputText(text)},
	})
	if err != nil {
		panic(err) // strings are always valid JSON
	}
	return data
}

// body returns the members of r, without those that the model is known to refuse. Input and tools
// are sent as they are.
func (c *Client) body(r Request) (map[string]any, error) {
	extra := maps.Clone(r.Extra)
	for _, key := range []string{"model", "instructions", "input", "tools", "stream"} {
		delete(extra, key)
	}
	p := responses.ResponseNewParams{
		Model:             r.Model,
		Instructions:      optional(r.Instructions),
		MaxOutputTokens:   optional(int64(r.MaxOutputTokens)),
		MaxToolCalls:      optional(int64(r.MaxToolCalls)),
		ParallelToolCalls: param.NewOpt(true),
		ServiceTier:       responses.ResponseNewParamsServiceTier(r.ServiceTier),
		Store:             param.NewOpt(c.o.Store),
	}
	p.ToolChoice.OfToolChoiceMode = param.NewOpt(responses.ToolChoiceOptions(cmp.Or(r.ToolChoice, "auto")))
	include := slices.Clone(r.Include)
	can := CapabilityOf(r.Model)
	if can.Verbosity {
		p.Text.Verbosity = responses.ResponseTextConfigVerbosity(r.Verbosity)
	}
	if can.Reasoning {
		p.Reasoning.Effort = shared.ReasoningEffort(r.ReasoningEffort)
		p.Reasoning.Summary = shared.ReasoningSummary(r.ReasoningSummary)
		include = append(include, encryptedReasoning)
	}
	if elements, ok := extra["include"].([]any); ok {
		delete(extra, "include")
		for _, e := range elements {
			include = append(include, fmt.Sprint(e))
		}
	}
	for _, element := range include {
		if e := responses.ResponseIncludable(element); !slices.Contains(p.Include, e) {
			p.Include = append(p.Include, e)
		}
	}
	var body map[string]any
	data, err := json.Marshal(p)
	if err == nil {
		err = json.Unmarshal(data, &body)
	}
	if err != nil {
		return nil, fmt.Errorf("encoding the parameters: %w", err)
	}
	merge(body, extra)
	body["input"] = r.Input
	if len(r.Tools) > 0 {
		body["tools"] = r.Tools
	}
	if r.Plain {
		delete(body, "stream_options") // the API takes it only with stream
	} else {
		body["stream"] = true
	}
	for key := range c.unsupported.Range {
		if k := key.(modelParam); k.model == r.Model {
			drop(body, k.param)
		}
	}
	return body, nil
}

// optional is a parameter that is not sent when it is zero.
func optional[T comparable](value T) (o param.Opt[T]) {
	var zero T
	if value != zero {
		o = param.NewOpt(value)
	}
	return o
}

// merge merges extra into an object. An object that loses its last member is removed.
func merge(object, extra map[string]any) {
	for key, value := range extra {
		members, nested := value.(map[string]any)
		switch {
		case value == nil:
			delete(object, key)
		case nested:
			inner, _ := object[key].(map[string]any)
			if inner == nil {
				inner = map[string]any{}
			}
			merge(inner, members)
			object[key] = inner
			if len(inner) == 0 && len(members) > 0 {
				delete(object, key)
			}
		default:
			object[key] = value
		}
	}
}
