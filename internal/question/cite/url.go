package cite

import (
	"cmp"
	"html"
	"net/url"
	"strings"

	"golang.org/x/net/idna"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// maxHost is the longest host name in bytes (RFC 1035 section 2.3.4).
const maxHost = 253

// escaped matches the characters that a URL has in escaped form only (RFC 3986 section 2). Letters
// of other scripts stay, as in an IRI.
var escaped = text.Regexp("[ \"<>\\\\^`{|}]")

// chatTracker matches the parameter that ChatGPT adds to links, and the API sometimes copies.
var chatTracker = text.Regexp(`\butm_source=chatgpt\.com(&|#|$)`)

// PageURL returns an http or https URL without user, password and tracking
// (utm_source=openai or chatgpt.com, a text fragment), or "" for anything else. A backslash in
// the path is a slash, as in browsers.
func PageURL(raw string) string {
	u := text.OneLine(raw)
	scheme, host, rest := cutHost(u)
	if len(host) > maxHost || asBrowser(host) == "" {
		return ""
	}

	rest, _, _ = strings.Cut(rest, ":~:")
	rest = strings.TrimSuffix(rest, "#")
	end := strings.IndexAny(rest+"?", "?#")
	rest = strings.ReplaceAll(rest[:end], `\`, "/") + rest[end:]
	rest = escaped().ReplaceAllStringFunc(rest, url.PathEscape)
	if strings.Contains(rest, "utm_source=chatgpt.com") {
		rest = chatTracker().ReplaceAllString(rest, tracker+"$1")
	}
	return scheme + host + untracked(rest)
}

// brackets escapes the characters around the text of a link in Markdown.
var brackets = strings.NewReplacer("[", "%5B", "]", "%5D")

// EscapeBrackets returns the URL of a page for a list in Markdown. Brackets in its path could be a
// link to another page.
func EscapeBrackets(page string) string {
	return brackets.Replace(page)
}

// cutHost splits an http or https URL before and after its host. A user is left out. All parts are
// empty for anything else. The path is not looked at: those of real pages are not always valid
// (".../100%").
func cutHost(u string) (scheme, host, rest string) {
	name, address, _ := strings.Cut(u, "://")
	web := strings.EqualFold(name, "https") ||
		strings.EqualFold(name, "http")

	end := strings.IndexAny(address+"/", `/?#\`)
	start := strings.LastIndex(address[:end], "@") + 1
	host, port, _ := strings.Cut(address[start:end], ":")
	if !web || strings.Trim(port, "0123456789") != "" {
		return "", "", ""
	}
	return name + "://", host, address[start+len(host):]
}

// PageKey is equal for URLs of one page: the scheme, www, the form of the host (日本.example or
// xn--wgv71a.example), escapes, an anchor and a final slash do not count. A fragment such as #/a or
// #!/a counts, as it names a page. The host has no escapes: "&num;" is a part of its name. The key
// of a name is the name.
func PageKey(u string) string {
	scheme, host, path := cutHost(u)
	if scheme == "" {
		return u
	}

	host = strings.TrimPrefix(asBrowser(host), "www.")
	path, fragment, _ := strings.Cut(path, "#")
	if strings.HasPrefix(strings.TrimPrefix(fragment, "!"), "/") {
		path += "#" + fragment
	}
	path = brackets.Replace(html.UnescapeString(path))
	unescaped, _ := url.PathUnescape(path) // "" for one that is not valid
	return strings.TrimRight(host+cmp.Or(unescaped, path), "/")
}

// browser maps hosts as browsers do (https://url.spec.whatwg.org/#concept-domain-to-ascii).
var browser = idna.New(
	idna.MapForLookup(),
	idna.StrictDomainName(false),
	idna.CheckHyphens(false),
)

// asBrowser returns a host as a browser maps it, without final dots, or "" if browsers refuse it,
// such as one with a full-width slash (https://url.spec.whatwg.org/#forbidden-domain-code-point).
func asBrowser(host string) string {
	const forbidden = ` #%/:<>?@[\]^|`
	ascii, err := browser.ToASCII(host)
	if err != nil || strings.ContainsAny(ascii, forbidden) {
		return ""
	}
	return strings.TrimRight(ascii, ".")
}

// HostOf returns the host of a page as a browser maps it, without port and final
// dots, or "" if u is not an http or https URL with a host.
func HostOf(u string) string {
	_, host, _ := cutHost(u)
	return asBrowser(host)
}

// Target returns a page with its host as a browser maps it, for a link that shows another name.
func Target(page string) string {
	scheme, host, rest := cutHost(page)
	return scheme + asBrowser(host) + rest
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
	for host := HostOf(u); host != ""; _, host, _ = strings.Cut(host, ".") {
		if set[host] {
			return true
		}
	}
	return false
}
