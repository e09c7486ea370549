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
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

const (
	refreshInterval = 10 * time.Minute // between two full reads of an issuer

	// MinReadInterval is the least time between two reads of an issuer: after a failure, and for
	// requests that wait. A response with the status 503 has it as Retry-After.
	MinReadInterval = 5 * time.Second

	maxWaiting = 100 // requests that wait for the next read of an issuer
	maxKeys    = 100 // keys of an issuer

	minRSABits = 2048
	maxRSABits = 8192
)

var (
	// errUnknownKey is also the error for a wrong signature if the keys were read longer than
	// MinReadInterval ago: the key may have been replaced under its id.
	errUnknownKey  = InvalidToken("the key of the token is unknown")
	errSignature   = InvalidToken("the signature of the token is wrong")
	errUnavailable = &Error{http.StatusServiceUnavailable, "the keys of the issuer cannot be read"}
	errReading     = &Error{http.StatusServiceUnavailable, "the keys of the issuer are being read"}
	errStopping    = &Error{http.StatusServiceUnavailable, "shutting down"} // the issuer may be fine
)

// issuer is an authorization server. The last keys that could be read stay in use while the issuer
// cannot be reached.
type issuer struct {
	url       string
	client    *http.Client
	log       *slog.Logger
	published atomic.Pointer[keySet]

	// waiting holds a channel for each request that waits for a read, because of an unknown key or
	// a wrong signature. The end of a read closes only the channels that were in waiting when the
	// read began: a request that came later may have a key that this read misses.
	waiting chan chan struct{}

	// Only readLoop uses the fields below.
	keysURL  string // URL of the keys, from the last metadata
	lastLine string // message, number of keys and error of the last line of the log, without changingParts
}

// keySet is what the reads so far have found. It does not change.
type keySet struct {
	keys   []jose.JSONWebKey // nil until the first read that succeeds; later never nil
	readAt time.Time         // when the keys were read

	// unmatchedErr is the error for a token that none of these keys has signed. It is
	// errUnknownKey, after which the request waits for another read, which may find the key. If the
	// last read failed, it is errUnavailable, or errStopping.
	unmatchedErr error
}

// verifySignature returns nil if one of the keys has made the signature of a token. Otherwise the
// error is errSignature if a key has the id of the token, and was read less than MinReadInterval
// ago; else unmatchedErr.
func (k *keySet) verifySignature(token *jwt.JSONWebToken) error {
	header := token.Headers[0]
	hasCandidate := false // a key has the id of the token, or the token has no id
	for _, key := range k.keys {
		idMatches := header.KeyID == "" || header.KeyID == key.KeyID
		algorithmMatches := key.Algorithm == "" || key.Algorithm == header.Algorithm
		if idMatches && algorithmMatches && token.Claims(key.Key) == nil { // Claims verifies
			return nil
		}
		hasCandidate = hasCandidate || idMatches
	}

	if hasCandidate && time.Since(k.readAt) < MinReadInterval {
		return errSignature
	}
	return k.unmatchedErr
}

// verify returns nil if the issuer has made the signature of a token. After errUnknownKey, verify
// waits until the next read of the keys has ended, and tries once more: issuers add keys, and may
// replace a key under the same id. It returns errReading if maxWaiting requests wait already, and
// errUnavailable if ctx ends.
func (i *issuer) verify(ctx context.Context, token *jwt.JSONWebToken) error {
	err := i.published.Load().verifySignature(token)
	if !errors.Is(err, errUnknownKey) {
		return err
	}

	done := make(chan struct{})
	select {
	case i.waiting <- done:
	default:
		return errReading // too many requests wait
	}

	select {
	case <-done:
		return i.published.Load().verifySignature(token)
	case <-ctx.Done():
		return errUnavailable
	}
}

