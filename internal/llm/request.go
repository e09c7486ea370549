package llm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// Request is one question to a model. Empty and zero fields are not sent. The client adds store,
// parallel_tool_calls, stream and, for reasoning models, encrypted reasoning; it leaves out what
// the model does not take (CapabilityOf).
type Request struct {
	Model        string
	Instructions json.RawMessage   // a string, encoded once for all requests that have it
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
	// It cannot replace those of fixed.
	Extra map[string]any

	Background bool // runs at the API without a connection: see Start
	Plain      bool // asks for a plain answer instead of a stream
	FirstBlock int  // number of the first block in the events
}

// UserMessage returns an input item with a message of the user.
func UserMessage(query string) json.RawMessage {
	data, _ := json.Marshal(map[string]any{ // strings cannot fail
		"type":    "message",
		"role":    "user",
		"content": []map[string]string{{"type": "input_text", "text": query}},
	})
	return data
}

// encode returns the body of r, without the parameters that the API is known to refuse.
func (c *Client) encode(r Request) ([]byte, error) {
	body, err := json.Marshal(c.params(r))
	if err == nil {
		body, err = merge(body, "", r.Extra)
	}
	if err == nil {
		body, err = sjson.SetBytes(body, "input", r.Input)
	}
	if len(r.Instructions) > 0 {
		body, _ = sjson.SetRawBytes(body, "instructions", r.Instructions)
	}

	for key := range c.unsupported.Range {
		known := key.(modelParam)
		if known.model == r.Model {
			body, _ = drop(body, known.param)
		}
	}

	return body, err
}

// params returns the parameters of r, as far as the model takes them.
func (c *Client) params(r Request) responses.ResponseNewParams {
	p := responses.ResponseNewParams{
		Model:             r.Model,
		ParallelToolCalls: param.NewOpt(true),
		ServiceTier:       responses.ResponseNewParamsServiceTier(r.ServiceTier),
		Store:             param.NewOpt(c.o.Store),
	}
	toolChoice := responses.ToolChoiceOptions(cmp.Or(r.ToolChoice, "auto"))
	p.ToolChoice.OfToolChoiceMode = param.NewOpt(toolChoice)

	if r.MaxOutputTokens > 0 {
		p.MaxOutputTokens = param.NewOpt(int64(r.MaxOutputTokens))
	}
	if r.MaxToolCalls > 0 {
		p.MaxToolCalls = param.NewOpt(int64(r.MaxToolCalls))
	}
	if r.Background {
		p.Background = param.NewOpt(true)
	}

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

	further, _ := r.Extra["include"].([]any)
	for _, value := range further {
		element := fmt.Sprint(value)
		if !slices.Contains(include, element) {
			include = append(include, element)
		}
	}

	others := map[string]any{} // the SDK has narrower types for the lists, and no stream
	if len(include) > 0 {
		others["include"] = include
	}
	if len(r.Tools) > 0 {
		others["tools"] = r.Tools
	}
	if !r.Plain {
		others["stream"] = true
	}
	p.SetExtraFields(others)

	return p
}

// fixed has the members of a body that Request.Extra cannot replace.
var fixed = []string{"model", "instructions", "input", "tools", "stream", "background"}

// merge sets members of the object at a path, which is "" or ends with a dot. Objects are merged
// member by member, and null removes a member. A list of include is in the body already.
func merge(body []byte, parent string, members map[string]any) (merged []byte, err error) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		path := parent + param.EscapeSJSONKey(name)
		value := members[name]
		object, isObject := value.(map[string]any)
		_, isList := value.([]any)

		switch {
		case slices.Contains(fixed, path), isList && path == "include":
		case value == nil:
			body, _ = drop(body, path)
		case isObject && gjson.GetBytes(body, path).IsObject():
			body, err = merge(body, path+".", object)
		case isObject:
			body, err = sjson.SetBytes(body, path, withoutNulls(object))
		default:
			body, err = sjson.SetBytes(body, path, value)
		}
		if err != nil {
			return nil, err
		}
	}
	return body, nil
}

// withoutNulls returns an object without the members that are null, also in objects inside it.
func withoutNulls(object map[string]any) map[string]any {
	rest := map[string]any{}
	for name, value := range object {
		inner, isObject := value.(map[string]any)
		if isObject {
			value = withoutNulls(inner)
		}
		if value != nil {
			rest[name] = value
		}
	}
	return rest
}

// Capability says which optional parameters a model takes (spec §5.6).
type Capability struct {
	Verbosity bool // text.verbosity
	Reasoning bool // reasoning.effort, reasoning.summary, encrypted reasoning
}

