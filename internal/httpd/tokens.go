package httpd

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

const minSecret = 16 // bytes of a token

// tokenHolder begins the IDs of people with a static token.
const tokenHolder = "token:"

// Tokens are bearer tokens that the operator hands out. It is an [Authenticator].
type Tokens struct {
	source  string
	learn   func(secret string)
	holders atomic.Pointer[holders]
}

// holders are the people who have tokens. They do not change.
type holders struct {
	byHash map[[sha256.Size]byte]string // names: the time of a lookup reveals nothing about a token
	names  int                          // different ones
}

// NewTokens returns the tokens in data: name:token, separated by commas or white space. source names
// them in errors, which contain neither names nor tokens: the two may be swapped. learn is called
// with each new token before it is accepted.
func NewTokens(source string, data []byte, learn func(secret string)) (*Tokens, error) {
	t := &Tokens{source: source, learn: learn}
	t.holders.Store(&holders{})
	return t, t.Set(data)
}

// Authenticate returns the holder of token.
func (t *Tokens) Authenticate(_ context.Context, token string) (Person, error) {
	name, ok := t.holders.Load().byHash[sha256.Sum256([]byte(token))]
	if !ok {
		return Person{}, auth.ErrInvalidToken
	}
	return Person{ID: tokenHolder + name, Name: name}, nil
}

// Names counts the names of the holders.
func (t *Tokens) Names() int { return t.holders.Load().names }

// Set replaces the tokens by those in data. After an error they are as before.
func (t *Tokens) Set(data []byte) error {
	byHash := map[[sha256.Size]byte]string{}
	names := map[string]bool{}
	var secrets []string
	list := strings.TrimPrefix(string(data), "\ufeff") // a byte order mark
	for i, entry := range strings.FieldsFunc(list, separatesTokens) {
		name, secret, ok := strings.Cut(entry, ":")
		switch {
		case !ok || name == "":
			return fmt.Errorf("entry %d of %s is not name:token", i+1, t.source)
		case !isName(name):
			return fmt.Errorf("the name of entry %d of %s has a quote, a backslash "+
				"or a character that cannot be seen", i+1, t.source)
		case len(secret) < minSecret:
			return fmt.Errorf("the token of entry %d of %s has fewer than %d characters",
				i+1, t.source, minSecret)
		}
		byHash[sha256.Sum256([]byte(secret))] = name
		names[name] = true
		secrets = append(secrets, secret)
	}
	if len(names) == 0 {
		return fmt.Errorf("%s has no tokens", t.source)
	}

	for _, secret := range secrets {
		t.learn(secret)
	}
	t.holders.Store(&holders{byHash, len(names)})
	return nil
}

// isName reports whether logs and metrics can show a name as it is.
func isName(name string) bool {
	hasQuote := strings.ContainsAny(name, "\"'`\\")
	isVisible := func(r rune) bool { return unicode.IsPrint(r) && !text.Unsafe(r) }
	hasInvisible := strings.ContainsFunc(name, func(r rune) bool { return !isVisible(r) })
	return utf8.ValidString(name) && !hasQuote && !hasInvisible
}

func separatesTokens(r rune) bool { return r == ',' || r <= ' ' }
