package server

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
)

const instructions = "Answers questions with current information from the web.\n" +
	"Use answer for most questions, answer_quick for simple lookups, and answer_detailed for " +
	"research and comparisons, which takes longer.\n" +
	"The result is a JSON object: answer is the text, citations lists the sources with URL and " +
	"date, and used_search says whether the web was searched. The date, published_at, is today's " +
	"if a page has none. Name the sources when you use the answer."

// instructions tell models how to use the tools.
func (o Options) instructions() string {
	if o.Detach.Within > 0 {
		return instructions + lateInstructions
	}
	return instructions
}

const detailed = "answer_detailed" // the tool that can be a task

// Tool is a tool. One that answers questions has the name of its profile.
type Tool struct {
	Name        string
	Title       string
	Description string // for models
	Flag        string // of the command ask, which then uses the tool in place of answer
}

// Argument is an argument of tools. It has the name of its field in the JSON of answer.Question.
type Argument struct {
	Name   string
	Tools  []string        // that list it; all tools take those of a question
	Usage  string          // of the flag of ask, with the name of its value in backquotes
	Schema json.RawMessage // for models. Some clients refuse schemas with other keywords
}

//go:embed tools.json
var table []byte

// Table has the tools of spec §3.1, that for late answers, and their arguments.
var Table = func() (t struct {
	Tools     []Tool
	Late      Tool
	Arguments []Argument
}) {
	_ = json.Unmarshal(table, &t) // the tests read it
	return t
}()

// tools returns the tools as tools/list shows them.
func tools(o Options) (all []*mcp.Tool) {
	shown := Table.Tools
	output := outputSchema
	if o.Detach.Within > 0 {
		shown = append(slices.Clone(shown), Table.Late)
		output = lateSchema
	}

	for _, t := range shown {
		tool := &mcp.Tool{
			Name:        t.Name,
			Title:       t.Title,
			Description: t.Description,
			InputSchema: t.schema(o.Settings.Defaults),
			Annotations: &mcp.ToolAnnotations{
				ReadOnlyHint:  true,
				OpenWorldHint: new(true),
			},
		}
		if o.Settings.Structured {
			tool.OutputSchema = json.RawMessage(output)
		}
		all = append(all, tool)
	}
	return all
}

// schema returns the schema of the arguments of a tool, of which the first is required.
func (t Tool) schema(d answer.Defaults) json.RawMessage {
	defaults, _ := jsonx.Marshal(d) // numbers of the configuration are finite
	var properties []string
	required := ""
	for _, a := range Table.Arguments {
		if !slices.Contains(a.Tools, t.Name) {
			continue
		}
		value := gjson.GetBytes(defaults, a.Name)
		if value.Exists() {
			a.Schema, _ = sjson.SetRawBytes(a.Schema, "default", []byte(value.Raw)) // the path is valid
		}
		properties = append(properties, fmt.Sprintf("%q:%s", a.Name, a.Schema))
		required = cmp.Or(required, a.Name)
	}
	return fmt.Appendf(nil, `{"type":"object","properties":{%s},"required":[%q]}`,
		strings.Join(properties, ","), required)
}

// The schemas of results. The SDK sends them without the blanks between values.
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
