package answer

import (
	"slices"
	"strings"
	"testing"
)

func TestWithSources(t *testing.T) {
	cited := []Citation{{URL: "https://a.example/", PublishedAt: "2025-08-09"}, {URL: "oai-weather", PublishedAt: "2025-08-08"}}
	const ours = "Sources:\n- https://a.example/ (2025-08-09)\n- oai-weather (2025-08-08)"
	tests := []struct{ name, text, want string }{
		{"no list", "A.", "A.\n\n" + ours},
		{"code that was cut off in a list", "1. Run:\n   ```sh\n   make", "1. Run:\n   ```sh\n   make\n   ```\n\n" + ours},
		{"a list in code that was cut off", "```yaml\nname: x\nsources:\n  - https://b.example/", "```yaml\nname: x\nsources:\n  - https://b.example/\n```\n\n" + ours},
		{"a span that looks like a fence", "Build:\n\n```go build```\n\nThen run.", "Build:\n\n```go build```\n\nThen run.\n\n" + ours},
		{"code behind a bullet", "1. ```sh\n   make\n   ```\n2. Done.", "1. ```sh\n   make\n   ```\n2. Done.\n\n" + ours},
		{"a fence that is code", "    ```\nA.", "    ```\nA.\n\n" + ours},
		{"a block in a block", "```markdown\n# App\n```bash\nnpm i\n```\nMIT\n```\n\nSources:\n- https://b.example/ (2025-08-01)", "```markdown\n# App\n```bash\nnpm i\n```\nMIT\n```\n\nSources:\n- https://b.example/ (2025-08-01)"},
		{"a citation behind a fence", "```sh\nls\n``` ([b](https://b.example/))\n\nSources:\n- https://b.example/", "```sh\nls\n``` ([b](https://b.example/))\n\n" + ours},
		{"code that was cut off", "```python\nprint(1)", "```python\nprint(1)\n```\n\n" + ours},
		{"longer fences, one in the other", "~~~~ md\n```\n~~~\n", "~~~~ md\n```\n~~~\n~~~~\n\n" + ours},
		{"code that has ended", "````\n```\n````\nA.", "````\n```\n````\nA.\n\n" + ours},
		{"trailing blank lines", "A.\n\n \n", "A.\n\n" + ours},
		{"nothing but a list", "Sources:\n- https://b.example/", ours},

		{"dated list stays", "A.\n\nSources:\n- https://b.example/ (2025-01-02)", "A.\n\nSources:\n- https://b.example/ (2025-01-02)"},
		{"two dated entries", "A.\n\nSources:\n- x 2025-01-02\n* y: 2025-03-04", "A.\n\nSources:\n- x 2025-01-02\n* y: 2025-03-04"},
		{"markdown heading", "A.\n\n## Sources\n\n1. [B](https://b.example/) — 2025-01-02\n", "A.\n\n## Sources\n\n1. [B](https://b.example/) — 2025-01-02"},
		{"bold", "A.\n**Sources**\n• b (2025-01-02)", "A.\n\n**Sources**\n• b (2025-01-02)"},
		{"bold with colon", "A.\n**Sources:**\n- b (2025-01-02)", "A.\n\n**Sources:**\n- b (2025-01-02)"},
		{"Japanese", "A。\n\n出典\n・気象庁（2025-01-02）", "A。\n\n出典\n・気象庁（2025-01-02）"},
		{"full-width colon", "A。\n\n参考：\n- https://b.example/（2025-01-02）", "A。\n\n参考：\n- https://b.example/（2025-01-02）"},
		{"brackets", "A。\n\n【参考文献】\n1) b (2025-01-02)", "A。\n\n【参考文献】\n1) b (2025-01-02)"},
		{"date on the entry's second line", "A.\n\nSources:\n1. B\n   https://b.example/ (2025-01-02)\n2. C\n   2025-01-03", "A.\n\nSources:\n1. B\n   https://b.example/ (2025-01-02)\n2. C\n   2025-01-03"},
		{"on one line", "A.\n\nSources: https://b.example/ (2025-01-02), https://c.example/ (2025-01-03)", "A.\n\nSources: https://b.example/ (2025-01-02), https://c.example/ (2025-01-03)"},
		{"CRLF", "A.\r\n\r\nSources:\r\n- b (2025-01-02)\r\n", "A.\n\nSources:\r\n- b (2025-01-02)"},
		{"bare URLs as entries", "A.\n\nSources:\nhttps://b.example/ (2025-01-02)", "A.\n\nSources:\nhttps://b.example/ (2025-01-02)"},

		{"one entry undated", "A.\n\nSources:\n- b (2025-01-02)\n- c", "A.\n\n" + ours},
		{"date only in the URL", "A.\n\nSources:\n- https://b.example/2025-01-02/x", "A.\n\n" + ours},
		{"no such day", "A.\n\nSources:\n- b (2025-13-45)", "A.\n\n" + ours},
		{"date in words", "A.\n\n出典:\n- b (2025年1月2日)", "A.\n\n" + ours},
		{"heading alone", "A.\n\nSources:", "A.\n\n" + ours},
		{"heading alone, dressed", "A.\n\n### 4. **Sources**\n", "A.\n\n" + ours},
		{"underlined heading", "A.\n\nSources\n-------\n- b", "A.\n\n" + ours},
		{"dated heading", "A.\n\nSources (retrieved 2025-08-09):\n- https://b.example/", "A.\n\n" + ours},
		{"on one line, one date for two", "A.\n\nSources: https://b.example/, https://c.example/ (2025-01-03)", "A.\n\n" + ours},
		{"footnotes", "A.[1]\n\nReferences\n[1] https://b.example/\n[2]: https://c.example/", "A.[1]\n\n" + ours},
		{"quoted", "A.\n\n> **Sources:**\n> - https://b.example/", "A.\n\n" + ours},
		{"heading as a bullet", "A.\n\n- **Sources:**\n  - https://b.example/", "A.\n\n" + ours},

		{"two lists, the last dated", "A.\n\nSources:\n- b\n\n出典:\n- c (2025-01-02)", "A.\n\n出典:\n- c (2025-01-02)"},
		{"two lists, the first dated", "A.\n\nSources:\n- b (2025-01-02)\n\n出典:\n- c", "A.\n\nSources:\n- b (2025-01-02)"},
		{"two lists, none dated", "A.\n\nSources:\n- b\n\n出典:\n- c", "A.\n\n" + ours},

		// What only looks like a list of sources is part of the answer.
		{"heading in the middle", "## Sources\n- of error\n\nThere are three.", "## Sources\n- of error\n\nThere are three.\n\n" + ours},
		{"the word as an item", "Kinds:\n- sinks\n- sources", "Kinds:\n- sinks\n- sources\n\n" + ours},
		{"the word in front of items", "Kinds:\n- sources\n- sinks", "Kinds:\n- sources\n- sinks\n\n" + ours},
		{"a remark", "A。\n参考: 値は概算です。", "A。\n参考: 値は概算です。\n\n" + ours},
		{"another list", "Open sources:\n- b", "Open sources:\n- b\n\n" + ours},
		{"a source within an entry", "Sources:\n- B\n  Source: https://b.example/ (2025-01-02)", "Sources:\n- B\n  Source: https://b.example/ (2025-01-02)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := withSources(tt.text, cited)
			if got != tt.want {
				t.Errorf("withSources(%q) = %q, want %q", tt.text, got, tt.want)
			}
			if again := withSources(got, cited); again != got {
				t.Errorf("withSources(%q) = %q, want no change", got, again)
			}
			if same := withSources(tt.text, nil); same != tt.text {
				t.Errorf("withSources(%q, nil) = %q, want no change", tt.text, same)
			}
		})
	}
}

