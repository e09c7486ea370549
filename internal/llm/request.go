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

	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
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
	// It cannot replace model, instructions, input, tools, stream and background.
	Extra map[string]any

	Background bool // runs at the API without a connection: see Start
	Plain      bool // asks for a plain answer instead of a stream
	FirstBlock int  // number of the first block in the events
}

// UserMessage returns an input item with a message of the user.
func UserMessage(query string) json.RawMessage {
	part := map[string]string{
		"type": "input_text",
		"text": query,
	}
	data, _ := json.Marshal(map[string]any{ // strings cannot fail
		"type":    "message",
		"role":    "user",
		"content": []any{part},
	})
	return data
}

// encode returns the body of r, without the parameters that the API is known to refuse.
func (c *Client) encode(r Request) ([]byte, error) {
	body, err := json.Marshal(c.params(r))
	if err != nil {
		return nil, err
	}

	body, err = merge(body, r.members())
	if err != nil {
		return nil, err
	}

	for key := range c.unsupported.Range {
		known := key.(modelParam)
		if known.model == r.Model {
			body, _ = drop(body, known.param)
		}
	}
	return body, nil
}

// params returns the parameters of r that the SDK has types for, as far as the model takes them.
func (c *Client) params(r Request) responses.ResponseNewParams {
	p := responses.ResponseNewParams{
		Model:             r.Model,
		MaxOutputTokens:   optional(int64(r.MaxOutputTokens)),
		MaxToolCalls:      optional(int64(r.MaxToolCalls)),
		ParallelToolCalls: param.NewOpt(true),
		ServiceTier:       responses.ResponseNewParamsServiceTier(r.ServiceTier),
		Store:             param.NewOpt(c.o.Store),
	}
	toolChoice := responses.ToolChoiceOptions(cmp.Or(r.ToolChoice, "auto"))
	p.ToolChoice.OfToolChoiceMode = param.NewOpt(toolChoice)

	can := CapabilityOf(r.Model)
	if can.Verbosity {
		p.Text.Verbosity = responses.ResponseTextConfigVerbosity(r.Verbosity)
	}
	if can.Reasoning {
		p.Reasoning.Effort = shared.ReasoningEffort(r.ReasoningEffort)
		p.Reasoning.Summary = shared.ReasoningSummary(r.ReasoningSummary)
	}
	return p
}

// optional is a parameter that is not sent when it is zero.
func optional[T comparable](value T) param.Opt[T] {
	var zero T
	if value == zero {
		return param.Opt[T]{}
	}
	return param.NewOpt(value)
}

// members returns what is merged into the typed parameters: Extra, and what goes into the body as
// it is.
func (r Request) members() map[string]any {
	members := map[string]any{}
	maps.Copy(members, r.Extra)
	for _, name := range []string{"model", "instructions", "tools", "stream", "background"} {
		delete(members, name)
	}
	extra, ok := members["include"]
	elements, isList := extra.([]any)
	if !ok || isList {
		members["include"] = r.includeWith(elements)
	}

	members["input"] = r.Input
	if len(r.Instructions) > 0 {
		members["instructions"] = r.Instructions
	}
	if len(r.Tools) > 0 {
		members["tools"] = r.Tools
	}
	if r.Background {
		members["background"] = true
	}
	if r.Plain {
		delete(members, "stream_options") // the API takes it only with stream
	} else {
		members["stream"] = true
	}
	return members
}

// includeWith returns the elements of include, the further ones last. Without any it returns nil,
// which is not sent.
func (r Request) includeWith(further []any) any {
	var all []any
	for _, element := range r.Include {
		all = append(all, element)
	}
	if CapabilityOf(r.Model).Reasoning {
		all = append(all, encryptedReasoning)
	}
	for _, element := range further {
		_, isString := element.(string)
		if !isString || !slices.Contains(all, element) {
			all = append(all, element)
		}
	}

	if all == nil {
		return nil
	}
	return all
}

// merge sets members in an encoded object: objects are merged member by member, null removes a
// member. An object that becomes empty is removed.
func merge(data []byte, members map[string]any) ([]byte, error) {
	current := gjson.ParseBytes(data).Map()

	for _, name := range slices.Sorted(maps.Keys(members)) {
		value, err := mergedValue(current[name], members[name])
		if err != nil {
			return nil, err
		}

		path := param.EscapeSJSONKey(name)
		if value == nil {
			data, err = sjson.DeleteBytes(data, path)
		} else {
			data, err = sjson.SetRawBytes(data, path, value)
		}
		if err != nil {
			return nil, err
		}
	}
	return data, nil
}

