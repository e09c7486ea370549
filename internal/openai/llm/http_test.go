package llm

import (
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/httpclient"
	"github.com/uchimanajet7/openai-responses-mcp/internal/openai/apierror"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// secureServer is a server that speaks TLS up to a version.
func secureServer(t *testing.T, version uint16) *httptest.Server {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: version}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// serve starts a server, which ends with the test.
func serve(t *testing.T, handle func(http.ResponseWriter)) *httptest.Server {
	handler := func(w http.ResponseWriter, _ *http.Request) { handle(w) }
	s := httptest.NewServer(http.HandlerFunc(handler))
	t.Cleanup(s.Close)
	return s
}

// proxied returns the transport of the program without roots, and with a proxy if it is not "".
func proxied(proxy string) *http.Transport {
	tr := httpclient.New(nil).Transport.(*httpclient.Transport).Transport
	tr.TLSClientConfig.RootCAs = x509.NewCertPool()
	if proxy != "" {
		tr.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(proxy) }
	}
	return tr
}

// TestConnect has connections that fail for a reason that stays: one attempt each.
func TestConnect(t *testing.T) {
	old := secureServer(t, tls.VersionTLS11)
	current := secureServer(t, tls.VersionTLS12)
	proxy := serve(t, func(w http.ResponseWriter) { w.WriteHeader(407) })

	certificate := old.Certificate() // all of httptest have the same one
	for message, tt := range map[string]struct {
		url   string
		root  *x509.Certificate
		proxy string
		cause error
	}{
		"protocol version": {old.URL, certificate, "", nil},
		"certificate":      {current.URL, nil, "", nil},
		"gave HTTP response": {
			strings.Replace(proxy.URL, "http:", "https:", 1), certificate, "",
			http.ErrSchemeMismatch,
		},
		"plain HTTP request": {
			strings.Replace(current.URL, "https:", "http:", 1), certificate, "",
			call.ErrPlainHTTP,
		},
		"Proxy Authentication Required": {
			"https://api.test", certificate, proxy.URL,
			call.TunnelError(407),
		},
	} {
		t.Run(message, func(t *testing.T) {
			tr := proxied(tt.proxy)
			if tt.root != nil {
				tr.TLSClientConfig.RootCAs.AddCert(tt.root)
			}

			cl := newClientOf(tt.url, tr, 3, io.Discard)
			err := createError(t, cl)
			e := asError(t, err)
			wantEqual(t, "attempts", e.Attempts, 1)
			compare.Contains(t, "message", e.Message, message)
			if tt.cause != nil {
				wantCause(t, err, tt.cause)
			}
		})
	}
}

// The server answers a request that was damaged on its way with a TLS alert.
func TestDamagedRequest(t *testing.T) {
	alert := &net.OpError{Op: "remote error", Err: errors.New("tls: bad record MAC")}
	damaged := func(*http.Request) (*http.Response, error) { return nil, alert }
	cl, _ := newClient(1, damaged, succeed)
	wantSuccess(t, createError(t, cl))
}

// A proxy that requires a password says which schemes it takes, and whether it got one. So does one
// for plain requests.
func TestProxyPassword(t *testing.T) {
	for name, row := range table(t, "proxies") {
		t.Run(name, func(t *testing.T) {
			challenges, user, want := row[0], row[1], row[2]
			proxy := serve(t, func(w http.ResponseWriter) {
				for challenge := range strings.SplitSeq(challenges, "; ") {
					w.Header().Add("Proxy-Authenticate", challenge)
				}
				w.WriteHeader(407)
				_, _ = io.WriteString(w, "<html>No.")
			})

			tr := proxied(strings.Replace(proxy.URL, "://", "://"+user, 1))
			e := asError(t, createError(t, newClientOf("https://api.test/v1", tr, 3, io.Discard)))

			got, _ := errors.AsType[call.ProxyError](e)
			wantEqual(t, "schemes", fmt.Sprint(got.Schemes, "|", got.Refused), want)
			wantCause(t, e, call.TunnelError(407))
			wantEqual(t, "attempts", e.Attempts, 1)

			plain := asError(t, createError(t, newClientOf("http://api.test/v1", tr, 3, io.Discard)))
			got, _ = errors.AsType[call.ProxyError](plain)
			wantEqual(t, "schemes for plain requests", got.Schemes, strings.Split(want, "|")[0])
			wantEqual(t, "attempts", plain.Attempts, 1)
		})
	}
}

