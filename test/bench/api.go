package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
)

// The streamed answer has so many words and at least so many events.
const (
	words  = 40000
	events = 20000
)

// api answers every request with what the built-in API said to the first of its
// kind, so that making an answer costs nothing while somebody measures.
type api struct {
	url           string
	folder        string // where the first request of each kind is kept, for bare
	plain, stream *kind

	mu   sync.Mutex
	gate *gate // nil: nobody waits
}

// kind is one of the two that requests are of.
type kind struct {
	file   string // its name in folder
	source http.Handler
	once   sync.Once
	header http.Header
	body   []byte
	events int // in body, of a stream
	asked  int // requests so far; guarded by api.mu
}

// gate holds requests until there are so many side by side.
type gate struct {
	missing int
	open    chan struct{}
}

// serve starts the API on a free loopback port.
func serve() (*api, func(), error) {
	long, err := fakeapi.ParseStep("text=" + strings.Repeat("word ", words))
	if err != nil {
		return nil, nil, err
	}
	streaming := fakeapi.New(fakeapi.Options{Keep: 1})
	streaming.Always(long)
	a := &api{
		plain:  &kind{file: "plain.json", source: fakeapi.New(fakeapi.Options{Keep: 1})},
		stream: &kind{file: "stream.json", source: streaming},
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	a.url = "http://" + l.Addr().String() + "/v1"
	s := &http.Server{Handler: a, ReadHeaderTimeout: patience}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(l) // always ends with an error; stop is the only cause
	}()
	return a, func() { _ = s.Close(); <-ended }, nil
}

// ServeHTTP answers one request.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away
	}
	k := a.plain
	if bytes.Contains(body, []byte(`"stream":true`)) {
		k = a.stream
	}
	k.once.Do(func() {
		err = cmp.Or(k.learn(r, body), os.WriteFile(filepath.Join(a.folder, k.file), body, 0o600))
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if a.pass(r.Context(), k) != nil {
		return
	}
	w.Header().Set("Content-Type", k.header.Get("Content-Type"))
	w.Header().Set("Content-Length", strconv.Itoa(len(k.body)))
	w.Header().Set("X-Request-Id", "req_bench")
	_, _ = w.Write(k.body) // who went away has got what it wanted
}

// learn lets the built-in API answer.
func (k *kind) learn(r *http.Request, body []byte) error {
	again := r.Clone(r.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	rec := httptest.NewRecorder()
	k.source.ServeHTTP(rec, again)
	if rec.Code != http.StatusOK {
		return fmt.Errorf("status %d from the built-in API: %s", rec.Code, rec.Body)
	}
	k.header, k.body = rec.Header(), rec.Body.Bytes()
	k.events = bytes.Count(k.body, []byte("\ndata: ")) // each behind its event line
	return nil
}

// pass counts a request and waits at the gate, if there is one.
func (a *api) pass(ctx context.Context, k *kind) error {
	a.mu.Lock()
	k.asked++
	g := a.gate
	if g != nil {
		if g.missing--; g.missing == 0 {
			close(g.open)
			a.gate = nil
		}
	}
	a.mu.Unlock()
	if g == nil {
		return nil
	}
	select {
	case <-g.open:
	case <-ctx.Done():
	case <-time.After(patience):
	}
	return ctx.Err()
}

// hold lets the next n requests wait for each other.
func (a *api) hold(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gate = &gate{missing: n, open: make(chan struct{})}
}

// count is how many requests of a kind there were.
func (a *api) count(k *kind) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return k.asked
}
