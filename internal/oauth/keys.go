package oauth

import (
	"context"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	refreshTime = 10 * time.Minute
	// RetryTime is the least time between two reads, after a failure and for unknown keys. A
	// response with the status 503 has it as Retry-After.
	RetryTime  = 5 * time.Second
	maxWaiting = 100 // requests that wait for the next read of an issuer
	maxKeys    = 100

	minRSABits = 2048
	maxRSABits = 8192
)

var (
	errMalformedKey = errors.New("it is malformed")

	errUnknownKey  = invalid("the key of the token is unknown")
	errUnavailable = &Error{
		Status:      http.StatusServiceUnavailable,
		Description: "the keys of the issuer cannot be read",
	}
)

// issuer is an authorization server. Its keys are the last that could be read: they stay in use
// while it cannot be reached.
type issuer struct {
	url    string
	client *http.Client
	log    *slog.Logger
	wake   chan struct{} // has an element when a request waits for the next read

	keysURL string // of the last metadata; only run uses it

	mu      sync.Mutex
	keys    []jose.JSONWebKey // nil until they were read once, then never again
	err     error             // of the last read; not nil before the first one
	waiting int               // requests that wait for next
	next    chan struct{}     // closed when the read that starts next has ended
}

func newIssuer(u string, client *http.Client, log *slog.Logger) *issuer {
	return &issuer{
		url:    u,
		client: client,
		log:    log,
		wake:   make(chan struct{}, 1),
		next:   make(chan struct{}),
		err:    errUnavailable,
	}
}

func (i *issuer) ready() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys != nil
}

// find returns the keys that may have made a signature: those with the id, or all if the token
// names none. For an unknown id it waits until the read that starts next has ended, because issuers
// change their keys. Meanwhile the lock is free.
func (i *issuer) find(ctx context.Context, id, algorithm string) ([]jose.JSONWebKey, error) {
	i.mu.Lock()
	defer i.mu.Unlock()

	keys, err := i.lookupLocked(id, algorithm)
	if !errors.Is(err, errUnknownKey) || i.waiting >= maxWaiting {
		return keys, err
	}

	i.waiting++
	defer func() { i.waiting-- }()
	select {
	case i.wake <- struct{}{}:
	default: // another request waits
	}

	next := i.next
	i.mu.Unlock()
	select {
	case <-next:
	case <-ctx.Done():
	}
	i.mu.Lock()
	if ctx.Err() != nil {
		return nil, errUnavailable
	}
	return i.lookupLocked(id, algorithm)
}

// lookupLocked returns the keys of an id that fit an algorithm. The error for an unknown id is
// errUnavailable while keys cannot be read, because the issuer may have it.
func (i *issuer) lookupLocked(id, algorithm string) ([]jose.JSONWebKey, error) {
	named := slices.DeleteFunc(slices.Clone(i.keys), func(key jose.JSONWebKey) bool {
		return id != "" && id != key.KeyID
	})
	switch {
	case len(named) == 0 && i.err != nil:
		return nil, errUnavailable
	case len(named) == 0:
		return nil, errUnknownKey
	}

	return slices.DeleteFunc(named, func(key jose.JSONWebKey) bool {
		return key.Algorithm != "" && key.Algorithm != algorithm
	}), nil
}

// run reads the keys until ctx ends: every 10 minutes, 5 s after a failure, and when a request
// waits, but not twice in 5 s. Requests with unknown keys, which need no token, do not put off the
// full read.
func (i *issuer) run(ctx context.Context) {
	logged := ""
	due := time.Now() // when to read the metadata, too
	for ctx.Err() == nil {
		begun := time.Now()
		full := !begun.Before(due)
		done := i.begin()
		ignored, err := i.read(ctx, full)
		i.end(err, done)
		if ctx.Err() == nil {
			logged = i.report(logged, ignored, err)
		}

		switch {
		case err != nil:
			due = begun // the next read is full
		case full:
			due = begun.Add(refreshTime)
		}
		sleep(ctx, RetryTime, nil)
		sleep(ctx, time.Until(due), i.wake)
	}
	i.end(ctx.Err(), i.next)
}

// sleep returns after d, or earlier when ctx ends or wake has an element.
func sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	case <-wake:
	}
}

