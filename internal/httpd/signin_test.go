package httpd

import (
	"crypto/ed25519"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/uchimanajet7/openai-responses-mcp/internal/oauth"
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
	document := any(map[string]string{"issuer": issuer, "jwks_uri": issuer + "/keys"})
	if r.URL.Path == "/keys" {
		document = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public()}}}
	}
	err := json.NewEncoder(w).Encode(document)
	return w.Result(), err
}

// sign returns a token of alice with changed claims. nil removes one. kid is the id of the key.
func sign(t *testing.T, issuer string, changes map[string]any) string {
	t.Helper()
	claims := map[string]any{
		"iss":   issuer,
		"sub":   "alice",
		"aud":   "https://mcp.example.com/team/mcp",
		"exp":   time.Now().Add(time.Hour).Unix(),
		"scope": "mcp",
	}
	maps.Copy(claims, changes)

	id, _ := changes["kid"].(string)
	private := jose.JSONWebKey{Key: key, KeyID: id}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: private}, nil)
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
	o.Access.SignIn(r)
	o.Background = append(o.Background, r.Run)
}

// as returns a request with another method.
func as(method, request string) string { return strings.Replace(request, "POST", method, 1) }

func TestSignIn(t *testing.T) {
	const (
		invalid   = challenge + `, error="invalid_token", error_description=`
		forbidden = challenge + `, error="insufficient_scope", error_description="the token lacks a scope"`
		twoTokens = invalid + `"there is more than one Authorization header"`
		unknown   = invalid + `"the key of the token is unknown"`
		opaque    = invalid + `"the token is not a JWT in compact form; opaque tokens are not supported"`
	)
	none := map[string]any{}
	inQuery := strings.Replace(by("", message), "/mcp", "/mcp?access_token=TOKEN", 1)
	expired := map[string]any{"exp": 1, "scope": ""}
	otherKey := map[string]any{"kid": "other"}

	for _, tt := range []struct {
		name    string
		request string
		claims  map[string]any // of TOKEN
		want    int
		header  string // WWW-Authenticate
	}{
		{"access token", by("TOKEN", message), none, 200, ""},
		{"token that was handed out", by(bob, message), none, 200, ""},
		{"public host", to("mcp.example.com", by("TOKEN", message)), none, 200, ""},
		{"another host", to("evil.example", by("TOKEN", message)), none, 403, ""},
		{"page of another origin", by("TOKEN", from("https://evil.example")), none, 403, ""},
		{"no token", by("", message), none, 401, challenge},
		{"another scheme", strings.Replace(message, "Bearer", "Basic", 1), none, 401, challenge},
		{"no token, GET", as("GET", by("", message)), none, 401, challenge},
		{"no token, DELETE", as("DELETE", by("", message)), none, 401, challenge},
		{"unknown key, GET", by("TOKEN", get("/mcp")), otherKey, 401, unknown}, // after a wait
		{"token in the query", inQuery, none, 401, challenge},
		{"opaque token", by("opaque", message), none, 401, opaque},
		{"expired", by("TOKEN", message), expired, 401, invalid + `"the token has expired"`},
		{"two headers", by("TOKEN\r\nAuthorization: Bearer TOKEN", message), none, 401, twoTokens},
		{"no scope", by("TOKEN", message), map[string]any{"scope": "openid"}, 403, forbidden},
		{"metrics", by("TOKEN", scrape), none, 403, ""},
		{"metrics, token that was handed out", scrape, none, 200, ""},
		{"metrics, no token", by("", scrape), none, 401, challenge},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			s := serve(t, slow, signIn)
			synctest.Wait()
			token := sign(t, home, tt.claims)

			res, _ := receive(t, s.send(strings.ReplaceAll(tt.request, "TOKEN", token)))
			if res.StatusCode != tt.want {
				t.Errorf("status %d, want %d", res.StatusCode, tt.want)
			}
			if got := res.Header.Get("WWW-Authenticate"); got != tt.header {
				t.Errorf("WWW-Authenticate: %q, want %q", got, tt.header)
			}
		})
	}
}

