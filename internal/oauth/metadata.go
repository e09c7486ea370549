package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// MetadataPath is where clients look for the metadata of a protected resource (RFC 9728 section 3).
// The path of the resource may follow.
const MetadataPath = "/.well-known/oauth-protected-resource"

const (
	fetchTime  = 5 * time.Second
	fetchBytes = 512 << 10
	maxLogged  = 200 // characters of a value from an issuer
)

// httpStatus is the status of an answer that is not 200.
type httpStatus int

func (s httpStatus) Error() string { return fmt.Sprintf("HTTP %d", int(s)) }

// Metadata serves the metadata of the resource at MetadataPath, and below it at the path of the
// public URL and at path, the one that this server has. It needs no token, and any web page may
// read it.
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
		case "", strings.Trim(path, "/"), strings.Trim(r.public.Path, "/"):
			document.ServeHTTP(w, req)
		default:
			http.NotFound(w, req)
		}
	})
}

// Challenge returns the WWW-Authenticate header of a response with the status 401 or 403. reason is
// the error of Verify, or nil for a request without a token (RFC 6750 section 3, RFC 9728 section
// 5.1).
func (r *Resource) Challenge(reason error) string {
	challenge := fmt.Sprintf(`Bearer resource_metadata="%s"`, r.metadataURL)
	if len(r.options.Scopes) > 0 {
		challenge += fmt.Sprintf(`, scope="%s"`, strings.Join(r.options.Scopes, " "))
	}

	if e, ok := errors.AsType[*Error](reason); ok {
		code := "invalid_token"
		if e.Status == http.StatusForbidden {
			code = "insufficient_scope"
		}
		challenge += fmt.Sprintf(`, error="%s", error_description="%s"`, code, e.Description)
	}
	return challenge
}

// discover returns the URL of the issuer's keys. Its metadata is that of OpenID Connect discovery,
// which appends to the path, or of RFC 8414, which inserts before the path.
func (i *issuer) discover(ctx context.Context) (keysURL string, err error) {
	issuer, err := url.Parse(i.url)
	if err != nil {
		return "", err
	}

	var metadata struct {
		Issuer  string `json:"issuer"`
		KeysURL string `json:"jwks_uri"`
	}
	path := strings.TrimSuffix(issuer.EscapedPath(), "/")
	origin := issuer.Scheme + "://" + issuer.Host
	err = i.fetch(ctx, origin+path+"/.well-known/openid-configuration", &metadata)
	if errors.Is(err, httpStatus(http.StatusNotFound)) {
		err = i.fetch(ctx, origin+"/.well-known/oauth-authorization-server"+path, &metadata)
	}

	switch {
	case err != nil:
		return "", err
	case metadata.Issuer != i.url:
		name := text.Truncate(metadata.Issuer, maxLogged)
		return "", fmt.Errorf("it is of the issuer %q, want %q", name, i.url)
	case !mayHold(issuer, metadata.KeysURL):
		return "", fmt.Errorf("jwks_uri is %q, want https", text.Truncate(metadata.KeysURL, maxLogged))
	}
	return metadata.KeysURL, nil
}

// mayHold reports whether the keys of an issuer may be at a URL: https, or loopback if the issuer
// is there too.
func mayHold(issuer *url.URL, keysURL string) bool {
	u, err := url.Parse(keysURL)
	if err != nil || u.Hostname() == "" {
		return false
	}
	return u.Scheme == "https" || onLoopback(u) && onLoopback(issuer)
}

// fetch decodes the JSON at a URL into v.
func (i *issuer) fetch(ctx context.Context, u string, v any) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
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

	var body []byte
	if resp.StatusCode != http.StatusOK {
		err = httpStatus(resp.StatusCode)
	} else {
		body, err = io.ReadAll(io.LimitReader(resp.Body, fetchBytes+1))
	}
	if err == nil && len(body) > fetchBytes {
		err = fmt.Errorf("more than %d bytes", fetchBytes)
	}
	if err == nil {
		err = json.Unmarshal(body, v)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", u, err)
	}
	return nil
}
