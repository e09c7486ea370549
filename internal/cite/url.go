package cite

import (
	"html"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/net/idna"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// maxHost is the longest host name in bytes (RFC 1035 section 2.3.4).
const maxHost = 253

// escapes has the characters that a URL has in escaped form only (RFC 3986
// section 2). Letters of other scripts stay, as in an IRI.
var escapes = strings.NewReplacer(
	" ", "%20",
	`"`, "%22",
	"<", "%3C",
	">", "%3E",
	`\`, "%5C",
	"^", "%5E",
	"`", "%60",
	"{", "%7B",
	"|", "%7C",
	"}", "%7D",
)

// authority matches the start of an http or https URL to the end of its port. The submatches are
// scheme, host and port; a user is left out. The path is not parsed: those of real pages are not
// always valid (".../100%").
var authority = regexp.MustCompile(
	`^(?i:(https?://))(?:[^/?#\\]*@)?([^/?#\\@:% ]+)((?::\d*)?)(?:$|[/?#\\])`)

// PageURL returns an http or https URL without user, password and tracking
// (utm_source=openai, a text fragment), or "" for anything else.
func PageURL(raw string) string {
	u, _, _ := strings.Cut(text.OneLine(raw), ":~:")
	at := authority.FindStringSubmatchIndex(u)
	if at == nil {
		return ""
	}

	scheme := u[:at[3]]
	host := u[at[4]:at[5]]
	port := u[at[6]:at[7]]
	path := strings.TrimSuffix(u[at[7]:], "#")
	if len(host) > maxHost {
		return ""
	}
	return scheme + host + port + untracked(escapes.Replace(path))
}

// PageKey is equal for URLs of one page: the scheme, www, the case of the host, escapes, an anchor
// and a final slash do not count. The key of a name is the name.
func PageKey(u string) string {
	_, address, isPage := strings.Cut(html.UnescapeString(u), "://")
	if isPage {
		u, _, _ = strings.Cut(address, "#")
	}

	host, path, _ := strings.Cut(u, "/")
	host = strings.TrimPrefix(strings.ToLower(host), "www.")
	unescaped, err := url.PathUnescape(path)
	if err == nil {
		path = unescaped
	}
	return strings.TrimRight(host+"/"+path, "/")
}

// browser maps hosts as browsers do (https://url.spec.whatwg.org/#concept-domain-to-ascii).
var browser = idna.New(
	idna.MapForLookup(),
	idna.StrictDomainName(false),
	idna.CheckHyphens(false),
)

// HostOf returns the host of a page as a browser maps it, without port and final
// dot, or "" if u is not an http or https URL.
func HostOf(u string) string {
	m := authority.FindStringSubmatch(u)
	if m == nil {
		return ""
	}

	host := m[2]
	ascii, err := browser.ToASCII(host)
	if err != nil { // an underscore or a long label, which browsers may accept
		ascii = strings.ToLower(host)
	}
	return strings.TrimSuffix(ascii, ".")
}

// Hosts is a set of domains, as HostOf returns them.
type Hosts map[string]bool

// NewHosts returns the set of these domains.
func NewHosts(names []string) Hosts {
	set := Hosts{}
	for _, name := range names {
		set[HostOf("https://"+name)] = true
	}
	return set
}

// Has reports whether a page belongs to one of the domains or a subdomain of one.
func (set Hosts) Has(u string) bool {
	if len(set) == 0 { // the usual case, in which the host need not be mapped
		return false
	}
	for host := HostOf(u); host != ""; _, host, _ = strings.Cut(host, ".") {
		if set[host] {
			return true
		}
	}
	return false
}
