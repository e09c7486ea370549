package answer

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
)

// midnight is 2025-08-09 00:30 in Tokyo and the day before in UTC.
var midnight = time.Date(2025, 8, 8, 15, 30, 0, 0, time.UTC)

var tokyo = time.FixedZone("Asia/Tokyo", 9*60*60)

func fixedNow() time.Time { return midnight }

// message is a message item with these citations.
func message(phase, text string, urls ...string) string {
	annotations := []map[string]any{}
	for _, u := range urls {
		annotations = append(annotations, map[string]any{"type": "url_citation", "url": u, "title": "T"})
	}
	m, _ := json.Marshal(map[string]any{"type": "message", "role": "assistant", "phase": phase,
		"content": []any{map[string]any{"type": "output_text", "text": text, "annotations": annotations}}})
	return string(m)
}

// search is a web_search_call item. A source without a dot is a name.
func search(sources ...string) string {
	list := []map[string]any{}
	for _, s := range sources {
		if strings.Contains(s, ".") {
			list = append(list, map[string]any{"type": "url", "url": s})
		} else {
			list = append(list, map[string]any{"type": "api", "name": s})
		}
	}
	m, _ := json.Marshal(map[string]any{"type": "web_search_call", "status": "completed",
		"action": map[string]any{"type": "search", "query": "q", "sources": list}})
	return string(m)
}

func output(items ...string) string { return "[" + strings.Join(items, ",") + "]" }

// compose asks for the answer to a response with this body, or with the items of this output.
func compose(t *testing.T, o Options, body string) (*Answer, error) {
	t.Helper()
	if strings.HasPrefix(body, "[") {
		body = `{"status":"completed","output":` + body + `}`
	}
	a, _ := newAnswerer(func(to *Options) { to.MaxCitations, to.Search = o.MaxCitations, o.Search }, body)
	return a.Ask(t.Context(), "answer", Question{Query: "?"}, nil)
}

func TestCompose(t *testing.T) {
	const (
		incomplete = `{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":`
		sourced    = `{"type":"url_citation","url":"https://a.example/?a=1&utm_source=openai&b=2","title":"A\nB"}`
		listed     = "\n\nSources:\n- "
	)
	part := func(typ, text string) string {
		return `{"type":"` + typ + `","text":"` + text + `","refusal":"` + text + `"}`
	}
	text := func(s string) string { return part("output_text", s) }
	msg := func(phase string, parts ...string) string {
		return `{"type":"message","role":"assistant","phase":"` + phase + `","content":[` + strings.Join(parts, ",") + `]}`
	}
	for _, tt := range []struct{ name, body, text, citations string }{
		{"cleaned", output(search("https://b.example/", "oai-weather"), strings.Replace(message("", "A \ue200cite\ue202turn0\ue201.", ""), `"annotations":[`, `"annotations":[`+sourced+`,`, 1)), "A." + listed + "https://a.example/?a=1&b=2 (2025-08-09)\n- oai-weather (2025-08-09)", `[{"url":"https://a.example/?a=1&b=2","title":"A B","published_at":"2025-08-09"},{"url":"oai-weather","title":"api","published_at":"2025-08-09"}]`},
		{"odd items", output(`{"type":"unknown_call","x":1}`, `{"type":"web_search_call","action":null}`, `{"type":"web_search_call","action":{"type":"search","sources":[null,5,{"type":"url"},{"url":7},{"type":"url","url":"data:text/html,x"},{"type":"api","name":null},{"name":"oai-finance"}]}}`, `{"type":"message","role":"assistant","content":null}`, `{"type":"message","content":[{"type":"output_text"},{"type":"output_text","text":"Still.","annotations":[{"type":"url_citation"},{"type":"url_citation","url":"","title":null},{"type":"file_citation","url":"https://a.example/"}]}]}`), "Still." + listed + "oai-finance (2025-08-09)", `[{"url":"oai-finance","title":"api","published_at":"2025-08-09"}]`},
		{"no sources", output(`{"type":"web_search_call","status":"failed","action":{"type":"search","sources":null}}`, message("", "A.")), "A.", `[]`},
		{"cut off", incomplete + output(search("https://a.example/"), message("", "Half an ans")) + "}", "Half an ans\n\n[incomplete: max_output_tokens]" + listed + "https://a.example/ (2025-08-09)", `[{"url":"https://a.example/","published_at":"2025-08-09"}]`},
		{"cut off in code", incomplete + output(message("", "Run:\n\n```sh\nmake insta")) + "}", "Run:\n\n```sh\nmake insta\n```\n\n[incomplete: max_output_tokens]", `[]`},
		{"two messages", output(msg("", text(`a\n`)), msg("", text("b"))), "a\n\nb", `[]`},
		{"parts continue", output(msg("", text("a "), text("b"))), "a b", `[]`},
		{"a refusal is a paragraph", output(msg("", text("a"), part("refusal", "no"), text("b"))), "a\n\nno\n\nb", `[]`},
		{"unknown parts", output(msg("", part("output_image", "x"), text("a"))), "a", `[]`},
		{"final phase only", output(msg("commentary", text("c")), msg("final_answer", text("f"))), "f", `[]`},
		{"no final phase", output(msg("commentary", text("c")), msg("", text("d"))), "c\n\nd", `[]`},
		{"empty final phase", output(msg("commentary", text("c")), msg("final_answer")), "c", `[]`},
		{"unknown phase", output(msg("epilogue", text("e"))), "e", `[]`},
	} {
		ans, err := compose(t, Options{}, tt.body)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		citations, _ := jsonx.Marshal(ans.Citations)
		if ans.Text != tt.text || string(citations) != tt.citations || ans.UsedSearch != strings.Contains(tt.body, "web_search_call") {
			t.Errorf("%s: %q, citations %s, used_search %t, want %q, %s", tt.name, ans.Text, citations, ans.UsedSearch, tt.text, tt.citations)
		}
	}
}

