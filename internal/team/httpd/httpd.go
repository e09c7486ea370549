// Package httpd serves the MCP tools over Streamable HTTP, stateless, for a team that shares one
// deployment. The MCP SDK implements the protocol; this package is the listener around it:
//
//	httpd.go     routes, shutdown
//	conns.go     unauthenticated connections
//	response.go  responses: rejections, deadlines
//	stream.go    comments that keep long responses open
//	access.go    checks of the Host header and the bearer token, and the challenge to sign in
//	tokens.go    tokens that the operator hands out, which may change
//	denied.go    people who are rejected in spite of a token
//	admit.go     how many requests and bytes there are at a time
//	message.go   which messages reach the SDK
//	cancel.go    calls that end because of another request
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
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/logging"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/people"
	"github.com/uchimanajet7/openai-responses-mcp/internal/team/oauth"
)

const (
	readTimeout   = 30 * time.Second // to send a request, header and body
	idleTimeout   = 2 * time.Minute  // between the requests of a connection
	versionHeader = "Mcp-Protocol-Version"

	// settleTime is how long the requests of cancelled calls may take to end. If a use of the store
	// takes nearly 500 ms, 256 calls take 2 s to settle, as 64 run at once. Some calls use it twice.
	settleTime = 3 * time.Second
)

// Options configures Serve.
type Options struct {
	// ServerOptions configure the MCP server. The caller sets People, Budget and Observe. The
	// bounds of calls bound requests, too: with MaxCalls 256 the server accepts 512 requests,
	// because 256 calls run and as many may wait. It rejects any further request. Serve also counts
	// the calls that Observe gets, for /metrics.
	ServerOptions server.Options

	Path  string       // the MCP endpoint, such as /mcp
	Ready func() error // returns why calls cannot be answered; nil if they can

	// Notice is how long the server still accepts requests after the context ends. Meanwhile every
	// response closes its connection, and /readyz fails: load balancers notice that, and requests
	// on their way still arrive.
	Notice    time.Duration
	DrainTime time.Duration // longest wait for calls in flight after the notice

	NumWaitingForRateLimit func() int // counts the running calls that wait for the rate limit
	Access                 Access

	// TrustedProxy is the proxy whose X-Forwarded-For names the address of a client for the log. It
	// is zero if there is none.
	TrustedProxy netip.Addr

	// MetricsListener, if not nil, serves /metrics without a token in place of the other listener.
	MetricsListener net.Listener

	// Loops are functions that Serve runs until it cancels the calls that are left. It ends
	// detached calls after that. Loops read files and the keys of issuers again and again, because
	// these may change, and probe the store.
	Loops         []func(context.Context)
	NumStaleFiles func() int // counts the files whose present content cannot be used
	Log           *slog.Logger
	LogLimiter    *logging.Limiter // bounds the log lines about calls and rejected requests
}

// instance is one run of Serve.
type instance struct {
	Options
	mcpServer   *server.Server
	people      *people.Registry // ServerOptions.People
	metrics     *metricSet
	listener    *listener
	serveCtx    context.Context  // done when the server shuts down
	callsCtx    context.Context  // done when the calls in flight are cancelled
	cancellable cancellableCalls // calls that a notification can cancel

	// draining is true after the notice: people rejects requests, and a connection that becomes
	// idle is closed.
	draining atomic.Bool
}

