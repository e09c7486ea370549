package server

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzArguments holds that the arguments of a call, whatever they are, become a
// question that can be asked or an error of one short line that does not repeat
// them.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{
		`{"query":"Weather?"}`, `{"query":"x","recency_days":0,"max_results":1,"domains":["a.example",""]}`,
		`{"query":"x","recency_days":-1}`, `{"query":"x","recency_days":1e400}`, `{"query":"x","max_results":0.5}`,
		`{"query":"x","domains":[null]}`, `{"query":"x","domains":{"a":1}}`, `{"query":"x","domains":null,"style":5}`,
		`{"query":null}`, `{"query":" \n"}`, `{"query":["x"]}`, `{"query":"\ud800","QUERY":"y"}`, `{"query":"x","query":"y"}`,
		``, `null`, `[]`, `"x"`, `{`, `{"query":"x","style":"bullets","more":{"a":[1]}}`, "{\"query\":\"\xff\"}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, tool := range tools() {
			q, err := tool.question(raw)
			if err != nil {
				if line := err.Error(); strings.ContainsAny(line, "\n\r\x1b") || len(line) > 80 {
					t.Fatalf("%s(%q): %q", tool.name, raw, line)
				}
				continue
			}
			if len(raw) == 0 || !json.Valid(raw) {
				t.Fatalf("%s takes %q, which is no JSON", tool.name, raw)
			}
			if strings.TrimSpace(q.Query) == "" || !utf8.ValidString(q.Query) {
				t.Fatalf("%s(%q) asks %q", tool.name, raw, q.Query)
			}
			for name, n := range map[string]*float64{"recency_days": q.RecencyDays, "max_results": q.MaxResults} {
				if n != nil && (*n < 0 || math.IsInf(*n, 0) || math.IsNaN(*n) || name == "max_results" && *n < 1 || !tool.search) {
					t.Fatalf("%s(%q): %s = %v", tool.name, raw, name, *n)
				}
			}
			if q.Domains != nil && !tool.search {
				t.Fatalf("%s(%q): domains = %q", tool.name, raw, q.Domains)
			}
		}
	})
}
