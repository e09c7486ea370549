package oauth

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
)

const entra = "api://6f8c"

// verifyChanged returns what a resource says about a token that change makes of a signed one. The clock
// is that of a bubble.
func verifyChanged(
	t *testing.T,
	key signingKey,
	header, claims values,
	change func(token string) string,
) (identity Identity, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		idp := newProvider(home,
			keyRSA.jwk(),
			keyP256.jwk(),
			keyP384.jwk(),
			keyP521.jwk(),
			keyEd.jwk(),
			smallRSA.jwk(),
			keyRSA.named("PS384 only").jwk(values{"alg": "PS384"}))
		r, _ := start(t, Options{Audiences: []string{public, entra}}, hosts(idp))

		token := key.sign(t, values{"typ": "JWT"}.with(header), claimsOf(home).with(claims))
		if change != nil {
			token = change(token)
		}
		identity, err = r.Verify(t.Context(), token)
	})
	return identity, err
}

func TestAcceptedTokens(t *testing.T) {
	accessToken := values{"typ": "at+jwt"}
	for _, tt := range []struct {
		name           string
		key            signingKey
		header, claims values
	}{
		{"RS256", keyRSA, nil, nil},
		{"RS384", keyRSA.using(jose.RS384), nil, nil},
		{"RS512", keyRSA.using(jose.RS512), nil, nil},
		{"PS256", keyRSA.using(jose.PS256), nil, nil},
		{"PS384", keyRSA.using(jose.PS384), nil, nil},
		{"PS512", keyRSA.using(jose.PS512), nil, nil},
		{"ES256", keyP256, nil, nil},
		{"ES384", keyP384, nil, nil},
		{"ES512", keyP521, nil, nil},
		{"EdDSA", keyEd, nil, nil},
		{"no key id", keyP256.named(""), nil, nil},
		{"no type", keyP256, values{"typ": nil}, nil},
		{"at+jwt", keyP256, accessToken, nil},
		{"application/at+jwt", keyP256, values{"typ": "application/at+jwt"}, nil},
		{"type in upper case", keyP256, values{"typ": "AT+JWT"}, nil},
		{"audience in a list", keyP256, nil, values{"aud": []string{"other", public}}},
		{"second audience", keyP256, nil, values{"aud": entra}},
		{"expired within the skew", keyP256, nil, values{"exp": -29 * time.Second}},
		{"not valid yet within the skew", keyP256, nil, values{"nbf": 30 * time.Second}},
		{"nonce and typ Bearer", keyP256, nil, values{"nonce": "n", "typ": "Bearer"}},
		{"nonce and at+jwt", keyP256, accessToken, values{"nonce": "n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := verifyChanged(t, tt.key, tt.header, tt.claims, nil)
			want := Identity{Issuer: home, Subject: "alice", Name: "alice"}
			if got != want {
				t.Errorf("%+v, error %v, want %+v", got, err, want)
			}
		})
	}
}

