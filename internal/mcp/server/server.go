// Package server is the MCP server: it offers tools that answer questions (spec §3). One function,
// Options.Ask, answers the questions of all of them.
//
//	server.go    Server, and which methods and tools it has
//	tools.go     how tools/list shows the tools of package call and the arguments of package answer
//	call.go      a call, from its request to its end
//	detach.go    which calls go on without their requests
//	result.go    the result and the errors of a call, as clients see them
//	tasks.go     the methods of tasks, which clients poll
//	late.go      the tool answer_result, which waits for late answers
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

	Explain func(tool string, err error) string // puts the error of a call into one line for its client

	ObserveStart func(*call.Call) // called before a call takes its quota, concurrently; may be nil
	// Observe is called when a call has ended, when a call is refused by a quota or for its
	// arguments, and when this process settles a call of another process. It is called
	// concurrently, and may be nil.
	Observe func(CallEnd)

	Settings Settings
	Detach   DetachOptions

	// Needs returns what the client with a name needs (the name in clientInfo of MCP). It is nil
	// where one server has different clients.
	Needs func(client string) Needs

	People   *people.Registry // bounds the calls that run at once; nil: 256 of all people together
	Budget   *budget.Budget   // the quotas of people; nil: none
	Redactor *redact.Redactor // removes secrets from errors
	Log      *slog.Logger     // gets a line per call at debug level (spec §8.1)
}

// Settings are the settings of the configuration that the server uses.
type Settings struct {
	Profiles map[string]answer.Profile // by tool; the schemas show their defaults
	Timeout  time.Duration             // time limit of a call, its wait for a slot included
	NoMeta   bool                      // leave out _meta; some clients show it to models
	Debug    bool                      // add status, type, name, request_id to errors (spec §8.2)

	// StructuredContent adds structuredContent; some clients then drop content.
	StructuredContent bool

	// ProtocolVersion is the version that initialize answers, whichever the client asks for. "" is
	// 2025-06-18.
	ProtocolVersion string

	// ToolErrors is "protocol" for JSON-RPC errors or "result" for results with isError. With any
	// other value, the protocol version of the request decides.
	ToolErrors string
}

// Needs are the settings that a client needs in place of the configured ones. A zero field changes
// nothing.
type Needs struct {
	DetachAfter time.Duration // in place of DetachOptions.DetachAfter
	ToolErrors  string        // in place of Settings.ToolErrors
}

// CallEnd says how a call of a tool ended.
type CallEnd struct {
	*call.Call
	Outcome  string // one of the constants below
	Duration time.Duration
	Err      error // why there is no answer, or nil; call.KindOf returns its kind
}

// The outcomes of calls, for logs and metrics.
const (
	OutcomeOK        = "ok"
	OutcomeError     = "error"
	OutcomeInvalid   = "invalid" // the arguments are not valid
	OutcomeLimited   = "limited" // a quota is used up
	OutcomeWaiting   = "waiting" // the question was not asked
	OutcomeCancelled = "cancelled"
)

// Server answers tool calls.
type Server struct {
	options Options
	tasks   *tasks.Tasks

	// clientSettings has the configured settings. Over stdio, adaptTo may replace them once, by
	// what a client needs.
	clientSettings atomic.Pointer[clientSettings]

	adaptMu sync.Mutex // guards isFixed
	isFixed bool       // clientSettings no longer changes
}

// clientSettings are the settings that depend on the client, and what follows from them.
type clientSettings struct {
	detachAfter  time.Duration // see DetachOptions
	toolErrors   string        // see Settings
	tools        []*mcp.Tool
	instructions string
}

// New returns a Server.
func New(o Options) *Server {
	o.People = cmp.Or(o.People, people.New(people.Bounds{}))
	o.Settings.ProtocolVersion = cmp.Or(o.Settings.ProtocolVersion, defaultVersion)
	o.Budget = cmp.Or(o.Budget, budget.New(budget.Options{}))
	s := &Server{options: o}
	s.setNeeds(Needs{})
	s.tasks = tasks.New(tasks.Options{
		Timeout:       o.Settings.Timeout,
		BackgroundAPI: o.Detach.BackgroundAPI,

		RemoteEnded: s.settleRemoteCall,
		Recover:     s.recoverCall,
		EOF:         o.Detach.EOF,
	})
	return s
}

// setNeeds makes clientSettings those of a client with these needs.
func (s *Server) setNeeds(n Needs) {
	detachAfter := cmp.Or(n.DetachAfter, s.options.Detach.DetachAfter)
	s.clientSettings.Store(&clientSettings{
		detachAfter:  detachAfter,
		toolErrors:   cmp.Or(n.ToolErrors, s.options.Settings.ToolErrors),
		tools:        tools(s.options.Settings, detachAfter),
		instructions: instructionsFor(detachAfter),
	})
}

// adaptTo sets what the client of a request needs. The first client that needs something counts,
// unless another one has listed the tools: with other settings its calls could return ids for
// answer_result, which it has not listed. If Options.Needs is nil, adaptTo does nothing.
func (s *Server) adaptTo(method string, req mcp.Request) {
	if s.options.Needs == nil {
		return
	}
	s.adaptMu.Lock()
	defer s.adaptMu.Unlock()
	name := clientInfo(req).Name
	if s.isFixed {
		return
	}
	var needs Needs
	if name != "" {
		needs = s.options.Needs(name)
	}
	if needs != (Needs{}) {
		s.setNeeds(needs)
	}
	s.isFixed = needs != (Needs{}) || method == "tools/list"
}

