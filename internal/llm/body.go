package llm

import (
	"maps"
	"slices"

	"github.com/uchimanajet7/openai-responses-mcp/internal/unescaped"
)

const encryptedReasoning = "reasoning.encrypted_content"

// body is the JSON object of one call. It belongs to that call alone: dropping
// a refused parameter changes it, so nothing in it is shared with the Request.
type body struct {
	model  string
	fields map[string]any
}

// body builds the request body of r without what the model is known to refuse,
// `stream` included.
func (c *Client) body(r Request, stream bool) *body {
	can := CapabilityOf(r.Model)
	f := map[string]any{
		"model":               r.Model,
		"input":               input(r.Input),
		"tool_choice":         "auto",
		"parallel_tool_calls": true,
		"store":               c.store,
	}
	set(f, "instructions", r.Instructions)
	set(f, "service_tier", r.ServiceTier)
	set(f, "prompt_cache_key", r.PromptCacheKey)
	if len(r.Tools) > 0 {
		f["tools"] = r.Tools
	}
	include := slices.Clone(r.Include)
	if can.Reasoning && c.encrypted && !slices.Contains(include, encryptedReasoning) {
		include = append(include, encryptedReasoning)
	}
	if len(include) > 0 {
		f["include"] = include
	}
	text, reasoning := map[string]any{}, map[string]any{}
	if can.Verbosity {
		set(text, "verbosity", r.Verbosity)
	}
	if len(r.Format) > 0 {
		text["format"] = r.Format
	}
	if can.Reasoning {
		set(reasoning, "effort", r.Effort)
		set(reasoning, "summary", r.ReasoningSummary)
	}
	if len(text) > 0 {
		f["text"] = text
	}
	if len(reasoning) > 0 {
		f["reasoning"] = reasoning
	}
	extend(f, r.Extra)
	if f["store"] == false {
		f["input"] = carried(input(r.Input))
	}
	if stream {
		f["stream"] = true
	} else {
		delete(f, "stream_options") // the API takes it only beside stream
	}
	b := &body{model: r.Model, fields: f}
	for _, p := range c.refused.of(r.Model) {
		b.remove(p)
	}
	return b
}

// encode writes the body. Item bytes pass through as they are, without the
// escapes that json.Marshal would put into them.
func (b *body) encode() ([]byte, error) { return unescaped.JSON(b.fields) }

// streams reports whether the body asks for a stream.
func (b *body) streams() bool { return b.fields["stream"] == true }

// effort is the reasoning effort that the body asks for.
func (b *body) effort() string {
	reasoning, _ := b.fields["reasoning"].(map[string]any)
	effort, _ := reasoning["effort"].(string)
	return effort
}

// extend merges the caller's extra parameters into the body of a request.
func extend(fields, extra map[string]any) {
	for key, value := range extra {
		switch key {
		case "model", "instructions", "input", "tools", "stream":
		case "include":
			fields[key] = union(fields[key], value)
		default:
			fields[key] = merge(fields[key], value)
		}
	}
}

// merge lays src over dst, objects key by key. The result shares no object
// with either.
func merge(dst, src any) any {
	over, ok := src.(map[string]any)
	if !ok {
		return src
	}
	out := map[string]any{}
	if under, ok := dst.(map[string]any); ok {
		maps.Copy(out, under)
	}
	for key, value := range over {
		out[key] = merge(out[key], value)
	}
	return out
}

// union adds the strings of more to have. The answer reads what we ask for
// ourselves, so an extra include never takes it away; a value that is no list
// of strings is the caller's own affair and replaces ours.
func union(have, more any) any {
	list, _ := have.([]string)
	list = slices.Clone(list)
	elements, ok := more.([]any)
	if !ok {
		return more
	}
	for _, e := range elements {
		s, ok := e.(string)
		if !ok {
			return more
		}
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

func set(fields map[string]any, key, value string) {
	if value != "" {
		fields[key] = value
	}
}

// input is never null: the API wants a list, even an empty one.
func input(items []Item) []Item {
	out := make([]Item, 0, len(items))
	for _, it := range items {
		if it != nil {
			out = append(out, it)
		}
	}
	return out
}

// carried leaves out the reasoning that an API which has stored nothing refuses:
// what it cannot open again, and what nothing of the model's follows, because
// the turn ended in it.
func carried(items []Item) []Item {
	out := make([]Item, 0, len(items))
	for i, it := range items {
		r, ok := it.(*Reasoning)
		if !ok || r.EncryptedContent != "" && goesOn(items[i+1:]) {
			out = append(out, it)
		}
	}
	return out
}

// goesOn reports whether the first of the items that is no reasoning is the
// model's.
func goesOn(items []Item) bool {
	for _, it := range items {
		switch it := it.(type) {
		case *Reasoning:
		case *Message:
			return it.Role == "assistant"
		case *FunctionOutput:
			return false
		default:
			return true
		}
	}
	return false
}
