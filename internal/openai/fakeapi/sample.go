package fakeapi

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// samples contains a finished response without its output, the outputs by the name of a sample, and
// the words in the outputs by language. The id of an item is only a prefix, for ID. The cited pages
// are on hosts that RFC 2606 reserves for examples.
//
//go:embed samples.json
var samples string

// Response returns the finished response to a request, with everything that a request can ask for.
// sample names its output in samples: "ok", "search" or "uncited"; "": chooseSample chooses one.
func Response(request gjson.Result, sample string) []byte {
	final := gjson.Get(samples, "response").Raw
	set := func(path string, v any) {
		final, _ = sjson.Set(final, path, v) // the paths are valid
	}

	set("id", ID("resp"))
	set("created_at", time.Now().Unix())
	set("model", request.Get("model").String())
	for _, item := range output(request, sample) {
		raw, _ := sjson.Set(item.Raw, "id", ID(item.Get("id").Str)) // the path is valid
		set("output.-1", json.RawMessage(raw))
	}
	return Encode(json.RawMessage(final)) // on one line
}

// question returns the last user message, without the hints that package answer appends.
func question(request gjson.Result) string {
	message := request.Get(`input.@reverse.#(role=="user").content.0.text`).String()
	question, _, _ := strings.Cut(message, "\n[Hints]")
	return strings.TrimSpace(question)
}

// ID returns a new id, such as msg_0ff11e00c2a1b8f3d4.
func ID(prefix string) string {
	return fmt.Sprintf("%s_0ff11e%010x", prefix, rand.Uint64N(1<<40))
}

// aboutNews matches a question about things that a model cannot know without a search. It matches
// whole words: "now" does not match in "knowledge".
var aboutNews = text.LazyRegexp(
	`(?i)\b(today|now|current(ly)?|latest|newest|recent(ly)?|this (week|month|year)|` +
		`yesterday|tomorrow|weather|forecast|prices?|news|version|released?|search)\b|` +
		`今日|本日|明日|昨日|現在|最新|最近|天気|気温|降水|価格|ニュース|検索`)

// chooseSample returns "search" for a question about what changes from day to day, if the request
// offers a search, and otherwise "ok".
func chooseSample(request gjson.Result) string {
	canSearch := request.Get(`tools.#(type!="function")`).Exists() // search.extra may have another type
	if canSearch && aboutNews().MatchString(question(request)) {
		return "search"
	}
	return "ok"
}

var japaneseText = text.LazyRegexp(`[\p{Hiragana}\p{Katakana}\p{Han}]`)

// output returns the items of a sample, in the language of the question.
func output(request gjson.Result, sample string) []gjson.Result {
	title := text.Truncate(text.OneLine(question(request)), 80)
	quoted := string(Encode(title))
	language := "english"
	if japaneseText().MatchString(quoted) {
		language = "japanese"
	}

	unquote := func(quoted string) string {
		return quoted[1 : len(quoted)-1]
	}
	words := map[string]string{"QUESTION": unquote(quoted)}
	for word, translation := range gjson.Get(samples, language).Map() {
		words[word] = unquote(translation.Raw)
	}
	template := gjson.Get(samples, cmp.Or(sample, chooseSample(request))).Raw
	return gjson.Parse(text.Expand(template, words)).Array()
}
