package oauth

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
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

// Rows with a description are refused with the status 401.
func TestTokens(t *testing.T) {
	const (
		malformed = "the token is malformed"
		opaque    = "the token is not a JWT in compact form; opaque tokens are not supported"
		algorithm = "the algorithm of the signature is not accepted"
		signature = "the signature of the token is wrong"
		expired   = "the token has expired"
		audience  = "the token is for another audience"
		issuer    = "the token is from another issuer"
		notAccess = "the token is not an access token"
		headerTyp = "the type of the token is not that of an access token"
		unknown   = "the key of the token is unknown"
	)

	for _, tt := range []struct {
		name    string
		key     signingKey
		header  values
		claims  values
		change  func(token string) string
		refused string
	}{
		{name: "RS256", key: keyRSA},
		{name: "RS384", key: keyRSA.using(jose.RS384)},
		{name: "RS512", key: keyRSA.using(jose.RS512)},
		{name: "PS256", key: keyRSA.using(jose.PS256)},
		{name: "PS384", key: keyRSA.using(jose.PS384)},
		{name: "PS512", key: keyRSA.using(jose.PS512)},
		{name: "ES256", key: keyP256},
		{name: "ES384", key: keyP384},
		{name: "ES512", key: keyP521},
		{name: "EdDSA", key: keyEd},
		{name: "no key id", key: keyP256.named("")},

		{name: "no type", header: values{"typ": nil}},
		{name: "at+jwt", header: values{"typ": "at+jwt"}},
		{name: "application/at+jwt", header: values{"typ": "application/at+jwt"}},
		{name: "type in upper case", header: values{"typ": "AT+JWT"}},
		{name: "audience in a list", claims: values{"aud": []string{"other", public}}},
		{name: "second audience", claims: values{"aud": entra}},
		{name: "expired within the skew", claims: values{"exp": -29 * time.Second}},
		{name: "not valid yet within the skew", claims: values{"nbf": 30 * time.Second}},
		{name: "nonce and typ Bearer", claims: values{"nonce": "n", "typ": "Bearer"}},
		{name: "nonce and at+jwt", header: values{"typ": "at+jwt"}, claims: values{"nonce": "n"}},

		{name: "expired", claims: values{"exp": -30 * time.Second}, refused: expired},
		{name: "no exp", claims: values{"exp": nil}, refused: "the token does not expire"},
		{name: "exp is null", claims: values{"exp": json.RawMessage("null")}, refused: "the token does not expire"},
		{name: "exp is text", claims: values{"exp": "soon"}, refused: "the claims of the token are malformed"},
		{name: "not valid yet", claims: values{"nbf": 31 * time.Second}, refused: "the token is not valid yet"},
		{name: "no sub", claims: values{"sub": nil}, refused: "the token has no subject"},
		{name: "empty sub", claims: values{"sub": ""}, refused: "the token has no subject"},
		{name: "wrong issuer", claims: values{"iss": "https://evil.example.com"}, refused: issuer},
		{name: "no issuer", claims: values{"iss": nil}, refused: issuer},
		{name: "issuer with a slash", claims: values{"iss": home + "/"}, refused: issuer},
		{name: "wrong audience", claims: values{"aud": "https://mcp.example.com"}, refused: audience},
		{name: "no audience", claims: values{"aud": nil}, refused: audience},
		{name: "empty audience", claims: values{"aud": []string{}}, refused: audience},

		{name: "id token with typ", claims: values{"typ": "ID"}, refused: notAccess},
		{name: "id token with nonce", claims: values{"nonce": "n"}, refused: notAccess},
		{name: "id token with at_hash", claims: values{"at_hash": "h"}, refused: notAccess},
		{name: "id token with c_hash", claims: values{"c_hash": "h"}, refused: notAccess},
		{name: "logout token", claims: values{"events": values{}}, refused: notAccess},
		{name: "header logout+jwt", header: values{"typ": "logout+jwt"}, refused: headerTyp},
		{name: "header typ is a number", header: values{"typ": 1}, refused: headerTyp},
		{name: "crit", header: values{"crit": []string{"b64"}, "b64": true}, refused: "the token has critical headers"},

		{name: "key of another issuer", key: otherRSA, refused: signature},
		{name: "changed payload", change: changePayload, refused: signature},
		{name: "changed signature", change: changeSignature, refused: signature},
		{name: "RSA of 1024 bits", key: smallRSA, refused: unknown},
		{name: "unknown key id", key: keyRSA.named("new"), refused: unknown},
		{name: "key with another algorithm", key: keyRSA.named("PS384 only"), refused: signature},
		{name: "algorithm none", change: unsigned, refused: algorithm},
		{name: "HMAC with the public key", change: hmacWithPublicKey, refused: algorithm},

		{name: "opaque", change: func(string) string { return "gho_16C7e42F292c6912E7710c838347Ae178B4a" }, refused: opaque},
		{name: "empty", change: func(string) string { return "" }, refused: opaque},
		{name: "JSON serialization", change: jsonSerialization, refused: malformed},
		{name: "encrypted", change: func(token string) string { return token + ".x.x" }, refused: opaque},
		{name: "three words", change: func(string) string { return "one.two.three" }, refused: malformed},
		{name: "duplicate claims", change: duplicateClaims, refused: "the claims of the token are malformed"},
		{name: "16 KB", claims: values{"x": strings.Repeat("x", maxToken)}, refused: "the token is too long"},
		{name: "100 KB", change: func(string) string { return strings.Repeat("x.", 50<<10) }, refused: "the token is too long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				idp := newProvider(home,
					keyRSA.jwk(), keyP256.jwk(), keyP384.jwk(), keyP521.jwk(), keyEd.jwk(), smallRSA.jwk(),
					keyRSA.named("PS384 only").jwk(values{"alg": "PS384"}))
				r, _ := start(t, Options{Audiences: []string{public, entra}}, map[string]http.Handler{"id.example.com": idp})

				key := tt.key
				if key.private == nil {
					key = keyRSA
				}
				token := key.sign(t, values{"typ": "JWT"}.with(tt.header), claimsOf(home).with(tt.claims))
				if tt.change != nil {
					token = tt.change(token)
				}

				identity, err := r.Verify(t.Context(), token)
				var got, want any = identity, Identity{Issuer: home, Subject: "alice", Name: "alice"}
				if tt.refused != "" {
					got, want = err, invalid(tt.refused)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("error %v, -want +got:\n%s", err, diff)
				}
			})
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
	return `{"protected":"` + parts[0] + `","payload":"` + parts[1] + `","signature":"` + parts[2] + `","x":".."}`
}

