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

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// newKeys returns a network where home has all keys.
func newKeys() *web {
	return newWeb(keyRSA, keyP256, keyP384, keyP521, keyEd, smallRSA, onlyPS384)
}

// onlyPS384 is keyRSA with an algorithm, and another id.
var onlyPS384 = signingKey{
	jose.JSONWebKey{KeyID: "PS384", Algorithm: "PS384", Key: keyRSA.Key},
	jose.PS384,
}

func TestAlgorithms(t *testing.T) {
	anonymous := keyP256
	anonymous.KeyID = ""

	for _, tt := range []struct {
		key        signingKey
		algorithms string
	}{
		{keyRSA, "RS256 RS384 RS512 PS256 PS384 PS512"},
		{onlyPS384, "PS384"},
		{keyP256, "ES256"},
		{anonymous, "ES256"},
		{keyP384, "ES384"},
		{keyP521, "ES512"},
		{keyEd, "EdDSA"},
	} {
		for name := range strings.FieldsSeq(tt.algorithms) {
			inBubble(t, name+" "+tt.key.KeyID, func(t *testing.T) {
				tt.key.signs = jose.SignatureAlgorithm(name)

				start(t, newKeys(), "{}").check(200, tt.key)
			})
		}
	}
}

// verify checks the error for a token.
func verify(t *testing.T, token, want string) {
	t.Helper()
	_, err := start(t, newKeys(), "{}").Verify(t.Context(), token)

	compare.Equal(t, "error", fmt.Sprint(err), want)
}

func TestClaims(t *testing.T) {
	const (
		accepted  = "<nil>"
		expired   = "the token has expired"
		audience  = "the token is for another audience"
		issuer    = "the token is from another issuer"
		notAccess = "the token is not an access token"
		malformed = "the claims of the token are malformed"

		unsupported = "the token has critical headers, or zip"
	)

	for claims, want := range map[string]string{
		`{}`:                          accepted,
		`{"header":{"typ":"JWT"}}`:    accepted,
		`{"header":{"typ":"AT+JWT"}}`: accepted,
		`{"header":{"typ":"application/at+jwt"}}`:         accepted,
		`{"header":{"typ":"logout+jwt"}}`:                 notAccess,
		`{"header":{"typ":1}}`:                            notAccess,
		`{"header":{"crit":["b64"],"b64":true}}`:          unsupported,
		`{"header":{"zip":"DEF"}}`:                        unsupported,
		`{"sub":"alice\ud800"}`:                           "the subject of the token is not text",
		`{"aud":["other","https://mcp.example.com/mcp"]}`: accepted,
		`{"aud":"api://6f8c"}`:                            accepted,
		`{"aud":"https://mcp.example.com"}`:               audience,
		`{"aud":null}`:                                    audience,
		`{"exp":-30}`:                                     expired,
		`{"exp":-29}`:                                     accepted,
		`{"exp":null}`:                                    "the token does not expire",
		`{"exp":"soon"}`:                                  malformed,
		`{"nbf":31}`:                                      "the token is not valid yet",
		`{"nbf":30}`:                                      accepted,
		`{"sub":""}`:                                      "the token has no subject",
		`{"iss":"https://evil.example.com"}`:              issuer,
		`{"iss":null}`:                                    issuer,
		`{"iss":"https://id.example.com/"}`:               issuer,
		`{"typ":"ID"}`:                                    notAccess,
		`{"nonce":"n"}`:                                   notAccess,
		`{"at_hash":"h"}`:                                 notAccess,
		`{"c_hash":"h"}`:                                  notAccess,
		`{"events":{}}`:                                   notAccess,
		`{"nonce":"n","typ":"Bearer"}`:                    accepted,
		`{"nonce":"n","header":{"typ":"at+jwt"}}`:         accepted,
	} {
		inBubble(t, claims, func(t *testing.T) { verify(t, keyP256.sign(claims), want) })
	}
}

