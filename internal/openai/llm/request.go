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
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// params are the parameters of a request. The JSON of params is the body of the request. The list
// include and the objects are of one params alone, because remove changes them in place. All other
// values may be shared, and never change.
type params map[string]any

// newParams returns the parameters of a person's request, without those that the API is known to
// refuse.
func (cl *Client) newParams(person call.Person, request call.Request) params {
	p := params(nonZero(map[string]any{
		"background":          request.Background,
		"input":               request.Input,
		"instructions":        request.Instructions,
		"max_output_tokens":   request.MaxOutputTokens,
		"max_tool_calls":      request.MaxToolCalls,
		"model":               request.Model,
		"parallel_tool_calls": true,
		safetyIdentifierParam: safetyIdentifier(person),
		"service_tier":        request.ServiceTier,
		"stream":              !request.NoStream,
		"tool_choice":         cmp.Or(request.ToolChoice, "auto"),
	}))
	p["store"] = cl.options.Store // also if it is false
	if len(request.Tools) > 0 {
		p["tools"] = request.Tools
	}

	include := slices.Clone(request.Include)
	can := call.CapabilityOf(request.Model)
	if can.Verbosity && request.Verbosity != "" {
		p["text"] = map[string]any{"verbosity": request.Verbosity}
	}
	if can.Reasoning {
		include = append(include, encryptedReasoning)
		reasoning := nonZero(map[string]any{
			"effort":  request.ReasoningEffort,
			"summary": request.ReasoningSummary,
		})
		if len(reasoning) > 0 {
			p["reasoning"] = reasoning
		}
	}
	if len(include) > 0 {
		p["include"] = include
	}

	p.mergeExtraBody(request.ExtraBody)
	cl.memory.stripRefused(p, person.ID)
	return p
}

// nonZero deletes the texts, numbers and booleans that are not set, and returns the other members in
// the same map.
func nonZero(members map[string]any) map[string]any {
	maps.DeleteFunc(members, func(_ string, v any) bool {
		return v == "" || v == 0 || v == false
	})
	return members
}

// mergeExtraBody merges call.Request.ExtraBody into the parameters, except call.FixedMembers.
func (p params) mergeExtraBody(extra map[string]any) {
	allowed := maps.Clone(extra)
	for _, name := range call.FixedMembers {
		delete(allowed, name)
	}

	list, ok := allowed["include"].([]any)
	if ok {
		elements := p.include()
		for _, value := range list {
			element := fmt.Sprint(value)
			if !slices.Contains(elements, element) {
				elements = append(elements, element)
			}
		}
		allowed["include"] = elements
	}
	merge(p, allowed)
}

