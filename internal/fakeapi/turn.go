package fakeapi

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// object is a JSON object of the API, such as an output item.
type object = map[string]any

// The cited pages are on hosts that RFC 2606 reserves for examples.
const (
	docsURL    = "https://example.com/docs/web-search"
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
	reasoningModel = regexp.MustCompile(`^(gpt-([5-9]|[1-9][0-9])|o[134](-|$))`)
)

// request is the body of POST /responses.
type request struct {
	gjson.Result
	n int // the number of the request; ids in the answer differ by it
}

// question is the last user message, without the hints that the client appends.
func (r *request) question() string {
	var text string
	if in := r.Get("input"); in.Type == gjson.String {
		text = in.String()
	}
	for _, it := range r.Get(`input.#(role=="user")#`).Array() {
		if text = it.Get("content").String(); it.Get("content").IsArray() {
			text = it.Get("content.0.text").String()
		}
	}
	text, _, _ = strings.Cut(text, "\n[Hints]")
	return strings.TrimSpace(text)
}

// included returns the index of an element of include, or -1.
func (r *request) included(element string) int {
	return slices.IndexFunc(r.Get("include").Array(), func(e gjson.Result) bool { return e.String() == element })
}

// id returns an id such as msg_0ff11e…, the same one for the same name.
func (r *request) id(prefix, name string) string {
	sum := sha256.Sum256([]byte(prefix + name + strconv.Itoa(r.n)))
	return prefix + "_0ff11e" + hex.EncodeToString(sum[:])[:44]
}

// respond answers POST /responses.
func (x *exchange) respond() {
	stream := x.req.Get("stream").Bool()
	if e := x.refusal(); e != nil {
		x.fail(*e)
		return
	}
	if x.step.replay != nil {
		x.replay(x.step.replay[0], stream)
		return
	}
	say := x.step.say
	if say == nil {
		say = judge
	}
	e := failure(http.StatusBadRequest, x.step.reason)
	event := object{"type": "error", "error": e}
	final := x.response(say(&x.req), e)
	switch {
	case x.step.status == "error" && !stream:
		x.fail(e)
	case x.step.status == "error":
		x.stream(begin(final), event)
	case !stream:
		x.body(http.StatusOK, "application/json", final)
	case x.step.status == "failed" && x.step.reason == "insufficient_quota":
		x.stream(begin(final), event, end(final)) // as recorded from the API
	default:
		x.stream(begin(final), append(items(final), end(final))...)
	}
}

// replay answers with a recording, streamed if the request asks for it.
func (x *exchange) replay(rec recording, stream bool) {
	switch {
	case stream && rec.payloads != nil:
		x.sendEvents(rec.payloads)
	case rec.err != nil:
		x.fail(*rec.err)
	case stream:
		x.stream(begin(rec.answer), append(items(rec.answer), end(rec.answer))...)
	default:
		x.body(http.StatusOK, "application/json", rec.answer)
	}
}

// refusal is the error of a request that is not accepted, nil for others.
func (x *exchange) refusal() *apiError {
	if x.req.Get("model").String() == "" {
		return new(invalid(http.StatusBadRequest, "model", "missing_required_parameter", "Missing required parameter: 'model'."))
	}
	for _, param := range x.step.refuses {
		kind, name, found := strings.Cut(param, ":")
		if !found {
			kind, name = "", param
		}
		value := x.req.Get(name)
		switch {
		case kind == "include":
			if i := x.req.included(name); i >= 0 {
				return new(unsupported(fmt.Sprintf("include[%d]", i)))
			}
		case !value.Exists() || value.Type == gjson.False:
		case kind == "unverified":
			return new(unverified(name))
		default:
			return new(unsupported(name))
		}
	}
	return nil
}

// response is the finished response with these output items, or with the error e
// if the step is a failed one.
func (x *exchange) response(output []object, e apiError) []byte {
	status := cmp.Or(x.step.status, "completed")
	f := object{
		"id": x.req.id("resp", ""), "object": "response", "created_at": time.Now().Unix(), "status": status, "error": nil,
		"incomplete_details": nil, "model": strings.Replace(x.req.Get("model").String(), "gpt-5.2", "gpt-5.2-2025-12-11", 1), "output": output, "metadata": object{},
		"usage": object{"input_tokens": 1200, "input_tokens_details": object{"cached_tokens": 0}, "output_tokens": 300,
			"output_tokens_details": object{"reasoning_tokens": 64}, "total_tokens": 1500},
	}
	switch status {
	case "failed", "error":
		f["output"], f["usage"], f["error"] = []object{}, nil, object{"code": e.Code, "message": e.Message}
	case "incomplete":
		f["incomplete_details"] = object{"reason": x.step.reason}
	}
	// The API bills searches, not the pages that are opened.
	searches := strings.Count(string(encode(output)), `"type":"search"`)
	f["tool_usage"] = object{"web_search": object{"num_requests": searches}}
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
	q := r.question()
	switch {
	case !r.Get(`tools.#(type=="web_search")`).Exists():
		return plain(r)
	case aboutWeather.MatchString(q):
		return weather(r)
	case aboutNews.MatchString(q):
		return searched(r)
	}
	return plain(r)
}

