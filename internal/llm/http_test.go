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

// A body without end is read up to the bound; of an error, less.
func TestEndlessBody(t *testing.T) {
	for status, want := range map[int]string{200: "the answer is larger than 64 MiB", 500: "Internal Server Error"} {
		c, _, _ := newClient(t, 0, func(req *http.Request) (*http.Response, error) {
			resp, err := answer(status, "")(req)
			resp.Body = io.NopCloser(endless{})
			return resp, err
		})
		if _, err := c.Create(t.Context(), question()); !strings.HasPrefix(asError(t, err).Message, want) {
			t.Errorf("Create = %v, want %q", err, want)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestConnect has connections that fail for a reason that stays: one try each.
func TestConnect(t *testing.T) {
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, finished) })
	secure := func(version uint16) *httptest.Server {
		s := httptest.NewUnstartedServer(hello)
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: version}
		s.StartTLS()
		t.Cleanup(s.Close)
		return s
	}
	plain := httptest.NewServer(hello)
	defer plain.Close()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(407) }))
	defer proxy.Close()
	old, current, unknown := secure(tls.VersionTLS11), secure(tls.VersionTLS12), secure(tls.VersionTLS13)
	roots := x509.NewCertPool()
	roots.AddCert(old.Certificate()) // all of httptest have the same one
	for _, tt := range []struct {
		name    string
		url     string
		roots   *x509.CertPool
		proxy   string
		message string // "": success
		cause   error
	}{
		{"TLS 1.2", current.URL, roots, "", "", nil},
		{"TLS 1.1", old.URL, roots, "", "protocol version", nil},
		{"unknown certificate", unknown.URL, x509.NewCertPool(), "", "certificate", nil},
		{"TLS to a plain port", strings.Replace(plain.URL, "http:", "https:", 1), roots, "", "gave HTTP response", http.ErrSchemeMismatch},
		{"plain to a TLS port", strings.Replace(current.URL, "https:", "http:", 1), roots, "", "plain HTTP request", ErrPlainHTTP},
		{"proxy without a password", "https://api.test", roots, proxy.URL, "Proxy Authentication Required", TunnelError(407)},
	} {
		hc := NewHTTPClient()
		tr := hc.Transport.(*transport)
		tr.roots.Do(func() {}) // the test's own roots stay
		tr.TLSClientConfig.RootCAs = tt.roots
		if tt.proxy != "" {
			tr.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(tt.proxy) }
		}
		_, err := New(Options{BaseURL: tt.url, APIKey: testKey, MaxRetries: 3, HTTPClient: hc}).Create(t.Context(), question())
		if tt.message == "" {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		if e := asError(t, err); e.Attempts != 1 || !strings.Contains(e.Message, tt.message) || tt.cause != nil && !errors.Is(err, tt.cause) {
			t.Errorf("%s: %v after %d attempts, want %q after 1", tt.name, err, e.Attempts, tt.message)
		}
	}
}

// A redirect from https to http is not followed, also on default ports.
func TestRedirectToPlainHTTP(t *testing.T) {
	api := &scripted{steps: []step{answer(307, "", "Location", "http://api.test/v1/responses")}}
	c := New(Options{BaseURL: "https://api.test/v1", APIKey: testKey, MaxRetries: 3, HTTPClient: &http.Client{Transport: api}})
	_, err := c.Create(t.Context(), question())
	if e := asError(t, err); e.Kind != KindBadResponse || e.Message != "the API redirects to http://api.test" || api.requests() != 1 {
		t.Errorf("Create = %v after %d requests", err, api.requests())
	}
}

// No part of a key is left where a text is shortened.
func TestKeyAcrossTheEndOfAText(t *testing.T) {
	for n := range 450 {
		said := strings.Repeat("x", n) + testKey
		for _, step := range []step{
			answer(200, "says: "+said, "Content-Type", "text/plain"),
			answer(400, said, "X-Request-Id", said),
			answer(400, `{"error":{"message":"`+said+`"}}`),
		} {
			c, _, log := newClient(t, 0, step)
			_, err := c.Create(t.Context(), question())
			if err == nil || strings.Contains(err.Error()+log.String(), testKey[:8]) {
				t.Fatalf("after %d characters: %v\n%s", n, err, log)
			}
		}
	}
}

// An image made from scratch has no roots; the bundled ones replace them.
func TestRoots(t *testing.T) {
	if bundled := bundledRoots(); !needRoots(x509.NewCertPool(), nil) || !needRoots(nil, errors.New("no roots")) || needRoots(bundled, nil) {
		t.Error("needRoots does not tell an empty pool from the bundled one")
	}
}
