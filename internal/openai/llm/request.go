package llm

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/responses"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/jsonx"
)

// params are the parameters of a request: its body is their JSON. No other params share the lists
// and objects that remove changes.
type params map[string]any

// newParams returns the parameters of a person's request, without those that the API is known to
// refuse.
func (cl *Client) newParams(person call.Person, r call.Request) params {
	p := params(nonZero(map[string]any{
		"background":          r.Background,
		"input":               r.Input,
		"instructions":        r.Instructions,
		"max_output_tokens":   r.MaxOutputTokens,
		"max_tool_calls":      r.MaxToolCalls,
		"model":               r.Model,
		"parallel_tool_calls": true,
		identifierParam:       identifier(person),
		"service_tier":        r.ServiceTier,
		"stream":              !r.Plain,
		"tool_choice":         cmp.Or(r.ToolChoice, "auto"),
	}))
	p["store"] = cl.o.Store // also if it is false
	if len(r.Tools) > 0 {
		p["tools"] = r.Tools
	}

	include := slices.Clone(r.Include)
	can := call.CapabilityOf(r.Model)
	if can.Verbosity && r.Verbosity != "" {
		p["text"] = map[string]any{"verbosity": r.Verbosity}
	}
	if can.Reasoning {
		include = append(include, encryptedReasoning)
		reasoning := nonZero(map[string]any{
			"effort":  r.ReasoningEffort,
			"summary": r.ReasoningSummary,
		})
		if len(reasoning) > 0 {
			p["reasoning"] = reasoning
		}
	}
	if len(include) > 0 {
		p["include"] = include
	}

	p.add(r.Extra)
	cl.memory.removeFrom(p, r.Model, person.ID)
	return p
}

// nonZero removes the members that are not set.
func nonZero(members map[string]any) map[string]any {
	maps.DeleteFunc(members, func(_ string, v any) bool {
		return v == "" || v == 0 || v == false
	})
	return members
}

// add merges Request.Extra into the parameters.
func (p params) add(extra map[string]any) {
	own := maps.Clone(extra)
	for _, name := range call.FixedMembers {
		delete(own, name)
	}

	list, ok := own["include"].([]any)
	if ok {
		elements := p.include()
		for _, value := range list {
			element := fmt.Sprint(value)
			if !slices.Contains(elements, element) {
				elements = append(elements, element)
			}
		}
		own["include"] = elements
	}
	merge(p, own)
}

// merge adds members to an object. Objects are merged member by member. null removes a member, and
// an object that is empty without it.
func merge(object, members map[string]any) {
	for name, value := range members {
		further, ok := value.(map[string]any)
		if ok {
			old, _ := object[name].(map[string]any)
			merged := map[string]any{}
			maps.Copy(merged, old)
			merge(merged, further)

			value = merged
			emptied := len(old) > 0 && len(merged) == 0
			if emptied {
				value = nil
			}
		}

		object[name] = value
		if value == nil {
			delete(object, name)
		}
	}
}

// include returns the elements of include.
func (p params) include() []string {
	elements, _ := p["include"].([]string)
	return elements
}

// value returns the value of a parameter, or nil.
func (p params) value(name string) any {
	parent, member, nested := strings.Cut(name, ".")
	if !nested {
		return p[name]
	}

	switch members := p[parent].(type) {
	case []string: // include
		if slices.Contains(members, member) {
			return member
		}
	case map[string]any:
		return members[member]
	}
	return nil
}

// has reports whether a parameter is there that the API refuses, with the refused value.
func (p params) has(known refusedParam) bool {
	v := p.value(known.name)
	return v != nil && (known.value == anyValue || fmt.Sprint(v) == known.value)
}

// remove removes a parameter that is there, and a list or object that is empty without it.
func (p params) remove(name string) {
	parent, member, nested := strings.Cut(name, ".")
	left := 0
	switch members := p[parent].(type) {
	case []string: // include
		members = slices.DeleteFunc(members, func(element string) bool { return element == member })
		p[parent] = members
		left = len(members)

	case map[string]any:
		delete(members, member)
		left = len(members)
	}
	if !nested || left == 0 {
		delete(p, parent)
	}
}

// identifierParam is the parameter that marks the person of a request.
const identifierParam = "safety_identifier"

const encryptedReasoning = string(responses.ResponseIncludableReasoningEncryptedContent)

// dispensable has the parameters that an answer can do without: not tools, because an answer needs
// the search, not store, without which the API keeps the question and the answer, and not
// max_tool_calls, which bounds what a question costs.
var dispensable = []string{
	"stream", "stream_options", "parallel_tool_calls", "service_tier", "include", "background",
	"reasoning", "reasoning.effort", "reasoning.summary", "text", "text.verbosity",
}

// refused returns the parameter that a 400 names and that the answer can do without, else "". Some
// servers name background in the message only, or store in its place. Without safety_identifier a
// request is sent only to a server that does not know the parameter.
func (p params) refused(e *call.Error) string {
	if e.Status != http.StatusBadRequest {
		return ""
	}
	element := p.refusedElement(e)
	if element != "" {
		return "include." + element
	}

	name, _, _ := strings.Cut(e.Param, "[") // include[9], which is not there
	ofIdentifier := name == identifierParam || mentions(e, identifierParam) && !p.questionHas(identifierParam)
	switch {
	case p["background"] == true && (name == "store" || mentions(e, "background")):
		return "background"
	case ofIdentifier && isUnknownParameter(e):
		return identifierParam
	case slices.Contains(dispensable, name):
		return name
	}
	return ""
}

// questionHas reports whether the question has a word, which a message may quote.
func (p params) questionHas(word string) bool {
	input, _ := jsonx.Marshal(p["input"])
	return bytes.Contains(bytes.ToLower(input), []byte(word))
}

// refusedElement returns the element of include that a 400 names, else "". The API names the
// element, its index, or include with the element in the message only.
func (p params) refusedElement(e *call.Error) string {
	for i, element := range p.include() {
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

// identifier returns the safety_identifier of a person, by which the API can block one person in
// place of all (https://platform.openai.com/docs/guides/safety-checks); "" without an ID.
func identifier(p call.Person) string {
	if p.ID == "" {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(p.ID)))
}
