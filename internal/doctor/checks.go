package doctor

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// BaseURL checks the address of the API, not the server there. from is where
// the address is set.
func BaseURL(base, from string) Check {
	if s := ClearText(base); s != "" {
		return Warn("base url", s, "use https, or a server on this machine")
	}
	return OK("base url", base+" ("+from+")")
}

// ClearText returns a warning when requests to base carry the API key
// unencrypted to another host, and "" otherwise.
func ClearText(base string) string {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" || loopback(u.Hostname()) {
		return ""
	}
	return fmt.Sprintf("openai.base_url is plain http to %s: the API key is sent unencrypted", u.Hostname())
}

// loopback reports whether a host name is this machine (RFC 6761 for localhost).
func loopback(host string) bool {
	host = strings.ToLower(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || net.ParseIP(host).IsLoopback()
}

// Proxy says which proxy requests to base go through, or why none. rule is that
// of the HTTP client, variable the one that names the proxy for base.
func Proxy(base, variable string, rule func(*http.Request) (*url.URL, error), getenv func(string) string) Check {
	u, err := url.Parse(base)
	if err != nil {
		return OK("proxy", "none") // the check of the connection fails
	}
	proxy, _ := rule(&http.Request{URL: u})
	switch {
	case proxy != nil: // User has a password
		return OK("proxy", fmt.Sprintf("%s://%s (%s)", proxy.Scheme, proxy.Host, variable))
	case getenv(variable) == "":
		return OK("proxy", "none")
	case loopback(u.Hostname()):
		return OK("proxy", "none, as the API is on this machine")
	case getenv("NO_PROXY") != "", getenv("no_proxy") != "":
		return OK("proxy", "none, because of NO_PROXY")
	}
	// net/http uses no proxy then, without an error.
	return Warn("proxy", variable+" is set but not used: it is not the URL of a proxy", "set it to http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT")
}

// notice is how long before its shutdown a model gets a warning.
const notice = 120 * 24 * time.Hour

// Model checks the day of the shutdown of a model that the API has. body is the
// API's description of the model, and cure how to choose another one.
func Model(name, id string, body []byte, now time.Time, cure string) Check {
	var m struct {
		Date string `json:"shutdown_date"` // 2027-03-21
	}
	_ = json.Unmarshal(body, &m) // without a date there is no shutdown
	day := m.Date
	end, err := time.Parse(time.DateOnly, day)
	switch left := end.Sub(now); {
	case err != nil:
		return OK(name, id+" is there")
	case left <= 0:
		return Fail(name, fmt.Sprintf("%s was shut down on %s", id, day), cure)
	case left <= notice:
		return Warn(name, fmt.Sprintf("%s is shut down on %s (days left: %d)", id, day, int(left.Hours()/24)+1), cure)
	}
	return OK(name, id+" is there until "+day)
}
