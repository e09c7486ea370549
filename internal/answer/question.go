package answer

import (
	"strconv"
	"strings"
)

// A Question is what a tool call asks, its arguments already validated.
type Question struct {
	Query       string
	RecencyDays *float64 // days to look back, from 0; nil: Defaults.RecencyDays
	MaxResults  *float64 // results to look at, from 1; nil: Defaults.MaxResults
	Domains     []string // nil: Defaults.Domains; empty: none
	Style       string   // summary, bullets or citations-only (spec §3.1); anything else is not passed on
}

// Defaults are the search.defaults of the configuration, in the units of a
// Question.
type Defaults struct {
	RecencyDays float64 // days
	MaxResults  float64 // results
	Domains     []string
}

// withDefaults fills in what the call left open.
func (q Question) withDefaults(d Defaults) Question {
	if q.RecencyDays == nil {
		q.RecencyDays = &d.RecencyDays
	}
	if q.MaxResults == nil {
		q.MaxResults = &d.MaxResults
	}
	if q.Domains == nil {
		q.Domains = d.Domains
	}
	return q
}

// input is the text of the user message: the query as it was asked, and one
// line of hints (spec §6). Its defaults must be filled in.
func (q Question) input() string {
	var b strings.Builder
	b.WriteString(q.Query)
	b.WriteString("\n[Hints] recency_days=" + decimal(*q.RecencyDays) + ", max_results=" + decimal(*q.MaxResults) + ".")
	if names := hintDomains(q.Domains); len(names) > 0 {
		b.WriteString(" domains: " + strings.Join(names, ", "))
	}
	switch q.Style {
	case "summary", "bullets", "citations-only":
		b.WriteString(" style: " + q.Style)
	}
	return b.String()
}

// decimal prints a number as JSON callers write it: 60, 0.5.
func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// hintDomains keeps each domain on the line of hints, and drops empty ones.
func hintDomains(domains []string) []string {
	var names []string
	for _, d := range domains {
		if d = OneLine(d); d != "" {
			names = append(names, d)
		}
	}
	return names
}
