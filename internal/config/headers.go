package config

import (
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/uchimanajet7/openai-responses-mcp/internal/logging"
)

var (
	headerLiteral   = regexp.MustCompile(`^[^\x00-\x1f\x7f]*$`)
	headerName      = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$") // RFC 9110 §5.6.2
	headerReference = regexp.MustCompile(`^([A-Za-z-]{1,16} )?\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)
)

// header is an entry of openai.headers.
type header struct {
	name, variable string // variable is "" for a literal value
	value          Secret // "" if the variable is not set
}

// reserved are the headers of the request itself and of the connection.
var reserved = []string{"host", "content-type", "content-length", "content-encoding", "transfer-encoding", "accept", "accept-encoding", "connection", "upgrade", "te", "trailer", "expect"}

// header sets openai.headers to what the file says. [loader.resolve] looks up the
// variables.
func (l *loader) header(f field, source string, n *yaml.Node) {
	headers, seen := map[string]string{}, map[string]bool{}
	for _, e := range entries(n) {
		name, value := e.key.Value, e.value.Value
		key, source, lower := join(f.key, name), l.source(e.key), strings.ToLower(name)
		reference := headerReference.MatchString(value) && !keyShaped(value)
		literal := value != "" && headerLiteral.MatchString(value) && !strings.Contains(value, "${") && (*logging.Redactor)(nil).Redact(value) == value
		switch {
		case !headerName.MatchString(name):
			l.report(source, f.key, redacted+" is not the name of a header")
		case slices.Contains(reserved, lower):
			l.report(source, key, "this header belongs to the request itself and cannot be set")
		case seen[lower]:
			l.report(source, key, "given twice: header names are case-insensitive")
		case e.value.ShortTag() == "!!null":
		case !reference && (credential(lower) || !literal):
			l.report(source, key, "the value is not ${NAME} or Bearer ${NAME} (the variable holds the secret, this file does not)")
		default:
			headers[name], seen[lower] = value, true
			l.c.hidden.origin[key] = source
		}
	}
	l.assign(source, f.key, "", reflect.ValueOf(headers))
}

// credential reports whether a header or a query parameter holds a secret, by its
// name in lower case.
func credential(name string) bool {
	switch name {
	case "authorization", "proxy-authorization", "cookie", "sig", "signature":
		return true
	}
	return slices.ContainsFunc([]string{"token", "secret", "key", "password"}, func(s string) bool { return strings.Contains(name, s) })
}

// resolve looks up the API key and the variables of openai.headers, and collects
// the secrets.
func (l *loader) resolve() {
	h := l.c.hidden
	lookup := func(variable string) string {
		value := l.vars[variable]
		if value != "" && !slices.Contains(h.env, variable) {
			h.env = append(h.env, variable)
		}
		h.secrets = append(h.secrets, value)
		return value
	}
	h.keyEnv = l.c.OpenAI.APIKeyEnv
	h.key = Secret(lookup(h.keyEnv))
	h.keySet = h.key != ""
	for _, name := range slices.Sorted(maps.Keys(l.c.OpenAI.Headers)) {
		head, key := header{name: name, value: Secret(l.c.OpenAI.Headers[name])}, join("openai.headers", name)
		if m := headerReference.FindStringSubmatch(string(head.value)); m != nil {
			head.variable, head.value = m[2], ""
			switch value := lookup(m[2]); {
			case value == "":
				l.warn(h.origin[key], key, "%s is not set: the header is not sent", m[2])
			case !headerLiteral.MatchString(value):
				l.warn(h.origin[key], key, "%s contains a line break or another control character: the header is not sent", m[2])
			default:
				head.value = Secret(m[1] + value)
			}
		}
		if strings.EqualFold(name, "authorization") || strings.EqualFold(name, "api-key") {
			h.keyEnv, h.key, h.keySet = head.variable, "", head.value != ""
		}
		h.headers = append(h.headers, head)
	}
	h.secrets = append(h.secrets, urlSecrets(l.c.OpenAI.BaseURL)...)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		h.secrets = append(h.secrets, urlSecrets(l.vars[name])...)
	}
}

// urlSecrets returns the user and password of a URL and the query values that are
// secrets by name. A URL that cannot be parsed is taken apart by hand, because
// net/http repeats it in its error.
func urlSecrets(raw string) (list []string) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		_, rest, ok := strings.Cut(raw, "://")
		if !ok {
			rest = raw
		}
		user := rest[:max(0, strings.LastIndexByte(rest, '@'))]
		_, password, _ := strings.Cut(user, ":")
		return []string{user, password}
	}
	if password, ok := u.User.Password(); ok {
		list = append(list, password)
	} else {
		list = append(list, u.User.Username())
	}
	for name, values := range u.Query() {
		if credential(strings.ToLower(name)) {
			list = append(list, values...)
		}
	}
	return list
}

// Headers returns the headers of openai.headers whose variables are set. The
// values are secrets.
func (c *Config) Headers() map[string]string {
	m := map[string]string{}
	for _, h := range c.hidden.headers {
		if h.value != "" {
			m[h.name] = string(h.value)
		}
	}
	return m
}

// HeaderVariables returns the variables that openai.headers refers to, set or not,
// without that of [Config.KeyEnv].
func (c *Config) HeaderVariables() []string {
	var list []string
	for _, h := range c.hidden.headers {
		if h.variable != "" && h.variable != c.KeyEnv() && !slices.Contains(list, h.variable) {
			list = append(list, h.variable)
		}
	}
	return list
}

// APIKey returns the key to send as a bearer token. It is "" if there is none, or
// if openai.headers has an Authorization or api-key header, because then the key
// may belong to another service.
func (c *Config) APIKey() Secret { return c.hidden.key }

// KeyEnv returns the variable that holds the credential: that of the header which
// replaces the API key, or openai.api_key_env.
func (c *Config) KeyEnv() string { return c.hidden.keyEnv }

// KeySet reports whether the variable of [Config.KeyEnv] is set.
func (c *Config) KeySet() bool { return c.hidden.keySet }

// Secrets returns everything that must not be printed: the API key, the values
// from variables in openai.headers, and the passwords in the URLs of the API and
// of proxies.
func (c *Config) Secrets() []string { return c.hidden.secrets }
