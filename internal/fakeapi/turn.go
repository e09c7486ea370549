package fakeapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// object is a JSON object of the API, such as an output item.
type object = map[string]any

// page is a page that an answer cites, on a host that RFC 2606 reserves for examples.
type page struct{ host, url, title string }

var (
	docs = page{
		host:  "example.com",
		url:   "https://example.com/docs/web-search",
		title: "Example documentation: web search",
	}
	forecast = page{
		host:  "example.org",
		url:   "https://example.org/weather/forecast",
		title: "Example weather forecast",
	}
)

func (p page) source() object { return object{"type": "url", "url": p.url} }

// request is the body of POST /responses.
type request struct {
	gjson.Result
	n   int // the number of the request
	ids int // how many ids its answer has
}

// question is the last user message, without the hints that the client appends.
func (r *request) question() string {
	message := r.Get(`input.@reverse.#(role=="user").content.0.text`).String()
	question, _, _ := strings.Cut(message, "\n[Hints]")
	return strings.TrimSpace(question)
}

// includes reports whether the request asks for an element of include.
func (r *request) includes(element string) bool {
	return r.Get(`include.#(=="` + element + `")`).Exists()
}

// id returns the next id, such as msg_0ff11e0000010002.
func (r *request) id(prefix string) string {
	r.ids++
	return fmt.Sprintf("%s_0ff11e%06x%04x", prefix, r.n, r.ids)
}

// usage is what every answer costs.
const usage = `{"input_tokens":1200,"input_tokens_details":{"cached_tokens":0},
	"output_tokens":300,"output_tokens_details":{"reasoning_tokens":64},"total_tokens":1500}`

// response returns the finished response.
func (x *exchange) response() []byte {
	turn := cmp.Or(x.step.behavior, x.req.judge())
	output := turns[turn](&x.req)
	status := cmp.Or(x.step.status, "completed")
	model := x.req.Get("model").String()
	// The API bills searches, not the pages that are opened.
	searches := strings.Count(string(encode(output)), `"type":"search"`)

	final := object{
		"id":                 x.req.id("resp"),
		"object":             "response",
		"created_at":         time.Now().Unix(),
		"model":              strings.Replace(model, "gpt-5.2", "gpt-5.2-2025-12-11", 1),
		"status":             status,
		"error":              nil,
		"incomplete_details": nil,
		"metadata":           object{},
		"output":             output,
		"tool_usage":         object{"web_search": object{"num_requests": searches}},
		"usage":              json.RawMessage(usage),
	}
	switch status {
	case "failed":
		_, e := errorNamed("500", "")
		final["output"] = []object{}
		final["usage"] = nil
		final["error"] = object{"code": e.Code, "message": e.Message}
	case "incomplete":
		final["incomplete_details"] = object{"reason": "max_output_tokens"}
	}
	return encode(final)
}

// A model searches for what it cannot know. Words are whole words: "knowledge" does not contain
// "now".
var (
	aboutWeather = regexp.MustCompile(`(?i)\b(weather|forecast)\b|天気|気温|降水`)
	aboutNews    = regexp.MustCompile(
		`(?i)\b(today|now|current(ly)?|latest|newest|recent(ly)?|this (week|month|year)|` +
			`yesterday|tomorrow|prices?|news|version|released?|search)\b|` +
			`今日|本日|明日|昨日|現在|最新|最近|価格|ニュース|検索`)
)

// judge returns the turn of a model: it searches for what changes from day to day, if it is offered
// a search, and answers the rest.
func (r *request) judge() string {
	question := r.question()
	switch {
	case !r.Get(`tools.#(type=="web_search")`).Exists():
		return "ok"
	case aboutWeather.MatchString(question):
		return "weather"
	case aboutNews.MatchString(question):
		return "search"
	}
	return "ok"
}

