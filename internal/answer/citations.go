package answer

import (
	"cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// A Citation is one source of an answer (spec §3.2).
type Citation struct {
	URL         string `json:"url"`             // http(s) URL, or the source's identifier when it has none ("oai-weather")
	Title       string `json:"title,omitempty"` // one line; "api" for a source without a URL
	PublishedAt string `json:"published_at"`    // YYYY-MM-DD; the access date in Asia/Tokyo when the source gives none
}

// entry is a citation in the making. Those without a URL count as named.
type entry struct {
	Citation
	named bool
}

// searchesIn returns the web_search_call items among items.
func searchesIn(items []llm.Item) []*llm.Search {
	var searches []*llm.Search
	for _, it := range items {
		if s, ok := it.(*llm.Search); ok && s != nil {
			searches = append(searches, s)
		}
	}
	return searches
}

// citesURL reports whether any message carries a url_citation, usable or not:
// one is proof enough that the web was searched (spec §3.3).
func citesURL(messages []*llm.Message) bool {
	for _, m := range messages {
		for _, p := range m.Content {
			for _, a := range p.Annotations {
				if a.Type == "url_citation" {
					return true
				}
			}
		}
	}
	return false
}

// citing returns the messages whose citations count: those that make up the
// answer or, when they cite no page, all messages.
func citing(spoken, all []*llm.Message) []*llm.Message {
	if len(citedPages(spoken)) > 0 {
		return spoken
	}
	return all
}

// citations selects at most limit sources (spec §3.5): the url_citations of the
// text in order of appearance or, when there is none, what the searches list;
// sources without a URL in either case, because they tell where an answer about
// the weather really came from. now is the access date, YYYY-MM-DD.
func citations(messages []*llm.Message, searches []*llm.Search, limit int, now string) []Citation {
	cited := citedPages(messages)
	listed := listedSources(searches)
	entries := listed
	if len(cited) > 0 {
		entries = complete(cited, listed)
	}
	kept := capped(entries, limit)
	list := make([]Citation, 0, len(kept)) // never null in JSON
	for _, e := range kept {
		e.PublishedAt = cmp.Or(e.PublishedAt, now)
		list = append(list, e.Citation)
	}
	return list
}

// citedPages lists the pages that the text cites, each once.
func citedPages(messages []*llm.Message) []entry {
	var u union
	for _, m := range messages {
		for _, p := range m.Content {
			for _, a := range p.Annotations {
				if a.Type != "url_citation" {
					continue
				}
				if url := pageURL(a.URL); url != "" {
					u.add(entry{Citation: Citation{URL: url, Title: OneLine(a.Title)}})
				}
			}
		}
	}
	return u.entries
}

// listedSources lists what the searches found, each source once. Sources of
// type api (weather, finance, sports) carry a name and no URL.
func listedSources(searches []*llm.Search) []entry {
	var u union
	for _, s := range searches {
		for _, src := range s.Sources {
			e := entry{Citation: Citation{URL: pageURL(src.URL), Title: OneLine(src.Title), PublishedAt: isoDate(src.PublishedAt)}}
			if e.URL == "" {
				e.named = true
				e.URL = cmp.Or(sourceID(src.Name), sourceID(src.URL))
				e.Title = cmp.Or(e.Title, OneLine(src.Type), "api")
			}
			if e.URL != "" {
				u.add(e)
			}
		}
	}
	return u.entries
}

// complete adds to the cited pages the dates that the search knows of them, and
// the sources that have no URL.
func complete(cited, listed []entry) []entry {
	u := union{}
	for _, e := range cited {
		u.add(e)
	}
	for _, e := range listed {
		if e.named || u.has(e) {
			u.add(e)
		}
	}
	return u.entries
}

// capped keeps at most limit entries in their order. The last places belong to
// the sources without a URL, which nothing else names; a cited page keeps its
// place beside them when there is room for two.
func capped(entries []entry, limit int) []entry {
	named := 0
	for _, e := range entries {
		if e.named {
			named++
		}
	}
	room := limit
	if limit > 1 && named < len(entries) {
		room--
	}
	named = min(named, room)
	pages := limit - named
	kept := make([]entry, 0, min(limit, len(entries)))
	for _, e := range entries {
		left := &pages
		if e.named {
			left = &named
		}
		if *left > 0 {
			*left--
			kept = append(kept, e)
		}
	}
	return kept
}

// union collects entries in order of appearance, one a page. A later mention
// only fills in what the first one left open.
type union struct {
	entries []entry
	at      map[string]int // position by key
}

// key separates names from pages: a source may be named like a host.
func (e entry) key() string {
	if e.named {
		return "name " + e.URL
	}
	return "page " + pageKey(e.URL)
}

func (u *union) has(e entry) bool {
	_, ok := u.at[e.key()]
	return ok
}

func (u *union) add(e entry) {
	k := e.key()
	if i, ok := u.at[k]; ok {
		old := &u.entries[i]
		old.Title = cmp.Or(old.Title, e.Title)
		old.PublishedAt = cmp.Or(old.PublishedAt, e.PublishedAt)
		return
	}
	if u.at == nil {
		u.at = make(map[string]int)
	}
	u.at[k] = len(u.entries)
	u.entries = append(u.entries, e)
}
