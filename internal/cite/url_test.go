package cite

import (
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

func TestPageURL(t *testing.T) {
	check(t, table(t, "pages"), PageURL)
}

func TestNoPage(t *testing.T) {
	for _, u := range []string{
		"",
		"https://",
		"https:///x",
		"https:a.example",
		"a.example/x",
		"javascript:alert(1)//https://a.example",
		"data:text/html,x",
		"ftp://a.example/",
		"https://./x",
		"https://a.example:x/",
		"https://\u3002/x",
		"https://%65vil.example/",
		"https://evil%2eexample/",
		"https://evil.example／.a.example/",
		"https://ev\til.example/",
		"https://" + strings.Repeat("例", 100) + ".example/",
	} {
		t.Run(u, func(t *testing.T) {
			compare.Equal(t, "page", PageURL(u), "")
		})
	}
}

func TestPageKey(t *testing.T) {
	for _, tt := range []struct {
		name string
		a, b string
		same bool
	}{
		{"final slash", "https://a.example", "https://a.example/", true},
		{"final slash of a path", "https://a.example/x", "https://a.example/x/", true},
		{"anchor", "https://a.example/x", "https://a.example/x#part", true},
		{"scheme and case of the host", "http://A.Example/x", "https://a.example/x", true},
		{"script of the host", "https://日本.example:80/", "https://xn--wgv71a.example:80/", true},
		{"www", "https://www.a.example/x", "https://a.example/x", true},
		{"escapes", "https://a.example/東", "https://a.example/%E6%9D%B1", true},
		{"entity", "https://a.example/?a&amp;b", "https://a.example/?a&b", true},
		{"entity in the host", "https://a.example/", "https://a.example&num;.b.example/", false},
		{"entity of a slash", "https://a.example/", "https://a.example&sol;", false},
		{"case of the path", "https://a.example/x", "https://a.example/X", false},
		{"query", "https://a.example/?id=1", "https://a.example/?id=2", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := PageKey(tt.a)
			b := PageKey(tt.b)

			compare.Equal(t, a+" is "+b, a == b, tt.same)
		})
	}
}

func TestHosts(t *testing.T) {
	hosts := NewHosts([]string{"bad.example", "Worse.example", "xn--wgv71a.example"})

	for u, want := range map[string]bool{
		"https://bad.example/":            true,
		"https://BAD.example:443/x":       true,
		"https://www.bad.example/":        true,
		"https://a.b.bad.example?x":       true,
		"https://bad.example./":           true,
		"https://bad.example../":          true,
		"https://user@bad.example/":       true,
		`https://bad.example\x`:           true,
		`https://bad.example\@ok.example`: true,
		"https://ok.example@bad.example":  true,

		"https://worse.example/": true,
		"https://ｂａｄ.example/":   true,
		"https://bad。example/":   true,
		"https://日本.example/":    true,

		"https://notbad.example/":        false,
		"https://bad.example.org/":       false,
		"https://ok.example/bad.example": false,
		"https://my_bad.example/":        false,
		"oai-weather":                    false,
	} {
		t.Run(u, func(t *testing.T) {
			compare.Equal(t, "has", hosts.Has(u), want)
		})
	}
}
