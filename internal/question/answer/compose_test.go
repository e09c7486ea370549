package answer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// said is a part of a message.
func said(text string) map[string]any { return map[string]any{"type": "output_text", "text": text} }

// page is a page of the tests.
const page = "https://a.example/"

func TestText(t *testing.T) {
	for _, row := range compare.Table(t, "text", 4) {
		body := completed(items(row[2])...)
		if row[1] != "" {
			body = incomplete(row[1], items(row[2])...)
		}
		t.Run(row[0], func(t *testing.T) { wantText(t, body, pages.Replace(row[3])) })
	}
}

// Some servers say of a message alone that it is incomplete
// (https://github.com/ai-dynamo/dynamo/issues/12182).
func TestIncompleteMessage(t *testing.T) {
	cut := strings.NewReplacer(`"role"`, `"status":"incomplete","role"`)
	wantText(t, completed(cut.Replace(message("", "a"))), "a\n\n[incomplete: unknown reason]")
	wantText(t, completed(message("", "a"), cut.Replace(message("", "b"))),
		"a\n\nb\n\n[incomplete: unknown reason]")
	wantText(t, completed(cut.Replace(message("commentary", "c")), message("final_answer", "f")), "f")
}

// The parts of a message continue it, without the markers of the API, but a refusal is a paragraph.
// An empty final phase is none.
func TestParts(t *testing.T) {
	refusal := map[string]any{"type": "refusal", "refusal": "no"}
	wantText(t, completed(messageOf("", said("a "), said("b"))), "a b")
	wantText(t, completed(message("", "A \ue200cite\ue202turn0\ue201.")), "A.")
	wantText(t, completed(messageOf("", said("a"), refusal, said("b"))), "a\n\nno\n\nb")
	wantText(t, completed(message("commentary", "c"), messageOf("final_answer")), "c")
}

func wantText(t *testing.T, body, want string) {
	t.Helper()
	ans, err := ask(t, body)
	if err != nil {
		t.Fatal(err)
	}
	compare.Equal(t, "text", ans.Text, want)
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

	const want = "A.\n\nSources:\n- oai-finance (accessed 2025-08-09)"
	compare.Equal(t, "text", ans.Text, want)
}

// The URL of a page makes no link in the list. The citation has it as it is, and a list of the
// model gives its date in both forms.
func TestListedURL(t *testing.T) {
	for _, row := range compare.Table(t, "listed", 3) {
		t.Run(row[0], func(t *testing.T) {
			text := "x\n\nSources:\n- " + row[2] + " (2025-01-02)\n- and others"
			ans, err := ask(t, completed(search(), message("", text, row[1])))
			if err != nil {
				t.Fatal(err)
			}

			want := text + "\n\nSources:\n- " + row[2] + " (2025-01-02)"
			compare.Equal(t, "text", ans.Text, want)
			compare.Equal(t, "citation", ans.Citations[0].URL, row[1])
		})
	}
}
