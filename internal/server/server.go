// Package server is the MCP server: three tools in front of one function that
// answers questions (spec §3). It knows the protocol's shapes (tools, results,
// errors, progress, _meta) and nothing of the Responses API behind the function.
package server

import (
	"context"
	"log/slog"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// Options are what a server is made of.
type Options struct {
	// Ask answers a question with the profile of that name, which is the
	// tool's. It returns when ctx is done at the latest. watch, when not nil,
	// is told what happens meanwhile.
	Ask func(ctx context.Context, profile string, q answer.Question, watch func(llm.Event)) (*answer.Answer, error)
	// Explain puts an error of Ask into one line for people; nil: with the usual
	// names of the settings.
	Explain func(profile string, err error) string
	// Structured adds outputSchema to the tools and structuredContent to
	// their results. Some clients then drop content, others ignore it.
	Structured bool
	// Redact takes secrets out of the text of an error; nil leaves it alone.
	Redact func(string) string
	// Debug adds status, type, name and request id to errors (spec §8.2).
	Debug bool
	// Log receives a line a call at debug level (spec §8.1). It is required.
	Log *slog.Logger
}

// Methods are the requests that the server answers: those of spec §2.2 and
// server/discover, by which a stateless client (MCP 2026-07-28) comes in.
func Methods() []string {
	return []string{"initialize", "ping", "tools/list", "tools/call", "server/discover"}
}

// New builds the server; it does no work before a session begins.
func New(o Options) *mcp.Server {
	s := mcp.NewServer(
		&mcp.Implementation{Name: version.Name, Version: version.Version},
		&mcp.ServerOptions{
			Logger: sdkLog(o.Log),
			// Exactly {"tools":{}}: the SDK would add logging and listChanged.
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
			// The newest version that initialize can agree on is the second:
			// the answer is 2025-06-18 whatever was asked (spec §2.3).
			SupportedProtocolVersions: []string{"2026-07-28", "2025-06-18"},
		})
	if o.Redact == nil {
		o.Redact = func(s string) string { return s }
	}
	if o.Explain == nil {
		o.Explain = new(answer.Guide).Explain
	}
	h := &handler{Options: o, tools: map[string]bool{}}
	for _, t := range tools() {
		h.tools[t.name] = true
	}
	// The SDK reads each schema back, which the answer to initialize must not
	// wait for.
	h.addTools = sync.OnceFunc(func() {
		for _, t := range tools() {
			s.AddTool(t.describe(o.Structured), h.handle(t))
		}
	})
	s.AddReceivingMiddleware(h.known, h.list)
	return s
}

// sdkLog is the log of the SDK: it reports the end of every session and each
// request that a client sent too early as errors, which are somebody's only
// while debugging.
func sdkLog(log *slog.Logger) *slog.Logger {
	if log.Enabled(context.Background(), slog.LevelDebug) {
		return log
	}
	return slog.New(slog.DiscardHandler)
}

// handler answers tools/call.
type handler struct {
	Options
	tools    map[string]bool
	addTools func() // makes them known to the SDK, once
}

// known refuses calls of tools that there are not; the SDK's own refusal has
// another code and text (spec appendix B). It sees to it that the SDK has the
// others.
func (h *handler) known(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if strings.HasPrefix(method, "tools/") {
			h.addTools()
		}
		if r, ok := req.(*mcp.CallToolRequest); ok && !h.tools[r.Params.Name] {
			return nil, unknownTool{}
		}
		return next(ctx, method, req)
	}
}
