package fakeapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// object is a JSON object of the API, such as an output item.
type object = map[string]any

// page is a page that an answer cites, on a host that RFC 2606 reserves for examples.
type page struct{ host, url, title string }

var docs = page{
	host:  "example.com",
	url:   "https://example.com/docs/web-search",
	title: "Example documentation: web search",
}

func (p page) source() object { return object{"type": "url", "url": p.url} }

// question is the last user message, without the hints that the client appends.
func (x *exchange) question() string {
	message := x.body.Get(`input.@reverse.#(role=="user").content.0.text`).String()
	question, _, _ := strings.Cut(message, "\n[Hints]")
	return strings.TrimSpace(question)
}

// title is the beginning of the question on one line.
func (x *exchange) title() string { return text.Truncate(text.OneLine(x.question()), 80) }

// includes reports whether the request asks for an element of include.
func (x *exchange) includes(element string) bool {
	return x.body.Get(`include.#(=="` + element + `")`).Exists()
}

// id returns the next id, such as msg_0ff11e0000010002.
func (x *exchange) id(prefix string) string {
	x.ids++
	return fmt.Sprintf("%s_0ff11e%06x%04x", prefix, x.n, x.ids)
}

// response returns the finished response.
func (x *exchange) response() []byte {
	output := x.turn(cmp.Or(x.step.Turn, x.judge()))
	model := x.body.Get("model").String()
	// The API bills searches, not the pages that are opened.
	searches := strings.Count(string(encode(output)), `"type":"search"`)

	return encode(object{
		"id":                 x.id("resp"),
		"object":             "response",
		"created_at":         time.Now().Unix(),
		"model":              strings.Replace(model, "gpt-5.2", "gpt-5.2-2025-12-11", 1),
		"status":             "completed",
		"error":              nil,
		"incomplete_details": nil,
		"output":             output,
		"tool_usage":         object{"web_search": object{"num_requests": searches}},
		"usage": json.RawMessage(`{"input_tokens":1200,"input_tokens_details":{"cached_tokens":0},
			"output_tokens":300,"output_tokens_details":{"reasoning_tokens":64},"total_tokens":1500}`),
	})
}

// A model searches for what it cannot know. Words are whole words: "knowledge" does not contain
// "now".
var aboutNews = regexp.MustCompile(
	`(?i)\b(today|now|current(ly)?|latest|newest|recent(ly)?|this (week|month|year)|` +
		`yesterday|tomorrow|weather|forecast|prices?|news|version|released?|search)\b|` +
		`今日|本日|明日|昨日|現在|最新|最近|天気|気温|降水|価格|ニュース|検索`)

// judge returns the turn of a model: it searches for what changes from day to day, if it is offered
// a search, and answers the rest.
func (x *exchange) judge() string {
	canSearch := x.body.Get(`tools.#(type=="web_search")`).Exists()
	if canSearch && aboutNews.MatchString(x.question()) {
		return "search"
	}
	return "ok"
}

// turn returns what the model says, by the word of a step.
func (x *exchange) turn(name string) []object {
	switch name {
	case "search":
		open := x.search()
		open["action"] = object{"type": "open_page", "url": docs.url}
		first := x.thought(x.search(docs.source()))
		return append(first, x.thought(open, x.said(&docs))...)
	case "uncited":
		return x.thought(x.search(), x.said(nil)) // The sources are null, as the API sends them.
	}
	return x.thought(x.said(nil))
}

// thought puts a reasoning item before the others if the model reasons: the client asks for the
// encrypted content of models that do.
func (x *exchange) thought(then ...object) []object {
	if !x.includes("reasoning.encrypted_content") {
		return then
	}

	item := object{
		"id":                x.id("rs"),
		"type":              "reasoning",
		"summary":           []object{},
		"encrypted_content": x.id("gAAAAAB"),
	}
	if x.body.Get("reasoning.summary").Exists() {
		summary := "**Answering offline**\n\nNo API was asked."
		item["summary"] = []object{{"type": "summary_text", "text": summary}}
	}
	return append([]object{item}, then...)
}

// search is the call of a search, with its sources if the request asks for them.
func (x *exchange) search(sources ...object) object {
	query := x.title()
	action := object{
		"type":    "search",
		"query":   query,
		"queries": []string{query},
	}
	if x.includes("web_search_call.action.sources") {
		action["sources"] = sources
	}
	return object{
		"id":     x.id("ws"),
		"type":   "web_search_call",
		"status": "completed",
		"action": action,
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

var japaneseText = regexp.MustCompile(`[\p{Hiragana}\p{Katakana}\p{Han}]`)

// said is the message of an answer, in the language of the question. It cites a page, if there is
// one, as the API does: a link in the text, and an annotation of its span, counted in characters.
func (x *exchange) said(cited *page) object {
	question := x.title()
	words := english
	if japaneseText.MatchString(question) {
		words = japanese
	}

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

	part := object{
		"type":        "output_text",
		"annotations": annotations,
		"text":        answer + words.advice,
	}
	return object{
		"id":      x.id("msg"),
		"type":    "message",
		"status":  "completed",
		"role":    "assistant",
		"content": []object{part},
	}
}
