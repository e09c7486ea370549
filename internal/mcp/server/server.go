// Package server is the MCP server: tools in front of one function that answers questions
// (spec §3).
//
//	server.go    Server, and which methods and tools it has
//	tools.go     how tools/list shows the tools of package call and the arguments of package answer
//	call.go      a call, from its request to its end
//	detach.go    which calls go on without their requests
//	result.go    the result and the errors of a call, as clients see them
//	tasks.go     the methods of tasks, which clients poll
//	late.go      the tool answer_result, which returns answers that take long
package server

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/redact"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/version"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/rpc"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/tasks"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/people"
)

// Options configures a Server.
type Options struct {
	// Ask answers the question of a call (answer.Answerer.Ask). It returns soon after ctx is done.
	Ask func(ctx context.Context, c *call.Call, q answer.Question) (*answer.Answer, error)

	Explain func(tool string, err error) string // an error of Ask in one line for people

	ObserveStart func(*call.Call) // before each call takes its quota, concurrently; or nil
	Observe      func(Ended)      // at the end of each call, concurrently; or nil

	Settings  Settings
	LongCalls LongCalls

	// Needs returns what the client of a name needs (clientInfo of MCP); nil: the clients differ.
	Needs func(client string) Needs

	People   *people.Registry // bounds the calls that run; nil: 256, without a bound for a person
	Budget   *budget.Budget   // bounds the calls and tokens of a time; nil: it does not
	Redactor *redact.Redactor // removes secrets from errors
	Log      *slog.Logger     // gets a line per call at debug level (spec §8.1)
}

// Settings are those of the configuration.
type Settings struct {
	Profiles   map[string]answer.Profile // by tool; the schemas show their defaults
	Timeout    time.Duration             // of a call, the wait for others included
	Structured bool                      // add structuredContent; some clients then drop content
	NoMeta     bool                      // leave out _meta; some clients show it to models
	Debug      bool                      // add status, type, name and request_id to errors (spec §8.2)

	// ProtocolVersion is what initialize answers, for any request; "" is 2025-06-18.
	ProtocolVersion string

	// ToolErrors is "protocol" for JSON-RPC errors or "result" for results with isError. Otherwise
	// the protocol version of the request decides.
	ToolErrors string
}

// Needs is what a client needs in place of the configuration. A zero value changes nothing.
type Needs struct {
	Within     time.Duration // of LongCalls
	ToolErrors string        // of Settings
}

// Ended says how a call of a tool ended.
type Ended struct {
	*call.Call
	Outcome  string // one of those below
	Duration time.Duration
	Retries  int   // requests that failed before others
	Err      error // why there is no answer, of a kind that call.KindOf returns; or nil
}

// The outcomes of calls, for logs and metrics.
const (
	OutcomeOK        = "ok"
	OutcomeError     = "error"
	OutcomeInvalid   = "invalid" // arguments
	OutcomeLimited   = "limited" // by a quota
	OutcomeWaiting   = "waiting" // the question was not asked
	OutcomeCancelled = "cancelled"
)

// Server answers tool calls.
type Server struct {
	options Options
	tasks   *tasks.Tasks

	// forClient is what the configuration says, until over stdio the first request that names its
	// client replaces it: see adaptTo.
	forClient atomic.Pointer[forClient]
	adapt     sync.Once
	adapted   atomic.Bool
}

// forClient is what depends on the client.
type forClient struct {
	Needs        // of the client, or the configuration
	tools        []*mcp.Tool
	instructions string
}

// New returns a Server.
func New(o Options) *Server {
	o.People = cmp.Or(o.People, people.New(people.Bounds{}))
	o.Settings.ProtocolVersion = cmp.Or(o.Settings.ProtocolVersion, legacy)
	o.Budget = cmp.Or(o.Budget, budget.New(budget.Options{}))
	s := &Server{options: o}
	s.setNeeds(Needs{})
	s.tasks = tasks.New(tasks.Options{
		Timeout: o.Settings.Timeout,
		API:     o.LongCalls.API,

		EndedElsewhere: s.settleResponse,
		Recover:        s.recoverCall,
		EOF:            o.LongCalls.EOF,
	})
	return s
}

// setNeeds sets what depends on the client.
func (s *Server) setNeeds(n Needs) {
	n.Within = cmp.Or(n.Within, s.options.LongCalls.Within)
	n.ToolErrors = cmp.Or(n.ToolErrors, s.options.Settings.ToolErrors)
	s.forClient.Store(&forClient{
		Needs:        n,
		tools:        tools(s.options.Settings, n.Within),
		instructions: instructionsFor(n.Within),
	})
}

// adaptTo sets what the client of a request needs, if the request is the first one that names it.
func (s *Server) adaptTo(req mcp.Request) {
	if s.options.Needs == nil || s.adapted.Load() {
		return
	}
	name := implementation(req).Name
	if name != "" {
		s.adapt.Do(func() {
			s.setNeeds(s.options.Needs(name))
			s.adapted.Store(true)
		})
	}
}

// Close ends the detached calls that run here. Responses in the background of the API go on.
func (s *Server) Close() {
	s.tasks.Close()
}

// ErrCancelled is the cause of a session that ends because its client has cancelled its call: the
// call does not go on as a late answer either.
var ErrCancelled = call.KindCanceled.Errorf("the client has cancelled the call")

