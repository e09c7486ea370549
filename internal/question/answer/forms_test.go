package answer

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// annotation matches PAGE of forms.table.
var annotation = regexp.MustCompile(`PAGE\((\d),?([^)]*)\)`)

// Servers write searches, titles and usage in many forms. The answer, its progress and the number
// of searches are the same.
func TestForms(t *testing.T) {
	compare.Each(t, "forms", 3, func(t *testing.T, row []string) {
		body := strings.ReplaceAll(row[1], "MESSAGE", message("", "x"))
		body = annotation.ReplaceAllString(body, `{
			"type":"message",
			"content":[{"type":"output_text","text":"x","annotations":[
				{"type":"url_citation","url":"https://${1}.example/","title":"${2}"}]}]}`)
		synctest.Test(t, func(t *testing.T) {
			var stages []string
			c := &call.Call{Tool: "answer"}
			c.Sink = func(ev call.Event) {
				if _, ok := ev.(call.Search); ok {
					stage, what := Stage(ev)
					stages = append(stages, strings.TrimSpace(stage+" "+what))
				}
			}
			a, _ := newAnswerer(0, strings.Replace(body, "{", `{"status":"completed",`, 1))
			c.Began = time.Now()
			time.Sleep(time.Minute) // the call waits for a slot
			ans, err := a.Ask(t.Context(), c, Question{Query: "?"})
			if err != nil {
				t.Fatal(err)
			}
			compare.Equal(t, "elapsed", ans.Meta.Elapsed, time.Minute)
			got := fmt.Sprint(ans.Meta.Searches)
			if !ans.UsedSearch {
				got += " not searched"
			}
			for _, cited := range ans.Citations {
				got += " " + cited.URL
				if cited.Title != "" {
					got += fmt.Sprintf(" %q", cited.Title)
				}
				if !cited.IsAccessDate {
					got += " " + cited.PublishedAt
				}
			}
			got += "; " + strings.Join(stages, ", ")
			compare.Equal(t, "answer", strings.TrimSpace(got), row[2])
		})
	})
}

// A page that says nothing else has the date on which the question was asked, after the wait for a
// slot. A date is in the future once no time zone has that day.
func TestDates(t *testing.T) {
	body := `{"status":"completed","output":[{"type":"web_search_call","status":"completed",
		"action":{"type":"search","sources":[{"url":"https://a.example/"},{"url":"https://b.example/"}]}},` +
		message("", "x\n\nSources:\n- https://a.example/ (published 2025-08-09)\n- https://b.example/ (2025-08-10)") + `]}`
	synctest.Test(t, func(t *testing.T) { // the clock of newAnswerer: 2025-08-08 15:30 UTC
		a, _ := newAnswerer(0, body, body)
		a.options.Location = time.FixedZone("America/Los_Angeles", -8*60*60)
		began := time.Now()
		for _, want := range []string{"2025-08-09 2025-08-08", "2025-08-09 2025-08-09"} {
			ans, err := a.Ask(t.Context(), &call.Call{Tool: "answer", Began: began}, Question{Query: "?"})
			if err != nil {
				t.Fatal(err)
			}
			got := ans.Citations[0].PublishedAt + " " + ans.Citations[1].PublishedAt
			compare.Equal(t, "dates", got, want)
			time.Sleep(17 * time.Hour)
		}
	})
}
