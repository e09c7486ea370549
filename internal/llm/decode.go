package llm

import (
	"encoding/json"
	"strings"
)

// decodeItem reads one item of valid JSON. It cannot fail: what fits no type that
// we know is a *Raw, and a field that is not what it should be is empty.
func decodeItem(data json.RawMessage) Item {
	o := objectOf(data)
	switch typ := o.str("type"); typ {
	case "message":
		return decodeMessage(o, data)
	case "reasoning":
		return decodeReasoning(o, data)
	case "function_call":
		return &FunctionCall{ID: o.str("id"), CallID: o.str("call_id"), Name: o.str("name"), Arguments: o.text("arguments"), raw: data}
	case "custom_tool_call":
		return &FunctionCall{ID: o.str("id"), CallID: o.str("call_id"), Name: o.str("name"), Arguments: o.text("input"), Custom: true, raw: data}
	case "function_call_output", "custom_tool_call_output":
		return &FunctionOutput{CallID: o.str("call_id"), Output: o.text("output"), Custom: typ == "custom_tool_call_output", raw: data}
	case "web_search_call":
		return decodeSearch(o, data)
	case "":
		// The API lets a message go without its type.
		if o.str("role") != "" && o.get("content") != nil {
			return decodeMessage(o, data)
		}
		return &Raw{JSON: data}
	default:
		return &Raw{Type: typ, JSON: data}
	}
}

// decodeItems reads a list of items. Entries that are no objects stay in their
// place as *Raw, so that indexes keep their meaning.
func decodeItems(list []json.RawMessage) []Item {
	items := make([]Item, 0, len(list))
	for _, data := range list {
		items = append(items, decodeItem(data))
	}
	return items
}

func decodeMessage(o object, data json.RawMessage) *Message {
	m := &Message{ID: o.str("id"), Role: o.str("role"), Status: o.str("status"), Phase: o.str("phase"), raw: data}
	if s := o.str("content"); s != "" {
		m.Content = []Part{{Type: plainPart(m.Role), Text: s}}
		return m
	}
	for _, p := range o.objects("content") {
		m.Content = append(m.Content, decodePart(p))
	}
	return m
}

// plainPart is the type of content that is a bare string.
func plainPart(role string) string {
	if role == "assistant" || role == "" {
		return "output_text"
	}
	return "input_text"
}

func decodePart(o object) Part {
	p := Part{Type: o.str("type"), Text: o.str("text")}
	if p.Type == "refusal" {
		p.Text = o.str("refusal")
	}
	for _, a := range o.objects("annotations") {
		if in := a.object("url_citation"); in != nil { // as Chat Completions nests it
			a = in.with("type", quoted("url_citation"))
		}
		p.Annotations = append(p.Annotations, Annotation{
			Type:  a.str("type"),
			URL:   a.str("url"),
			Title: a.str("title"),
			Start: int(a.integer("start_index")),
			End:   int(a.integer("end_index")),
		})
	}
	return p
}

func decodeReasoning(o object, data json.RawMessage) *Reasoning {
	r := &Reasoning{ID: o.str("id"), EncryptedContent: o.str("encrypted_content"), raw: data}
	var text []string
	for _, p := range o.objects("content") {
		text = append(text, p.str("text"))
	}
	r.Text = strings.Join(text, "")
	for _, p := range o.objects("summary") {
		r.Summary = append(r.Summary, p.str("text"))
	}
	return r
}

func decodeSearch(o object, data json.RawMessage) *Search {
	a := o.object("action")
	s := &Search{
		ID:      o.str("id"),
		Status:  o.str("status"),
		Action:  a.str("type"),
		Query:   a.str("query"),
		Queries: a.strs("queries"),
		URL:     a.str("url"),
		Pattern: a.str("pattern"),
		raw:     data,
	}
	if s.Query == "" && len(s.Queries) > 0 {
		s.Query = s.Queries[0]
	}
	for _, e := range a.objects("sources") {
		s.Sources = append(s.Sources, Source{
			Type:        e.str("type"),
			URL:         e.str("url"),
			Name:        e.str("name"),
			Title:       e.str("title"),
			PublishedAt: e.str("published_at"),
		})
	}
	return s
}
