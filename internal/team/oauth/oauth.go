// Package oauth makes a server an OAuth 2.1 protected resource: it checks access tokens that
// authorization servers (issuers) signed, and tells clients where to get one.
//
//	oauth.go     options, and the check of a token
//	claims.go    the checks of the claims of a token
//	keys.go      the keys of an issuer, which a goroutine reads
//	metadata.go  metadata: of this server for clients, and of an issuer for this server
//
// Tokens are JWTs in compact form (RFC 9068, and what identity providers issued before it). go-jose
// parses them and verifies signatures; every other check is here. No error contains a token or a
// part of it.
//
// The keys of an issuer are read beside the requests:
//
//	Resource.FollowKeys      a goroutine for each issuer; only it reads
//	  issuer.readLoop        every 10 minutes, 5 s after a failure, for a waiting request;
//	                         never twice in 5 s
//	    issuer.read          the metadata (not for a waiting request), then the keys
//	      issuer.published   a new value after each read; after a failure it has the old keys
//
//	Resource.Verify          for each request with a token
//	  verifySignature        tries the keys with the id of the token; all, if it has no id
//	                         one made the signature: accepted
//	                         none did, but one has the id, and was read less than 5 s ago: 401
//	                         the last read failed: 503
//	  issuer.waiting         all other requests wait for the next read, 100 at most; then
//	                         verifySignature once more
package oauth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// algorithms are the accepted algorithms of signatures. None of them uses a shared secret.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512,
	jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512,
	jose.EdDSA,
}

// Options configures a Resource.
type Options struct {
	PublicURL string   // URL that clients connect to
	Issuers   []string // URLs of authorization servers, exactly as in the iss claim of their tokens
	Audiences []string // a token must be for one of them; if empty, for PublicURL
	Scopes    []string // a token needs all of them
	UserClaim string   // claim with the name for logs and metrics, such as sub or email

	Client *http.Client // reads metadata and keys; New makes it follow no redirects
	Log    *slog.Logger
}

// Resource is a protected resource. It is safe for concurrent use.
type Resource struct {
	options         Options
	publicURL       *url.URL           // Options.PublicURL
	audiencesListed bool               // the operator has listed Options.Audiences
	issuers         map[string]*issuer // by URL
}

// MaxName bounds the name of a person, in characters. A longer name ends with an ellipsis.
const MaxName = 64

const maxHeaderElements = 100 // of the header of a token; issuers send about five

// New returns the resource. Its errors are one line, which names the flag of `serve` and its value.
func New(o Options) (*Resource, error) {
	if err := o.check(); err != nil {
		return nil, err
	}

	listed := len(o.Audiences) > 0
	if !listed {
		o.Audiences = []string{o.PublicURL}
	}
	o.Audiences = withBothForms(o.Audiences, o.PublicURL)
	o.Client.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}
	jose.MaxRSAModulusBits = maxRSABits // the only way to make go-jose accept larger keys

	r := &Resource{
		options:         o,
		audiencesListed: listed,
		issuers:         map[string]*issuer{},
	}
	r.publicURL, _ = url.Parse(o.PublicURL) // check has parsed it
	for _, u := range o.Issuers {
		i := &issuer{
			url:     u,
			client:  o.Client,
			log:     o.Log.With("issuer", u),
			waiting: make(chan chan struct{}, maxWaiting-1), // readLoop holds the one that causes a read
		}
		i.published.Store(&keySet{unmatchedErr: errUnavailable})
		r.issuers[u] = i
	}
	return r, nil
}

// withBothForms returns audiences with both forms of the public URL added, with a slash at the end
// and without, if one of them is an audience. It adds none if the URL has a path: only without a
// path both are the same URL (RFC 3986 section 6.2.3).
func withBothForms(audiences []string, public string) []string {
	short := strings.TrimSuffix(public, "/")
	long := short + "/"
	isListed := slices.Contains(audiences, short) || slices.Contains(audiences, long)
	if strings.Count(long, "/") == 3 && isListed {
		return append(audiences, short, long)
	}
	return audiences
}

// check returns an error about the first malformed option.
func (o Options) check() error {
	if len(o.Issuers) == 0 {
		return errors.New("--public-url and the flags of OAuth need --oauth-issuer")
	}
	for n, u := range o.Issuers {
		if slices.Contains(o.Issuers[:n], u) {
			return fmt.Errorf("--oauth-issuer %q is given twice", u)
		}
		if err := checkURL("--oauth-issuer", u); err != nil {
			return err
		}
	}

	if o.PublicURL == "" {
		return errors.New("--oauth-issuer needs --public-url, the URL that clients connect to")
	}
	if err := checkURL("--public-url", o.PublicURL); err != nil {
		return err
	}
	if notNormal().MatchString(o.PublicURL) {
		return fmt.Errorf(`--public-url %q has "//" or dots in its path, `+
			"or capitals or the default port before it", o.PublicURL)
	}

	if slices.Contains(o.Audiences, "") {
		return errors.New(`--oauth-audience "" is empty`)
	}
	for _, scope := range o.Scopes {
		if !quotable().MatchString(scope) {
			return fmt.Errorf("--oauth-scope %q is not a scope: no blanks, no quotes", scope)
		}
		if scope == "offline_access" {
			return errors.New("--oauth-scope offline_access is in no access token: " +
				"clients ask the issuer for it, to get new tokens without a person")
		}
	}

	if o.UserClaim == "" {
		return errors.New(`--oauth-user "" is empty`)
	}
	return nil
}

