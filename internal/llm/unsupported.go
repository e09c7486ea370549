package llm

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/responses"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

const encryptedReasoning = string(responses.ResponseIncludableReasoningEncryptedContent)

// modelParam is a parameter that the API refuses for a model: a member of the body (stream), or a
// member or element of one (reasoning.effort, include.ELEMENT).
type modelParam struct{ model, param string }

// remember keeps a refused parameter for the life of the Client, and warns when it is new.
func (c *Client) remember(model, param string, e *Error) {
	if _, known := c.unsupported.LoadOrStore(modelParam{model, param}, nil); !known {
		c.o.Logger.Warn("the API refuses a parameter: going on without it",
			"model", model, "param", param, "reason", text.Truncate(e.Message, 200))
	}
}

// dispensable has the parameters that an answer can do without. tools is not among them: an answer
// without search is not the one that was asked for. Neither is store: without it the API keeps the
// question and the answer.
var dispensable = []string{
	"stream", "stream_options", "parallel_tool_calls", "service_tier", "max_tool_calls", "include",
	"reasoning", "reasoning.effort", "reasoning.summary", "text", "text.verbosity",
}

// refusedParam returns the dispensable parameter that a 400 names, if the body has it, else "".
func refusedParam(body map[string]any, e *Error) string {
	if e.Status != http.StatusBadRequest || e.Param == "" || e.Kind != KindParameter && e.Kind != KindUnverified {
		return ""
	}
	list, _ := body["include"].([]any)
	for i, v := range list {
		element := v.(string)
		said := strings.Contains(e.Message, element) || element == encryptedReasoning && strings.HasPrefix(e.Message, "Encrypted content")
		if e.Param == element || e.Param == "include."+element || e.Param == fmt.Sprintf("include[%d]", i) || e.Param == "include" && said {
			return "include." + element
		}
	}
	if !slices.Contains(dispensable, e.Param) || !has(body, e.Param) {
		return ""
	}
	return e.Param
}

// has reports whether a body has a parameter.
func has(body map[string]any, path string) bool {
	name, member, nested := strings.Cut(path, ".")
	value, ok := body[name]
	if nested {
		object, _ := value.(map[string]any)
		_, ok = object[member]
	}
	return ok
}

// drop takes a parameter that refusedParam returned out of the body, and what has no use without it.
func drop(body map[string]any, path string) {
	name, member, nested := strings.Cut(path, ".")
	list, _ := body[name].([]any)
	list = slices.DeleteFunc(list, func(v any) bool { return v == member })
	switch {
	case nested && len(list) > 0:
		body[name] = list
	case nested && name != "include":
		merge(body, map[string]any{name: map[string]any{member: nil}})
	default:
		delete(body, name)
	}
	if name == "stream" {
		delete(body, "stream_options")
	}
}
