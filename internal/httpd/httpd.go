// Package httpd serves the MCP tools over Streamable HTTP, stateless, for a team that shares one
// deployment. The MCP SDK implements the protocol; this package is the listener around it:
//
//	httpd.go     routes, shutdown
//	response.go  responses: rejections, deadlines, the wait for the last ones
//	stream.go    comments that keep event streams open
//	denied.go    people who are refused in spite of a token
//	access.go    Host and bearer tokens, who sent a request, and the challenge to sign in
//	strangers.go connections that have shown no valid token
//	tokens.go    tokens that the operator hands out, which may change
//	limit.go     how many requests and bytes there are at a time
//	message.go   which messages reach the SDK
//	metrics.go   /metrics
//
// TLS belongs to the gateway in front.
package httpd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/oauth"
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
	Notice time.Duration
	Drain  time.Duration // bounds the wait for calls in flight after the notice

	// MaxCalls is how many requests run at once. As many again may wait; any further one gets 429.
	MaxCalls int

	// PerPerson returns how many of them are of one person, and as many again may wait; 0: no bound.
	PerPerson func() int
	Access    Access
	Metrics   *Metrics

	TrustedProxy netip.Addr // whose X-Forwarded-For has the address of a client for the log

	// MetricsListener, if not nil, serves /metrics without a token in place of the other listener.
	MetricsListener net.Listener

	// Background are functions that run until the calls in flight have ended. They follow the
	// files of tokens and of the key.
	Background []func(context.Context)
	StaleFiles func() int // counts those that cannot be used
	Log        *slog.Logger
}

// Serve answers requests on ln until ctx ends. Then /readyz fails and every response closes its
// connection; after o.Notice the listener closes, calls in flight finish for up to o.Drain, and the
// rest is cancelled. The error is nil after such an end.
func Serve(ctx context.Context, ln net.Listener, o Options) error {
	calls, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel(nil)

	checkDescriptors(o)
	t := &tracker{
		o:         o,
		ctx:       ctx,
		strangers: newStrangers(ln),
	}
	failed := make(chan error, 2)
	serve := func(ln net.Listener, h http.Handler) *http.Server {
		srv := &http.Server{
			Handler:        t.track(h),
			ReadTimeout:    readTime,
			WriteTimeout:   writeTime, // extended by each write
			IdleTimeout:    idleTime,
			MaxHeaderBytes: maxHeader,
			ConnState:      t.watch,
			ErrorLog:       slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
		}
		background.Go(func() {
			failed <- fmt.Errorf("serving HTTP on %s: %w", ln.Addr(), srv.Serve(ln))
		})
		return srv
	}

	srv := serve(t.strangers, o.handler(ctx, calls))
	defer srv.Close()
	if o.MetricsListener != nil {
		access := Access{Loopback: IsLoopback(o.MetricsListener)}
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", o.Metrics)
		defer serve(newStrangers(o.MetricsListener), access.requireHost(mux)).Close()
	}
	for _, run := range o.Background {
		background.Go(func() { run(calls) })
	}

	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}

	o.Log.Info("shutting down", "notice", o.Notice.String(), "drain", o.Drain.String())
	time.Sleep(o.Notice)
	_ = ln.Close()
	t.draining.Store(true)
	t.drain()
	cancel(answer.ErrShutdown)

	end, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer stop()
	_ = srv.Shutdown(end) // cancelled calls send their errors
	o.Log.Info("stopped")
	return nil
}

// handler routes requests. ctx ends when the server shuts down, calls when calls in flight are
// cancelled.
func (o Options) handler(ctx, calls context.Context) http.Handler {
	limit := &limiter{
		o:      o,
		people: map[string]load{},
	}
	o.Metrics.gauges = func() map[string]int {
		return o.gauges(ctx, limit)
	}
	people := []string{"anonymous"}
	if o.Access.Tokens != nil {
		people = o.Access.Tokens.Names()
	}
	for _, name := range people {
		o.Metrics.person(name)
	}

	guarded := http.NewServeMux()
	endpoint := o.Access.requireToken("", limit.admit(o.mcp(calls)))
	sameOrigin := http.NewCrossOriginProtection()
	guarded.Handle(o.Path, accept(sameOrigin.Handler(endpoint)))
	if o.MetricsListener == nil {
		guarded.Handle("GET /metrics", o.Access.requireToken(tokenHolder, o.Metrics))
	}
	if resource := o.Access.Resource; resource != nil {
		metadata := resource.Metadata(o.Path)
		guarded.Handle(oauth.MetadataPath, metadata)
		guarded.Handle(oauth.MetadataPath+"/", metadata)
	}

	mux := http.NewServeMux()
	mux.Handle("/", o.Access.requireHost(guarded))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := o.ready(ctx); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// IsReserved reports whether path is one of the routes beside Options.Path.
func IsReserved(path string) bool {
	return slices.Contains([]string{"/healthz", "/readyz", "/metrics"}, path)
}

// gauges returns the values of the metrics that are read when they are asked for.
func (o Options) gauges(ctx context.Context, limit *limiter) map[string]int {
	ready := 1
	if o.ready(ctx) != nil {
		ready = 0
	}

	limit.mu.Lock()
	defer limit.mu.Unlock()
	return map[string]int{
		"ready":              ready,
		"stale_files":        o.StaleFiles(),
		"max_calls":          o.MaxCalls,
		"requests_in_flight": limit.all.requests,
		"calls_running":      o.Server.Running(),
		"requests_waiting":   o.Server.Waiting(),
	}
}

// ready returns why the server should get no more requests, or nil.
func (o Options) ready(ctx context.Context) error {
	if ctx.Err() != nil {
		return errors.New("shutting down")
	}
	err := o.Ready()
	if err == nil && o.Access.Resource != nil {
		err = o.Access.Resource.Ready()
	}
	return err
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
	})

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// initialize agrees on 2025-06-18, but a client of the next version may skip it, and the
		// two do not differ for tools.
		if r.Header.Get(versionHeader) == "2025-11-25" {
			r.Header.Set(versionHeader, "2025-06-18")
		}

		responseOf(w).keepOpen()
		handler.ServeHTTP(w, r)
	})
}
