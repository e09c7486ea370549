package oauth

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"golang.org/x/text/unicode/norm"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

const clockSkew = 30 * time.Second // tolerated between the clocks of the issuer and this machine

// Error is why a request is rejected. Its text is fixed, and contains no part of the token.
type Error struct {
	Status      int // the HTTP status: 401, 403 (a scope is missing) or 503
	Description string
}

func (e *Error) Error() string { return e.Description }

// InvalidToken returns the error for a token that is not accepted, with the status 401.
func InvalidToken(description string) *Error {
	return &Error{http.StatusUnauthorized, description}
}

// claims are the claims of a token.
type claims struct {
	jwt.Claims                // the registered claims (RFC 7519 section 4.1)
	all        map[string]any // all claims, by name
}

// checkClaims checks the claims of a token with a valid signature, except the scopes. checkScopes
// checks the scopes afterwards: with a token that is not accepted, a client has to sign in again,
// whatever scopes the token has.
func (r *Resource) checkClaims(c claims, header jose.Header) error {
	accepted := func(audience string) bool {
		return slices.Contains(r.options.Audiences, audience)
	}
	audience := r.audience(c)
	now := time.Now()

	switch {
	case c.Expiry == nil:
		return InvalidToken("the token does not expire")
	case !now.Before(c.Expiry.Time().Add(clockSkew)):
		return InvalidToken("the token has expired")
	case now.Before(c.NotBefore.Time().Add(-clockSkew)): // without nbf, Time is the zero time
		return InvalidToken("the token is not valid yet")
	case len(audience) == 0:
		return InvalidToken("the token has no audience")
	case !slices.ContainsFunc(audience, accepted):
		return InvalidToken("the token is for another audience")
	case c.Subject == "":
		return InvalidToken("the token has no subject")
	case strings.ContainsRune(c.Subject, utf8.RuneError): // true for invalid UTF-8, too
		return InvalidToken("the subject of the token is not text")
	case !c.isAccessToken(header.ExtraHeaders[jose.HeaderType]):
		return InvalidToken("the token is not an access token")
	}
	return nil
}

// audience returns the audiences of a token. Access tokens of AWS Cognito have no claim aud
// ("Understanding the access token" of its documentation). For such a token, audience returns the
// client if the operator has listed audiences, because only then can the client be among them.
func (r *Resource) audience(c claims) []string {
	_, hasAudience := c.all["aud"]
	client, _ := c.all["client_id"].(string)
	if !hasAudience && client != "" && c.all["token_use"] == "access" && r.audiencesListed {
		return []string{client}
	}
	return c.Audience
}

// checkScopes returns an error unless the token has all of Options.Scopes. Entra ID shortens a
// scope such as api://ID/read: the token has "read". Its audience may be a client id, so the prefix
// is any accepted audience (docs/reference/signing-in.md).
func (r *Resource) checkScopes(c claims) error {
	granted := c.scopes()
	for _, scope := range granted {
		for _, audience := range r.options.Audiences {
			granted = append(granted, audience+"/"+scope)
		}
	}

	for _, scope := range r.options.Scopes {
		if !slices.Contains(granted, scope) {
			return &Error{http.StatusForbidden, "the token lacks a scope"}
		}
	}
	return nil
}

// isAccessToken reports whether a token is an access token. typ is the typ header of the token (RFC
// 9068 section 2.1). If typ does not tell, the claims do.
func (c claims) isAccessToken(typ any) bool {
	if c.all["token_use"] == "id" { // an ID token of AWS Cognito
		return false
	}
	switch strings.ToLower(fmt.Sprint(typ)) {
	case "at+jwt", "application/at+jwt":
		return true
	case "jwt", "<nil>": // the header may be absent
	default:
		return false
	}

	if c.all["typ"] == "Bearer" { // Keycloak; before version 25 its access tokens have nonce, too
		return true
	}
	// Any other token with one of these is an ID token, a logout token or a security event.
	for _, name := range []string{"typ", "nonce", "at_hash", "c_hash", "events"} {
		if _, ok := c.all[name]; ok {
			return false
		}
	}
	return true
}

// scopes returns the granted scopes. The claims scope and scp may each be a text or a list of
// texts.
func (c claims) scopes() []string {
	var granted []string
	for _, name := range []string{"scope", "scp"} {
		list, ok := c.all[name].([]any)
		if !ok {
			list = []any{c.all[name]}
		}
		for _, value := range list {
			scopes, _ := value.(string)
			granted = append(granted, strings.Fields(scopes)...)
		}
	}
	return granted
}

// name returns the value of a claim as a name for logs and metrics. Without the claim it returns
// the subject. The name is in Unicode form NFC, as in a list of denied people. Characters that are
// not printable become underscores.
func (c claims) name(claim string) string {
	name, _ := c.all[claim].(string)
	printable := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && !text.IsUnsafe(r) { // to unicode, a filler is a letter
			return r
		}
		return '_'
	}, cmp.Or(name, c.Subject))
	return text.Truncate(norm.NFC.String(printable), MaxName)
}
