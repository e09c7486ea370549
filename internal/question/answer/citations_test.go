package answer

import (
	"cmp"
	"strings"
	"testing"

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
)

// items makes the items of a row. One that is JSON stays as it is.
func items(row string) (all []string) {
	for item := range strings.SplitSeq(row, "; ") {
		words := strings.Split(item, " ")
		for i, word := range words {
			words[i] = pages.Replace(word)
		}

		switch {
		case strings.HasPrefix(item, "{"):
			all = append(all, item)
		case words[0] == "search":
			all = append(all, search(words[1:]...))
		case words[0] == "commentary", words[0] == "final_answer":
			all = append(all, message(words[0], words[1], words[2:]...))
		default:
			all = append(all, message("", words[0], words[1:]...))
		}
	}
	return all
}

func TestCitations(t *testing.T) {
	compare.Each(t, "citations", 3, func(t *testing.T, row []string) {
		ans := ask(t, completed(items(row[1])...))
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

// A name that each search lists is one name: the dates of others in the list are read, too.
func TestRepeatedNames(t *testing.T) {
	search := func(name string) string {
		return `{"type":"web_search_call","action":{"type":"search","sources":[{"type":"api","name":"` + name + `"}]}}`
	}
	ans := ask(t, completed(search("one"), search("one"), search("one"), search("two"),
		message("", "x\n\nSources:\n- one (2025-01-02)\n- two (2025-01-03)")))
	got := ""
	for _, c := range ans.Citations {
		got += c.URL + " " + c.PublishedAt + "; "
	}
	compare.Equal(t, "citations", got, "one 2025-01-02; two 2025-01-03; ")
}
