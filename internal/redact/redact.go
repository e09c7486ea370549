// Package redact keeps secrets out of everything the program prints.
package redact

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// Redacted stands for a secret.
const Redacted = "[redacted]"

// apiKey matches an API key that the configuration does not know: the API repeats a wrong key with
// asterisks in it. A letter before sk- makes it a part of a word, unless that is the n of a JSON \n.
var apiKey = regexp.MustCompile(`(\b|\\[nrt])sk-[A-Za-z0-9_*-]{8,}`)

// Redactor replaces secrets in text. It may be used by several goroutines.
type Redactor struct {
	known atomic.Pointer[strings.Replacer] // of the forms
	mu    sync.Mutex
	forms []string
}

// New returns a Redactor for the given secrets.
func New(secrets ...string) *Redactor {
	r := &Redactor{}
	r.Add(secrets...)
	return r
}

// Add adds secrets, as they are and escaped for JSON and for URLs. Secrets of fewer than 4
// characters are ignored.
func (r *Redactor) Add(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range secrets {
		if s = strings.TrimSpace(s); len([]rune(s)) < 4 {
			continue // it occurs in ordinary words
		}
		html, _ := json.Marshal(s) // a string cannot fail
		plain, _ := jsonx.Marshal(s)
		r.forms = append(r.forms, s, url.QueryEscape(s), url.PathEscape(s), string(html[1:len(html)-1]), string(plain[1:len(plain)-1]))
	}
	// A secret that begins with another one is replaced as a whole.
	slices.SortFunc(r.forms, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, f := range r.forms {
		pairs = append(pairs, f, Redacted)
	}
	r.known.Store(strings.NewReplacer(pairs...))
}

// Redact returns s with each secret replaced by [redacted]. A nil Redactor knows no secrets and
// replaces only what looks like an API key (sk-…).
func (r *Redactor) Redact(s string) string {
	if r != nil {
		s = r.known.Load().Replace(s)
	}
	if strings.Contains(s, "sk-") {
		s = apiKey.ReplaceAllString(s, "${1}"+Redacted)
	}
	return s
}

// Line returns s as one printable line ([text.OneLine]) without secrets. A secret with invisible
// characters in it is found, because they are removed first. A line is truncated afterwards: a part
// of a secret is not found.
func (r *Redactor) Line(s string) string { return r.Redact(text.OneLine(s)) }
