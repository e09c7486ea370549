package doctor

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// key reports whether there is a key and whether the API accepts it.
func (o *Options) key(f *findings) Check {
	fault := f.first().fault
	c := Check{Name: "key", Verdict: OK, Text: o.KeyEnv + " is set"}
	switch {
	case o.Offline:
		c.Text = "none is needed with --offline"
	case !o.KeySet:
		c.Verdict, c.Text = Fail, o.KeyEnv+" is not set"
		c.Cure = o.GetKey + " where the client starts the server; setup CLIENT shows how, --offline needs none"
	case fault != nil && fault.About == AboutKey && f.answered == "":
		c.Verdict, c.Text, c.Cure = Fail, fmt.Sprintf("%s is set, but %s", o.KeyEnv, fault.Text), fault.Cure
	case f.accepted():
		c.Text += " and accepted"
	case o.KeyFlaw != "":
		c.Verdict, c.Text, c.Cure = Warn, fmt.Sprintf("%s is set, but %s", o.KeyEnv, o.KeyFlaw), "put the key alone into "+o.KeyEnv
	}
	return c
}

// base is about the address alone, not about the server there.
func (o *Options) base() Check {
	c := Check{Name: "base url", Verdict: OK, Text: o.BaseURL}
	if u, err := url.Parse(o.BaseURL); err != nil {
		c.Text = "unreadable"
	} else {
		u.User, u.RawQuery, u.Fragment = nil, "", ""
		c.Text = u.String()
	}
	if o.BaseOrigin != "" && o.BaseOrigin != "default" {
		c.Text += " (" + o.BaseOrigin + ")"
	}
	if t := ClearText(o.BaseURL); t != "" && !o.Offline {
		c.Verdict, c.Text, c.Cure = Warn, t, "use https, or a server on this machine"
	}
	return c
}

// ClearText returns a warning when requests to base carry the API key
// unencrypted to another host, and "" otherwise.
func ClearText(base string) string {
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil || u.Scheme != "http" || loopback(u.Hostname()) {
		return ""
	}
	return fmt.Sprintf("openai.base_url is plain http to %s: the API key is sent unencrypted", u.Hostname())
}

// loopback reports whether a host name is this machine (RFC 6761 for localhost).
func loopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || net.ParseIP(host).IsLoopback()
}

// proxy reports which proxy is used, or why none is.
func (o *Options) proxy() Check {
	c := Check{Name: "proxy", Verdict: OK, Text: "none"}
	u, err := url.Parse(o.BaseURL)
	if err != nil {
		return c // the request for the model fails too and says why
	}
	proxy, err := o.Proxy(&http.Request{URL: u})
	switch {
	// net/http puts http:// in front of what is not a URL. Its error and the
	// path then show the text, which may have a password in it.
	case err != nil, proxy != nil && (proxy.Hostname() == "" || strings.Trim(proxy.Path, "/") != ""):
		c.Verdict, c.Text = Fail, "the address in "+o.ProxyVariable+" is not a URL"
		c.Cure = "correct " + o.ProxyVariable + ": http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT"
	case proxy != nil:
		c.Text = fmt.Sprintf("%s://%s (%s)", proxy.Scheme, proxy.Host, o.ProxyVariable)
	case o.Variable(o.ProxyVariable) == "":
	case loopback(u.Hostname()):
		c.Text = "none, as the API is on this machine"
	case o.Variable("NO_PROXY") != "", o.Variable("no_proxy") != "":
		c.Text = "none, because of NO_PROXY"
	default:
		c.Verdict, c.Text, c.Cure = Warn, o.ProxyVariable+" is set but not used: it is not the URL of a proxy", "correct "+o.ProxyVariable
	}
	return c
}
