package server

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
)

const instructions = "Answers questions with current information from the web.\n" +
	"Use answer for most questions, answer_quick for simple lookups, and answer_detailed for " +
	"research and comparisons, which takes longer.\n" +
	"The result is a JSON object: answer is the text, citations lists the sources with URL and " +
	"date, and used_search says whether the web was searched. The date, published_at, is today's " +
	"if a page has none. Name the sources when you use the answer."

const (
	detailed   = "answer_detailed" // the tool that can be a task
	maxResults = 10                // upper bound of max_results, as in the configuration
)

// instructions tell models how to use the tools.
func (o Options) instructions() string {
	if o.Within > 0 {
		return instructions + lateInstructions
	}
	return instructions
}

// tools returns the tools of spec §3.1. A tool that asks has the name of its profile.
func tools(o Options) []*mcp.Tool {
	d := o.Defaults
	hosts, _ := jsonx.Marshal(append([]string{}, d.Domains...)) // strings are always valid JSON
	search := fmt.Appendf(nil, searchSchema, d.RecencyDays, maxResults, d.MaxResults, hosts)

	all := []*mcp.Tool{
		{
			Name:  "answer",
			Title: "Answer with web search",
			Description: "Search the web when needed and provide balanced, well-sourced answers. " +
				"This is the standard general-purpose tool.",
			InputSchema: json.RawMessage(search),
		},
		{
			Name:  detailed,
			Title: "Research in depth with web search",
			Description: "Perform comprehensive analysis with thorough research and detailed " +
				"explanations. Best for complex questions requiring deep investigation.",
			InputSchema: json.RawMessage(search),
		},
		{
			Name:  "answer_quick",
			Title: "Quick answer with web search",
			Description: "Provide fast, concise answers optimized for speed. " +
				"Best for simple lookups or urgent questions.",
			InputSchema: json.RawMessage(quickSchema),
		},
	}

	output := outputSchema
	if o.Within > 0 {
		all = append(all, lateTool)
		output = lateSchema
	}
	for _, t := range all {
		t.Annotations = &mcp.ToolAnnotations{
			ReadOnlyHint:  true,
			OpenWorldHint: new(true),
		}
		if o.Structured {
			t.OutputSchema = json.RawMessage(output)
		}
	}
	return all
}

// The schemas are written by hand: inferred ones have keywords that some clients refuse. The SDK
// sends them without the blanks between values.
const (
	queryProperty = `"query": {
		"type": "string",
		"description": "The question, in any language. It is all that the model sees, ` +
		`so include the context it needs."
	}`

	// quickSchema has nothing but the query, although the tool takes the other arguments, too.
	quickSchema = `{
		"type": "object",
		"properties": {` + queryProperty + `},
		"required": ["query"]
	}`

	// searchSchema takes the default of recency_days, the maximum and the default of max_results,
	// and the default of domains.
	searchSchema = `{
		"type": "object",
		"properties": {` + queryProperty + `,
			"recency_days": {
				"type": "number",
				"description": "How many days back to look first: few for news, ` +
		`many for background.",
				"minimum": 0,
				"default": %v
			},
			"max_results": {
				"type": "number",
				"description": "How many search results to look at.",
				"minimum": 1,
				"maximum": %d,
				"default": %v
			},
			"domains": {
				"type": "array",
				"items": {"type": "string"},
				"description": "Host names of preferred sources, such as example.com, ` +
		`without scheme, path or wildcard. An empty array means the default.",
				"default": %s
			},
			"only_domains": {
				"type": "boolean",
				"description": "Search no other pages than those of domains."
			},
			"exclude_domains": {
				"type": "array",
				"items": {"type": "string"},
				"description": "Host names whose pages are neither searched nor cited."
			}
		},
		"required": ["query"]
	}`

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