// MCP returns a server of the SDK with the tools. Its calls end when session is done, with its
// cause: over stdio with the process, over HTTP with the request. All servers that MCP returns
// share the limit of calls and the tasks.
func (s *Server) MCP(session context.Context) *mcp.Server {
	log := s.options.Log
	if !log.Enabled(session, slog.LevelDebug) {
		// The SDK logs the end of a session and early requests as errors.
		log = slog.New(slog.DiscardHandler)
	}

	m := mcp.NewServer(program(), &mcp.ServerOptions{
		Logger:       log,
		Capabilities: serverCapabilities,
		// initialize agrees on the second one for any request (spec §2.3). The first is for
		// stateless clients, which do not initialize.
		SupportedProtocolVersions: []string{Stateless, s.ProtocolVersion()},
	})

	// The SDK does not know the tools: AddTool takes two thirds of what a request allocates.
	addTaskMethods(m)
	m.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return s.receive(session, next)
	})
	return m
}

// ProtocolVersion is the version that initialize answers, for any request.
func (s *Server) ProtocolVersion() string {
	return s.options.Settings.ProtocolVersion
}

// Stateless is the protocol version from which on requests describe their client. Before it clients
// initialize a session, for which legacy is agreed on unless the configuration has an older one.
const (
	Stateless = "2026-07-28"
	legacy    = "2025-06-18"
)

// serverCapabilities are exactly {"tools":{}}: the SDK would add logging and listChanged. The SDK
// copies them.
var serverCapabilities = &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}

// program is what clients show of this server.
func program() *mcp.Implementation {
	return &mcp.Implementation{
		Name:    version.Name,
		Version: version.String(),
	}
}

// isStateless reports whether a request follows the version Stateless. The SDK has refused later
// ones.
func isStateless(meta mcp.Meta) bool {
	v, _ := meta[mcp.MetaKeyProtocolVersion].(string)
	return v >= Stateless
}

// Methods are the requests that a server answers. Some clients ask for the lists of prompts and
// resources without looking at the capabilities.
var Methods = rpc.Methods{
	"initialize":               rpc.Required[mcp.InitializeParams],
	"ping":                     rpc.Optional[mcp.PingParams],
	"server/discover":          rpc.Optional[mcp.DiscoverParams],
	"tools/list":               rpc.Optional[mcp.ListToolsParams],
	"tools/call":               rpc.Required[mcp.CallToolParamsRaw],
	"tasks/get":                rpc.Optional[taskParams],
	"tasks/cancel":             rpc.Optional[taskParams],
	"tasks/update":             rpc.Optional[taskParams],
	"prompts/list":             rpc.Optional[mcp.ListPromptsParams],
	"resources/list":           rpc.Optional[mcp.ListResourcesParams],
	"resources/templates/list": rpc.Optional[mcp.ListResourceTemplatesParams],
}

// receive returns what answers the requests of Methods, and notifications. next is the SDK.
func (s *Server) receive(session context.Context, next mcp.MethodHandler) mcp.MethodHandler {
	initialized := &atomic.Bool{}
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		s.adaptTo(req)
		switch method {
		case "initialize":
			res, err := next(ctx, method, req)
			first := !initialized.Swap(true)
			if err != nil && first {
				return s.initialize(), nil
			}
			if r, ok := res.(*mcp.InitializeResult); ok && err == nil {
				r.Instructions = s.forClient.Load().instructions
			}
			return res, err

		case "server/discover":
			res, err := next(ctx, method, req)
			d, ok := res.(*mcp.DiscoverResult)
			if ok && err == nil {
				d.Instructions = s.forClient.Load().instructions
			}
			if ok && err == nil && s.options.LongCalls.Polled {
				d.Capabilities.AddExtension(tasksExtension, nil)
			}
			return res, err

		case "tools/list":
			res, err := next(ctx, method, req)
			if list, ok := res.(*mcp.ListToolsResult); ok && err == nil {
				list.Tools = s.forClient.Load().tools
				list.TTLMs = 3_600_000 // an hour: they change only when the server restarts
			}
			return res, err

		case "tools/call":
			return s.call(ctx, session, req.(*mcp.CallToolRequest))
		}
		if slices.Contains(taskMethods, method) {
			return s.handleTask(ctx, method, req)
		}
		return next(ctx, method, req)
	}
}

// initialize answers the first initialize of a session where the SDK refuses it, because the client
// has sent server/discover. It has given up waiting for that answer, and falls back
// (https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio).
func (s *Server) initialize() *mcp.InitializeResult {
	return &mcp.InitializeResult{
		ProtocolVersion: s.ProtocolVersion(),
		Capabilities:    serverCapabilities,
		Instructions:    s.forClient.Load().instructions,
		ServerInfo:      program(),
	}
}

// unknownTool is the error of spec appendix B. The SDK replaces the text of a *jsonrpc.Error with
// that code, but not that of an error that can be converted to one.
type unknownTool string

func (name unknownTool) Error() string {
	return "Unknown tool: " + text.Label(string(name))
}

func (name unknownTool) As(target any) bool {
	e, ok := target.(**jsonrpc.Error)
	if ok {
		*e = &jsonrpc.Error{
			Code:    jsonrpc.CodeMethodNotFound,
			Message: name.Error(),
		}
	}
	return ok
}
