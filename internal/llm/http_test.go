package llm

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// secureServer is a server that speaks TLS up to a version.
func secureServer(t *testing.T, version uint16) *httptest.Server {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: version}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// TestConnect has connections that fail for a reason that stays: one attempt each.
func TestConnect(t *testing.T) {
	old := secureServer(t, tls.VersionTLS11)
	current := secureServer(t, tls.VersionTLS12)
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(407)
	}))
	defer proxy.Close()

	roots := x509.NewCertPool()
	roots.AddCert(old.Certificate()) // all of httptest have the same one

	for _, tt := range []struct {
		name    string
		url     string
		roots   *x509.CertPool
		proxy   string
		message string
		cause   error
	}{
		{"TLS 1.1", old.URL, roots, "", "protocol version", nil},
		{"unknown certificate", current.URL, x509.NewCertPool(), "", "certificate", nil},
		{
			"TLS to a plain port",
			strings.Replace(plain.URL, "http:", "https:", 1), roots, "",
			"gave HTTP response", http.ErrSchemeMismatch,
		},
		{
			"plain to a TLS port",
			strings.Replace(current.URL, "https:", "http:", 1), roots, "",
			"plain HTTP request", ErrPlainHTTP,
		},
		{
			"proxy without a password",
			"https://api.test", roots, proxy.URL,
			"Proxy Authentication Required", TunnelError(407),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hc := NewHTTPClient()
			tr := hc.Transport.(*transport)
			tr.roots.Do(func() {}) // the test's own roots stay
			tr.TLSClientConfig.RootCAs = tt.roots
			if tt.proxy != "" {
				tr.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(tt.proxy) }
			}

			c := New(Options{BaseURL: tt.url, APIKey: testKey, MaxRetries: 3, HTTPClient: hc})
			err := createError(t, c)
			e := asError(t, err)
			if e.Attempts != 1 || !strings.Contains(e.Message, tt.message) {
				t.Errorf("%d attempts, message = %q, want 1, %q", e.Attempts, e.Message, tt.message)
			}

			if tt.cause != nil && !errors.Is(err, tt.cause) {
				t.Errorf("error = %v, want %v", err, tt.cause)
			}
		})
	}
}

// A redirect from https to http is not followed, also on default ports.
func TestRedirectToPlainHTTP(t *testing.T) {
	redirect := answer(307, "", "Location", "http://api.test/v1/responses")
	api := &scripted{steps: []step{redirect}}
	c := New(Options{
		BaseURL:    "https://api.test/v1",
		APIKey:     testKey,
		MaxRetries: 3,
		HTTPClient: &http.Client{Transport: api},
	})

	err := createError(t, c)
	wantError(t, err, KindBadResponse, "the API redirects to http://api.test")
	api.wantRequests(t, 1)
}

// No part of a key is left where a text is shortened.
func TestKeyAcrossTheEndOfAText(t *testing.T) {
	for name, say := range map[string]func(text string) step{
		"body": func(text string) step {
			return answer(200, "says: "+text, "Content-Type", "text/plain")
		},
		"error text and request id": func(text string) step {
			return answer(400, text, "X-Request-Id", text)
		},
		"message": func(text string) step {
			return answer(400, apiBody("", "", "", text))
		},
	} {
		t.Run(name, func(t *testing.T) {
			for n := range 450 {
				c, _, logged := newClient(t, 0, say(strings.Repeat("x", n)+testKey))
				err := createError(t, c)
				said := asError(t, err).Error() + logged.String()
				if strings.Contains(said, testKey[:8]) {
					t.Fatalf("after %d characters:\n%s", n, said)
				}
			}
		})
	}
}

// An image made from scratch has no roots; the bundled ones replace them.
func TestRoots(t *testing.T) {
	for _, tt := range []struct {
		name string
		pool *x509.CertPool
		err  error
		want bool
	}{
		{"empty", x509.NewCertPool(), nil, true},
		{"error", nil, errors.New("no roots"), true},
		{"bundled", bundledRoots(), nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := needRoots(tt.pool, tt.err); got != tt.want {
				t.Errorf("needRoots = %v, want %v", got, tt.want)
			}
		})
	}
}
