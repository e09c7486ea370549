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
)

// reloadTime is how often the tokens are read.
const reloadTime = 5 * time.Second

// Tokens are the accepted bearer tokens. Serve reads them again and again.
type Tokens struct {
	source  string
	read    func() ([]byte, error)
	learn   func(secret string)
	holders atomic.Pointer[map[[sha256.Size]byte]string] // by the hash of the token: the time of a lookup reveals nothing
}

// NewTokens returns the tokens that read returns: name:token, separated by commas or white space.
// source names them in errors, which contain neither names nor tokens: the two may be swapped.
// learn is called with each new token before it is accepted.
func NewTokens(source string, read func() ([]byte, error), learn func(secret string)) (*Tokens, error) {
	t := &Tokens{source: source, read: read, learn: learn}
	t.holders.Store(&map[[sha256.Size]byte]string{})
	return t, t.load()
}

// load reads the tokens. After an error they are as before.
func (t *Tokens) load() error {
	data, err := t.read()
	if err != nil {
		return fmt.Errorf("reading tokens: %w", err)
	}
	names := map[[sha256.Size]byte]string{}
	var secrets []string
	for i, entry := range strings.FieldsFunc(string(data), func(r rune) bool { return r == ',' || r <= ' ' }) {
		name, secret, ok := strings.Cut(entry, ":")
		switch {
		case !ok || name == "":
			return fmt.Errorf("entry %d of %s is not name:token", i+1, t.source)
		case len(secret) < 16:
			return fmt.Errorf("the token of entry %d of %s has fewer than 16 characters", i+1, t.source)
		}
		names[sha256.Sum256([]byte(secret))] = name
		secrets = append(secrets, secret)
	}
	switch {
	case len(names) == 0:
		return fmt.Errorf("%s has no tokens", t.source)
	case maps.Equal(names, *t.holders.Load()):
		return nil
	}
	for _, secret := range secrets {
		t.learn(secret)
	}
	t.holders.Store(&names)
	return nil
}

// follow reads the tokens again until ctx ends. A problem is logged once.
func (t *Tokens) follow(ctx context.Context, log *slog.Logger) {
	for last := ""; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(reloadTime):
		}
		err := t.load()
		if err != nil && err.Error() != last {
			log.Error("keeping the old tokens", "err", err)
		}
		last = fmt.Sprint(err)
	}
}

// holder returns the name of the holder of secret.
func (t *Tokens) holder(secret string) (name string, ok bool) {
	name, ok = (*t.holders.Load())[sha256.Sum256([]byte(secret))]
	return name, ok
}