// readLoop reads the keys until ctx ends, but never twice in MinReadInterval:
//   - a full read, which begins with the metadata: at the start, after a failure, and every
//     refreshInterval. Requests with unknown keys do not delay it, because anyone can send them;
//   - a read of only the keys: when a request waits.
//
// After ctx ends, one more read fails. The requests that waited when it began get errStopping.
func (i *issuer) readLoop(ctx context.Context) {
	refresh := time.Tick(refreshInterval)
	var waiter chan struct{} // channel of the request that caused the read; nil: a full read
	for {
		arrived := len(i.waiting)
		keyProblem, err := i.read(ctx, waiter == nil)
		if err != nil {
			last := i.published.Load()
			unmatchedErr := errUnavailable
			if ctx.Err() != nil {
				unmatchedErr = errStopping
			}
			i.published.Store(&keySet{last.keys, last.readAt, unmatchedErr})
		}

		if waiter != nil {
			close(waiter)
		}
		for range arrived {
			close(<-i.waiting)
		}

		if ctx.Err() != nil {
			return
		}
		i.logRead(keyProblem, err)
		waiter = i.awaitNextRead(ctx, refresh, err != nil)
	}
}

// awaitNextRead waits until the next read is due, or ctx ends. waiter is the channel of the request
// that causes the read, or nil for a full read. hasFailed is whether the read before has failed.
func (i *issuer) awaitNextRead(
	ctx context.Context, refresh <-chan time.Time, hasFailed bool,
) (waiter chan struct{}) {
	select {
	case <-ctx.Done():
	case <-time.After(MinReadInterval):
	}

	select {
	case <-refresh: // before any request that waits
		return nil
	default:
	}
	if hasFailed {
		return nil
	}

	select {
	case <-ctx.Done():
	case <-refresh:
	case waiter = <-i.waiting:
	}
	return waiter
}

// read reads the keys, and replaces i.published. A full read begins with the metadata, which has
// the URL of the keys. Any other read uses the last URL, so that an unknown key causes one request,
// not two. keyProblem is why a key was left out, or nil.
func (i *issuer) read(ctx context.Context, full bool) (keyProblem, err error) {
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
		isRSA := gjson.GetBytes(data, "kty").Str == "RSA"
		switch {
		case errors.Is(err, jose.ErrUnsupportedKeyType) && isRSA:
			keyProblem = fmt.Errorf("key %d is RSA of more than %d bits", n+1, maxRSABits)
		case errors.Is(err, jose.ErrUnsupportedKeyType): // no key for an accepted algorithm
		case err != nil:
			keyProblem = fmt.Errorf("key %d is malformed", n+1)
		case !key.IsPublic():
			keyProblem = fmt.Errorf("key %d is private", n+1)
		case public != nil && public.N.BitLen() < minRSABits:
			keyProblem = fmt.Errorf("key %d is RSA of fewer than %d bits", n+1, minRSABits)
		case isForSignatures(key):
			keys = append(keys, key)
		}
	}
	i.published.Store(&keySet{keys, time.Now(), errUnknownKey})
	return keyProblem, nil
}

// isForSignatures reports whether key is for signatures with an accepted algorithm.
func isForSignatures(key jose.JSONWebKey) bool {
	useMatches := key.Use == "" || key.Use == "sig"
	algorithm := jose.SignatureAlgorithm(key.Algorithm)
	algorithmAccepted := algorithm == "" || slices.Contains(algorithms, algorithm)
	return useMatches && algorithmAccepted
}

// changingParts matches the parts of an error that differ at each read: the addresses and ports of
// connections, as an issuer may have many addresses, and the minutes and seconds in the error of a
// certificate that has expired.
var changingParts = text.LazyRegexp(`\d+\.\d+\.\d+\.\d+|\[[0-9a-f:]+\]|:\d+`)

// logRead logs the result of a read, unless message, error and number of keys are those of the last
// line. While the keys cannot be read, each new cause gets a line.
func (i *issuer) logRead(keyProblem, err error) {
	msg := "the keys were read"
	switch {
	case err != nil:
		msg = "the keys cannot be read"
	case keyProblem != nil:
		msg = "a key is ignored"
		err = keyProblem
	}

	n := len(i.published.Load().keys)
	line := changingParts().ReplaceAllString(fmt.Sprint(msg, n, err), "")
	if line == i.lastLine {
		return
	}
	i.lastLine = line
	if err != nil {
		i.log.Warn(msg, "err", err)
		return
	}
	i.log.Info(msg, "keys", n)
}
