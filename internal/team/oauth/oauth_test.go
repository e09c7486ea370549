package oauth

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
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
			compare.Bubble(t, name+" "+tt.key.KeyID, func(t *testing.T) {
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
	for _, row := range compare.Table(t, "claims", 2) {
		compare.Bubble(t, row[0], func(t *testing.T) { verify(t, keyP256.sign(row[0]), row[1]) })
	}
}

// Without a list the public URL is the audience, and without a path it may end in a slash. A client
// stands for an audience only in a list.
func TestAudiences(t *testing.T) {
	for _, row := range compare.Table(t, "audiences", 4) {
		compare.Bubble(t, row[0]+" "+row[2], func(t *testing.T) {
			r := start(t, newKeys(), fmt.Sprintf(`{"PublicURL":%q,"Audiences":%s}`, row[0], row[1]))
			_, err := r.Verify(t.Context(), keyP256.sign(row[2]))

			compare.Equal(t, "error", fmt.Sprint(err), row[3])
		})
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

	twice := encode([]byte(`{"alg":"RS256","crit":["b64"],"crit":null}`))

	otherAlgorithm := onlyPS384
	otherAlgorithm.signs = jose.RS256

	for _, tt := range []struct{ name, token, want string }{
		{"payload", forged + "." + parts[2], signature},
		{"RSA of 1024 bits", smallRSA.sign(), unknown},
		{"key with another algorithm", otherAlgorithm.sign(), signature},
		{"algorithm none", encode([]byte(`{"alg":"none"}`)) + claims, malformed},
		{"critical headers twice", twice + claims + parts[2], malformed},
		{"HMAC with the public key", shared + "." + encode(mac.Sum(nil)), malformed},
		{
			"JSON serialization",
			fmt.Sprintf(serialization, parts[0], parts[1], parts[2]),
			malformed,
		},
	} {
		compare.Bubble(t, tt.name, func(t *testing.T) { verify(t, tt.token, tt.want) })
	}
}

func TestScopes(t *testing.T) {
	for _, row := range compare.Table(t, "scopes", 3) {
		compare.Bubble(t, row[0]+" "+row[1], func(t *testing.T) {
			r := start(t, newKeys(), fmt.Sprintf(`{"Scopes":%s}`, row[0]))
			want, _ := strconv.Atoi(row[2])

			r.check(want, keyP256, row[1])
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
		"Jose\u0301":              "José",
		"bob\u3164\u034f\u2800":   "bob___",
		strings.Repeat("語", 3000): strings.Repeat("語", 63) + "…",
	} {
		compare.Bubble(t, want, func(t *testing.T) {
			claims := must(json.Marshal(map[string]string{"email": claim}))
			token := keyP256.sign(string(claims))

			got, _ := start(t, newKeys(), "{}").Verify(t.Context(), token)
			compare.Equal(t, "person", got, call.Person{ID: home + " alice", Name: want})
		})
	}
}

// The metadata of a public URL has an address that follows from it. The rest of the challenge is
// tested with the server.
func TestURLs(t *testing.T) {
	compare.Each(t, "urls", 2, func(t *testing.T, row []string) {
		u, want := row[0], row[1]
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

// A change of valid options is refused.
func TestOptions(t *testing.T) {
	compare.Each(t, "options", 2, func(t *testing.T, row []string) {
		change, want := row[0], row[1]
		_, err := New(valid(change))

		if got := fmt.Sprint(err); !strings.HasPrefix(got, want) {
			t.Errorf("error %s, want %s", got, want)
		}
	})
}
