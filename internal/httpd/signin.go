package httpd

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/uchimanajet7/openai-responses-mcp/internal/oauth"
)

// signedIn begins the IDs of people who signed in.
const signedIn = "oauth:"

// SignIn accepts the access tokens of r, and sends clients to its issuers. Tokens that the operator
// hands out are added before it: then the reason of a refusal is that of r.
func (a *Access) SignIn(r *oauth.Resource) {
	a.Authenticators = append(a.Authenticators, accessTokens{r})
	a.resource = r
}

// accessTokens is the Authenticator of a resource.
type accessTokens struct{ resource *oauth.Resource }

// Authenticate returns the person who signed in. The error is an [oauth.Error].
func (t accessTokens) Authenticate(ctx context.Context, token string) (Person, error) {
	identity, err := t.resource.Verify(ctx, token)
	if err != nil {
		return Person{}, err
	}
	return Person{
		ID:   signedIn + identity.Issuer + " " + identity.Subject, // an issuer has no blanks
		Name: identity.Name,
	}, nil
}

// refuse answers a request without an accepted token (RFC 6750 section 3).
func (a Access) refuse(w http.ResponseWriter, reason error) {
	status := http.StatusUnauthorized
	if e, ok := errors.AsType[*oauth.Error](reason); ok {
		status = e.Status
		if res, ok := w.(*response); ok {
			res.problem = e.Description
		}
	}

	switch {
	case status == http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", strconv.Itoa(int(oauth.RetryTime.Seconds())))
	case a.resource != nil:
		w.Header().Set("WWW-Authenticate", a.resource.Challenge(reason))
	default:
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	http.Error(w, reason.Error(), status)
}

// refuseSignedIn keeps people without a static token from the metrics, which name everyone.
func refuseSignedIn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := auth.TokenInfoFromContext(r.Context())
		if token != nil && !strings.HasPrefix(token.UserID, tokenHolder) {
			http.Error(w, "the metrics are not for people who sign in", http.StatusForbidden)
			return
		}

		next.ServeHTTP(w, r)
	})
}
