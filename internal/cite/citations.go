package cite

import (
	"html"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/net/idna"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// Citation is one source of an answer (spec §3.2).
type Citation struct {
	URL         string `json:"url"`             // http(s) URL, or the name of a source without a URL ("oai-weather")
	Title       string `json:"title,omitempty"` // one line; "api" for a source without a URL
	PublishedAt string `json:"published_at"`    // YYYY-MM-DD
	Accessed    bool   `json:"-"`               // PublishedAt is the date of access: the source has no date
}

func (c Citation) IsPage() bool { return strings.Contains(c.URL, "://") }

// Capped keeps at most limit sources: pages that the text links to, then other pages, then sources
// without a URL. At least one place is theirs, and one is left for a page.
func Capped(list []Citation, limit int, doc *Document) []Citation {
	if len(list) <= limit {
		return list
	}
	inText := map[string]bool{}
	for _, line := range doc.lines {
		for _, at := range line.links {
			inText[at.key] = true
		}
	}
	var linked, pages, names []Citation
	for _, c := range list {
		switch {
		case !c.IsPage():
			names = append(names, c)
		case inText[PageKey(c.URL)]:
			linked = append(linked, c)
		default:
			pages = append(pages, c)
		}
	}
	pages = append(linked, pages...)
	names = names[:min(len(names), max(limit-1, limit-len(pages), 1))]
	return append(pages[:min(len(pages), limit-len(names))], names...)
}

func Title(s string) string { return text.Truncate(text.OneLine(s[:min(len(s), maxEntry)]), 300) }

// unsafe has the characters that a URL has in escaped form only (RFC 3986
// section 2). Letters of other scripts stay, as in an IRI.
var unsafe = strings.NewReplacer(" ", "%20", `"`, "%22", "<", "%3C", ">", "%3E", `\`, "%5C", "^", "%5E", "`", "%60", "{", "%7B", "|", "%7C", "}", "%7D")

// authority matches the start of an http or https URL to the end of its port: scheme, user, host,
// port. The path is not parsed: those of real pages are not always valid (".../100%").
var authority = regexp.MustCompile(`^(?i:(https?://))(?:[^/?#\\]*@)?([^/?#\\@:% ]+)((?::\d*)?)(?:$|[/?#\\])`)

// PageURL returns an http or https URL without user, password and tracking
// (utm_source=openai, a text fragment), or "" for anything else.
func PageURL(raw string) string {
	u, _, _ := strings.Cut(text.OneLine(raw), ":~:")
	at := authority.FindStringSubmatchIndex(u)
	if at == nil || at[5]-at[4] > 253 { // bytes of a host (RFC 1035 section 2.3.4)
		return ""
	}
	return u[:at[3]] + u[at[4]:at[7]] + untracked(unsafe.Replace(strings.TrimSuffix(u[at[7]:], "#")))
}

// browser maps hosts as browsers do (https://url.spec.whatwg.org/#concept-domain-to-ascii).
var browser = idna.New(idna.MapForLookup(), idna.StrictDomainName(false), idna.CheckHyphens(false))

// HostOf returns the host of a page as a browser maps it, without port and final
// dot, or "" if u is not an http or https URL.
func HostOf(u string) string {
	m := authority.FindStringSubmatch(u)
	if m == nil {
		return ""
	}
	ascii, err := browser.ToASCII(m[2])
	if err != nil {
		ascii = strings.ToLower(m[2]) // an underscore, a long label: the browser decides
	}
	return strings.TrimSuffix(ascii, ".")
}

// Hosts is a set of domains.
type Hosts map[string]bool

func NewHosts(names []string) Hosts {
	set := Hosts{}
	for _, name := range names {
		set[HostOf("https://"+name)] = true
	}
	return set
}

// Has reports whether a page belongs to one of the domains or a subdomain of one.
func (set Hosts) Has(u string) bool {
	if len(set) == 0 {
		return false
	}
	for host := HostOf(u); host != ""; _, host, _ = strings.Cut(host, ".") {
		if set[host] {
			return true
		}
	}
	return false
}

// PageKey is equal for URLs of one page: the scheme, www, the case of the host, escapes, an anchor
// and a final slash do not count. The key of a name is the name.
func PageKey(u string) string {
	_, rest, ok := strings.Cut(html.UnescapeString(u), "://")
	if ok {
		u, _, _ = strings.Cut(rest, "#")
	}
	host, path, _ := strings.Cut(u, "/")
	unescaped, err := url.PathUnescape(path)
	if err == nil {
		path = unescaped
	}
	return strings.TrimRight(strings.TrimPrefix(strings.ToLower(host), "www.")+"/"+path, "/")
}
