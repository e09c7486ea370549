package httpd

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

const (
	reloadTime = 5 * time.Second // between two reads of the tokens
	minSecret  = 16              // bytes of a token
)

// Tokens are bearer tokens that the operator hands out. It is an [Authenticator].
type Tokens struct {
	source  string
	read    func() ([]byte, error)
	learn   func(secret string)
	holders atomic.Pointer[holders]
}

// holders are the names of the holders by the hash of their token: the time of a lookup reveals
// nothing about a token.
type holders map[[sha256.Size]byte]string

// NewTokens returns the tokens that read returns: name:token, separated by commas or white space.
// source names them in errors, which contain neither names nor tokens: the two may be swapped.
// learn is called with each new token before it is accepted.
func NewTokens(
	source string,
	read func() ([]byte, error),
	learn func(secret string),
) (*Tokens, error) {
	t := &Tokens{source: source, read: read, learn: learn}
	t.holders.Store(&holders{})
	return t, t.load()
}

// Authenticate returns the holder of token.
func (t *Tokens) Authenticate(_ context.Context, token string) (Person, error) {
	name, ok := (*t.holders.Load())[sha256.Sum256([]byte(token))]
	if !ok {
		return Person{}, auth.ErrInvalidToken
	}
	return Person{ID: "token:" + name, Name: name}, nil
}

// names counts the names of the holders.
func (t *Tokens) names() int {
	names := map[string]bool{}
	for _, name := range *t.holders.Load() {
		names[name] = true
	}
	return len(names)
}

// Follow reads the tokens again until ctx ends. A problem is logged once.
func (t *Tokens) Follow(ctx context.Context, log *slog.Logger) {
	last := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(reloadTime):
		}

		problem := ""
		if err := t.load(); err != nil {
			problem = err.Error()
		}
		if problem != "" && problem != last {
			log.Error("keeping the old tokens", "err", problem)
		}
		last = problem
	}
}

// load reads the tokens. After an error they are as before.
func (t *Tokens) load() error {
	data, err := t.read()
	if err != nil {
		return fmt.Errorf("reading tokens: %w", err)
	}

	names := holders{}
	var secrets []string
	for i, entry := range strings.FieldsFunc(string(data), separatesTokens) {
		name, secret, ok := strings.Cut(entry, ":")
		if !ok || name == "" {
			return fmt.Errorf("entry %d of %s is not name:token", i+1, t.source)
		}
		if len(secret) < minSecret {
			return fmt.Errorf("the token of entry %d of %s has fewer than %d characters",
				i+1, t.source, minSecret)
		}
		names[sha256.Sum256([]byte(secret))] = name
		secrets = append(secrets, secret)
	}

	if len(names) == 0 {
		return fmt.Errorf("%s has no tokens", t.source)
	}
	if maps.Equal(names, *t.holders.Load()) {
		return nil
	}

	for _, secret := range secrets {
		t.learn(secret)
	}
	t.holders.Store(&names)
	return nil
}

func separatesTokens(r rune) bool { return r == ',' || r <= ' ' }
