package main_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
)

// said is an output item: a message with a text and its annotations, as JSON.
func said(text, annotations string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return `{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":` +
		string(b) + `,"annotations":` + annotations + `}]}`
}

// phase adds a phase to an item.
func phase(name, item string) string {
	return strings.Replace(item, `{"type":"message"`, `{"type":"message","phase":"`+name+`"`, 1)
}

const (
	searchWeather = `{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q","sources":[{"type":"api","name":"oai-weather"},{"type":"url","url":"https://a.example/1"}]}}`
	searchNull    = `{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q","sources":null}}`
	searchPages   = `{"type":"web_search_call","id":"ws_1","action":{"type":"search","queries":["q"],"sources":[{"type":"url","url":"https://a.example/1?utm_source=openai"},{"type":"url","url":"https://a.example/2#:~:text=x"},{"type":"url","url":"https://a.example/1"},{"type":"url","url":"https://a.example/3"},{"type":"url","url":"https://a.example/4"}]}}`
	citeOne       = `[{"type":"url_citation","url":"https://a.example/1?utm_source=openai","title":"One","start_index":0,"end_index":1}]`
	citeThree     = `[{"type":"url_citation","url":"https://a.example/1"},{"type":"url_citation","url":"https://a.example/2"},{"type":"url_citation","url":"https://a.example/3"}]`
	citeTwice     = `[{"type":"url_citation","url":"https://b.example/?x=1&utm_source=openai","title":"B"},{"type":"url_citation","url":"https://a.example/1","title":"A"},{"type":"url_citation","url":"https://b.example/?x=1"}]`
)

// What becomes of what the API says (spec §3.2 to §3.5). DATE stands
// for today's.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		output []string
		answer string
		cited  []string
		search bool
	}{
		{"plain", []string{said("Text.", "[]")}, "Text.", nil, false},
		{"annotations null", []string{said("Text.", "null")}, "Text.", nil, false},
		{"two messages", []string{said("One.", "[]"), said("Two.", "[]")}, "One.\n\nTwo.", nil, false},
		{"phases", []string{phase("commentary", said("Looking.", "[]")), phase("final_answer", said("Text.", "[]"))}, "Text.", nil, false},
		{"a phase that is null", []string{strings.Replace(said("Text.", "[]"), `"role"`, `"phase":null,"role"`, 1)}, "Text.", nil, false},
		{"refusal", []string{`{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"I cannot."}]}`}, "I cannot.", nil, false},
		{"markers", []string{said("It rains.\ue200cite\ue202turn0search0\ue201 Still.", "[]")}, "It rains. Still.", nil, false},
		{"a model's list without a search", []string{said("Text.\n\nSources:\n- a book", "[]")}, "Text.\n\nSources:\n- a book", nil, false},
		{"unknown items", []string{`{"type":"future_thing","x":[1]}`, `{"type":"reasoning","summary":[]}`, said("Text.", "[]")}, "Text.", nil, false},
		{"types that are odd", []string{`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Text.","annotations":[{"type":"file_citation"},null,42,{"type":"url_citation","url":null}]}],"id":7}`}, "Text.", nil, true},

		{"citation", []string{searchNull, said("Text.", citeOne)}, "Text.\n\nSources:\n- https://a.example/1 (DATE)", []string{"https://a.example/1"}, true},
		{"citation without a search call", []string{said("Text.", citeOne)}, "Text.\n\nSources:\n- https://a.example/1 (DATE)", []string{"https://a.example/1"}, true},
		{"citations in order, each page once", []string{searchNull, said("Text.", citeTwice)},
			"Text.\n\nSources:\n- https://b.example/?x=1 (DATE)\n- https://a.example/1 (DATE)", []string{"https://b.example/?x=1", "https://a.example/1"}, true},
		{"sources when nothing is cited", []string{searchPages, said("Text.", "[]")},
			"Text.\n\nSources:\n- https://a.example/1 (DATE)\n- https://a.example/2 (DATE)\n- https://a.example/3 (DATE)",
			[]string{"https://a.example/1", "https://a.example/2", "https://a.example/3"}, true},
		{"a source without a URL", []string{searchWeather, said("Rain.", "[]")},
			"Rain.\n\nSources:\n- oai-weather (DATE)\n- https://a.example/1 (DATE)", []string{"oai-weather", "https://a.example/1"}, true},
		{"a source without a URL beside a citation", []string{searchWeather, said("Rain.", citeTwice)},
			"Rain.\n\nSources:\n- https://b.example/?x=1 (DATE)\n- https://a.example/1 (DATE)\n- oai-weather (DATE)",
			[]string{"https://b.example/?x=1", "https://a.example/1", "oai-weather"}, true},
		{"a source without a URL in the last place", []string{searchWeather, searchPages, said("Rain.", citeThree)},
			"Rain.\n\nSources:\n- https://a.example/1 (DATE)\n- https://a.example/2 (DATE)\n- oai-weather (DATE)",
			[]string{"https://a.example/1", "https://a.example/2", "oai-weather"}, true},
		{"a search that found nothing", []string{searchNull, said("Text.", "[]")}, "Text.", nil, true},
		{"a search without an action", []string{`{"type":"web_search_call"}`, said("Text.", "[]")}, "Text.", nil, true},

		{"the model's dated list stays", []string{searchNull, said("Text.\n\n## Sources\n- One (2025-08-09): https://a.example/1", citeOne)},
			"Text.\n\n## Sources\n- One (2025-08-09): https://a.example/1", []string{"https://a.example/1"}, true},
		{"the model's undated list goes", []string{searchNull, said("Text.\n\n**Sources**\n- https://a.example/1", citeOne)},
			"Text.\n\nSources:\n- https://a.example/1 (DATE)", []string{"https://a.example/1"}, true},
		{"a Japanese list goes as well", []string{searchNull, said("本文。\n\n出典:\n- https://a.example/1", citeOne)},
			"本文。\n\nSources:\n- https://a.example/1 (DATE)", []string{"https://a.example/1"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t)
			a.Queue(fakeapi.Body(200, "application/json",
				`{"id":"resp_1","object":"response","status":"completed","model":"gpt-5.2-2025-12-11","output":[`+strings.Join(tt.output, ",")+`]}`))
			c := begin(t, setup{api: a})
			c.line(ask("1", "x"))
			got := c.want("1").answered(t)
			c.done()
			var cited []string
			date := "none"
			for _, s := range got.Citations {
				cited = append(cited, s.URL)
				date = today(t, s.PublishedAt)
			}
			if diff := cmp.Diff(tt.cited, cited); diff != "" {
				t.Errorf("cited (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.answer, strings.ReplaceAll(got.Answer, "("+date+")", "(DATE)")); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if got.UsedSearch != tt.search || got.Model != "gpt-5.2" {
				t.Errorf("used_search = %t, model %s; want %t, gpt-5.2", got.UsedSearch, got.Model, tt.search)
			}
		})
	}
}

