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

	"github.com/uchimanajet7/openai-responses-mcp/internal/oauth"
)

// Two issuers, with one key, and the challenge to sign in at one of them.
const (
	home      = "https://id.example.com"
	other     = "https://other.example.com"
	challenge = `Bearer resource_metadata="https://mcp.example.com/.well-known/` +
		`oauth-protected-resource/team/mcp", scope="mcp"`
)

// issuers serves the metadata and the key of any issuer, as the transport of an HTTP client.
type issuers struct{ key ed25519.PrivateKey }

func newIssuers() issuers {
	seed := make([]byte, ed25519.SeedSize)
	return issuers{ed25519.NewKeyFromSeed(seed)}
}

func (i issuers) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	issuer := "https://" + r.URL.Host
	document := any(map[string]string{"issuer": issuer, "jwks_uri": issuer + "/keys"})
	if r.URL.Path == "/keys" {
		key := jose.JSONWebKey{Key: i.key.Public(), KeyID: "key"}
		document = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{key}}
	}
	err := json.NewEncoder(w).Encode(document)
	return w.Result(), err
}

// sign returns a token of alice with changed claims. nil removes one.
func (i issuers) sign(t *testing.T, issuer string, changes map[string]any) string {
	t.Helper()
	claims := map[string]any{
		"iss":   issuer,
		"sub":   "alice",
		"aud":   "https://mcp.example.com/team/mcp",
		"exp":   time.Now().Add(time.Hour).Unix(),
		"scope": "mcp",
	}
	maps.Copy(claims, changes)
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}

	key := jose.JSONWebKey{Key: i.key, KeyID: "key"}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// signIn lets people sign in at both issuers, beside the tokens of alice and bob.
func (i issuers) signIn(t *testing.T, change ...func(*Options)) func(*Options) {
	return func(o *Options) {
		r, err := oauth.New(oauth.Options{
			PublicURL: "https://mcp.example.com/team/mcp",
			Issuers:   []string{home, other},
			Scopes:    []string{"mcp"},
			UserClaim: "email",
			Client:    &http.Client{Transport: i},
			Log:       o.Log,
		})
		if err != nil {
			t.Fatal(err)
		}
		o.Access.SignIn(r)
		o.Background = append(o.Background, r.Run)
		for _, change := range change {
			change(o)
		}
	}
}

// as returns a request with another method.
func as(method, request string) string { return strings.Replace(request, "POST", method, 1) }

func TestSignIn(t *testing.T) {
	const (
		invalid   = challenge + `, error="invalid_token", error_description=`
		forbidden = challenge + `, error="insufficient_scope", error_description="the token lacks a scope"`
		twoTokens = invalid + `"there is more than one Authorization header"`
		opaque    = invalid + `"the token is not a JWT in compact form; opaque tokens are not supported"`
	)
	none := map[string]any{}
	inQuery := strings.Replace(by("", message), "/mcp", "/mcp?access_token=TOKEN", 1)
	expired := map[string]any{"exp": 1, "scope": ""}

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
			idp := newIssuers()
			s := serve(t, slow, idp.signIn(t))
			synctest.Wait()
			token := idp.sign(t, home, tt.claims)

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
			idp := newIssuers()
			s := serve(t, slow, idp.signIn(t))
			synctest.Wait()

			receive(t, s.send(by(idp.sign(t, home, tt.claims), message)))
			s.end()
			s.logged(tt.want, 1)
		})
	}
}

// Until the keys of each issuer were read the server is not ready, and their tokens get 503.
func TestIssuerDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		idp := newIssuers()
		s := serve(t, slow, idp.signIn(t, func(o *Options) { o.Background = nil }))

		body := s.request(get("/readyz"), http.StatusServiceUnavailable)
		if want := "the keys of " + home + " have not been read\n"; body != want {
			t.Errorf("/readyz: %q, want %q", body, want)
		}

		res, _ := receive(t, s.send(by(idp.sign(t, other, nil), message)))
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
		idp := newIssuers()
		o := Options{Log: slog.New(slog.DiscardHandler)}
		withTokens(newTokens(t))(&o)
		idp.signIn(t)(&o)
		for _, run := range o.Background {
			go run(t.Context())
		}
		synctest.Wait()

		ids := map[string]bool{}
		for _, token := range []string{secret, idp.sign(t, home, nil), idp.sign(t, other, nil)} {
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
		idp := newIssuers()
		s := serve(t, after(time.Second), idp.signIn(t))
		synctest.Wait()

		token := idp.sign(t, home, map[string]any{"email": "\"🦊\" \\b\r\nc 1"})
		s.request(by(token, post(tool, "")), http.StatusOK)
		s.metrics(`calls_total{tool="answer",client="\"🦊\" \\b__c 1",outcome="ok"} 1`)
	})
}

// The metadata of the resource needs no token, and is for pages of any origin.
func TestMetadata(t *testing.T) {
	const document = `{"resource":"https://mcp.example.com/team/mcp",` +
		`"authorization_servers":["https://id.example.com","https://other.example.com"],` +
		`"scopes_supported":["mcp"],"bearer_methods_supported":["header"],` +
		`"resource_name":"openai-responses-mcp"}`
	idp := newIssuers()

	for _, tt := range []struct {
		name, path string
		access     func(*Options)
		want       int
	}{
		{"root", "", idp.signIn(t), 200},
		{"slash", "/", idp.signIn(t), 200},
		{"public path", "/team/mcp", idp.signIn(t), 200},
		{"path", "/mcp", idp.signIn(t), 200},
		{"another path", "/x", idp.signIn(t), 404},
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