func TestRefusedClaims(t *testing.T) {
	const (
		endless   = "the token does not expire"
		expired   = "the token has expired"
		subject   = "the token has no subject"
		audience  = "the token is for another audience"
		issuer    = "the token is from another issuer"
		notAccess = "the token is not an access token"
		malformed = "the claims of the token are malformed"
	)
	for _, tt := range []struct {
		name   string
		claims values
		want   string
	}{
		{"expired", values{"exp": -30 * time.Second}, expired},
		{"no exp", values{"exp": nil}, endless},
		{"exp is null", values{"exp": json.RawMessage("null")}, endless},
		{"exp is text", values{"exp": "soon"}, malformed},
		{"not valid yet", values{"nbf": 31 * time.Second}, "the token is not valid yet"},
		{"no sub", values{"sub": nil}, subject},
		{"empty sub", values{"sub": ""}, subject},
		{"wrong issuer", values{"iss": "https://evil.example.com"}, issuer},
		{"no issuer", values{"iss": nil}, issuer},
		{"issuer with a slash", values{"iss": home + "/"}, issuer},
		{"wrong audience", values{"aud": "https://mcp.example.com"}, audience},
		{"no audience", values{"aud": nil}, audience},
		{"empty audience", values{"aud": []string{}}, audience},
		{"ID token with typ", values{"typ": "ID"}, notAccess},
		{"ID token with nonce", values{"nonce": "n"}, notAccess},
		{"ID token with at_hash", values{"at_hash": "h"}, notAccess},
		{"ID token with c_hash", values{"c_hash": "h"}, notAccess},
		{"logout token", values{"events": values{}}, notAccess},
		{"16 KB", values{"x": strings.Repeat("x", maxToken)}, "the token is too long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := verifyChanged(t, keyP256, nil, tt.claims, nil)
			if diff := cmp.Diff(error(invalid(tt.want)), err); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestRefusedTokens(t *testing.T) {
	const (
		malformed = "the token is malformed"
		opaque    = "the token is not a JWT in compact form; opaque tokens are not supported"
		algorithm = "the algorithm of the signature is not accepted"
		signature = "the signature of the token is wrong"
		headerTyp = "the type of the token is not that of an access token"
		unknown   = "the key of the token is unknown"
	)
	becomes := func(token string) func(string) string { return func(string) string { return token } }
	critical := values{"crit": []string{"b64"}, "b64": true}

	for _, tt := range []struct {
		name   string
		key    signingKey
		header values
		change func(token string) string
		want   string
	}{
		{"header logout+jwt", keyRSA, values{"typ": "logout+jwt"}, nil, headerTyp},
		{"header typ is a number", keyRSA, values{"typ": 1}, nil, headerTyp},
		{"crit", keyRSA, critical, nil, "the token has critical headers"},
		{"key of another issuer", otherRSA, nil, nil, signature},
		{"changed payload", keyRSA, nil, changePayload, signature},
		{"changed signature", keyRSA, nil, changeSignature, signature},
		{"RSA of 1024 bits", smallRSA, nil, nil, unknown},
		{"unknown key id", keyRSA.named("new"), nil, nil, unknown},
		{"key with another algorithm", keyRSA.named("PS384 only"), nil, nil, signature},
		{"algorithm none", keyRSA, nil, unsigned, algorithm},
		{"HMAC with the public key", keyRSA, nil, hmacWithPublicKey, algorithm},
		{"opaque", keyRSA, nil, becomes("gho_16C7e42F292c6912E7710c838347Ae178B4a"), opaque},
		{"empty", keyRSA, nil, becomes(""), opaque},
		{"JSON serialization", keyRSA, nil, jsonSerialization, malformed},
		{"encrypted", keyRSA, nil, func(token string) string { return token + ".x.x" }, opaque},
		{"three words", keyRSA, nil, becomes("one.two.three"), malformed},
		{"duplicate claims", keyRSA, nil, duplicateClaims, "the claims of the token are malformed"},
		{"100 KB", keyRSA, nil, becomes(strings.Repeat("x.", 50<<10)), "the token is too long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := verifyChanged(t, tt.key, tt.header, nil, tt.change)
			if diff := cmp.Diff(error(invalid(tt.want)), err); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func changePayload(token string) string {
	header, rest, _ := strings.Cut(token, ".")
	payload, signature, _ := strings.Cut(rest, ".")
	data, _ := base64.RawURLEncoding.DecodeString(payload)
	data = []byte(strings.Replace(string(data), `"alice"`, `"mallory"`, 1))
	return header + "." + base64.RawURLEncoding.EncodeToString(data) + "." + signature
}

func changeSignature(token string) string {
	last := strings.LastIndex(token, ".")
	return token[:last+1] + "A" + token[last+2:]
}

// withHeader returns the token with another header and without a signature.
func withHeader(token string, header string) string {
	payload := strings.Split(token, ".")[1]
	return base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + payload + "."
}

func unsigned(token string) string { return withHeader(token, `{"alg":"none"}`) }

func hmacWithPublicKey(token string) string {
	token = withHeader(token, `{"alg":"HS256","kid":"rsa"}`)
	der, _ := x509.MarshalPKIXPublicKey(keyRSA.private.Public())
	mac := hmac.New(sha256.New, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	mac.Write([]byte(strings.TrimSuffix(token, ".")))
	return token + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func jsonSerialization(token string) string {
	parts := strings.Split(token, ".")
	const format = `{"protected":%q,"payload":%q,"signature":%q,"x":".."}`
	return fmt.Sprintf(format, parts[0], parts[1], parts[2])
}

func duplicateClaims(token string) string {
	const twice = `{"iss":"https://id.example.com","iss":"https://id.example.com"}`
	claims := base64.RawURLEncoding.EncodeToString([]byte(twice))
	parts := strings.Split(token, ".")
	return parts[0] + "." + claims + "." + parts[2]
}

// The token is for the audiences public and entra.
func TestScopes(t *testing.T) {
	const (
		ok        = http.StatusOK
		forbidden = http.StatusForbidden
	)
	one := []string{"mcp"}
	both := []string{"mcp", "ask"}
	full := []string{entra + "/mcp"}

	for _, tt := range []struct {
		name     string
		required []string
		claims   values
		want     int
	}{
		{"none required", nil, nil, ok},
		{"in scope", one, values{"scope": "openid mcp"}, ok},
		{"in scp as text", one, values{"scp": "mcp openid"}, ok},
		{"in scp as a list", one, values{"scp": []string{"openid", "mcp"}}, ok},
		{"two in two claims", both, values{"scope": "mcp", "scp": "ask"}, ok},
		{"in full", full, values{"scp": entra + "/mcp"}, ok},
		{"without the audience", full, values{"scp": "mcp"}, ok},
		{"without another audience", []string{"api://other/mcp"}, values{"scp": "mcp"}, forbidden},
		{"prefix of the audience", []string{entra + "mcp"}, values{"scp": "mcp"}, forbidden},
		{"missing", one, nil, forbidden},
		{"second missing", both, values{"scope": "mcp"}, forbidden},
		{"part of a scope", one, values{"scope": "mcp:read"}, forbidden},
		{"in other case", one, values{"scope": "MCP"}, forbidden},
		{"scope is a list", one, values{"scope": []string{"mcp"}}, forbidden},
		{"blank in a list", one, values{"scp": []string{"openid mcp"}}, forbidden},
		{"missing and expired", one, values{"exp": 1}, http.StatusUnauthorized},
		{"missing in an id token", one, values{"nonce": "n"}, http.StatusUnauthorized},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				idp := newProvider(home, keyP256.jwk())
				o := Options{
					Scopes:    tt.required,
					Audiences: []string{public, entra},
				}
				r, _ := start(t, o, hosts(idp))

				token := keyP256.sign(t, nil, claimsOf(home).with(tt.claims))
				_, err := r.Verify(t.Context(), token)
				if got := status(t, err); got != tt.want {
					t.Errorf("status %d (%v), want %d", got, err, tt.want)
				}
			})
		})
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		name  string
		claim any
		want  string
	}{
		{"e-mail address", "alice@example.com", "alice@example.com"},
		{"missing", nil, "alice"},
		{"empty", "", "alice"},
		{"not text", 42, "alice"},
		{"quotes and backslash", `a"b\c'`, `a"b\c'`},
		{"line breaks", "a\r\nb\u2028c", "a__b_c"},
		{"terminal", "\x1b[31m\u202e", "_[31m_"},
		{"emoji", "🦊👩‍💻", "🦊👩_💻"},
		{"64 characters", strings.Repeat("語", 64), strings.Repeat("語", 64)},
		{"10 KB", strings.Repeat("語", 3000), strings.Repeat("語", 63) + "…"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				idp := newProvider(home, keyP256.jwk())
				r, _ := start(t, Options{UserClaim: "email"}, hosts(idp))

				token := keyP256.sign(t, nil, claimsOf(home).with(values{"email": tt.claim}))
				got, err := r.Verify(t.Context(), token)
				want := Identity{Issuer: home, Subject: "alice", Name: tt.want}
				if got != want {
					t.Errorf("%+v, error %v, want %+v", got, err, want)
				}
			})
		})
	}
}

// A value replaces what valid options have for its flag.
func TestOptions(t *testing.T) {
	const (
		publicURL = "--public-url"
		issuer    = "--oauth-issuer"
		scope     = "--oauth-scope"
		notURL    = " is not a URL with https, or http on loopback, without query, fragment, user and quotes"
		notScope  = " is not a scope: no blanks, no quotes"
		empty     = " is empty"
	)
	for _, tt := range []struct {
		name, flag, value string
		want              string // of the error, after flag and value
	}{
		{"https", publicURL, "https://mcp.example.com:8443/a/b", ""},
		{"loopback", publicURL, "http://127.0.0.1:8080/mcp", ""},
		{"IPv6 loopback", publicURL, "http://[::1]:8080/mcp", ""},
		{"localhost", issuer, "http://localhost:3000", ""},
		{"http", publicURL, "http://mcp.example.com/mcp", notURL},
		{"name like loopback", publicURL, "http://localhost.example.com", notURL},
		{"another scheme", publicURL, "ftp://localhost", notURL},
		{"no scheme", publicURL, "mcp.example.com", notURL},
		{"no host", publicURL, "https://:8080", notURL},
		{"bad port", publicURL, "https://example.com:x", notURL},
		{"line break", publicURL, public + "\n", notURL},
		{"not ASCII", publicURL, "https://日本語.jp", notURL},
		{"empty issuer", issuer, "", notURL},
		{"query", issuer, home + "?", notURL},
		{"fragment", issuer, home + "#", notURL},
		{"user", issuer, "https://me@id.example.com", notURL},
		{"quote", issuer, home + `/"`, notURL},
		{"single quote", issuer, home + "/'", notURL},
		{"empty audience", "--oauth-audience", "", empty},
		{"empty claim", "--oauth-user", "", empty},
		{"scope", scope, "api://mcp/read", ""},
		{"empty scope", scope, "", notScope},
		{"blank in a scope", scope, "a b", notScope},
		{"quote in a scope", scope, `a"b`, notScope},
		{"backslash in a scope", scope, `a\b`, notScope},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(with(func(o *Options) {
				switch tt.flag {
				case publicURL:
					o.PublicURL = tt.value
				case issuer:
					o.Issuers = []string{home, tt.value}
				case scope:
					o.Scopes = []string{"mcp", tt.value}
				case "--oauth-audience":
					o.Audiences = []string{public, tt.value}
				case "--oauth-user":
					o.UserClaim = tt.value
				}
			}))
			want := "<nil>"
			if tt.want != "" {
				want = fmt.Sprintf("%s %q%s", tt.flag, tt.value, tt.want)
			}
			if got := fmt.Sprint(err); got != want {
				t.Errorf("error %s, want %s", got, want)
			}
		})
	}
}

