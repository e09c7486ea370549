package answer

import (
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/responses"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// Citation is one source of an answer (spec §3.2).
type Citation struct {
	URL         string `json:"url"`             // http(s) URL, or the name of a source without a URL ("oai-weather")
	Title       string `json:"title,omitempty"` // one line; "api" for a source without a URL
	PublishedAt string `json:"published_at"`    // YYYY-MM-DD
}

func (c Citation) isPage() bool { return strings.Contains(c.URL, "://") }

// citations selects the sources of an answer and dates them: the url_citations
// of its messages in order of appearance; if there are none, those of all
// messages (a commentary may cite what the answer rests on); if there are none
// either, what the searches list. Sources without a URL are always included.
func (a *Answerer) citations(body string, spoken, all []responses.ResponseOutputItemUnion) []Citation {
	listed := searchSources(all)
	var list []Citation
	for _, candidates := range [][]Citation{annotations(spoken), annotations(all), listed} {
		if list = a.usable(candidates); len(list) > 0 {
			break
		}
	}
	list = a.usable(append(list, slices.DeleteFunc(listed, Citation.isPage)...))
	citations := []Citation{} // never null in JSON
	for _, c := range capped(list, a.o.MaxCitations, body) {
		c.PublishedAt = publishedAt(c, body, a.today())
		citations = append(citations, c)
	}
	return citations
}

// annotations returns what messages cite.
func annotations(items []responses.ResponseOutputItemUnion) []Citation {
	var list []Citation
	for _, it := range items {
		for _, part := range it.Content {
			for _, an := range part.Annotations {
				if an.Type == "url_citation" {
					list = append(list, Citation{URL: pageURL(an.URL), Title: title(an.Title)})
				}
			}
		}
	}
	return list
}

// searchSources returns what the searches list. The SDK's type of a source has
// no name.
func searchSources(items []responses.ResponseOutputItemUnion) []Citation {
	var list []Citation
	for _, it := range items {
		for _, src := range gjson.Get(it.RawJSON(), "action.sources").Array() {
			c := Citation{URL: pageURL(src.Get("url").String()), Title: title(src.Get("title").String())}
			if c.URL == "" {
				c = Citation{URL: title(src.Get("name").String()), Title: "api"}
			}
			list = append(list, c)
		}
	}
	return list
}

// usable returns each source once. Those without a URL or name and blocked
// pages are left out.
func (a *Answerer) usable(sources []Citation) []Citation {
	var list []Citation
	seen := map[string]bool{}
	for _, c := range sources {
		key := pageKey(c.URL)
		if c.URL != "" && !seen[key] && !a.blocked(c.URL) {
			list = append(list, c)
		}
		seen[key] = true
	}
	return list
}

// blocked reports whether a page belongs to a blocked domain or a subdomain of
// one. The search does not return such pages, but a model may know some.
func (a *Answerer) blocked(u string) bool {
	return slices.ContainsFunc(a.o.Search.BlockedDomains, func(domain string) bool {
		return strings.HasSuffix("."+hostOf(u), "."+strings.ToLower(domain))
	})
}

// capped keeps at most limit sources: pages that the text links to, then other
// pages, then sources without a URL. At least one place is theirs, and one
// is left for a page.
func capped(list []Citation, limit int, body string) []Citation {
	if len(list) <= limit {
		return list
	}
	inText := map[string]bool{}
	for _, at := range links(body) {
		inText[pageKey(pageURL(body[at[0]:at[1]]))] = true
	}
	var linked, pages, names []Citation
	for _, c := range list {
		switch {
		case !c.isPage():
			names = append(names, c)
		case inText[pageKey(c.URL)]:
			linked = append(linked, c)
		default:
			pages = append(pages, c)
		}
	}
	pages = append(linked, pages...)
	names = names[:min(len(names), max(limit-1, limit-len(pages), 1))]
	return append(pages[:min(len(pages), limit-len(names))], names...)
}

func title(s string) string { return text.Truncate(text.OneLine(s), 300) }

// pageURL returns an http or https URL without tracking
// (utm_source=openai, a text fragment), or "" for anything else.
func pageURL(raw string) string {
	u := strings.ReplaceAll(text.OneLine(raw), " ", "%20")
	u, _, _ = strings.Cut(u, ":~:")
	if hostOf(u) == "" {
		return ""
	}
	return untracked(strings.TrimSuffix(u, "#"))
}

// host matches an http or https URL up to its path. The path is not parsed:
// those of real pages are not always valid (".../100%").
var host = regexp.MustCompile(`(?i)^https?://(?:[^/?#\\]*@)?([^/?#\\@:%]+)(?::\d*)?(?:[/?#]|$)`)

// hostOf returns the host of a URL in lower case, without port and final dot,
// or "" if it is not an http or https URL.
func hostOf(u string) string {
	if m := host.FindStringSubmatch(u); m != nil {
		return strings.TrimSuffix(strings.ToLower(m[1]), ".")
	}
	return ""
}

// pageKey is equal for URLs of one page: the scheme, www, the case of the host,
// escapes, an anchor and a final slash do not count. The key of a name is the
// name.
func pageKey(u string) string {
	if _, rest, ok := strings.Cut(html.UnescapeString(u), "://"); ok {
		u, _, _ = strings.Cut(rest, "#")
	}
	host, path, _ := strings.Cut(u, "/")
	if p, err := url.PathUnescape(path); err == nil {
		path = p
	}
	return strings.TrimRight(strings.TrimPrefix(strings.ToLower(host), "www.")+"/"+path, "/")
}
