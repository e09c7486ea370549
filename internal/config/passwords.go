package config

import (
	"net/url"
	"strings"
)

// proxyVariables are those that the HTTP client reads (net/http,
// ProxyFromEnvironment), and the one for everything, which is as secret though
// others read it.
func proxyVariables() []string {
	return []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"}
}

// passwords returns what is secret in the URLs that the program uses: user and
// password, and the values of a query that are secrets by their name.
func (c *Config) passwords() []string {
	urls := []string{c.OpenAI.BaseURL}
	if c.proxies != nil {
		urls = append(urls, c.proxies()...)
	}
	var list []string
	for _, u := range urls {
		list = append(list, passwordsOf(u)...)
	}
	return list
}

// passwordsOf takes a URL apart by hand, as redactURL does: one that the HTTP
// client cannot read is quoted in its error. Each comes as it stands there and
// decoded.
func passwordsOf(text string) []string {
	var list []string
	add := func(s string, decode func(string) (string, error)) {
		list = append(list, s)
		if plain, err := decode(s); err == nil && plain != s {
			list = append(list, plain)
		}
	}
	if user := userOf(text); user != "" {
		add(user, url.PathUnescape)
		_, password, _ := strings.Cut(user, ":")
		add(password, url.PathUnescape)
	}
	text, _, _ = strings.Cut(text, "#")
	_, query, _ := strings.Cut(text, "?")
	for pair := range strings.SplitSeq(query, "&") {
		if name, value, ok := strings.Cut(pair, "="); ok && secretName(name) {
			add(value, url.QueryUnescape)
		}
	}
	return list
}