func plain(r *request) []object { return r.thought(message(r, words(r, ""))) }

// weather answers from the API's own feed, which has no URL, and from a page.
func weather(r *request) []object {
	return r.thought(search(r, []object{{"type": "api", "name": "oai-weather"}, {"type": "url", "url": weatherURL}}),
		cited(r, weatherURL, "Example weather forecast"))
}

// searched answers after a search and a look at one page.
func searched(r *request) []object {
	open := search(r, nil)
	open["id"], open["action"] = r.id("ws", "open"), object{"type": "open_page", "url": docsURL}
	return append(r.thought(search(r, []object{{"type": "url", "url": docsURL}, {"type": "url", "url": "https://example.org/guide"}})),
		r.thought(open, cited(r, docsURL, "Example documentation: web search"))...)
}

// uncited searches and cites nothing; its sources are null, as the API sends them.
func uncited(r *request) []object { return r.thought(search(r, nil), message(r, words(r, ""))) }

// phases says what it will do before it gives the answer.
func phases(r *request) []object {
	first, last := message(r, "Offline: looking this up."), cited(r, docsURL, "Example documentation: web search")
	first["id"], first["phase"], last["phase"] = r.id("msg", "commentary"), "commentary", "final_answer"
	return r.thought(first, search(r, []object{{"type": "url", "url": docsURL}}), last)
}

// declined answers with a refusal, which is a part of its own type.
func declined(r *request) []object {
	m := message(r, "")
	m["content"] = []object{{"type": "refusal", "refusal": "I can't help with that. (Offline: no API was asked.)"}}
	return r.thought(m)
}

// thought puts a reasoning item before the others if the model reasons.
func (r *request) thought(then ...object) []object {
	if !reasoningModel.MatchString(r.Get("model").String()) || r.Get("reasoning.effort").String() == "none" {
		return then
	}
	it := object{"id": r.id("rs", fmt.Sprint(len(then))), "type": "reasoning", "summary": []object{}}
	if r.included("reasoning.encrypted_content") >= 0 {
		it["encrypted_content"] = r.id("gAAAAAB", fmt.Sprint(len(then)))
	}
	if r.Get("reasoning.summary").String() != "" {
		it["summary"] = []object{{"type": "summary_text", "text": "**Answering offline**\n\nNo API was asked."}}
	}
	return append([]object{it}, then...)
}

// search is the call of a search, with its sources if the request asks for them.
func search(r *request, sources []object) object {
	q := shorten(r.question(), 60)
	a := object{"type": "search", "query": q, "queries": []string{q}}
	if r.included("web_search_call.action.sources") >= 0 {
		a["sources"] = sources
	}
	return object{"id": r.id("ws", ""), "type": "web_search_call", "status": "completed", "action": a}
}

// cited is an answer that cites a page as the API does: a link in the text, and
// an annotation of its span, counted in characters.
func cited(r *request, page, title string) object {
	host, _, _ := strings.Cut(strings.TrimPrefix(page, "https://"), "/")
	link := "([" + host + "](" + page + tracked + "))"
	text := words(r, link)
	before, _, _ := strings.Cut(text, link)
	start := utf8.RuneCountInString(before)
	m := message(r, text)
	m["content"].([]object)[0]["annotations"] = []object{{"type": "url_citation", "title": title, "url": page + tracked,
		"start_index": start, "end_index": start + utf8.RuneCountInString(link)}}
	return m
}

// message is a message of one text.
func message(r *request, text string) object {
	return object{"id": r.id("msg", ""), "type": "message", "status": "completed", "role": "assistant", "content": []object{
		{"type": "output_text", "annotations": []object{}, "logprobs": []object{}, "text": text}}}
}

// words is the text of an answer, in the language of the question.
func words(r *request, link string) string {
	q := shorten(r.question(), 80)
	japanese := func(c rune) bool { return unicode.In(c, unicode.Hiragana, unicode.Katakana, unicode.Han) }
	if strings.ContainsFunc(q, japanese) {
		text := "オフラインの回答です。API には問い合わせていません。\n\nご質問：「" + q + "」\n\n"
		if link != "" {
			text += "検索の結果も引用も見本です。実際の回答はこのようなページに基づきます " + link + "。\n\n"
		}
		return text + "API キーを設定し --offline を外すと、実際の回答が得られます。"
	}
	text := "This is an offline answer: no API was asked.\n\nYour question: \"" + q + "\"\n\n"
	if link != "" {
		text += "The search and its sources are samples; a real answer rests on pages like this one " + link + ".\n\n"
	}
	return text + "Set an API key and leave out --offline for a real answer."
}

// shorten makes one line of at most n characters.
func shorten(s string, n int) string {
	c := []rune(strings.Join(strings.Fields(s), " "))
	if len(c) <= n {
		return string(c)
	}
	return strings.TrimSpace(string(c[:n-1])) + "…"
}
