package oauth

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

const (
	home   = "https://id.example.com"
	other  = "https://other.example.com/tenant"
	public = "https://mcp.example.com/mcp"
	entra  = "api://6f8c" // another audience

	oidc    = "/.well-known/openid-configuration"
	rfc8414 = "/.well-known/oauth-authorization-server"
)

// signingKey is a private key as an issuer has it, and the algorithm of its signatures. Only an
// algorithm of the JSONWebKey is published.
type signingKey struct {
	jose.JSONWebKey
	signs jose.SignatureAlgorithm
}

var (
	keyRSA   = newRSA("rsa", 2048)
	otherRSA = newRSA("rsa", 2048)
	smallRSA = newRSA("small", 1024)
	keyP256  = newEC("p256", jose.ES256, elliptic.P256())
	keyP384  = newEC("p384", jose.ES384, elliptic.P384())
	keyP521  = newEC("p521", jose.ES512, elliptic.P521())
	keyEd    = newKey("ed", jose.EdDSA, ed25519.NewKeyFromSeed(make([]byte, 32)))
)

func newKey(id string, algorithm jose.SignatureAlgorithm, private any) signingKey {
	return signingKey{jose.JSONWebKey{KeyID: id, Key: private}, algorithm}
}

func newRSA(id string, bits int) signingKey {
	return newKey(id, jose.RS256, must(rsa.GenerateKey(rand.Reader, bits)))
}

func newEC(id string, algorithm jose.SignatureAlgorithm, curve elliptic.Curve) signingKey {
	return newKey(id, algorithm, must(ecdsa.GenerateKey(curve, rand.Reader)))
}

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
		must(0, json.Unmarshal([]byte(part), &all))
	}
	maps.DeleteFunc(all, func(_ string, value any) bool { return value == nil })
	return all
}

// sign returns a token of alice with changed claims, of which exp and nbf are seconds from now, and
// header has further headers.
func (k signingKey) sign(changes ...string) string {
	const usual = `{"iss":"https://id.example.com","sub":"alice",
		"aud":"https://mcp.example.com/mcp","exp":3600}`
	claims := object(slices.Insert(changes, 0, usual)...)
	for _, name := range []string{"exp", "nbf"} {
		if seconds, ok := claims[name].(float64); ok {
			claims[name] = time.Now().Unix() + int64(seconds)
		}
	}

	options := &jose.SignerOptions{}
	header, _ := claims["header"].(map[string]any)
	for name, value := range header {
		options.WithHeader(jose.HeaderKey(name), value)
	}
	key := jose.SigningKey{Algorithm: k.signs, Key: k.JSONWebKey}
	signer := must(jose.NewSigner(key, options))
	return must(jwt.Signed(signer).Claims(claims).Serialize())
}

// body serves a text.
func body(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
}

// metadata serves the metadata of an issuer.
func metadata(issuer, keys string) http.HandlerFunc {
	return body(fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q}`, issuer, keys))
}

// slowly answers when the client has given up.
func slowly(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// web is the network of a test, as the transport of an HTTP client. Other pages do not exist.
type web struct {
	pages   sync.Map    // http.HandlerFunc by URL
	fetched chan string // URLs
}

// newWeb returns a network where home publishes keys.
func newWeb(keys ...signingKey) *web {
	w := &web{fetched: make(chan string, 1000)}
	w.publish(home, keys...)
	return w
}

// publish replaces the keys of an issuer.
func (w *web) publish(issuer string, keys ...signingKey) {
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
	for _, key := range keys {
		set.Keys = append(set.Keys, key.Public())
	}
	w.pages.Store(issuer+"/keys", body(string(must(json.Marshal(set)))))
	w.pages.Store(issuer+oidc, metadata(issuer, issuer+"/keys"))
}

func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	w.fetched <- r.URL.String()
	page, found := w.pages.Load(r.URL.String())
	if !found {
		page = http.NotFoundHandler()
	}

	res := httptest.NewRecorder()
	page.(http.HandlerFunc)(res, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return res.Result(), nil
}

// fetches returns what was fetched since the last call.
func (w *web) fetches() (all []string) {
	synctest.Wait()
	for len(w.fetched) > 0 {
		all = append(all, <-w.fetched)
	}
	return all
}

// valid returns valid options, of which JSON changes some.
func valid(changes string) Options {
	o := Options{
		PublicURL: public,
		Issuers:   []string{home},
		Audiences: []string{public, entra},
		UserClaim: "email",
		Client:    &http.Client{},
		Log:       slog.New(slog.DiscardHandler),
	}
	must(0, json.Unmarshal([]byte(changes), &o))
	return o
}

const twoIssuers = `{"Issuers":["` + home + `","` + other + `"]}`

// resource is a Resource that runs, with its log.
type resource struct {
	*Resource
	t   *testing.T
	log bytes.Buffer
}

// start runs a resource with changed options. It returns when the first read has ended.
func start(t *testing.T, w *web, changes string) *resource {
	r := &resource{t: t}
	o := valid(changes)
	o.Client.Transport = w
	o.Log = slog.New(slog.NewTextHandler(&r.log, nil))
	r.Resource = must(New(o))

	var running sync.WaitGroup
	running.Go(func() { r.FollowKeys(t.Context()) })
	t.Cleanup(running.Wait)
	synctest.Wait()
	return r
}

// wait lets time pass, and everything happen that is due then.
func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// warned fails unless the log has so many warnings.
func (r *resource) warned(want int) {
	r.t.Helper()
	log := r.log.String()
	compare.Equal(r.t, "warnings in "+log, strings.Count(log, "level=WARN"), want)
}

// check fails unless a token with changed claims has the wanted status now.
func (r *resource) check(want int, key signingKey, changes ...string) {
	r.t.Helper()
	_, err := r.Verify(r.t.Context(), key.sign(changes...))
	got := http.StatusOK
	if e, failed := errors.AsType[*Error](err); failed {
		got = e.Status
	}
	if got != want {
		r.t.Errorf("key %s: status %d (%v), want %d", key.KeyID, got, err, want)
	}
}
