package httpd

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// to changes the host of a request.
func to(host, request string) string {
	return strings.Replace(request, "localhost", host, 1)
}

// by changes the bearer token of a request. "" leaves it without one.
func by(token, request string) string {
	return strings.Replace(request, secret, token, 1)
}

// requestOf is a request such as "GET /metrics", or "POST /mcp" of a ping with a header.
func requestOf(line, host, header string) string {
	method, path, _ := strings.Cut(line, " ")
	if method == "GET" {
		return to(host, get(path))
	}
	return to(host, strings.Replace(post(ping, header), "/mcp", path, 1))
}

// Kinds of access.
func loopback(o *Options) { o.Access.Tokens = nil }

func atRoot(o *Options) {
	o.Access.Tokens = nil
	o.Path = "/"
}

func signInAlone(o *Options) {
	o.Access.Tokens = nil
	signIn(o)
}

// Requests of alice.
var (
	message = post(ping, "")
	scrape  = get("/metrics")
)

func TestAccess(t *testing.T) {
	for _, tt := range compare.Rows[struct {
		Name, Set, Host, Line, Token, Header string
		Want                                 int
	}](t, "access") {
		inBubble(t, tt.Name, func(t *testing.T) {
			s := serve(t, slow, settings[tt.Set])
			s.request(by(tt.Token, requestOf(tt.Line, tt.Host, tt.Header)), tt.Want)
		})
	}
}

// Each way to authenticate alone protects all that needs a token.
func TestEachAuthenticator(t *testing.T) {
	for name, alone := range map[string]func(*Options){"tokens": standard, "sign-in": signInAlone} {
		for what, request := range map[string]string{"message": message, "metrics": scrape} {
			for _, token := range []string{"", "0123456789abcdeX"} {
				inBubble(t, name+"/"+what+token, func(t *testing.T) {
					res, _ := serve(t, slow, alone).request(by(token, request), 401)

					challenge := res.Header.Get("WWW-Authenticate")
					bare := name == "tokens"
					compare.Equal(t, "the challenge is bare", challenge == "Bearer", bare)
				})
			}
		}
	}
}

// The text and the log say what is wrong with an Authorization header, without the token.
func TestAuthorization(t *testing.T) {
	for _, row := range compare.Table(t, "authorization", 3) {
		for way, access := range map[string]func(*Options){
			"tokens":  standard,
			"sign-in": signInAlone,
		} {
			inBubble(t, row[0]+" "+way, func(t *testing.T) {
				s := serve(t, slow, access)
				synctest.Wait()
				res, body := s.request(strings.Replace(message, "Bearer "+secret, row[1], 1), 401)
				compare.Equal(t, "text", body, row[2]+"\n")
				s.end()
				s.logged(`reason="`+row[2]+`"`, 1)

				all := fmt.Sprint(body, res.Header, &s.log)
				compare.Equal(t, "the token is shown", strings.Contains(all, "x7Kq"), false)
			})
		}
	}
}

// A URL without the path of MCP gets its path. /metrics stays what it is.
func TestNotFound(t *testing.T) {
	for _, tt := range compare.Rows[struct {
		Line, Set   string
		Status      int
		Allow, Text string
	}](t, "not-found") {
		inBubble(t, tt.Line+" "+tt.Set, func(t *testing.T) {
			s := serve(t, slow, settings[tt.Set])
			res, body := s.request(requestOf(tt.Line, "localhost", ""), tt.Status)
			compare.Equal(t, "text", body, tt.Text)
			compare.Equal(t, "Allow", res.Header.Get("Allow"), tt.Allow)
		})
	}
}

// The response names the Host that is refused, and the flag that allows it.
func TestRefusedHost(t *testing.T) {
	for host, want := range map[string]string{
		"host.docker.internal:8080": "host.docker.internal",
		"[fd00::1]:8080":            "fd00::1",
		strings.Repeat("e", 200):    strings.Repeat("e", 99) + "…",
	} {
		inBubble(t, host, func(t *testing.T) {
			const text = `the Host header "%s" is not allowed; serve --allowed-host %[1]s allows it. ` +
				"Beyond loopback, other hosts then need it, too"
			serve(t, slow, loopback).request(to(host, message), 403, fmt.Sprintf(text, want))
		})
	}
}

// The line of a refused Host or Origin has both, each as one short line.
func TestForbidden(t *testing.T) {
	odd := strings.NewReplacer("HIDDEN", "\u202e", "TAB", "\t")
	for _, row := range compare.Table(t, "forbidden", 5) {
		inBubble(t, row[0], func(t *testing.T) {
			s := serve(t, slow)
			s.request(requestOf(row[1], row[2], odd.Replace(row[3])), 403)
			s.end()

			s.logged("msg=rejected status=403 reason=Forbidden host=", 1)
			s.logged(row[4]+" remote=", 1)
		})
	}
}

// public are pipes that do not listen on a loopback address.
type public struct{ *pipes }

func (public) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4zero, Port: 9090} }

// /metrics on a listener of its own needs no token, and is nowhere else.
func TestMetricsListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := &service{pipes: newPipes(), t: t}
		s := serve(t, slow, func(o *Options) {
			o.MetricsListener = public{own.pipes}
			o.Access.Hosts = []string{"mcp.example"}
		})

		own.request(by("", scrape), 200)
		own.request(to("mcp.example", scrape), 200)
		own.request(to("server-1:9090", scrape), 200)
		s.request(to("server-1:9090", message), 403)
		own.request(to("evil.example", scrape), 403)
		own.request(get("/mcp"), 404)
		s.request(scrape, 404)
	})
}

