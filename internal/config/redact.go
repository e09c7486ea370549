package config

import (
	"net/url"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/unescaped"
)

// redacted stands where a secret was.
const redacted = "[redacted]"

// redact replaces everything in s that has the shape of an API key: sk- and
// what follows, where a word may start.
func redact(s string) string {
	const prefix, short = "sk-", 6
	from := 0
	for {
		i := strings.Index(s[from:], prefix)
		if i < 0 {
			return s
		}
		i += from
		end := i + len(prefix)
		for end < len(s) && (isWord(rune(s[end])) || s[end] == '-') {
			end++
		}
		if end-i-len(prefix) < short || i > 0 && isWord(rune(s[i-1])) {
			from = end // ask-me, sk-1: words
			continue
		}
		s = s[:i] + redacted + s[end:]
		from = i + len(redacted)
	}
}

// hide replaces secrets that are known in what is to be shown: redact does not
// see one that stands amid a word, or has another shape. Short ones would turn
// up in any text.
func hide(s string, secrets []string) string {
	for _, secret := range secrets {
		if len(secret) < 8 {
			continue
		}
		if b, err := unescaped.JSON(secret); err == nil { // as JSON has it, within the quotes
			s = strings.ReplaceAll(s, string(b[1:len(b)-1]), redacted)
		}
	}
	return s
}

// redactURL replaces the user and the password of a URL and the values of its
// query that are secrets by their name. It works on text, so that it helps with
// what is no URL at all.
func redactURL(s string) string {
	if user := userOf(s); user != "" {
		s = strings.Replace(s, user+"@", redacted+"@", 1)
	}
	rest, fragment, hasFragment := strings.Cut(s, "#")
	rest, query, hasQuery := strings.Cut(rest, "?")
	if hasQuery {
		rest += "?" + redactQuery(query)
	}
	if hasFragment {
		rest += "#" + fragment
	}
	return redact(rest)
}

// userOf returns what stands before the @ of a URL. In one that cannot be read
// that is the last @: the password may have a slash in it.
func userOf(s string) string {
	_, err := url.Parse(s)
	_, rest, hasScheme := strings.Cut(s, "://")
	if hasScheme {
		s = rest
	}
	if hasScheme && err == nil {
		if i := strings.IndexAny(s, "/?#"); i >= 0 {
			s = s[:i]
		}
	}
	return s[:max(0, strings.LastIndexByte(s, '@'))]
}

func redactQuery(query string) string {
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		if name, _, ok := strings.Cut(pair, "="); ok && secretName(name) {
			pairs[i] = name + "=" + redacted
		}
	}
	return strings.Join(pairs, "&")
}

// redactAny is a copy of a JSON value without what is secret by name or shape.
func redactAny(v any) any {
	switch v := v.(type) {
	case string:
		return redact(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = redactAny(v[i])
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for name, value := range v {
			if secretName(name) {
				m[redact(name)] = redacted
				continue
			}
			m[redact(name)] = redactAny(value)
		}
		return m
	}
	return v
}

// secretName says whether a key of this name holds a secret: api_key, X-Api-Key,
// accessToken, but neither prompt_cache_key nor max_output_tokens.
func secretName(name string) bool {
	name = squeeze(name)
	switch name {
	case "key", "sig", "signature", "auth", "pass", "pwd":
		return true
	}
	for _, part := range []string{"apikey", "accesskey", "privatekey", "secret", "passw", "passphrase", "authorization", "credential", "bearer"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return strings.HasSuffix(name, "token")
}

// squeeze makes the spellings of a name alike: timeoutMs, timeout-ms, timeout_ms.
func squeeze(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '_', r == '-', r == ' ':
			return -1
		case r >= 'A' && r <= 'Z':
			return r + ('a' - 'A')
		}
		return r
	}, name)
}
