package httpd

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// reloadTime is how often the file of tokens is read.
const reloadTime = 5 * time.Second

// Token is a bearer token and the name of its holder for logs and metrics.
type Token struct{ Name, Secret string }

// Tokens are the accepted bearer tokens. Those of a file follow its changes
// while the server runs.
type Tokens struct {
	file  string
	learn func(secret string) // called with each new secret
	list  atomic.Pointer[[]Token]
}

// NewTokens reads the tokens in s: name:token, separated by commas or white
// space. source names s in errors, which contain neither names nor tokens: the
// two may be swapped. learn is called with each secret before it is accepted.
func NewTokens(source, s string, learn func(secret string)) (*Tokens, error) {
	t := &Tokens{learn: learn}
	return t, t.set(source, s)
}

// ReadTokens reads the tokens in a file, in the form of NewTokens.
func ReadTokens(file string, learn func(secret string)) (*Tokens, error) {
	t := &Tokens{file: file, learn: learn}
	return t, t.reload()
}

func parseTokens(source, s string) ([]Token, error) {
	var list []Token
	for i, entry := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r <= ' ' }) {
		name, secret, ok := strings.Cut(entry, ":")
		switch {
		case !ok || name == "":
			return nil, fmt.Errorf("entry %d of %s is not name:token", i+1, source)
		case len(secret) < 16:
			return nil, fmt.Errorf("the token of entry %d of %s has fewer than 16 characters", i+1, source)
		}
		list = append(list, Token{name, secret})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no tokens", source)
	}
	return list, nil
}

// set replaces the tokens. After an error they are as before.
func (t *Tokens) set(source, s string) error {
	list, err := parseTokens(source, s)
	if err != nil {
		return err
	}
	old := t.list.Load()
	if old != nil && slices.Equal(*old, list) {
		return nil
	}
	for _, token := range list {
		t.learn(token.Secret)
	}
	t.list.Store(&list)
	return nil
}

func (t *Tokens) reload() error {
	data, err := os.ReadFile(t.file)
	if err != nil {
		return fmt.Errorf("reading tokens: %w", err)
	}
	return t.set(t.file, string(data))
}

// follow reads the file again and again until ctx ends. A problem is logged
// once.
func (t *Tokens) follow(ctx context.Context, log *slog.Logger) {
	if t == nil || t.file == "" {
		return
	}
	tick := time.NewTicker(reloadTime)
	defer tick.Stop()
	last := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		problem := ""
		err := t.reload()
		if err != nil {
			problem = err.Error()
		}
		if problem != last && err != nil {
			log.Error("keeping the old tokens", "err", err)
		}
		last = problem
	}
}

// holder returns the name of the holder of secret.
func (t *Tokens) holder(secret string) (name string, ok bool) {
	got := sha256.Sum256([]byte(secret)) // equal lengths, for the comparison
	for _, token := range *t.list.Load() {
		want := sha256.Sum256([]byte(token.Secret))
		if subtle.ConstantTimeCompare(got[:], want[:]) == 1 {
			name, ok = token.Name, true
		}
	}
	return name, ok
}