func TestForgedTokens(t *testing.T) {
	const (
		malformed = "the token is malformed, or the algorithm of its signature is not accepted"
		signature = "the signature of the token is wrong"
		unknown   = "the key of the token is unknown"
	)

	encode := base64.RawURLEncoding.EncodeToString

	parts := strings.Split(keyRSA.sign(), ".")
	claims := "." + parts[1] + "."
	forged := parts[0] + "." + encode([]byte(`{"iss":"https://id.example.com","sub":"bob"}`))
	const serialization = `{"protected":%q,"payload":%q,"signature":%q,"x":".."}`

	der := must(x509.MarshalPKIXPublicKey(keyRSA.Public().Key))
	mac := hmac.New(sha256.New, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	shared := encode([]byte(`{"alg":"HS256","kid":"rsa"}`)) + "." + parts[1]
	mac.Write([]byte(shared))

	otherAlgorithm := onlyPS384
	otherAlgorithm.signs = jose.RS256

	for _, tt := range []struct{ name, token, want string }{
		{"payload", forged + "." + parts[2], signature},
		{"RSA of 1024 bits", smallRSA.sign(), unknown},
		{"key with another algorithm", otherAlgorithm.sign(), signature},
		{"algorithm none", encode([]byte(`{"alg":"none"}`)) + claims, malformed},
		{"HMAC with the public key", shared + "." + encode(mac.Sum(nil)), malformed},
		{
			"JSON serialization",
			fmt.Sprintf(serialization, parts[0], parts[1], parts[2]),
			malformed,
		},
	} {
		inBubble(t, tt.name, func(t *testing.T) { verify(t, tt.token, tt.want) })
	}
}

func TestScopes(t *testing.T) {
	for _, tt := range []struct {
		required string
		claims   string
		want     int
	}{
		{`[]`, `{}`, 200},
		{`[]`, `{"scope":null,"scp":[1]}`, 200},
		{`["mcp"]`, `{"scope":"openid mcp"}`, 200},
		{`["mcp"]`, `{"scp":"mcp openid"}`, 200},
		{`["mcp"]`, `{"scp":["openid","mcp"]}`, 200},
		{`["mcp","ask"]`, `{"scope":"mcp","scp":"ask"}`, 200},
		{`["api://6f8c/mcp"]`, `{"scp":"mcp"}`, 200},
		{`["api://other/mcp"]`, `{"scp":"mcp"}`, 403},
		{`["api://6f8cmcp"]`, `{"scp":"mcp"}`, 403},
		{`["mcp"]`, `{}`, 403},
		{`["mcp","ask"]`, `{"scope":"mcp"}`, 403},
		{`["mcp"]`, `{"exp":-60}`, 401},
	} {
		inBubble(t, tt.required+" "+tt.claims, func(t *testing.T) {
			r := start(t, newKeys(), fmt.Sprintf(`{"Scopes":%s}`, tt.required))

			r.check(tt.want, keyP256, tt.claims)
		})
	}
}

func TestNames(t *testing.T) {
	for claim, want := range map[string]string{
		"alice@example.com":       "alice@example.com",
		"":                        "alice",
		"a\r\nb\u2028c":           "a__b_c",
		"\x1b[31m\u202e":          "_[31m_",
		"🦊👩‍💻":                    "🦊👩_💻",
		strings.Repeat("語", 3000): strings.Repeat("語", 63) + "…",
	} {
		inBubble(t, want, func(t *testing.T) {
			claims := must(json.Marshal(map[string]string{"email": claim}))
			token := keyP256.sign(string(claims))

			got, _ := start(t, newKeys(), "{}").Verify(t.Context(), token)
			compare.Equal(t, "person", got, llm.Person{ID: home + " alice", Name: want})
		})
	}
}

// The metadata of a public URL has an address that follows from it. The rest of the challenge is tested
// with the server.
func TestURLs(t *testing.T) {
	const (
		path    = "/.well-known/oauth-protected-resource"
		refused = ""
	)

	for u, want := range map[string]string{
		"https://mcp.example.com":          "https://mcp.example.com" + path,
		"https://mcp.example.com:8443/a/b": "https://mcp.example.com:8443" + path + "/a/b",
		"https://mcp.example.com/a/":       "https://mcp.example.com" + path + "/a",
		"http://127.0.0.1:8080/mcp":        "http://127.0.0.1:8080" + path + "/mcp",
		"http://[::1]:8080/a%20b":          "http://[::1]:8080" + path + "/a%20b",
		"http://localhost:3000":            "http://localhost:3000" + path,
		"http://mcp.example.com/mcp":       refused,
		"http://localhost.example.com":     refused,
		"ftp://localhost":                  refused,
		"https://:8080":                    refused,
		"https://example.com:x":            refused,
		"https://mcp.example.com\n":        refused,
		"https://日本語.jp":                   refused,
		"https://id.example.com?":          refused,
		"https://id.example.com#":          refused,
		"https://me@id.example.com":        refused,
		`https://id.example.com/"`:         refused,
		"https://id.example.com/'":         refused,
		"https://id.example.com/a//b":      refused,
		"https://id.example.com/a/../b":    refused,
	} {
		t.Run(u, func(t *testing.T) {
			o := valid("{}")
			o.PublicURL = u

			got := ""
			r, err := New(o)
			if err == nil {
				got = r.Challenge(nil)
				want = fmt.Sprintf(`Bearer resource_metadata="%s"`, want)
			}
			compare.Equal(t, "challenge", got, want)
		})
	}
}

// A change of valid options is refused.
func TestOptions(t *testing.T) {
	const notScope = " is not a scope: no blanks, no quotes"

	for change, want := range map[string]string{
		`{"Scopes":["mcp","a\"b"]}`:                   `--oauth-scope "a\"b"` + notScope,
		`{"Scopes":["a\\b"]}`:                         `--oauth-scope "a\\b"` + notScope,
		`{"Scopes":["a b"]}`:                          `--oauth-scope "a b"` + notScope,
		`{"Scopes":[""]}`:                             `--oauth-scope ""` + notScope,
		`{"Audiences":["mcp",""]}`:                    `--oauth-audience "" is empty`,
		`{"UserClaim":""}`:                            `--oauth-user "" is empty`,
		`{"Issuers":["https://a","x"]}`:               `--oauth-issuer "x" is not a URL`,
		`{"Issuers":["http://[::1]","http://[::1]"]}`: `--oauth-issuer "http://[::1]" is given twice`,
		`{"PublicURL":"x"}`:                           `--public-url "x" is not a URL`,
	} {
		t.Run(change, func(t *testing.T) {
			_, err := New(valid(change))

			if got := fmt.Sprint(err); !strings.HasPrefix(got, want) {
				t.Errorf("error %s, want %s", got, want)
			}
		})
	}
}
