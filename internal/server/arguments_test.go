package server

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// longArguments are not in the table.
var longArguments = map[string]string{
	"{\"query\":\"x\",\"domains\":\n[\"https://\u202ea.example\"]}": badDomains + `"https://a.example"`,

	`{"query":"x","domains":"[` + strings.Repeat("0,", 9999) + `0]"}`: badDomains + "0",
	`{"query":"x","domains":"[` + strings.Repeat("0,", 10000) + `0]"}`: badDomains +
		`"[` + strings.Repeat("0,", 48) + "0…",
	`{"query":["` + strings.Repeat("x", 1000) + `"]}`: "" +
		`query must be a string, got ["` + strings.Repeat("x", 97) + "…",
}

const badDomains = `domains must be host names with a dot, such as ["example.com"], got `

func TestInvalidArguments(t *testing.T) {
	all := maps.Clone(longArguments)
	for _, row := range compare.Table(t, "arguments", 2) {
		all[row[0]] = row[1]
	}
	for args, want := range all {
		t.Run(args, func(t *testing.T) {
			_, err := Question(gjson.Parse(args), answer.Defaults{}, false)
			compare.Equal(t, "error", fmt.Sprint(err), want)
		})
	}
}
