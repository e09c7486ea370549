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
	"sync"
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
	// The same host, but another request: a POST that would become a GET.
	target, status = "/v2/responses", 303
	if _, err := c.Create(t.Context(), question()); asError(t, err).Kind != KindBadResponse {
		t.Errorf("303: %v, want %v", err, KindBadResponse)
	}
}

// What the network itself does, on a real socket: all of it may pass, and is
// what a retry is for (TestRetries).
func TestBrokenConnections(t *testing.T) {
	answers := map[string]string{
		"no answer":                      "",
		"a body shorter than it said":    fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(finished), finished[:50]),
		"a chunk that does not end":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n50\r\n" + finished[:50],
		"a body that just stops":         "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + finished[:50],
		"an error that is shorter, too ": "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"error\":",
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
		t.Errorf("nobody listening: %v, want %v", err, KindConnection)
	}
}

// A certificate that is not trusted is not worth a second try.
func TestUntrustedCertificate(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	c := New(Options{BaseURL: s.URL, APIKey: "sk-test", MaxRetries: 3})
	_, err := c.Create(t.Context(), question())
	if e := asError(t, err); e.Kind != KindConnection || e.Attempts != 1 || !strings.Contains(e.Message, "certificate") {
		t.Errorf("Create = %v after %d attempts, want a certificate error after 1", err, e.Attempts)
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

// 300 calls share a client, and all of them are under way at once.
func TestManyCalls(t *testing.T) {
	const n = 300
	var waiting atomic.Int32
	all := make(chan struct{})
	c, _ := serve(t, 0, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if waiting.Add(1) == n {
			close(all)
		}
		select {
		case <-all:
			io.WriteString(w, finished)
		case <-r.Context().Done():
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = c.Create(ctx, question()) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
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

// TLS below 1.2 is refused, and not tried again.
func TestOldTLS(t *testing.T) {
	for version, want := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true} {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, finished) }))
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: version}
		s.StartTLS()
		defer s.Close()
		hc := NewHTTPClient()
		tr := hc.Transport.(*transport)
		tr.roots.Do(func() {}) // the test's own root below stays
		tr.secure.TLSClientConfig.RootCAs = x509.NewCertPool()
		tr.secure.TLSClientConfig.RootCAs.AddCert(s.Certificate())
		_, err := New(Options{BaseURL: s.URL, APIKey: testKey, MaxRetries: 3, HTTPClient: hc}).Create(t.Context(), question())
		if want != (err == nil) {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
		if e, ok := errors.AsType[*Error](err); ok && (e.Attempts != 1 || !strings.Contains(e.Message, "protocol version")) {
			t.Errorf("%s: %v after %d attempts, want a protocol version error after 1", tls.VersionName(version), err, e.Attempts)
		}
	}
}

// A switch of protocols is an error.
func TestSwitchingProtocols(t *testing.T) {
	c, _, _ := newClient(t, 3, answer(101, "", "Upgrade", "x"))
	if _, err := c.Create(t.Context(), question()); asError(t, err).Kind != KindBadResponse || asError(t, err).Attempts != 1 {
		t.Errorf("Create = %v, want %v", err, KindBadResponse)
	}
}

// A request in plain HTTP to a TLS port is told apart.
func TestPlainHTTPToTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	_, err := New(Options{BaseURL: strings.Replace(s.URL, "https:", "http:", 1), APIKey: testKey}).Create(t.Context(), question())
	if !errors.Is(err, ErrPlainHTTP) {
		t.Errorf("Create = %v, want %v", err, ErrPlainHTTP)
	}
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	_, err = New(Options{BaseURL: strings.Replace(plain.URL, "http:", "https:", 1), APIKey: testKey, MaxRetries: 3}).Create(t.Context(), question())
	if e := asError(t, err); e.Kind != KindConnection || e.Attempts != 1 {
		t.Errorf("TLS to a plain port: %v after %d attempts", err, e.Attempts)
	}
}

// The bound on connecting to a proxy is its own error.
func TestProxyRefuses(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(407) }))
	defer proxy.Close()
	hc := NewHTTPClient()
	hc.Transport.(*transport).secure.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(proxy.URL) }
	_, err := New(Options{BaseURL: "https://api.test", APIKey: testKey, MaxRetries: 3, HTTPClient: hc}).Create(t.Context(), question())
	status, ok := errors.AsType[TunnelError](err)
	if e := asError(t, err); !ok || status != 407 || e.Attempts != 1 {
		t.Errorf("Create = %v after %d attempts, want a tunnel error 407 after 1", err, e.Attempts)
	}
}

func TestNeedRoots(t *testing.T) {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	some := x509.NewCertPool()
	some.AddCert(s.Certificate())
	tests := []struct {
		name string
		pool *x509.CertPool
		err  error
		want bool
	}{
		{"an empty system", x509.NewCertPool(), nil, true},
		{"no pool", nil, nil, true},
		{"an error", some, errors.New("unreadable"), true},
		{"one certificate", some, nil, false},
	}
	for _, tt := range tests {
		if got := needRoots(tt.pool, tt.err); got != tt.want {
			t.Errorf("needRoots of %s = %v, want %v", tt.name, got, tt.want)
		}
	}
	if bundledRoots().Equal(x509.NewCertPool()) {
		t.Error("the bundle is empty")
	}
}

// Plain HTTP never looks for certificates; HTTPS does, and speaks HTTP/2.
func TestTransport(t *testing.T) {
	client := NewHTTPClient()
	tr := client.Transport.(*transport)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X-Proto", r.Proto) })
	plain := httptest.NewServer(h)
	defer plain.Close()
	resp, err := client.Get(plain.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	looked := true
	tr.roots.Do(func() { looked = false }) // also keeps the test's own pool below
	if looked {
		t.Error("a plain request looked for root certificates")
	}
	secure := httptest.NewUnstartedServer(h)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	defer secure.Close()
	pool := x509.NewCertPool()
	pool.AddCert(secure.Certificate())
	tr.secure.TLSClientConfig.RootCAs = pool
	resp, err = client.Get(secure.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := resp.Header.Get("X-Proto"); got != "HTTP/2.0" {
		t.Errorf("over TLS the server sees %q, want HTTP/2.0", got)
	}
	client.CloseIdleConnections()
}
