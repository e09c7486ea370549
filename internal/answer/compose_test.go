package answer

import (
	"fmt"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// said is a part of a message.
func said(text string) map[string]any { return map[string]any{"type": "output_text", "text": text} }

const (
	page     = "https://a.example/"
	ours     = "\n\nSources:\n- https://a.example/ (2025-08-09)"
	ofModel  = "A.\n\n出典:\n- https://b.example/ (2025-01-02)"
	cutShort = "\n\n[incomplete: max_output_tokens]"
)

var textTests = []struct{ name, body, want string }{
	{"messages are paragraphs", completed(message("", "a\n"), message("", "b")), "a\n\nb"},
	{"parts continue", completed(messageOf("", said("a "), said("b"))), "a b"},
	{"markers of the API", completed(message("", "A \ue200cite\ue202turn0\ue201.")), "A."},

	{
		"a refusal is a paragraph",
		completed(messageOf("", said("a"), map[string]any{"type": "refusal", "refusal": "no"}, said("b"))),
		"a\n\nno\n\nb",
	},

	{"final phase only", completed(message("commentary", "c"), message("final_answer", "f")), "f"},
	{"no final phase", completed(message("commentary", "c"), message("", "d")), "c\n\nd"},
	{"empty final phase", completed(message("commentary", "c"), messageOf("final_answer")), "c"},

	{"sources found", completed(search(page), message("", "A.")), "A." + ours},
	{"sources not found", completed(search(), message("", "A.")), "A."},
	{"sources of the model", completed(message("", ofModel, page)), ofModel},
	{"list that no annotation names", completed(search(), message("", ofModel)), ofModel},
	{
		"links that no annotation names",
		completed(search(), message("", "https://b.example/2025/01/02/ and "+page)),
		"https://b.example/2025/01/02/ and " + page +
			"\n\nSources:\n- https://b.example/2025/01/02/ (2025-01-02)\n- " + page +
			" (2025-08-09)",
	},
	{
		"cut in a link",
		incomplete("max_output_tokens", search(), message("", page+" and https://b.exam")),
		page + " and https://b.exam" + cutShort + ours,
	},
	{
		"cut before sources",
		incomplete("max_output_tokens", search(page), message("", "A")),
		"A" + cutShort + ours,
	},
	{
		"cut in code",
		incomplete("max_output_tokens", message("", "```sh\nmake insta")),
		"```sh\nmake insta\n```" + cutShort,
	},
}

func TestText(t *testing.T) {
	for _, tt := range textTests {
		t.Run(tt.name, func(t *testing.T) {
			ans, err := ask(t, tt.body)
			if err != nil {
				t.Fatal(err)
			}
			compare.Equal(t, "text", ans.Text, tt.want)
		})
	}
}

func TestNoText(t *testing.T) {
	const thought = `{"type":"reasoning","summary":[{"type":"summary_text","text":"hmm"}]}`

	for _, tt := range []struct{ name, body, want string }{
		{
			"cut short",
			incomplete("max_output_tokens", thought),
			"incomplete: max_output_tokens",
		},
		{"no reason", incomplete(""), "incomplete: unknown reason"},
		{"no items", completed(), "no output"},
		{
			"only a marker",
			completed(message("", "\ue200cite\ue202turn0\ue201")),
			"no output",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ask(t, tt.body)
			got := fmt.Sprint(call.KindOf(err), ": ", err)
			compare.Equal(t, "error", got, "no text: "+tt.want)
		})
	}
}

// Items in forms that the API does not document do no harm.
func TestOddItems(t *testing.T) {
	ans, err := ask(t, completed(
		`{"type":"unknown_call","x":1}`,
		`{"type":"web_search_call","action":null}`,
		`{"type":"web_search_call","action":{"type":"search","sources":null}}`,
		`{"type":"web_search_call","action":{"type":"search","sources":[null,5,{"type":"url"},
			{"url":7},{"type":"url","url":"data:text/html,x"},{"type":"api","name":null},
			{"name":"oai-finance"}]}}`,
		`{"type":"message","role":"assistant","content":null}`,
		`{"type":"message","content":[{"type":"output_text"},{"type":"output_text","text":"A.",
			"annotations":[{"type":"url_citation"},{"type":"url_citation","url":"","title":null},
			{"type":"file_citation","url":"https://a.example/"}]}]}`,
	))
	if err != nil {
		t.Fatal(err)
	}

	const want = "A.\n\nSources:\n- oai-finance (2025-08-09)"
	compare.Equal(t, "text", ans.Text, want)
}
