package httpd

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// to changes the host of a request.
func to(host, request string) string {
	return strings.Replace(request, "localhost", host, 1)
}

// by changes the bearer token of a request. "" leaves it without one.
func by(token, request string) string {
	return strings.Replace(request, secret, token, 1)
}

// from is a message of a page of an origin.
func from(origin string) string { return post(ping, "Origin: "+origin+"\r\n") }

// Kinds of access.
func loopback(o *Options)  { o.Access.Authenticators = nil }
func remote(o *Options)    { o.Access.Loopback = false }
func listed(o *Options)    { o.Access.Hosts = []string{"mcp.example.com"} }
func anonymous(o *Options) { o.Access = Access{} }

// Requests of alice.
var (
	message = post(ping, "")
	scrape  = get("/metrics")
)

var accessTests = []struct {
	name    string
	access  func(*Options)
	request string
	want    int
}{
	{
		"token", remote,
		to("10.1.2.3:8080", by(bob, message)), 200,
	},
	{
		"no token", remote,
		by("", message), 401,
	},
	{
		"wrong token", remote,
		by("0123456789abcdeX", message), 401,
	},
	{
		"name as token", remote,
		by("alice", message), 401,
	},
	{
		"foreign origin", remote,
		to("mcp.example.com", from("https://evil.example")), 403,
	},
	{
		"own origin", remote,
		to("mcp.example.com", from("https://mcp.example.com")), 200,
	},
	{
		"listed host", listed,
		to("MCP.example.com:443", message), 200,
	},
	{
		"host that is not listed", listed,
		to("evil.example", message), 403,
	},
	{
		"metrics, host that is not listed", listed,
		to("evil.example", scrape), 403,
	},
	{
		"metrics", listed,
		to("mcp.example.com", scrape), 200,
	},
	{
		"metrics, no token", listed,
		to("mcp.example.com", by("", scrape)), 401,
	},
	{
		"anonymous, address", anonymous,
		to("10.1.2.3:8080", by("", message)), 200,
	},
	{
		"anonymous, IPv6 address", anonymous,
		to("[fd00::1]:8080", by("", message)), 200,
	},
	{
		"anonymous, local name", anonymous,
		to("mcp:8080", by("", scrape)), 200,
	},
	{
		"anonymous, foreign host", anonymous,
		to("evil.example", by("", message)), 403,
	},
	{
		"loopback", loopback,
		to("localhost:8080", by("", message)), 200,
	},
	{
		"loopback, foreign host", loopback,
		to("evil.example", by("", message)), 403,
	},
	{
		"loopback, metrics, foreign host", loopback,
		to("evil.example", by("", scrape)), 403,
	},
	{
		"unknown path, foreign host", loopback,
		to("evil.example", get("/x")), 403,
	},
	{
		"health of any host", listed,
		to("evil.example", by("", get("/healthz"))), 200,
	},
	{
		"readiness of any host", listed,
		to("evil.example", by("", get("/readyz"))), 200,
	},
}

func TestAccess(t *testing.T) {
	for _, tt := range accessTests {
		inBubble(t, tt.name, func(t *testing.T) {
			res, _ := receive(t, serve(t, slow, tt.access).send(tt.request))
			if res.StatusCode != tt.want {
				t.Errorf("status %d, want %d", res.StatusCode, tt.want)
			}

			challenge := ""
			if tt.want == http.StatusUnauthorized {
				challenge = "Bearer"
			}
			if got := res.Header.Get("WWW-Authenticate"); got != challenge {
				t.Errorf("WWW-Authenticate: %q, want %q", got, challenge)
			}
		})
	}
}

// Each way to authenticate protects what the others do.
func TestEachAuthenticator(t *testing.T) {
	tokens := func(*Options) {}
	signInOnly := func(o *Options) {
		o.Access.Authenticators = nil
		signIn(o)
	}
	for name, way := range map[string]func(*Options){
		"tokens":  tokens,
		"sign-in": signInOnly,
		"both":    signIn,
	} {
		for _, tt := range []struct {
			name    string
			request string
			want    int
		}{
			{"no token", by("", message), 401},
			{"wrong token", by("0123456789abcdeX", message), 401},
			{"metrics, no token", by("", scrape), 401},
			{"metrics, wrong token", by("0123456789abcdeX", scrape), 401},
			{"any host, before the token", to("mcp.example.com", by("", message)), 401},
		} {
			inBubble(t, name+"/"+tt.name, func(t *testing.T) {
				res, _ := receive(t, serve(t, slow, remote, way).send(tt.request))
				if res.StatusCode != tt.want {
					t.Errorf("status %d, want %d", res.StatusCode, tt.want)
				}
			})
		}
	}
}

