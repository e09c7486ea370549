package cite

import (
	"cmp"
	"html"
	"net/url"
	"strings"

	"golang.org/x/net/idna"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// needsEscape matches the characters that a URL may contain only in escaped form (RFC 3986 section
// 2). Letters of other scripts stay, as in an IRI.
var needsEscape = text.LazyRegexp("[ \"<>\\\\^`{|}]")

// chatTracker matches the parameter that ChatGPT adds to links. The API sometimes copies such
// links.
var chatTracker = text.LazyRegexp(`\butm_source=chatgpt\.com(&|#|$)`)

// PageURL returns an http or https URL without user, password and tracking (utm_source=openai or
// chatgpt.com, a text fragment), or "" for anything else. A backslash in the path is a slash, as in
// browsers.
func PageURL(raw string) string {
	u := text.OneLine(raw)
	scheme, host, rest := cutHost(u)
	if len(host) > text.MaxHost || browserHost(host) == "" {
		return ""
	}

	rest, _, _ = strings.Cut(rest, ":~:")
	rest = strings.TrimSuffix(rest, "#")
	end := strings.IndexAny(rest+"?", "?#")
	rest = strings.ReplaceAll(rest[:end], `\`, "/") + rest[end:]
	rest = needsEscape().ReplaceAllStringFunc(rest, url.PathEscape)
	if strings.Contains(rest, "utm_source=chatgpt.com") {
		rest = chatTracker().ReplaceAllString(rest, tracker+"$1")
	}
	return scheme + host + removeTrackers(rest, true)
}

// bracketEscaper escapes brackets, which in Markdown enclose the text of a link.
var bracketEscaper = strings.NewReplacer("[", "%5B", "]", "%5D")

// EscapeBrackets returns the URL of a page for a list in Markdown, where brackets in the path could
// form a link to another page.
func EscapeBrackets(page string) string {
	return bracketEscaper.Replace(page)
}

// cutHost splits an http or https URL before and after its host, without user and password. All
// parts are empty if u is anything else. The path is not checked, because the paths of real pages
// are not always valid (".../100%").
func cutHost(u string) (scheme, host, rest string) {
	name, address, _ := strings.Cut(u, "://")
	isWeb := strings.EqualFold(name, "https") ||
		strings.EqualFold(name, "http")

	end := strings.IndexAny(address+"/", `/?#\`)
	start := strings.LastIndex(address[:end], "@") + 1
	host, port, _ := strings.Cut(address[start:end], ":")
	if !isWeb || strings.Trim(port, "0123456789") != "" {
		return "", "", ""
	}
	return name + "://", host, address[start+len(host):]
}

// PageKey returns a key that is equal for all URLs of one page: the scheme, www, the form of the
// host (日本.example or xn--wgv71a.example), escapes, an anchor and a final slash do not count. A
// fragment such as #/a or #!/a counts, as it names a page. Escapes in the host stay: "&num;" is a
// part of its name. The key of a source without a URL is its name.
func PageKey(u string) string {
	scheme, host, path := cutHost(u)
	if scheme == "" {
		return u
	}

	host = strings.TrimPrefix(browserHost(host), "www.")
	path, fragment, _ := strings.Cut(path, "#")
	if strings.HasPrefix(strings.TrimPrefix(fragment, "!"), "/") {
		path += "#" + fragment
	}
	path = bracketEscaper.Replace(html.UnescapeString(path))
	unescaped, _ := url.PathUnescape(path) // "" if an escape is not valid
	return strings.TrimRight(host+cmp.Or(unescaped, path), "/")
}

// hostProfile maps hosts as browsers do (https://url.spec.whatwg.org/#concept-domain-to-ascii).
var hostProfile = idna.New(
	idna.MapForLookup(),
	idna.StrictDomainName(false),
	idna.CheckHyphens(false),
)

// browserHost returns a host as a browser maps it, without final dots, or "" if browsers refuse it.
// They refuse a full-width slash, for example
// (https://url.spec.whatwg.org/#forbidden-domain-code-point).
func browserHost(host string) string {
	const forbidden = ` #%/:<>?@[\]^|`
	ascii, err := hostProfile.ToASCII(host)
	if err != nil || strings.ContainsAny(ascii, forbidden) {
		return ""
	}
	return strings.TrimRight(ascii, ".")
}

// HostOf returns the host of a page as a browser maps it, without port and final dots, or "" if u
// is not an http or https URL with a host.
func HostOf(u string) string {
	_, host, _ := cutHost(u)
	return browserHost(host)
}

// LinkTarget returns the URL of a page with its host as a browser maps it. It is the target of a
// link whose text may show another form of the host.
func LinkTarget(page string) string {
	scheme, host, rest := cutHost(page)
	return scheme + browserHost(host) + rest
}

// DomainSet is a set of domains, in the form of HostOf.
type DomainSet map[string]bool

// NewDomainSet returns the set of the domains with these names.
func NewDomainSet(names []string) DomainSet {
	set := DomainSet{}
	for _, name := range names {
		set[HostOf("https://"+name)] = true
	}
	return set
}

// HasPage reports whether a page belongs to one of the domains or a subdomain of one.
func (set DomainSet) HasPage(u string) bool {
	for host := HostOf(u); host != ""; _, host, _ = strings.Cut(host, ".") {
		if set[host] {
			return true
		}
	}
	return false
}
