package oauth

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

const entra = "api://6f8c"

// newKeys returns a network where home has all keys.
func newKeys() *web {
	return newWeb(
		keyRSA.jwk(""),
		keyP256.jwk(""),
		keyP384.jwk(""),
		keyP521.jwk(""),
		keyEd.jwk(""),
		smallRSA.jwk(""),
		keyRSA.as("PS384 only", "").jwk(`{"alg":"PS384"}`),
	)
}

func TestAlgorithms(t *testing.T) {
	for _, tt := range []struct {
		key        signingKey
		algorithms string
	}{
		{keyRSA, "RS256 RS384 RS512 PS256 PS384 PS512"},
		{keyRSA.as("PS384 only", ""), "PS384"},
		{keyP256, "ES256"},
		{keyP256.as("", ""), "ES256"},
		{keyP384, "ES384"},
		{keyP521, "ES512"},
		{keyEd, "EdDSA"},
	} {
		for _, name := range strings.Fields(tt.algorithms) {
			inBubble(t, name+" "+tt.key.id, func(t *testing.T) {
				r, _ := start(t, newKeys(), unchanged)
				key := tt.key.as(tt.key.id, jose.SignatureAlgorithm(name))
				check(t, r, key, "", http.StatusOK)
			})
		}
	}
}

