// Package httpd serves the MCP tools over Streamable HTTP, stateless, for a team that shares one
// deployment. The MCP SDK implements the protocol; this package is the listener around it:
//
//	httpd.go     routes, shutdown
//	response.go  responses: rejections, deadlines, comments that keep streams open
//	access.go    Host, Origin and bearer tokens
//	tokens.go    the tokens, which may change
//	limit.go     how many requests and bytes there are at a time
//	message.go   which messages reach the SDK
//	metrics.go   /metrics
//
// TLS and OAuth belong to the gateway in front.
package httpd

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
)

const (
	readTime      = 30 * time.Second // to send a request, header and body
	idleTime      = 2 * time.Minute  // between the requests of a connection
	versionHeader = "Mcp-Protocol-Version"
)

// Options configures Serve.
type Options struct {
	Server *server.Server
	Path   string       // the MCP endpoint, such as /mcp
	Ready  func() error // why calls cannot be answered, or nil
	// Notice is how long everything stays open after the context ends, so that load balancers see
	// that /readyz fails and requests on their way arrive.
	Notice   time.Duration
	Drain    time.Duration // bounds the wait for calls in flight after the notice
	MaxCalls int           // requests that run at once; as many again may wait, any further one gets 429
	Access   Access
	Metrics  *Metrics
	// MetricsListener, if not nil, serves /metrics without a token in place of the other listener.
	MetricsListener net.Listener
	Log             *slog.Logger
}

// Serve answers requests on ln until ctx ends. Then /readyz fails and every response closes its
// connection; after o.Notice the listener closes, calls in flight finish for up to o.Drain, and the
// rest is cancelled. The error is nil after such an end.
func Serve(ctx context.Context, ln net.Listener, o Options) error {
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()
	t := &tracker{o: o, ctx: ctx}
	failed := make(chan error, 2)
	serve := func(ln net.Listener, h http.Handler) *http.Server {
		srv := &http.Server{
			Handler:        t.track(h),
			ReadTimeout:    readTime,
			WriteTimeout:   writeTime, // extended by each write
			IdleTimeout:    idleTime,
			MaxHeaderBytes: 64 << 10,
			ErrorLog:       slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
		}
		background.Go(func() { failed <- fmt.Errorf("serving HTTP on %s: %w", ln.Addr(), srv.Serve(ln)) })
		return srv
	}
	srv := serve(ln, o.handler(ctx, calls))
	defer srv.Close()
	if ln := o.MetricsListener; ln != nil {
		access := Access{Loopback: IsLoopback(ln)}
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", o.Metrics)
		defer serve(ln, access.requireHost(mux)).Close()
	}
	if tokens := o.Access.Tokens; tokens != nil {
		background.Go(func() { tokens.follow(calls, o.Log) })
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	o.Log.Info("shutting down", "notice", o.Notice.String(), "drain", o.Drain.String())
	time.Sleep(o.Notice)
	_ = ln.Close()
	for end := time.Now().Add(o.Drain); !t.quiet(o.Notice); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			o.Log.Warn("cancelling the calls that are still in flight", "after", o.Drain.String())
			break
		}
	}
	cancel()
	end, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer stop()
	_ = srv.Shutdown(end) // cancelled calls send their errors
	return nil
}

// handler routes requests. ctx ends when the server shuts down, calls when calls in flight are
// cancelled.
func (o Options) handler(ctx, calls context.Context) http.Handler {
	limit := &limiter{max: 2 * int64(o.MaxCalls)}
	o.Metrics.gauge("requests_in_flight", func() int { return int(limit.requests.Load()) })
	o.Metrics.gauge("requests_waiting", o.Server.Waiting)
	inner := http.NewServeMux()
	endpoint := o.Access.requireToken(limit.admit(o.mcp(calls)))
	inner.Handle(o.Path, http.NewCrossOriginProtection().Handler(endpoint))
	if o.MetricsListener == nil {
		inner.Handle("GET /metrics", o.Access.requireToken(o.Metrics))
	}
	mux := http.NewServeMux()
	mux.Handle("/", o.Access.requireHost(inner))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		err := o.Ready()
		switch {
		case ctx.Err() != nil:
			http.Error(w, "shutting down", http.StatusServiceUnavailable)
		case err != nil:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		default:
			fmt.Fprintln(w, "ok")
		}
	})
	return mux
}

// mcp is the protocol endpoint. Each request has a server of its own, which ends with the request:
// without a session the response could not be fetched later. All calls end with ctx, and then still
// send their error.
func (o Options) mcp(ctx context.Context) http.Handler {
	get := func(r *http.Request) *mcp.Server {
		ctx, cancel := context.WithCancel(ctx)
		context.AfterFunc(r.Context(), cancel) // net/http ends it with the response
		return o.Server.MCP(ctx)
	}
	handler := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		Stateless:                    true,
		PropagateRequestCancellation: true,
		DisableLocalhostProtection:   true, // requireHost
		Logger:                       slog.New(slog.DiscardHandler),
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.(*response).keepAlive() // the response of track
		// initialize agrees on 2025-06-18, but a client of the next version may skip it, and the two
		// do not differ for tools.
		if r.Header.Get(versionHeader) == "2025-11-25" {
			r.Header.Set(versionHeader, "2025-06-18")
		}
		handler.ServeHTTP(w, r)
	})
}
