package llm

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
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

const encryptedReasoning = "reasoning.encrypted_content"

// body returns the JSON of r, without what the model is known to refuse.
func (c *Client) body(r Request, stream bool) ([]byte, error) {
	data, err := json.Marshal(r.Params)
	if err != nil {
		return nil, err
	}
	b := editor{data: data}
	can := CapabilityOf(r.Params.Model)
	if !can.Verbosity {
		b.drop("text.verbosity")
	}
	if !can.Reasoning {
		b.drop("reasoning")
	}
	b.set("tool_choice", "auto")
	b.set("parallel_tool_calls", true)
	b.set("store", c.store)
	if can.Reasoning && c.encrypted {
		b.union("include", []any{encryptedReasoning})
	}
	b.extend(r.Extra)
	if !b.get("store").Bool() {
		b.carry()
	}
	if stream {
		b.set("stream", true)
	} else {
		b.drop("stream_options") // the API takes it only with stream
	}
	for _, p := range c.refused.of(r.Params.Model) {
		b.refuse(p)
	}
	if b.err == nil && !gjson.ValidBytes(b.data) {
		b.err = errors.New("request.extra_body has a value that JSON does not know")
	}
	return b.data, b.err
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

// extend merges request.extra_body.
func (b *editor) extend(extra map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(extra)) { // the same order every time, for the prompt cache
		switch key {
		case "model", "instructions", "input", "tools", "stream":
			continue
		case "include":
			if list, ok := extra[key].([]any); ok {
				b.union(key, list)
				continue
			}
		}
		b.merge(param.EscapeSJSONKey(key), extra[key])
	}
}

func (b *editor) merge(path string, value any) {
	object, ok := value.(map[string]any)
	switch {
	case value == nil:
		b.drop(path)
	case !ok:
		b.set(path, value)
	default:
		if !b.get(path).IsObject() {
			b.set(path, map[string]any{})
		}
		for _, key := range slices.Sorted(maps.Keys(object)) {
			b.merge(path+"."+param.EscapeSJSONKey(key), object[key])
		}
	}
}

// carry removes reasoning from the input that an API which stores nothing
// refuses: without encrypted content, and not followed by output of the model.
func (b *editor) carry() {
	items := b.get("input").Array()
	var kept []json.RawMessage
	for i, item := range items {
		if item.Get("type").Str == "reasoning" && (item.Get("encrypted_content").Str == "" || !continues(items[i+1:])) {
			continue
		}
		kept = append(kept, json.RawMessage(item.Raw))
	}
	if len(kept) < len(items) {
		b.set("input", kept)
	}
}

// continues reports whether the first item other than reasoning is the model's.
func continues(items []gjson.Result) bool {
	for _, item := range items {
		switch typ := item.Get("type").Str; {
		case typ == "reasoning":
		case typ == "message" || typ == "":
			return item.Get("role").Str == "assistant"
		default:
			return !strings.HasSuffix(typ, "_output")
		}
	}
	return false
}