func duplicateClaims(token string) string {
	claims := base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"https://id.example.com","iss":"https://id.example.com"}`))
	parts := strings.Split(token, ".")
	return parts[0] + "." + claims + "." + parts[2]
}

// The token is for the audiences public and entra.
func TestScopes(t *testing.T) {
	for _, tt := range []struct {
		name     string
		required []string
		claims   values
		want     int
	}{
		{"none required", nil, nil, http.StatusOK},
		{"in scope", []string{"mcp"}, values{"scope": "openid mcp"}, http.StatusOK},
		{"in scp as text", []string{"mcp"}, values{"scp": "mcp openid"}, http.StatusOK},
		{"in scp as a list", []string{"mcp"}, values{"scp": []string{"openid", "mcp"}}, http.StatusOK},
		{"two in two claims", []string{"mcp", "ask"}, values{"scope": "mcp", "scp": "ask"}, http.StatusOK},
		{"in full", []string{entra + "/mcp"}, values{"scp": entra + "/mcp"}, http.StatusOK},
		{"without the audience", []string{entra + "/mcp"}, values{"scp": "mcp"}, http.StatusOK},
		{"without another audience", []string{"api://other/mcp"}, values{"scp": "mcp"}, http.StatusForbidden},
		{"prefix of the audience", []string{entra + "mcp"}, values{"scp": "mcp"}, http.StatusForbidden},
		{"missing", []string{"mcp"}, nil, http.StatusForbidden},
		{"second missing", []string{"mcp", "ask"}, values{"scope": "mcp"}, http.StatusForbidden},
		{"part of a scope", []string{"mcp"}, values{"scope": "mcp:read"}, http.StatusForbidden},
		{"in other case", []string{"mcp"}, values{"scope": "MCP"}, http.StatusForbidden},
		{"scope is a list", []string{"mcp"}, values{"scope": []string{"mcp"}}, http.StatusForbidden},
		{"blank in a list", []string{"mcp"}, values{"scp": []string{"openid mcp"}}, http.StatusForbidden},
		{"missing and expired", []string{"mcp"}, values{"exp": 1}, http.StatusUnauthorized},
		{"missing in an id token", []string{"mcp"}, values{"nonce": "n"}, http.StatusUnauthorized},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				idp := newProvider(home, keyP256.jwk())
				r, _ := start(t, Options{Scopes: tt.required, Audiences: []string{public, entra}}, map[string]http.Handler{"id.example.com": idp})

				_, err := r.Verify(t.Context(), keyP256.sign(t, nil, claimsOf(home).with(tt.claims)))
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
				r, _ := start(t, Options{UserClaim: "email"}, map[string]http.Handler{"id.example.com": idp})

				got, err := r.Verify(t.Context(), keyP256.sign(t, nil, claimsOf(home).with(values{"email": tt.claim})))
				want := Identity{Issuer: home, Subject: "alice", Name: tt.want}
				if got != want {
					t.Errorf("%+v, error %v, want %+v", got, err, want)
				}
			})
		})
	}
}

func TestOptions(t *testing.T) {
	const notURL = ` is not a URL with https, or http on loopback, without query, fragment, user and quotes`
	for _, tt := range []struct {
		name   string
		change func(*Options)
		want   string // of the error
	}{
		{"fine", func(*Options) {}, ""},
		{"loopback", func(o *Options) { o.PublicURL = "http://127.0.0.1:8080/mcp" }, ""},
		{"IPv6 loopback", func(o *Options) { o.PublicURL = "http://[::1]:8080/mcp" }, ""},
		{"localhost", func(o *Options) { o.Issuers = []string{"http://localhost:3000"} }, ""},
		{"no issuer", func(o *Options) { o.Issuers = nil }, "--public-url and the flags of OAuth need --oauth-issuer"},
		{"no public URL", func(o *Options) { o.PublicURL = "" }, "--oauth-issuer needs --public-url, the URL that clients connect to"},
		{"http", func(o *Options) { o.PublicURL = "http://mcp.example.com/mcp" }, `--public-url "http://mcp.example.com/mcp"` + notURL},
		{"name like loopback", func(o *Options) { o.PublicURL = "http://localhost.example.com" }, `--public-url "http://localhost.example.com"` + notURL},
		{"another scheme", func(o *Options) { o.PublicURL = "ftp://localhost" }, `--public-url "ftp://localhost"` + notURL},
		{"no scheme", func(o *Options) { o.PublicURL = "mcp.example.com" }, `--public-url "mcp.example.com"` + notURL},
		{"no host", func(o *Options) { o.PublicURL = "https://:8080" }, `--public-url "https://:8080"` + notURL},
		{"bad port", func(o *Options) { o.PublicURL = "https://example.com:x" }, `--public-url "https://example.com:x"` + notURL},
		{"empty issuer", func(o *Options) { o.Issuers = []string{home, ""} }, `--oauth-issuer ""` + notURL},
		{"query", func(o *Options) { o.Issuers = []string{home + "?"} }, `--oauth-issuer "https://id.example.com?"` + notURL},
		{"fragment", func(o *Options) { o.Issuers = []string{home + "#"} }, `--oauth-issuer "https://id.example.com#"` + notURL},
		{"user", func(o *Options) { o.Issuers = []string{"https://me@id.example.com"} }, `--oauth-issuer "https://me@id.example.com"` + notURL},
		{"quote", func(o *Options) { o.Issuers = []string{home + `/"`} }, `--oauth-issuer "https://id.example.com/\""` + notURL},
		{"single quote", func(o *Options) { o.Issuers = []string{home + `/'`} }, `--oauth-issuer "https://id.example.com/'"` + notURL},
		{"line break", func(o *Options) { o.PublicURL = public + "\n" }, `--public-url "https://mcp.example.com/mcp\n"` + notURL},
		{"not ASCII", func(o *Options) { o.PublicURL = "https://日本語.jp" }, `--public-url "https://日本語.jp"` + notURL},
		{"empty audience", func(o *Options) { o.Audiences = []string{""} }, `--oauth-audience "" is empty`},
		{"empty scope", func(o *Options) { o.Scopes = []string{""} }, `--oauth-scope "" is not a scope: no blanks, no quotes`},
		{"blank in a scope", func(o *Options) { o.Scopes = []string{"mcp", "a b"} }, `--oauth-scope "a b" is not a scope: no blanks, no quotes`},
		{"quote in a scope", func(o *Options) { o.Scopes = []string{`a"b`} }, `--oauth-scope "a\"b" is not a scope: no blanks, no quotes`},
		{"backslash in a scope", func(o *Options) { o.Scopes = []string{`a\b`} }, `--oauth-scope "a\\b" is not a scope: no blanks, no quotes`},
		{"empty claim", func(o *Options) { o.UserClaim = "" }, `--oauth-user "" is empty`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			_, err := New(with(tt.change))
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("error %q, want %q", got, tt.want)
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
	missing := &Error{http.StatusForbidden, "insufficient_scope", "the token lacks a scope"}
	scoped := func(o *Options) { o.Scopes = []string{"mcp", "ask"} }
	const (
		metadata = `Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"`
		scopes   = `, scope="mcp ask"`
		root     = `Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource"`
		port     = `Bearer resource_metadata="http://[::1]:8080/.well-known/oauth-protected-resource/a%20b"`
	)

	for _, tt := range []struct {
		name   string
		change func(*Options)
		reason error
		want   string
	}{
		{"no token", scoped, nil, metadata + scopes},
		{"no scopes", func(*Options) {}, nil, metadata},
		{"invalid token", scoped, invalid("it is wrong"), metadata + scopes + `, error="invalid_token", error_description="it is wrong"`},
		{"missing scope", scoped, missing, metadata + scopes + `, error="insufficient_scope", error_description="the token lacks a scope"`},
		{"no path", func(o *Options) { o.PublicURL = "https://mcp.example.com" }, nil, root},
		{"only a slash", func(o *Options) { o.PublicURL = "https://mcp.example.com/" }, nil, root},
		{"slash at the end", func(o *Options) { o.PublicURL = public + "/" }, nil, metadata},
		{"port and escapes", func(o *Options) { o.PublicURL = "http://[::1]:8080/a%20b" }, nil, port},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := New(with(tt.change))
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
