package llm

import (
	"encoding/json"

	"github.com/uchimanajet7/openai-responses-mcp/internal/unescaped"
)

// The wire forms of items made by hand. A decoded item never gets here.
type (
	wireMessage struct {
		Type    string     `json:"type"`
		ID      string     `json:"id,omitempty"`
		Role    string     `json:"role"`
		Status  string     `json:"status,omitempty"`
		Phase   string     `json:"phase,omitempty"`
		Content []wirePart `json:"content"`
	}
	wirePart struct {
		Type        string    `json:"type"`
		Text        *string   `json:"text,omitempty"`
		Refusal     *string   `json:"refusal,omitempty"`
		Annotations *[]string `json:"annotations,omitempty"`
	}
	wireText struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	wireReasoning struct {
		Type             string     `json:"type"`
		ID               string     `json:"id,omitempty"`
		Summary          []wireText `json:"summary"` // required, also when empty
		Content          []wireText `json:"content,omitempty"`
		EncryptedContent string     `json:"encrypted_content,omitempty"`
	}
	wireCall struct {
		Type      string  `json:"type"`
		ID        string  `json:"id,omitempty"`
		CallID    string  `json:"call_id"`
		Name      string  `json:"name"`
		Arguments *string `json:"arguments,omitempty"`
		Input     *string `json:"input,omitempty"`
	}
	wireOutput struct {
		Type   string `json:"type"`
		CallID string `json:"call_id"`
		Output string `json:"output"`
	}
	wireSearch struct {
		Type   string         `json:"type"`
		ID     string         `json:"id,omitempty"`
		Status string         `json:"status,omitempty"`
		Action map[string]any `json:"action"`
	}
)

// MarshalJSON returns the bytes that m was decoded from, or its fields.
func (m *Message) MarshalJSON() ([]byte, error) {
	if m.raw != nil {
		return m.raw, nil
	}
	w := wireMessage{Type: "message", ID: m.ID, Role: m.Role, Status: m.Status, Phase: m.Phase, Content: []wirePart{}}
	for _, p := range m.Content {
		part := wirePart{Type: p.Type, Text: &p.Text}
		switch p.Type {
		case "refusal":
			part.Text, part.Refusal = nil, &p.Text
		case "output_text":
			part.Annotations = &[]string{} // required of output text
		}
		w.Content = append(w.Content, part)
	}
	return unescaped.JSON(w)
}

// MarshalJSON returns the bytes that r was decoded from, or its fields.
func (r *Reasoning) MarshalJSON() ([]byte, error) {
	if r.raw != nil {
		return r.raw, nil
	}
	w := wireReasoning{Type: "reasoning", ID: r.ID, Summary: []wireText{}, EncryptedContent: r.EncryptedContent}
	for _, s := range r.Summary {
		w.Summary = append(w.Summary, wireText{"summary_text", s})
	}
	if r.Text != "" {
		w.Content = []wireText{{"reasoning_text", r.Text}}
	}
	return unescaped.JSON(w)
}

// MarshalJSON returns the bytes that f was decoded from, or its fields.
func (f *FunctionCall) MarshalJSON() ([]byte, error) {
	if f.raw != nil {
		return f.raw, nil
	}
	w := wireCall{Type: "function_call", ID: f.ID, CallID: f.CallID, Name: f.Name, Arguments: &f.Arguments}
	if f.Custom {
		w.Type, w.Arguments, w.Input = "custom_tool_call", nil, &f.Arguments
	}
	return unescaped.JSON(w)
}

// MarshalJSON returns the bytes that f was decoded from, or its fields.
func (f *FunctionOutput) MarshalJSON() ([]byte, error) {
	if f.raw != nil {
		return f.raw, nil
	}
	w := wireOutput{Type: "function_call_output", CallID: f.CallID, Output: f.Output}
	if f.Custom {
		w.Type = "custom_tool_call_output"
	}
	return unescaped.JSON(w)
}

// MarshalJSON returns the bytes that s was decoded from, or the fields that the
// API takes back: what was looked up, without the sources.
func (s *Search) MarshalJSON() ([]byte, error) {
	if s.raw != nil {
		return s.raw, nil
	}
	action := map[string]any{"type": s.Action}
	set(action, "query", s.Query)
	set(action, "url", s.URL)
	set(action, "pattern", s.Pattern)
	if len(s.Queries) > 0 {
		action["queries"] = s.Queries
	}
	return unescaped.JSON(wireSearch{Type: "web_search_call", ID: s.ID, Status: s.Status, Action: action})
}

// MarshalJSON returns the bytes of r.
func (r *Raw) MarshalJSON() ([]byte, error) {
	if len(r.JSON) == 0 {
		return json.Marshal(map[string]string{"type": r.Type})
	}
	return r.JSON, nil
}