// A token that opens something else is refused with what to do, and counted and logged.
func TestOtherToken(t *testing.T) {
	for _, tt := range compare.Rows[struct{ Name, Line, Token, Client, Reason, Hint string }](
		t, "other-token",
	) {
		inBubble(t, tt.Name, func(t *testing.T) {
			s := serve(t, slow)
			_, text := s.request(by(tt.Token, requestOf(tt.Line, "localhost", "")), 403)
			compare.Equal(t, "text", text, tt.Reason+": "+tt.Hint+"\n")

			const line = "rejected_requests_total{status=\"403\",reason=%q,client=\"other\"} 1"
			s.metrics(fmt.Sprintf(line, tt.Reason))
			s.end()
			s.logged(fmt.Sprintf("msg=rejected status=403 reason=%q client=%s", tt.Reason, tt.Client), 1)
		})
	}
}

// Who reads /metrics follows the tokens of the moment, and the list of denied people.
func TestReaderChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		denied := NewDenied()
		s := serve(t, slow, tokensOf("alice:"+secret), func(o *Options) { o.Access.Denied = denied })

		for _, tt := range compare.Rows[struct {
			Name, Tokens, Denied, Token string
			Want                        int
		}](t, "readers") {
			if err := s.access.Tokens.Set(tt.Tokens); err != nil {
				t.Error(err)
			}
			if err := denied.Set(tt.Denied); err != nil {
				t.Error(err)
			}
			res, _ := s.receive(s.send(by(tt.Token, scrape)), tt.Want)
			compare.Equal(t, tt.Name, res.StatusCode, tt.Want)
		}
	})
}

// Only a server that anonymous callers may use has series of them.
func TestAnonymousSeries(t *testing.T) {
	for set, want := range map[string]bool{
		"standard":      false,
		"sign in alone": false,
		"sign in":       false,
		"loopback":      true,
	} {
		inBubble(t, set, func(t *testing.T) {
			own := &service{pipes: newPipes(), t: t}
			serve(t, slow, settings[set], func(o *Options) { o.MetricsListener = own })

			_, page := own.request(by("", scrape), 200)
			compare.Equal(t, "anonymous", strings.Contains(page, `client="anonymous"`), want)
		})
	}
}

// New tokens replace the old ones. Broken ones change nothing.
func TestTokensChange(t *testing.T) {
	learned := ""
	list := "alice:" + secret
	tokens, err := NewTokens("test", list, func(s ...string) {
		learned += strings.Join(s, " ") + " "
	})
	if err != nil {
		t.Fatal(err)
	}

	for _, row := range compare.Table(t, "tokens", 3) {
		problem := tokens.Set(row[1])
		first, _ := tokens.Authenticate(secret)
		second, _ := tokens.Authenticate(bob)

		got := fmt.Sprint(problem, " ", first.ID, " ", second.ID, " ", len(tokens.Names()))
		compare.Equal(t, row[0], got, row[2])
	}

	if !strings.HasPrefix(learned, secret+" "+secret+" "+bob) {
		t.Errorf("learned %s, want all tokens", learned)
	}
}

// A name is what logs and metrics can show.
func TestNames(t *testing.T) {
	const refused = "the name of entry 1 of test has a quote, a backslash " +
		"or a character that cannot be seen"

	for name, want := range map[string]string{
		"alice@example.com": "<nil>",
		"山田":                "<nil>",
		"a\u00a0b":          refused,
		"a\u2028b":          refused,
		"a\u3164b":          refused,
		"a\u200bb":          refused,
		`a"b`:               refused,
		"a'b":               refused,
		`a\b`:               refused,
		"a\xffb":            refused,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewTokens("test", name+":"+secret, func(...string) {})
			compare.Equal(t, "error", fmt.Sprint(err), want)
		})
	}
}

// Only a trusted proxy says where a request is from.
func TestRemote(t *testing.T) {
	o := Options{TrustedProxy: netip.MustParseAddr("::ffff:10.0.0.2")}
	for _, tt := range compare.Rows[struct{ Name, From, Forwarded, Want string }](t, "remote") {
		t.Run(tt.Name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = tt.From
			r.Header.Set("X-Forwarded-For", tt.Forwarded)
			compare.Equal(t, "address", o.clientAddress(r), tt.Want)
		})
	}
}

// Rejected requests are counted, and logged at most once a second for each kind, also those before
// the end. The GET with which an SDK begins is not worth a line.
func TestRejections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, slow, func(o *Options) { o.Notice = 0 })

		for range 2 {
			time.Sleep(3 * time.Second)
			for range 3 {
				s.request(by("", scrape), 401)
				s.request(get("/x"), 404)
				s.request(get("/mcp"), 405)
			}
		}

		s.metrics(
			`rejected_requests_total{status="401",reason="no bearer token"} 6`,
			`rejected_requests_total{status="404",reason="Not Found"} 6`,
			`rejected_requests_total{status="405",reason="Method Not Allowed",client="other"} 6`,
		)

		s.end()
		s.logged(`msg=rejected status=401 reason="no bearer token" remote=:`, 4)
		s.logged(`msg=rejected status=404 reason="Not Found" remote=:`, 4)
		s.logged("msg=rejected", 8)
		s.logged(" count=2", 4)
	})
}
