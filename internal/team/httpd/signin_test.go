package httpd

import (
	"crypto/ed25519"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/uchimanajet7/openai-responses-mcp/internal/team/oauth"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// Two issuers, with one key, and the challenge to sign in at one of them.
const (
	home      = "https://id.example.com"
	other     = "https://other.example.com"
	challenge = `Bearer resource_metadata="https://mcp.example.com/.well-known/` +
		`oauth-protected-resource/team/mcp", scope="mcp"`
)

// key is the key of each issuer.
var key = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

// issuers serves the metadata and the key of any issuer, as the transport of an HTTP client.
type issuers struct{}

func (issuers) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	issuer := "https://" + r.URL.Host
	err := json.NewEncoder(w).Encode(map[string]any{ // metadata, and keys
		"issuer":   issuer,
		"jwks_uri": issuer,
		"keys":     []jose.JSONWebKey{{Key: key.Public()}},
	})
	return w.Result(), err
}

// sign returns a token of alice with claims that JSON changes.
func sign(t *testing.T, issuer, changes string) string {
	t.Helper()
	claims := map[string]any{
		"iss":   issuer,
		"sub":   "alice",
		"aud":   "https://mcp.example.com/team/mcp",
		"exp":   time.Now().Add(time.Hour).Unix(),
		"scope": "mcp",
	}
	if err := json.Unmarshal([]byte(changes), &claims); err != nil {
		t.Fatal(err)
	}

	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// signIn lets people sign in at both issuers.
func signIn(o *Options) {
	r, err := oauth.New(oauth.Options{
		PublicURL: "https://mcp.example.com/team/mcp",
		Issuers:   []string{home, other},
		Scopes:    []string{"mcp"},
		UserClaim: "email",
		Client:    &http.Client{Transport: issuers{}},
		Log:       o.Log,
	})
	if err != nil {
		panic(err)
	}
	o.Access.Resource = r
	o.Loops = append(o.Loops, r.FollowKeys)
}

func TestSignIn(t *testing.T) {
	for _, tt := range compare.Rows[struct {
		Name, Line, Host, Auth, Claims string
		Want                           int
		Header                         string
	}](t, "sign-in") {
		inBubble(t, tt.Name, func(t *testing.T) {
			s := serve(t, slow, signIn)
			synctest.Wait()

			values := strings.NewReplacer("TOKEN", sign(t, home, tt.Claims), "ALICE", secret)
			request := requestOf(tt.Line, tt.Host, "")
			request = strings.Replace(request, "Bearer "+secret, tt.Auth, 1)
			res, _ := s.request(values.Replace(request), tt.Want)
			want := strings.Replace(tt.Header, "CHALLENGE", challenge, 1)
			compare.Equal(t, "WWW-Authenticate", res.Header.Get("WWW-Authenticate"), want)

			_, problem, _ := strings.Cut(tt.Header, "error_description=")
			s.end() // clients do not show the challenge
			compare.Contains(t, "the log", s.log.String(), problem)
		})
	}
}

// Until the keys of each issuer were read the server is not ready, and their tokens get 503.
func TestIssuerDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, slow, signIn, func(o *Options) { o.Loops = nil })

		s.request(get("/readyz"), 503, "the keys of "+home+" have not been read\n")
		res, _ := s.request(by(sign(t, other, "{}"), message), 503)
		compare.Equal(t, "Retry-After", res.Header.Get("Retry-After"), "5")
		compare.Equal(t, "WWW-Authenticate", res.Header.Get("WWW-Authenticate"), "")

		const unread = `status="503",reason="the keys of the issuer cannot be read"`
		s.metrics("ready 0", "rejected_requests_total{"+unread+"} 1")
		s.end()
		s.logged("msg=rejected status=503", 1)
	})
}

// A valid token is no use to people on the list, by name or subject. Their refusals have their
// name if they have called, in the log in any case, and so has that of a token without a scope.
func TestDenied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asks := post(tool, "")
		var list *Denied
		s := serve(t, slow, signIn, func(o *Options) {
			list = NewDenied(home)
			o.Access.Denied = list
		})
		set := func(data string) {
			err := list.Set(data)
			if err != nil {
				t.Error(err)
			}
		}
		set("\n")
		s.request(by(bob, asks), 200)
		set("\ufeffbob\r\n carol \n")

		const denied = "the operator has denied you access\n"
		s.request(by(bob, message), 403, denied)
		s.request(by(sign(t, home, `{"sub":"carol","email":"c@x.jp"}`), message), 403, denied)
		s.request(by(sign(t, home, `{"email":"dave","scope":""}`), message), 403)
		s.request(by(sign(t, home, "{}"), asks), 200)
		s.metrics(
			`rejected_requests_total{status="403",reason="denied",client="bob"} 1`,
			`rejected_requests_total{status="403",reason="denied",client="other"} 1`,
			`rejected_requests_total{status="403",reason="the token lacks a scope",client="other"} 1`,
			`rejected_requests_total{status="429",reason="person",client="alice"} 0`,
			`searches_total{tool="answer",client="alice",model="gpt-5.2"} 1`,
		)

		set("\n")
		s.request(by(bob, message), 200)
		s.end()
		s.logged("msg=rejected status=403 reason=denied client=bob remote=:", 1)
		s.logged("msg=rejected status=403 reason=denied client=c@x.jp", 1)
	})
}

// A claim with the name breaks no line of the metrics.
func TestNameInMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, ask{"42", time.Second}, signIn)
		synctest.Wait()

		token := sign(t, home, `{"email":"\"🦊\",le=\"5\"} \\b\r\nc 1"}`)
		s.request(by(token, post(tool, "")), 200)
		s.metrics(`calls_total{tool="answer",client="\"🦊\",le=\"5\"} \\b__c 1",outcome="ok"} 1`)
	})
}

// The metadata of the resource needs no token, and is for pages of any origin.
func TestMetadata(t *testing.T) {
	const document = `{"resource":"https://mcp.example.com/team/mcp",` +
		`"authorization_servers":["https://id.example.com","https://other.example.com"],` +
		`"scopes_supported":["mcp"],"bearer_methods_supported":["header"],` +
		`"resource_name":"openai-responses-mcp"}`

	const path = "/.well-known/oauth-protected-resource"

	for end, want := range map[string]int{
		"":          200,
		"/":         200,
		"/team/mcp": 200, // the public path
		"/mcp":      200, // --path
		"/x":        404,
	} {
		inBubble(t, "path"+end, func(t *testing.T) {
			res, body := serve(t, slow, signIn).request(by("", get(path+end)), want)
			if want != 200 {
				return
			}

			compare.Equal(t, "metadata", strings.TrimSpace(body), document)
			compare.Equal(t, "allowed origin", res.Header.Get("Access-Control-Allow-Origin"), "*")
		})
	}

	inBubble(t, "without an issuer", func(t *testing.T) {
		serve(t, slow).request(get(path), 404)
	})
}
