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

// page is a page that an answer cites, on a host that RFC 2606 reserves for examples.
type page struct{ host, url, title string }

var (
	docs     = page{"example.com", "https://example.com/docs/web-search", "Example documentation: web search"}
	forecast = page{"example.org", "https://example.org/weather/forecast", "Example weather forecast"}
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

// respond answers POST /responses.
func (x *exchange) respond() {
	for _, param := range x.step.refuses {
		if value := x.req.Get(param); value.Exists() && value.Type != gjson.False {
			e := apiErrors[x.step.refusal]
			e.Param, e.Message = param, fmt.Sprintf(e.Message, param)
			x.fail(e)
			return
		}
	}
	final := x.step.response
	if final == nil {
		final = x.response()
	}
	if !x.req.Get("stream").Bool() {
		x.send(http.StatusOK, "application/json", final)
		return
	}
	stream := events(gjson.ParseBytes(final))
	if e, isFailure := apiErrors[x.step.failure]; isFailure {
		stream = append(stream[:2], object{"type": "error", "error": e})
	}
	x.stream(stream)
}

// response is the finished response.
func (x *exchange) response() []byte {
	output, status := turns[cmp.Or(x.step.what, x.req.judge())](&x.req), cmp.Or(x.step.status, "completed")
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
		e := apiErrors["500"]
		f["output"], f["usage"], f["error"] = []object{}, nil, object{"code": e.Code, "message": e.Message}
	case "incomplete":
		f["incomplete_details"] = object{"reason": "max_output_tokens"}
	}
	return encode(f)
}

// A model searches for what it cannot know. Words are whole words: "knowledge" does not contain "now".
var (
	aboutWeather = regexp.MustCompile(`(?i)\b(weather|forecast)\b|天気|気温|降水`)
	aboutNews    = regexp.MustCompile(`(?i)\b(today|now|current(ly)?|latest|newest|recent(ly)?|this (week|month|year)|` +
		`yesterday|tomorrow|prices?|news|version|released?|search)\b|今日|本日|明日|昨日|現在|最新|最近|価格|ニュース|検索`)
)

// judge returns the turn of a model: it searches for what changes from day to day, if it is offered
// a search, and answers the rest.
func (r *request) judge() string {
	offered := r.Get(`tools.#(type=="web_search")`).Exists()
	switch q := r.question(); {
	case offered && aboutWeather.MatchString(q):
		return "weather"
	case offered && aboutNews.MatchString(q):
		return "search"
	}
	return "ok"
}

// turns are what the model says, by the word of a step.
var turns = map[string]func(*request) []object{
	"ok": func(r *request) []object { return r.thought(r.answer(nil)) },
	// One source is the API's own feed, which has no URL.
	"weather": func(r *request) []object {
		return r.thought(r.search(object{"type": "api", "name": "oai-weather"}, forecast.source()), r.answer(&forecast))
	},
	// After the search the model opens a page.
	"search": func(r *request) []object {
		open := r.search()
		open["action"] = object{"type": "open_page", "url": docs.url}
		return append(r.thought(r.search(docs.source())), r.thought(open, r.answer(&docs))...)
	},
	// The sources are null, as the API sends them.
	"uncited": func(r *request) []object { return r.thought(r.search(), r.answer(nil)) },
	"phases": func(r *request) []object {
		first, last := r.message(object{"type": "output_text", "text": "Offline: looking this up."}), r.answer(&docs)
		first["phase"], last["phase"] = "commentary", "final_answer"
		return r.thought(first, r.search(docs.source()), last)
	},
	"refusal": func(r *request) []object {
		return r.thought(r.message(object{"type": "refusal", "refusal": "I can't help with that. (Offline: no API was asked.)"}))
	},
	"empty": func(r *request) []object { return r.thought() },
}

// thought puts a reasoning item before the others if the model reasons: the client asks for the
// encrypted content of models that do.
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
func (r *request) search(sources ...object) object {
	q := text.Truncate(text.OneLine(r.question()), 60)
	a := object{"type": "search", "query": q, "queries": []string{q}}
	if r.includes("web_search_call.action.sources") {
		a["sources"] = sources
	}
	return object{"id": r.id("ws"), "type": "web_search_call", "status": "completed", "action": a}
}

func (r *request) message(part object) object {
	return object{"id": r.id("msg"), "type": "message", "status": "completed", "role": "assistant", "content": []object{part}}
}

// answer is the message of an answer, in the language of the question. It cites a page, if there is
// one, as the API does: a link in the text, and an annotation of its span, counted in characters.
func (r *request) answer(cited *page) object {
	q := text.Truncate(text.OneLine(r.question()), 80)
	lead, sample, last := "This is an **offline answer**: no API was asked.",
		"The search and its sources are samples; a real answer rests on pages like this one. ",
		"Set an API key and leave out `--offline` for a real answer."
	if strings.ContainsFunc(q, func(c rune) bool { return unicode.In(c, unicode.Hiragana, unicode.Katakana, unicode.Han) }) {
		lead, sample, last = "**オフラインの回答**です。API には問い合わせていません。",
			"検索の結果も引用も見本です。実際の回答はこのようなページに基づきます。",
			"API キーを設定し `--offline` を外すと、実際の回答が得られます。"
	}
	answer, annotations := lead+"\n\n> "+q+"\n\n", []object{}
	if cited != nil {
		url := cited.url + "?utm_source=openai" // The API appends it to the pages that it cites.
		link := "([" + cited.host + "](" + url + "))"
		answer += sample
		start := utf8.RuneCountInString(answer)
		annotations = []object{{
			"type": "url_citation", "title": cited.title, "url": url,
			"start_index": start, "end_index": start + utf8.RuneCountInString(link),
		}}
		answer += link + "\n\n"
	}
	return r.message(object{"type": "output_text", "annotations": annotations, "logprobs": []object{}, "text": answer + last})
}
