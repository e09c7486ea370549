package answer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// Question is what a tool call asks. Its arguments are validated.
type Question struct {
	Query       string
	RecencyDays *float64 // days to look back, from 0; nil: the default
	MaxResults  *float64 // results to look at, from 1; nil: the default
	Domains     []string // host names (text.IsHostName); empty: the default
	Style       string   // summary, bullets or citations-only; others are not sent
}

// Defaults is search.defaults of the configuration, in the units of Question.
type Defaults struct {
	RecencyDays float64
	MaxResults  float64
	Domains     []string
}

// Search holds the options of the web search tool. Without any of them the tool
// is exactly {"type":"web_search"}, as in spec §6.
type Search struct {
	EnforceDomains bool              // search the domains of the question only
	BlockedDomains []string          // never searched or cited, subdomains included
	ContextSize    string            // low, medium or high
	UserLocation   map[string]string // country, city, region, timezone
}

// request builds the request for q. The llm client adds what is the same for
// all requests. An empty list of domains keeps the configured one: a call must
// not lift EnforceDomains.
func (a *Answerer) request(p Profile, q Question) llm.Request {
	if len(q.Domains) == 0 {
		q.Domains = a.o.Defaults.Domains
	}
	params := responses.ResponseNewParams{
		Model:        p.Model,
		Instructions: param.NewOpt(a.o.Instructions),
		Input:        responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{userMessage(a.input(q))}},
		Tools:        []responses.ToolUnionParam{{OfWebSearch: a.o.Search.tool(q.Domains)}},
		Include:      []responses.ResponseIncludable{responses.ResponseIncludableWebSearchCallActionSources},
		ServiceTier:  responses.ResponseNewParamsServiceTier(p.ServiceTier),
	}
	can := llm.CapabilityOf(p.Model)
	if can.Verbosity {
		params.Text.Verbosity = responses.ResponseTextConfigVerbosity(p.Verbosity)
	}
	if can.Reasoning {
		params.Reasoning.Effort = shared.ReasoningEffort(p.ReasoningEffort)
		params.Reasoning.Summary = shared.ReasoningSummary(p.ReasoningSummary)
	}
	if p.MaxOutputTokens > 0 {
		params.MaxOutputTokens = param.NewOpt(int64(p.MaxOutputTokens))
	}
	if p.MaxToolCalls > 0 {
		params.MaxToolCalls = param.NewOpt(int64(p.MaxToolCalls))
	}
	return llm.Request{Params: params, Extra: a.o.ExtraBody}
}

// input is the query and a line of hints, which the policy explains.
func (a *Answerer) input(q Question) string {
	days, results := cmp.Or(q.RecencyDays, &a.o.Defaults.RecencyDays), cmp.Or(q.MaxResults, &a.o.Defaults.MaxResults)
	s := q.Query + "\n[Hints] recency_days=" + decimal(*days) + ", max_results=" + decimal(*results) + "."
	if len(q.Domains) > 0 {
		s += " domains: " + strings.Join(q.Domains, ", ") + "."
	}
	if slices.Contains([]string{"summary", "bullets", "citations-only"}, q.Style) {
		s += " style: " + q.Style + "."
	}
	return s + " today: " + a.today() + " (" + a.o.Location.String() + ")."
}

func userMessage(s string) responses.ResponseInputItemUnionParam {
	return responses.ResponseInputItemUnionParam{OfInputMessage: &responses.ResponseInputItemMessageParam{
		Type:    "message",
		Role:    "user",
		Content: responses.ResponseInputMessageContentListParam{responses.ResponseInputContentParamOfInputText(s)},
	}}
}

func (s Search) tool(domains []string) *responses.WebSearchToolParam {
	t := &responses.WebSearchToolParam{
		Type:              responses.WebSearchToolTypeWebSearch,
		SearchContextSize: responses.WebSearchToolSearchContextSize(s.ContextSize),
	}
	if s.EnforceDomains {
		t.Filters.AllowedDomains = domains
	}
	if len(s.BlockedDomains) > 0 {
		// The SDK has no field for it
		// (https://platform.openai.com/docs/guides/tools-web-search#domain-filtering).
		t.Filters.SetExtraFields(map[string]any{"blocked_domains": s.BlockedDomains})
	}
	location := &t.UserLocation // not sent when all of it is empty
	for key, field := range map[string]*param.Opt[string]{
		"city": &location.City, "country": &location.Country, "region": &location.Region, "timezone": &location.Timezone,
	} {
		if value := s.UserLocation[key]; value != "" {
			location.Type, *field = "approximate", param.NewOpt(value)
		}
	}
	return t
}