// The capability table. Azure writes gpt-3.5 as gpt-35.
var (
	takesVerbosity = regexp.MustCompile(`^gpt-([5-9]|[12][0-9])([^0-9]|$)`)
	takesReasoning = regexp.MustCompile(takesVerbosity.String() + `|^o[1-9]`)
)

// CapabilityOf looks up a model id. Snapshot dates and variants (-mini,
// -2026-01-31), a vendor prefix (openai/gpt-5.2), a routing suffix (:online)
// and the frame of a fine-tuned id (ft:gpt-5-mini:org::id) change nothing.
func CapabilityOf(model string) Capability {
	id := strings.ToLower(model)
	id = strings.TrimPrefix(id[strings.LastIndex(id, "/")+1:], "ft:")
	return Capability{
		Verbosity: takesVerbosity.MatchString(id),
		Reasoning: takesReasoning.MatchString(id),
	}
}

const encryptedReasoning = string(responses.ResponseIncludableReasoningEncryptedContent)

// dispensable has the parameters that an answer can do without. tools is not among them: an answer
// without search is not the one that was asked for. Neither is store: without it the API keeps the
// question and the answer.
var dispensable = []string{
	"stream", "stream_options", "parallel_tool_calls", "service_tier", "max_tool_calls", "include",
	"background",
	"reasoning", "reasoning.effort", "reasoning.summary", "text", "text.verbosity",
}

// modelParam is a parameter that the API refuses for a model: a member of the body (stream), or a
// member or element of one (reasoning.effort, include.ELEMENT).
type modelParam struct{ model, param string }

// leaveOut returns the body without the dispensable parameter that a 400 names, and whether there
// is one. Later bodies for the model do not have it either while the Client lives. It warns once.
func (c *Client) leaveOut(body []byte, model string, e *Error) (smaller []byte, ok bool) {
	name := refusedParam(body, e)
	smaller, ok = drop(body, name)
	if ok {
		c.leave(model, name, e)
	}
	return smaller, ok
}

// leave notes that bodies for a model do not have a parameter from now on. It warns once.
func (c *Client) leave(model, name string, e *Error) {
	_, known := c.unsupported.LoadOrStore(modelParam{model, name}, nil)
	if !known {
		c.o.Logger.Warn("the API refuses a parameter: going on without it",
			"model", model,
			"param", name,
			"reason", text.Truncate(e.Message, 200))
	}
}

// refusedParam returns the dispensable parameter that a 400 names, else "". Some servers name store
// where they mean background, or nothing.
func refusedParam(body []byte, e *Error) string {
	if e.Status != http.StatusBadRequest {
		return ""
	}
	element := refusedElement(body, e)
	if element != "" {
		return "include." + element
	}

	name, _, _ := strings.Cut(e.Param, "[") // include[9], which is not there
	inMessage := e.Param == "" && strings.Contains(e.Message, "background")
	if inBackground(body) && (e.Param == "store" || inMessage) {
		name = "background"
	}
	if slices.Contains(dispensable, name) {
		return name
	}
	return ""
}

// refusedElement returns the element of include that a 400 names, else "". The API names it by
// itself, by its index, or in the message only.
func refusedElement(body []byte, e *Error) string {
	for i, element := range included(body) {
		switch e.Param {
		case element, "include." + element, fmt.Sprintf("include[%d]", i):
			return element
		case "include":
			said := strings.Contains(e.Message, element)
			encrypted := strings.HasPrefix(e.Message, "Encrypted content")
			meant := encrypted && element == encryptedReasoning
			if said || meant {
				return element
			}
		}
	}
	return ""
}

// included returns the elements of include.
func included(body []byte) (elements []string) {
	for _, element := range gjson.GetBytes(body, "include").Array() {
		elements = append(elements, element.Str)
	}
	return elements
}

// drop returns a body without a parameter, and without the list or object that it leaves empty. It
// reports whether the body had the parameter.
func drop(body []byte, name string) (smaller []byte, ok bool) {
	path := name
	parent, element, _ := strings.Cut(name, ".")
	if parent == "include" && element != "" {
		path = fmt.Sprintf("include.%d", slices.Index(included(body), element)) // -1 is no index
	}
	if !gjson.GetBytes(body, path).Exists() {
		return body, false
	}

	body, _ = sjson.DeleteBytes(body, path) // of what is there

	switch gjson.GetBytes(body, parent).Raw {
	case "{}", "[]":
		body, _ = sjson.DeleteBytes(body, parent)
	}
	return body, true
}
