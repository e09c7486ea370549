package fakeapi

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// request is the body of POST /responses, as far as the server cares.
type request struct {
	Model             string            `json:"model"`
	Instructions      *string           `json:"instructions"`
	Input             json.RawMessage   `json:"input"`
	Tools             []json.RawMessage `json:"tools"`
	ToolChoice        json.RawMessage   `json:"tool_choice"`
	Include           []string          `json:"include"`
	Stream            bool              `json:"stream"`
	StreamOptions     *streamOptions    `json:"stream_options"`
	Store             *bool             `json:"store"`
	ParallelToolCalls *bool             `json:"parallel_tool_calls"`
	MaxOutputTokens   *int              `json:"max_output_tokens"`
	PreviousID        *string           `json:"previous_response_id"`
	PromptCacheKey    *string           `json:"prompt_cache_key"`
	ServiceTier       *string           `json:"service_tier"`
	Reasoning         *reasoningSetting `json:"reasoning"`
	Text              *textSetting      `json:"text"`

	fields map[string]json.RawMessage // every parameter that was sent
	items  []inItem                   // Input, decoded
	tools  []tool                     // Tools, decoded
	size   int                        // bytes of the body
	seed   string                     // of the ids in the answer
}

type streamOptions struct {
	IncludeObfuscation *bool `json:"include_obfuscation"`
}

type reasoningSetting struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

type textSetting struct {
	Format    json.RawMessage `json:"format"`
	Verbosity *string         `json:"verbosity,omitempty"`
}

// tool is the part of a tool's definition that decides what the model may do.
type tool struct {
	Type       string          `json:"type"`
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters"`
}

// inItem is an element of the input: a message, or an item of an earlier
// response that comes back.
type inItem struct {
	Type             string          `json:"type"`
	Role             string          `json:"role"`
	ID               string          `json:"id"`
	Content          json.RawMessage `json:"content"`
	CallID           string          `json:"call_id"`
	Output           json.RawMessage `json:"output"`
	EncryptedContent string          `json:"encrypted_content"`
}

// text is the text of the item's content, which is a string or a list of parts.
func (it inItem) text() string { return textOf(it.Content) }

// textOf reads a text that is a string or a list of parts.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	// Parts without a text (images, files) say nothing to this model.
	_ = json.Unmarshal(raw, &parts)
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// question is the last thing that the user said, without the hints that the
// client appends to it (spec §6).
func (r *request) question() string {
	for _, it := range slices.Backward(r.items) {
		if it.Role == "user" {
			q, _, _ := strings.Cut(it.text(), "\n[Hints]")
			return strings.TrimSpace(q)
		}
	}
	return ""
}

// questionOf is the question of a request that was not checked; "" without one.
func questionOf(body []byte) string {
	r := &request{}
	if json.Unmarshal(body, r) != nil || r.readInput() != nil {
		return ""
	}
	return r.question()
}

// includes reports whether the request asks for an optional part of the answer.
func (r *request) includes(what string) bool { return slices.Contains(r.Include, what) }

// stored reports whether the API would keep the response; it does by default.
func (r *request) stored() bool { return r.Store == nil || *r.Store }

// offers reports whether the model may use a tool of one of the types.
func (r *request) offers(types ...string) bool {
	if string(r.ToolChoice) == `"none"` {
		return false
	}
	return slices.ContainsFunc(r.tools, func(t tool) bool { return slices.Contains(types, t.Type) })
}

// thinks reports whether the answer begins with a reasoning item.
func (r *request) thinks() bool {
	e := r.effort()
	return reasons(r.Model) && (e == nil || *e != "none")
}

func (r *request) effort() *string {
	if r.Reasoning == nil {
		return nil
	}
	return r.Reasoning.Effort
}

// reasoning is the setting that the response shows: the default filled in for a
// model that reasons, null for one that does not.
func (r *request) reasoning() reasoningSetting {
	var s reasoningSetting
	if r.Reasoning != nil {
		s = *r.Reasoning
	}
	if s.Effort == nil && reasons(r.Model) {
		s.Effort = new("medium")
	}
	return s
}

func (r *request) text() textSetting {
	var s textSetting
	if r.Text != nil {
		s = *r.Text
	}
	if s.Format == nil {
		s.Format = json.RawMessage(`{"type":"text"}`)
	}
	s.Verbosity = cmp.Or(s.Verbosity, new("medium"))
	return s
}

func (r *request) toolChoice() json.RawMessage {
	if r.ToolChoice == nil {
		return json.RawMessage(`"auto"`)
	}
	return r.ToolChoice
}

// echo returns the tools as a response repeats them: web_search with its
// defaults, the others as they were sent.
func (r *request) echo() []json.RawMessage {
	out := []json.RawMessage{}
	for i, raw := range r.Tools {
		if r.tools[i].Type == "web_search" {
			full := map[string]any{"filters": nil, "search_context_size": "medium", "user_location": nil}
			_ = json.Unmarshal(raw, &full) // It was read as an object before.
			raw = encode(full, "")
		}
		out = append(out, raw)
	}
	return out
}
