package httpd

import (
	"context"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/oauth"
)

// SignIn accepts the access tokens of r, and sends clients to its issuers. Tokens that the operator
// hands out are added before it: then the reason of a refusal is that of r.
func (a *Access) SignIn(r *oauth.Resource) {
	a.Authenticators = append(a.Authenticators, accessTokens{r})
	a.resource = r
}

// accessTokens is the Authenticator of a resource.
type accessTokens struct{ resource *oauth.Resource }

// Authenticate returns the person who signed in. The error is an [oauth.Error].
func (t accessTokens) Authenticate(ctx context.Context, token string) (llm.Person, error) {
	identity, err := t.resource.Verify(ctx, token)
	if err != nil {
		return llm.Person{}, err
	}
	return llm.Person{
		ID:   identity.Issuer + " " + identity.Subject, // an issuer is a URL, without blanks
		Name: identity.Name,
	}, nil
}