// A date that the source gives is the one that is shown (spec §3.5).
func TestPublishedAt(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.Queue(fakeapi.Body(200, "application/json", `{"id":"resp_1","status":"completed","output":[`+
		`{"type":"web_search_call","action":{"type":"search","sources":[{"type":"url","url":"https://a.example/1","title":"One","published_at":"2025-03-04T05:06:07Z"}]}},`+
		said("Text.", citeOne)+`]}`))
	c := begin(t, setup{api: a})
	c.line(ask("1", "x"))
	got := c.want("1").answered(t)
	if diff := cmp.Diff([]citation{{"https://a.example/1", "One", "2025-03-04"}}, got.Citations); diff != "" {
		t.Errorf("citations (-want +got):\n%s", diff)
	}
	if want := "Text.\n\nSources:\n- https://a.example/1 (2025-03-04)"; got.Answer != want {
		t.Errorf("answer %q, want %q", got.Answer, want)
	}
	c.done()
}

// An answer that was cut short is one, and says so on its last line.
func TestIncomplete(t *testing.T) {
	t.Parallel()
	c := begin(t, setup{api: newAPI(t, "incomplete", "incomplete:content_filter")})
	for _, reason := range []string{"max_output_tokens", "content_filter"} {
		c.line(ask("1", "HTTP 404"))
		got := c.want("1").answered(t)
		text, last, _ := strings.Cut(got.Answer, "\n\n[incomplete: ")
		if text == "" || last != reason+"]" {
			t.Errorf("answer %q, want a text and a last line [incomplete: %s]", got.Answer, reason)
		}
	}
	c.done()
}

// With policy.requery_attempts the model is asked again in the same
// conversation when nothing can be cited.
func TestRequery(t *testing.T) {
	t.Parallel()
	for attempts, requests := range map[string]int{"0": 1, "1": 2} {
		c := begin(t, setup{api: newAPI(t, "uncited", "search"), env: []string{"REQUERY_ATTEMPTS=" + attempts}})
		c.line(ask("1", "latest news"))
		got := c.want("1").answered(t)
		c.count(requests)
		if !got.UsedSearch || len(got.Citations) > 0 != (requests == 2) {
			t.Errorf("%s attempts: %+v", attempts, got)
		}
		if requests == 2 {
			items, _ := c.api.body(t, 2)["input"].([]any)
			if len(items) < 4 { // question, reasoning, search, message, and the second question
				t.Errorf("the second request sends %d items back, want the whole conversation", len(items))
			}
		}
		c.done()
	}
}
