package llm

import "encoding/json"

// Item is one entry of `input` or `output`: *Message, *Reasoning,
// *FunctionCall, *FunctionOutput, *Search or, for every type that we do not
// know, *Raw. A decoded item marshals to the very bytes it came from, whatever
// its fields say by then; one made by hand marshals its fields.
type Item interface {
	json.Marshaler
	item()
}

// Message is text of the user, the developer or the model.
type Message struct {
	ID, Role, Status string
	Phase            string // "commentary", "final_answer" or ""
	Content          []Part

	raw json.RawMessage
}

// Part is one piece of a message. Text holds the refusal when Type is
// "refusal".
type Part struct {
	Type        string
	Text        string
	Annotations []Annotation
}

// Annotation marks a stretch of a text, counted in characters; as a
// "url_citation" it names the page that the stretch rests on.
type Annotation struct {
	Type, URL, Title string
	Start, End       int
}

// Reasoning is what the model thought. EncryptedContent lets the API continue
// the thought when the item is sent back and nothing was stored.
type Reasoning struct {
	ID               string
	Text             string   // raw reasoning, which only open models show
	Summary          []string // one entry a paragraph
	EncryptedContent string

	raw json.RawMessage
}

// FunctionCall asks for a tool to be run.
type FunctionCall struct {
	ID, CallID, Name string
	Arguments        string // JSON, or free text when Custom
	Custom           bool   // a custom_tool_call

	raw json.RawMessage
}

// FunctionOutput answers the FunctionCall with the same CallID.
type FunctionOutput struct {
	CallID, Output string
	Custom         bool // a custom_tool_call_output

	raw json.RawMessage
}

// Search is one step of web search: a search, a page opened, a page searched.
type Search struct {
	ID, Status string
	Action     string // "search", "open_page", "find_in_page" or what comes next
	Query      string // the first query when the API names several
	Queries    []string
	URL        string
	Pattern    string
	Sources    []Source

	raw json.RawMessage
}

// Source is something that a search looked at. One of type "api" has a name
// (oai-weather) and no URL.
type Source struct {
	Type, URL, Name, Title string
	PublishedAt            string // as the API wrote it
}

// Raw is an item of a type that we do not know.
type Raw struct {
	Type string
	JSON json.RawMessage // the whole item as it came, and as it is sent back
}

func (*Message) item()        {}
func (*Reasoning) item()      {}
func (*FunctionCall) item()   {}
func (*FunctionOutput) item() {}
func (*Search) item()         {}
func (*Raw) item()            {}

// UserText is a message of the user.
func UserText(s string) Item {
	return &Message{Role: "user", Content: []Part{{Type: "input_text", Text: s}}}
}
