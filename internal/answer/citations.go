package answer

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/responses"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// Citation is one source of an answer (spec-v0.9 section 3.2).
type Citation struct {
	URL         string `json:"url"`             // http(s) URL, or the name of a source without a URL ("oai-weather")
	Title       string `json:"title,omitempty"` // one line; "api" for a source without a URL
	PublishedAt string `json:"published_at"`    // YYYY-MM-DD
}

// source is a candidate for a citation.
type source struct {
	Citation
	api bool // has no URL; Citation.URL is its name
}

// key is equal for sources that are one entry of the list.
func (s source) key() string {
	if s.api {
		return "api " + s.URL
	}
	return pageKey(s.URL)
}

// citations selects the sources of an answer: the url_citations of its messages
// in order of appearance; if there are none, those of all messages (a
// commentary may cite what the answer rests on); if there are none either, what
// the searches list. Sources without a URL are always included.
func (a *Answerer) citations(body string, spoken, all []responses.ResponseOutputItemUnion) []Citation {
	list, listed := a.unique(annotations(spoken)), a.unique(searchSources(all))
	if len(list) == 0 {
		list = a.unique(annotations(all))
	}
	if len(list) == 0 {
		list = listed
	} else {
		list = append(list, slices.DeleteFunc(listed, func(s source) bool { return !s.api })...)
	}
	today := a.today()
	above, entries := splitSources(body)
	citations := []Citation{} // never null in JSON
	for _, s := range capped(list, a.o.MaxCitations, body) {
		s.PublishedAt = today
		for _, date := range []string{dateInText(above, entries, s), dateInPath(s)} {
			if date != "" && date <= today {
				s.PublishedAt = date
				break
			}
		}
		citations = append(citations, s.Citation)
	}
	return citations
}

func annotations(items []responses.ResponseOutputItemUnion) []source {
	var list []source
	for _, it := range items {
		for _, part := range it.Content {
			for _, an := range part.Annotations {
				if an.Type == "url_citation" {
					list = append(list, source{Citation: Citation{URL: pageURL(an.URL), Title: title(an.Title)}})
				}
			}
		}
	}
	return list
}

// searchSources returns what the searches list. The SDK's type of a source has
// no name.
func searchSources(items []responses.ResponseOutputItemUnion) []source {
	var list []source
	for _, it := range items {
		if it.Type != "web_search_call" {
			continue
		}
		for _, src := range gjson.Get(it.RawJSON(), "action.sources").Array() {
			s := source{Citation: Citation{URL: pageURL(src.Get("url").String()), Title: title(src.Get("title").String())}}
			if s.URL == "" {
				s = source{Citation: Citation{URL: title(src.Get("name").String()), Title: "api"}, api: true}
			}
			list = append(list, s)
		}
	}
	return list
}

// unique returns each source once. Later mentions may add the title. Sources
// without a usable URL and blocked ones are left out.
func (a *Answerer) unique(sources []source) []source {
	var list []source
	at := map[string]int{}
	for _, s := range sources {
		if s.URL == "" || !s.api && a.blocked(s.URL) {
			continue
		}
		if i, ok := at[s.key()]; ok {
			list[i].Title = cmp.Or(list[i].Title, s.Title)
			continue
		}
		at[s.key()] = len(list)
		list = append(list, s)
	}
	return list
}

// blocked reports whether a page belongs to a blocked domain or a subdomain of
// one. The search does not return such pages, but a model may know some.
func (a *Answerer) blocked(u string) bool {
	host := hostOf(u)
	return slices.ContainsFunc(a.o.Search.BlockedDomains, func(domain string) bool {
		return strings.HasSuffix("."+host, "."+strings.ToLower(domain))
	})
}

// capped keeps at most limit sources. Pages that the text links to come first.
// Sources without a URL are kept before pages, except that one place is left
// for a page if there is room for two.
func capped(list []source, limit int, body string) []source {
	if len(list) <= limit {
		return list
	}
	linked := map[string]bool{}
	for _, l := range linksIn(body) {
		linked[pageKey(pageURL(l.url))] = true
	}
	rank := func(s source) int {
		if !s.api && linked[s.key()] {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b source) int { return rank(a) - rank(b) })
	apis := 0
	for _, s := range list {
		if s.api {
			apis++
		}
	}
	if apis < len(list) {
		apis = min(apis, max(limit-1, 1))
	}
	pages := limit - min(apis, limit)
	var kept []source
	for _, s := range list {
		room := &pages
		if s.api {
			room = &apis
		}
		if *room > 0 && len(kept) < limit {
			*room--
			kept = append(kept, s)
		}
	}
	return kept
}

// Bounds of what a citation takes from the web: a longer URL is left out, a
// longer title is truncated.
const (
	maxURL   = 4096 // bytes
	maxTitle = 300  // characters
)

func title(s string) string { return text.Truncate(text.OneLine(s), maxTitle) }

// pageURL returns an http or https URL without what says how the page was found
// (utm_source=openai, a text fragment), or "" for anything else. Real URLs are
// not always valid enough for net/url (".../100%").
func pageURL(raw string) string {
	u := strings.ReplaceAll(text.OneLine(raw), " ", "%20")
	u, _, _ = strings.Cut(u, ":~:")
	u = untracked(strings.TrimSuffix(u, "#"))
	scheme, _, _ := strings.Cut(strings.ToLower(u), "://")
	if scheme != "http" && scheme != "https" || hostOf(u) == "" || len(u) > maxURL {
		return ""
	}
	return u
}

// hostOf returns the host of a URL in lower case, without port and final dot.
func hostOf(u string) string {
	_, host, _ := strings.Cut(u, "://")
	if i := strings.IndexAny(host, `/?#\`); i >= 0 {
		host = host[:i]
	}
	host = host[strings.LastIndex(host, "@")+1:]
	if i := strings.LastIndex(host, ":"); i > strings.LastIndex(host, "]") {
		host = host[:i]
	}
	if plain, err := url.PathUnescape(host); err == nil {
		host = plain
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// pageKey is equal for URLs of one page: the scheme, the case of the host, a
// final slash and an anchor do not count. A fragment that starts with / or !
// is the path of a page.
func pageKey(u string) string {
	_, rest, _ := strings.Cut(u, "://")
	rest, fragment, _ := strings.Cut(rest, "#")
	if !strings.HasPrefix(fragment, "/") && !strings.HasPrefix(fragment, "!") {
		fragment = ""
	}
	rest, query, _ := strings.Cut(rest, "?")
	host, path, _ := strings.Cut(rest, "/")
	return strings.ToLower(host) + "/" + strings.TrimRight(path, "/") + "?" + query + "#" + fragment
}

// dateInPath returns a date in the path of a URL: /2025/12/05/, 2025-12-05 or
// 20251205.
func dateInPath(s source) string {
	if s.api {
		return ""
	}
	_, rest, _ := strings.Cut(s.URL, "://")
	_, path, _ := strings.Cut(rest, "/")
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	return firstDate(path, true)
}
