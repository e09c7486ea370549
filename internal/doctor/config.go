package doctor

import (
	"fmt"
	"net"
	"net/url"
	"strings"
)

// configChecks are the file and each warning about it.
func (o *Options) configChecks() []Check {
	c := Check{Name: "config", Verdict: OK, Details: o.Config.Origins}
	switch looked := strings.Join(o.Config.Looked, ", "); {
	case o.Config.Err != nil:
		c.Verdict, c.Text, c.Details = Fail, o.Config.Err.Error(), nil
		c.Cure = "correct it there (config/config.yaml.example has every key) and run doctor again: the rest was not checked"
	case o.Config.File != "":
		c.Text = "read " + o.Config.File
	case looked != "":
		c.Text = "no file, looked for " + looked
	default:
		c.Text = "no file, and no home folder to look in"
	}
	checks := []Check{c}
	for _, w := range o.Config.Warnings {
		c := Check{Name: "config", Verdict: Warn, Text: w, Cure: "correct it or take it out: it has no effect"}
		if strings.HasSuffix(w, " is not set: the header is not sent") { // the words of config
			c.Cure = "set the variable where the client starts the server, or take the header out"
		}
		checks = append(checks, c)
	}
	return checks
}

// check reports a file that the configuration names.
func (s Setting) check(name string) Check {
	if s.Problem == "" {
		return Check{Name: name, Verdict: OK, Text: s.Text}
	}
	return Check{Name: name, Verdict: Fail, Text: s.Problem, Cure: "correct " + s.Where}
}

// keyCheck tells a key that is missing from one that the API refuses.
func (o *Options) keyCheck(w *way) Check {
	c := Check{Name: "key", Verdict: OK, Text: o.KeyEnv + " is set"}
	switch {
	case o.Offline:
		c.Text = "none is needed with --offline"
	case !o.KeySet:
		c.Verdict, c.Text = Fail, o.KeyEnv+" is not set"
		c.Cure = o.GetKey + " where the client starts the server; setup CLIENT shows how, --offline needs none"
	case w.key != nil:
		c.Verdict, c.Text = Fail, fmt.Sprintf("%s is set, but %s", o.KeyEnv, w.key.Text)
		c.Cure = w.key.Cure
	case w.accepted:
		c.Text += " and accepted"
	}
	return c
}

// baseCheck is about the address alone, not about what answers there.
func (o *Options) baseCheck() Check {
	c := Check{Name: "base url", Verdict: OK, Text: BareURL(o.BaseURL)}
	if o.BaseOrigin != "" && o.BaseOrigin != "default" {
		c.Text += " (" + o.BaseOrigin + ")"
	}
	if t := ClearText(o.BaseURL); t != "" && !o.Offline {
		c.Verdict, c.Text, c.Cure = Warn, t, "use https, or a server on this machine"
	}
	return c
}

// ClearText returns a warning when requests to base would carry the API key
// unencrypted to another host, and "" otherwise.
func ClearText(base string) string {
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil || u.Scheme != "http" || loopback(u.Hostname()) {
		return ""
	}
	return fmt.Sprintf("openai.base_url is plain http to %s: the API key travels in the clear", u.Hostname())
}

// loopback reports that a host name is this machine (RFC 6761 for localhost).
func loopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	return net.ParseIP(host).IsLoopback()
}

// BareURL is a URL without what may be secret in it: user, password and query.
// It is "unreadable" for what is no URL.
func BareURL(text string) string {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return "unreadable"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
