// Package redact keeps secrets out of everything the program prints.
package redact

import (
	"cmp"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// Redacted replaces each secret.
const Redacted = "[redacted]"

// apiKey matches what looks like an API key, for keys that no Redactor knows: the API repeats a
// wrong key with asterisks in it. After a letter, sk- is part of a word, unless the letter belongs
// to an escape in JSON, such as \n.
var apiKey = regexp.MustCompile(`(\b|\\[nrt])sk-[A-Za-z0-9_*-]{8,}`)

// minSecret is the length of the shortest secret, in characters. A shorter secret would also be
// found in ordinary words.
const minSecret = 4

// Redactor replaces secrets in text. It may be used by several goroutines.
type Redactor struct {
	// replacer replaces all forms, the longest first: a secret that begins with another one is
	// replaced as a whole.
	replacer atomic.Pointer[strings.Replacer]

	mu      sync.Mutex // guards the fields below, and the sources
	forms   []string   // of the secrets of Add, as the function forms returns them
	sources []*Source
}

// Source is a source of secrets that change, such as a file. Its Redactor forgets the old ones: a
// server that runs for months, whose key changes each hour, would have thousands.
type Source struct {
	redactor *Redactor
	present  []string   // forms of the present secrets, sorted
	former   [][]string // forms that a change has removed, for each of the last changes
}

// maxFormer is of how many changes, the last one included, the removed secrets are kept: a running
// call may still use an earlier key.
const maxFormer = 3

// New returns a Redactor for the given secrets.
func New(secrets ...string) *Redactor {
	r := &Redactor{}
	r.Add(secrets...)
	return r
}

// Add adds secrets. From then on they are redacted, also where they are escaped for JSON or for
// URLs. Secrets of fewer than 4 characters are ignored.
func (r *Redactor) Add(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.forms = append(r.forms, formsOf(secrets)...)
	r.updateLocked()
}

// NewSource returns a Source without secrets.
func (r *Redactor) NewSource() *Source {
	r.mu.Lock()
	defer r.mu.Unlock()

	s := &Source{redactor: r}
	r.sources = append(r.sources, s)
	return s
}

// Set sets the present secrets, as Add does. Those that the last maxFormer changes have removed are
// redacted, too.
func (s *Source) Set(secrets ...string) {
	s.redactor.mu.Lock()
	defer s.redactor.mu.Unlock()

	before := s.present
	s.present = formsOf(secrets)
	var removed []string
	for _, form := range before {
		_, isPresent := slices.BinarySearch(s.present, form)
		if !isPresent {
			removed = append(removed, form)
		}
	}
	s.former = append(s.former, removed)
	s.former = s.former[max(0, len(s.former)-maxFormer):]
	s.redactor.updateLocked()
}

// updateLocked makes the replacer for all secrets.
func (r *Redactor) updateLocked() {
	all := slices.Clone(r.forms)
	for _, s := range r.sources {
		all = slices.Concat(all, s.present, slices.Concat(s.former...))
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	})
	var pairs []string
	for _, form := range slices.Compact(all) {
		pairs = append(pairs, form, Redacted)
	}
	r.replacer.Store(strings.NewReplacer(pairs...))
}

// formsOf returns the forms of all secrets that are long enough, each once, sorted.
func formsOf(secrets []string) (list []string) {
	for _, secret := range secrets {
		secret = strings.TrimSpace(secret)
		if utf8.RuneCountInString(secret) >= minSecret {
			list = append(list, forms(secret)...)
		}
	}
	slices.Sort(list)
	return slices.Clone(slices.Compact(list)) // mostly one of six is left
}

// forms returns how a secret may be written: as it is, and escaped for URLs and for JSON. PHP also
// escapes slashes.
func forms(secret string) []string {
	htmlSafe, _ := json.Marshal(secret) // a string cannot fail
	plain, _ := jsonx.Marshal(secret)
	return []string{
		secret,
		url.QueryEscape(secret),
		url.PathEscape(secret),
		string(htmlSafe[1 : len(htmlSafe)-1]), // with < as \u003c
		string(plain[1 : len(plain)-1]),
		strings.ReplaceAll(string(plain[1:len(plain)-1]), "/", `\/`),
	}
}

// Redact returns s with each secret replaced by [redacted]. A nil Redactor knows no secrets and
// replaces only what looks like an API key (sk-…).
func (r *Redactor) Redact(s string) string {
	if r != nil {
		s = r.replacer.Load().Replace(s)
	}
	if strings.Contains(s, "sk-") {
		s = apiKey.ReplaceAllString(s, "${1}"+Redacted)
	}
	return s
}

// Line returns s as one printable line ([text.OneLine]) without secrets. A secret with invisible
// characters in it is found, because they are removed first.
func (r *Redactor) Line(s string) string {
	return r.Redact(text.OneLine(s))
}

// Truncate returns Line(s), truncated to at most n characters. Secrets are replaced before that,
// because a part of a secret would not be found.
func (r *Redactor) Truncate(s string, n int) string {
	return text.Truncate(r.Line(s), n)
}