// A model likes to go on after its list. The list then moves to the end, and
// there is still one.
func TestWithSourcesRemark(t *testing.T) {
	cited := []Citation{{URL: "https://www.a.example/", Title: "Weather in Tokyo", PublishedAt: "2025-08-09"}, {URL: "oai-weather", Title: "api", PublishedAt: "2025-08-08"}}
	const ours = "Sources:\n- https://www.a.example/ (2025-08-09)\n- oai-weather (2025-08-08)"
	const more = "Let me know if you need more."
	const dated, undated = "- https://b.example/ (2025-01-02)", "- https://b.example/"
	tests := []struct{ name, text, want string }{
		{"dated", "A.\n\nSources:\n" + dated + "\n\n" + more, "A.\n\n" + more + "\n\nSources:\n" + dated},
		{"undated", "A.\n\nSources:\n" + undated + "\n\n" + more, "A.\n\n" + more + "\n\n" + ours},
		{"two paragraphs", "A.\n\nSources:\n" + dated + "\n\nB.\n\nC.", "A.\n\nB.\n\nC.\n\nSources:\n" + dated},
		{"more behind a list like ours", "A.\n\nSources:\n" + dated + "\n\nNext steps:\n- do x\n- do y", "A.\n\nNext steps:\n- do x\n- do y\n\nSources:\n" + dated},
		{"no blank line", "A.\n\nSources:\n" + dated + "\nB.", "A.\n\nB.\n\nSources:\n" + dated},
		{"a rule between", "A.\n\nSources:\n" + dated + "\n\n---\n\nB.", "A.\n\nB.\n\nSources:\n" + dated},
		{"a link in the remark", "A.\n\nSources:\n" + undated + "\n\nFor more see https://c.example/", "A.\n\nFor more see https://c.example/\n\n" + ours},
		{"Japanese", "A。\n\n出典：\n・気象庁（2025-01-02）\n\n必要でしたらお知らせください。", "A。\n\n必要でしたらお知らせください。\n\n出典：\n・気象庁（2025-01-02）"},
		{"only a list and a remark", "Sources:\n" + dated + "\n\n" + more, more + "\n\nSources:\n" + dated},
		{"names below an offer", "A.\n\nSources:\n- Reuters\n- NHK\n\n" + more, "A.\n\n" + more + "\n\n" + ours},
		{"heading alone", "A.\n\nSources:\n\n" + more, "A.\n\n" + more + "\n\n" + ours},
		{"domains", "A.\n\nSources:\n- jma.go.jp\n- b.example\n\nB.", "A.\n\nB.\n\n" + ours},
		{"title of a citation", "A.\n\nSources:\n- Weather in Tokyo\n\nB.", "A.\n\nB.\n\n" + ours},
		{"name of a source", "A.\n\nSources:\n- oai-weather\n\nB.", "A.\n\nB.\n\n" + ours},
		{"two lists", "A.\n\nSources:\n" + undated + "\n\nB.\n\n出典:\n- c (2025-01-02)\n\n" + more, "A.\n\nB.\n\n" + more + "\n\n出典:\n- c (2025-01-02)"},

		{"bare titles", "A.\n\nSources:\nWeather in Tokyo\nReuters", "A.\n\n" + ours},
		{"bare titles and an offer", "A.\n\nSources:\nWeather in Tokyo\nReuters\n\n" + more, "A.\n\n" + more + "\n\n" + ours},
		{"bare titles, dated", "A.\n\nSources:\nReuters (2025-01-02)\nNHK (2025-01-03)\n\nB.", "A.\n\nB.\n\nSources:\nReuters (2025-01-02)\nNHK (2025-01-03)"},
		{"table", "A.\n\nSources:\n\n| Page | URL |\n|---|---|\n| B | https://b.example/ |\n\n" + more, "A.\n\n" + more + "\n\n" + ours},
		{"table, dated", "A.\n\n## Sources\n| Page | Date |\n|---|---|\n| B | 2025-01-02 |\n\nB.", "A.\n\nB.\n\n## Sources\n| Page | Date |\n|---|---|\n| B | 2025-01-02 |"},
		{"table without outer bars", "A.\n\nSources:\nPage | URL\n--- | ---\nB | https://b.example/", "A.\n\n" + ours},

		{"used", "A.\n\nSources used:\n" + undated, "A.\n\n" + ours},
		{"two languages", "A.\n\nSources / 出典\n" + undated, "A.\n\n" + ours},
		{"two words", "A。\n\n出典・参考資料\n" + undated, "A。\n\n" + ours},
		{"URL", "A。\n\n参考URL\n" + undated, "A。\n\n" + ours},
		{"main", "A。\n\n**主な出典**\n" + dated + "\n\nB。", "A。\n\nB。\n\n**主な出典**\n" + dated},
		{"a clause", "A。\n\nこの回答の出典は以下の通りです：\n" + undated, "A。\n\n" + ours},
		{"consulted", "A.\n\n### Main sources I consulted (2025-08-09)\n1. [B](https://b.example/)", "A.\n\n" + ours},
		{"dated titles that say something", "A。\n\n参考:\n- NHK「台風7号が接近」https://b.example/a（2025-08-08）", "A。\n\n参考:\n- NHK「台風7号が接近」https://b.example/a（2025-08-08）"},
		{"dated names", "A。\n\n参考:\n- 気象庁 天気予報（2025-08-09）\n- NHKニュース（2025-08-08）", "A。\n\n参考:\n- 気象庁 天気予報（2025-08-09）\n- NHKニュース（2025-08-08）"},
		{"titles that say something", "A。\n\n参考：気象庁「台風が接近」https://b.example/", "A。\n\n" + ours},
		{"particles in names", "A。\n\n参考\n- はてなブログ https://b.example/\n- ながの観光net https://c.example/（2025年8月9日に確認しました）", "A。\n\n" + ours},
		{"stops in names", "A.\n\nReferences\n- U.S. Bureau of Labor Statistics: https://b.example/\n- Smith et al. (2024). Rain. https://c.example/", "A.\n\n" + ours},
		{"one without a link", "A。\n\n参考\n- https://b.example/\n- [C](https://c.example/)\n- 東京都防災ホームページ", "A。\n\n" + ours},
		{"an introduction", "A.\n\n## Sources\n\nI used these pages:\n\n- https://b.example/\n- https://c.example/", "A.\n\n" + ours},
		{"pages with names under a weak word", "A。\n\n参考\n- 気象庁：https://www.a.example/\n- NHK https://b.example/", "A。\n\n" + ours},
		{"a title that is long", "A.\n\nReferences\n- Agency: a forecast for the east of the country, issued this morning, https://b.example/", "A.\n\n" + ours},
		{"names below the word", "A.\n\nSource: the agency", "A.\n\n" + ours},
		{"pages under a weak word", "A.\n\nReferences:\n" + undated + "\n- Weather in Tokyo", "A.\n\n" + ours},
		{"other words, what is cited", "A.\n\nSources on the weather in Tokyo:\n- https://a.example/x", "A.\n\n" + ours},
		{"other words, dated", "A.\n\nSources on the weather:\n" + dated + "\n\nB.", "A.\n\nB.\n\nSources on the weather:\n" + dated},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := withSources(tt.text, cited)
			if got != tt.want {
				t.Errorf("withSources(%q) = %q, want %q", tt.text, got, tt.want)
			}
			if again := withSources(got, cited); again != got {
				t.Errorf("withSources(%q) = %q, want no change", got, again)
			}
		})
	}
}

