package oauth

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const (
	refreshTime = 10 * time.Minute
	// RetryTime is the least time between two reads: after a failure, for unknown keys, and for
	// wrong signatures. A response with the status 503 has it as Retry-After.
	RetryTime  = 5 * time.Second
	maxWaiting = 100 // requests that wait for the next read of an issuer
	maxKeys    = 100

	minRSABits = 2048
	maxRSABits = 8192
)

var (
	errUnknownKey  = invalid("the key of the token is unknown")
	errSignature   = invalid("the signature of the token is wrong")
	errUnavailable = &Error{http.StatusServiceUnavailable, "the keys of the issuer cannot be read"}
	errReading     = &Error{http.StatusServiceUnavailable, "the keys of the issuer are being read"}
)

// issuer is an authorization server. Its keys are the last that could be read: they stay in use
// while it cannot be reached.
type issuer struct {
	url       string
	client    *http.Client
	log       *slog.Logger
	published atomic.Pointer[published]

	// waiting are the requests with unknown keys or wrong signatures. A read closes the channels
	// of those that were there when it began: a read under way may miss a new key.
	waiting chan chan struct{}

	// Only readLoop uses the fields below.
	keysURL string // of the last metadata
	logged  string // the last message
}

// published is what the reads so far have found. It does not change.
type published struct {
	keys []jose.JSONWebKey // nil until they were read once, then never again
	read time.Time         // when they were read

	// unmatched is the error of a token that none of these keys has signed, but perhaps others: it
	// is errUnknownKey, for which a request waits for another read, or errUnavailable after a
	// failed read.
	unmatched error
}

// verify returns an error unless one of the keys has made the signature of a token.
func (p *published) verify(token *jwt.JSONWebToken) error {
	header := token.Headers[0]
	known := false
	for _, key := range p.keys {
		named := header.KeyID == "" || header.KeyID == key.KeyID
		fits := key.Algorithm == "" || key.Algorithm == header.Algorithm
		if named && fits && token.Claims(key.Key) == nil {
			return nil
		}
		known = known || named
	}

	if known && time.Since(p.read) < RetryTime {
		return errSignature
	}
	return p.unmatched
}

// verify returns an error unless the issuer has made the signature of a token. For an unknown key,
// and for a wrong signature by a key that was not just read, it waits until the read that starts
// next has ended: issuers add keys, and may change one under its id.
func (i *issuer) verify(ctx context.Context, token *jwt.JSONWebToken) error {
	err := i.published.Load().verify(token)
	if !errors.Is(err, errUnknownKey) {
		return err
	}

	done := make(chan struct{})
	select {
	case i.waiting <- done:
	default:
		return errReading // too many wait
	}

	select {
	case <-done:
		return i.published.Load().verify(token)
	case <-ctx.Done():
		return errUnavailable
	}
}

// readLoop reads the keys until ctx ends: every 10 minutes, 5 s after a failure, and when a request
// waits, but not twice in 5 s. Requests with unknown keys, which anyone can send, do not put off
// the full read. After ctx ends, one more read fails and releases all waiting requests.
func (i *issuer) readLoop(ctx context.Context) {
	refresh := time.Tick(refreshTime)
	full := true            // whether to read the metadata, too
	var first chan struct{} // of the request that caused the read, or nil
	for {
		arrived := len(i.waiting)
		ignored, err := i.read(ctx, full)
		if err != nil {
			last := i.published.Load()
			i.published.Store(&published{last.keys, last.read, errUnavailable})
		}
		if first != nil {
			close(first)
			first = nil
		}
		for range arrived {
			close(<-i.waiting)
		}
		if ctx.Err() != nil {
			return
		}
		i.report(ignored, err)

		select {
		case <-ctx.Done():
		case <-time.After(RetryTime):
		}
		full = err != nil
		if full {
			continue
		}
		select {
		case <-ctx.Done():
		case <-refresh:
			full = true
		case first = <-i.waiting:
		}
	}
}

// read replaces the keys. A read that is not full takes the URL of the keys from the one before:
// unknown keys cause one read, not two. ignored says why a key was left out.
func (i *issuer) read(ctx context.Context, full bool) (ignored, err error) {
	if full {
		err = i.discover(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading metadata: %w", err)
		}
	}

	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	err = i.get(ctx, i.keysURL, &set)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading keys: %w", err)
	case set.Keys == nil:
		return nil, errors.New("reading keys: the document has no list of keys")
	case len(set.Keys) > maxKeys:
		return nil, fmt.Errorf("reading keys: there are %d, at most %d are accepted",
			len(set.Keys), maxKeys)
	}

	keys := []jose.JSONWebKey{}
	for n, data := range set.Keys {
		var key jose.JSONWebKey
		err := key.UnmarshalJSON(data)
		public, _ := key.Key.(*rsa.PublicKey)
		switch {
		case errors.Is(err, jose.ErrUnsupportedKeyType): // of no use here
		case err != nil:
			ignored = fmt.Errorf("key %d is malformed", n+1)
		case !key.IsPublic():
			ignored = fmt.Errorf("key %d is private", n+1)
		case public != nil && public.N.BitLen() < minRSABits:
			ignored = fmt.Errorf("key %d is RSA of fewer than %d bits", n+1, minRSABits)
		case signs(key):
			keys = append(keys, key)
		}
	}
	i.published.Store(&published{keys, time.Now(), errUnknownKey})
	return ignored, nil
}

// signs reports whether key is for signatures with an accepted algorithm.
func signs(key jose.JSONWebKey) bool {
	forSignatures := key.Use == "" || key.Use == "sig"
	algorithm := jose.SignatureAlgorithm(key.Algorithm)
	accepted := algorithm == "" || slices.Contains(algorithms, algorithm)
	return forSignatures && accepted
}

// report logs the result of a read unless it is of the same kind as the last one.
func (i *issuer) report(ignored, err error) {
	msg := "the keys were read"
	switch {
	case err != nil:
		msg = "the keys cannot be read"
	case ignored != nil:
		msg = "a key is ignored"
		err = ignored
	}

	if msg == i.logged {
		return
	}
	i.logged = msg
	if err != nil {
		i.log.Warn(msg, "err", err)
		return
	}
	i.log.Info(msg)
}
