// Package httpd serves the MCP tools over Streamable HTTP, stateless, for a team that shares one
// deployment. The MCP SDK implements the protocol; this package is the listener around it:
//
//	httpd.go     routes, shutdown
//	response.go  responses: rejections, deadlines
//	stream.go    comments that keep event streams open
//	denied.go    people who are refused in spite of a token
//	access.go    Host and bearer tokens, who sent a request, and the challenge to sign in
//	conns.go     unauthenticated connections
//	tokens.go    tokens that the operator hands out, which may change
//	limit.go     how many requests and bytes there are at a time
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
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/people"
	"github.com/uchimanajet7/openai-responses-mcp/internal/team/oauth"
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

	// People are those of Server. Their limits bound requests, too: as many again may wait, and any
	// further one gets 429.
	People  *people.Registry
	Budget  *budget.Budget // of Server, for the metrics
	Waiting func() int     // counts the running calls that wait for the rate limit
	Access  Access
	Metrics *Metrics

	TrustedProxy netip.Addr // whose X-Forwarded-For has the address of a client for the log

	// MetricsListener, if not nil, serves /metrics without a token in place of the other listener.
	MetricsListener net.Listener

	// Loops are functions that run until the calls in flight have ended. They read files and the
	// keys of issuers again, which may change, and probe the store.
	Loops      []func(context.Context)
	StaleFiles func() int // counts those that cannot be used
	Log        *slog.Logger
	Lines      *logging.Limiter // of calls and rejected requests
}

// instance is a server that runs.
type instance struct {
	Options
	listener *listener
	ctx      context.Context // done when the server shuts down
	untilEnd context.Context // done when the calls in flight are cancelled
	draining atomic.Bool     // the notice time is over: connections that become idle are closed, People refuses calls
	running  running         // calls that a notification can cancel
}

// Serve answers requests on ln until ctx ends. Then /readyz fails and every response closes its
// connection; after o.Notice the listener closes, calls in flight finish for up to o.Drain, and the
// rest is cancelled. Detached calls end with o.Server. The error is nil after such an end.
func Serve(ctx context.Context, ln net.Listener, o Options) error {
	untilEnd, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	var loops sync.WaitGroup
	defer loops.Wait()
	defer cancel(nil)

	s := &instance{
		Options:  o,
		listener: newListener(ln),
		ctx:      ctx,
		untilEnd: untilEnd,
		running:  running{calls: map[callKey][]*response{}},
	}
	failed := make(chan error, 2)
	serve := func(ln net.Listener, h http.Handler) *http.Server {
		srv := &http.Server{
			Handler:        s.track(h),
			ReadTimeout:    readTime,
			WriteTimeout:   writeTime, // extended by each write
			IdleTimeout:    idleTime,
			MaxHeaderBytes: maxHeader,
			ConnState:      s.watch,
			ErrorLog:       slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
		}
		loops.Go(func() {
			failed <- fmt.Errorf("serving HTTP on %s: %w", ln.Addr(), srv.Serve(ln))
		})
		return srv
	}

	s.checkDescriptors()
	srv := serve(s.listener, s.handler())
	defer srv.Close()
	if o.MetricsListener != nil {
		access := Access{Loopback: IsLoopback(o.MetricsListener), Hosts: s.Access.Hosts}
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", o.Metrics)
		defer serve(newListener(o.MetricsListener), access.requireHost(mux)).Close()
	}
	for _, run := range o.Loops {
		loops.Go(func() { run(untilEnd) })
	}

	select {
	case err := <-failed:
		o.Lines.Flush()
		return err
	case <-ctx.Done():
	}

	s.drain()
	cancel(answer.ErrShutdown)

	end, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer stop()
	_ = srv.Shutdown(end) // cancelled calls send their errors
	o.Lines.Flush()
	o.Log.Info("stopped")
	return nil
}

// watch is the ConnState of a server. A connection whose response has ended is closed in the drain,
// also after a stream that began before, and so had no header for it.
func (s *instance) watch(c net.Conn, state http.ConnState) {
	if state != http.StateIdle {
		return
	}
	if s.draining.Load() {
		_ = c.Close()
	}
	c.(*conn).headerLines = 0 // the next request has a new share (hasManyLines)
}

