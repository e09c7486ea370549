package server

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// question returns the question of a call. The error is one line that names the
// argument, what is allowed and what was sent. Unknown arguments are ignored,
// and null is as if absent, because models write it for what they leave out.
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
	if q.RecencyDays, err = number(args, "recency_days", 0); err != nil {
		return q, err
	}
	if q.MaxResults, err = number(args, "max_results", 1); err != nil {
		return q, err
	}
	if q.MaxResults != nil { // earlier versions had no upper bound
		*q.MaxResults = min(*q.MaxResults, maxResults)
	}
	q.Domains, err = domains(args.Get("domains"))
	return q, err
}

// number returns a number, which models also send as a string; nil if it is
// not there.
func number(args gjson.Result, name string, least float64) (*float64, error) {
	v := args.Get(name)
	if v.Type == gjson.Null {
		return nil, nil
	}
	digits := v.Raw
	if v.Type == gjson.String {
		digits = strings.TrimSpace(v.Str)
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(n >= least && n <= math.MaxFloat64) { // NaN is neither
		return nil, fmt.Errorf("%s must be a number of at least %v, got %s", name, least, quote(v))
	}
	return &n, nil
}

// domains returns host names. Models also send one name without an array.
func domains(v gjson.Result) ([]string, error) {
	if v.Type == gjson.Null {
		return nil, nil
	}
	names := []string{}
	for _, name := range v.Array() { // of itself, if it is no array
		if !answer.IsHostName(name.Str) {
			return nil, fmt.Errorf(`domains must be host names such as ["example.com"], got %s`, quote(v))
		}
		names = append(names, name.Str)
	}
	return names, nil
}

// quote returns the start of a JSON value in one line.
func quote(v gjson.Result) string { return text.Truncate(text.OneLine(v.Raw), 100) }
