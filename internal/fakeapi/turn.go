package fakeapi

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// object is a JSON object of the API, such as an event.
type object = map[string]any

// samples has a finished response without its output, the output by the name of a turn, and the
// words in it by language. An item has the prefix of its id. The cited pages are on hosts that RFC
// 2606 reserves for examples.
//
//go:embed samples.json
var samples string

// question is the last user message, without the hints that the client appends.
func (x *exchange) question() string {
	message := x.body.Get(`input.@reverse.#(role=="user").content.0.text`).String()
	question, _, _ := strings.Cut(message, "\n[Hints]")
	return strings.TrimSpace(question)
}

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
	final := []byte(gjson.Get(samples, "response").Raw)
	set := func(path string, v any) {
		final, _ = sjson.SetBytes(final, path, v) // the paths are valid
	}

	model := x.body.Get("model").String()
	set("id", x.id("resp"))
	set("created_at", time.Now().Unix())
	set("model", strings.Replace(model, "gpt-5.2", "gpt-5.2-2025-12-11", 1))

	searches := 0 // the API does not bill the pages that are opened
	for _, item := range x.turn() {
		if item.Get("type").Str == "reasoning" && !x.includes("reasoning.encrypted_content") {
			continue // the client asks for it where the model reasons
		}
		if item.Get("action.type").Str == "search" {
			searches++
		}
		set("output.-1", json.RawMessage(x.item(item)))
	}
	set("tool_usage.web_search.num_requests", searches)
	return final
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

var japaneseText = regexp.MustCompile(`[\p{Hiragana}\p{Katakana}\p{Han}]`)

// turn returns the output of the turn, in the language of the question.
func (x *exchange) turn() []gjson.Result {
	title := text.Truncate(text.OneLine(x.question()), 80)
	question := string(encode(title))
	language := "english"
	if japaneseText.MatchString(question) {
		language = "japanese"
	}

	inner := func(quoted string) string {
		return quoted[1 : len(quoted)-1]
	}
	turn := cmp.Or(x.step.Turn, x.judge())
	output := gjson.Get(samples, turn).Raw
	for word, translation := range gjson.Get(samples, language).Map() {
		output = strings.ReplaceAll(output, word, inner(translation.Raw))
	}
	output = strings.ReplaceAll(output, "$QUESTION", inner(question)) // last: it may have any words
	return gjson.Parse(output).Array()
}

// item completes an item of the output: its id, and what the request asks for.
func (x *exchange) item(sample gjson.Result) string {
	item := sample.Raw
	set := func(path string, v any) {
		item, _ = sjson.Set(item, path, v) // the paths are valid
	}
	set("id", x.id(sample.Get("id").Str))

	switch sample.Get("type").Str {
	case "reasoning":
		set("encrypted_content", x.id("gAAAAAB"))
		if !x.body.Get("reasoning.summary").Exists() {
			set("summary", []object{})
		}
	case "web_search_call":
		if !x.includes("web_search_call.action.sources") {
			item, _ = sjson.Delete(item, "action.sources")
		}
	}
	return item
}
