package answer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/cite"
)

// styles are the values of Question.Style that the policy explains.
var styles = []string{"summary", "bullets", "citations-only"}

// WebSearch holds the options of the web search tool. Without any of them the tool is exactly
// {"type":"web_search"}, as in spec §6.
type WebSearch struct {
	EnforceDomains bool           // search the domains of the question only
	BlockedDomains []string       // never searched or cited, subdomains included
	ContextSize    string         // low, medium or high
	Required       bool           // search before every answer
	Extra          map[string]any // other members of the tool
}

// UserLocation is where the user is, approximately. The zero value is no place.
type UserLocation struct {
	Country  string `json:"country,omitempty"`
	City     string `json:"city,omitempty"`
	Region   string `json:"region,omitempty"`
	Timezone string `json:"timezone,omitempty"`
}

// searchSources is the include of all requests: the sources of searches, which the API leaves out
// by default.
var searchSources = []string{"web_search_call.action.sources"}

// request builds the request for q with the profile of a tool. llm.Client adds what all requests
// have in common, and leaves out what the model does not take. If q has no domains, the configured
// domains apply, because EnforceDomains would have nothing to enforce without them.
func (a *Answerer) request(ctx context.Context, tool string, p Profile, q Question) call.Request {
	a.logRequest(ctx, tool, p.ModelSettings)
	if len(q.Domains) == 0 {
		q.Domains = p.Defaults.Domains
	}

	request := call.Request{
		ModelSettings: p.ModelSettings,
		Instructions:  a.options.Instructions,
		Input:         []json.RawMessage{call.UserMessage(a.queryWithHints(p.Defaults, q))},
		Tools:         []map[string]any{p.webSearchTool(q)},
		Include:       searchSources,
		ExtraBody:     a.options.ExtraBody,
		NoStream:      a.options.NoStream,
	}
	if p.Search.Required {
		request.ToolChoice = "required"
	}
	return request
}

// queryWithHints returns the query and a line of hints, which the policy explains.
func (a *Answerer) queryWithHints(d Defaults, q Question) string {
	days := cmp.Or(q.RecencyDays, &d.RecencyDays)
	results := cmp.Or(q.MaxResults, new(float64(d.MaxResults)))
	hints := "[Hints] recency_days=" + decimal(*days) + ", max_results=" + decimal(*results) + "."

	if len(q.Domains) > 0 {
		hints += " domains: " + strings.Join(q.Domains, ", ") + "."
	}
	if slices.Contains(styles, q.Style) {
		hints += " style: " + q.Style + "."
	}
	now := time.Now().In(a.options.Location)
	hints += " today: " + a.date(now) + " (" + text.Zone(now) + ")."

	return q.Query + "\n" + hints
}

// decimal formats a number as callers write it: 60, 0.5.
func decimal(f float64) string {
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// narrowDomains returns the domains that are in allowed or below one of its domains. A question
// never widens the search:
//
//	domains                 allowed  result
//	docs.go.dev, a.example  go.dev   docs.go.dev
//	a.example               go.dev   go.dev: all of allowed, because no domain is in it
//	a.example               none     a.example
func narrowDomains(domains, allowed []string) []string {
	allowedSet := cite.NewDomainSet(allowed)
	outside := func(domain string) bool {
		return len(allowed) > 0 && !allowedSet.HasPage("https://"+domain)
	}
	inside := slices.DeleteFunc(slices.Clone(domains), outside)
	if len(inside) == 0 {
		return allowed
	}
	return inside
}

// stringsOf returns the elements of a list in search.extra as strings.
func stringsOf(list any) (names []string) {
	entries, _ := list.([]any)
	for _, name := range entries {
		names = append(names, fmt.Sprint(name))
	}
	return names
}

// AllBlockedDomains returns the domains that are neither searched nor cited: the blocked_domains of
// the configuration and of search.extra, and the domains that a question excludes.
func (s WebSearch) AllBlockedDomains(excluded []string) []string {
	filters, _ := s.Extra["filters"].(map[string]any)
	extra := stringsOf(filters["blocked_domains"])
	return slices.Concat(s.BlockedDomains, excluded, extra)
}

// webSearchTool returns the web search tool for a question
// (https://platform.openai.com/docs/guides/tools-web-search). request has given the question the
// default domains if it had none.
func (p Profile) webSearchTool(q Question) map[string]any {
	s := p.Search
	t := map[string]any{"type": "web_search"}
	maps.Copy(t, s.Extra)

	filters := map[string]any{}
	configured, _ := s.Extra["filters"].(map[string]any)
	maps.Copy(filters, configured) // a filter that the question does not set stays
	only := s.EnforceDomains || q.OnlyDomains
	if only && len(q.Domains) > 0 {
		allowed := stringsOf(filters["allowed_domains"])
		filters["allowed_domains"] = narrowDomains(q.Domains, allowed)
	}
	blocked := s.AllBlockedDomains(q.ExcludeDomains)
	if len(blocked) > 0 {
		filters["blocked_domains"] = blocked
	}
	if len(filters) > 0 {
		t["filters"] = filters
	}

	if s.ContextSize != "" {
		t["search_context_size"] = s.ContextSize
	}
	location := p.UserLocation
	if q.Country != "" {
		// The configured city may be in another country.
		location = &UserLocation{Country: q.Country}
	}
	if location != nil {
		t["user_location"] = struct {
			*UserLocation
			Type string `json:"type"`
		}{location, "approximate"}
	}

	return t
}
