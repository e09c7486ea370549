package httpd

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/team/oauth"
)

// Denied is a list of people who are rejected in spite of a valid token. The list may change.
type Denied struct {
	issuers []string // at which people sign in, in the form of folded
	entries atomic.Pointer[map[string]bool]
}

var lineEnd = text.LazyRegexp(`\r\n?|\n`)

// notEntry matches lines that cannot be an entry: lines of YAML or JSON, comments, lists, more than
// one blank between an issuer and a subject, and characters that are in no name, such as a no-break
// space.
var notEntry = text.LazyRegexp(`^[-#\[']|[,"]|\s#|:\s|://\S+  |[^\pL\pM\pN\pP\pS ]`)

// distinguishedName matches a subject such as uid=alice,ou=people,dc=example,dc=com, and listMark the
// characters of lists and of JSON that it may have.
var (
	distinguishedName = text.LazyRegexp(`^[\w.-]+=(?:\\.|"[^"]*"|[^,\\"]|,\s*[\w.-]+=)+$`)
	listMark          = text.LazyRegexp(`[,"]`)
)

// NewDenied returns Denied without entries, for the people of issuers and the holders of tokens.
func NewDenied(issuers ...string) *Denied {
	d := &Denied{}
	for _, issuer := range issuers {
		d.issuers = append(d.issuers, folded(issuer))
	}
	return d
}

// Set replaces the list by the entries in data, one a line: a name, a subject, or an issuer and a
// subject. After an error the list is as before. The error does not quote a line, which may be a
// token.
func (d *Denied) Set(data string) error {
	if !utf8.ValidString(data) || strings.Contains(data, "\x00") {
		return errors.New("not UTF-8 text")
	}

	entries := map[string]bool{} // false: an entry that is cut
	for i, line := range lineEnd().Split(data, -1) {
		entry := strings.Trim(line, "\ufeff \t")
		// Names of tokens have no colons and no blanks. Subjects, and the names of people who sign
		// in, may have both.
		cannotBeHolder := len(d.issuers) == 0 && (strings.ContainsAny(entry, " :") || !isName(entry))
		issuer, subject, isPair := strings.Cut(entry, " ")
		isPair = isPair && strings.Contains(issuer, "://")
		checked := entry
		if isPair && !strings.Contains(subject, "://") && distinguishedName().MatchString(subject) {
			checked = listMark().ReplaceAllString(entry, "")
		}
		if cannotBeHolder || notEntry().MatchString(checked) {
			return fmt.Errorf("line %d is not one name or subject", i+1)
		}
		if isPair && !slices.Contains(d.issuers, folded(issuer)) {
			return fmt.Errorf("line %d has an issuer that is not one of --oauth-issuer", i+1)
		}
		cut := text.Truncate(folded(entry), oauth.MaxName) // oauth truncates names, too
		if !entries[cut] {                                 // it may be a whole entry, too
			entries[cut] = false
		}
		entries[folded(entry)] = true
	}
	delete(entries, "")
	d.entries.Store(&entries)
	return nil
}

// Len returns the number of entries. An entry of more than oauth.MaxName characters counts twice.
func (d *Denied) Len() int {
	return len(*d.entries.Load())
}

// NumUnknown returns how many entries are none of the names.
func (d *Denied) NumUnknown(names []string) int {
	unknown := maps.Clone(*d.entries.Load())
	for _, name := range names {
		delete(unknown, folded(name))
	}
	return len(unknown)
}

// has reports whether a person is on the list, by name, by subject, or by issuer and subject.
func (d *Denied) has(p call.Person) bool {
	issuer, subject, _ := strings.Cut(p.ID, " ") // a holder of a token has no subject
	entries := *d.entries.Load()
	pair := folded(issuer + " " + strings.TrimSpace(subject))
	name, subject := folded(p.Name), folded(subject)
	isWhole, isEntry := entries[name]
	if isWhole || entries[subject] || entries[pair] {
		return true
	}
	// A name that is a cut subject says nothing: other subjects begin like it.
	return isEntry && name != text.Truncate(subject, oauth.MaxName)
}

// folded returns a name in the form in which names are compared: in lower case, without blanks
// around it, in Unicode form NFC.
func folded(name string) string {
	name = norm.NFC.String(strings.TrimSpace(name)) // İ as two characters has another lower case
	return norm.NFC.String(strings.ToLower(name))
}