// The log says why a token is refused: clients do not show the challenge.
func TestRefusedTokenIsLogged(t *testing.T) {
	for _, tt := range []struct {
		claims map[string]any
		want   string
	}{
		{map[string]any{"exp": 1}, `status=401 problem="the token has expired" remote=`},
		{map[string]any{"scope": ""}, `status=403 problem="the token lacks a scope" remote=`},
	} {
		inBubble(t, tt.want, func(t *testing.T) {
			s := serve(t, slow, signIn)
			synctest.Wait()

			receive(t, s.send(by(sign(t, home, tt.claims), message)))
			s.end()
			s.logged(tt.want, 1)
		})
	}
}

// Until the keys of each issuer were read the server is not ready, and their tokens get 503.
func TestIssuerDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, slow, signIn, func(o *Options) { o.Background = nil })

		body := s.request(get("/readyz"), http.StatusServiceUnavailable)
		if want := "the keys of " + home + " have not been read\n"; body != want {
			t.Errorf("/readyz: %q, want %q", body, want)
		}

		res, _ := receive(t, s.send(by(sign(t, other, nil), message)))
		if res.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("status %d, want 503", res.StatusCode)
		}
		if got := res.Header.Get("Retry-After"); got != "5" {
			t.Errorf("Retry-After: %q, want 5", got)
		}
		if got := res.Header.Get("WWW-Authenticate"); got != "" {
			t.Errorf("WWW-Authenticate: %q, want none", got)
		}
		s.request(message, http.StatusOK)
	})
}

// One subject of two issuers, and the holder of a token of that name, are three people, whose names
// may be the same.
func TestPeople(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{Log: slog.New(slog.DiscardHandler)}
		withTokens(newTokens(t))(&o)
		signIn(&o)
		for _, run := range o.Background {
			go run(t.Context())
		}
		synctest.Wait()

		for _, tokens := range []func(*Options){standard, oneName} {
			o := Options{MaxCalls: 16, Log: o.Log}
			tokens(&o)
			signIn(&o)
			if n := o.CallsPerUser(); n != 4 {
				t.Errorf("%d calls for each person who signs in, want 4", n)
			}
		}

		ids := map[string]bool{}
		for _, token := range []string{secret, sign(t, home, nil), sign(t, other, nil)} {
			r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
			r.Header.Set("Authorization", "Bearer "+token)
			person, err := o.Access.authenticate(r)
			if err != nil {
				t.Fatal(err)
			}
			ids[person.ID] = true
			if person.Name != "alice" {
				t.Errorf("name %q, want alice", person.Name)
			}
		}
		if len(ids) != 3 {
			t.Errorf("%d people, want 3: %v", len(ids), ids)
		}
	})
}

// A claim with the name breaks no line of the metrics.
func TestNameInMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, after(time.Second), signIn)
		synctest.Wait()

		token := sign(t, home, map[string]any{"email": "\"🦊\",le=\"5\"} \\b\r\nc 1"})
		s.request(by(token, post(tool, "")), http.StatusOK)
		s.metrics(`calls_total{tool="answer",client="\"🦊\",le=\"5\"} \\b__c 1",outcome="ok"} 1`)
	})
}

// The metadata of the resource needs no token, and is for pages of any origin.
func TestMetadata(t *testing.T) {
	const document = `{"resource":"https://mcp.example.com/team/mcp",` +
		`"authorization_servers":["https://id.example.com","https://other.example.com"],` +
		`"scopes_supported":["mcp"],"bearer_methods_supported":["header"],` +
		`"resource_name":"openai-responses-mcp"}`

	for _, tt := range []struct {
		name, path string
		access     func(*Options)
		want       int
	}{
		{"root", "", signIn, 200},
		{"slash", "/", signIn, 200},
		{"public path", "/team/mcp", signIn, 200},
		{"path", "/mcp", signIn, 200},
		{"another path", "/x", signIn, 404},
		{"without an issuer", "", remote, 404},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			s := serve(t, slow, tt.access)
			request := by("", get("/.well-known/oauth-protected-resource"+tt.path))
			res, body := receive(t, s.send(request))
			if res.StatusCode != tt.want {
				t.Errorf("status %d, want %d", res.StatusCode, tt.want)
			}
			if tt.want != http.StatusOK {
				return
			}
			if strings.TrimSpace(body) != document {
				t.Errorf("got  %s\nwant %s", body, document)
			}
			if got := res.Header.Get("Access-Control-Allow-Origin"); got != "*" {
				t.Errorf("Access-Control-Allow-Origin: %q, want *", got)
			}
		})
	}
}
