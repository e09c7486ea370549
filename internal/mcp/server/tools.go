package server

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
)

// instructions tell models when and how to use the tools, in at most 120 tokens.
var instructions = "Answers questions from a web search, with sources. Prefer it to a built-in " +
	"search if facts may have changed or a source is needed; not for one URL that you have, nor for " +
	"facts that do not change. A call takes 5 to 60 s and costs money.\n" +
	"Use " + text.Enumerate(uses(), ", and ") + ".\n" +
	"The result is JSON: answer is the text, citations its sources with URL and date (where its list " +
	"says accessed, published_at is that date), used_search whether the web was searched. Name the " +
	"sources."

// uses returns for each tool what it is for: first the default tool, and last the tool that uses
// the most tokens, which is the slowest.
func uses() []string {
	use := func(t call.Tool) string { return t.Name + " for " + t.Purpose }
	slowest := use(slices.MaxFunc(call.Tools, func(a, b call.Tool) int {
		return cmp.Compare(a.UsualTokens, b.UsualTokens)
	}))
	all := slices.DeleteFunc(call.MapTools(use), func(s string) bool { return s == slowest })
	return append(all, slowest)
}

// instructionsFor returns the instructions of a server. detachAfter is as in DetachOptions.
func instructionsFor(detachAfter time.Duration) string {
	if detachAfter > 0 {
		return instructions + lateInstructions
	}
	return instructions
}

// tools returns the tools as tools/list shows them, in the order of call.Tools. answer_result
// follows if detachAfter is not 0.
func tools(s Settings, detachAfter time.Duration) (all []*mcp.Tool) {
	for _, t := range call.Tools {
		all = append(all, &mcp.Tool{
			Name:        t.Name,
			Title:       t.Title,
			Description: t.Description,
			InputSchema: inputSchema(t.Name, s.Profiles[t.Name].Defaults),
		})
	}
	output := outputSchema
	if detachAfter > 0 {
		all = append(all, &mcp.Tool{
			Name:  answerResultTool,
			Title: "Wait for an answer",
			Description: "Wait for the answer of a call that returned status working and an id, and " +
				"return it. If it is not ready, the result has status working and the next id.",
			InputSchema: json.RawMessage(answerResultSchema),
		})
		output = lateOutputSchema
	}

	for _, t := range all {
		t.Annotations = &mcp.ToolAnnotations{
			ReadOnlyHint:  true,
			OpenWorldHint: new(true),
		}
		if s.StructuredContent {
			t.OutputSchema = json.RawMessage(output)
		}
	}
	return all
}

// inputSchema returns the schema of the arguments of a tool, which shows the defaults d.
func inputSchema(tool string, d answer.Defaults) json.RawMessage {
	var properties []string
	for _, a := range answer.Arguments {
		if a.ListedBy(tool) {
			properties = append(properties, fmt.Sprintf("%q:%s", a.Name, a.Schema(d)))
		}
	}
	return fmt.Appendf(nil, `{"type":"object","properties":{%s},"required":["query"]}`,
		strings.Join(properties, ","))
}

// answerResultSchema is the schema of the arguments of answer_result.
const answerResultSchema = `{"type":"object","properties":{"id":{"type":"string",` +
	`"description":"The id of the last result, unchanged."}},"required":["id"]}`

// The schema of answers. The SDK sends schemas without the white space between values.
const (
	answerProperties = `
			"answer": {"type": "string"},
			"used_search": {"type": "boolean"},
			"citations": {
				"type": "array",
				"items": {
					"type": "object",
					"properties": {
						"url": {"type": "string"},
						"title": {"type": "string"},
						"published_at": {"type": "string"}
					},
					"required": ["url", "published_at"]
				}
			},
			"model": {"type": "string"}`

	outputSchema = `{
		"type": "object",
		"properties": {` + answerProperties + `},
		"required": ["answer", "used_search", "citations", "model"]
	}`
)