// Serve answers requests on ln until ctx ends, and then shuts down:
//
//   - at once, /readyz fails, and every response closes its connection;
//   - after o.Notice, no more connections and requests are accepted;
//   - when no request is left, or after o.DrainTime, it stops: calls that still run are cancelled,
//     except detached ones, which end last.
//
// Serve returns nil after a shutdown. If it cannot accept connections any more, it cancels the
// calls without a drain, and returns an error.
func Serve(ctx context.Context, ln net.Listener, o Options) error {
	m := newMetricSet(o)
	o.ServerOptions = m.observing(o.ServerOptions)
	mcpServer := server.New(o.ServerOptions)
	callsCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)

	s := &instance{
		Options:     o,
		mcpServer:   mcpServer,
		people:      o.ServerOptions.People,
		metrics:     m,
		listener:    newListener(ln),
		serveCtx:    ctx,
		callsCtx:    callsCtx,
		cancellable: cancellableCalls{byKey: map[callKey][]*response{}},
	}
	failed := make(chan error, 2)
	serve := func(ln net.Listener, h http.Handler) *http.Server {
		srv := s.newServer(h)
		wg.Go(func() {
			failed <- fmt.Errorf("serving HTTP on %s: %w", ln.Addr(), srv.Serve(ln))
		})
		return srv
	}

	s.checkDescriptors()
	srv := serve(s.listener, s.handler())
	defer srv.Close()
	if o.MetricsListener != nil {
		mux := http.NewServeMux()
		mux.HandleFunc("GET /metrics", s.serveMetrics)
		guarded := requireHost(s.Access.metricsHosts(o.MetricsListener), mux)
		metricsServer := serve(newListener(o.MetricsListener), guarded)
		defer metricsServer.Close()
	}
	for _, run := range o.Loops {
		wg.Go(func() { run(callsCtx) })
	}

	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		s.drain()
	}
	// This also ends Loops: without a probe, changes that the store misses from here on are lost.
	cancel(call.ErrShutdown)
	s.finish(srv)
	if err == nil {
		o.Log.Info("stopped")
	}
	return err
}

// finish waits while cancelled calls settle and send their errors. Then it ends the detached calls,
// and flushes LogLimiter.
func (s *instance) finish(srv *http.Server) {
	select {
	case <-s.people.BeginDrain():
	case <-time.After(settleTime):
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(s.serveCtx), time.Second)
	defer stop()
	_ = srv.Shutdown(ctx)
	s.mcpServer.Close()
	s.LogLimiter.Flush()
}

// newServer returns an HTTP server for the requests that h answers.
func (s *instance) newServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:        s.withResponse(h),
		ReadTimeout:    readTimeout,
		WriteTimeout:   writeTimeout, // extended by each write
		IdleTimeout:    idleTimeout,
		MaxHeaderBytes: maxHeader,
		ConnState:      s.connState,
		ErrorLog:       slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
}

// connState is the ConnState hook of a server. It counts the open connections. In the drain it
// closes a connection whose response has ended: a stream that began before the shutdown has no
// header that closes its connection.
func (s *instance) connState(accepted net.Conn, state http.ConnState) {
	c := accepted.(*conn)
	switch state {
	case http.StateNew:
		c.listener.numOpen.Add(1)
	case http.StateClosed:
		c.listener.numOpen.Add(-1)
	case http.StateIdle:
		c.headerLines = 0 // counts for the next request (conn.hasTooManyLines)
		if s.draining.Load() {
			_ = c.Close()
		}
	}
}

// drain waits for the notice. Then it accepts no more connections and requests, and waits for the
// requests in flight, for DrainTime at most.
func (s *instance) drain() {
	s.Log.Info("shutting down", "notice", s.Notice.String(), "drain", s.DrainTime.String())
	time.Sleep(s.Notice)
	_ = s.listener.Close()
	s.draining.Store(true)
	select {
	case <-s.people.BeginDrain():
	case <-time.After(s.DrainTime):
		requests, _, _ := s.people.Counts()
		if requests > 0 {
			s.Log.Warn("cancelling the calls that are still in flight", "after", s.DrainTime.String())
		}
	}
}

// hostedClients are the origins of websites whose servers send their origin in requests for MCP
// (https://github.com/chrisdoc/hevy-mcp/issues/720,
// https://github.com/koala73/worldmonitor/pull/2416). The origins are accepted where requests need
// a token, because pages of these sites have none.
var hostedClients = []string{
	"https://chatgpt.com",
	"https://chat.openai.com",
	"https://claude.ai",
	"https://claude.com",
}

