package httpd

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// Tokens is the set of bearer tokens that the operator hands out. The set may change.
type Tokens struct {
	source     string                  // the variable or file of the tokens, for errors
	setSecrets func(secrets ...string) // makes the redactor know the tokens
	holders    atomic.Pointer[holders]
}

// holders is one version of the set. A version never changes: Set stores another one.
type holders struct {
	// byHash has the name of the holder by the hash of the token: with hashes, the time of a lookup
	// reveals nothing about a token.
	byHash map[[sha256.Size]byte]string
	names  []string // of holders, sorted, each once
}

// NewTokens returns the tokens in data: entries of the form name:token, separated by commas or
// white space. Errors name source, but no name or token: an entry may have the two swapped.
// setSecrets gets all tokens before one is accepted, for the redactor.
func NewTokens(source, data string, setSecrets func(secrets ...string)) (*Tokens, error) {
	t := &Tokens{
		source:     source,
		setSecrets: setSecrets,
	}
	return t, t.Set(data)
}

// Authenticate returns the person who holds token. The error is auth.ErrInvalidToken.
func (t *Tokens) Authenticate(token string) (call.Person, error) {
	hash := sha256.Sum256([]byte(token))
	name, ok := t.holders.Load().byHash[hash]
	if !ok {
		return call.Person{}, auth.ErrInvalidToken
	}
	return call.Person{
		ID:   call.TokenIDPrefix + name,
		Name: name,
	}, nil
}

// Names returns the names of the holders, none if t is nil.
func (t *Tokens) Names() []string {
	if t == nil {
		return nil
	}
	return t.holders.Load().names
}

// Has reports whether there is a token with this name.
func (t *Tokens) Has(name string) bool {
	return slices.Contains(t.Names(), name)
}

// Set replaces the tokens by the entries in data. After an error the tokens are as before.
func (t *Tokens) Set(data string) error {
	next := &holders{byHash: map[[sha256.Size]byte]string{}}
	var secrets []string
	for i, entry := range text.SplitList(data) {
		name, secret, ok := strings.Cut(entry, ":")
		hash := sha256.Sum256([]byte(secret))
		holder := cmp.Or(next.byHash[hash], name)
		problem := ""
		switch {
		case !ok || name == "":
			problem = "entry %d of %s is not name:token"
		case !isName(name):
			problem = "the name of entry %d of %s has a quote, a backslash " +
				"or a character that cannot be seen"
		case len(secret) < 16:
			problem = "the token of entry %d of %s has fewer than 16 characters"
		case holder != name:
			problem = "the token of entry %d of %s is that of another name, too"
		}
		if problem != "" {
			return fmt.Errorf(problem, i+1, t.source)
		}

		secrets = append(secrets, secret)
		next.byHash[hash] = name
	}

	next.names = slices.Compact(slices.Sorted(maps.Values(next.byHash)))
	if len(next.names) == 0 {
		return fmt.Errorf("%s has no tokens", t.source)
	}
	t.setSecrets(secrets...)
	t.holders.Store(next)
	return nil
}

// isName reports whether logs and metrics can show a name as it is.
func isName(name string) bool {
	plain := strconv.Quote(name) == `"`+name+`"`
	visible := !strings.ContainsFunc(name, text.IsUnsafe)
	return plain && visible && !strings.ContainsAny(name, "'`")
}
