package oauth

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

const entra = "api://6f8c"

// newKeys returns a network where home has all keys.
func newKeys() *web {
	return newWeb(
		keyRSA.jwk(),
		keyP256.jwk(),
		keyP384.jwk(),
		keyP521.jwk(),
		keyEd.jwk(),
		smallRSA.jwk(),
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
		for name := range strings.FieldsSeq(tt.algorithms) {
			inBubble(t, name+" "+tt.key.id, func(t *testing.T) {
				r := start(t, newKeys())
				key := tt.key.as(tt.key.id, jose.SignatureAlgorithm(name))
				r.check(key, "", ok)
			})
		}
	}
}

func TestClaims(t *testing.T) {
	const (
		accepted  = "<nil>"
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

	for _, tt := range []struct{ header, claims, want string }{
		{"", "", accepted},
		{`{"typ":"JWT"}`, "", accepted},
		{`{"typ":"at+jwt"}`, "", accepted},
		{`{"typ":"application/at+jwt"}`, "", accepted},
		{`{"typ":"AT+JWT"}`, "", accepted},
		{`{"typ":"logout+jwt"}`, "", headerTyp},
		{`{"typ":1}`, "", headerTyp},
		{`{"crit":["b64"],"b64":true}`, "", critical},
		{"", `{"aud":["other","https://mcp.example.com/mcp"]}`, accepted},
		{"", `{"aud":"api://6f8c"}`, accepted},
		{"", `{"aud":"https://mcp.example.com"}`, audience},
		{"", `{"aud":null}`, audience},
		{"", `{"exp":-30}`, expired},
		{"", `{"exp":-29}`, accepted},
		{"", `{"exp":null}`, "the token does not expire"},
		{"", `{"exp":"soon"}`, malformed},
		{"", `{"nbf":31}`, "the token is not valid yet"},
		{"", `{"nbf":30}`, accepted},
		{"", `{"sub":""}`, subject},
		{"", `{"iss":"https://evil.example.com"}`, issuer},
		{"", `{"iss":null}`, issuer},
		{"", `{"iss":"https://id.example.com/"}`, issuer},
		{"", `{"typ":"ID"}`, notAccess},
		{"", `{"nonce":"n"}`, notAccess},
		{"", `{"at_hash":"h"}`, notAccess},
		{"", `{"c_hash":"h"}`, notAccess},
		{"", `{"events":{}}`, notAccess},
		{"", `{"nonce":"n","typ":"Bearer"}`, accepted},
		{`{"typ":"at+jwt"}`, `{"nonce":"n"}`, accepted},
		{"", padding, "the token is too long"},
	} {
		inBubble(t, tt.header+" "+tt.claims, func(t *testing.T) {
			r := start(t, newKeys(), func(o *Options) { o.Audiences = []string{public, entra} })
			_, err := r.Verify(t.Context(), keyP256.sign(tt.header, tt.claims))
			if got := fmt.Sprint(err); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
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
	encode := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	parts := strings.Split(keyRSA.sign("", ""), ".")
	header := parts[0] + "."
	claims := "." + parts[1] + "."
	forged := header + encode(`{"iss":"https://id.example.com","sub":"bob"}`)

	der, _ := x509.MarshalPKIXPublicKey(keyRSA.private.Public())
	mac := hmac.New(sha256.New, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	shared := encode(`{"alg":"HS256","kid":"rsa"}`) + "." + parts[1]
	mac.Write([]byte(shared))
	const serialization = `{"protected":%q,"payload":%q,"signature":%q,"x":".."}`

	for _, tt := range []struct{ name, token, want string }{
		{"changed payload", forged + "." + parts[2], signature},
		{"changed signature", header + parts[1] + "." + parts[2][4:] + parts[2][:4],
			signature},
		{"RSA of 1024 bits", smallRSA.sign("", ""), unknown},
		{"unknown key id", keyRSA.as("new", jose.RS256).sign("", ""),
			unknown},
		{"key with another algorithm", keyRSA.as("PS384 only", jose.RS256).sign("", ""),
			signature},
		{"algorithm none", encode(`{"alg":"none"}`) + claims, algorithm},
		{"HMAC with the public key", shared + "." + encode(string(mac.Sum(nil))),
			algorithm},
		{"opaque", "gho_16C7e42F292c6912E7710c838347Ae178B4a", opaque},
		{"JSON serialization", fmt.Sprintf(serialization, parts[0], parts[1], parts[2]),
			malformed},
		{"encrypted", header + "x.x.x.x", opaque},
		{"duplicate claims", header + encode(twice) + ".xx",
			"the claims of the token are malformed"},
		{"100 KB", strings.Repeat("x.", 50<<10), "the token is too long"},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			r := start(t, newKeys())
			_, err := r.Verify(t.Context(), tt.token)
			if got := fmt.Sprint(err); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// The token is for the audiences public and entra.
func TestScopes(t *testing.T) {
	const full = "api://6f8c/mcp"
	for _, tt := range []struct {
		required, claims string
		want             int
	}{
		{"", "", ok},
		{"mcp", `{"scope":"openid mcp"}`, ok},
		{"mcp", `{"scp":"mcp openid"}`, ok},
		{"mcp", `{"scp":["openid","mcp"]}`, ok},
		{"mcp ask", `{"scope":"mcp","scp":"ask"}`, ok},
		{full, `{"scp":"mcp"}`, ok},
		{"api://other/mcp", `{"scp":"mcp"}`, forbidden},
		{"api://6f8cmcp", `{"scp":"mcp"}`, forbidden},
		{"mcp", "", forbidden},
		{"mcp ask", `{"scope":"mcp"}`, forbidden},
		{"mcp", `{"scope":["mcp"]}`, forbidden},
		{"mcp", `{"scp":["openid mcp"]}`, forbidden},
		{"mcp", `{"exp":-60}`, refused},
	} {
		inBubble(t, tt.required+" "+tt.claims, func(t *testing.T) {
			r := start(t, newKeys(), func(o *Options) {
				o.Scopes = strings.Fields(tt.required)
				o.Audiences = []string{public, entra}
			})
			r.check(keyP256, tt.claims, tt.want)
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
		{"line breaks", "a\r\nb\u2028c", "a__b_c"},
		{"terminal", "\x1b[31m\u202e", "_[31m_"},
		{"emoji", "🦊👩‍💻", "🦊👩_💻"},
		{"10 KB", strings.Repeat("語", 3000),
			strings.Repeat("語", 63) + "…"},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			r := start(t, newKeys(), func(o *Options) { o.UserClaim = "email" })
			claims := must(json.Marshal(map[string]any{"email": tt.claim}))
			got, err := r.Verify(t.Context(), keyP256.sign("", string(claims)))
			if want := (Identity{home, "alice", tt.want}); got != want {
				t.Errorf("%+v, error %v, want %+v", got, err, want)
			}
		})
	}
}

func TestURLs(t *testing.T) {
	for u, isValid := range map[string]bool{
		"https://mcp.example.com:8443/a/b": true,
		"http://127.0.0.1:8080/mcp":        true,
		"http://[::1]:8080/mcp":            true,
		"http://localhost:3000":            true,
		"":                                 false,
		"http://mcp.example.com/mcp":       false,
		"http://localhost.example.com":     false,
		"ftp://localhost":                  false,
		"https://:8080":                    false,
		"https://example.com:x":            false,
		"https://mcp.example.com\n":        false,
		"https://日本語.jp":                   false,
		"https://id.example.com?":          false,
		"https://id.example.com#":          false,
		"https://me@id.example.com":        false,
		`https://id.example.com/"`:         false,
		"https://id.example.com/'":         false,
	} {
		t.Run(u, func(t *testing.T) {
			const format = "--flag %q is not a URL with " +
				"https, or http on loopback, without query, fragment, user and quotes"
			want := "<nil>"
			if !isValid {
				want = fmt.Sprintf(format, u)
			}
			if got := fmt.Sprint(checkURL("--flag", u)); got != want {
				t.Errorf("error %s, want %s", got, want)
			}
		})
	}
}

// A change of valid options is refused.
func TestOptions(t *testing.T) {
	scope := func(s string) func(*Options) {
		return func(o *Options) { o.Scopes = []string{"api://mcp/read", s} }
	}
	const notScope = " is not a scope: no blanks, no quotes"

	for _, tt := range []struct {
		want   string
		change func(*Options)
	}{
		{"<nil>", scope("mcp")},
		{`--oauth-scope ""` + notScope, scope("")},
		{`--oauth-scope "a b"` + notScope, scope("a b")},
		{`--oauth-scope "a\"b"` + notScope, scope(`a"b`)},
		{`--oauth-scope "a\\b"` + notScope, scope(`a\b`)},
		{`--oauth-audience "" is empty`,
			func(o *Options) { o.Audiences = []string{public, ""} }},
		{`--oauth-user "" is empty`,
			func(o *Options) { o.UserClaim = "" }},
		{`--public-url "x" is not a URL`,
			func(o *Options) { o.PublicURL = "x" }},
		{`--oauth-issuer "x" is not a URL`,
			func(o *Options) { o.Issuers = []string{home, "x"} }},
		{"--public-url and the flags of OAuth need",
			func(o *Options) { o.Issuers = nil }},
		{"--oauth-issuer needs --public-url",
			func(o *Options) { o.PublicURL = "" }},
		{"<nil>", func(o *Options) { o.PublicURL = home + "/" }},
		{"<nil>", func(o *Options) { o.PublicURL = home + "/a/b/" }},
		{`--public-url "https://id.example.com/a//b" has`,
			func(o *Options) { o.PublicURL = home + "/a//b" }},
		{`--public-url "https://id.example.com/a/../b" has`,
			func(o *Options) { o.PublicURL = home + "/a/../b" }},
		{`--public-url "https://id.example.com/a//" has`,
			func(o *Options) { o.PublicURL = home + "/a//" }},
	} {
		t.Run(tt.want, func(t *testing.T) {
			_, err := New(valid(tt.change))
			if got := fmt.Sprint(err); !strings.HasPrefix(got, tt.want) {
				t.Errorf("error %s, want %s", got, tt.want)
			}
		})
	}
}

// The rest of the challenge is tested with the server.
func TestChallenge(t *testing.T) {
	const resource = `/.well-known/oauth-protected-resource`
	for u, want := range map[string]string{
		public + "/":              "https://mcp.example.com" + resource + "/mcp",
		"https://mcp.example.com": "https://mcp.example.com" + resource,
		"http://[::1]:8080/a%20b": "http://[::1]:8080" + resource + "/a%20b",
	} {
		t.Run(u, func(t *testing.T) {
			r := must(New(valid(func(o *Options) { o.PublicURL = u })))
			want := fmt.Sprintf(`Bearer resource_metadata="%s"`, want)
			if got := r.Challenge(nil); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}
