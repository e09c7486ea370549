package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
)

// arguments are the arguments of a call, not decoded yet. What nobody knows
// is ignored; null counts as not sent, since models like to write it.
type arguments map[string]json.RawMessage

// question reads the arguments of a call of t. The error is one line for
// data.reason.
func (t tool) question(raw json.RawMessage) (q answer.Question, err error) {
	args := arguments{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &args); err != nil {
			return q, fmt.Errorf("arguments must be an object")
		}
	}
	if q.Query, err = args.query(); err != nil {
		return q, err
	}
	// Of an older tools/list; clients that know it are served (spec §3.1).
	_ = args.decode("style", &q.Style)
	if !t.search {
		return q, nil
	}
	if q.RecencyDays, err = args.number("recency_days", 0); err != nil {
		return q, err
	}
	if q.MaxResults, err = args.number("max_results", 1); err != nil {
		return q, err
	}
	q.Domains, err = args.strings("domains")
	return q, err
}

// decode reads the argument into v; it leaves v alone when there is none.
func (a arguments) decode(name string, v any) error {
	raw, ok := a[name]
	if !ok {
		return nil
	}
	return json.Unmarshal(raw, v)
}

func (a arguments) query() (string, error) {
	var s *string
	err := a.decode("query", &s)
	switch {
	case err != nil:
		return "", fmt.Errorf("query must be a string")
	case s == nil:
		return "", fmt.Errorf("query is required")
	case strings.TrimSpace(*s) == "":
		return "", fmt.Errorf("query must not be empty")
	}
	return *s, nil
}

func (a arguments) number(name string, least float64) (*float64, error) {
	var n *float64
	if a.decode(name, &n) != nil || n != nil && *n < least {
		return nil, fmt.Errorf("%s must be a number of at least %v", name, least)
	}
	return n, nil
}

// strings reads a list of strings; encoding/json would take null for "".
func (a arguments) strings(name string) ([]string, error) {
	var list []*string
	if a.decode(name, &list) != nil || slices.Contains(list, nil) {
		return nil, fmt.Errorf("%s must be an array of strings", name)
	}
	if list == nil {
		return nil, nil
	}
	out := make([]string, 0, len(list))
	for _, s := range list {
		out = append(out, *s)
	}
	return out, nil
}

// keys are the names that were sent, for the log.
func (a arguments) keys() []string {
	return slices.Sorted(maps.Keys(a))
}
