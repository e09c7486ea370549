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

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

const skew = 30 * time.Second // between the clocks of the issuer and this machine

// Error says why a request is refused. Its text is fixed: it has nothing from the token.
type Error struct {
	Status      int // the HTTP status: 401, 403 (a scope is missing) or 503
	Description string
}

func (e *Error) Error() string { return e.Description }

func invalid(description string) *Error {
	return &Error{http.StatusUnauthorized, description}
}

// claims are those of a token.
type claims struct {
	jwt.Claims
	all map[string]any // the others, too
}

// accept checks the claims of a token with a valid signature. The scopes come after it: a client
// with a bad token has to sign in again, with or without them.
func (r *Resource) accept(c claims, header jose.Header, now time.Time) error {
	accepted := func(audience string) bool {
		return slices.Contains(r.options.Audiences, audience)
	}
	audience := r.audience(c)

	switch {
	case c.Expiry == nil:
		return invalid("the token does not expire")
	case !now.Before(c.Expiry.Time().Add(skew)):
		return invalid("the token has expired")
	case now.Before(c.NotBefore.Time().Add(-skew)): // without nbf the zero time
		return invalid("the token is not valid yet")
	case len(audience) == 0:
		return invalid("the token has no audience")
	case !slices.ContainsFunc(audience, accepted):
		return invalid("the token is for another audience")
	case c.Subject == "":
		return invalid("the token has no subject")
	case strings.ContainsRune(c.Subject, utf8.RuneError): // also for bytes that are not UTF-8
		return invalid("the subject of the token is not text")
	case !c.ofAccessToken(header.ExtraHeaders[jose.HeaderType]):
		return invalid("the token is not an access token")
	}
	return nil
}

// audience returns what a token is for. Access tokens of AWS Cognito have no aud ("Understanding
// the access token" of its documentation). Their client stands for it where the operator has listed
// audiences, and so may have listed the client.
func (r *Resource) audience(c claims) []string {
	_, named := c.all["aud"]
	client, _ := c.all["client_id"].(string)
	if !named && client != "" && c.all["token_use"] == "access" && r.listed {
		return []string{client}
	}
	return c.Audience
}

// checkScopes returns an error unless the token has all scopes. Entra ID writes api://ID/read,
// where api://ID is the audience, as read.
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

// ofAccessToken reports whether a token is an access token. typ is its header of that name (RFC
// 9068 section 2.1). An ID token, a logout token or a security event shows by one of the other
// claims what it is, an ID token of AWS Cognito by token_use. Keycloak before version 25 puts nonce
// into access tokens too, which have the claim typ: Bearer.
func (c claims) ofAccessToken(typ any) bool {
	if c.all["token_use"] == "id" {
		return false
	}
	switch strings.ToLower(fmt.Sprint(typ)) {
	case "at+jwt", "application/at+jwt":
		return true
	case "jwt", "<nil>": // the header may be absent
	default:
		return false
	}

	if c.all["typ"] == "Bearer" {
		return true
	}
	for _, name := range []string{"typ", "nonce", "at_hash", "c_hash", "events"} {
		if _, ok := c.all[name]; ok {
			return false
		}
	}
	return true
}

// scopes returns the granted scopes. The claims are texts or lists.
func (c claims) scopes() []string {
	var granted []string
	for _, name := range []string{"scope", "scp"} {
		list, ok := c.all[name].([]any)
		if !ok {
			list = []any{c.all[name]}
		}
		for _, one := range list {
			words, _ := one.(string)
			granted = append(granted, strings.Fields(words)...)
		}
	}
	return granted
}

// name returns the value of the claim for logs and metrics, or the subject if there is none.
func (c claims) name(claim string) string {
	name, _ := c.all[claim].(string)
	printable := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '_'
	}, cmp.Or(name, c.Subject))
	return text.Truncate(printable, MaxName)
}
