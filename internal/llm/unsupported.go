package llm

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/openai/openai-go/v3/responses"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// modelParam is a parameter that the API refuses for a model: its path in the
// body, or include:ELEMENT.
type modelParam struct{ model, param string }

// remember keeps a refused parameter for the life of the Client, and warns when
// it is new.
func (c *Client) remember(model, param string, e *Error) {
	if _, known := c.unsupported.LoadOrStore(modelParam{model, param}, nil); !known {
		c.o.Logger.Warn("the API refuses a parameter: going on without it",
			"model", model, "param", param, "reason", text.Truncate(e.Message, 200))
	}
}

// optional has the parameters that an answer can do without. tools is not among
// them: an answer without search is not the one that was asked for. Neither is
// store: without it the API keeps the question and the answer.
var optional = []string{
	"stream", "stream_options", "parallel_tool_calls", "service_tier", "max_tool_calls", "include",
	"reasoning", "reasoning.effort", "reasoning.summary", "text", "text.verbosity",
}

// refusedParam returns the optional parameter that a 400 names, if the body has
// it, else "". An element of include is written include:ELEMENT.
func refusedParam(body map[string]any, e *Error) string {
	if e.Status != http.StatusBadRequest || e.Kind != KindParameter && e.Kind != KindUnverified {
		return ""
	}
	included, _ := body["include"].([]any)
	for _, v := range included {
		element, _ := v.(string)
		named := e.Param == element || e.Param == "include."+element || e.Param == "include" && strings.Contains(e.Message, element)
		if element != "" && named { // extra_body may have put something else into the list
			return "include:" + element
		}
	}
	name, index, indexed := strings.Cut(e.Param, "[") // include[0]
	if !slices.Contains(optional, name) || !has(body, name) || indexed && name != "include" {
		return ""
	}
	i, err := strconv.Atoi(strings.TrimSuffix(index, "]"))
	if err == nil && i >= 0 && i < len(included) {
		if element, _ := included[i].(string); element != "" {
			return "include:" + element
		}
	}
	// The API says "Encrypted content is not supported" and names no element.
	const encrypted = string(responses.ResponseIncludableReasoningEncryptedContent)
	if name == "include" && strings.HasPrefix(e.Message, "Encrypted content") && slices.Contains(included, any(encrypted)) {
		return "include:" + encrypted
	}
	return name
}

// has reports whether a body has a parameter. Its path has at most two names.
func has(body map[string]any, path string) bool {
	name, member, nested := strings.Cut(path, ".")
	value, ok := body[name]
	if nested {
		object, _ := value.(map[string]any)
		_, ok = object[member]
	}
	return ok
}

// drop takes a parameter that refusedParam returned out of the body.
func drop(body map[string]any, path string) {
	if _, element, ok := strings.Cut(path, "include:"); ok {
		list, _ := body["include"].([]any)
		body["include"] = slices.DeleteFunc(list, func(v any) bool { return v == element })
		if len(list) == 0 || len(body["include"].([]any)) == 0 {
			delete(body, "include")
		}
		return
	}
	name, member, nested := strings.Cut(path, ".")
	switch {
	case nested:
		merge(body, map[string]any{name: map[string]any{member: nil}})
	case name == "stream":
		delete(body, "stream_options")
		fallthrough
	default:
		delete(body, name)
	}
}