// A body in an encoding that was not asked for is not read, and not paid again.
func TestEncodings(t *testing.T) {
	for name, row := range table(t, "encodings") {
		t.Run(name, func(t *testing.T) {
			status, encoding, want, body := row[0], row[1], row[2], row[3]
			code, _ := strconv.Atoi(status)
			text, err := strconv.Unquote(`"` + body + `"`)
			if err != nil {
				t.Fatal(err)
			}
			if encoding == "gzip" && strings.HasPrefix(want, "completed") {
				var b strings.Builder
				w := gzip.NewWriter(&b)
				_, _ = io.WriteString(w, text)
				_ = w.Close()
				text = b.String()
			}

			requests := 0
			s := serve(t, func(w http.ResponseWriter) {
				requests++
				w.Header().Set("Content-Type", "application/json")
				if strings.HasPrefix(name, "streamed") {
					w.Header().Set("Content-Type", eventStream)
				}
				w.Header().Set("Content-Encoding", encoding)
				w.WriteHeader(code)
				_, _ = io.WriteString(w, text)
			})

			cl := newClientOf(s.URL, httpclient.New(nil).Transport, 3, io.Discard)
			request := question()
			request.NoStream = !strings.HasPrefix(name, "streamed")
			c := &call.Call{}
			response, err := cl.Create(t.Context(), c, request)
			wantEqual(t, "outcome", meaning(t, response, err), want)
			wantEqual(t, "requests", requests, 1)

			paid := 0
			if code == 200 {
				paid = 1
			}
			wantEqual(t, "requests that may have used tokens", c.UnreportedRequests, paid)
			isUnread := err != nil && strings.Contains(want, "Content-Encoding") && code == 200
			wantEqual(t, "cause", errors.Is(err, call.ErrEncoding), isUnread)

			_, err = cl.Model(t.Context(), "gpt-5.2")
			if isUnread {
				wantEqual(t, "message of a model", asError(t, err).Message, strings.SplitN(want, ": ", 2)[1])
			}
		})
	}
}

// A redirect from https to http is not followed, also on default ports.
func TestRedirectToPlainHTTP(t *testing.T) {
	api := &scripted{steps: []step{answer(307, "", "Location", "http://api.test/v1/responses")}}
	cl := newClientOf("https://api.test/v1", api, 3, io.Discard)
	e := asError(t, createError(t, cl))

	wantKind(t, e, call.KindBadResponse)
	wantEqual(t, "message", e.Message, "the API redirects to http://api.test")
	api.wantRequests(t, 1)
}

// No part of a key is left where a text is shortened.
func TestKeyAcrossTheEndOfAText(t *testing.T) {
	for n := range 450 {
		said := strings.Repeat("x", n) + testKey
		for name, say := range map[string]step{
			"body":                      answer(200, "says: "+said, "Content-Type", "text/plain"),
			"error text and request id": answer(400, said, "X-Request-Id", said),
			"message":                   answer(400, apiBody("", "", "", said)),
		} {
			cl, api := newClient(0, say)
			err := createError(t, cl)

			if strings.Contains(err.Error()+api.log.String(), testKey[:8]) {
				t.Fatalf("%s, after %d characters: %v\n%s", name, n, err, &api.log)
			}
		}
	}

	for n := range testKey { // of which the blanks leave a part
		blanks := strings.Repeat(" ", apierror.MaxText-n)
		cl, _ := newClient(0, answer(400, apiBody("", "", "", blanks+testKey)))
		wantEqual(t, "message", asError(t, createError(t, cl)).Message, "[redacted]")
	}
}

// A request that reached the API may have used tokens, unless it says how many, or refuses it.
func TestUnreportedTokens(t *testing.T) {
	for _, tt := range compare.Rows[struct {
		Name   string
		Status int
		Body   string
		Want   int
	}](t, "unknown") {
		t.Run(tt.Name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter) {
				if tt.Status == 0 {
					panic(http.ErrAbortHandler)
				}
				w.WriteHeader(tt.Status)
				io.WriteString(w, tt.Body)
			})
			c := &call.Call{}
			for _, what := range []string{"unknown", "unknown without a server"} {
				// A new client has no idle connections.
				client := New(Options{API: API{BaseURL: s.URL}, APIKey: testKey})
				_, _ = client.Create(t.Context(), c, call.Request{NoStream: true})
				wantEqual(t, what, c.UnreportedRequests, tt.Want)
				s.Close()
			}
		})
	}
}

// A request whose events cause a panic may have used tokens.
func TestPanicCounts(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", eventStream)
		_, _ = io.WriteString(w, frames(eventDelta))
	})
	cl := New(Options{API: API{BaseURL: s.URL}, APIKey: testKey})
	c := &call.Call{Sink: func(call.Event) { panic("a fault") }}

	func() {
		defer func() { _ = recover() }()
		_, _ = cl.Create(t.Context(), c, question())
	}()
	wantEqual(t, "unknown", c.UnreportedRequests, 1)
}
