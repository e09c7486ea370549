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

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// Request is one question to a model. Empty and zero fields are not sent. The client adds store,
// parallel_tool_calls, stream and, for reasoning models, encrypted reasoning; it leaves out what
// the model does not take (CapabilityOf).
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
func UserMessage(question string) json.RawMessage {
	content := []map[string]string{{"type": "input_text", "text": question}}
	data, _ := json.Marshal(map[string]any{"type": "message", "role": "user", "content": content}) // strings cannot fail
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
	for _, element := range r.Include {
		p.Include = append(p.Include, responses.ResponseIncludable(element))
	}
	can := CapabilityOf(r.Model)
	if can.Verbosity {
		p.Text.Verbosity = responses.ResponseTextConfigVerbosity(r.Verbosity)
	}
	if can.Reasoning {
		p.Reasoning.Effort = shared.ReasoningEffort(r.ReasoningEffort)
		p.Reasoning.Summary = shared.ReasoningSummary(r.ReasoningSummary)
		p.Include = append(p.Include, responses.ResponseIncludableReasoningEncryptedContent)
	}
	var body map[string]any
	data, err := json.Marshal(p)
	if err == nil {
		err = json.Unmarshal(data, &body)
	}
	if err != nil {
		return nil, fmt.Errorf("encoding the parameters: %w", err)
	}
	if elements, ok := extra["include"].([]any); ok {
		list, _ := body["include"].([]any)
		for _, e := range elements {
			if element, isString := e.(string); !isString || !slices.Contains(list, any(element)) {
				list = append(list, e)
			}
		}
		extra["include"] = list
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

// merge merges extra into an object. An object that becomes empty is removed.
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
	{regexp.MustCompile(`^gpt-([5-9]|[12][0-9])([^0-9]|$)`), Capability{Verbosity: true, Reasoning: true}},
	{regexp.MustCompile(`^o[1-9]`), Capability{Reasoning: true}},
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
	"reasoning", "reasoning.effort", "reasoning.summary", "text", "text.verbosity",
}

// modelParam is a parameter that the API refuses for a model: a member of the body (stream), or a
// member or element of one (reasoning.effort, include.ELEMENT).
type modelParam struct{ model, param string }

// leaveOut takes the dispensable parameter that a 400 names out of the body, and out of all others
// for the model while the Client lives. It warns once and reports whether there was one.
func (c *Client) leaveOut(body map[string]any, model string, e *Error) bool {
	param := refusedParam(body, e)
	if param == "" || !drop(body, param) {
		return false
	}
	if _, known := c.unsupported.LoadOrStore(modelParam{model, param}, nil); !known {
		c.o.Logger.Warn("the API refuses a parameter: going on without it",
			"model", model, "param", param, "reason", text.Truncate(e.Message, 200))
	}
	return true
}

// refusedParam returns the dispensable parameter that a 400 names, else "".
func refusedParam(body map[string]any, e *Error) string {
	if e.Status != http.StatusBadRequest || e.Param == "" || e.Kind != KindParameter && e.Kind != KindUnverified {
		return ""
	}
	list, _ := body["include"].([]any)
	for i, v := range list {
		element, _ := v.(string)
		names := []string{element, "include." + element, fmt.Sprintf("include[%d]", i)}
		said := element != "" && strings.Contains(e.Message, element)
		if element == encryptedReasoning && strings.HasPrefix(e.Message, "Encrypted content") {
			said = true
		}
		if slices.Contains(names, e.Param) || (e.Param == "include" && said) {
			return "include." + element
		}
	}
	name := e.Param
	if strings.HasPrefix(name, "include[") { // of an element that is not there
		name = "include"
	}
	if slices.Contains(dispensable, name) {
		return name
	}
	return ""
}

// drop takes a parameter out of the body, and what has no use without it. It reports whether the
// body had the parameter.
func drop(body map[string]any, path string) bool {
	name, member, nested := strings.Cut(path, ".")
	_, ok := body[name]
	list, isList := body[name].([]any)
	object, isObject := body[name].(map[string]any)
	left := 0
	switch {
	case !nested:
	case isList:
		list = slices.DeleteFunc(list, func(v any) bool { return v == member })
		body[name], left = list, len(list)
	case isObject:
		_, ok = object[member]
		delete(object, member)
		left = len(object)
	default: // a value of extra that is no object
		return false
	}
	if left == 0 {
		delete(body, name)
	}
	if name == "stream" {
		delete(body, "stream_options")
	}
	return ok
}
