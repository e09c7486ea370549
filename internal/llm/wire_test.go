package llm

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
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
	return New(Options{BaseURL: s.URL + "/v1", APIKey: "sk-test-0123456789", MaxRetries: retries}), s
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
	// A transport that leaves the gunzipping to us.
	var b strings.Builder
	z := gzip.NewWriter(&b)
	io.WriteString(z, finished)
	z.Close()
	c, _, _ = newClient(t, 0, answer(200, b.String(), "Content-Encoding", "GZIP"))
	if r, err := c.Create(t.Context(), question()); err != nil || r.ID != "resp_1" {
		t.Errorf("Create = %v, %v, want resp_1", r, err)
	}
	c, _, _ = newClient(t, 0, answer(200, finished, "Content-Encoding", "gzip"))
	if _, err := c.Create(t.Context(), question()); asError(t, err).Kind != KindBadResponse || !errors.Is(err, errZip) {
		t.Errorf("Create = %v, want %v", err, errZip)
	}
}

func TestBound(t *testing.T) {
	for _, tt := range []struct {
		size, limit int64
		err         error
	}{{0, 10, nil}, {10, 10, nil}, {11, 10, errTooLarge}, {1000, 10, errTooLarge}} {
		resp := &http.Response{Body: io.NopCloser(strings.NewReader(strings.Repeat("x", int(tt.size))))}
		data, err := io.ReadAll(bound(resp, tt.limit))
		if !errors.Is(err, tt.err) || int64(len(data)) != min(tt.size, tt.limit) {
			t.Errorf("%d bytes bounded to %d: %d bytes, %v, want %v", tt.size, tt.limit, len(data), err, tt.err)
		}
	}
}

// A body without end costs no more memory than the bound.
func TestEndlessBody(t *testing.T) {
	c, _, _ := newClient(t, 3, func(req *http.Request) (*http.Response, error) {
		resp, err := answer(200, "")(req)
		resp.Body = io.NopCloser(endless{})
		return resp, err
	})
	_, err := c.Create(t.Context(), question())
	if e := asError(t, err); e.Kind != KindBadResponse || !errors.Is(err, errTooLarge) || e.Attempts != 1 {
		t.Errorf("Create = %v, want %v", err, errTooLarge)
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
		if e := asError(t, err); e.Kind != KindConnection || !e.retryable() {
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