// What only looks like a list of sources stays where it is.
func TestWithSourcesLeaves(t *testing.T) {
	cited := []Citation{{URL: "https://a.example/", Title: "The Nile", PublishedAt: "2025-08-09"}}
	for name, text := range map[string]string{
		"facts under a sentence":       "The sources of the Nile:\n- The White Nile rises at Lake Victoria\n- The Blue Nile at Lake Tana (1618-04-21)\n\nBoth meet at Khartoum.",
		"the same at the end":          "The sources of the Nile:\n- Lake Victoria\n- Lake Tana",
		"facts under the word":         "Sources:\n- of error\n- of light\n\nThere are three.",
		"facts under a qualified word": "Main sources:\n- oranges\n- kiwis",
		"links that are the answer":    "Open data sources:\n- https://data.example/ has all\n- https://b.example/",
		"a section in the middle":      "## Sources\n- https://b.example/\n\n## Result\n\nIt rains.",
		"more than a remark":           "Sources:\n- https://b.example/\n\nA.\n\nB.\n\nC.",
		"a long paragraph":             "Sources:\n- https://b.example/\n\n" + strings.Repeat("It rains. ", 50),
		"a list below":                 "Sources: https://b.example/\n\nThen:\n- wait",
		"code":                         "```yaml\nsources:\n  - https://b.example/\n```",
		"code below":                   "Sources:\n- https://b.example/\n\n```\nx\n```",
		"facts under a weak word":      "今日は晴れです。\n\n### 参考\n- 平年の最高気温は31.6度\n- 紫外線はとても強い",
		"facts under another":          "A。\n\n参考情報：\n- 傘は不要です\n- 熱中症に注意",
		"another sense of the word":    "## Pointers\n- can be null\n\n## References\n- cannot be null\n- cannot be reseated",
		"a remark with a date":         "最高34度です。\n\n参考：昨日（2025-08-08）の最高気温は35.2度でした。",
		"facts with dates":             "A。\n\n参考情報：\n- 昨日（2025-08-08）の最高気温は35度\n- 一昨日（2025-08-07）は34度",
		"a quotation with a date":      "A。\n\n引用：\n> 晴れるでしょう（2025-08-09発表）",
		"pages that are the answer":    "The best data sources for rivers:\n\n- [A](https://a.example/x) – official, free, CSV\n- [B](https://a.example/y) – forecasts",
		"a manual":                     "## API reference\n- `GET /nile` — https://a.example/nile returns it",
		"a sentence with a host":       "東京は晴れです。\n\n参考：平年の最高気温は31度（a.example）",
		"a sentence with a link":       "A。\n\n参考：気象庁によると明日は雨です（https://a.example/x）",
		"hosts that are none":          "A.\n\nReference:\n- Use Socket.io for real-time\n- Use asp.net for pages",
		"one of another kind":          "**Gate**\n- controls\n\n**Source**\n- carriers enter",
		"an excuse":                    "A.\n\nSource: I made it up, because no page could be reached at all",
		"names and nothing else":       "Sources:\n- error\n- light",
		"more below a list on a line":  "A。\n出典：https://b.example/\n\n- 権限モデル\n- npm 11",
		"a table below a list":         "A.\n\nSources:\n- https://b.example/\n\n| a | b |\n|---|---|\n| 1 | 2 |",
		"sections that count":          "Go:\n\n1. Tutorials\n- [Tour](https://b.example/)\n\n2. References\n- [Spec](https://a.example/spec)",
		"figures with links":           "A。\n\n参考：\n- 1ユーロ 171.9円（[日銀](https://b.example/)）\n- 1ポンド 198円（[日銀](https://b.example/)）",
		"an item that counts":          "Kinds:\n1. sinks\n2. sources",
		"prose after the word":         "Sources: " + strings.Repeat("several people said so, ", 10),
	} {
		got := withSources(text, cited)
		if want := strings.TrimRight(text, " ") + "\n\nSources:\n- https://a.example/ (2025-08-09)"; got != want {
			t.Errorf("%s: withSources(%q) = %q, want %q", name, text, got, want)
		}
	}
}

