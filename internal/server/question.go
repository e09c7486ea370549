package server

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// question returns the question of a call, whose default domains are those of d. The error is one
// line that names the argument, what is allowed and what was sent. Unknown arguments are ignored, and
// null is as if absent, because models write it for what they leave out.
func question(args gjson.Result, d answer.Defaults) (answer.Question, error) {
	var q answer.Question
	if args.Type != gjson.Null && !args.IsObject() {
		return q, llm.KindArguments.Errorf("arguments must be an object, got %s", quote(args))
	}

	query := args.Get("query")
	switch {
	case query.Type == gjson.Null:
		return q, llm.KindArguments.Errorf("query is required")
	case query.Type != gjson.String:
		return q, llm.KindArguments.Errorf("query must be a string, got %s", quote(query))
	case strings.TrimSpace(query.Str) == "":
		return q, llm.KindArguments.Errorf("query must not be empty")
	}
	q.Query = query.Str

	// tools/list of version 0.5 had a style; clients that send it are served.
	q.Style = args.Get("style").Str

	var recency, results, hosts, exclude, filter error
	q.RecencyDays, recency = number(args, "recency_days", 0, math.MaxFloat64)
	q.MaxResults, results = number(args, "max_results", 1, maxResults)
	q.Domains, hosts = hostNames(args, "domains")
	q.ExcludeDomains, exclude = hostNames(args, "exclude_domains")

	only := args.Get("only_domains") // models also send true as a string
	switch strings.ToLower(only.String()) {
	case "true":
		q.OnlyDomains = true
	case "false", "": // null is ""
	default:
		filter = llm.KindArguments.Errorf("only_domains must be true or false, got %s", quote(only))
	}
	if q.OnlyDomains && len(q.Domains)+len(d.Domains) == 0 {
		filter = llm.KindArguments.Errorf("only_domains needs domains, which has no default here")
	}
	return q, cmp.Or(recency, results, hosts, exclude, filter)
}

// number returns a number, which models also send as a string; nil if it is not there. A larger one
// than most becomes most: earlier versions had no upper bound.
func number(args gjson.Result, name string, least, most float64) (*float64, error) {
	v := args.Get(name)
	if v.Type == gjson.Null {
		return nil, nil
	}

	n, err := strconv.ParseFloat(strings.TrimSpace(v.String()), 64)
	inRange := n >= least && n <= math.MaxFloat64 // false for NaN
	if err != nil || !inRange {
		return nil, llm.KindArguments.Errorf("%s must be a number of at least %v, got %s", name, least, quote(v))
	}
	return new(min(n, most)), nil
}

// hostNames returns host names. Models also send one name without an array.
func hostNames(args gjson.Result, argument string) ([]string, error) {
	v := args.Get(argument)
	if v.Type == gjson.Null {
		return nil, nil
	}

	names := []string{}
	for _, name := range v.Array() { // v itself if it is not an array
		if !text.IsHostName(name.Str) {
			const rule = `must be host names with a dot, such as ["example.com"]`
			return nil, llm.KindArguments.Errorf("%s %s, got %s", argument, rule, quote(name))
		}
		names = append(names, name.Str)
	}
	return names, nil
}

// quote returns the start of a JSON value in one line.
func quote(v gjson.Result) string {
	return label(v.Raw)
}
