package fakeapi

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// The hosts of every page that is cited are reserved for examples (RFC 2606):
// nobody takes them for a finding.
const (
	docsURL    = "https://example.com/docs/web-search"
	guideURL   = "https://example.org/guide"
	weatherURL = "https://example.org/weather/forecast"
	tracked    = "?utm_source=openai" // the API appends it to the pages that it cites
)

// topics finds what a model cannot know by itself. Words are whole words:
// "knowledge" has no "now" in it.
type topics struct{ weather, fresh *regexp.Regexp }

// asked compiles the words for the first question: every start of the program
// would pay for them, and few run offline.
var asked = sync.OnceValue(func() *topics {
	return &topics{
		weather: regexp.MustCompile(`(?i)\b(weather|forecast|temperature outside)\b|天気|気温|降水`),
		fresh: regexp.MustCompile(`(?i)\b(today|tonight|now|current|currently|latest|newest|recent|recently|` +
			`this (week|month|year)|yesterday|tomorrow|price|prices|stock|exchange rate|news|headlines|version|release|released|` +
			`score|schedule|search)\b|今日|本日|明日|昨日|今週|今月|今年|現在|最新|最近|価格|株価|為替|ニュース|速報|バージョン|リリース|検索`),
	}
})

// judge is what the model does when no step says: it calls a function that it
// is offered, searches for what changes from day to day, and answers the rest.
func (s *Server) judge(r *request) turn {
	q := r.question()
	switch {
	case r.offers("function", "custom"):
		return calling{rounds: 1, parallel: 1}.turn(s, r)
	case !r.offers("web_search", "web_search_preview"):
		return s.plain(r)
	case asked().weather.MatchString(q):
		return s.weather(r)
	case asked().fresh.MatchString(q), string(r.ToolChoice) == `"required"`:
		return s.search(r)
	}
	return s.plain(r)
}

// plain answers without a search.
func (s *Server) plain(r *request) turn {
	return turn{output: r.thought("1", r.said("1", r.words("", ""), nil))}
}

// weather answers from the API's own feed, which has no URL, and a page.
func (s *Server) weather(r *request) turn {
	sources := []source{{Type: "api", Name: "oai-weather"}, {Type: "url", URL: weatherURL}}
	return turn{output: r.thought("1",
		r.searched(sources),
		r.cited("1", weatherURL, "Example weather forecast"),
	)}
}

// search answers after a search and a look at one page.
func (s *Server) search(r *request) turn {
	sources := []source{{Type: "url", URL: docsURL}, {Type: "url", URL: guideURL}}
	open := &search{ID: newID("ws", r.seed, "2"), Type: "web_search_call", Status: "completed",
		Action: &action{Type: "open_page", URL: docsURL}}
	out := r.thought("1", r.searched(sources))
	out = append(out, r.thought("2", open)...)
	return turn{output: append(out, r.cited("1", docsURL, "Example documentation: web search"))}
}

// uncited searches and then names nothing: no citation, and sources that are null.
func (s *Server) uncited(r *request) turn {
	return turn{output: r.thought("1", r.searched(nil), r.said("1", r.words("", ""), nil))}
}

// phases says what it is about to do before it gives the answer.
func (s *Server) phases(r *request) turn {
	first := r.said("1", "Offline: looking this up.", nil)
	first.Phase = "commentary"
	last := r.cited("2", docsURL, "Example documentation: web search")
	last.Phase = "final_answer"
	return turn{output: r.thought("1", first, r.searched([]source{{Type: "url", URL: docsURL}}), last)}
}

// refusal declines. A refusal is a part of its own type with no output_text.
func (s *Server) refusal(r *request) turn {
	m := r.said("1", "", nil)
	m.Content = []part{{Type: "refusal", Refusal: new("I can't help with that. (Offline: no API was asked.)")}}
	return turn{output: r.thought("1", m)}
}

// empty completes without saying anything.
func (s *Server) empty(r *request) turn { return turn{output: r.thought("1")} }

// sayText answers with a text of the caller's, without a search.
func sayText(text string) func(*Server, *request) turn {
	return func(_ *Server, r *request) turn { return turn{output: r.thought("1", r.said("1", text, nil))} }
}

// thought puts a reasoning item before the items that come of it, when the
// model reasons. n tells the thoughts of one turn apart.
func (r *request) thought(n string, then ...item) []item {
	if !r.thinks() {
		return then
	}
	t := &reasoning{ID: newID("rs", r.seed, n), Type: "reasoning", Summary: []part{}}
	if r.includes("reasoning.encrypted_content") {
		t.EncryptedContent = seal(t.ID)
	}
	if r.Reasoning != nil && r.Reasoning.Summary != nil {
		t.Summary = append(t.Summary, part{Type: "summary_text",
			Text: new("**Answering offline**\n\nThere is no API to ask, so the answer says so and repeats the question.")})
	}
	return append([]item{t}, then...)
}

// searched is the call of a search, with its sources when the request asks for them.
func (r *request) searched(sources []source) *search {
	q := shorten(r.question(), 60)
	a := &action{Type: "search", Query: q, Queries: []string{q}}
	if r.includes("web_search_call.action.sources") {
		a.Sources = &sources
	}
	return &search{ID: newID("ws", r.seed, "1"), Type: "web_search_call", Status: "completed", Action: a}
}

// cited is the answer that cites one page, as the API writes it: a link in the
// text, and an annotation that spans it.
func (r *request) cited(n, url, title string) *message {
	host, _, _ := strings.Cut(strings.TrimPrefix(url, "https://"), "/")
	link := "([" + host + "](" + url + tracked + "))"
	text := r.words(url, link)
	before, _, _ := strings.Cut(text, link)
	start := utf8.RuneCountInString(before)
	return r.said(n, text, []annotation{{
		Type: "url_citation", Title: title, URL: url + tracked,
		StartIndex: start, EndIndex: start + utf8.RuneCountInString(link),
	}})
}

// said is a message of one text.
func (r *request) said(n, text string, notes []annotation) *message {
	if notes == nil {
		notes = []annotation{}
	}
	return &message{ID: newID("msg", r.seed, n), Type: "message", Status: "completed", Role: "assistant",
		Content: []part{{Type: "output_text", Annotations: notes, Logprobs: []any{}, Text: &text}}}
}

// words is the answer itself, in the language of the question. With a url it
// says what the link is worth.
func (r *request) words(url, link string) string {
	q := shorten(r.question(), 80)
	if japanese(q) {
		text := "オフラインの回答です。API には問い合わせていません。\n\nご質問：「" + q + "」\n\n"
		if url != "" {
			text += "検索の結果も引用も見本です。実際の回答はこのようなページに基づきます " + link + "。\n\n"
		}
		return text + "API キーを設定し --offline を外すと、実際の回答が得られます。"
	}
	text := "This is an offline answer: no API was asked.\n\nYour question: \"" + q + "\"\n\n"
	if url != "" {
		text += "The search and its sources are samples; a real answer rests on pages like this one " + link + ".\n\n"
	}
	return text + "Set an API key and leave out --offline for a real answer."
}

// japanese reports whether a text has kana or kanji.
func japanese(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool { return unicode.In(c, unicode.Hiragana, unicode.Katakana, unicode.Han) })
}

// shorten makes one line of at most n characters.
func shorten(s string, n int) string {
	c := []rune(strings.Join(strings.Fields(s), " "))
	if len(c) <= n {
		return string(c)
	}
	return strings.TrimSpace(string(c[:n-1])) + "…"
}