// FuzzSources holds for every text and every source from the web: assembling
// twice is assembling once, no second list is left above the last one, nothing
// but lists is lost, no source breaks out of its line, and the list has no line
// that is neither the model's nor that of a citation.
func FuzzSources(f *testing.F) {
	for _, text := range []string{
		"A.", "A.\n\nSources:\n- b (2025-01-02)", "A。\n\n**出典：**\n1. b", "Sources", "- **Sources:**\n  - x", "A\n\nSources:\nSources:\n- x 2025-01-02",
		"Sources (x): y", "参考: https://b.example/ 2025-01-02", "> Sources\n> ---\n>", "Sources:\n\t- x\n- y 2025-01-02\r\n",
		"A\n\nSources:\n- https://b.example/\n\nLet me know.", "Sources used:\n| a | b |\n|---|---|\n| c | 2025-01-02 |\nB", "Sources:\nBare\n\n---\n\nB.",
		"```\nSources:\n- x.com\n", "Sources / 出典\nx.com\n\n参考URL\n- https://c.example/\n\nB\n\nC", "Sources of it:\n- https://a.example/\n\n \u00a0\nB",
	} {
		f.Add(text, "https://a.example/?utm_source=openai#:~:text=x", "oai-weather")
	}
	f.Add("A.", "https://a.example/\n\nSources:\n- evil", "a\u2028b (2025-01-02)\nSources:")
	f.Fuzz(func(t *testing.T, text, url, name string) {
		var cited []Citation
		for _, id := range []string{pageURL(url), sourceID(name)} {
			if strings.ContainsAny(id, "\n\r\t\u2028\u2029\u0085") {
				t.Fatalf("%q from %q, %q is more than one line", id, url, name)
			}
			if id != "" {
				cited = append(cited, Citation{URL: id, Title: OneLine(name), PublishedAt: "2025-08-09"})
			}
		}
		once := withSources(text, cited)
		if len(cited) == 0 {
			if once != text {
				t.Fatalf("withSources(%q, nil) = %q", text, once)
			}
			return
		}
		if twice := withSources(once, cited); twice != once {
			t.Fatalf("withSources(%q) = %q, again %q", text, once, twice)
		}
		body, list := splitSources(once, cited)
		known := strings.Split(text, "\n")
		if strings.HasSuffix(once, ours(cited)) {
			known = strings.Split(ours(cited), "\n")
		}
		for line := range strings.SplitSeq(list, "\n") {
			if !slices.ContainsFunc(known, func(k string) bool { return strings.TrimSpace(k) == strings.TrimSpace(line) }) {
				t.Fatalf("withSources(%q) = %q lists %q", text, once, line)
			}
		}
		if list == "" {
			t.Fatalf("withSources(%q) = %q ends without a dated list", text, once)
		}
		if at, _ := lastList(trimBlank(strings.Split(body, "\n")), cited); at >= 0 {
			t.Fatalf("withSources(%q) = %q has two lists", text, once)
		}
		holdsText(t, text, cited)
	})
}

