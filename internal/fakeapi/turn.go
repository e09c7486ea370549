package fakeapi

import (
	"cmp"
	"fmt"
	"net/http"
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

// The cited pages are on hosts that RFC 2606 reserves for examples.
const (
	docsURL    = "https://example.com/docs/web-search"
	docsTitle  = "Example documentation: web search"
	weatherURL = "https://example.org/weather/forecast"
	tracked    = "?utm_source=openai" // The API appends it to the pages that it cites.
)

// A model searches for what it cannot know. Words are whole words: "knowledge"
// does not contain "now".
var (
	aboutWeather = regexp.MustCompile(`(?i)\b(weather|forecast)\b|天気|気温|降水`)
	aboutNews    = regexp.MustCompile(`(?i)\b(today|tonight|now|current|currently|latest|newest|recent|recently|` +
		`this (week|month|year)|yesterday|tomorrow|prices?|stock|exchange rate|news|headlines|version|released?|` +
		`score|schedule|search)\b|今日|本日|明日|昨日|今週|今月|今年|現在|最新|最近|価格|株価|為替|ニュース|速報|バージョン|リリース|検索`)
)

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

// respond answers POST /responses.
func (x *exchange) respond() {
	for _, param := range x.step.refuses {
		if value := x.req.Get(param); value.Exists() && value.Type != gjson.False {
			x.fail(x.step.refusal(param))
			return
		}
	}
	stream := x.req.Get("stream").Bool()
	final := gjson.ParseBytes(x.step.response)
	if !final.Exists() {
		final = gjson.ParseBytes(x.response())
	}
	switch e := failure(x.step.code); {
	case x.step.status == "error" && !stream:
		x.fail(e)
	case x.step.status == "error":
		x.stream(append(begin(final), object{"type": "error", "error": e})...)
	case stream:
		x.stream(append(append(begin(final), items(final)...), end(final))...)
	default:
		x.body(http.StatusOK, "application/json", []byte(final.Raw))
	}
}

// response is the finished response.
func (x *exchange) response() []byte {
	say := x.step.say
	if say == nil {
		say = judge
	}
	output, status := say(&x.req), cmp.Or(x.step.status, "completed")
	model := strings.Replace(x.req.Get("model").String(), "gpt-5.2", "gpt-5.2-2025-12-11", 1)
	// The API bills searches, not the pages that are opened.
	searches := strings.Count(string(encode(output)), `"type":"search"`)
	f := object{
		"id": x.req.id("resp"), "object": "response", "created_at": time.Now().Unix(), "model": model, "status": status,
		"error": nil, "incomplete_details": nil, "metadata": object{}, "output": output,
		"tool_usage": object{"web_search": object{"num_requests": searches}},
		"usage": object{
			"input_tokens": 1200, "input_tokens_details": object{"cached_tokens": 0},
			"output_tokens": 300, "output_tokens_details": object{"reasoning_tokens": 64}, "total_tokens": 1500,
		},
	}
	switch status {
	case "failed":
		e := failure("server_error")
		f["output"], f["usage"], f["error"] = []object{}, nil, object{"code": e.Code, "message": e.Message}
	case "incomplete":
		f["incomplete_details"] = object{"reason": "max_output_tokens"}
	}
	return encode(f)
}

// says are the words of a step for what the model says.
var says = map[string]func(*request) []object{
	"ok": plain, "search": searched, "weather": weather, "uncited": uncited, "phases": phases, "refusal": declined,
	"empty": func(r *request) []object { return r.thought() },
}

// judge is what a model does: it searches for what changes from day to day, if
// it is offered a search, and answers the rest.
func judge(r *request) []object {
	q, offered := r.question(), r.Get(`tools.#(type=="web_search")`).Exists()
	switch {
	case offered && aboutWeather.MatchString(q):
		return weather(r)
	case offered && aboutNews.MatchString(q):
		return searched(r)
	}
	return plain(r)
}

func plain(r *request) []object { return r.thought(message(r, words(r, ""))) }

// weather answers from the API's own feed, which has no URL, and from a page.
func weather(r *request) []object {
	return r.thought(search(r, object{"type": "api", "name": "oai-weather"}, object{"type": "url", "url": weatherURL}),
		cited(r, weatherURL, "Example weather forecast"))
}

// searched answers after a search and a look at one page.
func searched(r *request) []object {
	open := search(r)
	open["action"] = object{"type": "open_page", "url": docsURL}
	first := r.thought(search(r, object{"type": "url", "url": docsURL}, object{"type": "url", "url": "https://example.org/guide"}))
	return append(first, r.thought(open, cited(r, docsURL, docsTitle))...)
}

// uncited searches and cites nothing; its sources are null, as the API sends them.
func uncited(r *request) []object { return r.thought(search(r), message(r, words(r, ""))) }

// phases says what it will do before it gives the answer.
func phases(r *request) []object {
	first, last := message(r, "Offline: looking this up."), cited(r, docsURL, docsTitle)
	first["phase"], last["phase"] = "commentary", "final_answer"
	return r.thought(first, search(r, object{"type": "url", "url": docsURL}), last)
}

// declined answers with a refusal, which is a part of its own type.
func declined(r *request) []object {
	m := message(r, "")
	m["content"] = []object{{"type": "refusal", "refusal": "I can't help with that. (Offline: no API was asked.)"}}
	return r.thought(m)
}

// thought puts a reasoning item before the others if the model reasons: the
// client asks for the encrypted content of models that do.
func (r *request) thought(then ...object) []object {
	if !r.includes("reasoning.encrypted_content") {
		return then
	}
	it := object{"id": r.id("rs"), "type": "reasoning", "summary": []object{}, "encrypted_content": r.id("gAAAAAB")}
	if r.Get("reasoning.summary").Exists() {
		it["summary"] = []object{{"type": "summary_text", "text": "**Answering offline**\n\nNo API was asked."}}
	}
	return append([]object{it}, then...)
}

// search is the call of a search, with its sources if the request asks for them.
func search(r *request, sources ...object) object {
	q := text.Truncate(text.OneLine(r.question()), 60)
	a := object{"type": "search", "query": q, "queries": []string{q}}
	if r.includes("web_search_call.action.sources") {
		a["sources"] = sources
	}
	return object{"id": r.id("ws"), "type": "web_search_call", "status": "completed", "action": a}
}

// cited is an answer that cites a page as the API does: a link in the text, and
// an annotation of its span, counted in characters.
func cited(r *request, page, title string) object {
	host, _, _ := strings.Cut(strings.TrimPrefix(page, "https://"), "/")
	link := "([" + host + "](" + page + tracked + "))"
	answer := words(r, link)
	before, _, _ := strings.Cut(answer, link)
	start := utf8.RuneCountInString(before)
	m := message(r, answer)
	m["content"].([]object)[0]["annotations"] = []object{{
		"type": "url_citation", "title": title, "url": page + tracked,
		"start_index": start, "end_index": start + utf8.RuneCountInString(link),
	}}
	return m
}

// message is a message of one text.
func message(r *request, answer string) object {
	part := object{"type": "output_text", "annotations": []object{}, "logprobs": []object{}, "text": answer}
	return object{"id": r.id("msg"), "type": "message", "status": "completed", "role": "assistant", "content": []object{part}}
}

// words is the text of an answer, in the language of the question.
func words(r *request, link string) string {
	q := text.Truncate(text.OneLine(r.question()), 80)
	japanese := func(c rune) bool { return unicode.In(c, unicode.Hiragana, unicode.Katakana, unicode.Han) }
	if strings.ContainsFunc(q, japanese) {
		answer := "**オフラインの回答**です。API には問い合わせていません。\n\n> " + q + "\n\n"
		if link != "" {
			answer += "検索の結果も引用も見本です。実際の回答はこのようなページに基づきます " + link + "。\n\n"
		}
		return answer + "API キーを設定し `--offline` を外すと、実際の回答が得られます。\n\n| コマンド | 調べる深さ |\n" + depths
	}
	answer := "This is an **offline answer**: no API was asked.\n\n> " + q + "\n\n"
	if link != "" {
		answer += "The search and its sources are samples; a real answer rests on pages like this one " + link + ".\n\n"
	}
	return answer + "Set an API key and leave out `--offline` for a real answer.\n\n| Command | Effort |\n" + depths
}

// depths are the rows of a table about the tools.
const depths = "|---|---|\n| `ask --quick` | low |\n| `ask` | medium |\n| `ask --detailed` | high |"
