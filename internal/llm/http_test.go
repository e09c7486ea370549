package llm

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// serve starts a server on loopback and returns a client of it.
func serve(t *testing.T, retries int, h http.HandlerFunc) (*Client, *httptest.Server) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return New(Options{BaseURL: s.URL + "/v1", APIKey: testKey, MaxRetries: retries}), s
}

func TestGzip(t *testing.T) {
	c, _ := serve(t, 0, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, finished)
		z.Close()
	})
	if r, err := c.Create(t.Context(), question()); err != nil || r.ID != "resp_1" {
		t.Errorf("Create = %v, %v, want resp_1", r, err)
	}
}

// A body without end is read up to the bound; of an error, less.
func TestEndlessBody(t *testing.T) {
	c, _, _ := newClient(t, 3, func(req *http.Request) (*http.Response, error) {
		resp, err := answer(200, "")(req)
		resp.Body = io.NopCloser(endless{})
		return resp, err
	})
	_, err := c.Create(t.Context(), question())
	if e := asError(t, err); e.Kind != KindBadResponse || e.Message != "the answer is larger than 64 MiB" || e.Attempts != 1 {
		t.Errorf("Create = %v, want one that is too large", err)
	}
	c, _, _ = newClient(t, 0, func(req *http.Request) (*http.Response, error) {
		resp, err := answer(500, "")(req)
		resp.Body = io.NopCloser(endless{})
		return resp, err
	})
	if _, err := c.Create(t.Context(), question()); asError(t, err).Kind != KindServer {
		t.Errorf("Create = %v, want %v", err, KindServer)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestRedirects(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a request with key %q reached another host", r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	target, status := "", 0
	var requests atomic.Int32
	c, _ := serve(t, 3, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.URL.Path == "/v2/responses" {
			io.Copy(io.Discard, r.Body)
			io.WriteString(w, finished)
			return
		}
		w.Header().Set("Location", target)
		w.WriteHeader(status)
	})
	tests := []struct {
		target   string
		status   int
		message  string // "": success
		requests int32
	}{
		{"/v2/responses", 307, "", 2},
		{"/v2/responses", 308, "", 2},
		{elsewhere.URL + "/v1/responses?key=1", 307, "the API redirects to " + elsewhere.URL, 1},
		{elsewhere.URL, 302, "the API redirects to " + elsewhere.URL, 1},
		{"", 304, "the API redirects to nowhere", 1},
	}
	for _, tt := range tests {
		target, status = tt.target, tt.status
		requests.Store(0)
		_, err := c.Create(t.Context(), question())
		if n := requests.Load(); n != tt.requests {
			t.Errorf("%d to %s: %d requests, want %d", tt.status, tt.target, n, tt.requests)
		}
		if tt.message == "" {
			if err != nil {
				t.Errorf("%d to %s: %v", tt.status, tt.target, err)
			}
			continue
		}
		if e := asError(t, err); e.Kind != KindBadResponse || e.Message != tt.message || e.Status != tt.status {
			t.Errorf("%d to %s: %v %q, want %q", tt.status, tt.target, e.Kind, e.Message, tt.message)
		}
	}
	// 303 would turn the POST into a GET.
	target, status = "/v2/responses", 303
	if _, err := c.Create(t.Context(), question()); asError(t, err).Kind != KindBadResponse {
		t.Errorf("303: %v, want %v", err, KindBadResponse)
	}
}

// TestBrokenConnections has failures of the network that a retry may pass.
func TestBrokenConnections(t *testing.T) {
	answers := map[string]string{
		"no answer":                   "",
		"a body shorter than it said": fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(finished), finished[:50]),
		"a chunk that does not end":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n50\r\n" + finished[:50],
		"a body that just stops":      "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + finished[:50],
		"a body that is shorter":      "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"error\":",
	}
	for name, text := range answers {
		c, _ := serve(t, 0, func(w http.ResponseWriter, _ *http.Request) {
			conn, buf, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			io.WriteString(buf, text)
			buf.Flush()
		})
		_, err := c.Create(t.Context(), question())
		if e := asError(t, err); e.Kind != KindConnection || e.final {
			t.Errorf("%s: %v, want %v", name, err, KindConnection)
		}
	}
	c, s := serve(t, 0, nil)
	s.Close()
	if _, err := c.Create(t.Context(), question()); asError(t, err).Kind != KindConnection {
		t.Errorf("without a listener: %v, want %v", err, KindConnection)
	}
}

// A cancellation reaches the server at once.
func TestCancelAborts(t *testing.T) {
	started, aborted := make(chan struct{}), make(chan struct{})
	c, _ := serve(t, 3, func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		close(started)
		<-r.Context().Done()
		close(aborted)
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	if _, err := c.Create(ctx, question()); asError(t, err).Kind != KindCanceled {
		t.Errorf("Create = %v, want %v", err, KindCanceled)
	}
	select {
	case <-aborted:
	case <-time.After(10 * time.Second):
		t.Error("the server never saw the request end")
	}
}

// A redirect from https to http is not followed, also on default ports.
func TestRedirectToPlainHTTP(t *testing.T) {
	var seen []string
	c := New(Options{BaseURL: "https://api.test/v1", APIKey: testKey, MaxRetries: 3, HTTPClient: &http.Client{Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
		seen = append(seen, req.URL.String())
		return answer(307, "", "Location", "http://api.test/v1/responses")(req)
	})}})
	_, err := c.Create(t.Context(), question())
	if e := asError(t, err); e.Kind != KindBadResponse || e.Status != 307 || e.Message != "the API redirects to http://api.test" || len(seen) != 1 {
		t.Errorf("Create = %v (%q) after requests to %q", err, e.Message, seen)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestSwitchingProtocols(t *testing.T) {
	c, _, _ := newClient(t, 3, answer(101, "", "Upgrade", "x"))
	if _, err := c.Create(t.Context(), question()); asError(t, err).Kind != KindBadResponse || asError(t, err).Attempts != 1 {
		t.Errorf("Create = %v, want %v", err, KindBadResponse)
	}
}

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
	tests := []struct {
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
	}
	for _, tt := range tests {
		hc := NewHTTPClient()
		tr := hc.Transport.(*transport)
		tr.roots.Do(func() {}) // the test's own roots stay
		tr.secure.TLSClientConfig.RootCAs = tt.roots
		if tt.proxy != "" {
			tr.secure.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(tt.proxy) }
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
