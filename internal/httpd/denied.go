package httpd

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/oauth"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// Denied are people who are refused in spite of a valid token. They may change.
type Denied struct {
	notEntry *regexp.Regexp // matches what can be no one's
	entries  atomic.Pointer[map[string]bool]
}

var lineEnd = regexp.MustCompile(`\r\n?|\n`)

// What is in YAML, JSON, comments and lists, and what is in no name of a holder of a token.
var (
	notEntry  = regexp.MustCompile(`^[-#\["']|,|\s#|:\s`)
	notHolder = regexp.MustCompile(notEntry.String() + `|[\s:]`)
)

// NewDenied returns Denied without entries. Of people who sign in, subjects may have colons, and
// names blanks.
func NewDenied(signIn bool) *Denied {
	d := &Denied{notEntry: notHolder}
	if signIn {
		d.notEntry = notEntry
	}
	return d
}

// Set replaces the people by those in data: names, subjects, or an issuer and a subject, one a
// line. After an error they are as before. The error has nothing of a line, which may be a token.
func (d *Denied) Set(data []byte) error {
	if !utf8.Valid(data) || slices.Contains(data, 0) {
		return errors.New("not UTF-8 text")
	}

	entries := map[string]bool{}
	for i, line := range lineEnd.Split(string(data), -1) {
		entry := strings.Trim(line, "\ufeff \t")
		if d.notEntry.MatchString(entry) {
			return fmt.Errorf("line %d is not one name or subject", i+1)
		}
		entries[folded(entry)] = true
		entries[text.Truncate(folded(entry), oauth.MaxName)] = true // as names are
	}
	delete(entries, "")
	d.entries.Store(&entries)
	return nil
}

// Len returns how many entries there are. Those of more than oauth.MaxName characters count
// twice.
func (d *Denied) Len() int {
	return len(*d.entries.Load())
}

// has reports whether a person is denied.
func (d *Denied) has(p llm.Person) bool {
	_, subject, _ := strings.Cut(p.ID, " ") // "" of a holder of a token
	entries := *d.entries.Load()
	return entries[folded(p.Name)] || entries[folded(subject)] || entries[folded(p.ID)]
}

// folded returns a name in the form in which names are compared: without case, in one Unicode
// form.
func folded(name string) string {
	return norm.NFC.String(strings.ToLower(name))
}
