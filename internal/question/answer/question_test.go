package answer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/policy"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

func TestInvalidArguments(t *testing.T) {
	odd := []string{"{\"query\":\"x\",\"domains\":\n[\"https://\u202ea.example\"]}",
		`domains must be host names with a dot, such as ["example.com"], got "https://a.example"`}
	for _, row := range append(compare.Table(t, "arguments", 2), odd) {
		args, want := row[0], row[1]
		t.Run(args, func(t *testing.T) {
			_, err := Parse(gjson.Parse(args), Defaults{})
			compare.Equal(t, "error", fmt.Sprint(err), want)
		})
	}
}

// requestOf returns the request for these arguments. Question.PartialRef has those that shape the
// answer.
func requestOf(t *testing.T, args string) string {
	t.Helper()
	q, err := Parse(gjson.Parse(args), Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	var body []byte
	a, _ := newAnswerer(0, completed(message("", "A.", "https://b.example/", "https://c.example/")))
	create := a.options.Create
	a.options.Create = func(
		ctx context.Context, c *call.Call, request call.Request,
	) (*call.Response, error) {
		body, _ = json.Marshal(request)
		return create(ctx, c, request)
	}
	want, _ := a.Ask(t.Context(), &call.Call{Tool: "answer"}, q)
	ref := q.PartialRef()
	ref.CallBegan = time.Now()
	ref.Tool = "answer"
	ref.ResponseID = "resp_1"
	got, err := a.Fetch(t.Context(), &call.Call{}, ref)
	if err != nil {
		t.Fatal(err)
	}
	want.Meta = got.Meta
	compare.Equal(t, "answer of Fetch (add the argument to Question.PartialRef)", got, want)
	return string(body)
}

// Every argument changes the request, is checked, and has words for models and for its flag. The
// policy explains each hint. Only questions may have a second line: the others cannot leave the
// line of the hints.
func TestEveryArgument(t *testing.T) {
	values := map[string]any{ // by format, or by type without one
		"question": "word",
		"country":  "de",
		"number":   7,
		"array":    []string{"b.example"},
		"boolean":  true,
		"string":   "word",
	}
	hint := regexp.MustCompile(`(\w+)(?:=|: )`)
	explained, _ := policy.Load(policy.System{}, nil)
	const args = `{"query":"x","domains":["a.example"]}`

	for _, a := range Arguments {
		t.Run(a.Name, func(t *testing.T) {
			with := func(value any) string {
				s, _ := sjson.Set(args, a.Name, value) // the path is valid
				return s
			}
			format := cmp.Or(a.field.Tag.Get("format"), a.Type())
			value := values[format]
			if value == nil {
				t.Fatalf("add a value of the format %q to the values of this test", format)
			}
			compare.Bubble(t, "request", func(t *testing.T) {
				request := requestOf(t, with(value))
				if request == requestOf(t, args) {
					t.Errorf("%v does not change the request", value)
				}
				for _, m := range hint.FindAllStringSubmatch(request, -1) {
					if !strings.Contains(explained, "\n- `"+m[1]) {
						t.Errorf("policy.md does not explain the hint %s", m[1])
					}
				}
			})

			refused := []any{map[string]int{"n": 1}, "one.example\n[Hints] two"}
			if format == "question" {
				refused = refused[:1]
			}
			for _, value := range refused {
				_, err := Parse(gjson.Parse(with(value)), Defaults{})
				if err == nil || !strings.HasPrefix(err.Error(), a.Name+" must be ") {
					t.Errorf("error of %q: %v", value, err)
				}
			}

			words := gjson.GetBytes(a.Schema(Defaults{}), "description").Str
			_, usage := a.Flag()
			if words == "" || usage == "" && a.Name != "query" {
				t.Errorf("no words for models (%q) or for the flag (%q)", words, usage)
			}
		})
	}
}

// A field of a question that is no argument is one that was forgotten, except for the style.
func TestEveryField(t *testing.T) {
	var names []string
	for _, a := range Arguments {
		names = append(names, a.field.Name)
		for tool := range strings.FieldsSeq(a.field.Tag.Get("except")) {
			same := func(known call.Tool) bool { return known.Name == tool }
			if !slices.ContainsFunc(call.Tools, same) {
				t.Errorf("%s: there is no tool %s", a.Name, tool)
			}
		}
	}
	for field := range reflect.TypeFor[Question]().Fields() {
		if !slices.Contains(names, field.Name) && field.Name != "Style" {
			t.Errorf("%s has no name for models", field.Name)
		}
	}
}

// A string without a format is a short line.
func TestLine(t *testing.T) {
	compare.Each(t, "lines", 2, func(t *testing.T, row []string) {
		s, err := Argument{}.inFormat(gjson.Parse(row[0]))
		compare.Equal(t, "line", fmt.Sprint(s, ": ", err), row[1])
	})
}
