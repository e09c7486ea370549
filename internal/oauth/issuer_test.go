package oauth

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const (
	home   = "https://id.example.com"
	other  = "https://other.example.com/tenant"
	public = "https://mcp.example.com/mcp"

	oidc    = "/.well-known/openid-configuration"
	rfc8414 = "/.well-known/oauth-authorization-server"
)

// Statuses of requests with a token.
const (
	ok          = http.StatusOK
	refused     = http.StatusUnauthorized
	forbidden   = http.StatusForbidden
	unavailable = http.StatusServiceUnavailable
)

// signingKey is a private key as an issuer has it.
type signingKey struct {
	id        string
	algorithm jose.SignatureAlgorithm
	private   crypto.Signer
}

var (
	keyRSA   = signingKey{"rsa", jose.RS256, must(rsa.GenerateKey(rand.Reader, 2048))}
	otherRSA = signingKey{"rsa", jose.RS256, must(rsa.GenerateKey(rand.Reader, 2048))}
	smallRSA = signingKey{"small", jose.RS256, must(rsa.GenerateKey(rand.Reader, 1024))}
	keyP256  = signingKey{"p256", jose.ES256, must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))}
	keyP384  = signingKey{"p384", jose.ES384, must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))}
	keyP521  = signingKey{"p521", jose.ES512, must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader))}
	keyEd    = signingKey{"ed", jose.EdDSA, ed25519.NewKeyFromSeed(make([]byte, 32))}
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// object decodes JSON objects into one. null removes a member.
func object(parts ...string) map[string]any {
	all := map[string]any{}
	for _, part := range parts {
		if part != "" {
			must(0, json.Unmarshal([]byte(part), &all))
		}
	}
	maps.DeleteFunc(all, func(_ string, value any) bool { return value == nil })
	return all
}

// as returns the key with another id and algorithm.
func (k signingKey) as(id string, algorithm jose.SignatureAlgorithm) signingKey {
	return signingKey{id, algorithm, k.private}
}

// jwk returns the public key as the issuer publishes it, with changed members.
func (k signingKey) jwk(changes ...string) any {
	key := must(jose.JSONWebKey{Key: k.private.Public(), KeyID: k.id}.MarshalJSON())
	return object(slices.Insert(changes, 0, string(key))...)
}

// sign returns a token of alice with changed claims, of which exp and nbf are seconds from now.
func (k signingKey) sign(header, changes string) string {
	claims := object(`{"iss":"https://id.example.com","sub":"alice",
		"aud":"https://mcp.example.com/mcp","exp":3600}`, changes)
	for _, name := range []string{"exp", "nbf"} {
		if seconds, isNumber := claims[name].(float64); isNumber {
			claims[name] = time.Now().Unix() + int64(seconds)
		}
	}

	options := &jose.SignerOptions{}
	for name, value := range object(header) {
		options.WithHeader(jose.HeaderKey(name), value)
	}
	if k.id != "" {
		options.WithHeader("kid", k.id)
	}
	signer := must(jose.NewSigner(jose.SigningKey{Algorithm: k.algorithm, Key: k.private}, options))
	return must(jwt.Signed(signer).Claims(claims).Serialize())
}

// page is the response to a request.
type page func(*http.Request) *http.Response

// body serves a text.
func body(format string, args ...any) page { return reply(http.StatusOK, fmt.Sprintf(format, args...)) }

// document serves JSON.
func document(v any) page { return body("%s", must(json.Marshal(v))) }

func metadata(issuer, keys string) page {
	return document(map[string]string{"issuer": issuer, "jwks_uri": keys})
}

func reply(status int, text string) page {
	return func(*http.Request) *http.Response { return response(status, strings.NewReader(text)) }
}

func response(status int, body io.Reader) *http.Response {
	header := http.Header{"Location": {home + oidc}} // for a redirect
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(body)}
}

// web is the network of a test, as the transport of an HTTP client. Other pages do not exist.
type web struct {
	pages   sync.Map    // by URL
	fetched chan string // URLs
}

// newWeb returns a network where home publishes keys.
func newWeb(keys ...any) *web {
	w := &web{fetched: make(chan string, 1000)}
	w.publish(home, keys...)
	return w
}

// publish replaces the keys of an issuer.
func (w *web) publish(issuer string, keys ...any) {
	w.pages.Store(issuer+oidc, metadata(issuer, issuer+"/keys"))
	w.pages.Store(issuer+"/keys", document(map[string]any{"keys": append([]any{}, keys...)}))
}

func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	w.fetched <- r.URL.String()
	found, isPage := w.pages.Load(r.URL.String())
	if !isPage {
		found = reply(http.StatusNotFound, "")
	}
	return found.(page)(r), nil
}

// fetches returns what was fetched since the last call.
func (w *web) fetches() (all []string) {
	synctest.Wait()
	for len(w.fetched) > 0 {
		all = append(all, <-w.fetched)
	}
	return all
}

// valid returns valid options with a change.
func valid(change func(*Options)) Options {
	o := Options{
		PublicURL: public,
		Issuers:   []string{home},
		UserClaim: "sub",
		Client:    &http.Client{},
		Log:       slog.New(slog.DiscardHandler),
	}
	change(&o)
	return o
}

// resource is a Resource that runs, with its log.
type resource struct {
	*Resource
	t   *testing.T
	log *bytes.Buffer
}

// start runs a resource. It returns when the first read has ended.
func start(t *testing.T, w *web, changes ...func(*Options)) *resource {
	t.Helper()
	log := &bytes.Buffer{}
	o := valid(func(o *Options) {
		o.Client = &http.Client{Transport: w}
		o.Log = slog.New(slog.NewTextHandler(log, nil))
	})
	for _, change := range changes {
		change(&o)
	}

	r := must(New(o))
	var running sync.WaitGroup
	running.Go(func() { r.Run(t.Context()) })
	t.Cleanup(running.Wait)
	synctest.Wait()
	return &resource{r, t, log}
}

func twoIssuers(o *Options) { o.Issuers = []string{home, other} }

// inBubble runs a subtest in a synctest bubble.
func inBubble(t *testing.T, name string, test func(*testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// wait lets time pass, and everything happen that is due then.
func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// check fails unless a token has the wanted status now.
func (r *resource) check(key signingKey, claims string, want int) {
	r.t.Helper()
	_, err := r.Verify(r.t.Context(), key.sign("", claims))
	got := ok
	if e, failed := errors.AsType[*Error](err); failed {
		got = e.Status
	}
	if got != want {
		r.t.Errorf("key %s: status %d (%v), want %d", key.id, got, err, want)
	}
}
