package config

import (
	"cmp"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/redact"
)

var (
	headerName      = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$") // RFC 9110 §5.6.2
	headerLiteral   = regexp.MustCompile(`^([^\x00-\x1f\x7f$]|\$[^{\x00-\x1f\x7f])+$`)
	headerReference = regexp.MustCompile(`^([A-Za-z-]{1,16} )?\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)
	// credential matches names of headers and of query parameters.
	credential = regexp.MustCompile(`(?i)^(proxy-)?authorization$|^cookie$|^sig(nature)?$|token|secret|key|password`)
)

// checkHeaders returns what is wrong with openai.headers, a line for each header. An empty value
// is a header that is not sent.
func checkHeaders(headers map[string]string) (problems []string) {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value := headers[name]
		literal := !credential.MatchString(name) && headerLiteral.MatchString(value)
		if !headerName.MatchString(name) {
			problems = append(problems, redact.Redacted+" is not the name of a header")
		} else if value != "" && !literal && !headerReference.MatchString(value) {
			problems = append(problems, "the value of "+name+" is not ${NAME} or Bearer ${NAME} (the variable holds the secret, this file does not)")
		}
	}
	return problems
}

// resolve looks up the API key and the variables of openai.headers, and collects the secrets.
func (l *loader) resolve() {
	l.KeyEnv = l.OpenAI.APIKeyEnv
	l.APIKey = l.variable(l.KeyEnv)
	l.Secrets = append(l.Secrets, l.APIKey)
	variables := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(l.OpenAI.Headers)) {
		value := l.OpenAI.Headers[name]
		if m := headerReference.FindStringSubmatch(value); m != nil {
			variable := m[2]
			variables[variable] = true
			value = l.variable(variable)
			l.Secrets = append(l.Secrets, value)
			if value != "" {
				value = m[1] + value
			} else if headerName.MatchString(name) {
				l.warn(l.origins["openai.headers"], "openai.headers", variable+" is not set: "+name+" is not sent")
			}
			if strings.EqualFold(name, "authorization") || strings.EqualFold(name, "api-key") {
				l.KeyEnv, l.APIKey = variable, ""
			}
		}
		if value != "" {
			l.SentHeaders[name] = value
		}
	}
	l.KeySet = l.vars[l.KeyEnv] != ""
	delete(variables, l.KeyEnv)
	l.HeaderVariables = slices.Sorted(maps.Keys(variables))
	l.Secrets = append(l.Secrets, urlSecrets(l.OpenAI.BaseURL)...)
	for _, variable := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		l.Secrets = append(l.Secrets, urlSecrets(l.vars[variable])...)
	}
}

// urlSecrets returns the password of a URL, or the user if there is none, and the query values
// that are secrets by name. It also finds them in a URL that cannot be parsed, which package
// net/http repeats in its error.
func urlSecrets(raw string) (list []string) {
	if _, address, ok := strings.Cut(raw, "://"); ok {
		raw = address
	}
	if at := strings.LastIndex(raw, "@"); at >= 0 {
		user, password, _ := strings.Cut(raw[:at], ":")
		secret := cmp.Or(password, user)
		decoded, _ := url.PathUnescape(secret)
		list = append(list, secret, decoded)
	}
	_, query, _ := strings.Cut(raw, "?")
	members, _ := url.ParseQuery(query)
	for name, values := range members {
		if credential.MatchString(name) {
			list = append(list, values...)
		}
	}
	return list
}
