package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/version"
)

// MetadataPath is where clients look for the metadata of a protected resource (RFC 9728 section 3).
// The path of the resource may follow.
const MetadataPath = "/.well-known/oauth-protected-resource"

const (
	getTimeout  = 5 * time.Second // for a document of an issuer
	maxDocument = 512 << 10       // bytes of a document of an issuer
	maxLogged   = 200             // characters of a value from an issuer
)

// statusError is the HTTP status of a response that is not 200.
type statusError int

func (s statusError) Error() string { return fmt.Sprintf("HTTP %d", int(s)) }

// Metadata returns a handler that serves the metadata of the resource. path is the MCP endpoint of
// this server. The handler serves MetadataPath, and MetadataPath followed by path or by the path of
// the public URL. It needs no token, and web pages of any origin may read the metadata.
func (r *Resource) Metadata(path string) http.Handler {
	document := auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource:               r.options.PublicURL,
		AuthorizationServers:   r.options.Issuers,
		ScopesSupported:        r.options.Scopes,
		BearerMethodsSupported: []string{"header"},
		ResourceName:           version.Name,
	})

	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		suffix := strings.TrimPrefix(req.URL.Path, MetadataPath)
		switch strings.Trim(suffix, "/") {
		case "", strings.Trim(path, "/"), strings.Trim(r.publicURL.Path, "/"):
			document.ServeHTTP(w, req)
		default:
			http.NotFound(w, req)
		}
	})
}

// Challenge returns the WWW-Authenticate header of a response with the status 401 or 403 (RFC 6750
// section 3, RFC 9728 section 5.1). The header names the reason. reason is nil if the request has
// no token in a form that is read.
func (r *Resource) Challenge(reason *Error) string {
	challenge := fmt.Sprintf(`Bearer resource_metadata="%s"`, wellKnown(r.publicURL, MetadataPath))
	if len(r.options.Scopes) > 0 {
		challenge += fmt.Sprintf(`, scope="%s"`, strings.Join(r.options.Scopes, " "))
	}

	if reason != nil {
		code := "invalid_token"
		if reason.Status == http.StatusForbidden {
			code = "insufficient_scope"
		}
		challenge += fmt.Sprintf(`, error="%s", error_description="%s"`, code, reason.Description)
	}
	return challenge
}

// wellKnown returns the URL of a document about u (RFC 8414 section 3, RFC 9728 section 3): path
// comes before the path of u, as in https://a.example/PATH/b for https://a.example/b.
func wellKnown(u *url.URL, path string) string {
	return u.Scheme + "://" + u.Host + path + strings.TrimSuffix(u.EscapedPath(), "/")
}

// discover reads the metadata of the issuer, and sets keysURL. It takes the first document at one
// of these URLs, here for the issuer https://a.example/b:
//
//	https://a.example/b/.well-known/openid-configuration         OpenID Connect Discovery
//	https://a.example/.well-known/oauth-authorization-server/b   RFC 8414
//	https://a.example/.well-known/openid-configuration/b         some issuers
func (i *issuer) discover(ctx context.Context) error {
	var metadata struct {
		Issuer  string `json:"issuer"`
		KeysURL string `json:"jwks_uri"`
	}
	const oidc = "/.well-known/openid-configuration"
	parsed, _ := url.Parse(i.url) // Options.check has parsed it
	appended := strings.TrimSuffix(i.url, "/") + oidc
	documentURLs := []string{appended, wellKnown(parsed, "/.well-known/oauth-authorization-server")}
	if inserted := wellKnown(parsed, oidc); inserted != appended {
		documentURLs = append(documentURLs, inserted)
	}

	var err error
	for _, documentURL := range documentURLs {
		problem := i.get(ctx, documentURL, &metadata)
		if !mayBeElsewhere(problem) { // nil, or a problem that no other URL solves
			err = problem
			break
		}
		// Any other problem tells more than a 404.
		if err == nil || errors.Is(err, statusError(http.StatusNotFound)) {
			err = problem
		}
	}
	if err != nil {
		return err
	}

	if metadata.Issuer != i.url {
		name := text.Truncate(metadata.Issuer, maxLogged)
		return fmt.Errorf("it is of the issuer %q, want %q", name, i.url)
	}
	parsedKeysURL, err := url.Parse(metadata.KeysURL)
	onThisMachine := err == nil && isLoopbackHTTP(parsedKeysURL) && isLoopbackHTTP(parsed)
	if !strings.HasPrefix(metadata.KeysURL, "https://") && !onThisMachine {
		return fmt.Errorf("jwks_uri is %q, want https", text.Truncate(metadata.KeysURL, maxLogged))
	}
	i.keysURL = metadata.KeysURL
	return nil
}

// mayBeElsewhere reports whether the document may be at another URL after an error of get: the path
// does not exist, needs authentication or another method, or has a web page in place of JSON.
func mayBeElsewhere(err error) bool {
	status, _ := errors.AsType[statusError](err)
	switch status {
	case 401, 403, 404, 405:
		return true
	}
	return errors.As(err, new(*json.SyntaxError))
}

// get decodes the JSON at a URL into v.
func (i *issuer) get(ctx context.Context, u string, v any) error {
	ctx, cancel := context.WithTimeout(ctx, getTimeout)
	defer cancel()

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")

	resp, err := i.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()

	switch resp.StatusCode {
	case http.StatusOK:
		err = json.NewDecoder(http.MaxBytesReader(nil, resp.Body, maxDocument)).Decode(v)
	default:
		err = statusError(resp.StatusCode)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", u, err)
	}
	return nil
}