// merge adds members to an object. Objects are merged member by member. null removes a member, and
// with it an object that then has no members.
func merge(object, members map[string]any) {
	for name, value := range members {
		changes, ok := value.(map[string]any)
		if ok {
			old, _ := object[name].(map[string]any)
			merged := map[string]any{}
			maps.Copy(merged, old)
			merge(merged, changes)

			value = merged
			emptied := len(changes) > 0 && len(merged) == 0
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

// include returns the elements of the parameter include.
func (p params) include() []string {
	elements, _ := p["include"].([]string)
	return elements
}

// value returns the value of a parameter, or nil. name may be that of a member of an object
// (reasoning.effort) or of an element of include (include.ELEMENT).
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

// has reports whether the request has the model, the parameter and the value of a refusal.
func (p params) has(refused refusedParam) bool {
	v := p.value(refused.name)
	hasValue := v != nil && (refused.value == anyValue || fmt.Sprint(v) == refused.value)
	return hasValue && p["model"] == refused.model
}

// remove removes a parameter that p contains, and with it a list or object that becomes empty. name
// is as in the method value.
func (p params) remove(name string) {
	parent, member, nested := strings.Cut(name, ".")
	remaining := 0
	switch members := p[parent].(type) {
	case []string: // include
		members = slices.DeleteFunc(members, func(element string) bool { return element == member })
		p[parent] = members
		remaining = len(members)

	case map[string]any:
		delete(members, member)
		remaining = len(members)
	}
	if !nested || remaining == 0 {
		delete(p, parent)
	}
}

// safetyIdentifierParam is the parameter that tells the API whose request it is (see
// safetyIdentifier).
const safetyIdentifierParam = "safety_identifier"

const encryptedReasoning = string(responses.ResponseIncludableReasoningEncryptedContent)

// dispensable lists the parameters that an answer can do without. These must stay:
//
//   - tools: an answer needs the search
//   - store: without it the API keeps the question and the answer
//   - max_tool_calls: it bounds what a question costs
var dispensable = []string{
	"stream", "stream_options", "parallel_tool_calls", "service_tier", "include", "background",
	"reasoning", "reasoning.effort", "reasoning.summary", "text", "text.verbosity",
}

// otherNames are the names of parameters in errors of servers that have names of their own.
var otherNames = map[string]string{
	"reasoningEffort": "reasoning.effort", // xAI (https://github.com/JetBrains/junie/issues/39)
}

// namedInWords are the parameters that some servers name only in the words of a message.
var namedInWords = []struct{ name, words string }{
	{"background", "background"},
	// "MCP tool server is not supported in background mode and streaming mode" of SGLang
	// (https://github.com/sgl-project/sglang, entrypoints/openai/serving_responses.py).
	{"stream", "streaming mode"},
}

// refusedName returns the name of the parameter that a 400 refuses, if the answer can do without
// the parameter, else "". Some servers that refuse background name store. safety_identifier may be
// left out only if the server does not know the parameter.
func (p params) refusedName(e *call.APIError) string {
	if e.Status != http.StatusBadRequest {
		return ""
	}
	element := p.refusedElement(e)
	if element != "" {
		return "include." + element
	}

	name, _, _ := strings.Cut(e.Param, "[") // "include" of "include[9]", without an element 9
	name = cmp.Or(otherNames[name], name)
	for _, param := range namedInWords {
		if p[param.name] == true && onlyMentions(e, param.words) {
			return param.name
		}
	}
	namesIdentifier := name == safetyIdentifierParam ||
		onlyMentions(e, safetyIdentifierParam) && !p.questionContains(safetyIdentifierParam)
	switch {
	case p["background"] == true && name == "store":
		return "background"
	case namesIdentifier && isUnknownParameter(e):
		return safetyIdentifierParam
	}

	// Servers in Go name a member alone: Ark refuses summary for reasoning.summary
	// (https://github.com/rikkahub/rikkahub/issues/713).
	for _, whole := range dispensable {
		if whole == name || strings.HasSuffix(whole, "."+name) {
			return whole
		}
	}
	return ""
}

// questionContains reports whether the question contains a word, which is in lower case. A server
// may quote the question in its message.
func (p params) questionContains(word string) bool {
	input, _ := jsonx.Marshal(p["input"])
	return bytes.Contains(bytes.ToLower(input), []byte(word))
}

// refusedElement returns the element of include that a 400 refuses, or "". e.Param has the element
// or its index. If e.Param is only include, the message names the element.
func (p params) refusedElement(e *call.APIError) string {
	for i, element := range p.include() {
		switch e.Param {
		case element, "include." + element, fmt.Sprintf("include[%d]", i):
			return element
		case "include":
			named := strings.Contains(e.Message, element)
			encrypted := strings.HasPrefix(e.Message, "Encrypted content")
			implied := encrypted && element == encryptedReasoning
			if named || implied {
				return element
			}
		}
	}
	return ""
}

// unknownWords matches how servers say that they do not know a parameter.
var unknownWords = text.LazyRegexp(`(?i)unknown|unrecogni[sz]ed|unsupported|` +
	`(not|n't) (be )?(support|recogni[sz]|know)|extra (inputs|fields)|additional propert|` +
	`unexpected (keyword|argument|parameter|field|propert)`)

// isUnknownParameter reports whether the server does not know the parameter that the error is
// about.
func isUnknownParameter(e *call.APIError) bool {
	return e.Code != "unsupported_value" && unknownWords().MatchString(e.Code+" "+e.Message)
}

// onlyMentions reports whether an error of KindBadRequest has no Param, and has a name in its
// message.
func onlyMentions(e *call.APIError, name string) bool {
	namesNone := e.Kind == call.KindBadRequest && e.Param == ""
	return namesNone && strings.Contains(strings.ToLower(e.Message), name)
}

// safetyIdentifier returns the safety_identifier of a person, by which the API can block one person
// in place of all (https://platform.openai.com/docs/guides/safety-checks); "" without an ID.
func safetyIdentifier(p call.Person) string {
	if p.ID == "" {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(p.ID)))
}