// checkURL returns an error unless s, the value of a flag, can be an issuer or a public URL.
func checkURL(flag, s string) error {
	isPlain := quotable().MatchString(s) && !strings.ContainsAny(s, "?#'")
	u, err := url.Parse(s)
	if err == nil && isPlain && u.Hostname() != "" && u.User == nil {
		if u.Scheme == "https" || isLoopbackHTTP(u) {
			return nil
		}
	}
	const want = "https, or http on loopback, without query, fragment, user and quotes"
	return fmt.Errorf("%s %q is not a URL with %s", flag, s, want)
}

// quotable matches text that can be a part of a quoted string of a header (RFC 6749 section 3.3).
var quotable = text.LazyRegexp(`^[!#-\[\]-~]+$`)

// notNormal matches public URLs that other programs change. Servers clean a path with "//" or dots.
// The URL of the metadata ends with this path, so clients could not read the metadata. Clients
// remove capitals and the default port before the path (WHATWG URL): their tokens would be for
// another audience.
var notNormal = text.LazyRegexp(`://.*(//|/\.)|^[^/]*(//[^/]*)?[A-Z]|^(https://[^/]*:443|http://[^/]*:80)(/|$)`)

// isLoopbackHTTP reports whether u is http on this machine, which needs no TLS.
func isLoopbackHTTP(u *url.URL) bool {
	return u.Scheme == "http" && text.IsLoopback(u.Hostname())
}

// Host returns the host of the public URL, with the port if it has one.
func (r *Resource) Host() string {
	return r.publicURL.Host
}

// FollowKeys reads the keys of all issuers again and again until ctx ends. If r is nil, it returns
// at once.
func (r *Resource) FollowKeys(ctx context.Context) {
	if r == nil {
		return
	}
	var loops sync.WaitGroup
	defer loops.Wait()

	for _, i := range r.issuers {
		loops.Go(func() { i.readLoop(ctx) })
	}
}

// CheckKeysRead returns an error that names an issuer whose keys have not been read yet, or nil.
func (r *Resource) CheckKeysRead() error {
	for _, u := range r.options.Issuers {
		if r.issuers[u].published.Load().keys == nil {
			return fmt.Errorf("the keys of %s have not been read", u)
		}
	}
	return nil
}

// Verify returns the person to whom a valid token was issued. If only a scope is missing, it
// returns the person with the error. The ID is the issuer, a blank and the subject. The name is
// printable, has at most MaxName characters and is not unique. The error is an *Error. ctx bounds
// the wait for a read of the keys.
func (r *Resource) Verify(ctx context.Context, token string) (p call.Person, err error) {
	parsed, err := parse(token)
	if err != nil {
		return p, err
	}

	var c claims // not to be trusted before the signature is verified
	err = parsed.UnsafeClaimsWithoutVerification(&c, &c.all)
	if err != nil {
		return p, InvalidToken("the claims of the token are malformed")
	}
	iss := r.issuers[c.Issuer]
	if iss == nil {
		return p, InvalidToken("the token is from another issuer")
	}

	err = iss.verify(ctx, parsed)
	if err == nil {
		err = r.checkClaims(c, parsed.Headers[0])
	}
	if err != nil {
		return p, err
	}
	p = call.Person{
		ID:   iss.url + " " + c.Subject, // a URL has no blanks
		Name: c.name(r.options.UserClaim),
	}
	return p, r.checkScopes(c)
}

// parse parses a token and checks its header. The token is not longer than the header of a request,
// whose length the server bounds.
func parse(token string) (*jwt.JSONWebToken, error) {
	parts := strings.SplitN(token, ".", 4)
	if len(parts) != 3 {
		return nil, InvalidToken("the token is unknown, and no JWT; opaque tokens are not supported")
	}
	// Anyone can send a token: go-jose takes megabytes of stack to decode thousands of levels, and
	// decodes each member of a header several times.
	headerJSON, _ := base64.RawURLEncoding.DecodeString(parts[0])
	payloadJSON, _ := base64.RawURLEncoding.DecodeString(parts[1])
	switch {
	case jsonx.CountElements(headerJSON) > maxHeaderElements:
		return nil, InvalidToken("the token has a header of more than 100 elements or 64 levels")
	case jsonx.CountElements(payloadJSON) > jsonx.MaxElements: // no token has so many elements
		return nil, InvalidToken("the token has claims of more than 64 levels")
	}

	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		return nil, InvalidToken(
			"the token is malformed, or the algorithm of its signature is not accepted")
	}

	// These checks are not left to go-jose: it accepts some critical headers, accepts zip, which is
	// for encryption only, and leaves out headers that are null.
	header := gjson.ParseBytes(headerJSON) // valid: ParseSigned has parsed it
	if header.Get("crit").Exists() || header.Get("zip").Exists() {
		return nil, InvalidToken("the token has critical headers, or zip")
	}
	return parsed, nil
}