// drain accepts no more connections and calls after the notice, and waits for the calls in flight,
// but not longer than the options allow.
func (s *instance) drain() {
	s.Log.Info("shutting down", "notice", s.Notice.String(), "drain", s.Drain.String())
	time.Sleep(s.Notice)
	_ = s.listener.Close()
	s.draining.Store(true)
	end := time.NewTimer(s.Drain)
	defer end.Stop()
	select {
	case <-s.People.Close():
	case <-end.C:
		requests, _, _ := s.People.Counts()
		if requests > 0 {
			s.Log.Warn("cancelling the calls that are still in flight", "after", s.Drain.String())
		}
	}
}

// wireMetrics tells the metrics what to read, and begins the series of the only person with zeros.
func (s *instance) wireMetrics() {
	s.Metrics.gauges = s.gauges
	s.Metrics.inForce = s.Budget.InForce
	if s.Budget.Store != nil {
		s.Budget.Store.Used = s.Metrics.useStore
	}
	if s.Access.Authenticates() { // the series of other people begin with their calls
		return
	}
	for tool := range s.Metrics.profiles {
		s.Metrics.ObserveStart(&call.Call{
			Tool:   tool,
			Person: call.Person{Name: call.Anonymous},
		})
	}
}

// handler routes requests.
func (s *instance) handler() http.Handler {
	s.wireMetrics()

	guarded := http.NewServeMux()
	sameOrigin := http.NewCrossOriginProtection()
	endpoint := sameOrigin.Handler(s.Access.requireToken(s.Access.refusesCalls, s.admit(s.mcp())))
	guarded.Handle(s.Path, endpoint)
	guarded.Handle(strings.TrimSuffix(s.Path, "/")+"/{$}", endpoint)

	if s.MetricsListener == nil {
		guarded.Handle("GET /metrics", s.Access.requireToken(s.Access.refusesMetrics, s.Metrics))
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
	mux.Handle("/", s.Access.requireHost(guarded)) // load balancers use any name for the others
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.ready(); err != nil {
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

// ready returns why the server should get no more requests, or nil.
func (s *instance) ready() error {
	if s.ctx.Err() != nil {
		return errors.New("shutting down")
	}
	err := s.Ready()
	if err == nil && s.Access.Resource != nil {
		err = s.Access.Resource.Ready()
	}
	return err
}

// mcp is the protocol endpoint. Each request has a server of its own, which ends with the request:
// without a session the client could not ask for the response later. All calls end with s.untilEnd,
// and then still send their error.
func (s *instance) mcp() http.Handler {
	type key struct{} // of the server in the context of the request, as the SDK asks for it twice
	get := func(r *http.Request) *mcp.Server { return r.Context().Value(key{}).(*mcp.Server) }
	handler := func(plain bool) http.Handler {
		return mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
			Stateless:                    true,
			JSONResponse:                 plain,
			PropagateRequestCancellation: true,
			DisableLocalhostProtection:   true, // requireHost checks the Host header
		})
	}
	plain := handler(true)
	streamed := handler(false)

	return s.withCancellation(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The SDK takes the version that initialize answers, but a client of a later one may skip
		// initialize, and they do not differ for tools.
		switch r.Header.Get(versionHeader) {
		case "2025-06-18", "2025-11-25":
			r.Header.Set(versionHeader, s.Server.ProtocolVersion())
		}

		request := r.Context() // net/http ends it with the response, or withCancellation does before
		ctx, cancel := context.WithCancelCause(s.untilEnd)
		context.AfterFunc(request, func() { cancel(context.Cause(request)) })
		r = r.WithContext(context.WithValue(request, key{}, s.Server.MCP(ctx)))
		if stream := normalizeAccept(r.Header); !stream {
			plain.ServeHTTP(w, r)
			return
		}
		responseOf(w).keepOpen()
		streamed.ServeHTTP(w, r)
	}))
}
