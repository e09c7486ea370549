// Package httpd serves the MCP tools over Streamable HTTP, stateless, for a
// team that shares one deployment. The MCP SDK implements the
// protocol; this package is the listener around it:
//
//	httpd.go    routes, limits, drain
//	access.go   bearer tokens, Host and Origin checks
//	stream.go   SSE comments that keep silent streams open
//	metrics.go  /metrics
//
// TLS and OAuth belong to the gateway in front.
package httpd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxBody    = 4 << 20          // bytes of a request
	readTime   = 30 * time.Second // to send a request, header and body
	idleTime   = 2 * time.Minute  // between the requests of a connection
	noticeTime = 2 * time.Second  // for load balancers to see that /readyz fails
)

const (
	versionHeader = "Mcp-Protocol-Version"
	// stateless is the version from which on the SDK ties a call to its HTTP
	// request.
	stateless = "2026-07-28"
)

// Options configures Serve.
type Options struct {
	// MCP returns the server for one request. Calls end with ctx.
	MCP func(ctx context.Context) *mcp.Server
	// Path is the MCP endpoint, such as /mcp.
	Path string
	// Ready reports why calls cannot be answered, or nil.
	Ready func() error
	// Drain bounds the wait for calls in flight after the context ends.
	Drain time.Duration
	// MaxCalls is how many requests run at once. As many again may wait; any
	// further one gets 429.
	MaxCalls int
	Access   Access
	Metrics  *Metrics
	Log      *slog.Logger
}

// Serve answers requests on ln until ctx ends. Then /readyz fails at once, the
// listener stays open for two seconds, calls in flight finish for up to
// o.Drain, and the rest is cancelled. The error is nil after such an end.
func Serve(ctx context.Context, ln net.Listener, o Options) error {
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	srv := &http.Server{
		Handler:           o.handler(ctx),
		ReadHeaderTimeout: readTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return calls },
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving HTTP on %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	o.Log.Info("shutting down", "drain", o.Drain)
	time.Sleep(noticeTime)
	drain, stop := context.WithTimeout(calls, o.Drain)
	defer stop()
	if err := srv.Shutdown(drain); errors.Is(err, context.DeadlineExceeded) {
		o.Log.Warn("cancelling the calls that are still in flight", "after", o.Drain)
	}
	cancel()
	for range 100 { // cancelled calls are observed at their end
		if o.Metrics.inFlight.Load() == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return srv.Close()
}

// handler routes requests. ctx ends when the server shuts down.
func (o Options) handler(ctx context.Context) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		err := o.Ready()
		if ctx.Err() != nil {
			err = errors.New("shutting down")
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /metrics", o.Metrics.write)
	mux.Handle(o.Path, o.Access.protect(o.limit(keepAlive(o.mcp()))))
	return mux
}

// mcp is the protocol endpoint. The SDK ties calls of the stateless protocol
// to their request. For older versions each request has a server of its own,
// which ends with the request: without a session the response could not be
// fetched later.
func (o Options) mcp() http.Handler {
	shared := o.MCP(context.Background())
	get := func(r *http.Request) *mcp.Server {
		if r.Header.Get(versionHeader) >= stateless {
			return shared
		}
		return o.MCP(r.Context())
	}
	handler := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		Stateless:                    true,
		PropagateRequestCancellation: true,
		DisableLocalhostProtection:   !o.Access.Loopback || len(o.Access.Hosts) > 0,
		MaxRequestBodyBytes:          maxBody,
		Logger:                       slog.New(slog.DiscardHandler),
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// initialize agrees on 2025-06-18, but a client of the next version may
		// skip it, and the two do not differ for tools.
		if r.Header.Get(versionHeader) == "2025-11-25" {
			r.Header.Set(versionHeader, "2025-06-18")
		}
		handler.ServeHTTP(w, r)
	})
}

// limit refuses requests beyond twice MaxCalls with 429 and reads the body of
// the others within readTime.
func (o Options) limit(next http.Handler) http.Handler {
	inFlight := &o.Metrics.inFlight
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer inFlight.Add(-1)
		if inFlight.Add(1) > 2*int64(o.MaxCalls) {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many calls", http.StatusTooManyRequests)
			return
		}
		// A deadline of the server for reading would also end the calls that
		// take longer.
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Now().Add(readTime))
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			status := http.StatusBadRequest
			if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
				status = http.StatusRequestEntityTooLarge
			}
			http.Error(w, "reading the request: "+err.Error(), status)
			return
		}
		_ = control.SetReadDeadline(time.Time{})
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}