// mergedValue encodes what a member becomes when value is merged into it; nil: nothing is left.
func mergedValue(current gjson.Result, value any) ([]byte, error) {
	switch value := value.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		return value, nil
	case map[string]any:
		start := "{}"
		if current.IsObject() {
			start = current.Raw
		}
		data, err := merge([]byte(start), value)
		if string(data) == "{}" && len(value) > 0 {
			return nil, err
		}
		return data, err
	}
	return jsonx.Marshal(value)
}

// Capability says which optional parameters a model takes (spec §5.6).
type Capability struct {
	Verbosity bool // text.verbosity
	Reasoning bool // reasoning.effort, reasoning.summary, encrypted reasoning
}

// families is the capability table: the first row that fits decides, and a model
// that fits none takes neither. Azure writes gpt-3.5 as gpt-35.
var families = []struct {
	id  *regexp.Regexp
	can Capability
}{
	{
		id:  regexp.MustCompile(`^gpt-([5-9]|[12][0-9])([^0-9]|$)`),
		can: Capability{Verbosity: true, Reasoning: true},
	},
	{
		id:  regexp.MustCompile(`^o[1-9]`),
		can: Capability{Reasoning: true},
	},
}

// CapabilityOf looks up a model id. Snapshot dates and variants (-mini,
// -2026-01-31), a vendor prefix (openai/gpt-5.2), a routing suffix (:online)
// and the frame of a fine-tuned id (ft:gpt-5-mini:org::id) change nothing.
func CapabilityOf(model string) Capability {
	id := strings.ToLower(strings.TrimSpace(model))
	id = strings.TrimPrefix(id[strings.LastIndex(id, "/")+1:], "ft:")
	for _, f := range families {
		if f.id.MatchString(id) {
			return f.can
		}
	}
	return Capability{}
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

// leaveOut returns the body without the dispensable parameter that a 400 names, if there is one.
// Later bodies for the model do not have it either while the Client lives. It warns once.
func (c *Client) leaveOut(body []byte, model string, e *Error) (smaller []byte, ok bool) {
	name := refusedParam(body, e)
	if name == "" {
		return nil, false
	}
	smaller, ok = drop(body, name)
	if !ok {
		return nil, false
	}

	c.leave(model, name, e)
	return smaller, true
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

// refusedParam returns the dispensable parameter that a 400 names, else "".
func refusedParam(body []byte, e *Error) string {
	refusal := e.Kind == KindParameter || e.Kind == KindUnverified
	if !refusal || e.Status != http.StatusBadRequest {
		return ""
	}
	element := refusedElement(body, e)
	if element != "" {
		return "include." + element
	}

	name := e.Param
	if strings.HasPrefix(name, "include[") { // of an element that is not there
		name = "include"
	}
	if inBackground(body) && refusesBackground(e) {
		name = "background"
	}
	if slices.Contains(dispensable, name) {
		return name
	}
	return ""
}

// refusesBackground reports whether a 400 is about background. Some servers need store for it, and
// some name no parameter.
func refusesBackground(e *Error) bool {
	switch e.Param {
	case "store":
		return true
	case "":
		return strings.Contains(e.Message, "background")
	}
	return false
}

// refusedElement returns the element of include that a 400 names, else "". The API names it by
// itself, by its path or index, or in the message only.
func refusedElement(body []byte, e *Error) string {
	for i, value := range included(body) {
		element := value.Str
		if element == "" {
			continue
		}

		switch e.Param {
		case element, "include." + element, fmt.Sprintf("include[%d]", i):
			return element
		case "include":
			said := strings.Contains(e.Message, element)
			encrypted := strings.HasPrefix(e.Message, "Encrypted content")
			if said || encrypted && element == encryptedReasoning {
				return element
			}
		}
	}
	return ""
}

// included returns the elements of include, none when it is not a list.
func included(body []byte) []gjson.Result {
	include := gjson.GetBytes(body, "include")
	if !include.IsArray() {
		return nil
	}
	return include.Array()
}

// drop returns an encoded body without a parameter and what has no use without it. It reports
// whether the body had the parameter.
func drop(body []byte, name string) (smaller []byte, ok bool) {
	path := name
	parent, element, _ := strings.Cut(name, ".")
	if parent == "include" && element != "" {
		i := slices.IndexFunc(included(body), func(value gjson.Result) bool {
			return value.Str == element
		})
		path = fmt.Sprintf("include.%d", i) // -1 is no index
	}
	if !gjson.GetBytes(body, path).Exists() {
		return body, false
	}

	body = remove(body, path)
	switch gjson.GetBytes(body, parent).Raw {
	case "{}", "[]":
		body = remove(body, parent)
	}
	if name == "stream" || name == "background" {
		body = remove(body, name+"_options")
	}
	return body, true
}

// remove deletes a path that needs no escape, which cannot fail.
func remove(body []byte, path string) []byte {
	body, _ = sjson.DeleteBytes(body, path)
	return body
}
