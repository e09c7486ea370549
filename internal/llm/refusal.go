package llm

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/openai/openai-go/v3/responses"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// remember keeps a refused parameter for the life of the Client, and warns when
// it is new.
func (c *Client) remember(model, path string, e *Error) {
	if _, known := c.refused.LoadOrStore([2]string{model, path}, nil); !known {
		c.o.Logger.Warn("the API refuses a parameter: going on without it",
			"model", model, "param", path, "reason", text.Truncate(e.Message, 200))
	}
}

// optional has the parameters that an answer can do without. tools is not among
// them: an answer without search is not the one that was asked for.
var optional = []string{
	"stream", "stream_options", "store", "parallel_tool_calls", "service_tier", "max_tool_calls", "include",
	"reasoning", "reasoning.effort", "reasoning.summary", "text", "text.verbosity",
}

// refusedBy returns the optional parameter that a 400 names, if the body has it,
// else "". An element of include is written include:ELEMENT.
func (b *editor) refusedBy(e *Error) string {
	if e.Status != http.StatusBadRequest || e.Kind != KindParameter && e.Kind != KindUnverified {
		return ""
	}
	for _, r := range b.get("include").Array() {
		named := e.Param == r.Str || e.Param == "include."+r.Str || e.Param == "include" && strings.Contains(e.Message, r.Str)
		if r.Str != "" && named { // extra_body may have put something else into the list
			return "include:" + r.Str
		}
	}
	name, index, indexed := strings.Cut(e.Param, "[") // include[0]
	if !slices.Contains(optional, name) || !b.get(name).Exists() || indexed && name != "include" {
		return ""
	}
	const encrypted = string(responses.ResponseIncludableReasoningEncryptedContent)
	if i, err := strconv.Atoi(strings.TrimSuffix(index, "]")); err == nil && i >= 0 {
		if element := b.get(name).Get(strconv.Itoa(i)).Str; element != "" {
			return name + ":" + element
		}
	}
	// The API says "Encrypted content is not supported" and names no element.
	if name == "include" && strings.HasPrefix(e.Message, "Encrypted content") && b.indexOf(name, encrypted) >= 0 {
		return name + ":" + encrypted
	}
	return name
}

// refuse takes what refusedBy returned out of the body.
func (b *editor) refuse(path string) {
	path, element, ok := strings.Cut(path, ":")
	if ok {
		path += "." + strconv.Itoa(b.indexOf(path, element)) // -1: not there
	}
	if path == "stream" {
		b.drop("stream_options")
	}
	b.drop(path)
}

// indexOf returns where a list has a string, or -1.
func (b *editor) indexOf(list, element string) int {
	return slices.IndexFunc(b.get(list).Array(), func(r gjson.Result) bool { return r.Str == element })
}