func TestMissingOptions(t *testing.T) {
	for _, tt := range []struct {
		want   string
		change func(*Options)
	}{
		{"--public-url and the flags of OAuth need --oauth-issuer", func(o *Options) { o.Issuers = nil }},
		{"--oauth-issuer needs --public-url, the URL that clients connect to", func(o *Options) { o.PublicURL = "" }},
	} {
		t.Run(tt.want, func(t *testing.T) {
			_, err := New(with(tt.change))
			if got := fmt.Sprint(err); got != tt.want {
				t.Errorf("error %s, want %s", got, tt.want)
			}
		})
	}
}

// with returns valid options with a change.
func with(change func(*Options)) Options {
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

func TestChallenge(t *testing.T) {
	missing := &Error{http.StatusForbidden, "insufficient_scope", "it lacks a scope"}
	two := []string{"mcp", "ask"}
	const (
		root        = `Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource"`
		metadata    = `Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"`
		port        = `Bearer resource_metadata="http://[::1]:8080/.well-known/oauth-protected-resource/a%20b"`
		scopes      = `, scope="mcp ask"`
		wrongText   = `, error="invalid_token", error_description="it is wrong"`
		missingText = `, error="insufficient_scope", error_description="it lacks a scope"`
	)
	for _, tt := range []struct {
		name   string
		url    string
		scopes []string
		reason error
		want   string
	}{
		{"no token", public, two, nil, metadata + scopes},
		{"no scopes", public, nil, nil, metadata},
		{"invalid token", public, two, invalid("it is wrong"), metadata + scopes + wrongText},
		{"missing scope", public, two, missing, metadata + scopes + missingText},
		{"no path", "https://mcp.example.com", nil, nil, root},
		{"only a slash", "https://mcp.example.com/", nil, nil, root},
		{"slash at the end", public + "/", nil, nil, metadata},
		{"port and escapes", "http://[::1]:8080/a%20b", nil, nil, port},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := New(with(func(o *Options) {
				o.PublicURL = tt.url
				o.Scopes = tt.scopes
			}))
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Challenge(tt.reason); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestMetadata(t *testing.T) {
	r, err := New(with(func(o *Options) { o.Scopes = []string{"mcp"} }))
	if err != nil {
		t.Fatal(err)
	}
	handler := r.Metadata("/inner")

	for _, tt := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/.well-known/oauth-protected-resource", http.StatusOK},
		{"GET", "/.well-known/oauth-protected-resource/", http.StatusOK},
		{"GET", "/.well-known/oauth-protected-resource/mcp", http.StatusOK},
		{"GET", "/.well-known/oauth-protected-resource/inner", http.StatusOK},
		{"GET", "/.well-known/oauth-protected-resource/other", http.StatusNotFound},
		{"OPTIONS", "/.well-known/oauth-protected-resource/mcp", http.StatusNoContent},
		{"POST", "/.well-known/oauth-protected-resource/mcp", http.StatusMethodNotAllowed},
	} {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, nil))
			if w.Code != tt.want {
				t.Errorf("status %d, want %d", w.Code, tt.want)
			}
			if got := w.Header().Get("Access-Control-Allow-Origin"); got != "*" && tt.want != http.StatusNotFound {
				t.Errorf("Access-Control-Allow-Origin %q, want *", got)
			}
		})
	}

	t.Run("document", func(t *testing.T) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", MetadataPath, nil))
		got := values{}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		want := values{
			"resource":                 public,
			"authorization_servers":    []any{home},
			"scopes_supported":         []any{"mcp"},
			"bearer_methods_supported": []any{"header"},
			"resource_name":            "openai-responses-mcp",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}
