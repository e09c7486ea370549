package answer

import (
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/cite"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// pages are the words for pages in the rows of citationTests. BAD and WORSE are blocked by
// newAnswerer. "~" is a blank in a word.
var pages = strings.NewReplacer(
	"BAD", "https://www.bad.example/x",
	"WORSE", "https://www.worse.example/x",
	"A", "https://a.example/",
	"B", "https://b.example/",
	"C", "https://c.example/",
	"D", "https://d.example/",
	"~", " ",
)

// citationTests have the items of a response and the citations of the answer. An item is search and
// its sources, or the phase of a message if it has one, its text in a word, and the pages that it
// cites.
var citationTests = []struct{ name, items, want string }{
	{"no search", "x", ""},
	{"no search, links", "[x](A)~B", ""},
	{"none", "search; x", ""},
	{"cited", "search C D; x A B", "A B"},
	{"twice", "x A A#part http://a.example B", "A B"},
	{"at most three", "D A B C D", "D A B"},
	{"found", "search A B; search B C; x", "A B C"},
	{"cited, no page", "search A; x javascript:x", "A"},

	{"name", "search B weather; x A", "A weather"},
	{"name found", "search one A one; x", "one A"},
	{
		"names that are none",
		"search javascript:alert(1) data:text/html,x https:/bad.example/a [a](javascript:x) a~b " +
			"//bad.example " + strings.Repeat("a", 65) + " a-b_c.9; x",
		"a-b_c.9",
	},

	{"two scripts", "x https://日本.example https://xn--wgv71a.example A", "https://日本.example A"},

	{"links", "search; [x](A)~and~B.", "A B"},
	{"links, at most three", "search; [x](A)~[x](B)~[x](C)~[x](D)", "A B C"},
	{"links, list first", "search; A~B\n\nSources:\n-~C~(2025-01-02)", "C A B"},
	{"links, blocked", "search; [x](BAD)~WORSE~A", "A"},
	{"links, and none is a page", "search; x javascript:x; [x](A)", "A"},
	{"links, and pages are found", "search B; [x](A)", "B"},
	{"links, and a name is found", "search one; [x](A)", "one"},
	{"links of a commentary", "search; commentary [x](A); final_answer f", ""},

	{"blocked", "x BAD A", "A"},
	{"blocked by search.extra", "x WORSE A", "A"},
	{"blocked, with a backslash", `x https://bad.example\x A`, "A"},
	{"blocked, as a name", "search https://bad%2eexample/ one; x", "one"},
	{"blocked, found", "search BAD A; x", "A"},
	{"blocked, all", "search one; x BAD", "one"},

	// A commentary that cites a page proves a search. Its pages count if the answer cites none.
	{"commentary", "commentary c A; final_answer f", "A"},
	{"commentary too", "commentary c A; final_answer f B", "B"},
	{"commentary, no page", "commentary c A; final_answer f javascript:x", "A"},
	{"commentary and search", "commentary c A; search B; final_answer f", "A"},
}

// items makes the items of a row.
func items(row string) (all []string) {
	for item := range strings.SplitSeq(row, "; ") {
		words := strings.Split(item, " ")
		for i, word := range words {
			words[i] = pages.Replace(word)
		}

		switch words[0] {
		case "search":
			all = append(all, search(words[1:]...))
		case "commentary", "final_answer":
			all = append(all, message(words[0], words[1], words[2:]...))
		default:
			all = append(all, message("", words[0], words[1:]...))
		}
	}
	return all
}

func TestCitations(t *testing.T) {
	for _, tt := range citationTests {
		t.Run(tt.name, func(t *testing.T) {
			ans, err := ask(t, completed(items(tt.items)...))
			if err != nil {
				t.Fatal(err)
			}

			if ans.Citations == nil {
				t.Error("citations are nil, which is null in JSON")
			}
			searched := !strings.HasPrefix(tt.name, "no search")
			compare.Equal(t, "used_search", ans.UsedSearch, searched)

			var got []string
			for _, c := range ans.Citations {
				got = append(got, c.URL)
			}
			compare.Equal(t, "citations", strings.Join(got, " "), pages.Replace(tt.want))
		})
	}
}

// Some servers nest annotations, as chat completions do.
func TestNestedAnnotation(t *testing.T) {
	ans, err := ask(t, completed(messageOf("", map[string]any{
		"type": "output_text",
		"text": "A.",
		"annotations": []map[string]any{
			{"type": "url_citation", "url_citation": map[string]any{"url": page, "title": "T"}},
			{"type": "file_citation", "url_citation": map[string]any{"url": "https://b.example/"}},
			{"type": "url_citation", "url_citation": nil},
		},
	})))
	if err != nil {
		t.Fatal(err)
	}

	want := []cite.Citation{{URL: page, Title: "T", PublishedAt: "2025-08-09", Accessed: true}}
	compare.Equal(t, "citations", ans.Citations, want)
	compare.Equal(t, "used_search", ans.UsedSearch, true)
}
