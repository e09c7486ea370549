package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// filtered is a question with the filters of a call.
var filtered = answer.Question{
	Query:          "x",
	Domains:        []string{"a.example"},
	OnlyDomains:    true,
	ExcludeDomains: []string{"b.example"},
}

var questionTests = []struct {
	name string
	args string
	want answer.Question
}{
	{"a query", `{"query":" x\ny "}`, answer.Question{Query: " x\ny "}},

	{
		"the smallest values",
		`{"query":"x","recency_days":0,"max_results":1,"domains":[]}`,
		answer.Question{
			Query:       "x",
			RecencyDays: new(0.0),
			MaxResults:  new(1.0),
			Domains:     []string{},
		},
	},

	{
		"too many results",
		`{"query":"x","recency_days":0.5,"max_results":1000,"domains":["a.example"]}`,
		answer.Question{
			Query:       "x",
			RecencyDays: new(0.5),
			MaxResults:  new(10.0),
			Domains:     []string{"a.example"},
		},
	},

	{
		"values as strings",
		`{"query":"x","recency_days":"30","max_results":" 2 ","domains":"日本語.jp"}`,
		answer.Question{
			Query:       "x",
			RecencyDays: new(30.0),
			MaxResults:  new(2.0),
			Domains:     []string{"日本語.jp"},
		},
	},

	{
		"null",
		`{"query":"x","recency_days":null,"max_results":null,"domains":null,"style":null}`,
		answer.Question{Query: "x"},
	},
	{
		"style",
		`{"query":"x","style":"bullets","more":1}`,
		answer.Question{Query: "x", Style: "bullets"},
	},
	{
		"filters",
		`{"query":"x","domains":"a.example","only_domains":true,"exclude_domains":["b.example"]}`,
		filtered,
	},
	{
		"filters as strings",
		`{"query":"x","domains":"a.example","only_domains":"True","exclude_domains":"b.example"}`,
		filtered,
	},
	{
		"no filters",
		`{"query":"x","only_domains":"false","exclude_domains":null}`,
		answer.Question{Query: "x"},
	},
}

func TestQuestion(t *testing.T) {
	for _, tt := range questionTests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := question(gjson.Parse(tt.args), answer.Defaults{})
			if err != nil {
				t.Fatal(err)
			}
			compare.Equal(t, "question", got, tt.want)
		})
	}
}

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
	`{"query":"x","recency_days":""}`:     badRecency + `""`,

	`{"query":"x","max_results":0}`:     badResults + "0",
	`{"query":"x","max_results":"0.5"}`: badResults + `"0.5"`,
	`{"query":"x","max_results":[]}`:    badResults + "[]",

	`{"query":"x","domains":5}`:       badDomains + "5",
	`{"query":"x","domains":{"a":1}}`: badDomains + `{"a":1}`,
	`{"query":"x","domains":[1]}`:     badDomains + "1",
	`{"query":"x","domains":""}`:      badDomains + `""`,
	`{"query":"x","domains":[""]}`:    badDomains + `""`,
	`{"query":"x","domains":["."]}`:   badDomains + `"."`,
	`{"query":"x","domains":[null]}`:  badDomains + "null",
	`{"query":"x","domains":["//x"]}`: badDomains + `"//x"`,

	`{"query":"x","domains":["a.example","b.example, c.example"]}`:  badDomains + `"b.example, c.example"`,
	"{\"query\":\"x\",\"domains\":\n[\"https://\u202ea.example\"]}": badDomains + `"https://a.example"`,

	`{"query":"x","exclude_domains":["a.example","*.b.example"]}`: badExclude + `"*.b.example"`,
	`{"query":"x","exclude_domains":""}`:                          badExclude + `""`,
	`{"query":"x","only_domains":1}`:                              badOnly + "1",
	`{"query":"x","only_domains":"t"}`:                            badOnly + `"t"`,
	`{"query":"x","only_domains":["a.example"]}`:                  badOnly + `["a.example"]`,
	`{"query":"x","only_domains":true}`:                           noDomains,
	`{"query":"x","only_domains":true,"domains":[]}`:              noDomains,

	`{"query":["` + strings.Repeat("x", 1000) + `"]}`: "" +
		`query must be a string, got ["` + strings.Repeat("x", 97) + "…",
}

func TestInvalidArguments(t *testing.T) {
	for args, want := range invalidArguments {
		t.Run(args, func(t *testing.T) {
			_, err := question(gjson.Parse(args), answer.Defaults{})
			compare.Equal(t, "error", fmt.Sprint(err), want)
		})
	}
}