// /metrics on a listener of its own needs no token, and is nowhere else.
func TestMetricsListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := &service{pipes: newPipes(), t: t}
		s := serve(t, slow, func(o *Options) { o.MetricsListener = own })

		own.request(by("", get("/metrics")), http.StatusOK)
		own.request(to("evil.example", get("/metrics")), http.StatusForbidden)
		own.request(get("/mcp"), http.StatusNotFound)
		s.request(get("/metrics"), http.StatusNotFound)
	})
}

// New tokens replace the old ones. Broken ones change nothing.
func TestTokensChange(t *testing.T) {
	var learned []string
	list := "alice:" + secret
	tokens, err := NewTokens("test", []byte(list), func(s string) { learned = append(learned, s) })
	if err != nil {
		t.Fatal(err)
	}

	const alice = "token:alice"
	for _, step := range []struct {
		name, list      string
		problem         string
		ofSecret, ofBob string
		names           int
	}{
		{"second token", "alice:" + secret + "\nalice:" + bob + "\n", "", alice, alice, 1},
		{"empty", "", "test has no tokens", alice, alice, 1},
		{
			"swapped", bob + ":alice",
			"the token of entry 1 of test has fewer than 16 characters", alice, alice, 1,
		},
		{"other name", "bob:" + bob, "", "", "token:bob", 1},
		{"byte order mark", "\ufeffalice:" + secret + ",bob:" + bob, "", alice, "token:bob", 2},
	} {
		t.Run(step.name, func(t *testing.T) {
			problem := ""
			if err := tokens.Set([]byte(step.list)); err != nil {
				problem = err.Error()
			}
			if problem != step.problem {
				t.Errorf("problem %q, want %q", problem, step.problem)
			}
			for token, want := range map[string]string{secret: step.ofSecret, bob: step.ofBob} {
				person, _ := tokens.Authenticate(t.Context(), token)
				if person.ID != want {
					t.Errorf("%s belongs to %q, want %q", token, person.ID, want)
				}
			}
			if names := tokens.Names(); names != step.names {
				t.Errorf("%d names, want %d", names, step.names)
			}
		})
	}
	if want := []string{secret, secret, bob, bob, secret, bob}; !slices.Equal(learned, want) {
		t.Errorf("learned %q, want %q", learned, want)
	}
}

// A name is what logs and metrics can show.
func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"alice@example.com": true,
		"山田":                true,
		"a\u00a0b":          false,
		"a\u2028b":          false,
		"\ufeffa":           false,
		"a\u200bb":          false,
		`a"b`:               false,
		"a'b":               false,
		`a\b`:               false,
		"a\xffb":            false,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewTokens("test", []byte("x:"+secret+" "+name+":"+bob), func(string) {})
			if ok && err != nil {
				t.Error(err)
			}
			const refused = "the name of entry 2 of test has a quote"
			if !ok && (err == nil || !strings.HasPrefix(err.Error(), refused)) {
				t.Errorf("error %v, want %s", err, refused)
			}
		})
	}
}

// Rejected requests are counted, and logged at most once a second for each status. The GET with
// which an SDK begins is not worth a line.
func TestRejections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, slow)
		for range 2 {
			for range 3 {
				s.request(by("", get("/metrics")), http.StatusUnauthorized)
				s.request(get("/x"), http.StatusNotFound)
				s.request(get("/mcp"), http.StatusMethodNotAllowed)
			}
			time.Sleep(time.Second)
		}

		s.metrics(
			`rejected_requests_total{status="401"} 6`,
			`rejected_requests_total{status="404"} 6`,
			`rejected_requests_total{status="405"} 6`,
		)
		s.end()
		s.logged("msg=rejected status=401 remote=pipe\n", 2)
		s.logged("msg=rejected status=404 remote=pipe\n", 2)
		s.logged("msg=rejected", 4)
	})
}
