package httpd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/team/oauth"
)

// Denied are people who are refused in spite of a valid token. They may change.
type Denied struct {
	signIn  bool // people may sign in, whose subjects may have colons, and names blanks
	entries atomic.Pointer[map[string]bool]
}

var lineEnd = text.Regexp(`\r\n?|\n`)

// notEntry matches what is in YAML, JSON, comments and lists, more than one blank between an issuer
// and a subject, and characters that are in no name, such as a no-break space.
var notEntry = text.Regexp(`^[-#\["']|,|\s#|:\s|://\S+  |[^\pL\pM\pN\pP\pS ]`)

// NewDenied returns Denied without entries.
func NewDenied(signIn bool) *Denied {
	return &Denied{signIn: signIn}
}

// Set replaces the people by those in data: names, subjects, or an issuer and a subject, one a
// line. After an error they are as before. The error has nothing of a line, which may be a token.
func (d *Denied) Set(data []byte) error {
	if !utf8.Valid(data) || slices.Contains(data, 0) {
		return errors.New("not UTF-8 text")
	}

	entries := map[string]bool{}
	for i, line := range lineEnd().Split(string(data), -1) {
		entry := strings.Trim(line, "\ufeff \t")
		other := !d.signIn && (strings.ContainsAny(entry, " :") || !isName(entry))
		if other || notEntry().MatchString(entry) {
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
func (d *Denied) has(p call.Person) bool {
	issuer, subject, _ := strings.Cut(p.ID, " ") // a holder of a token has no subject
	entries := *d.entries.Load()
	one := folded(issuer + " " + strings.TrimSpace(subject))
	return entries[folded(p.Name)] || entries[folded(subject)] || entries[one]
}

// folded returns a name in the form in which names are compared: without case and blanks around it,
// in one Unicode form.
func folded(name string) string {
	return norm.NFC.String(strings.ToLower(strings.TrimSpace(name)))
}
