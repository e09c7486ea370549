package server

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// arguments are the arguments of a call. Unknown names are ignored. Models
// write null for an argument that they leave out.
type arguments map[string]json.RawMessage

func parseArguments(raw json.RawMessage) (arguments, error) {
	var args arguments
	if len(raw) > 0 && json.Unmarshal(raw, &args) != nil {
		return nil, fmt.Errorf("arguments must be an object, got %s", quote(raw))
	}
	for name, v := range args {
		if string(v) == "null" {
			delete(args, name)
		}
	}
	return args, nil
}

// question returns the question that a call of t asks. The error is one line
// that names the argument, what is allowed and what was sent.
func (t tool) question(args arguments) (q answer.Question, err error) {
	raw, ok := args["query"]
	switch {
	case !ok:
		return q, fmt.Errorf("query is required")
	case json.Unmarshal(raw, &q.Query) != nil:
		return q, fmt.Errorf("query must be a string, got %s", quote(raw))
	case strings.TrimSpace(q.Query) == "":
		return q, fmt.Errorf("query must not be empty")
	}
	// tools/list of version 0.5 had a style; clients that send it are served.
	_ = json.Unmarshal(args["style"], &q.Style)
	if !t.search {
		return q, nil
	}
	if q.RecencyDays, err = args.number("recency_days", 0); err != nil {
		return q, err
	}
	if q.MaxResults, err = args.number("max_results", 1); err != nil {
		return q, err
	}
	if q.MaxResults != nil {
		// Earlier versions had no upper bound.
		*q.MaxResults = min(*q.MaxResults, maxResults)
	}
	q.Domains, err = args.domains()
	return q, err
}

// number returns a number, which models also send as a string; nil if it is
// not there.
func (a arguments) number(name string, least float64) (*float64, error) {
	raw, ok := a[name]
	if !ok {
		return nil, nil
	}
	digits := string(raw)
	var s string
	if json.Unmarshal(raw, &s) == nil {
		digits = strings.TrimSpace(s)
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(n >= least && n <= math.MaxFloat64) { // NaN is neither
		return nil, fmt.Errorf("%s must be a number of at least %v, got %s", name, least, quote(raw))
	}
	return &n, nil
}

// domains returns host names. Models also send one name without an array.
func (a arguments) domains() ([]string, error) {
	raw, ok := a["domains"]
	if !ok {
		return nil, nil
	}
	var names []string
	var one string
	if json.Unmarshal(raw, &one) == nil {
		names = []string{one}
	} else if json.Unmarshal(raw, &names) != nil {
		return nil, fmt.Errorf(`domains must be an array of host names such as ["example.com"], got %s`, quote(raw))
	}
	for _, name := range names { // null is ""
		if !answer.IsHostName(name) {
			return nil, fmt.Errorf(`domains must be host names such as ["example.com"], got %s`, quote(raw))
		}
	}
	return names, nil
}

// quote returns the start of a JSON value in one line.
func quote(raw json.RawMessage) string { return text.Truncate(text.OneLine(string(raw)), 100) }