// Close ends the detached calls that run in this process. A response that a sealed id names goes on
// at the API.
func (s *Server) Close() {
	s.tasks.Close()
}

// SDKServer returns a server of the SDK with the tools. All its calls are of one person; the zero
// value is a caller without a token. When sessionCtx is done, the calls that are not detached end
// with its cause:
//   - over HTTP sessionCtx ends with the request, or after the drain;
//   - over stdio it ends after the context of the connection, which has already ended the calls.
//
// All servers that SDKServer returns share the bound of calls and the tasks.
func (s *Server) SDKServer(sessionCtx context.Context, person call.Person) *mcp.Server {
	person.Name = cmp.Or(person.Name, call.Anonymous)
	log := s.options.Log
	if !log.Enabled(sessionCtx, slog.LevelDebug) {
		// The SDK logs the end of a session and early requests as errors.
		log = slog.New(slog.DiscardHandler)
	}

	m := mcp.NewServer(implementation(), &mcp.ServerOptions{
		Logger:       log,
		Capabilities: serverCapabilities,
		// initialize answers the second version, whichever the client asks for (spec §2.3). The
		// first is for stateless clients, which do not initialize a session.
		SupportedProtocolVersions: []string{StatelessVersion, s.ProtocolVersion()},
	})

	// The tools are not added to m: AddTool would take two thirds of the memory that a request
	// allocates. handler answers tools/call, and completeResult puts the tools into the result of
	// tools/list.
	addTaskMethods(m)
	m.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return s.handler(sessionCtx, person, next)
	})
	return m
}

// ProtocolVersion returns the version that initialize answers, whichever the client asks for.
func (s *Server) ProtocolVersion() string {
	return s.options.Settings.ProtocolVersion
}

// StatelessVersion is the first protocol version in which each request describes its client.
// Clients of an earlier version initialize a session, whose version is defaultVersion, or
// Settings.ProtocolVersion if that is older.
const (
	StatelessVersion = "2026-07-28"
	defaultVersion   = "2025-06-18"
)

// SessionVersions are the protocol versions of clients that initialize a session. They do not
// differ for tools.
var SessionVersions = []string{defaultVersion, "2025-11-25"}

// serverCapabilities are exactly {"tools":{}}; by default the SDK adds logging and listChanged. The
// SDK copies the value, so all servers share this one.
var serverCapabilities = &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}

// implementation returns how this server describes itself to clients.
func implementation() *mcp.Implementation {
	return &mcp.Implementation{
		Name:    version.Name,
		Version: version.String(),
	}
}

// isStateless reports whether a request follows the version StatelessVersion. The SDK has already
// refused later versions.
func isStateless(meta mcp.Meta) bool {
	v, _ := meta[mcp.MetaKeyProtocolVersion].(string)
	return v >= StatelessVersion
}

// Methods are the requests that a server answers. They include the lists of prompts and resources,
// which some clients ask for without looking at the capabilities.
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

// handler returns the handler of all requests and notifications of a person. Their contexts end
// with sessionCtx, too. The handler passes what it does not answer itself to next, the handler of
// the SDK. The SDK runs each request in a goroutine of its own, where a panic would end the
// process: here a panic fails its request only.
func (s *Server) handler(
	sessionCtx context.Context, person call.Person, next mcp.MethodHandler,
) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			p := recover()
			if p != nil {
				s.logPanic("panic in a request", "method", method, p)
				res = nil
				err = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
			}
		}()
		s.adaptTo(method, req)

		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(sessionCtx, func() { cancel(context.Cause(sessionCtx)) })()

		switch {
		case method == "tools/call":
			return s.callTool(ctx, sessionCtx, req.(*mcp.CallToolRequest), person)
		case slices.Contains(taskMethods, method):
			return s.handleTask(ctx, method, req, person)
		}

		res, err = next(ctx, method, req)
		if err != nil && method == "initialize" {
			return s.initializeResult(), nil
		}
		if err == nil {
			s.completeResult(res)
		}
		return res, err
	}
}

// completeResult adds to a result of the SDK what the SDK does not know.
func (s *Server) completeResult(res mcp.Result) {
	settings := s.clientSettings.Load()
	switch r := res.(type) {
	case *mcp.InitializeResult:
		r.Instructions = settings.instructions
	case *mcp.DiscoverResult:
		r.Instructions = settings.instructions
		if s.options.Detach.OffersTasks {
			r.Capabilities.AddExtension(tasksExtension, nil)
		}
	case *mcp.ListToolsResult:
		r.Tools = settings.tools
		// An hour: the tools change only at a restart.
		r.TTLMs = 3_600_000
	}
}

// initializeResult returns the result of an initialize that the SDK refuses. The params are valid
// (Methods), so the SDK refuses them only because the session has begun:
//   - after server/discover, from a client that has given up waiting for the answer, and falls back
//     (https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio);
//   - after another initialize, from a bridge that several clients share, or that connects again
//     (https://github.com/stacklok/toolhive/pull/6153).
func (s *Server) initializeResult() *mcp.InitializeResult {
	return &mcp.InitializeResult{
		ProtocolVersion: s.ProtocolVersion(),
		Capabilities:    serverCapabilities,
		Instructions:    s.clientSettings.Load().instructions,
		ServerInfo:      implementation(),
	}
}

// unknownTool is the error for a tool with this name, which does not exist (spec appendix B). It is
// no *jsonrpc.Error, but converts to one: the SDK replaces the message of a *jsonrpc.Error whose
// code is CodeMethodNotFound.
type unknownTool string

func (name unknownTool) Error() string {
	return "Unknown tool: " + text.ShortLine(string(name))
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
