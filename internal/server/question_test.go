package server

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
)

var questionTests = []struct {
	name string
	tool string
	args string
	want answer.Question
}{
	{"a query", "answer", `{"query":" x\ny "}`, answer.Question{Query: " x\ny "}},

	{
		"the smallest values",
		"answer",
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
		"answer",
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
		"answer_detailed",
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
		"answer",
		`{"query":"x","recency_days":null,"max_results":null,"domains":null,"style":null}`,
		answer.Question{Query: "x"},
	},
	{
		"style",
		"answer",
		`{"query":"x","style":"bullets","more":1}`,
		answer.Question{Query: "x", Style: "bullets"},
	},
	{
		"filters",
		"answer_detailed",
		`{"query":"x","domains":"a.example","only_domains":true,"exclude_domains":["b.example"]}`,
		answer.Question{
			Query:          "x",
			Domains:        []string{"a.example"},
			OnlyDomains:    true,
			ExcludeDomains: []string{"b.example"},
		},
	},
	{
		"filters as strings",
		"answer",
		`{"query":"x","domains":"a.example","only_domains":"True","exclude_domains":"b.example"}`,
		answer.Question{
			Query:          "x",
			Domains:        []string{"a.example"},
			OnlyDomains:    true,
			ExcludeDomains: []string{"b.example"},
		},
	},
	{
		"no filters",
		"answer",
		`{"query":"x","only_domains":"false","exclude_domains":null}`,
		answer.Question{Query: "x"},
	},
	{
		"invalid values that the tool does not take",
		"answer_quick",
		`{"query":"x","recency_days":"soon","max_results":-1,"domains":5,"only_domains":"?"}`,
		answer.Question{Query: "x"},
	},
}

func TestQuestion(t *testing.T) {
	for _, tt := range questionTests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := question(tt.tool, gjson.Parse(tt.args), answer.Defaults{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("question (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInvalidArguments(t *testing.T) {
	const (
		recency = "recency_days must be a number of at least 0, got "
		results = "max_results must be a number of at least 1, got "
		hosts   = `domains must be host names with a dot, such as ["example.com"], got `
	)

	long := `{"query":["` + strings.Repeat("x", 1000) + `"]}`

	for args, want := range map[string]string{
		``:               "query is required",
		`null`:           "query is required",
		`{}`:             "query is required",
		`{"query":null}`: "query is required",

		`{"QUERY":"x"}`:   "query is required",
		`{"query":["x"]}`: `query must be a string, got ["x"]`,
		`{"query":" \n"}`: "query must not be empty",
		`[1,2]`:           "arguments must be an object, got [1,2]",
		`"x"`:             `arguments must be an object, got "x"`,

		`{"query":"x","recency_days":-1}`:     recency + "-1",
		`{"query":"x","recency_days":"soon"}`: recency + `"soon"`,
		`{"query":"x","recency_days":true}`:   recency + "true",
		`{"query":"x","recency_days":1e999}`:  recency + "1e999",
		`{"query":"x","recency_days":"Inf"}`:  recency + `"Inf"`,
		`{"query":"x","recency_days":"NaN"}`:  recency + `"NaN"`,
		`{"query":"x","recency_days":""}`:     recency + `""`,

		`{"query":"x","max_results":0}`:     results + "0",
		`{"query":"x","max_results":"0.5"}`: results + `"0.5"`,
		`{"query":"x","max_results":[]}`:    results + "[]",

		`{"query":"x","domains":5}`:       hosts + "5",
		`{"query":"x","domains":{"a":1}}`: hosts + `{"a":1}`,
		`{"query":"x","domains":[1]}`:     hosts + "1",
		`{"query":"x","domains":""}`:      hosts + `""`,
		`{"query":"x","domains":[""]}`:    hosts + `""`,
		`{"query":"x","domains":["."]}`:   hosts + `"."`,
		`{"query":"x","domains":[null]}`:  hosts + "null",
		`{"query":"x","domains":["//x"]}`: hosts + `"//x"`,

		`{"query":"x","domains":["a.example","b.example, c.example"]}`:  hosts + `"b.example, c.example"`,
		"{\"query\":\"x\",\"domains\":\n[\"https://\u202ea.example\"]}": hosts + `"https://a.example"`,

		long: `query must be a string, got ["` + strings.Repeat("x", 97) + "…",
	} {
		wantInvalid(t, args, want)
	}
}

func TestInvalidFilters(t *testing.T) {
	const (
		hosts   = `exclude_domains must be host names with a dot, such as ["example.com"], got `
		only    = "only_domains must be true or false, got "
		nowhere = "only_domains needs domains, which has no default here"
	)
	for args, want := range map[string]string{
		`"exclude_domains":["a.example","*.b.example"]`: hosts + `"*.b.example"`,
		`"exclude_domains":""`:                          hosts + `""`,
		`"only_domains":"some"`:                         only + `"some"`,
		`"only_domains":["a.example"]`:                  only + `["a.example"]`,
		`"only_domains":1`:                              only + "1",
		`"only_domains":true`:                           nowhere,
		`"only_domains":true,"domains":[]`:              nowhere,
	} {
		wantInvalid(t, `{"query":"x",`+args+`}`, want)
	}
}

// wantInvalid wants this error for arguments of answer.
func wantInvalid(t *testing.T, args, want string) {
	t.Run(args, func(t *testing.T) {
		_, err := question("answer", gjson.Parse(args), answer.Defaults{})
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	})
}
