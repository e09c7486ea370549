package config

import (
	"cmp"
	"log/slog"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Secret is a text that is never printed: it formats, marshals and logs as
// [redacted]. Convert it to string where it is sent.
type Secret string

const redacted = "[redacted]"

func (Secret) String() string               { return redacted }
func (Secret) GoString() string             { return redacted }
func (Secret) LogValue() slog.Value         { return slog.StringValue(redacted) }
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

var (
	headerName      = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$") // RFC 9110 §5.6.2
	headerLiteral   = regexp.MustCompile(`^([^\x00-\x1f\x7f$]|\$[^{\x00-\x1f\x7f])+$`)
	headerReference = regexp.MustCompile(`^([A-Za-z-]{1,16} )?\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)
	// credential matches names of headers and of query parameters.
	credential = regexp.MustCompile(`(?i)^(proxy-)?authorization$|^cookie$|^sig(nature)?$|token|secret|key|password`)
)

// headers sets openai.headers to what the file says. Each header has its own line.
func (l *loader) headers(n *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i].Value, n.Content[i+1]
		key, source := join("openai.headers", name), l.source(n.Content[i])
		switch {
		case !headerName.MatchString(name):
			l.report(source, "openai.headers", redacted+" is not the name of a header")
		case value.ShortTag() == "!!null":
		case headerReference.MatchString(value.Value), !credential.MatchString(name) && headerLiteral.MatchString(value.Value):
			l.c.OpenAI.Headers[name], l.origins[key] = value.Value, source
		default:
			l.report(source, key, "the value is not ${NAME} or Bearer ${NAME} (the variable holds the secret, this file does not)")
		}
	}
}

// resolve looks up the API key and the variables of openai.headers, and collects
// the secrets.
func (l *loader) resolve() {
	d := l.c.Derived
	lookup := func(variable string) string {
		value := l.vars[variable]
		if value != "" && !slices.Contains(d.used, variable) {
			d.used = append(d.used, variable)
		}
		d.Secrets = append(d.Secrets, value)
		return value
	}
	d.KeyEnv, d.SentHeaders = l.c.OpenAI.APIKeyEnv, map[string]string{}
	d.APIKey = Secret(lookup(d.KeyEnv))
	d.KeySet = d.APIKey != ""
	for _, name := range slices.Sorted(maps.Keys(l.c.OpenAI.Headers)) {
		value := l.c.OpenAI.Headers[name]
		if m := headerReference.FindStringSubmatch(value); m != nil {
			variable := m[2]
			if value = lookup(variable); value != "" {
				value = m[1] + value
			} else {
				key := join("openai.headers", name)
				l.warn(l.origins[key], key, variable+" is not set: the header is not sent")
			}
			if strings.EqualFold(name, "authorization") || strings.EqualFold(name, "api-key") {
				d.KeyEnv, d.APIKey, d.KeySet = variable, "", value != ""
			}
			d.HeaderVariables = append(d.HeaderVariables, variable)
		}
		if value != "" {
			d.SentHeaders[name] = value
		}
	}
	slices.Sort(d.HeaderVariables)
	d.HeaderVariables = slices.DeleteFunc(slices.Compact(d.HeaderVariables), func(name string) bool { return name == d.KeyEnv })
	for _, raw := range []string{
		l.c.OpenAI.BaseURL, l.vars["HTTP_PROXY"], l.vars["http_proxy"], l.vars["HTTPS_PROXY"], l.vars["https_proxy"],
	} {
		d.Secrets = append(d.Secrets, urlSecrets(raw)...)
	}
}

// urlSecrets returns the password of a URL, or the user if there is none, and the
// query values that are secrets by name. A URL with @ that cannot be parsed is a
// secret as a whole, because package net/http repeats it in its error.
func urlSecrets(raw string) []string {
	full := raw
	if !strings.Contains(raw, "://") {
		full = "http://" + raw // as net/http reads the address of a proxy
	}
	u, err := url.Parse(full)
	if err != nil && strings.Contains(raw, "@") {
		return []string{raw}
	} else if err != nil {
		return nil
	}
	password, _ := u.User.Password()
	list := []string{cmp.Or(password, u.User.Username())}
	for name, values := range u.Query() {
		if credential.MatchString(name) {
			list = append(list, values...)
		}
	}
	return list
}