// turns are what the model says, by the word of a step.
var turns = map[string]func(*request) []object{
	"ok": func(r *request) []object {
		return r.thought(r.answer(nil))
	},

	// One source is the API's own feed, which has no URL.
	"weather": func(r *request) []object {
		feed := object{"type": "api", "name": "oai-weather"}
		return r.thought(r.search(feed, forecast.source()), r.answer(&forecast))
	},

	// After the search the model opens a page.
	"search": func(r *request) []object {
		open := r.search()
		open["action"] = object{"type": "open_page", "url": docs.url}
		first := r.thought(r.search(docs.source()))
		return append(first, r.thought(open, r.answer(&docs))...)
	},

	// The sources are null, as the API sends them.
	"uncited": func(r *request) []object {
		return r.thought(r.search(), r.answer(nil))
	},

	"phases": func(r *request) []object {
		comment := r.message(object{"type": "output_text", "text": "Offline: looking this up."})
		comment["phase"] = "commentary"
		answer := r.answer(&docs)
		answer["phase"] = "final_answer"
		return r.thought(comment, r.search(docs.source()), answer)
	},

	"refusal": func(r *request) []object {
		refusal := "I can't help with that. (Offline: no API was asked.)"
		return r.thought(r.message(object{"type": "refusal", "refusal": refusal}))
	},

	"empty": func(r *request) []object { return r.thought() },
}

// thought puts a reasoning item before the others if the model reasons: the client asks for the
// encrypted content of models that do.
func (r *request) thought(then ...object) []object {
	if !r.includes("reasoning.encrypted_content") {
		return then
	}

	item := object{
		"id":                r.id("rs"),
		"type":              "reasoning",
		"summary":           []object{},
		"encrypted_content": r.id("gAAAAAB"),
	}
	if r.Get("reasoning.summary").Exists() {
		summary := "**Answering offline**\n\nNo API was asked."
		item["summary"] = []object{{"type": "summary_text", "text": summary}}
	}
	return append([]object{item}, then...)
}

// search is the call of a search, with its sources if the request asks for them.
func (r *request) search(sources ...object) object {
	query := text.Truncate(text.OneLine(r.question()), 60)
	action := object{
		"type":    "search",
		"query":   query,
		"queries": []string{query},
	}
	if r.includes("web_search_call.action.sources") {
		action["sources"] = sources
	}
	return object{
		"id":     r.id("ws"),
		"type":   "web_search_call",
		"status": "completed",
		"action": action,
	}
}

func (r *request) message(part object) object {
	return object{
		"id":      r.id("msg"),
		"type":    "message",
		"status":  "completed",
		"role":    "assistant",
		"content": []object{part},
	}
}

// wording is the text of an answer in a language.
type wording struct {
	lead    string
	samples string // before the link to a page
	advice  string
}

var (
	english = wording{
		lead: "This is an **offline answer**: no API was asked.",
		samples: "The search and its sources are samples; " +
			"a real answer rests on pages like this one. ",
		advice: "Set an API key and leave out `--offline` for a real answer.",
	}
	japanese = wording{
		lead: "**オフラインの回答**です。API には問い合わせていません。",
		samples: "検索の結果も引用も見本です。" +
			"実際の回答はこのようなページに基づきます。",
		advice: "API キーを設定し `--offline` を外すと、実際の回答が得られます。",
	}
)

// wordingFor returns the texts in the language of a question.
func wordingFor(question string) wording {
	isJapanese := func(c rune) bool {
		return unicode.In(c, unicode.Hiragana, unicode.Katakana, unicode.Han)
	}
	if strings.ContainsFunc(question, isJapanese) {
		return japanese
	}
	return english
}

// answer is the message of an answer, in the language of the question. It cites a page, if there is
// one, as the API does: a link in the text, and an annotation of its span, counted in characters.
func (r *request) answer(cited *page) object {
	question := text.Truncate(text.OneLine(r.question()), 80)
	words := wordingFor(question)
	answer := words.lead + "\n\n> " + question + "\n\n"
	annotations := []object{}

	if cited != nil {
		url := cited.url + "?utm_source=openai" // The API appends it to the pages that it cites.
		link := "([" + cited.host + "](" + url + "))"
		answer += words.samples
		start := utf8.RuneCountInString(answer)
		annotations = append(annotations, object{
			"type":        "url_citation",
			"title":       cited.title,
			"url":         url,
			"start_index": start,
			"end_index":   start + utf8.RuneCountInString(link),
		})
		answer += link + "\n\n"
	}
	return r.message(object{
		"type":        "output_text",
		"annotations": annotations,
		"logprobs":    []object{},
		"text":        answer + words.advice,
	})
}