func TestClaims(t *testing.T) {
	const (
		expired   = "the token has expired"
		subject   = "the token has no subject"
		audience  = "the token is for another audience"
		issuer    = "the token is from another issuer"
		notAccess = "the token is not an access token"
		malformed = "the claims of the token are malformed"
		headerTyp = "the type of the token is not that of an access token"
		critical  = "the token has critical headers"
	)
	padding := fmt.Sprintf(`{"x":%q}`, strings.Repeat("x", maxToken))

	for _, tt := range []struct{ name, header, claims, want string }{
		{"no type", "", "", ""},
		{"JWT", `{"typ":"JWT"}`, "", ""},
		{"at+jwt", `{"typ":"at+jwt"}`, "", ""},
		{"application/at+jwt", `{"typ":"application/at+jwt"}`, "", ""},
		{"type in upper case", `{"typ":"AT+JWT"}`, "", ""},
		{"logout+jwt", `{"typ":"logout+jwt"}`, "", headerTyp},
		{"type is a number", `{"typ":1}`, "", headerTyp},
		{"crit", `{"crit":["b64"],"b64":true}`, "", critical},
		{"audience in a list", "", `{"aud":["other","https://mcp.example.com/mcp"]}`, ""},
		{"second audience", "", `{"aud":"api://6f8c"}`, ""},
		{"wrong audience", "", `{"aud":"https://mcp.example.com"}`, audience},
		{"no audience", "", `{"aud":null}`, audience},
		{"empty audience", "", `{"aud":[]}`, audience},
		{"expired", "", `{"exp":-30}`, expired},
		{"expired within the skew", "", `{"exp":-29}`, ""},
		{"no exp", "", `{"exp":null}`, "the token does not expire"},
		{"exp is text", "", `{"exp":"soon"}`, malformed},
		{"not valid yet", "", `{"nbf":31}`, "the token is not valid yet"},
		{"not valid yet within the skew", "", `{"nbf":30}`, ""},
		{"no sub", "", `{"sub":null}`, subject},
		{"empty sub", "", `{"sub":""}`, subject},
		{"wrong issuer", "", `{"iss":"https://evil.example.com"}`, issuer},
		{"no issuer", "", `{"iss":null}`, issuer},
		{"issuer with a slash", "", `{"iss":"https://id.example.com/"}`, issuer},
		{"typ", "", `{"typ":"ID"}`, notAccess},
		{"nonce", "", `{"nonce":"n"}`, notAccess},
		{"at_hash", "", `{"at_hash":"h"}`, notAccess},
		{"c_hash", "", `{"c_hash":"h"}`, notAccess},
		{"events", "", `{"events":{}}`, notAccess},
		{"nonce and typ Bearer", "", `{"nonce":"n","typ":"Bearer"}`, ""},
		{"nonce and at+jwt", `{"typ":"at+jwt"}`, `{"nonce":"n"}`, ""},
		{"16 KB", "", padding, "the token is too long"},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			r, _ := start(t, newKeys(), func(o *Options) { o.Audiences = []string{public, entra} })
			_, err := r.Verify(t.Context(), keyP256.sign(tt.header, tt.claims))
			if got, want := verdict(err), invalidToken(tt.want); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestForgedTokens(t *testing.T) {
	const (
		malformed = "the token is malformed"
		opaque    = "the token is not a JWT in compact form; opaque tokens are not supported"
		algorithm = "the algorithm of the signature is not accepted"
		signature = "the signature of the token is wrong"
		unknown   = "the key of the token is unknown"
		twice     = `{"iss":"https://id.example.com","iss":"https://id.example.com"}`
	)
	encode := base64.RawURLEncoding.EncodeToString
	parts := strings.Split(keyRSA.sign("", ""), ".")
	header := parts[0] + "."
	claims := "." + parts[1] + "."
	forged := header + encode([]byte(`{"iss":"https://id.example.com","sub":"bob"}`))

	der, _ := x509.MarshalPKIXPublicKey(keyRSA.private.Public())
	mac := hmac.New(sha256.New, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	shared := encode([]byte(`{"alg":"HS256","kid":"rsa"}`)) + "." + parts[1]
	mac.Write([]byte(shared))
	const serialization = `{"protected":%q,"payload":%q,"signature":%q,"x":".."}`

	for _, tt := range []struct{ name, token, want string }{
		{"key of another issuer", otherRSA.sign("", ""), signature},
		{"changed payload", forged + "." + parts[2], signature},
		{"changed signature", header + parts[1] + ".A" + parts[2][1:], signature},
		{"RSA of 1024 bits", smallRSA.sign("", ""), unknown},
		{"unknown key id", keyRSA.as("new", jose.RS256).sign("", ""), unknown},
		{"key with another algorithm", keyRSA.as("PS384 only", jose.RS256).sign("", ""), signature},
		{"algorithm none", encode([]byte(`{"alg":"none"}`)) + claims, algorithm},
		{"HMAC with the public key", shared + "." + encode(mac.Sum(nil)), algorithm},
		{"opaque", "gho_16C7e42F292c6912E7710c838347Ae178B4a", opaque},
		{"empty", "", opaque},
		{"JSON serialization", fmt.Sprintf(serialization, parts[0], parts[1], parts[2]), malformed},
		{"encrypted", header + "x.x.x.x", opaque},
		{"three words", "one.two.three", malformed},
		{"duplicate claims", header + encode([]byte(twice)) + ".xx", "the claims of the token are malformed"},
		{"100 KB", strings.Repeat("x.", 50<<10), "the token is too long"},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			r, _ := start(t, newKeys(), unchanged)
			_, err := r.Verify(t.Context(), tt.token)
			if got, want := verdict(err), invalidToken(tt.want); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// The token is for the audiences public and entra.
func TestScopes(t *testing.T) {
	const (
		ok        = http.StatusOK
		forbidden = http.StatusForbidden
		refused   = http.StatusUnauthorized
		full      = "api://6f8c/mcp"
	)
	for _, tt := range []struct {
		name, required, claims string
		want                   int
	}{
		{"none required", "", "", ok},
		{"in scope", "mcp", `{"scope":"openid mcp"}`, ok},
		{"in scp as text", "mcp", `{"scp":"mcp openid"}`, ok},
		{"in scp as a list", "mcp", `{"scp":["openid","mcp"]}`, ok},
		{"two in two claims", "mcp ask", `{"scope":"mcp","scp":"ask"}`, ok},
		{"in full", full, `{"scp":"api://6f8c/mcp"}`, ok},
		{"without the audience", full, `{"scp":"mcp"}`, ok},
		{"without another audience", "api://other/mcp", `{"scp":"mcp"}`, forbidden},
		{"prefix of the audience", "api://6f8cmcp", `{"scp":"mcp"}`, forbidden},
		{"missing", "mcp", "", forbidden},
		{"second missing", "mcp ask", `{"scope":"mcp"}`, forbidden},
		{"part of a scope", "mcp", `{"scope":"mcp:read"}`, forbidden},
		{"in other case", "mcp", `{"scope":"MCP"}`, forbidden},
		{"scope is a list", "mcp", `{"scope":["mcp"]}`, forbidden},
		{"blank in a list", "mcp", `{"scp":["openid mcp"]}`, forbidden},
		{"missing and expired", "mcp", `{"exp":-60}`, refused},
		{"missing in an ID token", "mcp", `{"nonce":"n"}`, refused},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			r, _ := start(t, newKeys(), func(o *Options) {
				o.Scopes = strings.Fields(tt.required)
				o.Audiences = []string{public, entra}
			})
			check(t, r, keyP256, tt.claims, tt.want)
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
		inBubble(t, tt.name, func(t *testing.T) {
			r, _ := start(t, newKeys(), func(o *Options) { o.UserClaim = "email" })
			claims := must(json.Marshal(map[string]any{"email": tt.claim}))
			got, err := r.Verify(t.Context(), keyP256.sign("", string(claims)))
			if want := (Identity{home, "alice", tt.want}); got != want {
				t.Errorf("%+v, error %v, want %+v", got, err, want)
			}
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
		flag, value string
		want        string // of the error, after flag and value
	}{
		{publicURL, "https://mcp.example.com:8443/a/b", ""},
		{publicURL, "http://127.0.0.1:8080/mcp", ""},
		{publicURL, "http://[::1]:8080/mcp", ""},
		{issuer, "http://localhost:3000", ""},
		{publicURL, "http://mcp.example.com/mcp", notURL},
		{publicURL, "http://localhost.example.com", notURL},
		{publicURL, "ftp://localhost", notURL},
		{publicURL, "mcp.example.com", notURL},
		{publicURL, "https://:8080", notURL},
		{publicURL, "https://example.com:x", notURL},
		{publicURL, public + "\n", notURL},
		{publicURL, "https://日本語.jp", notURL},
		{issuer, "", notURL},
		{issuer, home + "?", notURL},
		{issuer, home + "#", notURL},
		{issuer, "https://me@id.example.com", notURL},
		{issuer, home + `/"`, notURL},
		{issuer, home + "/'", notURL},
		{"--oauth-audience", "", empty},
		{"--oauth-user", "", empty},
		{scope, "api://mcp/read", ""},
		{scope, "", notScope},
		{scope, "a b", notScope},
		{scope, `a"b`, notScope},
		{scope, `a\b`, notScope},
	} {
		t.Run(tt.flag+" "+tt.value, func(t *testing.T) {
			_, err := New(valid(func(o *Options) {
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

func TestChallenge(t *testing.T) {
	missing := &Error{http.StatusForbidden, "insufficient_scope", "it lacks a scope"}
	const (
		root        = `Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource"`
		resource    = `Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"`
		port        = `Bearer resource_metadata="http://[::1]:8080/.well-known/oauth-protected-resource/a%20b"`
		scopes      = `, scope="mcp ask"`
		wrongText   = `, error="invalid_token", error_description="it is wrong"`
		missingText = `, error="insufficient_scope", error_description="it lacks a scope"`
	)
	for _, tt := range []struct {
		name, url, scopes string
		reason            error
		want              string
	}{
		{"no token", public, "mcp ask", nil, resource + scopes},
		{"no scopes", public, "", nil, resource},
		{"invalid token", public, "mcp ask", invalid("it is wrong"), resource + scopes + wrongText},
		{"missing scope", public, "mcp ask", missing, resource + scopes + missingText},
		{"no path", "https://mcp.example.com", "", nil, root},
		{"only a slash", "https://mcp.example.com/", "", nil, root},
		{"slash at the end", public + "/", "", nil, resource},
		{"port and escapes", "http://[::1]:8080/a%20b", "", nil, port},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := must(New(valid(func(o *Options) {
				o.PublicURL = tt.url
				o.Scopes = strings.Fields(tt.scopes)
			})))
			if got := r.Challenge(tt.reason); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestMetadata(t *testing.T) {
	const (
		root     = "/.well-known/oauth-protected-resource"
		document = `{"resource":"https://mcp.example.com/mcp",` +
			`"authorization_servers":["https://id.example.com"],"scopes_supported":["mcp"],` +
			`"bearer_methods_supported":["header"],"resource_name":"openai-responses-mcp"}`
	)
	handler := must(New(valid(func(o *Options) { o.Scopes = []string{"mcp"} }))).Metadata("/inner")

	for _, tt := range []struct {
		method, path string
		want         int
		body         string
	}{
		{"GET", root, 200, document},
		{"GET", root + "/", 200, document},
		{"GET", root + "/mcp", 200, document},
		{"GET", root + "/inner", 200, document},
		{"GET", root + "/other", 404, "404 page not found"},
		{"OPTIONS", root + "/mcp", 204, ""},
		{"POST", root + "/mcp", 405, "Method not allowed"},
	} {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, nil))
			if w.Code != tt.want {
				t.Errorf("status %d, want %d", w.Code, tt.want)
			}
			if got := strings.TrimSpace(w.Body.String()); got != tt.body {
				t.Errorf("got  %s\nwant %s", got, tt.body)
			}
			cors := w.Header().Get("Access-Control-Allow-Origin") == "*"
			if want := tt.want != 404; cors != want {
				t.Errorf("for any origin: %t, want %t", cors, want)
			}
		})
	}
}
