package llm

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// Request is one question to a model. The client adds store, tool_choice,
// parallel_tool_calls, stream and, for reasoning models, encrypted reasoning;
// it leaves out what the model does not take (CapabilityOf).
type Request struct {
	Params responses.ResponseNewParams

	// Extra is merged into the body: objects key by key, include as a union,
	// null removes a member. It cannot replace model, instructions, input,
	// tools and stream.
	Extra map[string]any
}

// body returns the JSON of r, without what the model is known to refuse.
func (c *Client) body(r Request, stream bool) *editor {
	p := r.Params
	can := CapabilityOf(p.Model)
	if !can.Verbosity {
		p.Text.Verbosity = ""
	}
	if !can.Reasoning {
		p.Reasoning = shared.ReasoningParam{}
	} else if !c.o.OmitEncryptedReasoning {
		p.Include = append(slices.Clip(p.Include), responses.ResponseIncludableReasoningEncryptedContent)
	}
	p.ToolChoice = responses.ResponseNewParamsToolChoiceUnion{OfToolChoiceMode: param.NewOpt(responses.ToolChoiceOptionsAuto)}
	p.ParallelToolCalls = param.NewOpt(true)
	p.Store = param.NewOpt(c.o.Store)
	if stream {
		p.SetExtraFields(map[string]any{"stream": true})
	}
	data, err := json.Marshal(p)
	b := &editor{data: data, err: err}
	b.extend("", r.Extra)
	if !stream {
		b.drop("stream_options") // the API takes it only with stream
	}
	for key := range c.refused.Range {
		if k := key.([2]string); k[0] == p.Model {
			b.refuse(k[1])
		}
	}
	return b
}

// editor changes a JSON object. The first error stays and stops the editing.
type editor struct {
	data []byte
	err  error
}

func (b *editor) get(path string) gjson.Result { return gjson.GetBytes(b.data, path) }

func (b *editor) set(path string, value any) {
	if b.err == nil {
		b.data, b.err = sjson.SetBytes(b.data, path, value)
	}
}

// drop removes a member, and the object or list that it leaves empty.
func (b *editor) drop(path string) {
	if b.err != nil || !b.get(path).Exists() {
		return
	}
	b.data, b.err = sjson.DeleteBytes(b.data, path)
	parent, _, nested := strings.Cut(path, ".")
	if rest := b.get(parent); nested && (rest.Raw == "{}" || rest.Raw == "[]") {
		b.drop(parent)
	}
}

// union adds values to a list, which may be missing.
func (b *editor) union(path string, values []any) {
	list, _ := b.get(path).Value().([]any)
	for _, v := range values {
		if s, ok := v.(string); !ok || !slices.Contains(list, any(s)) {
			list = append(list, v)
		}
	}
	b.set(path, list)
}

// extend merges request.extra_body, in the same order every time for the prompt
// cache.
func (b *editor) extend(path string, extra map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		value, at := extra[key], path+param.EscapeSJSONKey(key)
		switch at {
		case "model", "instructions", "input", "tools", "stream":
			continue
		}
		object, nested := value.(map[string]any)
		list, _ := value.([]any)
		switch {
		case value == nil:
			b.drop(at)
		case at == "include" && list != nil:
			b.union(at, list)
		case nested:
			if !b.get(at).IsObject() {
				b.set(at, map[string]any{})
			}
			b.extend(at+".", object)
		default:
			b.set(at, value)
		}
	}
}