// ours is the list of citations as the spec has it (§3.2).
func ours(cited []Citation) string {
	list := "Sources:"
	for _, c := range cited {
		list += "\n- " + c.URL + " (" + c.PublishedAt + ")"
	}
	return list
}

// holdsText checks that a text around a list survives, and that what is kept of
// the text itself are its own lines in their order, all of them when no line is
// a heading.
func holdsText(t *testing.T, text string, cited []Citation) {
	t.Helper()
	const first, last = "It rains in the first sentence.", "It snows in the last sentence."
	wrapped := withSources(first+"\n\n"+text+"\n\n"+last, cited)
	if !strings.HasPrefix(wrapped, first) || !strings.Contains(wrapped, "\n"+last) {
		t.Fatalf("withSources around %q loses text: %q", text, wrapped)
	}
	body, _ := splitSources(text, cited)
	left := nonBlank(body)
	headings := false
	for _, line := range nonBlank(text) {
		headings = headings || headingOf(line).kind != noHeading
		if len(left) > 0 && strings.TrimSpace(line) == strings.TrimSpace(left[0]) {
			left = left[1:]
		} else if !headings {
			t.Fatalf("splitSources(%q) loses %q, and there is no list: %q", text, line, body)
		}
	}
	if len(left) > 0 {
		t.Fatalf("splitSources(%q) = %q, which has other lines: %q", text, body, left)
	}
}

func nonBlank(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if !blank(line) {
			lines = append(lines, line)
		}
	}
	return lines
}
