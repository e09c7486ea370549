package answer

import (
	"cmp"
	_ "embed"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/question/cite"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// pages are the words of citations.table. BAD and WORSE are blocked by newAnswerer.
var pages = strings.NewReplacer(
	"BAD", "https://www.bad.example/x",
	"WORSE", "https://www.worse.example/x",
	"A", "https://a.example/",
	"B", "https://b.example/",
	"C", "https://c.example/",
	"D", "https://d.example/",
	"~", " ",
	`\n`, "\n",
)

//go:embed testdata/citations.table
var citations string

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
	for line := range strings.SplitSeq(citations, "\n") {
		row := strings.Split(line, " | ")
		if len(row) < 3 {
			continue
		}
		t.Run(row[0], func(t *testing.T) {
			ans, err := ask(t, completed(items(row[1])...))
			if err != nil {
				t.Fatal(err)
			}

			if ans.Citations == nil {
				t.Error("citations are nil, which is null in JSON")
			}
			searched := !strings.HasPrefix(row[0], "no search")
			compare.Equal(t, "used_search", ans.UsedSearch, searched)

			var got []string
			for _, c := range ans.Citations {
				got = append(got, c.URL)
			}
			list := cmp.Or(strings.Join(got, " "), "none")
			compare.Equal(t, "citations", list, pages.Replace(row[2]))
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

	want := []cite.Citation{{URL: page, Title: "T", PublishedAt: "2025-08-09", IsAccessDate: true}}
	compare.Equal(t, "citations", ans.Citations, want)
	compare.Equal(t, "used_search", ans.UsedSearch, true)
}
