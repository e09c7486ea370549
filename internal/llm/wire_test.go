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

	"github.com/google/go-cmp/cmp"
)

// serve starts a server on loopback and returns a client of it.
func serve(t *testing.T, retries int, h http.HandlerFunc) (*Client, *httptest.Server) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return New(Options{BaseURL: s.URL + "/v1", APIKey: "sk-test-0123456789", MaxRetries: retries}), s
}

func TestHeaders(t *testing.T) {
	// Whether a variable counts is for the configuration to say.
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"} {
		t.Setenv(name, "http://from.the.environment/")
	}
	api := &scripted{steps: []step{answer(200, finished)}}
	c := New(Options{
		BaseURL: "http://api.test/v1", APIKey: " sk-test-0123456789\n", Organization: "org-1", Project: "proj_1",
		UserAgent: "openai-responses-mcp/0.9.0", HTTPClient: &http.Client{Transport: api},
	})
	if _, err := c.Create(t.Context(), question()); err != nil {
		t.Fatal(err)
	}
	want := http.Header{
		"Accept":              {"application/json"},
		"Authorization":       {"Bearer sk-test-0123456789"},
		"Content-Type":        {"application/json"},
		"Openai-Organization": {"org-1"},
		"Openai-Project":      {"proj_1"},
		"User-Agent":          {"openai-responses-mcp/0.9.0"},
	}
	if diff := cmp.Diff(want, api.header); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

// Headers of the configuration come last, and one that identifies the caller
// leaves no place for a bearer header of ours.
func TestOwnHeaders(t *testing.T) {
	for _, tt := range []struct {
		key     string
		headers map[string]string
		want    http.Header // of the ones below
	}{
		{"sk-test", nil, http.Header{"Authorization": {"Bearer sk-test"}}},
		{"sk-test", map[string]string{"X-Team": "a"}, http.Header{"Authorization": {"Bearer sk-test"}, "X-Team": {"a"}}},
		{"", map[string]string{"api-key": "azure"}, http.Header{"Api-Key": {"azure"}}},
		{"sk-test", map[string]string{"API-KEY": "azure"}, http.Header{"Api-Key": {"azure"}}},
		{"sk\nbroken", map[string]string{"authorization": "Token t"}, http.Header{"Authorization": {"Token t"}}},
	} {
		api := &scripted{steps: []step{answer(200, finished)}}
		c := New(Options{BaseURL: "http://api.test/v1", APIKey: tt.key, Headers: tt.headers, HTTPClient: &http.Client{Transport: api}})
		if _, err := c.Create(t.Context(), question()); err != nil {
			t.Errorf("key %q and headers %v: %v", tt.key, tt.headers, err)
			continue
		}
		got := http.Header{}
		for _, name := range []string{"Authorization", "Api-Key", "X-Team"} {
			if v := api.header.Values(name); v != nil {
				got[name] = v
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("key %q and headers %v (-want +got):\n%s", tt.key, tt.headers, diff)
		}
	}
	c := New(Options{Headers: map[string]string{"api-key": "", "X-Team": "a"}, KeyEnv: "AZURE_KEY"})
	if _, err := c.Create(t.Context(), question()); asError(t, err).Message != "Missing API key: set AZURE_KEY" {
		t.Errorf("without an identity: %v", err)
	}
}

func TestBaseURL(t *testing.T) {
	for base, want := range map[string]string{
		"":                           "https://api.openai.com/v1/responses",
		"https://api.openai.com/v1":  "https://api.openai.com/v1/responses",
		"https://api.openai.com/v1/": "https://api.openai.com/v1/responses",
		"http://127.0.0.1:8080":      "http://127.0.0.1:8080/responses",
		" http://127.0.0.1:8080/ ":   "http://127.0.0.1:8080/responses",
		"https://x.example/openai/v1?api-version=preview": "https://x.example/openai/v1/responses?api-version=preview",

		// A proxy that is told in its path where to go.
		"http://x.example/https://api.openai.com/v1":  "http://x.example/https://api.openai.com/v1/responses",
		"http://x.example/https://api.openai.com/v1/": "http://x.example/https://api.openai.com/v1/responses",

		"http://x.example//v1":         "http://x.example//v1/responses",
		"http://x.example/a%2Fb":       "http://x.example/a%2Fb/responses",
		"http://x.example/a b":         "http://x.example/a%20b/responses",
		"http://x.example/v1?a=b c&b":  "http://x.example/v1/responses?a=b+c&b=",
		"http://x.example/v1?":         "http://x.example/v1/responses",
		"http://x.example/v1?a=%2F#at": "http://x.example/v1/responses?a=%2F",
	} {
		var got string
		c := New(Options{BaseURL: base, APIKey: "sk-test", HTTPClient: &http.Client{Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
			got = req.URL.String()
			return answer(200, finished)(req)
		})}})
		if _, err := c.Create(t.Context(), question()); err != nil || got != want {
			t.Errorf("base %q: request to %s (%v), want %s", base, got, err, want)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestUnusableOptions(t *testing.T) {
	tests := []struct {
		options Options
		kind    Kind
		message string
	}{
		{Options{}, KindMissingKey, "Missing API key: set OPENAI_API_KEY"},
		{Options{APIKey: " \n", KeyEnv: "MY_KEY"}, KindMissingKey, "Missing API key: set MY_KEY"},
		{Options{APIKey: "sk\nx"}, KindAuth, "the key in OPENAI_API_KEY has a line break or another control character in it"},
		{Options{APIKey: "sk", BaseURL: "api.openai.com"}, KindConnection, `reading base URL "api.openai.com": it must start with http:// or https:// and name a host`},
		{Options{APIKey: "sk", BaseURL: "http://x/?a=1;b=2"}, KindConnection, `reading base URL "http://x/?a=1;b=2": invalid semicolon separator in query`},
		{Options{APIKey: "sk", BaseURL: "ftp://x/"}, KindConnection, `reading base URL "ftp://x/": it must start with http:// or https:// and name a host`},
	}
	for _, tt := range tests {
		_, err := New(tt.options).Create(t.Context(), question())
		if e := asError(t, err); e.Kind != tt.kind || e.Message != tt.message || e.Attempts != 0 {
			t.Errorf("New(%+v).Create = %v %q, want %v %q", tt.options, e.Kind, e.Message, tt.kind, tt.message)
		}
	}
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
