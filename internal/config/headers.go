package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// headersKey is the key of this file.
const headersKey = "openai.headers"

// What stands in openai.headers: a token of RFC 9110 §5.6.2, and a reference
// to a variable, alone or after an authentication scheme. Any other text could
// be a secret, and secrets are not for files.
const (
	headerName  = "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"
	headerValue = `^([A-Za-z-]{1,16} )?\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`
)

// header is an entry of openai.headers with what its variable holds.
type header struct {
	name     string // as in the file
	variable string
	scheme   string // "Bearer " or ""
	secret   string // "" when the variable is not set
}

// headers reads openai.headers. It stores what the file says, without the
// values of the variables; a null leaves its header out.
func (w *walker) headers(n *yaml.Node, path string) map[string]string {
	name, value := regexp.MustCompile(headerName), regexp.MustCompile(headerValue)
	m := make(map[string]string, len(n.Content)/2)
	for _, e := range w.entries(n, path) {
		key, t := join(path, e.name), textOf(e.value)
		switch {
		case !name.MatchString(e.name):
			w.fail(e.key, path, redacted+" is not the name of a header")
		case reserved(e.name):
			w.fail(e.key, key, "this header belongs to the request itself and cannot be set")
		case known(m, e.name):
			w.fail(e.key, key, "given twice: the names of headers know no case")
		case e.value.ShortTag() == "!!null":
		case t.kind != kindString || !value.MatchString(t.value) || keyShaped(t.value):
			w.fail(e.key, key, "the value is not ${NAME}, alone or after a scheme as in Bearer ${NAME} (the variable holds the secret, the file never does)")
		default:
			m[e.name] = t.value
			w.l.c.origin[key] = source(w.l.c.file, e.key.Line)
		}
	}
	return m
}

// reserved names the headers that make the request what it is, and those that
// are about the connection (RFC 9110 §7.6.1).
func reserved(name string) bool {
	switch strings.ToLower(name) {
	case "host", "content-type", "content-length", "content-encoding", "transfer-encoding", "accept", "accept-encoding",
		"connection", "proxy-connection", "keep-alive", "upgrade", "te", "trailer", "expect":
		return true
	}
	return false
}

func known(m map[string]string, name string) bool {
	for other := range m {
		if strings.EqualFold(other, name) {
			return true
		}
	}
	return false
}

// headers looks up the variables that openai.headers refers to. One that is
// not set costs its header, not the start.
func (l *loader) headers() {
	var list []header
	for _, name := range slices.Sorted(maps.Keys(l.c.OpenAI.Headers)) {
		h := header{name: name}
		h.scheme, h.variable, _ = strings.Cut(strings.TrimSuffix(l.c.OpenAI.Headers[name], "}"), "${") // as headerValue has it
		lookup := h.variable
		if l.in.GOOS == "windows" {
			lookup = strings.ToUpper(lookup)
		}
		secret, key := l.vars[lookup], join(headersKey, name)
		switch {
		case secret == "":
			l.warn(l.c.origin[key], key, h.variable+" is not set: the header is not sent")
		case strings.ContainsFunc(secret, func(r rune) bool { return r < ' ' || r == 0x7f }):
			l.warn(l.c.origin[key], key, h.variable+" has a line break or another control character in it: the header is not sent")
		default:
			h.secret = secret
			if !slices.Contains(l.c.env, h.variable) {
				l.c.env = append(l.c.env, h.variable)
			}
		}
		list = append(list, h)
	}
	l.c.header = func() []header { return list }
}

func (c *Config) headers() []header {
	if c.header == nil {
		return nil
	}
	return c.header()
}

// Headers returns the headers of openai.headers whose variables are set, by
// the name in the file. Their values are secrets.
func (c *Config) Headers() map[string]string {
	m := map[string]string{}
	for _, h := range c.headers() {
		if h.secret != "" {
			m[h.name] = h.scheme + h.secret
		}
	}
	return m
}

// Secrets returns everything that must be seen nowhere: the API key, what the
// variables of openai.headers hold, and the passwords in the URLs of the API
// and of proxies.
func (c *Config) Secrets() []string {
	list := append([]string{c.APIKey()}, c.passwords()...)
	for _, h := range c.headers() {
		list = append(list, h.secret)
	}
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

// Credential returns what identifies the caller: the variable that holds it,
// the key for a bearer header made by the program, and whether there is any.
// Where openai.headers names an Authorization or an api-key, that is it, and
// the key of api_key_env, perhaps one of another service, is kept back.
func (c *Config) Credential() (variable, key string, set bool) {
	for _, name := range []string{"authorization", "api-key"} {
		for _, h := range c.headers() {
			if strings.EqualFold(h.name, name) {
				return h.variable, "", h.secret != ""
			}
		}
	}
	return c.OpenAI.APIKeyEnv, c.APIKey(), c.APIKey() != ""
}

// Variables returns the variables that the program has its secrets from, set or
// not: that of Credential first, then those of the other headers.
func (c *Config) Variables() []string {
	first, _, _ := c.Credential()
	list := []string{first}
	for _, h := range c.headers() {
		if !slices.Contains(list, h.variable) {
			list = append(list, h.variable)
		}
	}
	return list
}

// shownHeaders is what --show-config tells of them.
func (c *Config) shownHeaders() object {
	o := object{}
	for _, h := range c.headers() {
		state := "[not set]"
		if h.secret != "" {
			state = "[set]"
		}
		o = append(o, member{redact(h.name), state})
	}
	return o
}