// begin returns the channel of the requests that wait so far. Later ones wait for the read after
// this one, which may find keys that this one does not.
func (i *issuer) begin() (done chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	done = i.next
	i.next = make(chan struct{})
	return done
}

func (i *issuer) end(err error, done chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()

	i.err = err
	close(done)
}

// read replaces the keys. A read that is not full takes the URL of the keys from the one before:
// unknown keys cause one fetch, not two. ignored says why a key was left out.
func (i *issuer) read(ctx context.Context, full bool) (ignored, err error) {
	if full {
		i.keysURL, err = i.discover(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading metadata: %w", err)
		}
	}

	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	err = i.fetch(ctx, i.keysURL, &set)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading keys: %w", err)
	case set.Keys == nil:
		return nil, errors.New("reading keys: the document has no list of keys")
	case len(set.Keys) > maxKeys:
		const format = "reading keys: there are %d, at most %d are accepted"
		return nil, fmt.Errorf(format, len(set.Keys), maxKeys)
	}

	keys := make([]jose.JSONWebKey, 0, len(set.Keys))
	for n, data := range set.Keys {
		key, err := decodeKey(data)
		switch {
		case err != nil:
			ignored = fmt.Errorf("decoding key %d: %w", n+1, err)
		case signs(key):
			keys = append(keys, key)
		}
	}

	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = keys
	return ignored, nil
}

// report logs the result of a read unless it is of the same kind as the last one, which it returns.
func (i *issuer) report(last string, ignored, err error) string {
	now := "the keys were read"
	switch {
	case err != nil:
		now = "the keys cannot be read"
	case ignored != nil:
		now = "a key is ignored"
		err = ignored
	}

	switch {
	case now == last:
		i.log.Debug(now, "err", err)
	case err != nil:
		i.log.Warn(now, "err", err)
	default:
		i.log.Info(now)
	}
	return now
}

// decodeKey decodes a public key. For a kind that go-jose does not know it returns no key and no
// error.
func decodeKey(data []byte) (key jose.JSONWebKey, err error) {
	var members struct {
		Type      string          `json:"kty"`
		ID        string          `json:"kid"`
		Use       string          `json:"use"`
		Algorithm string          `json:"alg"`
		Modulus   string          `json:"n"`
		Exponent  string          `json:"e"`
		Private   json.RawMessage `json:"d"`
	}
	err = json.Unmarshal(data, &members)
	switch {
	case err != nil:
		return key, errMalformedKey
	case members.Private != nil:
		return key, errors.New("it is private")
	case members.Type == "RSA":
		key.KeyID = members.ID
		key.Use = members.Use
		key.Algorithm = members.Algorithm
		key.Key, err = decodeRSA(members.Modulus, members.Exponent)
		return key, err
	}

	err = key.UnmarshalJSON(data)
	switch {
	case errors.Is(err, jose.ErrUnsupportedKeyType):
		return jose.JSONWebKey{}, nil
	case err != nil:
		return key, errMalformedKey
	}
	return key, nil
}

// decodeRSA decodes a key of RSA. go-jose would refuse more than 4096 bits, unless a variable of
// the whole program is changed.
func decodeRSA(modulus, exponent string) (*rsa.PublicKey, error) {
	n, nErr := base64.RawURLEncoding.DecodeString(modulus)
	e, eErr := base64.RawURLEncoding.DecodeString(exponent)
	power := new(big.Int).SetBytes(e)
	if nErr != nil || eErr != nil || power.BitLen() > 31 {
		return nil, errMalformedKey
	}

	public := &rsa.PublicKey{
		N: new(big.Int).SetBytes(n),
		E: int(power.Int64()),
	}
	bits := public.N.BitLen()
	if bits < minRSABits || bits > maxRSABits {
		return nil, fmt.Errorf("RSA of %d bits, want %d to %d", bits, minRSABits, maxRSABits)
	}
	return public, nil
}

// signs reports whether key is for signatures with an accepted algorithm.
func signs(key jose.JSONWebKey) bool {
	forSignatures := key.Use == "" || key.Use == "sig"
	algorithm := jose.SignatureAlgorithm(key.Algorithm)
	accepted := algorithm == "" || slices.Contains(algorithms, algorithm)
	return key.IsPublic() && forSignatures && accepted
}
