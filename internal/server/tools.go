package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

const instructions = `Answers questions with current information from the web.
Use answer for most questions, answer_quick for simple lookups, and answer_detailed for research and comparisons, which takes longer.
The result is a JSON object: answer is the text, citations lists the sources with URL and date, and used_search says whether the web was searched. Name the sources when you use the answer.`

const (
	detailed   = "answer_detailed" // the tool that can be a task
	quick      = "answer_quick"    // the tool that takes nothing but a query
	maxResults = 10                // upper bound of max_results, as in the configuration
)

// tools returns the tools of spec §3.1. A tool has the name of its profile.
func tools(d answer.Defaults, structured bool) []*mcp.Tool {
	tool := func(name, title, schema, description string) *mcp.Tool {
		t := &mcp.Tool{
			Name: name, Title: title, Description: description, InputSchema: json.RawMessage(schema),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(true)},
		}
		if structured {
			t.OutputSchema = json.RawMessage(outputSchema)
		}
		return t
	}
	domains, _ := jsonx.Marshal(append([]string{}, d.Domains...)) // strings are always valid JSON
	search := fmt.Sprintf(searchSchema, d.RecencyDays, maxResults, d.MaxResults, domains)
	return []*mcp.Tool{
		tool("answer", "Answer with web search", search,
			"Search the web when needed and provide balanced, well-sourced answers. This is the standard general-purpose tool."),
		tool(detailed, "Research in depth with web search", search,
			"Perform comprehensive analysis with thorough research and detailed explanations. Best for complex questions requiring deep investigation."),
		tool(quick, "Quick answer with web search", `{"type":"object","properties":{`+queryProperty+`},"required":["query"]}`,
			"Provide fast, concise answers optimized for speed. Best for simple lookups or urgent questions."),
	}
}

// The schemas are written by hand: inferred ones have keywords that some clients refuse.
const (
	queryProperty = `"query":{"type":"string","description":"The question, in any language. It is all that the model sees, so include the context it needs."}`
	searchSchema  = `{"type":"object","properties":{` + queryProperty + `,` +
		`"recency_days":{"type":"number","description":"How many days back to look first: few for news, many for background.","minimum":0,"default":%v},` +
		`"max_results":{"type":"number","description":"How many search results to look at.","minimum":1,"maximum":%d,"default":%v},` +
		`"domains":{"type":"array","items":{"type":"string"},"description":"Host names of preferred sources, such as example.com, without scheme, path or wildcard. An empty array means the default.","default":%s}` +
		`},"required":["query"]}`
	outputSchema = `{"type":"object","properties":{"answer":{"type":"string"},"used_search":{"type":"boolean"},"citations":{"type":"array","items":{"type":"object","properties":{"url":{"type":"string"},"title":{"type":"string"},"published_at":{"type":"string"}},"required":["url","published_at"]}},"model":{"type":"string"}},"required":["answer","used_search","citations","model"]}`
)

// question returns the question of a call. The error is one line that names the argument, what is
// allowed and what was sent. Unknown arguments are ignored, and null is as if absent, because models
// write it for what they leave out.
func question(tool string, args gjson.Result) (q answer.Question, err error) {
	if args.Type != gjson.Null && !args.IsObject() {
		return q, fmt.Errorf("arguments must be an object, got %s", quote(args))
	}
	query := args.Get("query")
	switch {
	case query.Type == gjson.Null:
		return q, errors.New("query is required")
	case query.Type != gjson.String:
		return q, fmt.Errorf("query must be a string, got %s", quote(query))
	case strings.TrimSpace(query.Str) == "":
		return q, errors.New("query must not be empty")
	}
	// tools/list of version 0.5 had a style; clients that send it are served.
	q.Query, q.Style = query.Str, args.Get("style").Str
	if tool == quick {
		return q, nil
	}
	var recency, results, hosts error
	q.RecencyDays, recency = number(args, "recency_days", 0, math.MaxFloat64)
	q.MaxResults, results = number(args, "max_results", 1, maxResults)
	q.Domains, hosts = domains(args.Get("domains"))
	return q, cmp.Or(recency, results, hosts)
}

// number returns a number, which models also send as a string; nil if it is not there. A larger one
// than most becomes most: earlier versions had no upper bound.
func number(args gjson.Result, name string, least, most float64) (*float64, error) {
	v := args.Get(name)
	if v.Type == gjson.Null {
		return nil, nil
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(v.String()), 64)
	if err != nil || !(n >= least && n <= math.MaxFloat64) { // NaN is neither
		return nil, fmt.Errorf("%s must be a number of at least %v, got %s", name, least, quote(v))
	}
	return new(min(n, most)), nil
}

// domains returns host names. Models also send one name without an array.
func domains(v gjson.Result) ([]string, error) {
	if v.Type == gjson.Null {
		return nil, nil
	}
	names := []string{}
	for _, name := range v.Array() { // of itself, if it is no array
		if !text.IsHostName(name.Str) {
			return nil, fmt.Errorf(`domains must be host names with a dot, such as ["example.com"], got %s`, quote(name))
		}
		names = append(names, name.Str)
	}
	return names, nil
}

// quote returns the start of a JSON value in one line.
func quote(v gjson.Result) string { return text.Truncate(text.OneLine(v.Raw), 100) }
