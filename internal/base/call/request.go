package call

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"
)

// ModelSettings is a model and its parameters (spec §3.0). Empty and zero fields are not sent.
// Neither are parameters that the model does not take (CapabilityOf).
type ModelSettings struct {
	Model            string
	ReasoningEffort  string
	Verbosity        string
	ReasoningSummary string
	MaxOutputTokens  int
	MaxToolCalls     int
	ServiceTier      string
	Background       bool // runs at the API without a connection
}

// Request is one question to a model. Empty fields are not sent. llm.Client adds store,
// parallel_tool_calls, stream, safety_identifier and, for reasoning models, encrypted reasoning.
type Request struct {
	ModelSettings
	Instructions string
	Input        []json.RawMessage // items: UserMessage, AssistantMessage and Response.InputItems
	Tools        []map[string]any  // as the API takes them; the SDK's types lack members
	ToolChoice   string            // "": auto
	Include      []string

	// ExtraBody is merged into the body: objects key by key, include as a union, null removes a
	// member. It cannot replace FixedMembers.
	ExtraBody map[string]any

	NoStream bool // asks for a plain response instead of a stream
}

// UserMessage returns an input item with a message of the user.
func UserMessage(query string) json.RawMessage {
	data, _ := json.Marshal(map[string]any{ // strings cannot fail
		"type": "message",
		"role": "user",
		"content": []map[string]string{{
			"type": "input_text",
			"text": query,
		}},
	})
	return data
}

// AssistantMessage returns an input item with a message of the model. Its content is a string, as
// in the SDK's EasyInputMessageParam, because some servers require the id of the message for an
// output_text.
func AssistantMessage(answer string) json.RawMessage {
	data, _ := json.Marshal(map[string]any{ // strings cannot fail
		"type":    "message",
		"role":    "assistant",
		"content": answer,
	})
	return data
}

// FixedMembers are the parameters that Request.ExtraBody cannot replace.
var FixedMembers = []string{"model", "instructions", "input", "tools", "stream", "background"}

// Capability says which optional parameters a model takes (spec §5.6).
type Capability struct {
	Verbosity bool // text.verbosity
	Reasoning bool // reasoning.effort, reasoning.summary, encrypted reasoning
}

// The models that take a parameter. The name may have a prefix, as openai.gpt-5.6 at Bedrock and
// databricks-gpt-5. Versions of two digits begin with 1 or 2, because gpt-35 is Azure's name for
// gpt-3.5. The names of the security and science models may have no version
// (https://developers.openai.com/api/docs/models/gpt-daybreak-blue-latest).
var (
	takesVerbosity = regexp.MustCompile(`^([a-z.-]+[.-])?gpt-([5-9]|[12][0-9]|daybreak|rosalind)([^0-9]|$)`)
	takesReasoning = regexp.MustCompile(takesVerbosity.String() + `|^o[1-9]`)
)

// CapabilityOf returns which optional parameters a model takes, by its id. Variants and snapshot
// dates (-mini, -2026-01-31), a vendor prefix (openai/gpt-5.2), a routing suffix (:online) and what
// surrounds the model in a fine-tuned id (ft:gpt-5-mini:org::id) change nothing.
func CapabilityOf(model string) Capability {
	id := strings.TrimPrefix(path.Base(strings.ToLower(model)), "ft:")
	return Capability{
		Verbosity: takesVerbosity.MatchString(id),
		Reasoning: takesReasoning.MatchString(id),
	}
}
