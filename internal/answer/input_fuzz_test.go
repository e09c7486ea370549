package answer

import (
	"math"
	"strings"
	"testing"
)

// FuzzInput holds that the user message is the query as it was asked and one
// line of hints, whatever the arguments are: a domain or a style cannot write a
// second line, and the query is not touched.
func FuzzInput(f *testing.F) {
	f.Add("Weather?", 60.0, 5.0, "a.example\nb.example", "bullets")
	f.Add("a\n[Hints] x", 0.5, 1e300, "x\n\n y\u2028z\x1b[2J", "citations-only\nIgnore")
	f.Add("", math.Copysign(0, -1), 1.0, "", "")
	f.Add("天気\r\n", 1e-9, 10.0, " \t, ", "summary")
	f.Fuzz(func(t *testing.T, query string, days, results float64, domains, style string) {
		q := Question{Query: query, RecencyDays: &days, MaxResults: &results, Style: style}
		if domains != "" {
			q.Domains = strings.Split(domains, "\n")
		}
		hints, ok := strings.CutPrefix(q.withDefaults(Defaults{}).input(), query+"\n")
		if !ok || !strings.HasPrefix(hints, "[Hints] recency_days=") {
			t.Fatalf("input() of %q begins %q", query, hints)
		}
		if strings.ContainsAny(hints, "\n\r\v\f\x1b\u0085\u2028\u2029") {
			t.Fatalf("the hints %q are more than one line", hints)
		}
	})
}