// handler returns the routes of the server. All but /healthz and /readyz check the Host header.
func (s *instance) handler() http.Handler {
	guarded := http.NewServeMux()
	sameOrigin := http.NewCrossOriginProtection()
	if s.Access.NeedsToken() {
		for _, origin := range hostedClients {
			_ = sameOrigin.AddTrustedOrigin(origin) // all are valid
		}
	}
	sameOrigin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reason := "web pages, and apps that send Origin or Sec-Fetch-Site as they do, are refused"
		http.Error(w, reason, http.StatusForbidden)
	}))
	endpoint := s.Access.requireToken(s.Access.callRejection, http.HandlerFunc(s.admit))
	endpoint = sameOrigin.Handler(endpoint)
	guarded.Handle(s.Path, endpoint)
	guarded.Handle(strings.TrimSuffix(s.Path, "/")+"/{$}", endpoint)

	if s.MetricsListener == nil {
		page := http.HandlerFunc(s.serveMetrics)
		guarded.Handle("GET /metrics", s.Access.requireToken(s.Access.metricsRejection, page))
		guarded.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
		})
	}
	if s.Path != "/" {
		guarded.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "404 page not found: this server has MCP at "+s.Path, http.StatusNotFound)
		})
	}
	if resource := s.Access.Resource; resource != nil {
		metadata := resource.Metadata(s.Path)
		guarded.Handle(oauth.MetadataPath, metadata)
		guarded.Handle(oauth.MetadataPath+"/", metadata)
	}

	mux := http.NewServeMux()
	// /healthz and /readyz are for load balancers, which use any name.
	mux.Handle("/", requireHost(s.Access.acceptsHost, guarded))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.checkReady(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// IsReserved reports whether path is one of the routes beside Options.Path. The routes below
// /.well-known are not checked: package cli accepts no path with "/." in it.
func IsReserved(path string) bool {
	return slices.Contains([]string{"/healthz", "/readyz", "/metrics"}, path)
}

// checkReady returns why the server should get no more requests, or nil.
func (s *instance) checkReady() error {
	if s.serveCtx.Err() != nil {
		return errors.New("shutting down")
	}
	err := s.Ready()
	if err == nil && s.Access.Resource != nil {
		err = s.Access.Resource.CheckKeysRead()
	}
	return err
}

// serveMCP answers a request with the SDK. Each request has an SDK server and a handler of its own,
// which end with the request: without a session the client could not ask for the response later.
// When s.callsCtx ends, all calls but the detached ones end, and still send their errors.
func (s *instance) serveMCP(res *response, r *http.Request) {
	// Beside server.StatelessVersion, the SDK accepts only the protocol version that initialize
	// answers, but a client may skip initialize.
	if slices.Contains(server.SessionVersions, r.Header.Get(versionHeader)) {
		r.Header.Set(versionHeader, s.mcpServer.ProtocolVersion())
	}
	acceptsStream := normalizeAccept(r.Header)
	res.keepOpen(acceptsStream)

	// The call ends with sessionCtx, which ends with s.callsCtx or requestCtx. requestCtx always
	// ends: by cancelCall or, with the response, by net/http.
	requestCtx := r.Context()
	sessionCtx, cancel := context.WithCancelCause(s.callsCtx)
	context.AfterFunc(requestCtx, func() { cancel(context.Cause(requestCtx)) })

	sdkServer := s.mcpServer.SDKServer(sessionCtx, res.person)
	getServer := func(*http.Request) *mcp.Server { return sdkServer } // the SDK asks twice
	// The SDK replaces the Body of its request, so it gets a copy: net/http reads the Body of the
	// original when sendComment begins the response.
	requestCopy := r.WithContext(requestCtx)
	mcp.NewStreamableHTTPHandler(getServer, &mcp.StreamableHTTPOptions{
		Stateless:                    true,
		JSONResponse:                 !acceptsStream,
		PropagateRequestCancellation: true, // requestCtx ends the SDK's handler, not only the call
		DisableLocalhostProtection:   true, // requireHost checks the Host header
	}).ServeHTTP(res, requestCopy)
}
