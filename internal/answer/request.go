package answer

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// Search holds the options of the web search tool. With none of them set the
// tool is exactly {"type":"web_search"}, as spec §6 has it.
type Search struct {
	EnforceDomains bool              // also limit the search to the question's domains
	ContextSize    string            // low, medium or high; empty: not sent
	UserLocation   map[string]string // country, city, region, timezone; empty: not sent
}

// webSearch is the tool on the wire.
type webSearch struct {
	Type         string            `json:"type"`
	Filters      *filters          `json:"filters,omitempty"`
	ContextSize  string            `json:"search_context_size,omitempty"`
	UserLocation map[string]string `json:"user_location,omitempty"`
}

type filters struct {
	AllowedDomains []string `json:"allowed_domains"`
}

// request builds the request of a question (spec §6). Effort, verbosity and
// summary are sent to the models that take them: llm knows which.
func (a *Answerer) request(p Profile, q Question) (llm.Request, error) {
	tool, err := a.o.Search.tool(q.Domains)
	if err != nil {
		return llm.Request{}, err
	}
	return llm.Request{
		Model:            p.Model,
		Instructions:     a.o.Instructions,
		Input:            []llm.Item{llm.UserText(q.input())},
		Tools:            []json.RawMessage{tool},
		Include:          []string{"web_search_call.action.sources"},
		Effort:           p.Effort,
		Verbosity:        p.Verbosity,
		ReasoningSummary: p.Summary,
		Extra:            a.o.ExtraBody,
	}, nil
}

func (s Search) tool(domains []string) (json.RawMessage, error) {
	t := webSearch{Type: "web_search", ContextSize: s.ContextSize}
	if s.EnforceDomains {
		if hosts := hostNames(domains); len(hosts) > 0 {
			t.Filters = &filters{AllowedDomains: hosts}
		}
	}
	location := maps.Clone(s.UserLocation)
	maps.DeleteFunc(location, func(_, v string) bool { return v == "" })
	if delete(location, "type"); len(location) > 0 {
		location["type"] = "approximate" // the only kind that the API knows
		t.UserLocation = location
	}
	data, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("encoding the web search tool: %w", err)
	}
	return data, nil
}

// hostNames makes host names of what people write as a domain: the API refuses
// https://www.jma.go.jp/ in allowed_domains.
func hostNames(domains []string) []string {
	var hosts []string
	for _, d := range domains {
		d = strings.ToLower(strings.TrimSpace(d))
		if _, rest, ok := strings.Cut(d, "://"); ok {
			d = rest
		}
		if i := strings.IndexAny(d, "/?#:"); i >= 0 {
			d = d[:i]
		}
		d = strings.TrimPrefix(strings.Trim(d, "."), "*.")
		if d != "" && !slices.Contains(hosts, d) {
			hosts = append(hosts, d)
		}
	}
	return hosts
}
