package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// Errors for arguments.
const (
	badRecency = "recency_days must be a number of at least 0, got "
	badResults = "max_results must be a number of at least 1, got "
	badDomains = `domains must be host names with a dot, such as ["example.com"], got `

	badExclude = "exclude_" + badDomains
	badOnly    = "only_domains must be true or false, got "
	noDomains  = "only_domains needs domains, which has no default here"
)

var invalidArguments = map[string]string{
	``:               "query is required",
	`null`:           "query is required",
	`{}`:             "query is required",
	`{"query":null}`: "query is required",

	`{"QUERY":"x"}`:   "query is required",
	`{"query":["x"]}`: `query must be a string, got ["x"]`,
	`{"query":" \n"}`: "query must not be empty",
	`[1,2]`:           "arguments must be an object, got [1,2]",
	`"x"`:             `arguments must be an object, got "x"`,

	`{"query":"x","recency_days":-1}`:     badRecency + "-1",
	`{"query":"x","recency_days":"soon"}`: badRecency + `"soon"`,
	`{"query":"x","recency_days":true}`:   badRecency + "true",
	`{"query":"x","recency_days":1e999}`:  badRecency + "1e999",
	`{"query":"x","recency_days":"Inf"}`:  badRecency + `"Inf"`,
	`{"query":"x","recency_days":"NaN"}`:  badRecency + `"NaN"`,
	`{"query":"x","recency_days":"[]"}`:   badRecency + `"[]"`,

	`{"query":"x","max_results":0}`:     badResults + "0",
	`{"query":"x","max_results":"0.5"}`: badResults + `"0.5"`,
	`{"query":"x","max_results":[]}`:    badResults + "[]",

	`{"query":"x","domains":5}`:       badDomains + "5",
	`{"query":"x","domains":{"a":1}}`: badDomains + `{"a":1}`,
	`{"query":"x","domains":[1]}`:     badDomains + "1",
	`{"query":"x","domains":[""]}`:    badDomains + `""`,
	`{"query":"x","domains":["."]}`:   badDomains + `"."`,
	`{"query":"x","domains":[null]}`:  badDomains + "null",
	`{"query":"x","domains":["//x"]}`: badDomains + `"//x"`,

	`{"query":"x","domains":["a.example","b.example, c.example"]}`:  badDomains + `"b.example, c.example"`,
	"{\"query\":\"x\",\"domains\":\n[\"https://\u202ea.example\"]}": badDomains + `"https://a.example"`,

	`{"query":"x","exclude_domains":["a.example","*.b.example"]}`: badExclude + `"*.b.example"`,
	// Arrays as text. Their elements are those of an array, so no text in them is one.
	`{"query":"x","domains":"[1]"}`:                                   badDomains + "1",
	`{"query":"x","domains":"[null]"}`:                                badDomains + "null",
	`{"query":"x","domains":"[\"a.example\", \"b\"]"}`:                badDomains + `"b"`,
	`{"query":"x","domains":"[\"a.example\",\"\"]"}`:                  badDomains + `""`,
	`{"query":"x","domains":"[[\"a.example\"]]"}`:                     badDomains + `["a.example"]`,
	`{"query":"x","domains":"[\"[]\"]"}`:                              badDomains + `"[]"`,
	`{"query":"x","domains":["[\"a.example\"]"]}`:                     badDomains + `"[\"a.example\"]"`,
	`{"query":"x","domains":"[a.example]"}`:                           badDomains + `"[a.example]"`,
	`{"query":"x","domains":"[\"a.example\""}`:                        badDomains + `"[\"a.example\""`,
	`{"query":"x","domains":"\"a.example\""}`:                         badDomains + `"\"a.example\""`,
	`{"query":"x","domains":"undefined"}`:                             badDomains + `"undefined"`,
	`{"query":"x","domains":"a.example b.example"}`:                   badDomains + `"a.example b.example"`,
	`{"query":"x","exclude_domains":"[\"*\"]"}`:                       badExclude + `"*"`,
	`{"query":"x","only_domains":true,"domains":" [ ] "}`:             noDomains,
	`{"query":"x","only_domains":"true","domains":"null"}`:            noDomains,
	`{"query":"x","domains":"[` + strings.Repeat("0,", 9999) + `0]"}`: badDomains + "0",
	`{"query":"x","domains":"[` + strings.Repeat("0,", 10000) + `0]"}`: badDomains +
		`"[` + strings.Repeat("0,", 48) + "0…",

	`{"query":"x","only_domains":1}`:                 badOnly + "1",
	`{"query":"x","only_domains":"t"}`:               badOnly + `"t"`,
	`{"query":"x","only_domains":["a.example"]}`:     badOnly + `["a.example"]`,
	`{"query":"x","only_domains":true}`:              noDomains,
	`{"query":"x","only_domains":true,"domains":[]}`: noDomains,

	`{"query":["` + strings.Repeat("x", 1000) + `"]}`: "" +
		`query must be a string, got ["` + strings.Repeat("x", 97) + "…",
}

func TestInvalidArguments(t *testing.T) {
	for args, want := range invalidArguments {
		t.Run(args, func(t *testing.T) {
			_, err := Question(gjson.Parse(args), answer.Defaults{}, false)
			compare.Equal(t, "error", fmt.Sprint(err), want)
		})
	}
}