func TestComposeNoText(t *testing.T) {
	for _, tt := range []struct{ body, want string }{
		{`{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"reasoning"}]}`, "incomplete: max_output_tokens"},
		{`{"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[]}`, "incomplete: content_filter"},
		{`{"status":"incomplete","incomplete_details":null,"output":[]}`, "incomplete: unknown reason"},
		{output(), "no output"},
		{output(`{"type":"reasoning","summary":[{"type":"summary_text","text":"hmm"}]}`), "no output"},
		{output(message("", " \n")), "no output"},
		{output(message("", "\ue200cite\ue202turn0search0\ue201")), "no output"},
	} {
		if _, err := compose(t, Options{}, tt.body); !errors.Is(err, NoTextError(tt.want)) {
			t.Errorf("compose(%s) = %v, want %q", tt.body, err, tt.want)
		}
	}
}

// A commentary that cites a page proves a search. Its pages are cited when the answer cites none.
func TestComposeCommentary(t *testing.T) {
	const a, b = "https://a.example/", "https://b.example/"
	for _, tt := range []struct {
		name  string
		items []string
		used  bool
		want  []string
	}{
		{"only the commentary cites", []string{message("commentary", "c", a), message("final_answer", "f")}, true, []string{a}},
		{"the answer cites too", []string{message("commentary", "c", a), message("final_answer", "f", b)}, true, []string{b}},
		{"no usable citation in the answer", []string{message("commentary", "c", a), message("final_answer", "f", "javascript:x")}, true, []string{a}},
		{"before the sources", []string{message("commentary", "c", a), search(b), message("final_answer", "f")}, true, []string{a}},
		{"no citation", []string{message("commentary", "c"), message("final_answer", "f")}, false, []string{}},
	} {
		urls, got := cited(t, Options{}, tt.items...)
		if got.UsedSearch != tt.used || !strings.HasPrefix(got.Text, "f") || strings.Contains(got.Text, "Sources:") != tt.used || !cmp.Equal(urls, tt.want) {
			t.Errorf("%s: %+v, want used_search %t, citations %v", tt.name, got, tt.used, tt.want)
		}
	}
}
